#pragma once

/*
  The reference of the tests: a matrix that every rank stores completely as a CSR, and plain loops over it.

  A product is right if every entry differs from that of the loop by at most (entries in the row or column + 8) eps (|A| |x|)_i.
  Differences are counted, and a few for each matrix are printed.
*/
#include <petscmat.h>

typedef struct {
  char         name[128];
  PetscInt     m, n, nnz;
  PetscInt    *i, *j; /* rows in order, columns in order within a row */
  PetscScalar *a;
} Reference;

/* Entries may be in any order; those at the same place are added */
PETSC_INTERN PetscErrorCode ReferenceCreate(const char name[], PetscInt m, PetscInt n, PetscInt count, const PetscInt rows[], const PetscInt cols[], const PetscScalar vals[], Reference *ref);
/* Gathers the host entries of an assembled AIJ matrix */
PETSC_INTERN PetscErrorCode ReferenceCreateFromMat(const char name[], Mat A, Reference *ref);
PETSC_INTERN PetscErrorCode ReferenceDestroy(Reference *ref);

/* A matrix of the type set by the options, with PETSc's default row and column layout */
PETSC_INTERN PetscErrorCode ReferenceSetTestValues(void); /* for programs that do not call the next one first */
PETSC_INTERN PetscErrorCode ReferenceToMat(const Reference *ref, MPI_Comm comm, Mat *A);

/*
  On a device a matrix is left to the type underneath only if its CSR is there; after assembly it is on the host. By the default path, without
  -mat_form_store_at_once, this moves the CSR of two of three matrices, chosen by their references.
*/
PETSC_INTERN PetscErrorCode ReferenceMoveToDevice(const Reference *ref, Mat A);

/* An m x n matrix, of the type set by the options if `type` is NULL: row r has test vector s's entries from count r on, in the columns r, r + step, ... modulo n */
PETSC_INTERN PetscErrorCode ReferenceSparse(PetscInt m, PetscInt n, PetscInt count, PetscInt step, PetscInt s, MatType type, Mat *A);

/*
  What products need: A, with vectors and dense matrices of five columns that are test vectors 1, 2 and from 4 on. The products Y = A X and V = A^T U are
  prepared, and Y and V hold NaN.
*/
typedef struct {
  Mat A, X, Y, U, V;
  Vec x, y;
} ReferenceOperands;

PETSC_INTERN PetscErrorCode ReferenceOperandsCreate(const Reference *ref, MPI_Comm comm, ReferenceOperands *o);
/* Checks all products with vectors and both with dense matrices */
PETSC_INTERN PetscErrorCode ReferenceOperandsCheck(const Reference *ref, const ReferenceOperands *o, PetscInt *bad);
PETSC_INTERN PetscErrorCode ReferenceOperandsDestroy(ReferenceOperands *o);

/* Whether A is of a type without CSR */
PETSC_INTERN PetscErrorCode ReferenceIsReleased(Mat A, PetscBool *released);

/* Entry k of test vector number s: no two alike, size about 1, complex in a complex PETSc */
PETSC_INTERN PetscScalar    ReferenceValue(PetscInt s, PetscInt k);
PETSC_INTERN PetscErrorCode ReferenceFillVec(Vec x, PetscInt s);

/* A dense m x K matrix, whose type -dense_mat_type may change; padded: the leading dimension is larger than the number of rows */
PETSC_INTERN PetscErrorCode ReferenceDenseCreate(MPI_Comm comm, PetscInt mlocal, PetscInt m, PetscInt K, PetscBool padded, Mat *X);
/* Column c becomes test vector s + c, or NaN if s < 0 */
PETSC_INTERN PetscErrorCode ReferenceDenseFill(Mat X, PetscInt s);

typedef enum {
  REFERENCE_N,
  REFERENCE_T,
  REFERENCE_H
} ReferenceOp;

/* Is y = op(A) x + z, where x is test vector sx and z test vector sz (none if sz < 0)? Adds the number of wrong entries to bad. */
PETSC_INTERN PetscErrorCode ReferenceCheckVec(const Reference *ref, ReferenceOp op, PetscInt sx, PetscInt sz, Vec y, const char what[], PetscInt *bad);
/* The same for Y = op(A) X, where column c of X is test vector sx + c */
PETSC_INTERN PetscErrorCode ReferenceCheckDense(const Reference *ref, ReferenceOp op, PetscInt sx, Mat Y, const char what[], PetscInt *bad);
/* Are the entries of A the reference's, up to a tolerance relative to 1 + |a|, 0 for bit by bit? Stored zeros count as no entries. */
PETSC_INTERN PetscErrorCode ReferenceCheckEntries(const Reference *ref, Mat A, PetscReal tol, const char what[], PetscInt *bad);

/* Is C, of whatever type, E up to a tolerance relative to E's Frobenius norm? */
PETSC_INTERN PetscErrorCode ReferenceCheckMat(Mat C, Mat E, PetscReal tol, const char what[], const char when[], PetscInt *bad);

/*
  Checks all nine products with vectors: outputs hold NaN before, and inputs must not change. By the default path two of three matrices are
  then multiplied until their nonzeros are stored, and all products are checked again.
*/
PETSC_INTERN PetscErrorCode ReferenceCheckProducts(const Reference *ref, Mat A, PetscInt *bad);
PETSC_INTERN PetscBool      ReferenceWaits; /* false: they are not, so that their checks take less time */
/* The same with vectors of the caller: x, y of length n, u, v, of length m */
PETSC_INTERN PetscErrorCode ReferenceCheckProductsWithVecs(const Reference *ref, Mat A, Vec x, Vec y, Vec u, Vec v, PetscInt *bad);

/* How often a log event has occurred on this process; counted from the first call on */
PETSC_INTERN PetscErrorCode ReferenceCountEvents(const char name[], int *count);

/* Prints the last line of a test: the number of errors on all processes */
PETSC_INTERN PetscErrorCode ReferenceReport(PetscInt bad);

/* shapes.c: the table of matrices */
PETSC_INTERN PetscErrorCode ShapesCount(PetscInt *count);
PETSC_INTERN PetscErrorCode ShapesGet(PetscInt k, Reference *ref);
