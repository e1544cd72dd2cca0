/*
  Products that are left to aijcusparse. Storing the nonzeros, or new values, takes as long as some products gain. Where the CSR is on
  the device already, aijcusparse computes A x until it has lost twice the time that storing takes; then the nonzeros are stored (ski rental:
  Karlin, Manasse, Rudolph, Sleator, Algorithmica 3, 1988). So a program that multiplies a matrix a few times, or changes its values
  between few products, takes no longer than with aijcusparse. Any other program loses at most a small part of its time. Values that
  follow on values with more products are stored at once, since programs do the same again.

  Products are counted, not timed, so that every run does the same. A product with A^T or with a dense matrix gains most, and stores at once. So
  does a matrix with settings that choose how it is stored, or that ask for the same bits every time, since the last bits are aijcusparse's here.
*/
#include "../derivedimpl.h"

#if defined(PETSCCSRC_HAVE_CUDA)
/* How many A x lose as much time as new values take to store (measurements: set-up, products, whole programs) */
  #define COST_VALUES 3

/* No matrix is left to aijcusparse for longer */
  #define COST_MOST 10000

/* Whether a matrix of this process has been stored, so that kernels are loaded */
static PetscBool Stored = PETSC_FALSE;

/*
  How many A x lose twice the time that storing so many nonzeros takes. On an H200 an A x loses 2 ps a nonzero, storing takes 60 times that, and
  0.5 ms; 3.3 ms for the first matrix of a process, as kernels are loaded (S17).
*/
static PetscInt CostOfBuild(PetscLogDouble nnz)
{
  return (PetscInt)PetscMin(COST_MOST, 2 * (60 + (Stored ? 2.4e8 : 1.6e9) / PetscMax(nnz, 1)));
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
    f->rent.lost = f->rent.before = f->rent.products = 0;
    PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
    f->rent.cost = CostOfBuild(info.nz_used);
  } else if (now.state != f->rent.state.state) {
    f->rent.before   = f->rent.products;
    f->rent.products = 0;
  }
  f->rent.state = now;
  PetscFunctionReturn(PETSC_SUCCESS);
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

PetscErrorCode MatDerivedStoreAtOnce(Mat A)
{
  PetscFunctionBegin;
  if (MatDerivedOf(A)->cusparse) {
    PetscCall(Notice(A));
    MatDerivedOf(A)->rent.products = COST_MOST;
    Stored                         = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDerivedRent(Mat A, Vec x, Vec z, Vec y, PetscBool *done)
{
  Mat_Derived *f = MatDerivedOf(A);
  AIJPurpose   purpose;
  PetscBool    samepattern;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!f->cusparse || f->release || f->released) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Notice(A));
  f->rent.products = PetscMin(f->rent.products + 1, COST_MOST);
  samepattern      = f->built && f->mat == A && f->ondevice && f->state.id == f->rent.state.id && f->state.nonzerostate == f->rent.state.nonzerostate ? PETSC_TRUE : PETSC_FALSE;
  if (samepattern && f->state.state == f->rent.state.state) PetscFunctionReturn(PETSC_SUCCESS); /* they are stored */
  if (samepattern ? f->rent.products > COST_VALUES || f->rent.before >= COST_VALUES : f->rent.lost >= f->rent.cost) {
    Stored = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  (*f->kind->getpurpose)(f->settings, f->columns, &purpose);
  if (!purpose.rents || !MatDerivedCSROnDevice(A) || A->structure_only || !IsOnDevice(x) || !IsOnDevice(y) || !IsOnDevice(z)) PetscFunctionReturn(PETSC_SUCCESS);
  if (f->rent.products == 1) PetscCall(PetscInfo(A, "A x is left to %s until storing the nonzeros, or their values, would have paid back\n", MATSEQAIJCUSPARSE));

  /* without stored nonzeros a product loses time only if it is one of more than new values would take to store */
  if (!samepattern && f->rent.products > COST_VALUES) f->rent.lost++;
  if (z) MatDerivedCallLent(A, (*f->base.multadd)(A, x, z, y));
  else MatDerivedCallLent(A, (*f->base.mult)(A, x, y));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode MatDerivedStoreAtOnce(Mat A)
{
  (void)A;
  return PETSC_SUCCESS;
}

PetscErrorCode MatDerivedRent(Mat A, Vec x, Vec z, Vec y, PetscBool *done)
{
  (void)A;
  (void)x;
  (void)z;
  (void)y;
  *done = PETSC_FALSE;
  return PETSC_SUCCESS;
}
#endif
