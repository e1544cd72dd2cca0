#pragma once

/* The parallel type: its operations and products, and what these multiply with */
#include "../seq.h"

/* mpi.c */
PETSC_INTERN const AIJOperation MatDerivedMPIOperations[];
PETSC_INTERN PetscErrorCode     MatDerivedKeepDestroyMPI(Mat); /* as MatDerivedKeepDestroy() */
PETSC_INTERN PetscErrorCode     MatBindToCPU_MPIAIJDerived(Mat, PetscBool);
/* Makes the blocks of a parallel matrix, unless they are already, matrices of the sequential type with its settings */
PETSC_INTERN PetscErrorCode MatDerivedConvertBlocks(Mat);
PETSC_INTERN PetscErrorCode MatDerivedSettingsChangedMPI(Mat);

/* norm.c */
PETSC_INTERN PetscErrorCode MatDerivedNorm1_MPI(Mat, PetscReal *);

/* mult.c: products of the parallel type with vectors, with CSR or without */
PETSC_INTERN PetscErrorCode MatMult_MPIAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_MPIAIJDerived(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_MPIAIJDerived(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_MPIAIJDerived(Mat, Vec, Vec, Vec);
/* Their rows in a table of operations */
#define AIJ_PARALLEL_PRODUCTS \
  AIJ_OPERATION(mult, MatMult_MPIAIJDerived, OVERRIDE_ALWAYS), AIJ_OPERATION(multadd, MatMultAdd_MPIAIJDerived, OVERRIDE_ALWAYS), AIJ_OPERATION(multtranspose, MatMultTranspose_MPIAIJDerived, OVERRIDE_ALWAYS), \
    AIJ_OPERATION(multtransposeadd, MatMultTransposeAdd_MPIAIJDerived, OVERRIDE_ALWAYS)

/* local.c: the matrices that a parallel matrix multiplies with. Brings them and the exchange up to date before a product with K columns; collective. */
PETSC_INTERN PetscErrorCode MatDerivedUpdateMPI(Mat, PetscInt K);
/* Frees them; the next product makes them again */
PETSC_INTERN PetscErrorCode MatDerivedResetMPI(Mat);
PETSC_INTERN PetscErrorCode AIJParallelReset(AIJParallel *);
/* The one or two sequential matrices that a parallel matrix multiplies with at present */
PETSC_INTERN PetscErrorCode MatDerivedGetLocal(Mat, Mat[2], int *);
/* whole.c: brings the member whole up to date with the blocks */
PETSC_INTERN PetscErrorCode MatDerivedUpdateWhole(Mat A);
/* rows.c: brings the member off up to date with the off-diagonal block; frees it */
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

/* matmult.c: for MatProduct, the functions composed under the names of the types involved */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_MPIAIJDerived_MPIDense(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_MPIDense_MPIAIJDerived(Mat);
