#pragma once

/*
  What the benchmarks in C share: the clock, options that are lists, matrices by name.
*/
#include <petscdevice.h>
#include <petsctime.h>
#include <support.h>

#define MAXLIST 64

/* Everything that was started on the device has ended. A process that has not touched it stays so. */
static inline PetscErrorCode WaitForDevice(void)
{
  PetscFunctionBegin;
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) {
    PetscDeviceContext context;

    PetscCall(PetscDeviceContextGetCurrentContext(&context));
    PetscCall(PetscDeviceContextSynchronize(context));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The clock, after everything that was started has ended on all processes */
static inline PetscErrorCode Now(PetscLogDouble *t)
{
  PetscFunctionBegin;
  *t = 0.0;
  PetscCall(WaitForDevice());
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An option that is a list of at most MAXLIST strings, to be freed; or the standard one */
static inline PetscErrorCode GetList(const char option[], const char standard[], char *list[], PetscInt *n)
{
  PetscBool given;

  PetscFunctionBegin;
  *n = MAXLIST;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, option, list, n, &given));
  if (!given) {
    char **items;
    int    count;

    PetscCall(PetscStrToArray(standard, ',', &count, &items));
    for (*n = 0; *n < count; (*n)++) PetscCall(PetscStrallocpy(items[*n], &list[*n]));
    PetscCall(PetscStrToArrayDestroy(count, items));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FreeList(char *list[], PetscInt n)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscFree(list[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  char     name[PETSC_MAX_PATH_LEN];
  PetscInt abk[3]; /* of a chessboard; else zero */
} NamedMatrix;

/* chessboard:a:b:k, standin:NAME with its size relative to the original, or a file */
static inline PetscErrorCode MatFillNamed(Mat A, const char name[], PetscReal scale, NamedMatrix *named)
{
  PetscBool board, standin;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(named, sizeof(*named)));
  PetscCall(PetscStrncpy(named->name, name, sizeof(named->name)));
  PetscCall(PetscStrncmp(name, "chessboard:", 11, &board));
  PetscCall(PetscStrncmp(name, "standin:", 8, &standin));
  if (board) {
    int a, b, k;

    PetscCheck(sscanf(name + 11, "%d:%d:%d", &a, &b, &k) == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Matrix %s: chessboard:a:b:k is what is understood", name);
    named->abk[0] = a;
    named->abk[1] = b;
    named->abk[2] = k;
    PetscCall(PetscSNPrintf(named->name, sizeof(named->name), "ch%d-%d-b%d", a, b, k));
    PetscCall(MatFillChessboard(A, a, b, k));
  } else if (standin) {
    PetscCall(PetscStrncpy(named->name, name + 8, sizeof(named->name)));
    PetscCall(MatFillStandin(A, name + 8, scale));
  } else PetscCall(MatLoadFile(A, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}
