#pragma once

/*
  What the rest of the library sees of bccoo. The files of this folder:

    bccoo.c           the class: settings, setters, creation, manual pages
    order.c           rows whose columns do not ascend in the CSR
    dictionary.h      values by their bits

  Compressions none and paper, tuples/:

    tuples.h          the stored form, drawn
    encode.c          building, CSR in, form out; new values
    table.c           the most frequent values of a matrix
    cursor.h          reading the nonzeros of a form one after the other
    mult.c            products with vectors
    matmult.c         products with dense matrices

  Compression lanes, simd/, to which these pass on:

    simd.h            the stored form, drawn
    partition.c       bands of rows, ranges of columns, parts of the transposed product
    columnmap.c       columns numbered within bands, where these meet few
    encode.h          what the encoder's files share: encode.c: CSR in, chunks out; chunk.c: one chunk; table.c: the table of
                      values; values.c: how values are coded, new values
    decode.c          nonzeros and CSR from a form, of all compressions
    mult.c            the products: which thread does what, and how sums of several threads meet
    matmult.h         products with dense matrices, explained; matmultplan.c: which of the ways a matrix takes; matmult.c: A X;
                      transposematmult.c: A^T U

  and simd/kernels/:

    mult.h            the products of a chunk, written over a vector of eight scalars; matmult.h: those with dense matrices
    portable.c, avx2.c, avx512.h, avx512.c, avx512loads.c
                      that vector in plain C, for AVX2 and for AVX-512, with the kernels compiled for it

  Products run in OpenMP threads and call no PETSc functions there; memory is allocated before the threads start.
*/
#include "mat/impls/aijderived/derived.h"

PETSC_INTERN const AIJKind AIJKindBCCOO;

PETSC_INTERN PetscErrorCode MatCreate_SeqBCCOO(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIBCCOO(Mat);
