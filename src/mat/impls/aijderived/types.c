/*
  The roof: makes an AIJ matrix one of a kind's types, and AIJ again, by tables of operations and of composed functions; conversions; registration with
  PETSc. All other files of this folder are below this one. They make a matrix one of a type that they have a matrix of by its member `install`.

  PETSc asks an empty matrix of the new type for its convertfrom operation and the old matrix for its convert operation, before it falls back to the
  basic converter, which copies entry by entry. Since both are set, all conversions come through here: by users' and internal names, in place or not,
  from and to any type.
*/
#include "seq.h"
#include "parallel/parallel.h"
#include "cusparse/cusparse.h"
#include "csrfree/csrfree.h"
#include "sys/threads.h"

static PetscErrorCode MatConvertFrom_AIJDerived(Mat, MatType, MatReuse, Mat *);
static PetscErrorCode MatConvert_AIJDerived(Mat, MatType, MatReuse, Mat *);

static const AIJOperation Conversions[] = {
  AIJ_OPERATION(convert, MatConvert_AIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(convertfrom, MatConvertFrom_AIJDerived, OVERRIDE_ALWAYS),
  {0, NULL, OVERRIDE_ALWAYS},
};

/* Assembly from coordinates, and the names under which MatProduct looks for products with dense matrices on the right and on the left, and for P^T A P with a MATMAIJ P */
#define COMPOSED(prefix, getmemory, ourdense, denseour) \
  { \
    {"MatFormGetMemory_C", (PetscErrorCodeFn *)getmemory}, {"MatSetPreallocationCOO_C", (PetscErrorCodeFn *)MatSetPreallocationCOO_AIJDerived}, {"MatSetValuesCOO_C", (PetscErrorCodeFn *)MatSetValuesCOO_AIJDerived}, \
      {"MatProductSetFromOptions_%s_" prefix "dense_C", (PetscErrorCodeFn *)ourdense}, {"MatProductSetFromOptions_%s_" prefix "densecuda_C", (PetscErrorCodeFn *)ourdense}, \
      {"MatProductSetFromOptions_" prefix "dense_%s_C", (PetscErrorCodeFn *)denseour}, {"MatProductSetFromOptions_" prefix "densecuda_%s_C", (PetscErrorCodeFn *)denseour}, \
      {"MatProductSetFromOptions_%s_" prefix "maij_C", (PetscErrorCodeFn *)MatProductSetFromOptions_AIJDerived_MAIJ}, \
    { \
      NULL, NULL \
    } \
  }
static const AIJComposed SeqComposed[] = COMPOSED("seq", MatFormGetMemory_SeqAIJDerived, MatProductSetFromOptions_SeqAIJDerived_SeqDense, MatProductSetFromOptions_SeqDense_SeqAIJDerived);
static const AIJComposed MPIComposed[] = COMPOSED("mpi", MatFormGetMemory_MPIAIJDerived, MatProductSetFromOptions_MPIAIJDerived_MPIDense, MatProductSetFromOptions_MPIDense_MPIAIJDerived);

/* With aijcusparse underneath: products for which PETSc finds no other function */
static const AIJComposed CUSPARSEComposed[] = {
  {"MatProductSetFromOptions_anytype_C", (PetscErrorCodeFn *)MatProductSetFromOptions_AIJDerived_AnyType},
  {NULL,                                 NULL                                                           },
};

/* Called when Mat_Derived is removed from a matrix, or when PETSc drops it because the matrix takes over the insides of another one */
static PetscErrorCode PartDestroy(PetscCtxRt ctx)
{
  Mat_Derived *f = (Mat_Derived *)PetscCtxOf(ctx);

  PetscFunctionBegin;
  PetscCall(AIJCacheReset(&f->cache));
  PetscCall(AIJParallelReset(&f->parallel));
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscCSRCDeviceFree(&f->transpose.place));
#endif
  PetscCall(PetscFree(f->settings));
  PetscCall(PetscFree(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetSettersCOO(Mat A, AIJSettersCOO *coo)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetPreallocationCOO_C", &coo->setpreallocation));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSetValuesCOO_C", &coo->setvalues));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UseDevice(Mat A, const AIJKind *kind)
{
  PetscBool   usable;
  const char *reason;

  PetscFunctionBegin;
  if (!kind->usesdevice) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCSRCDeviceUsable(&usable, &reason));
  if (usable) {
    MatDerivedSetBoundToCPU(A, PETSC_FALSE);
    PetscCall(MatSetVecType(A, VECCUDA));
  } else PetscCall(PetscInfo(A, "%s stores its nonzeros on the host: %s\n", kind->name, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes an AIJ or aijcusparse matrix, which need not be assembled, one of a kind's types, with default settings */
static PetscErrorCode Install(Mat A, const AIJKind *kind)
{
  Mat_Derived *f;
  PetscBool    isseq, plain;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (!isseq) PetscCall(PetscCSRCThreadsMeet(PetscObjectComm((PetscObject)A)));
  PetscCall(PetscNew(&f));
  PetscCall(PetscObjectContainerCompose((PetscObject)A, AIJ_PART, f, PartDestroy)); /* from now on it is freed with A */
  f->kind = kind;
  PetscCall(PetscMalloc(kind->size, &f->settings));
  PetscCall(PetscMemcpy(f->settings, kind->defaults, kind->size));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &plain, MATSEQAIJ, MATMPIAIJ, ""));
  if (plain) PetscCall(GetSettersCOO(A, &f->coo[0]));
  PetscCall(MatDerivedPutBase(A, kind, &f->cusparse));
  if (f->cusparse) PetscCall(GetSettersCOO(A, &f->coo[1]));
  /* not when the library is loaded: a program without such a matrix shall not look for a device */
  if (isseq && A->factortype == MAT_FACTOR_NONE && !A->structure_only) PetscCall(MatDerivedRegisterFactors(kind, f->cusparse)); /* others are never aijcusparse underneath */
  f->type            = isseq ? kind->seqname : kind->mpiname;
  f->install         = Install;
  f->settingschanged = isseq ? MatDerivedReset : MatDerivedSettingsChangedMPI;
  f->tables[0]       = MatDerivedInheritedOperations;
  f->tables[1]       = isseq ? MatDerivedSeqOperations : MatDerivedMPIOperations;
  f->tables[2]       = !f->cusparse ? NULL : isseq ? MatDerivedSeqCUSPARSEOperations : MatDerivedMPICUSPARSEOperations;
  f->tables[3]       = Conversions;
  f->composed[0]     = kind->setters;
  f->composed[1]     = isseq ? SeqComposed : MPIComposed;
  f->composed[2]     = !isseq ? NULL : f->cusparse ? MatDerivedSeqCUSPARSEComposed : MatDerivedSeqComposed;
  f->composed[3]     = MatDerivedReleaseSetters;
  f->composed[4]     = f->cusparse ? CUSPARSEComposed : NULL;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, f->type));
  PetscCall(MatDerivedOverrideOperations(A));
  PetscCall(MatDerivedComposeAll(A, f, PETSC_TRUE));
  PetscCall(UseDevice(A, kind));
  PetscCall(isseq ? MatDerivedKeepDestroy(A) : MatDerivedKeepDestroyMPI(A));
  if (!isseq && A->assembled) PetscCall(MatDerivedConvertBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_SeqAIJDerived(Mat A, const AIJKind *kind)
{
  PetscBool isaij;

  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJ(A));
  /* -mat_seqaij_type may have given it another type, one of these types among others */
  if (MatDerivedKindOf(A) == kind) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &isaij));
  PetscCheck(isaij, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP, "-mat_seqaij_type %s contradicts the matrix type %s: give one of the two", ((PetscObject)A)->type_name, kind->name);
  PetscCall(Install(A, kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJDerived(Mat A, const AIJKind *kind)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJ(A));
  PetscCall(Install(A, kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the name says sequential and A is parallel, or the reverse. On one process both exist, and users' names mean either. Matrices without a
  CSR, which are neither by their names, are converted through AIJ anyway.
*/
static PetscErrorCode MatContradictsSize(Mat A, const char type[], const char seqname[], const char mpiname[], PetscBool *other)
{
  PetscBool wantseq, wantmpi, isseq, ismpi;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, seqname, &wantseq));
  PetscCall(PetscStrcmp(type, mpiname, &wantmpi));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &ismpi));
  *other = (PetscBool)((wantseq && ismpi) || (wantmpi && isseq));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From any matrix to a kind of ours, or to another one */
