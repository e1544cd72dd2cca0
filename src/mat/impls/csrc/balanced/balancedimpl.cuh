#pragma once

/*
  Declarations shared by the files below, which make the balanced layout of CSRC a format. The headers with the kernels do not use PETSc;
  each of these files compiles its kernels for PETSc's scalar type, so that the files can be compiled in parallel.

    balanced.cu   the table of the format, the view
    build.cu      set-up and new values
    mult.cu       products with one vector
    matmult.cu    products with dense matrices
    visit.cu      lists the stored nonzeros
*/
#include "balanced.h"
#include "balanced.cuh"
#include <petscdevice_cuda.h>

/*
  Widths of panels that row blocks are sized for (tuning.cuh). FEW_ROOM: A^T U of CSRC_PANEL_FEW columns, with its lists, needs as much
  shared memory as this many columns. MOST: the number of columns with which a packed row fills the 128 bytes of all banks of the shared
  memory.
*/
#define CSRC_PANEL_FEW_ROOM 6
#define CSRC_PANEL_MOST     (sizeof(PetscScalar) > 8 ? CSRC_PANEL_COLUMNS : 16)

typedef struct {
  CSRCBalancedMatrix<PetscScalar> A;
  CSRCBalancedRefill<PetscScalar> refill; /* where new values go; made when values change for the first time */
  CSRCBalancedParams              params;
  PetscBool                       bycolumns; /* whether blocks consist of columns: then all members above are made from A^T */
  int                             kt;        /* number of columns of the widest panel that fits the shared memory, at most CSRC_PANEL_MOST */
  size_t                          shared;    /* shared memory of a thread block in bytes */
  int                             cache;     /* size of the L2 cache in bytes */
  PetscScalar                    *packed;    /* scratch for A X: X packed by panels of n rows, and the partial sums of split rows */
  size_t                          npacked;
  PetscScalar                    *sums; /* scratch for A^T U: the sums, packed by panels of n rows; zero between products */
  size_t                          nsums;
} CSRCBalancedCUDA;

/* Whether op(A) x is the product with the transpose of the matrix that is stored, which is A, or A^T if blocks consist of columns */
static inline bool CSRCBalancedCUDATransposed(const CSRCBalancedCUDA *b, AIJOp op)
{
  return (op == AIJ_N) == (b->bycolumns == PETSC_TRUE);
}

/* build.cu */
PETSC_INTERN PetscErrorCode CSRCBalancedCUDABuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data);
PETSC_INTERN PetscErrorCode CSRCBalancedCUDAMadeFor(const void *data, const AIJPurpose *purpose, PetscBool *yes);
PETSC_INTERN PetscErrorCode CSRCBalancedCUDASetValues(void *data, const AIJCSR *csr);
PETSC_INTERN PetscErrorCode CSRCBalancedCUDADestroy(void **data);

/* visit.cu */
PETSC_INTERN PetscErrorCode CSRCBalancedCUDAVisit(const void *data, AIJVisitor visit, void *visitctx);

/* mult.cu, matmult.cu: preparation of a new layout for its first product, and the products */
PETSC_INTERN PetscErrorCode CSRCBalancedCUDAPrepare(CSRCBalancedCUDA *b);
PETSC_INTERN PetscErrorCode CSRCBalancedCUDAApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y);
PETSC_INTERN PetscErrorCode CSRCBalancedCUDAPrepareDense(CSRCBalancedCUDA *b);
PETSC_INTERN PetscErrorCode CSRCBalancedCUDAApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy);
