#pragma once

/*
  Products by MKL's inspector-executor routines on a CSR that the caller keeps. Without MKL the benchmark has no such
  baseline, and says so.
*/
#include <petscmat.h>

#if defined(PETSCCSRC_HAVE_MKL)
  #include <mkl_service.h>
  #include <mkl_spblas.h>

/* What MKL is told before it optimizes: nothing, the product to come, both products, both and that it may keep no copy */
typedef enum {
  MKL_NOHINT,
  MKL_HINT,
  MKL_BOTH,
  MKL_LEAN,
  MKL_NWAYS
} MKLWay;
static const char *const MKLWays[] = {"nohint", "hint", "both", "lean"};

class MKLMatrix {
public:
  MKLMatrix(PetscInt m, PetscInt n, PetscInt *i, PetscInt *j, double *a)
  {
    descr_.type = SPARSE_MATRIX_TYPE_GENERAL;
    good_       = mkl_sparse_d_create_csr(&A_, SPARSE_INDEX_BASE_ZERO, m, n, i, i + 1, j, a) == SPARSE_STATUS_SUCCESS;
  }
  MKLMatrix(const MKLMatrix &)            = delete;
  MKLMatrix &operator=(const MKLMatrix &) = delete;
  ~MKLMatrix() { mkl_sparse_destroy(A_); }

  bool good() const { return good_; }

  /* columns is 0 for products with vectors */
  void optimize(MKLWay way, bool transposed, sparse_layout_t layout, PetscInt columns)
  {
    const int calls = 1000; /* so many that any preparation pays */

    if (way == MKL_NOHINT) return;
    if (way == MKL_LEAN) note(mkl_sparse_set_memory_hint(A_, SPARSE_MEMORY_NONE));
    for (int t = 0; t < 2; t++) {
      const sparse_operation_t op = t ? SPARSE_OPERATION_TRANSPOSE : SPARSE_OPERATION_NON_TRANSPOSE;

      if (way == MKL_HINT && transposed != (t == 1)) continue;
      note(columns ? mkl_sparse_set_mm_hint(A_, op, descr_, layout, columns, calls) : mkl_sparse_set_mv_hint(A_, op, descr_, calls));
    }
    note(mkl_sparse_optimize(A_));
  }
  void mult(bool transposed, const double *x, double *y) { note(mkl_sparse_d_mv(transposed ? SPARSE_OPERATION_TRANSPOSE : SPARSE_OPERATION_NON_TRANSPOSE, 1.0, A_, descr_, x, 0.0, y)); }
  void multdense(bool transposed, sparse_layout_t layout, PetscInt K, const double *X, PetscInt ldx, double *Y, PetscInt ldy)
  {
    note(mkl_sparse_d_mm(transposed ? SPARSE_OPERATION_TRANSPOSE : SPARSE_OPERATION_NON_TRANSPOSE, 1.0, A_, descr_, layout, X, K, ldx, 0.0, Y, ldy));
  }

private:
  /* a hint that MKL does not support is none; a product that fails is */
  void note(sparse_status_t status) { good_ = good_ && (status == SPARSE_STATUS_SUCCESS || status == SPARSE_STATUS_NOT_SUPPORTED); }

  sparse_matrix_t A_ = nullptr;
  matrix_descr    descr_{};
  bool            good_;
};
#endif
