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

/* What the exchange gets for vectors, but for the arrays */
static PetscErrorCode SetArrays(Mat A, PetscCSRCExchangeArrays *v)
{
  PetscFunctionBegin;
  *v = (PetscCSRCExchangeArrays){.K = 1, .own.ld = A->cmap->n};
  PetscCall(PetscCSRCExchangeGetGhosts(MatDerivedOf(A)->parallel.exchange, &v->ghost.ld, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x + z; z may be NULL, or y */
static PetscErrorCode Forward(Mat A, Vec x, Vec z, Vec y)
{
  AIJParallel            *p = &MatDerivedOf(A)->parallel;
  Mat                     Ad, Ao;
  PetscCSRCExchangeArrays v;
  PetscBool               done;
  PetscErrorCode          ierr = PETSC_SUCCESS; /* of the diagonal block's product */

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall(CheckSize(x, A->cmap, "columns"));
  PetscCall(MatDerivedLeaveMPI(A, AIJ_N, x, z, y, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedUpdateMPI(A, 1));
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
  PetscCall(SetArrays(A, &v));
  PetscCall(VecGetArrayReadAndMemType(x, (const PetscScalar **)&v.own.a, &v.own.mem));
  PetscCall(VecGetArrayWriteAndMemType(p->ghost, &v.ghost.a, &v.ghost.mem));
  PetscCall(PetscCSRCExchangeBegin(p->exchange, PETSCCSRC_FORWARD, &v));
  if (!p->whole) ierr = Apply(Ad, PETSC_FALSE, x, z, y);
  PetscCall(PetscCSRCExchangeEnd(p->exchange, PETSCCSRC_FORWARD, &v));
  PetscCall(VecRestoreArrayWriteAndMemType(p->ghost, &v.ghost.a));
  PetscCall(VecRestoreArrayReadAndMemType(x, (const PetscScalar **)&v.own.a));
  PetscCall(ierr);
  if (p->whole) PetscCall(Apply(p->whole, PETSC_FALSE, p->ghost, z, y));
  else PetscCall(MatDerivedOffMultAdd(A, p->ghost, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the address and the memory type of the array of y, which the exchange needs before the diagonal block's product writes it; it is got again after that */
static PetscErrorCode Locate(Vec y, PetscBool read, PetscCSRCExchangeArray *own)
{
  PetscScalar *array;

  PetscFunctionBegin;
  if (read) PetscCall(VecGetArrayAndMemType(y, &array, &own->mem));
  else PetscCall(VecGetArrayWriteAndMemType(y, &array, &own->mem));
  own->a = array;
  if (read) PetscCall(VecRestoreArrayAndMemType(y, &array));
  else PetscCall(VecRestoreArrayWriteAndMemType(y, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A^T x + z; z may be NULL, or y */
static PetscErrorCode Reverse(Mat A, Vec x, Vec z, Vec y)
{
  AIJParallel            *p = &MatDerivedOf(A)->parallel;
  Mat                     Ad, Ao;
  PetscCSRCExchangeArrays v;
  PetscCSRCDirection      direction;
  PetscBool               done;
  PetscErrorCode          ierr; /* of the products */

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall(CheckSize(x, A->rmap, "rows"));
  PetscCall(CheckSize(y, A->cmap, "columns"));
  if (z) PetscCall(CheckSize(z, A->cmap, "columns")); /* PETSc looks at global sizes only */
  PetscCall(MatDerivedLeaveMPI(A, AIJ_T, x, z, y, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedUpdateMPI(A, 1));
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
  PetscCall(SetArrays(A, &v));
  direction = p->whole && !z ? PETSCCSRC_REVERSE_INSERT : PETSCCSRC_REVERSE_ADD;
  if (p->whole && z && z != y) PetscCall(VecCopy(z, y));
  PetscCall(Locate(y, z ? PETSC_TRUE : PETSC_FALSE, &v.own));
  ierr = p->whole ? Apply(p->whole, PETSC_TRUE, x, NULL, p->ghost) : MatDerivedOffMultTranspose(A, x, p->ghost); /* may fail on one process only: then the others' sums travel */
  PetscCall(VecGetArrayAndMemType(p->ghost, &v.ghost.a, &v.ghost.mem));
  PetscCall(PetscCSRCExchangeBegin(p->exchange, direction, &v));
  if (!p->whole && !ierr) ierr = Apply(Ad, PETSC_TRUE, x, z, y);
  PetscCall(VecGetArrayAndMemType(y, &v.own.a, &v.own.mem));
  PetscCall(PetscCSRCExchangeEnd(p->exchange, direction, &v));
  PetscCall(VecRestoreArrayAndMemType(y, &v.own.a));
  PetscCall(VecRestoreArrayAndMemType(p->ghost, &v.ghost.a));
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
