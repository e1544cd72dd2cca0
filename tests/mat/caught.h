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

/* ierr is what the call returned */
#define Catch(ierr, call) \
  do { \
    caught.code       = PETSC_SUCCESS; \
    caught.message[0] = 0; \
    PetscCall(PetscPushErrorHandler(CatchError, NULL)); \
    ierr = call; \
    PetscCall(PetscPopErrorHandler()); \
  } while (0)
