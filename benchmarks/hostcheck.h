#pragma once

/*
  The reference that every timed product is checked against: A X and A^T U by a plain loop on the host, in double precision,
  and beside each entry of the result the same sum of absolute values, |A||X|, which bounds the error that rounding explains.
  Products with fewer columns than X use the first ones; those with more repeat them, see ReferenceOperand().
*/
#include <petscmat.h>
#include <cmath>
#include <cstdint>
#include "entrycheck.h"

typedef struct {
  PetscInt           m, n, K;
  const PetscInt    *i, *j; /* borrowed from the matrix */
  const PetscScalar *a;
  PetscInt          *colcount;
  double            *X, *U;      /* n x K and m x K, by columns */
  double            *Y, *Ybound; /* A X */
  double            *V, *Vbound; /* A^T U */
} Reference;

static PetscErrorCode ReferenceCreate(Mat A, PetscInt K, Reference *ref)
{
  size_t    m, n;
  PetscBool done;

  PetscFunctionBegin;
  ref->K = K;
  PetscCall(MatGetSize(A, &ref->m, &ref->n));
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &ref->m, &ref->i, &ref->j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "The matrix does not give its rows: a sequential AIJ matrix is needed");
  PetscCall(MatSeqAIJGetArrayRead(A, &ref->a));
  m = (size_t)ref->m;
  n = (size_t)ref->n;
  PetscCall(PetscCalloc1(n, &ref->colcount));
  PetscCall(PetscMalloc3(n * K, &ref->X, m * K, &ref->Y, m * K, &ref->Ybound));
  PetscCall(PetscMalloc1(m * K, &ref->U));
  PetscCall(PetscCalloc2(n * K, &ref->V, n * K, &ref->Vbound));
  for (PetscInt t = 0; t < ref->i[ref->m]; t++) ref->colcount[ref->j[t]]++;

#pragma omp parallel
  {
#pragma omp for
    for (size_t t = 0; t < n * (size_t)K; t++) ref->X[t] = ReferenceValue(t);
#pragma omp for
    for (size_t t = 0; t < m * (size_t)K; t++) ref->U[t] = ReferenceValue(~(uint64_t)t);
#pragma omp for schedule(dynamic, 4096)
    for (PetscInt row = 0; row < ref->m; row++) {
      for (PetscInt k = 0; k < K; k++) {
        double sum = 0, bound = 0;

        for (PetscInt t = ref->i[row]; t < ref->i[row + 1]; t++) {
          const double term = ref->a[t] * ref->X[k * n + ref->j[t]];

          sum += term;
          bound += PetscAbsReal(term);
        }
        ref->Y[k * m + row]      = sum;
        ref->Ybound[k * m + row] = bound;
      }
    }
    /* One thread a column of V, so that no two threads add to one entry */
#pragma omp for schedule(dynamic)
    for (PetscInt k = 0; k < K; k++) {
      for (PetscInt row = 0; row < ref->m; row++) {
        const double u = ref->U[k * m + row];

        for (PetscInt t = ref->i[row]; t < ref->i[row + 1]; t++) {
          const double term = ref->a[t] * u;

          ref->V[k * n + ref->j[t]] += term;
          ref->Vbound[k * n + ref->j[t]] += PetscAbsReal(term);
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column k of an operand: of X, or if transposed of U */
static inline const double *ReferenceOperand(const Reference *ref, PetscBool transposed, PetscInt k)
{
  return (transposed ? ref->U : ref->X) + (size_t)(k % ref->K) * (transposed ? ref->m : ref->n);
}

static PetscErrorCode ReferenceDestroy(Mat A, Reference *ref)
{
  PetscInt  m;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJRestoreArrayRead(A, &ref->a));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &ref->i, &ref->j, &done));
  PetscCall(PetscFree(ref->colcount));
  PetscCall(PetscFree3(ref->X, ref->Y, ref->Ybound));
  PetscCall(PetscFree(ref->U));
  PetscCall(PetscFree2(ref->V, ref->Vbound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The largest error among the entries of a result, each as a share of what rounding allows it, (entries + 8) eps (|A||x|)_i.
  Above 1 the product is wrong. NaN, which outputs are filled with beforehand, comes out as infinity,
  unless the matrix itself holds NaN or infinity and NaN is the result.
*/
static PetscErrorCode ReferenceCheck(const Reference *ref, PetscBool transposed, PetscInt K, const double result[], PetscInt ld, double *error)
{
  const size_t  rows  = (size_t)(transposed ? ref->n : ref->m);
  const double *right = transposed ? ref->V : ref->Y, *bound = transposed ? ref->Vbound : ref->Ybound;
  double        worst = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < K; k++) {
    const size_t first = (size_t)(k % ref->K) * rows;

#pragma omp parallel for reduction(max : worst)
    for (size_t r = 0; r < rows; r++) {
      const PetscInt entries = transposed ? ref->colcount[r] : ref->i[r + 1] - ref->i[r];
      const double   allowed = ((double)entries + 8.0) * PETSC_MACHINE_EPSILON * bound[first + r];
      const double   value = result[(size_t)k * ld + r], expected = right[first + r], differs = PetscAbsReal(value - expected);

      if (value == expected || (std::isnan(value) && std::isnan(expected))) continue;
      worst = PetscMax(worst, (double)ErrorShare(differs, allowed));
    }
  }
  *error = worst;
  PetscFunctionReturn(PETSC_SUCCESS);
}
