/*
  Products with A and with A^T, by cuSPARSE and by MATCSRCCUDA, in one process on one GPU. README.md in this folder explains its use.

  The program is not linked with the library that it measures: -dll_append loads the type, as for users, and options choose
  its layouts.
*/
static char help[] = "Measures products with sparse matrices on a GPU: cuSPARSE against the matrix type csrccuda.\n"
                     "  -dll_append <libpetsccsrc.so> : the library that brings csrccuda\n"
                     "  -matrices all|small|<names>   : generated matrices: all 17, the small ones, or some by name; default: small,\n"
                     "                                  and none where -file or -dir is given\n"
                     "  -file <file>                  : a Matrix Market file (.mtx or .mtx.gz) or a PETSc binary file\n"
                     "  -dir <folder>                 : all Matrix Market and *.petsc (binary) files of a folder\n"
                     "  -transposed                   : in place of each matrix its transpose\n"
                     "  -scale <1>                    : makes generated matrices smaller, for a trial\n"
                     "  -layouts <auto,csrc,balanced>: layouts of csrccuda, values of -mat_csrc_layout; two: two copies\n"
                     "  -spmm                         : measures products with several vectors too\n"
                     "  -K <2,4,8,16,32>              : how many vectors\n"
                     "  -groups <5>                   : groups of up to 50 products, of which the median is taken\n"
                     "  -setup_repeats <3>            : set-ups, of which the median is taken\n"
                     "  -csv <file>                   : writes what was measured there\n"
                     "Further options of csrccuda are given with the prefix bench_. Without a GPU all products of csrccuda are checked,\n"
                     "and nothing is timed. The exit status is 1 if a product was wrong.\n\n";

#include <petscmat.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "This benchmark compares products of real matrices in double precision; this PETSc has other scalars. Nothing was measured.\n"));
  PetscCall(PetscFinalize());
  return 0;
}
#else

  #include "csrccudaproducts.cuh"
  #include "cusparseproducts.cuh"
  #include "matrixlist.h"

  #define MAX_LAYOUTS 8

typedef struct {
  PetscInt n;
  char    *names[MAX_LAYOUTS];
} Layouts;

