/*
  Products that are left to aijcusparse. Storing the nonzeros, or new values, takes as long as some products gain. Where the CSR is on
  the device already, aijcusparse multiplies until it has lost twice the time that storing takes; then the nonzeros are stored (ski rental:
  Karlin, Manasse, Rudolph, Sleator, Algorithmica 3, 1988). So a program that multiplies a matrix a few times, or changes its values
  between few products, takes no longer than with aijcusparse. Any other program loses at most a small part of its time. Values that
  follow on values with more products are stored at once, since programs do the same again.

  Times are estimated from the numbers of nonzeros and columns, not measured, so that every run does the same. After new values a product with A^T
  stores them at once, since it gains most. So does, with any matrix, a product with a dense matrix. A matrix with settings that choose how it is
  stored, or that ask for the same bits every time, is stored at the first product, since the last bits are aijcusparse's here.
*/
#include "../derivedimpl.h"

#if defined(PETSCCSRC_HAVE_CUDA)
/* How many A x lose as much time as new values take to store (measurements: set-up, products, whole programs) */
  #define COST_VALUES 3

/* Whether a matrix of this process has been stored, so that kernels are loaded */
static PetscBool Stored = PETSC_FALSE;

/* Microseconds that storing so many nonzeros takes on an H200; the first time kernels are loaded (S17) */
static PetscReal TimeOfBuild(PetscInt nnz)
{
  return 500 + (Stored ? 0 : 3300) + (PetscReal)120e-6 * nnz;
}

/*
  Microseconds that a product by aijcusparse takes longer on an H200 (S18). cuSPARSE adds to A^T u atomically; where columns have many
  nonzeros, these additions wait for each other. A^T u counts four times: Krylov methods and SVD solvers, which multiply often, are to wait for a
  few pairs of products only, and a multigrid solve takes ten or twenty with an interpolation, which remain below the limit.
*/
static PetscReal TimeLost(PetscInt nnz, PetscInt n, AIJOp op)
{
  const PetscReal more = (PetscReal)1e-6 * nnz;

  if (op == AIJ_N) return 4 + 2 * more;
  return 4 * (4 + (nnz / PetscMax(n, 1) < 100 ? 4 : 20) * more);
}

/* Restarts the counts if values or pattern of A have changed since the last product */
static PetscErrorCode Notice(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);
  MatState     now;
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(MatGetState(A, &now));
  if (now.id != f->rent.state.id || now.nonzerostate != f->rent.state.nonzerostate) {
    PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
    f->rent.nnz    = (PetscInt)info.nz_used;
    f->rent.lost   = 0;
    f->rent.before = f->rent.products = 0;
  } else if (now.state != f->rent.state.state) {
    f->rent.before   = f->rent.products;
    f->rent.products = 0;
  }
  f->rent.state = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether storing pays back: new values of a stored pattern, or all nonzeros */
static PetscBool Pays(Mat A, AIJOp op, PetscBool samepattern)
{
  const Mat_Derived *f = MatDerivedOf(A);

  if (samepattern) return op != AIJ_N || f->rent.products > COST_VALUES || f->rent.before >= COST_VALUES ? PETSC_TRUE : PETSC_FALSE;
  return f->rent.lost >= 2 * TimeOfBuild(f->rent.nnz) ? PETSC_TRUE : PETSC_FALSE;
}

static PetscBool IsOnDevice(Vec v)
{
  PetscBool iscuda = PETSC_TRUE, bound = PETSC_FALSE;

  if (v) {
    PetscCallAbort(PETSC_COMM_SELF, PetscObjectTypeCompareAny((PetscObject)v, &iscuda, VECSEQCUDA, VECMPICUDA, ""));
    PetscCallAbort(PETSC_COMM_SELF, VecBoundToCPU(v, &bound));
  }
  return iscuda && !bound ? PETSC_TRUE : PETSC_FALSE;
}

/* y = op(A) x + z by aijcusparse. Its A^T u + z is wrong if z is another vector than y; for real numbers it has no A^H u. */
static PetscErrorCode Apply(Mat A, AIJOp op, Vec x, Vec z, Vec y)
{
  const struct _MatOps *ops       = &MatDerivedOf(A)->base;
  const PetscBool       hermitian = PetscDefined(USE_COMPLEX) && op == AIJ_H ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  if (op == AIJ_N && z) {
    PetscCall((*ops->multadd)(A, x, z, y));
  } else if (op == AIJ_N) {
    PetscCall((*ops->mult)(A, x, y));
  } else {
    if (z && z != y) PetscCall(VecCopy(z, y));
    if (z) PetscCall((*(hermitian ? ops->multhermitiantransposeadd : ops->multtransposeadd))(A, x, y, y));
    else PetscCall((*(hermitian ? ops->multhermitiantranspose : ops->multtranspose))(A, x, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedStoreAtOnce(Mat A)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  if (f->cusparse) {
    PetscCall(Notice(A));
    f->rent.products = COST_VALUES + 1;
    f->rent.lost     = PETSC_MAX_REAL;
    Stored           = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRent(Mat A, AIJOp op, Vec x, Vec z, Vec y, PetscBool *done)
{
  Mat_Derived *f = MatDerivedOf(A);
  AIJPurpose   purpose;
  PetscBool    samepattern;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!f->cusparse || f->release || f->released) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Notice(A));
  f->rent.products = op == AIJ_N ? PetscMin(f->rent.products + 1, COST_VALUES + 1) : COST_VALUES + 1;
  samepattern      = f->built && f->mat == A && f->ondevice && f->state.id == f->rent.state.id && f->state.nonzerostate == f->rent.state.nonzerostate ? PETSC_TRUE : PETSC_FALSE;
  if (samepattern && f->state.state == f->rent.state.state) PetscFunctionReturn(PETSC_SUCCESS); /* they are stored */
  if (Pays(A, op, samepattern)) {
    Stored = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  (*f->kind->getpurpose)(f->settings, f->columns, &purpose);
  if (!purpose.rents || !MatDerivedCSROnDevice(A) || A->structure_only || !IsOnDevice(x) || !IsOnDevice(y) || !IsOnDevice(z)) PetscFunctionReturn(PETSC_SUCCESS);
  if (f->rent.products == 1 || !f->rent.lost) PetscCall(PetscInfo(A, "Products are left to %s until storing the nonzeros, or their values, would have paid back\n", MATSEQAIJCUSPARSE));

  /* without stored nonzeros a product loses time only if it is one of more than new values would take to store */
  if (!samepattern && f->rent.products > COST_VALUES) f->rent.lost += TimeLost(f->rent.nnz, A->cmap->n, op);
  MatDerivedCallLent(A, Apply(A, op, x, z, y));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode MatDerivedStoreAtOnce(Mat A)
{
  (void)A;
  return PETSC_SUCCESS;
}

PetscErrorCode MatDerivedRent(Mat A, AIJOp op, Vec x, Vec z, Vec y, PetscBool *done)
{
  (void)A;
  (void)op;
  (void)x;
  (void)z;
  (void)y;
  *done = PETSC_FALSE;
  return PETSC_SUCCESS;
}
#endif
