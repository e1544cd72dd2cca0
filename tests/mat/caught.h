#pragma once

/* Calls that are expected to fail: their errors are stored, not printed */
#include <petscsys.h>

/* The innermost error of the last call by Catch(); code 0 and no message if there was none */
static struct {
  PetscErrorCode code;
  char           message[1024];
} caught;

static PetscErrorCode CatchError(MPI_Comm comm, int line, const char func[], const char file[], PetscErrorCode code, PetscErrorType type, const char message[], void *ctx)
{
  (void)comm;
  (void)line;
  (void)func;
  (void)file;
  (void)ctx;
  if (type == PETSC_ERROR_INITIAL) {
    caught.code = code;
    (void)PetscStrncpy(caught.message, message, sizeof(caught.message));
  }
  return code;
}

/* A call that fails leaves its functions on PETSc's debugging stack, which is therefore restored */
#if defined(PETSC_USE_DEBUG)
  #define CaughtStack        PetscStack stack = petscstack
  #define CaughtStackRestore petscstack = stack
#else
  #define CaughtStack        (void)0
  #define CaughtStackRestore (void)0
#endif

/* ierr is what the call returned */
#define Catch(ierr, call) \
  do { \
    CaughtStack; \
    caught.code       = PETSC_SUCCESS; \
    caught.message[0] = 0; \
    PetscCall(PetscPushErrorHandler(CatchError, NULL)); \
    ierr = call; \
    CaughtStackRestore; \
    PetscCall(PetscPopErrorHandler()); \
  } while (0)