static PetscErrorCode Synchronize(const Bench *b)
{
  PetscFunctionBegin;
  if (b->gpu) PetscCallCUDA(cudaStreamSynchronize(b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Measures how much longer the first product takes than a later one: it stores the nonzeros from the CSR on the host, which is copied to the
  GPU for this. It is measured with new matrices; the last one is kept.
*/
static PetscErrorCode MeasureSetUp(Bench *b, Mat A, const Reference *ref, const char layout[], Mat *B)
{
  std::vector<double> times;
  char                what[64];
  double              bytes;

  PetscFunctionBegin;
  for (PetscInt turn = 0; turn < (b->gpu ? b->setuprepeats : 1); turn++) {
    Vec            x, y;
    PetscLogDouble begin, first, second;

    if (turn) PetscCall(MatDestroy(B));
    PetscCall(CreateCSRC(A, layout, B));
    PetscCall(MatCreateVecs(*B, &x, &y));
    PetscCall(FillVector(b, x, ref->X));
    PetscCall(FillVector(b, y, ref->U));
    PetscCall(Synchronize(b));
    PetscCall(PetscTime(&begin));
    PetscCall(MatMult(*B, x, y));
    PetscCall(Synchronize(b));
    PetscCall(PetscTime(&first));
    PetscCall(MatMult(*B, x, y));
    PetscCall(Synchronize(b));
    PetscCall(PetscTime(&second));
    times.push_back(1e6 * ((first - begin) - (second - first)));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
  }
  PetscCall(GetFormMemory(*B, &bytes));
  PetscCall(PetscSNPrintf(what, sizeof(what), "setup_csrccuda_%s", layout));
  PetscCall(BenchRecord(b, what, 0, b->gpu ? Median(times) : -1, bytes, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A X or A^T U by MatProductNumeric(), as in a program that has created the product once */
static PetscErrorCode MeasureDense(Bench *b, Mat B, const Reference *ref, const char layout[], PetscBool transposed, PetscInt K)
{
  const PetscInt     nin = transposed ? ref->m : ref->n, nout = transposed ? ref->n : ref->m;
  Mat                X, Y;
  PetscScalar       *array;
  const PetscScalar *host;
  PetscMemType       mtype;
  PetscInt           ld;
  char               what[64];
  double             us, error, bytes;

  PetscFunctionBegin;
  if (b->gpu) PetscCall(MatCreateSeqDenseCUDA(PETSC_COMM_SELF, nin, K, NULL, &X));
  else PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, nin, K, NULL, &X));
  PetscCall(MatDenseGetLDA(X, &ld));
  PetscCall(MatDenseGetArrayWrite(X, &array));
  for (PetscInt k = 0; k < K; k++) PetscCall(PetscArraycpy(array + (size_t)k * ld, ReferenceOperand(ref, transposed, k), nin));
  PetscCall(MatDenseRestoreArrayWrite(X, &array));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));

  PetscCall(MatProductCreate(B, X, NULL, &Y));
  PetscCall(MatProductSetType(Y, transposed ? MATPRODUCT_AtB : MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(Y));
  PetscCall(MatProductSymbolic(Y));
  /* nonzeros stored for other products are stored again when these products have had more columns than the others, of which 256 count */
  for (PetscInt columns = 0; b->gpu && columns <= 256; columns += K) PetscCall(MatProductNumeric(Y));
  PetscCall(BenchTime(
    b, [&]() -> PetscErrorCode { return MatProductNumeric(Y); }, &us));

  PetscCall(MatDenseGetLDA(Y, &ld));
  PetscCall(MatDenseGetArrayWriteAndMemType(Y, &array, &mtype));
  PetscCheck(!b->gpu || PetscMemTypeDevice(mtype), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The product with a dense matrix on the GPU is not on the GPU");
  PetscCall(FillNaN(b, array, (size_t)ld * K, mtype));
  PetscCall(MatDenseRestoreArrayWriteAndMemType(Y, &array));
  PetscCall(MatProductNumeric(Y));
  PetscCall(MatDenseGetArrayRead(Y, &host));
  PetscCall(ReferenceCheck(ref, transposed, K, host, ld, &error));
  PetscCall(MatDenseRestoreArrayRead(Y, &host));
  PetscCheck(ld >= nout, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Leading dimension %" PetscInt_FMT " is below the rows, %" PetscInt_FMT, ld, nout);
  PetscCall(GetFormMemory(B, &bytes));
  PetscCall(PetscSNPrintf(what, sizeof(what), "csrccuda_%s_%s", layout, transposed ? "T" : "N"));
  PetscCall(BenchRecord(b, what, K, us, bytes, error));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of operands that differ, a prime number: the loop that checks wide products would take longer than these */
static const PetscInt DISTINCT = 61;

static PetscErrorCode MeasureMatrix(Bench *b, const MatrixSource *source, const Layouts *layouts)
{
  Mat       A;
  Reference ref;

  PetscFunctionBegin;
  PetscCall(MatrixSourceLoad(PETSC_COMM_SELF, source, b->scale, &A));
  if (b->transposed) PetscCall(MatTranspose(A, MAT_INPLACE_MATRIX, &A));
  PetscCall(ReferenceCreate(A, PetscMin(BenchMostColumns(b), DISTINCT), &ref));
  b->matrix = source->name;
  b->m      = ref.m;
  b->n      = ref.n;
  b->nnz    = (double)ref.i[ref.m];
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n%s: %" PetscInt_FMT " x %" PetscInt_FMT ", %.0f nonzeros\n", b->matrix, b->m, b->n, b->nnz));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-28s%4s %12s %10s %8s %10s\n", "what", "K", "us", "GFLOP/s", "B/nnz", "error"));
  if (b->gpu) PetscCall(CuSparseBaselines(b, &ref));
  for (PetscInt l = 0; l < layouts->n; l++) {
    Mat B;

    PetscCall(MeasureSetUp(b, A, &ref, layouts->names[l], &B));
    for (int transposed = 0; transposed <= 1; transposed++) PetscCall(MeasureVector(b, B, &ref, layouts->names[l], transposed ? PETSC_TRUE : PETSC_FALSE));
    for (PetscInt k = 0; k < b->nK; k++) {
      for (int transposed = 0; transposed <= 1; transposed++) PetscCall(MeasureDense(b, B, &ref, layouts->names[l], transposed ? PETSC_TRUE : PETSC_FALSE, b->K[k]));
    }
    PetscCall(MatDestroy(&B));
  }
  PetscCall(ReferenceDestroy(A, &ref));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Ratios over all matrices, of which large ones are good: their geometric mean, and the worst one with its matrix; matrices without a time
  are left out
*/
typedef struct {
  PetscInt    count;
  double      logs, worst;
  const char *where;
} Ratios;

static void RatiosAdd(Ratios *r, const char matrix[], double baseline, double ours)
{
  const double ratio = baseline / ours;

  if (!std::isfinite(ratio) || ratio <= 0) return;
  r->logs += std::log(ratio);
  if (!r->count || ratio < r->worst) {
    r->worst = ratio;
    r->where = matrix;
  }
  r->count++;
}

/* inverse: shows the inverse ratios, of which small ones are good */
static PetscErrorCode RatiosPrint(const Ratios *r, const char layout[], const char against[], bool inverse = false)
{
  PetscFunctionBegin;
  if (r->count) {
    const double mean = std::exp(r->logs / (double)r->count);

    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-10s %-60s %6.2f, worst %.2f (%s), matrices: %" PetscInt_FMT "\n", layout, against, inverse ? 1 / mean : mean, inverse ? 1 / r->worst : r->worst, r->where, r->count));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Summary(const Bench *b, const MatrixList *list, const Layouts *layouts)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\nGeometric means of times, the baseline's over csrccuda's; of several algorithms the best one counts for each matrix\n"));
  for (PetscInt l = 0; l < layouts->n; l++) {
    const char *layout = layouts->names[l];
    char        N[64], T[64], setup[64], text[128];
    Ratios      onecopy = {}, twocopies = {}, best = {}, setups = {};

    PetscCall(PetscSNPrintf(N, sizeof(N), "csrccuda_%s_N", layout));
    PetscCall(PetscSNPrintf(T, sizeof(T), "csrccuda_%s_T", layout));
    PetscCall(PetscSNPrintf(setup, sizeof(setup), "setup_csrccuda_%s", layout));
    for (PetscInt s = 0; s < list->n; s++) {
      const char  *matrix = list->sources[s].name;
      const double ours = BenchBest(b, matrix, N, 1) + BenchBest(b, matrix, T, 1), csr = BenchBest(b, matrix, "csr_N", 1);

      RatiosAdd(&onecopy, matrix, csr + BenchBest(b, matrix, "csr_T", 1), ours);
      RatiosAdd(&twocopies, matrix, csr + BenchBest(b, matrix, "stored_T", 1), ours);
      RatiosAdd(&best, matrix, std::fmin(csr, BenchBest(b, matrix, "sell_N", 1)) + std::fmin(BenchBest(b, matrix, "stored_T", 1), BenchBest(b, matrix, "sell_stored_T", 1)), ours);
      RatiosAdd(&setups, matrix, BenchBest(b, matrix, "setup_csr2csc_alloc", 0), BenchBest(b, matrix, setup, 0));
    }
    PetscCall(RatiosPrint(&onecopy, layout, "A x + A^T u against CSR"));
    PetscCall(RatiosPrint(&twocopies, layout, "A x + A^T u against CSR and a stored transpose"));
    PetscCall(RatiosPrint(&best, layout, "A x + A^T u against the best of two copies, SELL too"));
    PetscCall(RatiosPrint(&setups, layout, "set-up from the host against csr2csc with allocation"));
    for (PetscInt k = 0; k < b->nK; k++) {
      const PetscInt K    = b->K[k];
      Ratios         colN = {}, colT = {}, bestN = {}, bestT = {}, growth = {};

      for (PetscInt s = 0; s < list->n; s++) {
        const char  *matrix = list->sources[s].name;
        const double oursN = BenchBest(b, matrix, N, K), oursT = BenchBest(b, matrix, T, K);

        RatiosAdd(&colN, matrix, BenchBest(b, matrix, "csr_N_col", K), oursN);
        RatiosAdd(&colT, matrix, BenchBest(b, matrix, "csr_T_col", K), oursT);
        RatiosAdd(&bestN, matrix, BenchBest(b, matrix, "csr_N", K), oursN);
        RatiosAdd(&bestT, matrix, std::min(BenchBest(b, matrix, "csr_T", K), BenchBest(b, matrix, "stored_T", K)), oursT);
        RatiosAdd(&growth, matrix, BenchBest(b, matrix, N, 1) + BenchBest(b, matrix, T, 1), oursN + oursT);
      }
      PetscCall(PetscSNPrintf(text, sizeof(text), "K = %" PetscInt_FMT ": A X against CSR by columns", K));
      PetscCall(RatiosPrint(&colN, layout, text));
      PetscCall(PetscSNPrintf(text, sizeof(text), "K = %" PetscInt_FMT ": A^T U against CSR by columns", K));
      PetscCall(RatiosPrint(&colT, layout, text));
      PetscCall(PetscSNPrintf(text, sizeof(text), "K = %" PetscInt_FMT ": A X against the best of all", K));
      PetscCall(RatiosPrint(&bestN, layout, text));
      PetscCall(PetscSNPrintf(text, sizeof(text), "K = %" PetscInt_FMT ": A^T U against the best of all, stored transpose too", K));
      PetscCall(RatiosPrint(&bestT, layout, text));
      PetscCall(PetscSNPrintf(text, sizeof(text), "K = %" PetscInt_FMT ": time of A X + A^T U over A x + A^T u, small is good", K));
      PetscCall(RatiosPrint(&growth, layout, text, true));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench       b          = {};
  Layouts     layouts    = {};
  MatrixList  list       = {};
  const char *standard[] = {"auto", "csrc", "balanced"};
  PetscBool   set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(BenchBegin(&b, 3));
  PetscOptionsBegin(PETSC_COMM_WORLD, "", "Benchmark of products", "");
  PetscCall(PetscOptionsBoundedInt("-groups", "Groups of products, of which the median is taken", NULL, b.groups, &b.groups, NULL, 1));
  PetscCall(PetscOptionsBool("-spmm", "Measure products with several vectors", NULL, b.spmm, &b.spmm, NULL));
  if (b.spmm) {
    b.nK = BENCH_MAXK;
    PetscCall(PetscOptionsIntArray("-K", "How many vectors", NULL, b.K, &b.nK, &set));
    if (!set) {
      for (b.nK = 0; b.nK < 5; b.nK++) b.K[b.nK] = 2 << b.nK;
    }
    for (PetscInt k = 0; k < b.nK; k++) PetscCheck(b.K[k] >= 2, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-K %" PetscInt_FMT ": at least 2", b.K[k]);
  }
  PetscCall(PetscOptionsBool("-transposed", "In place of each matrix its transpose", NULL, b.transposed, &b.transposed, NULL));
  layouts.n = MAX_LAYOUTS;
  PetscCall(PetscOptionsStringArray("-layouts", "Layouts of csrccuda", NULL, layouts.names, &layouts.n, &set));
  if (!set) {
    for (layouts.n = 0; layouts.n < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(standard); layouts.n++) PetscCall(PetscStrallocpy(standard[layouts.n], &layouts.names[layouts.n]));
  }
  PetscOptionsEnd();
  PetscCall(MatrixListSetFromOptions(&list, "small"));

  PetscCall(BenchDescribe(&b));
  for (PetscInt s = 0; s < list.n; s++) PetscCall(MeasureMatrix(&b, &list.sources[s], &layouts));
  if (b.gpu) PetscCall(Summary(&b, &list, &layouts));
  PetscCall(BenchEnd(&b, "All products are right."));
  for (PetscInt l = 0; l < layouts.n; l++) PetscCall(PetscFree(layouts.names[l]));
  PetscCall(PetscFinalize());
  return b.nwrong ? 1 : 0;
}
#endif
