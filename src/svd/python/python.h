#pragma once

/*
  The C interface of the Python package (python/petsccsrc), which calls it by ctypes. Numbers have the same size in every build, so that
  Python need not know PETSc's; arrays hold PetscInt and PetscScalar. Functions return PETSc's error code and leave the reason of an error
  in PetscCSRCPythonReason().

    python.c     start, matrices, products, solves
    operator.c   matrices that are operators: those of a function of Python, and A without the means of its rows or columns

  Memory is that of the caller's arrays, host or device. On a device, work is ordered with a stream of the caller's: what is queued there
  before a call is done before the call's work, and the call's results can be used there.
*/
#include <petscmat.h>

/* y = A x or A^T x for some columns, which are arrays with leading dimensions; not zero: failed */
typedef int (*PythonProduct)(int transpose, int64_t columns, void *x, int64_t ldx, void *y, int64_t ldy);
/* After a step: number of steps, of values converged, and the largest residual of the wanted triplets, relative to their values, as last estimated; not zero: stop */
typedef int (*PythonStep)(int64_t steps, int64_t converged, double residual);

/* device: the arrays of the products are on the device */
PETSC_INTERN PetscErrorCode MatCreatePythonOperator(MPI_Comm, PetscInt m, PetscInt n, PetscBool device, PythonProduct, Mat *);
/* B = A - e c^T with the means c of the columns of A, or, if rows is true, A - c e^T with the means c of its rows; B refers to A */
PETSC_INTERN PetscErrorCode MatCreateCentered(Mat A, PetscBool rows, Mat *B);
