#pragma once

/* Declarations shared by the files of this folder only; kinds include derived.h */
#include "derived.h"
#include "cuda/device.h"
#include "exchange/exchange.h"
#include <petscsf.h>

/* Products that were left to the type underneath (later.c) */
typedef struct {
  MatState  state;   /* of the matrix at the last product */
  PetscInt  values;  /* products with these values, ... */
  PetscInt  before;  /* ... with the values before, ... */
  PetscInt  pattern; /* ... and with this pattern, of those that were left, but for the first ones after each change of values */
  PetscInt  nnz;     /* on the host: nonzeros, ... */
  PetscBool inodes;  /* ... and whether AIJ multiplies several rows with the same columns together */
  PetscBool told;
} AIJCounts;

/*
  What a parallel matrix adds: data for its products, written by the files of parallel/. With the pattern lists, as in MPIAIJ, the diagonal block is
  multiplied with own entries and the off-diagonal block with ghost entries. With the pattern gather, all local rows are one matrix, multiplied with the
  gathered entries of all processes.
*/
typedef struct {
  PetscCSRCExchange exchange;
  PetscSF           sf;  /* the matrix's PetscSF when the exchange was made; if it has another one now, the ghosts are different */
  Mat               mat; /* the matrix, and its state (the same on all processes), when the processes last agreed that nonzeros are stored */
  MatState          state;
  MatState          blockstate[2]; /* states of the two blocks that the members below were made from */
  Vec               ghost;         /* ghost entries of a vector */
  Mat               rows;          /* ghost rows of a dense matrix */

  Mat whole; /* gather: all local rows as one matrix */

  /* lists: the off-diagonal block; if few of its rows have nonzeros, a matrix of these rows with the block's columns and values */
  Mat             off;
  PetscInt        nfew, *few, *devicefew; /* number of these rows, and their indices on host and device; NULL: all rows */
  PetscInt       *offi;                   /* row pointers of that matrix ... */
  const PetscInt *offj;                   /* ... and its columns and values, which are the block's arrays */
  PetscScalar    *offa;
  Vec             fewvec; /* the entries of a vector, and rows of a dense matrix, that belong to these rows */
  Mat             fewrows;

  AIJCounts counts;     /* on devices, with counts.state when the next two were asked: */
  PetscBool alldevices; /* whether all processes multiply on a device, ... */
  PetscBool allthere;   /* ... and have the CSRs of their blocks there */
} AIJParallel;

/*
  A row of a table of operations; the last row of a table has no function. 'when' says for which matrices the operation is replaced: all, those
  whose AIJ type has this operation, or those of kinds that may be on a device.
*/
typedef struct {
  size_t            place; /* in struct _MatOps */
  PetscErrorCodeFn *ours;
  enum {
    OVERRIDE_ALWAYS,
    OVERRIDE_IF_AIJ_HAS_IT,
    OVERRIDE_ON_DEVICES
  } when;
} AIJOperation;
#define AIJ_OPERATION(name, ours, when) \
  { \
    offsetof(struct _MatOps, name), (PetscErrorCodeFn *)(ours), when \
  }

static inline PetscErrorCodeFn **MatDerivedGetOperation(struct _MatOps *ops, const AIJOperation *op)
{
  return (PetscErrorCodeFn **)((char *)ops + op->place);
}

/*
  Where nonzeros come from when they are stored for a matrix that has no CSR: get() makes a CSR, in the memory that is asked for; restore() frees it after
  nonzeros have been stored from it
*/
typedef struct {
  PetscErrorCode (*get)(void *ctx, PetscBool ondevice, AIJCSR *csr);
  PetscErrorCode (*restore)(void *ctx, AIJCSR *csr);
  void *ctx;
} AIJSource;

/* Identifies the pattern of a sequential matrix. The column array is needed too: after MatHeaderMerge() or MatHeaderReplace() identity and state may be those of either matrix. */
typedef struct {
  MatState        state;
  const PetscInt *j;
} AIJPattern;

/* Functions for assembly from coordinates */
typedef struct {
  PetscErrorCode (*setpreallocation)(Mat, PetscCount, PetscInt[], PetscInt[]);
  PetscErrorCode (*setvalues)(Mat, const PetscScalar[], InsertMode);
} AIJSettersCOO;

