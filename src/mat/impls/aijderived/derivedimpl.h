#pragma once

/* Shared only by the files of this folder; derived.h is for the kinds of form */
#include "derived.h"

/* The part of a matrix that is ours, on A->spptr of sequential and parallel matrices */
typedef struct {
  const AIJKind *kind;
  void          *ctx;  /* of kind: settings and, if sequential, the form */
  struct _MatOps base; /* AIJ's operations, as they were before some of them were replaced by ours */

  /* AIJ's functions for assembly from coordinates, which need host arrays, while users may have device arrays; and how many values they take */
  PetscErrorCode (*setpreallocationcoo)(Mat, PetscCount, PetscInt[], PetscInt[]);
  PetscErrorCode (*setvaluescoo)(Mat, const PetscScalar[], InsertMode);
  PetscCount ncoo;

  PetscBool release;  /* the CSR is to be freed at the first product; never set for the blocks of a parallel matrix */
  PetscBool released; /* it has been: the matrix is of the type without it, and base holds what this type can do */

  /* sequential only: what the form was made from */
  PetscBool       built;
  PetscBool       ondevice;
  MatState        key;
  Mat             mat; /* MatHeaderReplace() gives this part to another matrix, whose state counts on from its own */
  PetscInt        m, n, nnz;
  const PetscInt *j;

  /* sequential only: operands that are not in the form's memory pass through here; grown on demand, freed with the form */
  PetscScalar *stage[2];
  size_t       stagesize[2];
  PetscBool    stagetold;

  /* parallel only: for products with dense matrices, one for A X and one for A^T X */
  struct {
    Mat      rows;    /* the ghost rows of X, or of A^T X: as many as the off-diagonal block has columns */
    Mat      product; /* A X only: the off-diagonal block times rows */
    PetscSF  sf;      /* how they travel, from or to a matrix of leading dimension lda */
    PetscSF  base;    /* the matrix's own PetscSF, from which sf was made */
    PetscInt lda;
  } ghost[2];
} Mat_Derived;

/* A->data of a parallel matrix without CSR */
typedef struct {
  Mat        blocks[2]; /* diagonal and off-diagonal, of the sequential type without CSR */
  Vec        ghost;     /* ghost values of x, one for each column of the off-diagonal block ... */
  VecScatter scatter;   /* ... how they travel ... */
  PetscInt  *garray;    /* ... and their global columns */
} Mat_MPICSRFree;

/* Exported by PETSc, but declared in none of its installed headers */
PETSC_EXTERN PetscErrorCode MatCreate_SeqAIJ(Mat);
PETSC_EXTERN PetscErrorCode MatCreate_MPIAIJ(Mat);

/* A->boundtocpu, which only a PETSc with devices has: in others a matrix is always on the host */
static inline PetscBool MatDerivedBoundToCPU(Mat A)
{
#if PetscDefined(HAVE_DEVICE)
  return A->boundtocpu;
#else
  (void)A;
  return PETSC_TRUE;
#endif
}

static inline void MatDerivedSetBoundToCPU(Mat A, PetscBool flg)
{
#if PetscDefined(HAVE_DEVICE)
  A->boundtocpu = flg;
#else
  (void)A;
  (void)flg;
#endif
}

PETSC_INTERN PetscLogEvent MAT_FormBuild, MAT_FormSetValues, MAT_FormMult, MAT_FormMatMult;

/* Brings the form of a sequential matrix up to date; products call it first */
PETSC_INTERN PetscErrorCode MatDerivedUpdate(Mat);
/* Frees the form of a sequential matrix; the next product builds it again */
PETSC_INTERN PetscErrorCode MatDerivedReset(Mat);
/* Put our part over an AIJ matrix, with default settings, or take it off again */
PETSC_INTERN PetscErrorCode MatDerivedInstall(Mat, const AIJKind *);
PETSC_INTERN PetscErrorCode MatDerivedRemove(Mat);
PETSC_INTERN PetscErrorCode MatDerivedInstallMPI(Mat, const AIJKind *);
PETSC_INTERN PetscErrorCode MatDerivedRemoveMPI(Mat);
PETSC_INTERN PetscErrorCode MatDerivedCopySettings(Mat, Mat);
/* What sequential and parallel matrices have in common */
PETSC_INTERN PetscErrorCode MatDerivedInstallCommon(Mat, const AIJKind *, const char[]);
PETSC_INTERN PetscErrorCode MatDerivedDecompose(Mat, const AIJKind *, const char typename[], const char prefix[]);
PETSC_INTERN PetscErrorCode MatDerivedRemoveCommon(Mat);
PETSC_INTERN PetscErrorCode MatDerivedGetKind(Mat, const AIJKind **);

/* The blocks of a parallel matrix of ours, with CSR or without */
PETSC_INTERN PetscErrorCode MatDerivedGetBlocks(Mat, Mat *, Mat *, const PetscInt **);

/* csrfree/seq.c, csrfree/mpi.c: bring the form up to date and free the CSR. What can fail is done before A changes. */
PETSC_INTERN PetscErrorCode MatDerivedReleaseSeq(Mat);
PETSC_INTERN PetscErrorCode MatDerivedReleaseMPI(Mat);

