#pragma once

/* NCCL's library, and its communicators: one for each of PETSc's, made when it is first asked for */
#include <petscsys.h>

#if defined(PETSCCSRC_HAVE_CUDA)
  #include "ncclapi.h"

typedef struct {
  PetscBool   usable; /* by all processes alike */
  const char *reason; /* why not */
  NCCLComm    comm;
} PetscCSRCNCCL;

/* Collective on one of PETSc's own communicators, to which what is returned belongs */
PETSC_INTERN PetscErrorCode PetscCSRCNCCLGet(MPI_Comm, PetscCSRCNCCL **);
PETSC_INTERN NCCLFunctions  PetscCSRCNCCLFunctions;
PETSC_INTERN int            PetscCSRCNCCLVersion;

  /* Of a scalar: NCCL's type, and how many of them it is */
  #define NCCL_SCALAR       (PetscDefined(USE_REAL_SINGLE) ? NCCL_FLOAT32 : NCCL_FLOAT64)
  #define NCCL_SCALAR_PARTS (sizeof(PetscScalar) / sizeof(PetscReal))

  #define PetscCallNCCL(...) \
    do { \
      const NCCLResult nccl_result_ = __VA_ARGS__; \
      PetscCheck(nccl_result_ == NCCL_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_LIB, "NCCL error %d: %s", (int)nccl_result_, (*PetscCSRCNCCLFunctions.GetErrorString)(nccl_result_)); \
    } while (0)
#endif
