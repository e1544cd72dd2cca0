#pragma once

/*
  Functions shared by tests, examples and benchmarks: matrices from files and generated matrices. They use only
  PETSc, work for every matrix type, sequential and parallel, and need neither SLEPc nor libpetsccsrc.

    matrixrows.c        the common last step: puts the rows of this process into a matrix of any type
    matrixmarket.cxx    reads Matrix Market files, also compressed
    binaryfile.c        reads and checks PETSc binary files
    chessboard.c        boundary matrices of chessboard complexes and their exact spectra
    random.c            random numbers that are the same on any number of processes
    standins.c          generated matrices that resemble those of public collections

  Every function that fills a matrix A expects what MatLoad() expects: an object from MatCreate(). Its type may be set (for
  example by MatSetFromOptions()), otherwise it becomes MATAIJ. Its sizes may be set, otherwise they come from the source, with
  rows and columns distributed over the processes as PETSc does by default. A is assembled on return.
*/
#include <petscmat.h>
#include <stdint.h>

PETSC_EXTERN PetscErrorCode MatCheckSizes(Mat A, PetscInt M, PetscInt N);
PETSC_EXTERN PetscErrorCode MatFillSizes(Mat A, PetscInt M, PetscInt N);
PETSC_EXTERN PetscErrorCode MatFillRows(Mat A, const PetscInt i[], const PetscInt j[], const PetscScalar v[]);

PETSC_EXTERN PetscErrorCode MatLoadMatrixMarket(Mat A, const char file[]);
PETSC_EXTERN PetscErrorCode MatLoadBinary(Mat A, const char file[]);
PETSC_EXTERN PetscErrorCode MatLoadFile(Mat A, const char file[]);

/* One level of an exact spectrum: the square of a singular value (an integer) and its multiplicity */
typedef struct {
  PetscInt square, multiplicity;
} SpectrumLevel;

PETSC_EXTERN PetscErrorCode MatFillChessboard(Mat A, PetscInt a, PetscInt b, PetscInt k);
PETSC_EXTERN PetscErrorCode ChessboardGetSpectrum(PetscInt a, PetscInt b, PetscInt k, PetscInt *nlevels, const SpectrumLevel *levels[]);

PETSC_EXTERN uint64_t  RandomStart(uint64_t seed, PetscInt index);
PETSC_EXTERN uint64_t  RandomBits(uint64_t *state);
PETSC_EXTERN double    RandomUniform(uint64_t *state);
PETSC_EXTERN PetscReal RandomDraw(PetscInt i, PetscInt t);

/* The larger of two numbers; NaN if one of them is */
static inline PetscReal LargerOrNaN(PetscReal a, PetscReal b)
{
  return PetscIsNanReal(a) || a >= b ? a : b;
}

PETSC_EXTERN PetscErrorCode MatFillStandin(Mat A, const char name[], PetscReal scale);
