#pragma once

/*
  Matrix types derived from AIJ outside of PETSc's tree, whose products come from a second, stored copy of the nonzeros.

  A matrix of such a type is an AIJ matrix, or, where a device can be used, an aijcusparse matrix: its CSR is the truth, and everything
  that is not overridden is AIJ's. The stored copy is a cache of it, brought up to date before a product when the matrix's state says so.
  In which format (format.h) it is stored is the choice of the matrix's kind, the table below: names, settings, options. This folder has
  what is common to all kinds, sequential and parallel:

    format.h          a format: the table of functions over raw arrays
    kinds.c           the kinds that there are: by name, and known to PETSc
    factor.c          factors, PETSc's, for matrices of ours
    state.c           when nonzeros are stored, refilled and freed
    settings.c        settings of a kind; options.c: those that are enumerations
    common.c          what sequential and parallel matrices have in common; seq.c: the sequential type
    seqmult.c         its products with vectors; seqmatmult.c: with dense matrices (MatProduct AB, AtB, ABt)
    parallel/         the parallel type, MPIAIJ whose two blocks are of the sequential type, and its products
    norm.c            sums of absolute values
    view.c            memory, ASCII info
    convert.c         MatConvert() from and to everything; plainaij.c: what it needs of AIJ
    cusparse/         what is different over aijcusparse: the base itself, operations, transposes, products of sparse matrices; rent.c: products that are left to it
    csrfree/          both types without their CSR: release.c, when and how it goes and comes back; what such matrices do, and refuse
    derivedimpl.h     what only these files share
*/
#include "format.h"
#include <petsc/private/matimpl.h>
#include "sys/petscolder.h"

/* A function that is composed with a matrix under a name */
typedef struct {
  const char       *name;
  PetscErrorCodeFn *function;
} AIJComposed;

/* A kind of matrix. Settings of a parallel matrix are copied to its blocks. */
typedef struct {
  const char *name, *aijname;    /* users' names, for example csrccuda and aijcsrccuda: a DMDA asks for one that begins with aij */
  const char *seqname, *mpiname; /* internal names, which begin with seqaij and mpiaij */
  PetscBool   usesdevice;        /* may live on a CUDA device */

  size_t             size;                                                                               /* settings are so many bytes of plain data ... */
  const void        *defaults;                                                                           /* ... and these at first */
  const AIJComposed *setters;                                                                            /* and getters, up to one without a name */
  PetscErrorCode (*setfromoptions)(Mat A, const void *settings, PetscOptionItemsArg PetscOptionsObject); /* calls the setters */

  /* what nonzeros are stored for where products have up to so many columns */
  void (*getpurpose)(const void *settings, PetscInt columns, AIJPurpose *purpose);
  /* chooses a format and stores the nonzeros in it */
  PetscErrorCode (*build)(const void *settings, PetscBool ondevice, const AIJPurpose *purpose, const AIJCSR *csr, AIJStored *stored);

  const char *releasedseqname, *releasedmpiname; /* types of matrices whose CSR is freed; begin with neither seqaij nor mpiaij: PETSc must not look for a CSR */
} AIJKind;

/* Registration: log events and what is kept for all matrices; then one call for each kind */
PETSC_INTERN PetscErrorCode AIJKindsInitialize(void);
PETSC_INTERN PetscErrorCode AIJKindsFinalize(void);
PETSC_INTERN PetscErrorCode AIJKindAdd(const AIJKind *);
PETSC_INTERN PetscErrorCode AIJKindRegister(const AIJKind *, PetscErrorCode (*createseq)(Mat), PetscErrorCode (*creatempi)(Mat));

/* Creation: a kind's two functions for MatRegister() consist of one of these calls each */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJDerived(Mat, const AIJKind *);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJDerived(Mat, const AIJKind *);
/* For a kind's setters and getters: the settings of A, sequential or parallel */
PETSC_INTERN PetscErrorCode MatDerivedGetSettings(Mat, void *);
/* For setters: stores a setting of so many bytes at this offset and makes it take effect, if its value changes */
PETSC_INTERN PetscErrorCode MatDerivedChangeSetting(Mat, size_t place, const void *value, size_t size);
/* The functions that are composed as setter and getter of a member of a kind's settings; list: the names of an enumeration, otherwise NULL */
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
  For a kind's settings that are enumerations, with their names in a list as PetscEnumFind() takes it.
  AIJOptionsEnum() is PetscOptionsEnum() with an error that names the option, the value given and those allowed; the argument
  'what' is the setting in one word. AIJCheckEnum() is for setters: an error if value is not in the enumeration.
*/
PETSC_INTERN PetscErrorCode AIJOptionsEnum(PetscOptionItemsArg, const char opt[], const char what[], const char text[], const char man[], const char *const list[], PetscEnum current, PetscEnum *value, PetscBool *set);
PETSC_INTERN PetscErrorCode AIJCheckEnum(Mat, const char *const list[], int value);

/* Whether two copies are to be stored: if they are asked for, or, with auto, if one of so many bytes a nonzero is small beside operands with so many columns */
PETSC_INTERN PetscBool AIJTakesTwoCopies(MatFormCopies, PetscInt columns, const AIJCSR *, PetscReal bytes);
