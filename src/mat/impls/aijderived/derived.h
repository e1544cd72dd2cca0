#pragma once

/*
  Matrix types derived from AIJ outside of PETSc's tree, whose products come from a second stored form of the matrix.

  A matrix of such a type is an AIJ matrix: its host CSR is the truth, and everything that is not overridden is AIJ's.
  The stored form is a cache of it, brought up to date before a product when the matrix's state says so. A kind of form
  (CSRC on a GPU, BCCOO on a CPU) is an AIJKind: a table of functions over raw arrays that knows nothing of Mat, Vec
  or MPI. This folder has what is common to all kinds, sequential and parallel:

    seq.c             the sequential type: creation, state of the form; kinds of form
    seqmult.c         its products with vectors
    seqmatmult.c      its products with dense matrices (MatProduct AB, AtB, ABt)
    mpi.c             the parallel type: MPIAIJ whose two blocks are of the sequential type
    mpimatmult.c      its products with dense matrices
    view.c            memory, ASCII info
    convert.c         MatConvert() from and to everything
    options.c         settings that are enumerations
    csrfree/seq.c     the sequential type without its CSR: the form is the matrix
    csrfree/mpi.c     the parallel type without its CSR
    csrfree/refused.c what such matrices refuse, with one error
    derivedimpl.h     what only these files share

  Beside it, src/cuda has device.c, whether a device is usable and memory on it, and upload.c, copies of large host arrays to it.
*/
#include <petsccsrc.h>
#include <petsc/private/matimpl.h>

/* The host CSR of a sequential matrix, borrowed: rows may be unsorted, a is never NULL unless nnz is 0 */
typedef struct {
  PetscInt           m, n;
  PetscInt           nnz;
  const PetscInt    *i, *j;
  const PetscScalar *a;
} AIJCSR;

/* y = A x, y = A^T x or y = A^H x */
typedef enum {
  AIJ_N,
  AIJ_T,
  AIJ_H
} AIJOp;

/* Is called with n nonzeros of a form at a time: those of a row come by column, equal columns in the order of the CSR */
typedef void (*AIJVisitor)(void *visitctx, PetscInt n, const PetscInt row[], const PetscInt col[], const PetscScalar val[]);

/*
  A kind of form. ctx holds the kind's settings (layout, compression) and, on a sequential matrix, the form itself; the ctx of
  a parallel matrix holds settings only, which are copied to its blocks. Every function is required unless marked optional.
  build() and setvalues() read the CSR given and keep no pointer into it.
*/
typedef struct _n_AIJKind AIJKind;
struct _n_AIJKind {
  const char *name;              /* users' name, for example csrccuda */
  const char *seqname, *mpiname; /* internal names, which begin with seqaij and mpiaij */
  PetscBool   usesdevice;        /* may live on a CUDA device */

  PetscErrorCode (*create)(void **ctx);                                                    /* default settings, no form */
  PetscErrorCode (*destroy)(void **ctx);                                                   /* frees form and settings, sets NULL */
  PetscErrorCode (*reset)(void *ctx);                                                      /* frees the form, keeps the settings */
  PetscErrorCode (*copysettings)(const void *from, void *to);                              /* settings only */
  PetscErrorCode (*setfromoptions)(Mat A, void *ctx, PetscOptionItems PetscOptionsObject); /* calls MatDerivedSettingsChanged() if a setting changes */
  PetscErrorCode (*compose)(Mat A, PetscBool on);                                          /* composes (on) or removes the kind's setters */

  PetscErrorCode (*build)(void *ctx, PetscBool ondevice, const AIJCSR *csr); /* new pattern and values; a form is already reset */
  PetscErrorCode (*setvalues)(void *ctx, const AIJCSR *csr);                 /* new values, the pattern of the last build() */

  /* optional, before a product with K columns; *again: the form, if there is one, is to be rebuilt for such products */
  PetscErrorCode (*expectdense)(void *ctx, PetscInt K, PetscBool *again);

  /* optional: are products to have the same bits every time? Then values from other processes must not be added in order of arrival */
  PetscErrorCode (*getrepeatable)(const void *ctx, PetscBool *repeatable);

