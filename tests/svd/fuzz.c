static const char help[] = "Random matrices and random settings: every value is right, or the certificate admits that it is missing.\n\
  -seed0 s      the first seed; a seed is one solve and gives the same one every time\n\
  -count n      how many seeds\n\
  -maxn n       the largest size\n\
  -kind k       one kind of matrix only\n\
  -tol t        the tolerance of all solves\n\
  -smallest     the smallest values\n\
  -verbose      each solve as it begins\n\
The last line counts solves, and those whose certificate falls short of what was asked for.\n";

#include <slepcsvd.h>
#include <slepccsrc.h>
#include "sys/petscolder.h"

/* ------- random numbers ------- */

static uint64_t  state;
static PetscBool verbose = PETSC_FALSE, smallest = PETSC_FALSE;

static double Uniform(void) /* from 0 to 1 */
{
  uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static PetscInt Below(PetscInt n)
{
  return (PetscInt)(Uniform() * n);
}

static PetscBool OneIn(PetscInt n)
{
  return (PetscBool)!Below(n);
}

static double Signed(void)
{
  return 2 * Uniform() - 1;
}

static double OneOf(PetscInt n, const double list[])
{
  return list[Below(n)];
}

/* ------- matrices: dense arrays by rows, with their singular values where these are prescribed ------- */

typedef struct {
  PetscInt  m, n, kind;
  double   *a, *s;  /* s: min(m, n) values in decreasing order; for the smallest, negative, so that those wanted are first */
  double    scale;  /* factor by which the matrix is multiplied at the end */
  double    sigma1; /* the largest value */
  PetscBool known;  /* s is known */
} Problem;

static const char *const kinds[] = {"random",     "rows of zeros", "hilbert",   "extreme scale", "few entries",   "identity",   "hypercube",         "ones",          "low rank",  "clusters", "graded",
                                    "wide range", "multiples",     "geometric", "gap",           "many clusters", "two values", "close to the last", "dense cluster", "staircase", "grid",     "Kronecker"};
#define PRESCRIBED 9 /* kinds from this one on have prescribed spectra */
#define NKINDS     (PetscInt) PETSC_STATIC_ARRAY_LENGTH(kinds)

static int Descending(const void *x, const void *y)
{
  const double a = *(const double *)x, b = *(const double *)y;

  return a < b ? 1 : a > b ? -1 : 0;
}

/* Applies plane rotations from both sides, which keep the singular values */
static void Rotate(Problem *p, PetscInt times)
{
  for (PetscInt t = 0; t < times; t++) {
    const PetscInt i = Below(p->m), j = Below(p->m), k = Below(p->n), l = Below(p->n);
    const double   x = 3 * Signed(), y = 3 * Signed();

    for (PetscInt q = 0; q < p->n && i != j; q++) {
      const double u = p->a[i * p->n + q], v = p->a[j * p->n + q];

      p->a[i * p->n + q] = cos(x) * u + sin(x) * v;
      p->a[j * p->n + q] = cos(x) * v - sin(x) * u;
    }
    for (PetscInt q = 0; q < p->m && k != l; q++) {
      const double u = p->a[q * p->n + k], v = p->a[q * p->n + l];

      p->a[q * p->n + k] = cos(y) * u + sin(y) * v;
      p->a[q * p->n + l] = cos(y) * v - sin(y) * u;
    }
  }
}

/* The prescribed spectra */
static void Prescribe(Problem *p)
{
  static const double small[] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6}, tiny[] = {1e-3, 1e-6, 1e-9, 1e-12, 1e-15};
  const PetscInt      q = PetscMin(p->m, p->n), c = 1 + Below(40), l = 1 + Below(6);
  const double        e = 1 + Below(16), r = 0.5 + 0.49 * Uniform(), t = OneOf(5, tiny), d = OneOf(5, small), low = OneIn(2) ? Uniform() : 1 - d - 100 * d * Uniform();

  for (PetscInt i = 0; i < q; i++) {
    double s = 0;

    switch (p->kind) {
    case 9:
      s = 1 + t * (double)(i % c);
      break;
    case 10:
      s = pow(10, -e * i / q);
      break;
    case 11:
      s = pow(10, 280 * Signed());
      break;
    case 12:
      s = i < l * c ? 1 + i / c : 0.5 * Uniform();
      break;
    case 13:
      s = pow(r, (double)i);
      break;
    case 14:
      s = i < 5 ? 1e6 : 1 + 1e-4 * Signed();
      break;
    case 15:
      s = 1 + i / 7 + 1e-8 * Signed();
      break;
    case 16:
      s = i < c ? 1 : 1e-3;
      break;
    case 17:
      s = 1 - (double)i / q + (i % 2 ? 1e-9 * Signed() : 0);
      break;
    case 18:
      s = i < PetscMin(c, 16) ? 1 : PetscMax(low, 0) + (1 - d - PetscMax(low, 0)) * (q - i) / q;
      break; /* copies at a distance d above a dense spectrum */
    case 19:
      s = 1 - d * PetscFloorReal(PetscSqrtReal(2.0 * i + 0.25) - 0.5);
      break;   /* the first value once, the next twice, and so on */
    default: { /* sums or products of two or three short lists, as in spectra of product graphs */
      const PetscInt n1 = 2 + (PetscInt)(PetscSqrtReal((PetscReal)q) * r), n2 = PetscMax(1, q / n1);
      const double   x = 2 - 2 * cos(PETSC_PI * (i % n1) / n1), y = 2 - 2 * cos(PETSC_PI * (i / n1 % n2) / n2);

      s = i / n1 >= n2 ? 0 : p->kind == 20 ? sqrt(x + y) : (1 + i % n1) * (1 + i / n1 % n2);
    }
    }
    p->s[i] = p->a[i * p->n + i] = fabs(s);
  }
  qsort(p->s, q, sizeof(double), Descending);
  if (p->kind != 11 && OneIn(2)) Rotate(p, q);
}

