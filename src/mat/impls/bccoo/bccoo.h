#pragma once

/*
  What the rest of the library sees of bccoo. The files of this folder:

    bccoo.c          the class: settings, setters, creation, manual pages
    bccooform.h      the stored form, drawn
    bccooencode.c    CSR in, form out; new values
    bccootable.c     the most frequent values of a matrix
    bccoocursor.h    reading the nonzeros of a form one after the other
    bccooproducts.c  products with vectors
    bccoodense.c     products with dense columns

  Products run in OpenMP threads and call nothing of PETSc there; memory is allocated before the threads start.
*/
#include "../aijderived/aijform.h"

PETSC_INTERN const AIJFormClass AIJFormBCCOO;

PETSC_INTERN PetscErrorCode MatCreate_SeqBCCOO(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIBCCOO(Mat);
