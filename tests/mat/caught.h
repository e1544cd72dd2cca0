#pragma once

/* Calls that are meant to fail: their errors are kept instead of shown */
#include <petscsys.h>

/* The innermost error of the last call that was caught: code 0 and no message if there was none */
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

/* A call that fails leaves its functions on the stack that PETSc keeps for debugging: it becomes what it was before */
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
