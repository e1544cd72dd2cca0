#pragma once

/*
  Matrix types derived from AIJ outside of PETSc's tree. Their products are computed from a second copy of the nonzeros, stored in another format.

  A matrix of such a type is an AIJ matrix or, where a device can be used, an aijcusparse matrix. Its CSR is authoritative, and every
  operation that is not overridden is AIJ's. The stored copy is a cache of the CSR: before a product it is brought up to date if the state of
  the matrix has changed. A kind, the table below, has the names, settings and options of one matrix type, sequential and parallel, and chooses the
  format (format.h) of the stored copy. This folder implements what all kinds have in common:

    format.h          a format: a table of functions over raw arrays
    types.c           the roof: makes an AIJ matrix one of these types, by tables, and AIJ again; MatConvert() from and to any type; registration
    inherited.c       operations of both sequential and parallel matrices; seq.c: the sequential type
    parallel/         the parallel type (MPIAIJ, both blocks of the sequential type) and its products; norms
    csrfree/          matrices without a CSR: csrfree.c: the operations that they have; release.c: the setting that frees the CSR; arrays.c: from arrays of
                      users; recode.c: the way back to a CSR, and nonzeros stored from another one
    seqmult.c         products of the sequential type with vectors; seqmatmult.c: with dense matrices (MatProduct AB, AtB, ABt)
    view.c            MatView() in the ASCII info formats, memory
    pieces/           more nonzeros than a form counts, as several matrices of consecutive rows
    state.c           when nonzeros are stored, refilled and freed; later.c: products left to AIJ or aijcusparse until storing pays back
    cusparse/         what differs where aijcusparse is underneath (base.c): operations, transposes, products of sparse matrices; lend.c: its names, which matrices
                      lend; faults.c: faults of PETSc that are mended; factor.c: PETSc's factorizations
    part.c            the data of a matrix: its tables, CSR, blocks and settings
    kinds.c           the list of kinds, log events; options, and settings of all kinds
    plainaij.c        plain AIJ matrices: copies, blocks; vectors.c: vectors entry by entry, without collective calls, and on the device
    derivedimpl.h     the data of a matrix, and declarations that only these files share; seq.h and the headers of the folders: those of each floor
*/
#include "format.h"
#include <petsc/private/matimpl.h>
#include "sys/petscolder.h"

/* A function that is composed with a matrix under a name */
typedef struct {
  const char        *name; /* may contain the name of the type, as %s */
  PetscErrorCodeFn  *function;
  PetscErrorCodeFn **aij; /* if not NULL, AIJ composes a function under this name, the same for all matrices, which is kept there and restored */
} AIJComposed;

/* A kind: one matrix type, sequential and parallel. The settings of a parallel matrix are copied to its blocks. */
typedef struct {
  const char *name, *aijname;    /* names for users, for example csrccuda and aijcsrccuda; DMDA needs a name that begins with aij */
  const char *seqname, *mpiname; /* internal type names; they begin with seqaij and mpiaij */
  PetscBool   usesdevice;        /* matrices may be on a CUDA device */

  size_t             size;                                                                               /* of the settings, plain data, in bytes */
  const void        *defaults;                                                                           /* initial settings */
  const AIJComposed *setters;                                                                            /* setters and getters; the last entry has no name */
  PetscErrorCode (*setfromoptions)(Mat A, const void *settings, PetscOptionItemsArg PetscOptionsObject); /* calls the setters */

  /* the purpose to store nonzeros for if products have up to this many columns */
  void (*getpurpose)(const void *settings, PetscInt columns, AIJPurpose *purpose);
  /* chooses a format and stores the nonzeros in it */
  PetscErrorCode (*build)(const void *settings, PetscBool ondevice, const AIJPurpose *purpose, const AIJCSR *csr, AIJStored *stored);
  /* optional: how many nonzeros build() should get at once at most; of a CSR that has more it gets pieces, see pieces/ */
  PetscInt (*getpiece)(const void *settings, PetscBool ondevice, const AIJCSR *csr);

  const char *releasedseqname, *releasedmpiname; /* types of matrices whose CSR is freed; they do not begin with seqaij or mpiaij, so that PETSc does not look for a CSR */
} AIJKind;

/* Registration: log events and data of the library; then one call for each kind */
PETSC_INTERN PetscErrorCode AIJKindsInitialize(void);
PETSC_INTERN PetscErrorCode AIJKindsFinalize(void);
PETSC_INTERN PetscErrorCode AIJKindRegister(const AIJKind *, PetscErrorCode (*createseq)(Mat), PetscErrorCode (*creatempi)(Mat));

/* Creation: the two functions that a kind passes to MatRegister() each call one of these */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJDerived(Mat, const AIJKind *);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJDerived(Mat, const AIJKind *);
/* Calls a function of PETSc or SLEPc while those of up to four matrices that multiply on a device have the name of aijcusparse; some may be NULL (cusparse/lend.c) */
PETSC_EXTERN PetscErrorCode PetscCSRCCallLent(PetscInt n, const Mat[], PetscErrorCode (*call)(void *), void *ctx);
/* For setters and getters of a kind: the settings of a sequential or parallel matrix */
PETSC_INTERN PetscErrorCode MatDerivedGetSettings(Mat, void *);
/* For setters: stores a value of this size at this offset of the settings; if it differs from the old value, it takes effect */
PETSC_INTERN PetscErrorCode MatDerivedChangeSetting(Mat, size_t place, const void *value, size_t size);
/* Defines the setter and getter of one member of a kind's settings; list: the names of an enumeration, or NULL */
#define AIJ_SETTING(setter, getter, type, settings, member, list) \
  static PetscErrorCode setter(Mat A, type value) \
  { \
    const char *const *names = list; \
\
    PetscFunctionBegin; \
    if (names) PetscCall(AIJCheckEnum(A, names, (int)value)); \
    PetscCall(MatDerivedChangeSetting(A, offsetof(settings, member), &value, sizeof(value))); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode getter(Mat A, type *value) \
  { \
    settings *s; \
\
    PetscFunctionBegin; \
    PetscCall(MatDerivedGetSettings(A, &s)); \
    *value = s->member; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

/*
  For settings that are enumerations, whose names are in a list as for PetscEnumFind(). AIJOptionsEnum() is PetscOptionsEnum() with an error
  message that names the option, the given value and the allowed ones; 'what' names the setting in one word, *value is the present one. AIJCheckEnum() is for setters:
  it raises an error if value is not in the enumeration.
*/
PETSC_INTERN PetscErrorCode AIJOptionsEnum(PetscOptionItemsArg, const char opt[], const char what[], const char text[], const char man[], const char *const list[], PetscEnum *value, PetscBool *set);
PETSC_INTERN PetscErrorCode AIJCheckEnum(Mat, const char *const list[], int value);

/* Whether to store two copies: if requested or, with auto, if a copy of this many bytes per nonzero is small compared with operands of this many columns */
PETSC_INTERN PetscBool AIJTakesTwoCopies(MatFormCopies, PetscInt columns, const AIJCSR *, PetscReal bytes);