static PetscErrorCode MatConvertFrom_AIJDerived(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  const AIJKind *kind, *old;
  Mat            B = A;
  PetscBool      isaij, isseq, cusparse, other, released;

  PetscFunctionBegin;
  PetscCall(AIJKindFind(type, &kind));
  if (!kind && A->ops->convert) { /* to AIJ: with -mat_seqaij_type MatConvert() asks for this too */
    PetscUseTypeMethod(A, convert, type, reuse, newmat);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(kind, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_UNKNOWN_TYPE, "With -mat_seqaij_type matrices of type %s cannot be converted to %s", ((PetscObject)A)->type_name, type);
  old = MatDerivedKindOf(A);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &released, kind->releasedseqname, kind->releasedmpiname, ""));
  if (reuse == MAT_REUSE_MATRIX) {
    /* the copy operations of other types, such as MATNEST, may take the target for a matrix of their own */
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &isaij, MATSEQAIJ, MATMPIAIJ, ""));
    if (!isaij) PetscCall(MatCopyAsAIJ(A, &B));
    PetscCall(MatCopy(B, *newmat, DIFFERENT_NONZERO_PATTERN));
    if (B != A) PetscCall(MatDestroy(&B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatContradictsSize(A, type, kind->seqname, kind->mpiname, &other));
  if (old == kind && !other) { /* A is of this kind already: the users' name means the same type as the internal one */
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, newmat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* through plain AIJ: our part is then put over the matrix in place; a matrix of another kind of ours is AIJ underneath, and aijcusparse may stay there */
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &isaij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(PetscCSRCDeviceUsable(&cusparse, NULL));
  if (cusparse && kind->usesdevice) PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &cusparse, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  else cusparse = PETSC_FALSE;
  if ((isaij || cusparse || old) && !other) {
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    if (old) PetscCall(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
  } else {
    PetscCall(MatCopyAsAIJ(A, &B));
    PetscCall(MatContradictsSize(B, type, kind->seqname, kind->mpiname, &other)); /* the type of A may not have told which */
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQAIJ, &isseq));
    if (other) PetscCall(MatConvert(B, isseq ? MATMPIAIJ : MATSEQAIJ, MAT_INPLACE_MATRIX, &B));
  }
  PetscCall(Install(B, kind));
  if (released) { /* the same kind, and its CSR is back */
    PetscCall(MatDerivedCopySettings(A, B));
    PetscCall(MatDerivedSettingsChanged(B));
    if (kind->usesdevice) PetscCall(MatBindToCPU(B, MatDerivedBoundToCPU(A)));
  }
  if (reuse == MAT_INPLACE_MATRIX && B != A) PetscCall(MatReplaceInsides(A, &B));
  else *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of ours becomes plain AIJ: our part is taken off, the CSR stays where it is; from aijcusparse underneath it is copied, PETSc has no other way */
static PetscErrorCode MatDerivedToAIJ(Mat A)
{
  const AIJSettersCOO coo = MatDerivedOf(A)->coo[0];
  PetscBool           isseq;
  Mat                 B;

  PetscFunctionBegin;
  if (MatDerivedOf(A)->cusparse) {
    PetscCall(MatCopyAsAIJ(A, &B));
    PetscCall(MatReplaceInsides(A, &B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  if (!isseq && A->assembled) {
    Mat blocks[2];

    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
    for (int k = 0; k < 2; k++) {
      if (MatDerivedKindOf(blocks[k])) PetscCall(MatDerivedToAIJ(blocks[k]));
    }
  }
  PetscCall(MatDerivedRemove(A));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, isseq ? MATSEQAIJ : MATMPIAIJ));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", coo.setpreallocation));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", coo.setvalues));
  MatDerivedSetBoundToCPU(A, PETSC_TRUE); /* as PETSc creates AIJ matrices */
  PetscCall(MatSetVecType(A, VECSTANDARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc's converter to MATHYPRE, which it composes with AIJ; NULL for other types. It only reads A, on the device if A is there: hypre then works
  on the device. A copy that has become AIJ would be on the host, and hypre with it.
*/
static PetscErrorCode MatFindHypreConverter(Mat A, MatType type, PetscErrorCode (**convert)(Mat, MatType, MatReuse, Mat *))
{
  PetscBool hypre, isseq;

  PetscFunctionBegin;
  *convert = NULL;
  PetscCall(PetscStrcmp(type, MATHYPRE, &hypre));
  if (!hypre) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &isseq));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, isseq ? "MatConvert_seqaij_hypre_C" : "MatConvert_mpiaij_hypre_C", convert));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From a kind of ours to any type: to plain AIJ at once, to others through it */