static inline PetscErrorCode MatDerivedReleaseIfAsked(Mat A)
{
  const Mat_Derived *f = (const Mat_Derived *)A->spptr;
  PetscBool          isseq;

  PetscFunctionBegin;
  if (f->released || !f->release) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (isseq) PetscCall(MatDerivedReleaseSeq(A));
  else PetscCall(MatDerivedReleaseMPI(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For sequential and parallel matrices without CSR: install and remove what they have in common; apply changed settings */
PETSC_INTERN PetscErrorCode MatDerivedInstallReleased(Mat, const char[]);
PETSC_INTERN PetscErrorCode MatDerivedRemoveReleased(Mat);
PETSC_INTERN PetscErrorCode MatDerivedReleasedSettingsChanged(Mat);
/* A plain AIJ copy of a matrix without CSR */
PETSC_INTERN PetscErrorCode MatDerivedDecodeSeq(Mat, Mat *);
PETSC_INTERN PetscErrorCode MatDerivedDecodeMPI(Mat, Mat *);
/* Adds the sums of |a| by row or by column to sums; the sequential type, with CSR or without */
PETSC_INTERN PetscErrorCode MatDerivedAddSums(Mat, PetscBool byrow, PetscReal sums[]);
PETSC_INTERN PetscErrorCode MatDerivedNorm1_MPI(Mat, PetscReal *);
/* The parallel type: is what processes send each other in products with A^T to be added on the host? */
PETSC_INTERN PetscErrorCode MatDerivedAddsOnHost(Mat, PetscBool *);

/* csrfree/refused.c: puts in, or takes out, what refuses to work without the CSR */
PETSC_INTERN PetscErrorCode MatDerivedRefuse(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatGetFactor_AIJCSRFree(Mat, MatFactorType, Mat *);
PETSC_INTERN PetscErrorCode MatCreate_AIJCSRFree(Mat);

/* view.c */
PETSC_INTERN PetscErrorCode MatView_SeqAIJDerived(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode MatView_MPIAIJDerived(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode MatView_AIJCSRFree(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode MatFormGetMemory_SeqAIJDerived(Mat, PetscLogDouble *, PetscMemType *);
PETSC_INTERN PetscErrorCode MatFormGetMemory_MPIAIJDerived(Mat, PetscLogDouble *, PetscMemType *);

/* A kind by users' or internal name; NULL if there is none */
PETSC_INTERN PetscErrorCode AIJKindFind(const char[], const AIJKind **);

/* Conversion to and from every type: the convertfrom and convert operations of our matrices */
PETSC_INTERN PetscErrorCode MatConvertFrom_AIJDerived(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_AIJDerived(Mat, MatType, MatReuse, Mat *);
/* Convert a plain AIJ matrix in place to any other type; put the insides of a matrix into another one; join two plain blocks into a
   parallel matrix over the processes of A */
PETSC_INTERN PetscErrorCode MatConvertAIJInPlace(Mat, MatType);
PETSC_INTERN PetscErrorCode MatDerivedReplace(Mat, Mat *);
PETSC_INTERN PetscErrorCode MatDerivedJoinBlocks(Mat A, Mat Ad, Mat Ao, const PetscInt garray[], Mat *B);

/* Products of the sequential type with vectors */
PETSC_INTERN PetscErrorCode MatMult_SeqAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_SeqAIJDerived(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_SeqAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_SeqAIJDerived(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTranspose_SeqAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTransposeAdd_SeqAIJDerived(Mat, Vec, Vec, Vec);

/* Y = op(A) X for a sequential matrix and dense X, Y, which may live in host or device memory */
PETSC_INTERN PetscErrorCode MatDerivedApplyDense(Mat, AIJOp, Mat, Mat);
/* C = op(A) B, all assembled: sequential, parallel with A, parallel with A^T */
PETSC_INTERN PetscErrorCode MatDerivedProductSeq(Mat A, AIJOp, Mat B, Mat C);
PETSC_INTERN PetscErrorCode MatDerivedProductMPI_AB(Mat A, Mat B, Mat C);
PETSC_INTERN PetscErrorCode MatDerivedProductMPI_AtB(Mat A, Mat B, Mat C);
/* Sets what computes a prepared product C: the operation given, and those by which PETSc makes products of three matrices */
PETSC_INTERN PetscErrorCode MatDerivedSetNumeric(Mat C, PetscErrorCode (*)(Mat));
/* Whether it is a matrix of our types, with CSR or without */
PETSC_INTERN PetscErrorCode MatDerivedHasForm(Mat, PetscBool *);
/* If the matrix A of a product C has been converted since C was prepared, computes C by A's new type; *done tells whether it did */
PETSC_INTERN PetscErrorCode MatDerivedProductElsewhere(Mat, PetscBool *);
/* For MatProduct: the functions composed under the names of the types involved */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqAIJDerived_SeqDense(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqDense_SeqAIJDerived(Mat);
PETSC_INTERN PetscErrorCode MatDerivedResetGhost(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_MPIAIJDerived_MPIDense(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_MPIDense_MPIAIJDerived(Mat);
PETSC_INTERN PetscErrorCode MatDerivedComposeProducts(Mat, const char[], const char[], PetscErrorCode (*)(Mat), PetscErrorCode (*)(Mat));

/* Copies between host and device on the stream of the current PetscDeviceContext; PetscCSRCDeviceWait() waits for them */
PETSC_INTERN PetscErrorCode PetscCSRCDeviceCopy(PetscScalar *to, PetscMemType tomem, const PetscScalar *from, PetscMemType frommem, PetscInt n);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceCopy2D(PetscScalar *to, PetscInt ldto, PetscMemType tomem, const PetscScalar *from, PetscInt ldfrom, PetscMemType frommem, PetscInt m, PetscInt n);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceWait(void);
/* A host copy of n items of the given size if ptr is in device memory, to be freed with PetscFree(); NULL if it is in host memory */
PETSC_INTERN PetscErrorCode PetscCSRCHostCopy(const void *ptr, size_t n, size_t size, void *copy);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceForget(void);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceUploadFinalize(void);
/* At least n scalars of device scratch in a slot of the matrix; what it held is lost */
PETSC_INTERN PetscErrorCode MatDerivedGetStage(Mat, int slot, size_t n, PetscScalar **);
