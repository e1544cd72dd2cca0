#pragma once

/*
  What the rest of the library sees of bccoo. The files of this folder:

    bccoo.c          the class: settings, setters, creation, manual pages
    bccooform.h      the stored form, drawn
    bccooorder.c     rows whose columns do not ascend in the CSR
    bccooencode.c    building, and compressions none and paper: CSR in, form out; new values
    bccootable.c     the most frequent values of a matrix
    bccoocursor.h    reading the nonzeros of a form one after the other
    bccooproducts.c  products with vectors
    bccoodense.c     products with dense columns
    bccoodecode.c    nonzeros and CSR from a form, of all compressions

  and of compression lanes, to which these pass on:

    bccoolanes.h         the stored form, drawn
    bccoolanesplan.c     bands of rows, ranges of columns, parts of the transposed product
    bccoolanescolumns.c  columns numbered within bands, where these meet few
    bccoolanesencode.c   CSR in, chunks out; bccoolaneschunk.c: one chunk; bccoolanestable.c: the table of values;
                         bccoolanesvalues.c: how values are coded, new values
    bccoolanes.c         the products: which thread does what, and how sums of several threads meet
    bccoolaneskernels.h  the products of a chunk, written over a vector of eight scalars
    bccoolanesdense.h    products with dense matrices, explained; bccoolanesdenseplan.c: which of the ways a matrix takes;
                         bccoolanesdense.c: A X; bccoolanestransposedense.c: A^T U; bccoolanesdensekernels.h: those of a chunk
    bccoolanesportable.c, bccoolanesavx2.c, bccoolanesavx512.h, bccoolanesavx512.c, bccoolanesavx512loads.c
                         that vector in plain C, for AVX2 and for AVX-512, with the kernels compiled for it
    bccoolanesencode.h   what the encoder's files share

  Products run in OpenMP threads and call no PETSc functions there; memory is allocated before the threads start.
*/
#include "../aijderived/aijform.h"

PETSC_INTERN const AIJFormClass AIJFormBCCOO;

PETSC_INTERN PetscErrorCode MatCreate_SeqBCCOO(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIBCCOO(Mat);
