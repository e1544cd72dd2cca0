#pragma once

/*
  Products by librsb, which like bccoo has A x and A^T u from one copy, in recursive blocks that it may tune. Without librsb the
  benchmark has no such baseline, and says so.
*/
#include <petscmat.h>

#if defined(PETSCCSRC_HAVE_RSB)
  #include <rsb.h>

class RSBMatrix {
public:
  RSBMatrix(PetscInt m, PetscInt n, const PetscInt *i, const PetscInt *j, const double *a, int threads) : m_(m), n_(n)
  {
    rsb_int_t executing = threads;
    rsb_err_t err;

    good_ = rsb_lib_init(RSB_NULL_INIT_OPTIONS) == RSB_ERR_NO_ERROR && rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &executing) == RSB_ERR_NO_ERROR;
    A_    = good_ ? rsb_mtx_alloc_from_csr_const(a, i, j, i[m], RSB_NUMERICAL_TYPE_DOUBLE, m, n, 1, 1, RSB_FLAG_NOFLAGS, &err) : nullptr;
    good_ = A_ != nullptr;
  }
  RSBMatrix(const RSBMatrix &)            = delete;
  RSBMatrix &operator=(const RSBMatrix &) = delete;
  ~RSBMatrix()
  {
    if (A_) rsb_mtx_free(A_);
    rsb_lib_exit(RSB_NULL_EXIT_OPTIONS);
  }

  bool good() const { return good_; }

  /* Other blocks, if librsb finds some with which this product takes less time; it may try for so many seconds */
  void tune(bool transposed, double seconds, const double *x, double *y)
  {
    const double one = 1.0, zero = 0.0;
    rsb_real_t   factor  = 1.0;
    rsb_int_t    threads = 0; /* as they are */

    note(rsb_tune_spmm(&A_, &factor, &threads, 0, seconds, op(transposed), &one, nullptr, 1, RSB_FLAG_WANT_COLUMN_MAJOR_ORDER, x, transposed ? m_ : n_, &zero, y, transposed ? n_ : m_));
  }
  void mult(bool transposed, const double *x, double *y)
  {
    const double one = 1.0, zero = 0.0;

    note(rsb_spmv(op(transposed), &one, A_, x, 1, &zero, y, 1));
  }

private:
  static rsb_trans_t op(bool transposed) { return transposed ? RSB_TRANSPOSITION_T : RSB_TRANSPOSITION_N; }
  void               note(rsb_err_t err) { good_ = good_ && err == RSB_ERR_NO_ERROR; }

  PetscInt   m_, n_;
  rsb_mtx_t *A_;
  bool       good_;
};
#endif