static PetscErrorCode MatConvert_AIJDerived(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  PetscErrorCode (*tohypre)(Mat, MatType, MatReuse, Mat *);
  Mat            B = A;
  PetscBool      toaij, other;
  const AIJKind *kind;

  PetscFunctionBegin;
  PetscCall(AIJKindFind(type, &kind));
  if (kind) {
    PetscCall(MatConvertFrom_AIJDerived(A, type, reuse, newmat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatFindHypreConverter(A, type, &tohypre));
  if (tohypre) {
    PetscCall((*tohypre)(A, type, reuse, newmat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscStrcmpAny(type, &toaij, MATAIJ, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(MatContradictsSize(A, type, MATSEQAIJ, MATMPIAIJ, &other));
  if (other) toaij = PETSC_FALSE;
  if (reuse == MAT_REUSE_MATRIX) {
    if (toaij) PetscCall(MatCopy(A, *newmat, DIFFERENT_NONZERO_PATTERN));
    else {
      /* copied between two matrices of that type */
      PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
      PetscCall(MatConvertAIJInPlace(B, type));
      PetscCall(MatCopy(B, *newmat, SAME_NONZERO_PATTERN));
      PetscCall(MatDestroy(&B));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_INITIAL_MATRIX) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    B->ops->view = MatView_AIJDerived; /* MatDuplicate() takes over the one that a DMDA gives its matrix, which MatConvert() of AIJ does not */
  }
  PetscCall(MatDerivedToAIJ(B));
  if (!toaij) PetscCall(MatConvertAIJInPlace(B, type));
  *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJKindsInitialize(void)
{
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(MatDerivedLeaveInitialize());
  PetscCall(MatDerivedRegisterNames());
  PetscCall(AIJKindsRegisterEvents());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJKindsFinalize(void)
{
  PetscFunctionBegin;
  PetscCall(AIJKindsForget());
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscCSRCDeviceUploadFinalize());
#endif
  PetscCall(MatDerivedForgetFactors());
  PetscCall(PetscCSRCDeviceForget());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Registers a kind with PETSc: its types and conversions from AIJ */
PetscErrorCode AIJKindRegister(const AIJKind *kind, PetscErrorCode (*createseq)(Mat), PetscErrorCode (*creatempi)(Mat))
{
  PetscFunctionBegin;
  PetscCall(AIJKindAdd(kind));
  PetscCall(MatRegister(kind->seqname, createseq));
  PetscCall(MatRegister(kind->mpiname, creatempi));
  PetscCall(MatRegisterRootName(kind->name, kind->seqname, kind->mpiname));
  if (kind->aijname) PetscCall(MatRegisterRootName(kind->aijname, kind->seqname, kind->mpiname));
  /* for -mat_seqaij_type, which also works in programs that create AIJ matrices without MatSetFromOptions() */
  PetscCall(MatSeqAIJRegister(kind->seqname, MatConvertFrom_AIJDerived));
  PetscCall(MatSeqAIJRegister(kind->name, MatConvertFrom_AIJDerived));
  PetscFunctionReturn(PETSC_SUCCESS);
}