/* What a sequential matrix caches: the stored nonzeros, and the matrix that they were made from; written by state.c, but for counts (later.c) and source (parallel/whole.c, csrfree/recode.c) */
typedef struct {
  AIJStored       stored;
  PetscBool       built;
  PetscBool       ondevice;
  MatState        state;
  Mat             mat; /* MatHeaderReplace() moves this data to another matrix, whose state continues from its own count */
  PetscInt        m, n, nnz;
  const PetscInt *j;
  int             nthreads; /* number of threads that they were stored for, and the origin of this number */
  const char     *threadsfrom;
  PetscInt        columns; /* number of columns of the widest products that they were stored for */
  PetscInt        suited;  /* columns of such products since then, up to a limit, minus the columns of wider products */

  AIJSource source; /* another CSR to store nonzeros from than the matrix has */
  AIJCounts counts;
  PetscBool left; /* the parallel matrix of which this is a block leaves its product to the type underneath, and the block has to do so too */

  /* scratch for operands that are not in the memory of the stored nonzeros; it grows on demand and is freed with them */
  PetscScalar *stage[2];
  size_t       stagesize[2];
  PetscBool    stagetold;
} AIJCache;

/*
  A sequential matrix that is a transpose, with aijcusparse underneath: the pattern of which it is the transpose, and its own pattern at that time; the
  place of each nonzero there, on the device, or NULL; written by cusparse/transpose.c
*/
typedef struct {
  AIJPattern patterns[2];
  int       *place;
} AIJTranspose;

/*
  The data of these types, composed with each sequential and parallel matrix. The matrix itself is PETSc's: AIJ or, where a device can be used,
  aijcusparse, which keeps a CSR on the device when it needs one (cusparse/).
*/
typedef struct {
  const AIJKind *kind;
  const char    *type;                             /* the name of the type */
  PetscErrorCode (*install)(Mat, const AIJKind *); /* makes another matrix, AIJ or aijcusparse, assembled or not, one of a kind's types, with default settings */
  PetscErrorCode (*settingschanged)(Mat);          /* frees what was made by other settings, and gives the present ones to the blocks */

  void                 *settings; /* of kind, and those of all kinds: */
  PetscCSRCExchangeType exchange;
  PetscErrorCode (*release)(Mat); /* frees the CSR at the first product; NULL: the CSR is kept. Always NULL for the blocks of a parallel matrix. */

  /* the matrix without this data */
  PetscBool           cusparse;    /* whether the matrix is an aijcusparse matrix underneath */
  PetscBool           released;    /* whether the CSR has been freed: then the matrix has the type without CSR, and base is empty */
  const AIJOperation *tables[4];   /* the operations that replace PETSc's; a table may be NULL */
  const AIJComposed  *composed[5]; /* functions composed with the matrix, likewise */
  struct _MatOps      base;        /* the operations of AIJ or aijcusparse before some of them were replaced */
  AIJSettersCOO       coo[2];      /* assembly from coordinates, on the host and on the device: the functions of AIJ and aijcusparse, ... */
  PetscCount          ncoo;        /* ... and the number of values */

  AIJCache     cache;     /* sequential only */
  AIJTranspose transpose; /* sequential only */
  AIJParallel  parallel;  /* parallel only */
} Mat_Derived;

/* A->data of a parallel matrix whose CSR is freed; that of a sequential one is NULL */
typedef struct {
  Mat       blocks[2]; /* diagonal and off-diagonal, of the sequential type without CSR */
  PetscInt *garray;    /* global columns of the off-diagonal block */
} Mat_MPICSRFree;

#define AIJ_PART "petsccsrc" /* the name under which Mat_Derived is composed with a matrix */

/* The data of A, or NULL if A is not of these types */
static inline Mat_Derived *MatDerivedOf(Mat A)
{
  PetscObject container = NULL;
  void       *part      = NULL;

  PetscCallAbort(PETSC_COMM_SELF, PetscObjectQuery((PetscObject)A, AIJ_PART, &container));
  if (container) PetscCallAbort(PETSC_COMM_SELF, PetscContainerGetPointer((PetscContainer)container, &part));
  return (Mat_Derived *)part;
}

