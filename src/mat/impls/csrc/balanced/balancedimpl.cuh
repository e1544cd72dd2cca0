#pragma once

/*
  What the files below share, which make the balanced layout of CSRC a format. The headers with the kernels know
  nothing of PETSc; each of these files compiles its own kernels for PETSc's scalars, so that they can be compiled side by side.

    balanced.cu   the table of the format, the view
    build.cu      set-up and new values
    mult.cu       products with one vector
    matmult.cu    products with dense matrices
    visit.cu      the way back
*/
#include "balanced.h"
#include "balanced.cuh"
#include <petscdevice_cuda.h>

/*
  Of the panels that row blocks are sized for (tuning.cuh): A^T U of CSRC_PANEL_FEW columns, with its lists, needs as much shared memory as
  FEW_ROOM columns. MOST: a row of such a panel fills the 128 bytes of all banks of the shared memory.
*/
#define CSRC_PANEL_FEW_ROOM 6
#define CSRC_PANEL_MOST     (sizeof(PetscScalar) > 8 ? CSRC_PANEL_COLUMNS : 16)

typedef struct {
  CSRCBalancedMatrix<PetscScalar>   A;
  CSRCBalancedRefill<PetscScalar>   refill;   /* places for new values; made when values first change */
  CSRCBalancedPartials<PetscScalar> partials; /* partial sums of a reproducible A^T u; made at its first use */
  CSRCBalancedParams                params;
  PetscBool                         bycolumns; /* blocks consist of columns: all of the above is made from A^T */
  PetscBool                         reproducible;
  int                               kt;     /* columns of the widest panel that fits the shared memory, at most CSRC_PANEL_MOST */
  int                               cache;  /* size of the second-level cache in bytes */
  PetscScalar                      *packed; /* scratch for A X: panels of n rows, and the parts of split rows */
  size_t                            npacked;
  PetscScalar                      *sums; /* for A^T U: panels of n rows, zero between products */
  size_t                            nsums;
} CSRCBalancedCUDA;

/* Whether this product needs the transpose of the stored matrix */
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

/* mult.cu, matmult.cu: preparation of a new layout before its first product, and products */
PETSC_INTERN PetscErrorCode CSRCBalancedCUDAPrepare(CSRCBalancedCUDA *b);
PETSC_INTERN PetscErrorCode CSRCBalancedCUDAApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y);
PETSC_INTERN PetscErrorCode CSRCBalancedCUDAPrepareDense(CSRCBalancedCUDA *b);
PETSC_INTERN PetscErrorCode CSRCBalancedCUDAApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy);
