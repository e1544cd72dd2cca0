#pragma once

/* NCCL's library and its communicators: one for each of PETSc's, created on first use */
#include <petscsys.h>

#if defined(PETSCCSRC_HAVE_CUDA)
  #include "ncclapi.h"

typedef struct {
  PetscBool   usable; /* the same on all processes */
  const char *reason; /* why not */
  NCCLComm    comm;
} PetscCSRCNCCL;

/* Collective on one of PETSc's communicators, which owns what is returned */
PETSC_INTERN PetscErrorCode PetscCSRCNCCLGet(MPI_Comm, PetscCSRCNCCL **);
PETSC_INTERN NCCLFunctions  PetscCSRCNCCLFunctions;
PETSC_INTERN int            PetscCSRCNCCLVersion;

  /* A scalar is NCCL_SCALAR_PARTS items of NCCL's type NCCL_SCALAR */
  #define NCCL_SCALAR       (PetscDefined(USE_REAL_SINGLE) ? NCCL_FLOAT32 : NCCL_FLOAT64)
  #define NCCL_SCALAR_PARTS (sizeof(PetscScalar) / sizeof(PetscReal))

  #define PetscCallNCCL(...) \
    do { \
      const NCCLResult nccl_result_ = __VA_ARGS__; \
      PetscCheck(nccl_result_ == NCCL_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_LIB, "NCCL error %d: %s", (int)nccl_result_, (*PetscCSRCNCCLFunctions.GetErrorString)(nccl_result_)); \
    } while (0)
#endif