/* Exported by PETSc, but declared in none of its installed headers */
PETSC_EXTERN PetscErrorCode MatCreate_SeqAIJ(Mat);
PETSC_EXTERN PetscErrorCode MatCreate_MPIAIJ(Mat);
PETSC_EXTERN PetscErrorCode MatGetDiagonalMarkers_SeqAIJ(Mat, const PetscInt **, PetscBool *);

/* A->boundtocpu; without devices PETSc has no such member, and a matrix is always on the host */
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

/* Whether a matrix multiplies on a device */
static inline PetscBool MatDerivedOnDevice(Mat A)
{
  return MatDerivedOf(A)->kind->usesdevice && !MatDerivedBoundToCPU(A) ? PETSC_TRUE : PETSC_FALSE;
}

/* The kind of a matrix with a CSR, sequential or parallel; NULL if it has none */
static inline const AIJKind *MatDerivedKindOf(Mat A)
{
  const Mat_Derived *f = MatDerivedOf(A);

  return f && !f->released ? f->kind : NULL;
}

#define AIJ_MAX_KINDS 8

/* kinds.c: the list of kinds; a kind by users' or internal name, NULL if there is none */
PETSC_INTERN PetscErrorCode AIJKindAdd(const AIJKind *);
PETSC_INTERN PetscErrorCode AIJKindsForget(void);
PETSC_INTERN PetscErrorCode AIJKindsRegisterEvents(void);
PETSC_INTERN PetscLogEvent  MAT_FormBuild, MAT_FormSetValues, MAT_FormMult, MAT_FormMatMult;
PETSC_INTERN PetscErrorCode AIJKindFind(const char[], const AIJKind **);

