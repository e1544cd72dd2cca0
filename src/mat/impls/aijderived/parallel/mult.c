/*
  Products of the parallel type with vectors. With the pattern lists, ghost entries of x are received while the product of the diagonal block is
  computed. For A^T x the product of the off-diagonal block is computed first, so that its sums are sent while that of the diagonal block is
  computed. With the pattern gather all entries of x are gathered first, and the results of A^T x are summed over the processes at the end.

  The product of a block can fail on one process only, for lack of memory for scratch. Its error is returned after the exchange, for which the
  other processes wait.
*/
#include "parallel.h"

static PetscErrorCode CheckSize(Vec x, PetscLayout layout, const char what[])
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCheck(n == layout->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The vector has %" PetscInt_FMT " entries on this process, the matrix %" PetscInt_FMT " %s", n, layout->n, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + z for a local matrix; z may be NULL, or y */
static PetscErrorCode Apply(Mat A, PetscBool transpose, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  if (transpose && z) PetscUseTypeMethod(A, multtransposeadd, x, z, y);
  else if (transpose) PetscUseTypeMethod(A, multtranspose, x, y);
  else if (z) PetscUseTypeMethod(A, multadd, x, z, y);
  else PetscUseTypeMethod(A, mult, x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x + z; z may be NULL, or y */
static PetscErrorCode Forward(Mat A, Vec x, Vec z, Vec y)
{
  AIJParallel       *p = &MatDerivedOf(A)->parallel;
  Mat                Ad, Ao;
  const PetscScalar *own;
  PetscScalar       *ghost;
  PetscMemType       om, gm;
  PetscInt           nghost;
  const PetscInt     n = A->cmap->n;
  PetscBool          done;
  PetscErrorCode     ierr = PETSC_SUCCESS; /* of the diagonal block's product */

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall(CheckSize(x, A->cmap, "columns"));
  PetscCall(MatDerivedLeaveMPI(A, AIJ_N, x, z, y, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedUpdateMPI(A, 1));
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
  PetscCall(PetscCSRCExchangeGetGhosts(p->exchange, &nghost, NULL));
  PetscCall(VecGetArrayReadAndMemType(x, &own, &om));
  PetscCall(VecGetArrayWriteAndMemType(p->ghost, &ghost, &gm));
  PetscCall(PetscCSRCExchangeForwardBegin(p->exchange, 1, own, n, om, ghost, nghost, gm));
  if (!p->whole) ierr = Apply(Ad, PETSC_FALSE, x, z, y);
  PetscCall(PetscCSRCExchangeForwardEnd(p->exchange, 1, own, n, om, ghost, nghost, gm));
  PetscCall(VecRestoreArrayWriteAndMemType(p->ghost, &ghost));
  PetscCall(VecRestoreArrayReadAndMemType(x, &own));
  PetscCall(ierr);
  if (p->whole) PetscCall(Apply(p->whole, PETSC_FALSE, p->ghost, z, y));
  else PetscCall(MatDerivedOffMultAdd(A, p->ghost, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the address and the memory type of the array of y, which the exchange needs before the diagonal block's product writes it; it is got again after that */
static PetscErrorCode Locate(Vec y, PetscBool read, PetscScalar **a, PetscMemType *mem)
{
  PetscScalar *array;

  PetscFunctionBegin;
  if (read) {
    PetscCall(VecGetArrayAndMemType(y, &array, mem));
    *a = array;
    PetscCall(VecRestoreArrayAndMemType(y, &array));
  } else {
    PetscCall(VecGetArrayWriteAndMemType(y, &array, mem));
    *a = array;
    PetscCall(VecRestoreArrayWriteAndMemType(y, &array));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of A^T x before the diagonal block's product: the sums for ghost entries; may fail on one process only, and then the others' sums travel */
static PetscErrorCode ComputeSums(Mat A, Vec x)
{
  const AIJParallel *p = &MatDerivedOf(A)->parallel;

  PetscFunctionBegin;
  if (p->whole) PetscCall(Apply(p->whole, PETSC_TRUE, x, NULL, p->ghost));
  else PetscCall(MatDerivedOffMultTranspose(A, x, p->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* own is where they are to be added */
static PetscErrorCode SendSums(Mat A, InsertMode mode, PetscScalar *own, PetscMemType om)
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;
  PetscScalar *ghost;
  PetscMemType gm;
  PetscInt     nghost;

  PetscFunctionBegin;
  PetscCall(PetscCSRCExchangeGetGhosts(p->exchange, &nghost, NULL));
  PetscCall(VecGetArrayAndMemType(p->ghost, &ghost, &gm));
  PetscCall(PetscCSRCExchangeReverseBegin(p->exchange, mode, 1, ghost, nghost, gm, own, A->cmap->n, om));
  PetscCall(VecRestoreArrayAndMemType(p->ghost, &ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A^T x + z; z may be NULL, or y */
static PetscErrorCode Reverse(Mat A, Vec x, Vec z, Vec y)
{
  AIJParallel   *p = &MatDerivedOf(A)->parallel;
  Mat            Ad, Ao;
  PetscScalar   *own, *ghost;
  PetscMemType   om, gm;
  PetscInt       nghost;
  InsertMode     mode;
  PetscBool      done;
  PetscErrorCode ierr; /* of the products */
  const PetscInt n = A->cmap->n;

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall(CheckSize(x, A->rmap, "rows"));
  PetscCall(CheckSize(y, A->cmap, "columns"));
  if (z) PetscCall(CheckSize(z, A->cmap, "columns")); /* PETSc looks at global sizes only */
  PetscCall(MatDerivedLeaveMPI(A, AIJ_T, x, z, y, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedUpdateMPI(A, 1));
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
  PetscCall(PetscCSRCExchangeGetGhosts(p->exchange, &nghost, NULL));
  mode = p->whole && !z ? INSERT_VALUES : ADD_VALUES;
  if (p->whole && z && z != y) PetscCall(VecCopy(z, y));
  PetscCall(Locate(y, z ? PETSC_TRUE : PETSC_FALSE, &own, &om));
  ierr = ComputeSums(A, x);
  PetscCall(SendSums(A, mode, own, om));
  if (!p->whole && !ierr) ierr = Apply(Ad, PETSC_TRUE, x, z, y);
  PetscCall(VecGetArrayAndMemType(p->ghost, &ghost, &gm));
  PetscCall(VecGetArrayAndMemType(y, &own, &om));
  PetscCall(PetscCSRCExchangeReverseEnd(p->exchange, mode, 1, ghost, nghost, gm, own, n, om));
  PetscCall(VecRestoreArrayAndMemType(y, &own));
  PetscCall(VecRestoreArrayAndMemType(p->ghost, &ghost));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMult_MPIAIJDerived(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Forward(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultAdd_MPIAIJDerived(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Forward(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTranspose_MPIAIJDerived(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Reverse(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTransposeAdd_MPIAIJDerived(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Reverse(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
