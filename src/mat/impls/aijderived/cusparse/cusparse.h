#pragma once

/* What differs where aijcusparse is underneath */
#include "../derivedimpl.h"

/* base.c: makes a matrix an aijcusparse matrix underneath, if possible; operations.c: the operations that differ */
PETSC_INTERN PetscErrorCode MatDerivedPutBase(Mat, const AIJKind *, PetscBool *cusparse);
PETSC_INTERN PetscErrorCode MatDerivedGetDeviceCSR(Mat, AIJCSR *);
PETSC_INTERN PetscBool      MatDerivedCSROnDevice(Mat); /* whether the CSR is on the device, and current there */
/* For functions that use AIJ's array on the host as it stands: fetch the newest values before the call; mark the host's values as the newest after it */
PETSC_INTERN PetscErrorCode     MatDerivedFetch(Mat);
PETSC_INTERN PetscErrorCode     MatDerivedWritten(Mat);
PETSC_INTERN const AIJOperation MatDerivedSeqCUSPARSEOperations[], MatDerivedMPICUSPARSEOperations[];
PETSC_INTERN const AIJComposed  MatDerivedSeqComposed[], MatDerivedSeqCUSPARSEComposed[]; /* without and with aijcusparse underneath */
/* lend.c: a matrix gets the name of aijcusparse for the duration of a call */
typedef struct {
  Mat   mat;
  char *name; /* the name of its type; NULL if none is lent */
} AIJLent;
/* A matrix that is NULL or of other types is skipped. No code between the two calls may return: errors are kept until the names are taken back. */
PETSC_INTERN PetscErrorCode MatDerivedLend(PetscInt n, const Mat[], AIJLent[]);
PETSC_INTERN PetscErrorCode MatDerivedTakeBack(PetscInt n, AIJLent[]);
/* The same around one call, for one matrix */
#define MatDerivedCallLent(A, ...) \
  do { \
    AIJLent        lent_; \
    PetscErrorCode ierr_; \
\
    PetscCall(MatDerivedLend(1, &(A), &lent_)); \
    ierr_ = __VA_ARGS__; \
    PetscCall(MatDerivedTakeBack(1, &lent_)); \
    PetscCall(ierr_); \
  } while (0)
/* lend.c: parts of PETSc that ask for aijcusparse by its exact name, and are created from now on, know our types too */
PETSC_INTERN PetscErrorCode MatDerivedRegisterNames(void);
/* faults.c */
PETSC_INTERN PetscErrorCode MatDerivedCorrectBlockSizes(Mat A, Mat block, PetscInt cbs);
PETSC_INTERN PetscErrorCode MatDerivedTransposeAdd(Mat A, PetscErrorCode (*multtransposeadd)(Mat, Vec, Vec, Vec), Vec x, Vec z, Vec y);
#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN PetscErrorCode MatDerivedBringToDevice(Mat);
PETSC_INTERN PetscErrorCode MatDerivedDropTranspose(Mat);
PETSC_INTERN PetscErrorCode MatDerivedZeroOnDevice(Mat);
PETSC_INTERN PetscErrorCode MatGetDiagonal_SeqCUSPARSEDerived(Mat, Vec);
PETSC_INTERN PetscErrorCode MatZeroEntries_SeqCUSPARSEDerived(Mat);
PETSC_INTERN PetscErrorCode MatGetColumnReductions_SeqCUSPARSEDerived(Mat, PetscInt, PetscReal *);
PETSC_INTERN PetscErrorCode MatEliminateZeros_SeqCUSPARSEDerived(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatCreateVecs_MPICUSPARSEDerived(Mat, Vec *, Vec *);
PETSC_INTERN PetscErrorCode MatFDColoringSetUp_CUSPARSEDerived(Mat, ISColoring, MatFDColoring);
#endif
/* transpose.c */
PETSC_INTERN PetscErrorCode MatTranspose_SeqCUSPARSEDerived(Mat, MatReuse, Mat *);
/* product.c: products of sparse matrices */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqAIJDerived(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_MPIAIJDerived(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJDerived_AnyType(Mat);
/* For a product that PETSc computes on the host: before each step the newest values of its operands (AIJ, also within a MATMAIJ, and dense) are fetched */
PETSC_INTERN PetscErrorCode MatDerivedProductOnHost(Mat);
/* factor.c: makes factors of a kind known to PETSc, those of solver type cusparse or its own */
PETSC_INTERN PetscErrorCode MatDerivedRegisterFactors(const AIJKind *, PetscBool cusparse);
PETSC_INTERN PetscErrorCode MatDerivedForgetFactors(void);