  /* y = op(A) x + z on arrays in the form's memory; z may be NULL (none) or y itself; y is never x, and uninitialized unless it is z */
  PetscErrorCode (*apply)(void *ctx, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y);
  /* Y = op(A) X, K columns, column-major, leading dimensions ldx and ldy; Y is uninitialized */
  PetscErrorCode (*applydense)(void *ctx, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy);

  PetscErrorCode (*getmemory)(void *ctx, PetscLogDouble *bytes);           /* all that lives between products, host and device */
  PetscErrorCode (*view)(void *ctx, PetscViewer viewer, PetscBool detail); /* the form in a few lines of ASCII */

  /* all or none, for a kind whose CSR can be freed, so that the form is the matrix: types of such matrices, and the option that asks for it */
  const char *releasedseqname, *releasedmpiname; /* begin with neither seqaij nor mpiaij: PETSc must not look for a CSR */
  const char *releaseoption;
  PetscErrorCode (*visit)(void *ctx, AIJVisitor visit, void *visitctx); /* every nonzero once */
  /* the CSR of the last build() or setvalues(), bit for bit: row pointers, then columns and values */
  PetscErrorCode (*getrows)(void *ctx, PetscInt i[]);
  PetscErrorCode (*getcsr)(void *ctx, const PetscInt i[], PetscInt j[], PetscScalar a[]);
};

/* Registration: log events and what is kept for all matrices; then one call for each kind */
PETSC_INTERN PetscErrorCode AIJKindsInitialize(void);
PETSC_INTERN PetscErrorCode AIJKindsFinalize(void);
PETSC_INTERN PetscErrorCode AIJKindRegister(const AIJKind *, PetscErrorCode (*createseq)(Mat), PetscErrorCode (*creatempi)(Mat));

/* Creation: a kind's two functions for MatRegister() consist of one of these calls each */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJDerived(Mat, const AIJKind *);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJDerived(Mat, const AIJKind *);
/* Creation for users, in the manner of MatCreateAIJ() */
PETSC_INTERN PetscErrorCode MatCreateDerived_Private(MPI_Comm, const AIJKind *, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, const PetscInt[], PetscInt, const PetscInt[], Mat *);

/* For a kind's setters and getters: the ctx of A, sequential or parallel, and the call that makes new settings take effect */
PETSC_INTERN PetscErrorCode MatDerivedGetContext(Mat, void *);
PETSC_INTERN PetscErrorCode MatDerivedSettingsChanged(Mat);
/* For setters: stores a setting of so many bytes at this offset in ctx and makes it take effect, if its value changes */
PETSC_INTERN PetscErrorCode MatDerivedChangeSetting(Mat, size_t place, const void *value, size_t size);
/* For the setter and getter of a kind whose CSR can be freed: whether it is to be; PETSC_FALSE brings back a CSR that has been freed */
PETSC_INTERN PetscErrorCode MatDerivedSetRelease(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatDerivedGetRelease(Mat, PetscBool *);

/*
  options.c. For a kind's settings that are enumerations, with their names in a list as PetscEnumFind() takes it.
  AIJOptionsEnum() is PetscOptionsEnum() with an error that names the option, the value given and those allowed; the argument
  'what' is the setting in one word. AIJCheckEnum() is for setters: an error if value is not in the enumeration.
*/
PETSC_INTERN PetscErrorCode AIJOptionsEnum(PetscOptionItems, const char opt[], const char what[], const char text[], const char man[], const char *const list[], PetscEnum current, PetscEnum *value, PetscBool *set);
PETSC_INTERN PetscErrorCode AIJCheckEnum(Mat, const char *const list[], int value);

/*
  cuda/device.c. A device is usable if PETSc has CUDA, there is one, and -device_enable does not forbid it; otherwise
  *reason says why not. Asking does not touch PetscDevice. The others are for forms on a device; allocation failure is an
  error that names what was wanted, how many bytes, and how many are free.
*/
PETSC_INTERN PetscErrorCode PetscCSRCDeviceUsable(PetscBool *usable, const char **reason);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceMalloc(const char what[], size_t bytes, void *ptr);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceFree(void *ptr);
/* cuda/upload.c: copies host memory, which may change after the return, to the device, for later work on the current stream */
PETSC_INTERN PetscErrorCode PetscCSRCDeviceUpload(void *to, const void *from, size_t bytes);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceMemoryError(const char what[], size_t bytes);