static void Fill(Problem *p)
{
  static const double scales[] = {1e150, 1e-150, 1e160, 1e-160, 1e200, 1e-200, 1e300, 1e-300, 1e-310, 1e100, 1e-100, 1e-311};
  const PetscInt      m = p->m, n = p->n, q = PetscMin(m, n);

  p->scale = 1;
  switch (p->kind) {
  case 0:
    for (PetscInt k = 1 + Below(10 * (m + n)); k > 0; k--) p->a[Below(m) * n + Below(n)] = Signed();
    break;
  case 1:
    for (PetscInt i = 0; i < m; i += 3)
      for (PetscInt j = 0; j < n; j += 5) p->a[i * n + j] = OneIn(3) ? Signed() : 0;
    break;
  case 2:
    for (PetscInt i = 0; i < m; i++)
      for (PetscInt j = 0; j < n; j++) p->a[i * n + j] = 1.0 / (i + j + 1);
    break;
  case 3:
    p->scale = OneOf(PETSC_STATIC_ARRAY_LENGTH(scales), scales);
    for (PetscInt k = 5 * (m + n); k > 0; k--) p->a[Below(m) * n + Below(n)] = Signed();
    break;
  case 4:
    for (PetscInt k = Below(3); k > 0; k--) p->a[Below(m) * n + Below(n)] = Signed();
    break;
  case 5:
    for (PetscInt i = 0; i < q; i++) p->a[i * n + i] = OneIn(2) ? 1 : -1;
    break;
  case 6:
    for (PetscInt i = 0; i < m; i++)
      for (PetscInt b = 1; b < m; b <<= 1) p->a[i * n + (i ^ b)] = 1;
    break;
  case 7:
    for (PetscInt k = 0; k < m * n; k++) p->a[k] = 1;
    break;
  case 8:
    for (PetscInt r = Below(PetscMin(q, 20) + 1); r > 0; r--) {
      const uint64_t left = state += 1000003, right = state += 1000003;

      for (PetscInt i = 0; i < m; i++) {
        state = left + (uint64_t)i * 977;

        const double u = Signed();

        state = right;
        for (PetscInt j = 0; j < n; j++) p->a[i * n + j] += u * Signed();
      }
    }
    break;
  default:
    Prescribe(p);
  }
}

