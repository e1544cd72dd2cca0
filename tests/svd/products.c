static const char help[] = "Matrices of products of graphs, whose singular values are known exactly, with all multiplicities, however large the matrix is.\n\
  -graphs G,...   each a product of factors with x between them: pN is a path of N vertices, cN a cycle, kN a complete graph, eN has no edges, so that\n\
                  all values come N times as often\n\
  -kronecker      the Kronecker product of the factors' incidence matrices; otherwise that of the product of the graphs (a Kronecker sum)\n\
  -circulants a,b circulants of orders a, a + 1, ..., b - 1, in which nearly all values are double\n\
  -nsv n,...      how many values\n\
  -verbose        a line for each solve: what was found, what is certified, how many columns were multiplied\n";

#include "check.h"

#define MAXFACTORS 6
#define MAXLIST    16

/* A factor is a graph. For its incidence matrix B, with a row for each edge, B^T B is the Laplacian */
typedef struct {
  char     kind;
  PetscInt n, edges;
} Factor;

static PetscErrorCode ReadFactors(const char name[], Factor f[], PetscInt *nf)
{
  char **parts;
  int    count;

  PetscFunctionBeginUser;
  PetscCall(PetscStrToArray(name, 'x', &count, &parts));
  PetscCheck(count <= MAXFACTORS, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "%s has more than %d factors", name, MAXFACTORS);
  for (int i = 0; i < count; i++) {
    int n;

    PetscCheck(sscanf(parts[i], "%c%d", &f[i].kind, &n) == 2 && n > 1 && (f[i].kind == 'p' || f[i].kind == 'c' || f[i].kind == 'k' || f[i].kind == 'e'), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "%s is no factor: pN, cN, kN or eN with N > 1",
               parts[i]);
    f[i].n     = n;
    f[i].edges = f[i].kind == 'p' ? n - 1 : f[i].kind == 'c' ? n : f[i].kind == 'k' ? n * (n - 1) / 2 : 0;
  }
  *nf = count;
  PetscCall(PetscStrToArrayDestroy(count, parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Eigenvalue i of the Laplacian */
static PetscReal Eigenvalue(const Factor *f, PetscInt i)
{
  if (f->kind == 'e') return 0;
  if (f->kind == 'k') return i ? (PetscReal)f->n : 0;
  return PetscSqr(2 * PetscSinReal(PETSC_PI * i / (f->kind == 'p' ? 2 * f->n : f->n)));
}

/* The ends of edge e */
static void Ends(const Factor *f, PetscInt e, PetscInt *a, PetscInt *b)
{
  *a = e;
  *b = (e + 1) % f->n;
  if (f->kind != 'k') return;
  for (*a = 0; e >= f->n - 1 - *a; (*a)++) e -= f->n - 1 - *a;
  *b = *a + 1 + e;
}

/* All singular values in decreasing order */
static PetscErrorCode Spectrum(PetscInt nf, const Factor f[], PetscBool kronecker, PetscInt n, PetscReal s[])
{
  PetscFunctionBeginUser;
  for (PetscInt j = 0; j < n; j++) {
    PetscReal value = kronecker ? 1 : 0;

    for (PetscInt i = 0, rest = j; i < nf; rest /= f[i++].n) {
      const PetscReal t = Eigenvalue(&f[i], rest % f[i].n);

      value = kronecker ? value * t : value + t;
    }
    s[j] = -PetscSqrtReal(value);
  }
  PetscCall(PetscSortReal(n, s));
  for (PetscInt j = 0; j < n; j++) s[j] = -s[j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of the Kronecker product: an edge of each factor */
static PetscErrorCode InsertProduct(Mat A, PetscInt row, PetscInt nf, const Factor f[])
{
  PetscFunctionBeginUser;
  for (PetscInt which = 0; which < 1 << nf; which++) {
    PetscInt    col = 0, stride = 1;
    PetscScalar value = 1.0;

    for (PetscInt i = 0, rest = row; i < nf; rest /= f[i].edges, stride *= f[i++].n) {
      PetscInt ends[2];

      Ends(&f[i], rest % f[i].edges, &ends[0], &ends[1]);
      col += ends[(which >> i) & 1] * stride;
      if ((which >> i) & 1) value = -value;
    }
    PetscCall(MatSetValue(A, row, col, value, INSERT_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of the product graph's incidence matrix: an edge of one factor, a vertex of each of the others */
static PetscErrorCode InsertSum(Mat A, PetscInt row, PetscInt nf, const Factor f[], PetscInt n)
{
  PetscInt along = 0, edge, rest, a, b, ends[2] = {0, 0}, stride = 1, col = 0;

  PetscFunctionBeginUser;
  edge = row;
  while (edge >= n / f[along].n * f[along].edges) {
    edge -= n / f[along].n * f[along].edges;
    along++;
  }
  Ends(&f[along], edge % f[along].edges, &a, &b);
  rest = edge / f[along].edges;
  for (PetscInt i = 0; i < nf; stride *= f[i++].n) {
    if (i == along) {
      ends[0] = a * stride;
      ends[1] = b * stride;
    } else {
      col += rest % f[i].n * stride;
      rest /= f[i].n;
    }
  }
  PetscCall(MatSetValue(A, row, col + ends[0], 1.0, INSERT_VALUES));
  PetscCall(MatSetValue(A, row, col + ends[1], -1.0, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(PetscInt nf, const Factor f[], PetscBool kronecker, PetscInt m, PetscInt n, Mat *A)
{
  const PetscInt entries = kronecker ? 1 << nf : 2;
  PetscInt       first, last;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, entries, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, entries, NULL, entries, NULL));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    if (kronecker) PetscCall(InsertProduct(*A, row, nf, f));
    else PetscCall(InsertSum(*A, row, nf, f, n));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* I + S^3 + h S^7, where S shifts cyclically: its values |1 + w^3k + h w^7k|, with w = exp(2 pi i / n), are double but for one or two */
static PetscErrorCode CreateCirculant(PetscInt n, PetscReal s[], Mat *A)
{
  const PetscReal h = (PetscReal)0.1 + (PetscReal)0.05 * (n % 17);
  PetscInt        first, last;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < n; k++) {
    const PetscReal t = 2 * PETSC_PI * k / n;

    s[k] = -PetscSqrtReal(PetscSqr(1 + PetscCosReal(3 * t) + h * PetscCosReal(7 * t)) + PetscSqr(PetscSinReal(3 * t) + h * PetscSinReal(7 * t)));
  }
  PetscCall(PetscSortReal(n, s));
  for (PetscInt k = 0; k < n; k++) s[k] = -s[k];
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    PetscCall(MatSetValue(*A, i, i, 1.0, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, (i + 3) % n, 1.0, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, (i + 7) % n, h, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt solves, faults, missing, unconverged, proved, estimated;
} Counts;

/*
  The error in a solve, or NULL: a value that is no singular value, too few values, or another number of values above the bound than the solver says,
  in the spectrum or among those returned. *gap: that of the bound
*/
static PetscErrorCode Check(SVD svd, PetscInt nsv, const PetscReal s[], PetscInt n, Counts *counts, PetscReal *gap, const char **fault)
{
  PetscInt           nconv, ncertain, i = 0, above = 0;
  PetscReal          bound, sigma = 0.0;
  PetscBool          proved;
  SVDConvergedReason reason;

  PetscFunctionBeginUser;
  *fault = NULL;
  counts->solves++;
  PetscCall(SVDGetConverged(svd, &nconv));
  PetscCall(SVDGetConvergedReason(svd, &reason));
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, NULL, &proved));
  if (reason < 0) counts->unconverged++;
  else if (nconv < nsv) *fault = "fewer values than wanted";
  if (ncertain >= 0 && proved) counts->proved++;
  if (ncertain >= 0 && !proved) counts->estimated++;
  nconv = PetscMin(nconv, nsv);
  for (PetscInt j = 0; j < n && i < nconv && !*fault; j++) {
    PetscCall(SVDGetSingularTriplet(svd, i, &sigma, NULL, NULL));
    if (sigma > s[j] + 1e-8 * s[0]) *fault = "a value that is none";
    else if (sigma >= s[j] - 1e-8 * s[0]) i++;
    else {
      counts->missing++;
      if (ncertain >= 0 && s[j] > bound * (1 + 1e-12)) *fault = "a value is missing above the bound";
    }
  }
  if (i < nconv && !*fault) *fault = "a value that is none";
  while (above < n && s[above] > bound * (1 + 1e-12)) above++;
  if (ncertain >= 0 && above > ncertain) *fault = "there are more values above the bound";
  *gap = ncertain >= 0 && sigma > 0.0 ? bound / sigma - 1 : PETSC_INFINITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves for each number of values */
static PetscErrorCode Solve(Mat A, const char name[], const PetscReal s[], PetscInt n, PetscInt nnsv, const PetscInt nsvs[], PetscBool verbose, Counts *counts)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < nnsv; i++) {
    const char *fault = NULL;
    PetscInt    vectors;
    PetscReal   gap = 0.0;
    SVD         svd;

    PetscCall(SVDCheckCreateSolver(A, nsvs[i], &svd));
    PetscCall(SVDSolve(svd));
    PetscCall(Check(svd, PetscMin(nsvs[i], n), s, n, counts, &gap, &fault));
    PetscCall(SVDBlockLanczosGetCounts(svd, NULL, &vectors, NULL, NULL));
    if (fault) counts->faults++;
    if (fault || verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s of order %" PetscInt_FMT ", %" PetscInt_FMT " values: %s; %" PetscInt_FMT " columns, bound %.1e above\n", name, n, nsvs[i], fault ? fault : "right", vectors, (double)gap));
    PetscCall(SVDDestroy(&svd));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *graphs[MAXLIST];
  PetscInt  ngraphs = MAXLIST, nsvs[MAXLIST] = {4, 20}, nnsv = MAXLIST, orders[2] = {0, 0}, two = 2;
  PetscBool kronecker = PETSC_FALSE, verbose = PETSC_FALSE, flg;
  Counts    counts = {0};

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-graphs", graphs, &ngraphs, &flg));
  if (!flg) ngraphs = 0;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-circulants", orders, &two, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-nsv", nsvs, &nnsv, &flg));
  if (!flg) nnsv = 2;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-kronecker", &kronecker, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  for (PetscInt g = 0; g < ngraphs; g++) {
    Factor     f[MAXFACTORS];
    PetscInt   nf = 0, m = kronecker ? 1 : 0, n = 1;
    PetscReal *s;
    Mat        A;

    PetscCall(ReadFactors(graphs[g], f, &nf));
    for (PetscInt i = 0; i < nf; i++) n *= f[i].n;
    for (PetscInt i = 0; i < nf; i++) m = kronecker ? m * f[i].edges : m + n / f[i].n * f[i].edges;
    PetscCall(PetscMalloc1(n, &s));
    PetscCall(Spectrum(nf, f, kronecker, n, s));
    PetscCall(CreateMatrix(nf, f, kronecker, m, n, &A));
    PetscCall(Solve(A, graphs[g], s, n, nnsv, nsvs, verbose, &counts));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(s));
    PetscCall(PetscFree(graphs[g]));
  }
  for (PetscInt n = orders[0]; n < orders[1]; n++) {
    PetscReal *s;
    Mat        A;

    PetscCall(PetscMalloc1(n, &s));
    PetscCall(CreateCirculant(n, s, &A));
    PetscCall(Solve(A, "circulant", s, n, nnsv, nsvs, verbose, &counts));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(s));
  }
  if (verbose)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " solves: %" PetscInt_FMT " with a proof, %" PetscInt_FMT " with an estimate, %" PetscInt_FMT " did not converge; %" PetscInt_FMT " values missing as the bounds admit\n", counts.solves,
                          counts.proved, counts.estimated, counts.unconverged, counts.missing));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", counts.faults));
  PetscCall(SlepcFinalize());
  return counts.faults ? 1 : 0;
}

/*TEST

  build:
    depends: check.c
    requires: double

  testset:
    filter: grep faults
    output_file: output/products_1.out
    test:
      suffix: 1
      nsize: {{1 2}}
      args: -graphs p9xp9xp9,p20xp30,c12xc12,k5xk5xk4,c10xp12,k6xp15 -mat_type {{aij bccoo}}
    # more values converge than the projected problem has room for, and every value comes twice or more
    test:
      suffix: mpd
      nsize: {{1 3}}
      args: -circulants 50,58 -graphs c20xe3,c31xe2,c15xc8,k4xk5xk3 -nsv 10,26 -svd_mpd 6 -svd_tol {{1e-9 1e-12}} -svd_blocklanczos_form {{auto ata twosided}}
    test:
      suffix: kronecker
      args: -kronecker -graphs p12xp15,c9xp10,k5xp12,c7xc8 -mat_type csrccuda -device_enable none

TEST*/
