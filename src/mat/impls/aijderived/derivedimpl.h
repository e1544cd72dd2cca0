#pragma once

/* The data of a matrix, and what the files of this folder share below all else; kinds include derived.h */
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

  char slower[128]; /* what is said of products that are expected to take longer than on one device */

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

/* kinds.c: the options of the kind and of all kinds */
#define MAT_FORM_RELEASE "-mat_form_release"
PETSC_INTERN PetscErrorCode MatDerivedSetFromOptions(Mat, PetscOptionItemsArg);
/* kinds.c: `exchange_pattern` in PETSCCSRC_TEST: auto, lists or gather */
PETSC_INTERN PetscErrorCode MatDerivedPatternForTests(PetscCSRCExchangePattern *);

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
  which is made if it is NULL, with the local entries of v if they are to be copied. MatDerivedCopyEntries(w, v) is the way back.
*/
PETSC_INTERN PetscErrorCode MatDerivedVecToDevice(Vec v, PetscBool copy, Vec *own, Vec *w);
