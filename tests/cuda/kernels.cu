/*
  Tests the kernels of the layout csrc without PETSc: every product is compared with a plain loop over the CSR.

    nvcc -std=c++17 -O3 -arch=sm_90 -Isrc -o kernels tests/cuda/kernels.cu
    ./kernels            all checks, ends with 'N passed, N failed'; not 0 if one failed
    ./kernels -small     without the large matrices; -tiny: a few small ones, for compute-sanitizer

  csrctest.cuh describes the checks.
*/
#include "csrctest.cuh"

/* The products of one matrix */
template <class Scalar, class Index>
class Checker {
public:
  Checker(const char *types, const Csr<Scalar, Index> &A, Random &random) : form(A), check(types, A, random) { }

  /* one column */
  void vectors()
  {
    for (Op op : {N, T, H})
      for (Addend addend : {NONE, OTHER, SAME}) product(op, 1, 0, 0, addend);
  }

  void panels(std::initializer_list<size_t> Ks)
  {
    for (size_t K : Ks)
      for (Op op : {N, T, H})
        for (int pad : {0, 3}) product(op, K, pad, pad ? 5 : 0, NONE);
  }

private:
  void product(Op op, size_t K, size_t padin, size_t padout, Addend addend)
  {
    check.run("", op, K, padin, padout, addend, [&](const Scalar *x, size_t ldx, const Scalar *z, Scalar *y, size_t ldy, cudaStream_t stream) {
      const CSRC256Device<Scalar, Index> F = form.form();

      if (op == N) return CSRC256Mult(F, K, x, ldx, z, y, ldy, stream);
      if (op == T) return CSRC256MultTranspose<false>(F, K, x, ldx, z, y, ldy, stream);
      return CSRC256MultTranspose<CSRCParts<Scalar> == 2>(F, K, x, ldx, z, y, ldy, stream);
    });
  }

  const Csrc<Scalar, Index>   form;
  ProductCheck<Scalar, Index> check;
};

template <class Scalar, class Index>
class Suite {
public:
  Suite(const char *types_, Amount amount_) : types(types_), amount(amount_), large(amount_ == ALL) { }

  void run()
  {
    if (amount == TINY) {
      tiny();
      return;
    }
    shapes();
    runs();
    heavy();
    ieee();
    manypanels();
  }

private:
  using Matrix = Csr<Scalar, Index>;

  /* an m x n matrix, where each entry is a nonzero with probability `density` */
  Matrix scattered(Index m, Index n, double density)
  {
    Matrix A("scattered", m, n);

    for (Index row = 0; row < m; row++) {
      for (Index column = 0; column < n; column++) {
        if (random.unit() < density) A.rows[row].push_back(column);
      }
    }
    A.finish(random);
    return A;
  }

  void tiny()
  {
    for (double density : {0.01, 0.9}) check(scattered(257, 33, density)).vectors();
    check(scattered(257, 300, 0.03)).panels({1, 8, 17});
    for (Index length : {1, 5, 32, 97}) check(run(257, length)).vectors();
  }

  Checker<Scalar, Index> check(const Matrix &A) { return Checker<Scalar, Index>(types, A, random); }

  /* sizes on both sides of every boundary of warps and blocks, sparse and nearly full */
  void shapes()
  {
    for (Index m : {0, 1, 31, 32, 33, 255, 256, 257, 511, 512, 513, 769}) {
      for (Index n : {0, 1, 2, 31, 32, 33, 255, 256, 257, 600}) {
        for (double density : {0.0, 0.01, 0.9}) {
          const Matrix A = scattered(m, n, density * m * n > 20000 ? 20000.0 / (static_cast<double>(m) * n) : density);

          check(A).vectors();
        }
      }
    }
    for (Index m : {0, 1, 33, 256, 257, 600}) {
      for (Index n : {0, 1, 33, 300}) {
        const Matrix A = scattered(m, n, 0.03);

        check(A).panels({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 32});
      }
    }
  }

  /* one row block with exactly this many nonzeros, in runs of exactly this many equal columns */
  Matrix run(Index count, Index length)
  {
    Matrix A("runs of " + std::to_string(length), 256, (count + length - 1) / length + 2);

    for (Index k = 0; k < count; k++) A.rows[k % length].push_back(k / length + 1); /* columns 0 and n-1 stay empty */
    A.finish(random);
    return A;
  }