static PetscErrorCode CreateProblem(PetscInt maxn, PetscInt kind, Problem *p)
{
  PetscFunctionBeginUser;
  p->kind = kind < 0 ? Below(NKINDS) : kind;
  p->m    = OneIn(8) ? 1 + Below(12) : 1 + Below(maxn);
  p->n    = OneIn(3) ? p->m : OneIn(8) ? 1 + Below(12) : 1 + Below(maxn);
  if (p->kind == 6) p->m = p->n = (PetscInt)1 << (1 + Below(8));
  if (p->kind == 18 && OneIn(2)) p->m = p->n = PetscMax(maxn, 50); /* dense spectra need room */
  PetscCall(PetscCalloc2(p->m * p->n, &p->a, PetscMin(p->m, p->n), &p->s));
  Fill(p);
  p->known = (PetscBool)(p->kind >= PRESCRIBED);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Singular values by LAPACK, if they are not prescribed; at scale one, since LAPACK is inaccurate at extreme scales */
static PetscErrorCode Reference(Problem *p)
{
  Mat          D;
  SVD          svd;
  PetscScalar *d;
  PetscInt     n;

  PetscFunctionBeginUser;
  if (!p->known) {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, p->m, p->n, NULL, &D));
    PetscCall(MatDenseGetArrayWrite(D, &d));
    for (PetscInt j = 0; j < p->n; j++)
      for (PetscInt i = 0; i < p->m; i++) d[i + j * p->m] = p->a[i * p->n + j];
    PetscCall(MatDenseRestoreArrayWrite(D, &d));
    PetscCall(SVDCreate(PETSC_COMM_SELF, &svd));
    PetscCall(SVDSetOptionsPrefix(svd, "reference_"));
    PetscCall(SVDSetOperators(svd, D, NULL));
    PetscCall(SVDSetType(svd, SVDLAPACK));
    PetscCall(SVDSetDimensions(svd, PetscMin(p->m, p->n), PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(SVDSolve(svd));
    PetscCall(SVDGetConverged(svd, &n));
    for (PetscInt i = 0; i < PetscMin(n, PetscMin(p->m, p->n)); i++) {
      PetscReal s;

      PetscCall(SVDGetSingularTriplet(svd, i, &s, NULL, NULL));
      p->s[i] = s;
    }
    PetscCall(SVDDestroy(&svd));
    PetscCall(MatDestroy(&D));
  }
  for (PetscInt i = 0; i < PetscMin(p->m, p->n); i++) p->s[i] *= p->scale;
  p->sigma1 = p->s[0];
  if (smallest) {
    for (PetscInt i = 0; i < PetscMin(p->m, p->n); i++) p->s[i] *= -1;
    qsort(p->s, PetscMin(p->m, p->n), sizeof(double), Descending);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(const Problem *p, Mat *A)
{
  static const char *const types[] = {MATAIJ, MATBCCOO, MATCSRCCUDA};
  PetscInt                 first, last, type;
  PetscMPIInt              size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, p->m, p->n));
  type = Below(3);
  if (PETSCCSRC_AIJ_NEEDS_ROWS && PetscMin(p->m, p->n) < size) type = PetscMax(type, 1);
  PetscCall(MatSetType(*A, types[type]));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = 0; j < p->n; j++) {
      if (p->a[i * p->n + j] != 0) PetscCall(MatSetValue(*A, i, j, p->a[i * p->n + j] * p->scale, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------- settings ------- */

typedef struct {
  PetscInt  nsv, maxit;
  PetscReal tol, threshold, gap; /* threshold 0: none */
  PetscBool guard;
  SVDConv   conv;
  char      text[512];
  size_t    length;
} Settings;

PETSC_ATTRIBUTE_FORMAT(2, 3) static void Say(Settings *s, const char format[], ...)
{
  va_list args;

  va_start(args, format);
  if (s->length < sizeof(s->text)) s->length += (size_t)vsnprintf(s->text + s->length, sizeof(s->text) - s->length, format, args);
  va_end(args);
}

static PetscErrorCode InitialSpace(SVD svd, Mat A, PetscInt n, Settings *s)
{
  const PetscInt what = Below(5), count = 1 + Below(PetscMin(what < 4 ? 3 : PetscMin(PetscMax(s->nsv, 1), 20), n));
  SVD            other = NULL;
  Vec            v[20];

  PetscFunctionBeginUser;
  if (what == 4) { /* vectors of another solve, of which every fourth is missing, with errors of 10^-3 */
    PetscInt nconv;

    PetscCall(SVDCreate(PETSC_COMM_WORLD, &other));
    PetscCall(SVDSetOperators(other, A, NULL));
    PetscCall(SVDSetType(other, SVDBLOCKLANCZOS));
    PetscCall(SVDSetDimensions(other, count, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(SVDSolve(other));
    PetscCall(SVDGetConverged(other, &nconv));
    for (PetscInt i = 0; i < count; i++) {
      PetscCall(MatCreateVecs(A, &v[i], NULL));
      if (i < nconv && i % 4 != 2) PetscCall(SVDGetSingularTriplet(other, i, NULL, NULL, v[i]));
    }
    PetscCall(SVDDestroy(&other));
  }
  for (PetscInt i = 0; i < count; i++) {
    PetscInt first, last;

    if (what < 4) PetscCall(MatCreateVecs(A, &v[i], NULL));
    PetscCall(VecGetOwnershipRange(v[i], &first, &last));
    for (PetscInt j = 0; j < n; j++) {
      const double x = what == 0 ? 1 : what == 1 ? 0 : what == 2 ? Signed() : what == 4 ? 1e-3 * Signed() / n : j == 0;

      if (j >= first && j < last) PetscCall(VecSetValue(v[i], j, x, what == 4 ? ADD_VALUES : INSERT_VALUES));
    }
    PetscCall(VecAssemblyBegin(v[i]));
    PetscCall(VecAssemblyEnd(v[i]));
  }
  PetscCall(SVDSetInitialSpaces(svd, count, v, 0, NULL));
  for (PetscInt i = 0; i < count; i++) PetscCall(VecDestroy(&v[i]));
  Say(s, ", %" PetscInt_FMT " initial vectors of kind %" PetscInt_FMT, count, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChooseSettings(SVD svd, Mat A, const Problem *p, Settings *s)
{
  static const double tols[] = {1e-8, 1e-8, 1e-8, 1e-4, 1e-6, 1e-10, 1e-12, 1e-13};
  const PetscInt      q      = PetscMin(p->m, p->n);
  PetscInt            ncv = PETSC_DETERMINE, mpd = PETSC_DETERMINE, most;
  MatType             type;

  PetscFunctionBeginUser;
  PetscCall(MatGetType(A, &type));
  s->length = 0;
  s->guard  = PETSC_TRUE;
  s->gap    = 1e-3;
  most      = OneIn(2) ? 12 : 60;
  s->nsv    = OneIn(4) ? q : 1 + Below(PetscMin(q, most));
  if (OneIn(6)) {
    const PetscBool relative = (PetscBool)(OneIn(2) && !smallest);
    PetscReal       value    = PetscAbsReal(p->s[Below(q)]) * (1 + 1e-3 * Signed()), given;

    if (!(value > 0.0) || (relative && value >= p->sigma1)) value = p->sigma1 > 0.0 ? p->sigma1 / 2 : 1.0;
    given = relative && p->sigma1 > 0.0 ? value / p->sigma1 : value;
    if (SVD_HAS_THRESHOLDS && given > 0.0 && given < (relative ? 1.0 : PETSC_MAX_REAL)) {
      s->threshold = value;
      if (OneIn(2)) s->nsv = PETSC_CURRENT;
      PetscCall(SVDSetThreshold(svd, given, relative));
      Say(s, "threshold %g%s, ", (double)given, relative ? " of the largest" : "");
    }
  }
  if (OneIn(3) && s->nsv > 0) ncv = s->nsv + Below(q - s->nsv + 1);
  if (OneIn(5)) mpd = 1 + Below(30);
  PetscCall(SVDSetDimensions(svd, s->nsv, ncv, mpd));
  Say(s, "%s, nsv %" PetscInt_FMT " ncv %" PetscInt_FMT " mpd %" PetscInt_FMT, type, s->nsv, ncv, mpd);
  if (OneIn(2)) {
    const PetscInt bs = 1 + Below(OneIn(2) ? 4 : 32);

    PetscCall(SVDBlockLanczosSetBlockSize(svd, bs));
    Say(s, " block %" PetscInt_FMT, bs);
  }
  if (OneIn(3)) {
    const SVDBlockLanczosForm form = (SVDBlockLanczosForm)Below(smallest ? 4 : 3);

    PetscCall(SVDBlockLanczosSetForm(svd, form));
    Say(s, " form %s", SVDBlockLanczosForms[form]);
  }
  if (OneIn(20)) {
    s->guard = PETSC_FALSE;
    PetscCall(SVDBlockLanczosSetCertify(svd, 0));
    Say(s, " no guard");
  } else if (OneIn(3)) {
    const PetscReal gap = PetscPowReal(10, -1 - 4 * Uniform());

    PetscCall(SVDBlockLanczosSetCertify(svd, gap));
    s->gap = gap;
    Say(s, " gap %.2g", (double)gap);
  }
  s->tol = OneOf(PETSC_STATIC_ARRAY_LENGTH(tols), tols);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tol", &s->tol, NULL));
  s->maxit = OneIn(10) ? 1 + Below(4) : PETSC_DETERMINE;
  PetscCall(SVDSetTolerances(svd, s->tol, s->maxit));
  s->conv = OneIn(8) ? SVD_CONV_ABS : OneIn(8) ? SVD_CONV_NORM : SVD_CONV_REL;
  PetscCall(SVDSetConvergenceTest(svd, s->conv));
  Say(s, " tol %g maxit %" PetscInt_FMT " %s", (double)s->tol, s->maxit, s->conv == SVD_CONV_ABS ? "absolute" : s->conv == SVD_CONV_NORM ? "norm" : "relative");
  if (OneIn(6)) PetscCall(InitialSpace(svd, A, p->n, s));
  if (OneIn(10)) {
    PetscCall(SVDSetImplicitTranspose(svd, PETSC_FALSE));
    Say(s, ", explicit transpose");
  }
  PetscCall(SVDSetFromOptions(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------- check ------- */

typedef struct {
  PetscInt converged, unconverged, faults, short_, missed, proved;
} Counts;

/*
  Compares computed and true values, both in decreasing order. Each computed value must match a different true value. A true value without
  a match that is larger than the last computed one was missed, and the certificate must allow this.
*/
static const char *Judge(const Problem *p, const PetscReal found[], PetscInt n, PetscReal relative, PetscReal absolute, PetscReal bound, PetscBool certified, Counts *counts)
{
  const PetscInt q = PetscMin(p->m, p->n);
  PetscInt       i = 0;

  if (n > q) return "more values than there are";
  for (PetscInt j = 0; j < q && i < n; j++) {
    const PetscReal allowed = absolute + relative * PetscAbsReal(p->s[j]);

    if (found[i] > p->s[j] + allowed) return "a value that is none";
    if (found[i] >= p->s[j] - allowed) i++;
    else {
      counts->missed++;
      if (certified && p->s[j] > bound + allowed) return "a value was missed above the bound certified";
    }
  }
  return i < n ? "a value that is none" : NULL;
}

/* Whether there are not exactly n values above the bound. Rounding may move values, the tolerance of the solve has nothing to do with it. */
static PetscBool IsFalse(const Problem *p, PetscInt n, PetscReal bound)
{
  if (n > 0 && p->s[n - 1] < bound - 1e-13 * p->sigma1) return PETSC_TRUE;
  return n >= 0 && n < PetscMin(p->m, p->n) && p->s[n] > bound + 1e-13 * p->sigma1 ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode CheckSolve(SVD svd, const Problem *p, const Settings *s, Counts *counts, const char **fault)
{
  PetscInt           nconv, ncertain;
  PetscReal          bound, sigma1 = p->sigma1, relative = 0, allowed, *found;
  SVDConvergedReason reason;
  PetscBool          complete, proved;

  PetscFunctionBeginUser;
  PetscCall(SVDGetConverged(svd, &nconv));
  PetscCall(SVDGetConvergedReason(svd, &reason));
  PetscCall(SVDBlockLanczosGetCertificate(svd, &ncertain, &bound, NULL, &proved));
  complete = (PetscBool)(reason > 0);
  if (complete) counts->converged++;
  else counts->unconverged++;
  if (complete && !s->threshold && nconv < s->nsv) *fault = "converged, with fewer values than wanted";
  PetscCall(PetscMalloc1(nconv, &found));
  allowed = s->conv == SVD_CONV_ABS ? 10 * s->tol + 1e-13 * sigma1 : 10 * s->tol * sigma1 * (s->conv == SVD_CONV_NORM ? PetscSqrtReal((PetscReal)PetscMin(p->m, p->n)) : 1) + 1e-13 * sigma1;
  if (smallest && s->conv == SVD_CONV_REL) {
    relative = 10 * s->tol;
    allowed  = 1e-13 * sigma1;
  }
  if (smallest) bound = -bound;
  for (PetscInt i = 0; i < nconv; i++) {
    PetscReal error;

    PetscCall(SVDGetSingularTriplet(svd, i, &found[i], NULL, NULL));
    if (smallest) found[i] = -found[i];
    if (i && found[i] > found[i - 1] + 1e-14 * PetscAbsReal(found[i - 1])) *fault = "values are not in order";
    if (!complete || sigma1 > 1e140 || sigma1 < 1e-140) continue;
    PetscCall(SVDComputeError(svd, i, SVD_ERROR_ABSOLUTE, &error));
    if (!(error <= allowed + relative * PetscAbsReal(found[i]) + 1e-13 * sigma1)) *fault = "a residual is too large";
  }
  if (!*fault && complete) *fault = Judge(p, found, s->threshold ? nconv : PetscMin(nconv, s->nsv), relative, allowed, bound, (PetscBool)(s->guard || ncertain >= 0), counts);
  if (!*fault && IsFalse(p, ncertain, bound)) *fault = proved ? "a certificate is false" : "an estimate is false";
  if (!*fault && ncertain > nconv) *fault = "values are counted that are not returned";
  if (ncertain >= 0 && proved) counts->proved++;
  if (!*fault && complete && s->threshold && (s->nsv == PETSC_CURRENT || nconv < s->nsv)) {
    for (PetscInt i = nconv; i < PetscMin(p->m, p->n); i++) {
      if (p->s[i] > (smallest ? -s->threshold : PetscMax(bound, s->threshold)) + allowed + relative * PetscAbsReal(p->s[i])) *fault = "a value above the threshold is missing";
    }
  }
  if (smallest) {
    PetscInt  zeros, low = 0, high = 0;
    PetscReal tau;
    PetscBool exact;

    PetscCall(SVDBlockLanczosGetZeros(svd, &zeros, &tau, &exact));
    for (PetscInt i = 0; i < PetscMin(p->m, p->n); i++) {
      low += -p->s[i] < tau / 5;
      high += -p->s[i] <= tau + 1e-13 * sigma1;
    }
    if (!*fault && (zeros > high || (exact && zeros < low))) *fault = "the number of zeros is false";
  }
  if (complete && s->guard && nconv && sigma1 > 0 && !smallest && !(ncertain >= 0 && bound <= PetscMax(found[nconv - 1], s->threshold) * (1 + 2 * s->gap) + PetscMax(s->tol, 2e-5) * sigma1)) {
    counts->short_++;
    if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "certified to %g only, %g above %g\n", (double)bound, (double)(bound / found[nconv - 1] - 1), (double)found[nconv - 1]));
  }
  PetscCall(PetscFree(found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  seed0 = 1, count = 100, maxn = 300, kind = -1;
  PetscBool cholesky = PETSC_FALSE;
  Counts    counts   = {0};

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed0", &seed0, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-maxn", &maxn, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-kind", &kind, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-smallest", &smallest, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cholesky", &cholesky, NULL));
  PetscCheck(!cholesky || !setenv("PETSCCSRC_TEST", "cache=0,qr_flops=0", 1), PETSC_COMM_SELF, PETSC_ERR_SYS, "setenv() failed");
  for (PetscInt seed = seed0; seed < seed0 + count; seed++) {
    Problem        p     = {0};
    Settings       s     = {0};
    const char    *fault = NULL;
    PetscErrorCode ierr;
    Mat            A;
    SVD            svd;

    state = (uint64_t)seed * UINT64_C(0xd1342543de82ef95);
    PetscCall(CreateProblem(maxn, kind, &p));
    PetscCall(Reference(&p));
    PetscCall(CreateMatrix(&p, &A));
    PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
    PetscCall(SVDSetOperators(svd, A, NULL));
    PetscCall(SVDSetType(svd, SVDBLOCKLANCZOS));
    if (smallest) PetscCall(SVDSetWhichSingularTriplets(svd, SVD_SMALLEST));
    PetscCall(ChooseSettings(svd, A, &p, &s));
    if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %" PetscInt_FMT ": %s, %" PetscInt_FMT " x %" PetscInt_FMT ", scale %g: %s\n", seed, kinds[p.kind], p.m, p.n, p.scale, s.text));
    if (!verbose) PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = SVDSolve(svd);
    if (!verbose) PetscCall(PetscPopErrorHandler());
    if (ierr) fault = "an error";
    else PetscCall(CheckSolve(svd, &p, &s, &counts, &fault));
    if (fault) {
      counts.faults++;
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "FAULT %s (%d), seed %" PetscInt_FMT ": %s, %" PetscInt_FMT " x %" PetscInt_FMT ", scale %g: %s\n", fault, (int)ierr, seed, kinds[p.kind], p.m, p.n, p.scale, s.text));
    }
    PetscCall(SVDDestroy(&svd));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree2(p.a, p.s));
    if (ierr) break; /* objects that an error leaves behind are not freed */
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seeds %" PetscInt_FMT " to %" PetscInt_FMT ": %" PetscInt_FMT " faults\n", seed0, seed0 + count - 1, counts.faults));
  if (verbose || counts.faults)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " converged, %" PetscInt_FMT " did not; %" PetscInt_FMT " end with a proof, %" PetscInt_FMT " with less than was asked for, %" PetscInt_FMT " values missed as certificates admit\n",
                          counts.converged, counts.unconverged, counts.proved, counts.short_, counts.missed));
  PetscCall(SlepcFinalize());
  return counts.faults ? 1 : 0;
}

/*TEST

  build:
    requires: double !complex

  testset:
    filter: grep -o "[0-9]* faults"
    output_file: output/fuzz_1.out
    test:
      suffix: 1
      args: -count 75 -maxn 150 -seed0 {{1 101 201 301}}
    test:
      suffix: loose
      args: -count 60 -maxn 100 -seed0 501 -tol {{1e-2 1e-6}}
    test:
      suffix: overflow
      args: -count 1 -seed0 20009966
    test:
      suffix: exhausted
      args: -count 1 -seed0 22000736
    test:
      suffix: smallest
      args: -smallest -count 75 -maxn 150 -seed0 {{1 101 201 301}}
    test:
      suffix: smallest_inverse
      args: -smallest -count 75 -maxn 100 -svd_blocklanczos_form {{inverse ata}} -seed0 {{1001 1101}} -cholesky {{0 1}}
    test:
      suffix: smallest_cholesky
      args: -smallest -count 1 -maxn 150 -svd_blocklanczos_form inverse -seed0 {{20135 20304 20682 20818 21315}} -cholesky
    test:
      suffix: smallest_null
      args: -smallest -count 1 -maxn 150 -svd_blocklanczos_form inverse -seed0 50183
    test:
      suffix: smallest_filter
      args: -smallest -count 20 -maxn 50 -svd_blocklanczos_form filter -svd_max_it 10
    test:
      suffix: smallest_parallel
      nsize: {{2 3 4}}
      args: -smallest -count 20 -maxn 80 -seed0 1001
    test:
      suffix: parallel
      nsize: {{2 3 4}}
      args: -count 20 -maxn 80 -seed0 1001

TEST*/