/* state.c: what has changed in a sequential matrix, whose state is now this, since its nonzeros were stored */
typedef enum {
  AIJ_CHANGED_NOTHING,
  AIJ_CHANGED_VALUES,
  AIJ_CHANGED_PATTERN /* or nothing is stored where it multiplies */
} AIJChanged;
PETSC_INTERN AIJChanged MatDerivedChangedSince(Mat, MatState now);
/* Brings the stored nonzeros of a sequential matrix up to date; products call it first */
PETSC_INTERN PetscErrorCode MatDerivedUpdate(Mat);
/* Frees the stored nonzeros; a later product stores them again */
PETSC_INTERN PetscErrorCode MatDerivedReset(Mat);
PETSC_INTERN PetscErrorCode AIJCacheReset(AIJCache *);
/* later.c: whether products of a matrix with these settings may be left to the type underneath */
PETSC_INTERN PetscBool MatDerivedMayLeave(Mat);
/* y = op(A) x + z by the type underneath, if storing the nonzeros does not pay back yet; a product that stores them at once calls MatDerivedStoreAtOnce() */
PETSC_INTERN PetscErrorCode MatDerivedLeave(Mat, AIJOp op, Vec x, Vec z, Vec y, PetscBool *done);
PETSC_INTERN PetscErrorCode MatDerivedLeaveMPI(Mat, AIJOp op, Vec x, Vec z, Vec y, PetscBool *done); /* the same for a parallel matrix on devices; collective */
PETSC_INTERN PetscErrorCode MatDerivedStoreAtOnce(Mat);
PETSC_INTERN PetscErrorCode MatDerivedLeaveInitialize(void); /* reads the option -mat_form_store_at_once */
/* Before a product with K columns: frees the stored nonzeros if they must be stored again for such products. MatDerivedCountVector() counts products with vectors. */
PETSC_INTERN PetscErrorCode MatDerivedExpectColumns(Mat, PetscInt K);
PETSC_INTERN PetscErrorCode MatDerivedCountVector(Mat);
/* Device scratch of at least n scalars in a slot of the matrix; its contents are undefined */
PETSC_INTERN PetscErrorCode MatDerivedGetStage(Mat, int slot, size_t n, PetscScalar **);
/* Each product calls this first; after it, A may have the type without CSR */
static inline PetscErrorCode MatDerivedReleaseIfAsked(Mat A)
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  if (f->release && !f->released) PetscCall((*f->release)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* part.c: replaces operations by the tables of a matrix, and restores them: these two enclose a call that changes the operations of the type underneath */
PETSC_INTERN PetscErrorCode MatDerivedOverrideOperations(Mat);
PETSC_INTERN PetscErrorCode MatDerivedRestoreOperations(Mat);
/* Composes functions of one table, for this name of a type, or of all tables of f, or removes them */
PETSC_INTERN PetscErrorCode MatDerivedCompose(Mat, const AIJComposed *, const char type[], PetscBool on);
PETSC_INTERN PetscErrorCode MatDerivedComposeAll(Mat, const Mat_Derived *f, PetscBool on);
/* Installs operations and functions again after PETSc has replaced them by aijcusparse's; removes them, and Mat_Derived: the caller sets the name of the type */
PETSC_INTERN PetscErrorCode MatDerivedReinstall(Mat);
PETSC_INTERN PetscErrorCode MatDerivedRemove(Mat);
/* The CSR of a sequential matrix, in the memories where it is current; ondevice: it is wanted on the device */
PETSC_INTERN PetscErrorCode MatDerivedGetCSR(Mat, PetscBool ondevice, AIJCSR *);
/* The blocks of a parallel matrix, with or without CSR */
PETSC_INTERN PetscErrorCode MatDerivedGetBlocks(Mat, Mat *, Mat *, const PetscInt **);
/* For MatBindToCPU(A, flg), after PETSc has set boundtocpu: if no device can be used, A stays bound to the host */
PETSC_INTERN PetscErrorCode MatDerivedStayBound(Mat, PetscBool flg);
/* Settings: makes changed ones take effect; copies them; saves and restores them around a call that replaces the insides of A */
typedef struct {
  const AIJKind *kind;
  Mat_Derived   *part;
  void          *settings;
  PetscErrorCode (*release)(Mat);
  PetscCSRCExchangeType exchange;
} AIJSavedSettings;
PETSC_INTERN PetscErrorCode MatDerivedSettingsChanged(Mat);
PETSC_INTERN PetscErrorCode MatDerivedCopySettings(Mat, Mat);
PETSC_INTERN PetscErrorCode MatDerivedSaveSettings(Mat, AIJSavedSettings *);
PETSC_INTERN PetscErrorCode MatDerivedUseSettings(Mat, const AIJSavedSettings *); /* gives them to a matrix of the same kind, and to its blocks */
PETSC_INTERN PetscErrorCode MatDerivedRestoreSettings(Mat, AIJSavedSettings *);

/* settings.c: the options of the kind and of all kinds */
#define MAT_FORM_RELEASE "-mat_form_release"
PETSC_INTERN PetscErrorCode MatDerivedSetFromOptions(Mat, PetscOptionItemsArg);

/* inherited.c, seq.c, parallel/mpi.c: operations of both types, of the sequential and of the parallel one */
PETSC_INTERN const AIJOperation MatDerivedInheritedOperations[], MatDerivedSeqOperations[], MatDerivedMPIOperations[];
PETSC_INTERN PetscErrorCode     MatDerivedAXPY(Mat, PetscScalar, Mat, MatStructure);
PETSC_INTERN PetscErrorCode     MatDuplicate_AIJDerived(Mat, MatDuplicateOption, Mat *);
PETSC_INTERN PetscErrorCode     MatShift_AIJDerived(Mat, PetscScalar);
PETSC_INTERN PetscErrorCode     MatTranspose_AIJDerived(Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode     MatSetPreallocationCOO_AIJDerived(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode     MatSetValuesCOO_AIJDerived(Mat, const PetscScalar[], InsertMode);
/* Keep the function that destroys the type underneath, for matrices that have lost their Mat_Derived */
PETSC_INTERN PetscErrorCode MatDerivedKeepDestroy(Mat);
PETSC_INTERN PetscErrorCode MatDerivedKeepDestroyMPI(Mat);
/* Makes the blocks of a parallel matrix, unless they are already, matrices of the sequential type with its settings */
PETSC_INTERN PetscErrorCode MatDerivedConvertBlocks(Mat);
PETSC_INTERN PetscErrorCode MatDerivedSettingsChangedMPI(Mat);
/* Whether PETSc has replaced the function that destroys a sequential matrix (seq.c) */
PETSC_INTERN PetscBool MatDerivedDestroyReplaced(Mat);

/* cusparse/base.c: makes a matrix an aijcusparse matrix underneath, if possible; cusparse/operations.c: the operations that differ */
PETSC_INTERN PetscErrorCode MatDerivedPutBase(Mat, const AIJKind *, PetscBool *cusparse);
PETSC_INTERN PetscErrorCode MatDerivedGetDeviceCSR(Mat, AIJCSR *);
PETSC_INTERN PetscBool      MatDerivedCSROnDevice(Mat); /* whether the CSR is on the device, and current there */
/* For functions that use AIJ's array on the host as it stands: fetch the newest values before the call; mark the host's values as the newest after it */
PETSC_INTERN PetscErrorCode     MatDerivedFetch(Mat);
PETSC_INTERN PetscErrorCode     MatDerivedWritten(Mat);
PETSC_INTERN const AIJOperation MatDerivedSeqCUSPARSEOperations[], MatDerivedMPICUSPARSEOperations[];
PETSC_INTERN const AIJComposed  MatDerivedSeqComposed[], MatDerivedSeqCUSPARSEComposed[]; /* without and with aijcusparse underneath */
/* cusparse/lend.c: a matrix gets the name of aijcusparse for the duration of a call */
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
/* cusparse/lend.c: parts of PETSc that ask for aijcusparse by its exact name, and are created from now on, know our types too */
PETSC_INTERN PetscErrorCode MatDerivedRegisterNames(void);
/* cusparse/faults.c */
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
/* cusparse/transpose.c */
PETSC_INTERN PetscErrorCode MatTranspose_SeqCUSPARSEDerived(Mat, MatReuse, Mat *);
/* cusparse/product.c: products of sparse matrices */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqAIJDerived(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_MPIAIJDerived(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJDerived_AnyType(Mat);
/* For a product that PETSc computes on the host: before each step the newest values of its operands (AIJ, also within a MATMAIJ, and dense) are fetched */
PETSC_INTERN PetscErrorCode MatDerivedProductOnHost(Mat);
/* cusparse/factor.c: makes factors of a kind known to PETSc, those of solver type cusparse or its own */
PETSC_INTERN PetscErrorCode MatDerivedRegisterFactors(const AIJKind *, PetscBool cusparse);
PETSC_INTERN PetscErrorCode MatDerivedForgetFactors(void);

/* parallel/norm.c: adds the sums of |a| by row or by column to sums; for the sequential type, with CSR or without. The 1-norm of the parallel type. */
PETSC_INTERN PetscErrorCode MatDerivedAddSums(Mat, PetscBool byrow, PetscReal sums[]);
/* sums[k] of block k of a parallel matrix, for all rows or the block's columns, in one array that begins at sums[0]; collective */
PETSC_INTERN PetscErrorCode MatDerivedSumBlocks(Mat, PetscBool byrow, PetscReal *sums[2]);
PETSC_INTERN PetscErrorCode MatDerivedNorm1_MPI(Mat, PetscReal *);

/* csrfree/release.c: the setter and the getter */
PETSC_INTERN const AIJComposed MatDerivedReleaseSetters[];
/* csrfree/csrfree.c: bring the stored nonzeros up to date and free the CSR. All that can fail is done before A changes. */
PETSC_INTERN PetscErrorCode MatDerivedReleaseSeq(Mat);
PETSC_INTERN PetscErrorCode MatDerivedReleaseMPI(Mat);
/* Frees the CSR, and all else that AIJ has: what is stored is the matrix from now on. The data are those of the parallel type, NULL for the sequential one. */
PETSC_INTERN PetscErrorCode MatDerivedFreeCSR(Mat, Mat_MPICSRFree *);
/* csrfree/recode.c, sequential: a plain AIJ copy of a matrix without CSR; whether a CSR can be given back; nonzeros from another CSR */
PETSC_INTERN PetscErrorCode MatDerivedDecode(Mat, Mat *);
PETSC_INTERN PetscErrorCode MatDerivedCheckRestorable(Mat);
PETSC_INTERN PetscErrorCode MatDerivedStoreCSR(Mat, AIJCSR *);
/* csrfree/arrays.c */
PETSC_INTERN PetscErrorCode MatFormSetCSR_AIJDerived(Mat, PetscInt, size_t, const void *, const void *, const PetscScalar *);

/* Common to matrices with and without CSR: inherited.c, parallel/mpi.c */
#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN PetscErrorCode MatGetCurrentMemType_AIJDerived(Mat, PetscMemType *);
#endif
PETSC_INTERN PetscErrorCode MatBindToCPU_MPIAIJDerived(Mat, PetscBool);

/* view.c */
PETSC_INTERN PetscErrorCode MatView_AIJDerived(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode MatDerivedGetBytes(Mat, PetscLogDouble *); /* of the nonzeros of a sequential matrix that are stored; 0 if none are */
PETSC_INTERN PetscErrorCode MatFormGetMemory_SeqAIJDerived(Mat, PetscLogDouble *, PetscMemType *);
PETSC_INTERN PetscErrorCode MatFormGetMemory_MPIAIJDerived(Mat, PetscLogDouble *, PetscMemType *);

/* plainaij.c: a plain AIJ copy of any matrix; convert a plain AIJ matrix in place to any other type; put the insides of a matrix into another
   one; join two plain blocks into a parallel matrix over the processes of A */
PETSC_INTERN PetscErrorCode MatCopyAsAIJ(Mat, Mat *);
PETSC_INTERN PetscErrorCode MatConvertAIJInPlace(Mat, MatType);
PETSC_INTERN PetscErrorCode MatReplaceInsides(Mat, Mat *);
/* ierr: whether both blocks could be made here. After an error, on all processes, there are no blocks. */
PETSC_INTERN PetscErrorCode MatJoinBlocks(Mat A, PetscErrorCode ierr, Mat blocks[2], const PetscInt garray[], Mat *B);
/* Makes a matrix without a type a MATSEQAIJ, whatever -mat_seqaij_type says */
PETSC_INTERN PetscErrorCode MatSetTypePlainSeqAIJ(Mat);

/* vectors.c: y = z or, if z is NULL, 0, on the host; not collective */
PETSC_INTERN PetscErrorCode MatDerivedCopyEntries(Vec z, Vec y);
/* ierr is of a call that makes *v, or gives it memory: after an error there is no vector, not even one that is half made */
PETSC_INTERN PetscErrorCode MatDerivedVecMade(PetscErrorCode ierr, Vec *v);
/* Allocates a vector's memory, which PETSc does at the first access; if this fails the vector is destroyed */
PETSC_INTERN PetscErrorCode MatDerivedVecAllocate(Vec *);
/* Whether v is NULL, or a vector whose operations run on the device */
PETSC_INTERN PetscBool MatDerivedVecOnDevice(Vec v);
/*
  aijcusparse takes vectors on a device only, and does not say so if it gets another one. *w is v if it is one, or NULL; otherwise *own,
  which is made if it is NULL, with the local entries of v if they are to be copied. And the way back, from w to v.
*/
PETSC_INTERN PetscErrorCode MatDerivedVecToDevice(Vec v, PetscBool copy, Vec *own, Vec *w);
PETSC_INTERN PetscErrorCode MatDerivedVecFromDevice(Vec v, Vec w);

/* seqmult.c: products of the sequential type with vectors */
PETSC_INTERN PetscErrorCode MatMult_SeqAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_SeqAIJDerived(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_SeqAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_SeqAIJDerived(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTranspose_SeqAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTransposeAdd_SeqAIJDerived(Mat, Vec, Vec, Vec);
/* Their rows in a table of operations */
#define AIJ_PRODUCTS \
  AIJ_OPERATION(mult, MatMult_SeqAIJDerived, OVERRIDE_ALWAYS), AIJ_OPERATION(multadd, MatMultAdd_SeqAIJDerived, OVERRIDE_ALWAYS), AIJ_OPERATION(multtranspose, MatMultTranspose_SeqAIJDerived, OVERRIDE_ALWAYS), \
    AIJ_OPERATION(multtransposeadd, MatMultTransposeAdd_SeqAIJDerived, OVERRIDE_ALWAYS), AIJ_OPERATION(multhermitiantranspose, MatMultHermitianTranspose_SeqAIJDerived, OVERRIDE_ALWAYS), \
    AIJ_OPERATION(multhermitiantransposeadd, MatMultHermitianTransposeAdd_SeqAIJDerived, OVERRIDE_ALWAYS)

/* parallel/mult.c: products of the parallel type with vectors, with CSR or without */
PETSC_INTERN PetscErrorCode MatMult_MPIAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_MPIAIJDerived(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_MPIAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_MPIAIJDerived(Mat, Vec, Vec, Vec);
/* Their rows in a table of operations */
#define AIJ_PARALLEL_PRODUCTS \
  AIJ_OPERATION(mult, MatMult_MPIAIJDerived, OVERRIDE_ALWAYS), AIJ_OPERATION(multadd, MatMultAdd_MPIAIJDerived, OVERRIDE_ALWAYS), AIJ_OPERATION(multtranspose, MatMultTranspose_MPIAIJDerived, OVERRIDE_ALWAYS), \
    AIJ_OPERATION(multtransposeadd, MatMultTransposeAdd_MPIAIJDerived, OVERRIDE_ALWAYS)

/* parallel/local.c: the matrices that a parallel matrix multiplies with. Brings them and the exchange up to date before a product with K columns; collective. */
PETSC_INTERN PetscErrorCode MatDerivedUpdateMPI(Mat, PetscInt K);
/* kinds.c: `exchange_pattern` in PETSCCSRC_TEST: auto, lists or gather */
PETSC_INTERN PetscErrorCode MatDerivedPatternForTests(PetscCSRCExchangePattern *);
/* Frees them; the next product makes them again */
PETSC_INTERN PetscErrorCode MatDerivedResetMPI(Mat);
PETSC_INTERN PetscErrorCode AIJParallelReset(AIJParallel *);
/* The one or two sequential matrices that a parallel matrix multiplies with at present */
PETSC_INTERN PetscErrorCode MatDerivedGetLocal(Mat, Mat[2], int *);
/* parallel/whole.c: brings the member whole up to date with the blocks */
PETSC_INTERN PetscErrorCode MatDerivedUpdateWhole(Mat A);
/* parallel/rows.c: brings the member off up to date with the off-diagonal block; frees it */
PETSC_INTERN PetscErrorCode MatDerivedUpdateOff(Mat A, Mat Ao);
PETSC_INTERN PetscErrorCode AIJParallelResetOff(AIJParallel *);
/* Makes room for the rows of off, with a vector and as many columns as p->rows has, in a step that all processes agree on */
PETSC_INTERN PetscErrorCode MatDerivedPrepareOff(Mat A);
/* y += off g, g = off^T x; for dense matrices Y += off G, G = off^T X */
PETSC_INTERN PetscErrorCode MatDerivedOffMultAdd(Mat A, Vec g, Vec y);
PETSC_INTERN PetscErrorCode MatDerivedOffMultTranspose(Mat A, Vec x, Vec g);
PETSC_INTERN PetscErrorCode MatDerivedOffMatMultAdd(Mat A, Mat G, Mat Y);
PETSC_INTERN PetscErrorCode MatDerivedOffTransposeMatMult(Mat A, Mat X, Mat G);
/* A sequential dense matrix in the memory where A multiplies */
PETSC_INTERN PetscErrorCode MatDerivedCreateDense(Mat A, PetscInt m, PetscInt n, Mat *);
/* parallel/local.c: the ghost entries of x, in the order of the off-diagonal block's columns (lists): collective; they belong to A, until its next product */
PETSC_INTERN PetscErrorCode MatDerivedGetGhosts(Mat, Vec x, Vec *ghost);

/* seqmatmult.c, parallel/matmult.c: Y = op(A) X for a sequential matrix and dense X, Y, which may live in host or device memory */
PETSC_INTERN PetscErrorCode MatDerivedApplyDense(Mat, AIJOp, Mat, Mat);
/*
  C = op(A) B for a matrix A of another type. PETSc makes products of three matrices of two, ABC of A and BC, and calls for the second one an operation
  of C, with operands that C's product does not know. A need not be one of ours: it may have been converted since C was prepared, and C keeps the
  operation when it gets a product of other matrices.
*/
PETSC_INTERN PetscErrorCode MatDerivedProductOfOthers(Mat A, AIJOp, Mat B, Mat C);
/* If the matrix A of a product C has been converted since C was prepared, computes C by A's new type; *done tells whether it did */
PETSC_INTERN PetscErrorCode MatDerivedProductElsewhere(Mat, PetscBool *);
/* For MatProduct: the functions composed under the names of the types involved */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqAIJDerived_SeqDense(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqDense_SeqAIJDerived(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_MPIAIJDerived_MPIDense(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_MPIDense_MPIAIJDerived(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJDerived_MAIJ(Mat);