  /* every position of a run in a warp */
  void runs()
  {
    for (Index count : {1, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 1300}) {
      for (Index length : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 64, 97, 200, 256}) {
        const Matrix A = run(count, length);

        check(A).vectors();
        if (count >= 1023) check(A).panels({2, 4, 8});
      }
    }
  }

  /* full rows and columns at the ends of row blocks, empty ones, only one nonzero, very wide and very tall */
  void heavy()
  {
    for (Index full : {0, 255, 256, 599}) {
      Matrix A("full row " + std::to_string(full), 600, 5000);

      for (Index row = 0; row < A.m; row += 3) A.rows[row].push_back(random.below(A.n));
      for (Index column = 0; column < A.n; column++) A.rows[full].push_back(column);
      A.finish(random);
      check(A).vectors();
      check(A).panels({1, 9});
    }
    for (Index full : {0, 1, 57}) {
      Matrix A("full column " + std::to_string(full), 5000, 58);

      for (Index row = 0; row < A.m; row++) {
        A.rows[row].push_back(full);
        if (row % 7 == 0) A.rows[row].push_back(random.below(A.n));
      }
      A.finish(random);
      check(A).vectors();
      check(A).panels({1, 9});
    }
    for (Index row : {0, 255, 256, 999}) {
      Matrix A("one nonzero", 1000, 400);

      A.rows[row].push_back(row % A.n);
      A.finish(random);
      check(A).vectors();
      check(A).panels({1, 3});
    }
    {
      Matrix A("diagonal", 1025, 1025);

      for (Index row = 0; row < A.m; row++) A.rows[row].push_back(row);
      A.finish(random);
      check(A).vectors();
      check(A).panels({1, 11});
    }
    {
      Matrix A("every other row block empty", 256 * 9 + 3, 77);

      for (Index row = 0; row < A.m; row++) {
        if (row / 256 % 2) A.rows[row].push_back(random.below(A.n));
      }
      A.finish(random);
      check(A).vectors();
      check(A).panels({1, 11});
    }
    for (bool wide : {true, false}) {
      const Index m = wide ? 3 : 100000, n = wide ? 100000 : 3;
      Matrix      A(wide ? "wide" : "tall", m, n);

      for (Index k = 0; k < 60000; k++) A.rows[random.below(m)].push_back(random.below(n));
      A.finish(random);
      check(A).vectors();
      if (large) check(A).panels({1, 7});
    }
    if (large) {
      Matrix A("full row and column", 1000, 1000000);

      for (Index column = 0; column < A.n; column++) A.rows[300].push_back(column);
      for (Index row = 0; row < A.m; row++) A.rows[row].push_back(4711);
      A.finish(random);
      check(A).vectors();
      check(A).panels({3});
    }
  }

  /* infinities and NaN in the matrix, and in entries of operands that meet nonzeros */
  void ieee()
  {
    Matrix A = scattered(300, 200, 0.1);

    A.name = "infinities and NaN";
    for (Index k = 0; k < A.nnz(); k += 1 + random.below(800)) A.a[k] = Special<Scalar>(random.bits() % 2);
    check(A).vectors();
    check(A).panels({1, 8, 11});
    for (Index k = 0; k < A.nnz(); k++) A.a[k] = Special<Scalar>(false);
    A.name = "infinities";
    check(A).vectors();
  }

  /* more panels than fit one grid */
  void manypanels()
  {
    const Matrix A = scattered(2, 2, 1);

    if (large) check(A).panels({8 * 65535 + 8 + 7});
  }

  const char *types;
  Amount      amount;
  bool        large;
  Random      random;
};

int main(int argc, char **argv)
{
  const Amount   amount = argc > 1 && !strcmp(argv[1], "-tiny") ? TINY : argc > 1 && !strcmp(argv[1], "-small") ? SMALL : ALL;
  cudaDeviceProp properties;

  CheckCUDA(cudaGetDeviceProperties(&properties, 0));
  printf("%s%s\n", properties.name, amount == TINY ? ", tiny" : amount == SMALL ? ", small" : "");
  Suite<double, int>("double, 32-bit indices:", amount).run();
  Suite<double, long long>("double, 64-bit indices:", amount).run();
  Suite<float, int>("single:", amount).run();
  Suite<thrust::complex<double>, int>("complex double:", amount).run();
  Suite<thrust::complex<float>, long long>("complex single, 64-bit indices:", amount).run();
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
