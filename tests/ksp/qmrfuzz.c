static char help[] = "KSPQMR on random systems: no false convergence, and the same steps at every scale.\n\
  -seed0 <1>   the first system\n\
  -count <1>   how many\n\
  -maxn <200>  the largest order\n\
  -summary     print how the solves ended, too\n\n";

#include <petscksp.h>

/* Some of these have no solution, and with some the Lanczos process must break down */
typedef enum {
  DOMINANT, /* diagonally dominant, scattered columns */
  LAPLACIAN,
  CONVECTION,   /* far from normal */
  NEUMANN,      /* singular, with a right-hand side in the range */
  INCONSISTENT, /* singular, with any right-hand side */
  SKEW,
  CYCLE, /* a permutation */
  ZERO,
  MULTIPLE, /* of the identity */
  INDEFINITE,
  NOTANUMBER,
  JORDAN, /* identity and a large nilpotent part */
  NKINDS
} Kind;

static const char *const kinds[] = {"dominant", "Laplacian", "convection", "Neumann", "inconsistent", "skew", "cycle", "zero", "multiple", "indefinite", "not a number", "Jordan"};

/* One system and how it is solved; everything follows from the seed */
typedef struct {
  PetscInt    seed, n;
  Kind        kind;
  int         rhs; /* from a solution that is 0: zero, 1: one, 2: random */
  PCType      pc;
  PCSide      side;
  KSPNormType norm;
  PetscBool   transposed, guess;
  PetscReal   ascale, bscale; /* powers of two for the second solve */
} System;

typedef struct {
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          residual, rhs; /* largest entries; if b is zero, rhs is that of the initial residual */
} Outcome;

/* 64 random bits that depend only on the arguments: the same on every process */
static uint64_t Random(PetscInt seed, PetscInt what, PetscInt place)
{
  uint64_t z = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)what * UINT64_C(0xd1b54a32d192ed03) + (uint64_t)place * UINT64_C(0x8cb92ba72f3d8dd7);

  for (int k = 0; k < 2; k++) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
  }
  return z;
}

static PetscInt RandomInt(PetscInt seed, PetscInt what, PetscInt place, PetscInt n)
{
  return (PetscInt)(Random(seed, what, place) % (uint64_t)n);
}

static PetscScalar RandomScalar(PetscInt seed, PetscInt what, PetscInt place)
{
  const PetscReal re = (PetscReal)(Random(seed, what, place) >> 11) / (PetscReal)4503599627370496.0 - 1;

#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(re, (PetscReal)(Random(seed, what, ~place) >> 11) / (PetscReal)4503599627370496.0 - 1);
#else
  return re;
#endif
}

/* A power of two with a random exponent between -range and range */
static PetscReal RandomScale(PetscInt seed, PetscInt what, PetscInt range)
{
  return PetscPowReal(2, (PetscReal)(RandomInt(seed, what, 0, 2 * range + 1) - range));
}

static void SystemChoose(PetscInt seed, PetscInt maxn, System *s)
{
  const PetscInt range = PetscDefined(USE_REAL_SINGLE) ? 30 : 450; /* squares of A and b are far out of range, the solution is not */
  PetscInt       what  = 0;

  s->seed       = seed;
  s->kind       = (Kind)RandomInt(seed, what++, 0, NKINDS);
  s->n          = RandomInt(seed, what++, 0, 15) ? 1 + RandomInt(seed, what, 0, maxn) : 1;
  s->rhs        = (int)RandomInt(seed, ++what, 0, 3);
  s->side       = RandomInt(seed, ++what, 0, 2) ? PC_RIGHT : PC_LEFT;
  s->norm       = s->side == PC_RIGHT || RandomInt(seed, ++what, 0, 2) ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_PRECONDITIONED;
  s->transposed = (PetscBool)(RandomInt(seed, ++what, 0, 4) == 0);
  s->guess      = (PetscBool)(RandomInt(seed, ++what, 0, 3) == 0);
  s->ascale     = RandomScale(seed, ++what, range);
  s->bscale     = RandomScale(seed, ++what, range) * s->ascale;
  switch (RandomInt(seed, ++what, 0, 3)) {
  case 0:
    s->pc = PCNONE;
    break;
  case 1:
    s->pc = PCJACOBI;
    break;
  default: /* block Jacobi: its ILU needs a diagonal, and treats small pivots as zero whatever the scale */
    /* with debugging, PETSc ends the program if a pivot of cuSPARSE's ILU(0) is zero, instead of reporting divergence */
    s->pc     = s->kind == SKEW || s->kind == CYCLE ? PCNONE : (PetscDefined(USE_DEBUG) && PetscDefined(HAVE_CUDA) ? PCJACOBI : PCBJACOBI);
    s->ascale = 1;
    s->bscale = RandomScale(seed, what, range);
  }
}

static PetscErrorCode SetIfInside(Mat A, PetscInt n, PetscInt row, PetscInt column, PetscScalar value)
{
  PetscFunctionBegin;
  if (column >= 0 && column < n) PetscCall(MatSetValue(A, row, column, value, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SystemMatrix(const System *s, Mat *A)
{
  const PetscInt n = s->n;
  PetscInt       first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    PetscScalar below = 0, diagonal = 0, above = 0;

    switch (s->kind) {
    case DOMINANT:
    case NOTANUMBER:
      for (PetscInt k = 0; k < 5; k++) PetscCall(SetIfInside(*A, n, i, RandomInt(s->seed, 100 + k, i, n), RandomScalar(s->seed, 200 + k, i)));
      diagonal = s->kind == NOTANUMBER && i == n / 2 ? (PetscScalar)NAN : 10;
      break;
    case LAPLACIAN:
      below = above = -1;
      diagonal      = 2;
      break;
    case CONVECTION:
      below    = -1.9;
      diagonal = 2;
      above    = -0.1;
      break;
    case NEUMANN:
    case INCONSISTENT:
      below = above = -1;
      diagonal      = (PetscReal)((i > 0) + (i < n - 1));
      break;
    case SKEW:
      below = -1;
      above = 1;
      break;
    case CYCLE:
      PetscCall(SetIfInside(*A, n, i, (i + 1) % n, 1));
      break;
    case MULTIPLE:
      diagonal = 3;
      break;
    case INDEFINITE:
      below    = 0.5;
      diagonal = i % 2 ? -3 : 3;
      above    = 1;
      break;
    case JORDAN:
      diagonal = 1;
      above    = 5;
      break;
    default:
      break;
    }
    if (s->kind == CYCLE) continue;
    if (below != (PetscScalar)0) PetscCall(SetIfInside(*A, n, i, i - 1, below));
    PetscCall(SetIfInside(*A, n, i, i, diagonal));
    if (above != (PetscScalar)0) PetscCall(SetIfInside(*A, n, i, i + 1, above));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x or A^T x */
static PetscErrorCode SystemMult(const System *s, Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (s->transposed) PetscCall(MatMultTranspose(A, x, y));
  else PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SystemRHS(const System *s, Mat A, Vec x, Vec b)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  for (PetscInt i = first; i < last; i++) PetscCall(VecSetValue(x, i, s->rhs == 2 ? RandomScalar(s->seed, 300, i) : (PetscScalar)(PetscReal)s->rhs, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  if (s->kind == INCONSISTENT) PetscCall(VecCopy(x, b));
  else PetscCall(SystemMult(s, A, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves the system; all numbers in the outcome are divided by the scale of b */
static PetscErrorCode SystemSolve(const System *s, Mat A, PetscReal ascale, Vec b, PetscReal bscale, Vec x, Outcome *out)
{
  KSP ksp;
  PC  pc;
  Mat As;
  Vec bs, r;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &As));
  PetscCall(MatScale(As, ascale));
  PetscCall(VecDuplicate(b, &bs));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(bs, 0.0));
  PetscCall(VecAXPY(bs, bscale, b));
  PetscCall(VecSet(x, s->guess ? bscale / ascale / 2 : 0));

  PetscCall(SystemMult(s, As, x, r));
  PetscCall(VecAYPX(r, -1.0, bs));
  PetscCall(VecNorm(s->rhs == 0 && s->guess ? r : bs, NORM_INFINITY, &out->rhs));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, As, As));
  PetscCall(KSPSetType(ksp, "qmr"));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, s->pc));
  PetscCall(KSPSetPCSide(ksp, s->side));
  PetscCall(KSPSetNormType(ksp, s->norm));
  PetscCall(KSPSetInitialGuessNonzero(ksp, s->guess));
  PetscCall(KSPConvergedDefaultSetUIRNorm(ksp)); /* otherwise PETSc uses |b|, whose square may overflow */
  PetscCall(KSPSetTolerances(ksp, 1e4 * PETSC_SQRT_MACHINE_EPSILON * PETSC_SQRT_MACHINE_EPSILON, 0, 1e8, 1000));
  if (s->transposed) PetscCall(KSPSolveTranspose(ksp, bs, x));
  else PetscCall(KSPSolve(ksp, bs, x));
  PetscCall(KSPGetConvergedReason(ksp, &out->reason));
  PetscCall(KSPGetIterationNumber(ksp, &out->its));
  PetscCall(KSPDestroy(&ksp));

  PetscCall(SystemMult(s, As, x, r));
  PetscCall(VecAYPX(r, -1.0, bs));
  PetscCall(VecNorm(r, NORM_INFINITY, &out->residual));
  PetscCall(VecScale(x, ascale / bscale));
  out->residual /= bscale;
  out->rhs /= bscale;
  PetscCall(VecDestroy(&bs));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&As));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  seed0 = 1, count = 1, maxn = 200, bad = 0, converged = 0, broken = 0, other = 0;
  PetscBool summary = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed0", &seed0, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-maxn", &maxn, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-summary", &summary, NULL));
  for (PetscInt seed = seed0; seed < seed0 + count; seed++) {
    System      s;
    Outcome     one, two;
    Mat         A;
    Vec         x, b, scaled;
    PetscReal   anorm, xnorm, allowed;
    PetscBool   preconditioned;
    const char *what = NULL;

    SystemChoose(seed, maxn, &s);
    PetscCall(SystemMatrix(&s, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &scaled));
    PetscCall(SystemRHS(&s, A, x, b));
    PetscCall(SystemSolve(&s, A, 1, b, 1, x, &one));
    PetscCall(SystemSolve(&s, A, s.ascale, b, s.bscale, scaled, &two));
    if (one.reason > 0) converged++;
    else if (one.reason == KSP_DIVERGED_BREAKDOWN) broken++;
    else other++;

    /* The solver tests the residual that it updates; it is compared with the true one only if it is not preconditioned */
    PetscCall(MatNorm(A, NORM_INFINITY, &anorm));
    PetscCall(VecNorm(x, NORM_INFINITY, &xnorm));
    allowed = 100 * PETSC_SQRT_MACHINE_EPSILON * one.rhs + 1e6 * PETSC_MACHINE_EPSILON * anorm * xnorm;
    PetscCall(PetscStrcmp(s.pc, PCNONE, &preconditioned));
    preconditioned = (PetscBool)(!preconditioned && s.norm == KSP_NORM_PRECONDITIONED);
    if (preconditioned || (s.kind == JORDAN && s.n > 10)) allowed = PETSC_MAX_REAL; /* the condition is 5^n */
    /* after many steps, without a solution, or if single precision overflows, it depends on rounding whether the process breaks down */
    if (one.reason > 0 && !(one.residual <= allowed)) what = "false convergence";
    else if (one.reason != two.reason && s.kind != INCONSISTENT && !(PetscDefined(USE_REAL_SINGLE) && s.kind == JORDAN && s.n > 10) && PetscMin(one.its, two.its) < 50) what = "another end when scaled";
    else if (two.reason > 0 && !(two.residual <= allowed)) what = "false convergence when scaled";
    else if (s.kind == NOTANUMBER && one.reason > 0) what = "converged with not a number in the matrix";
    if (what) {
      bad++;
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %" PetscInt_FMT ": %s: %s, order %" PetscInt_FMT ", pc %s, %s, %s%s%s, scales %g %g: %s after %" PetscInt_FMT ", residual %g of %g; scaled %s after %" PetscInt_FMT ", %g\n", seed, what,
                            kinds[s.kind], s.n, s.pc, PCSides[s.side], KSPNormTypes[s.norm], s.transposed ? ", transposed" : "", s.guess ? ", with a guess" : "", (double)s.ascale, (double)s.bscale, KSPConvergedReasons[one.reason], one.its,
                            (double)one.residual, (double)one.rhs, KSPConvergedReasons[two.reason], two.its, (double)two.residual));
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&scaled));
    PetscCall(MatDestroy(&A));
  }
  if (summary) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " systems: %" PetscInt_FMT " converged, %" PetscInt_FMT " broke down, %" PetscInt_FMT " ended otherwise\n", count, converged, broken, other));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/qmr_1.out
    # the factor that PETSc's ILU(0) makes of a matrix takes over the names of the functions composed with it
    filter: grep -E "faults|seed|bytes"
    test:
      suffix: 1
      nsize: {{1 3}}
      args: -mat_type {{aij bccoo}} -count 200
    # the default path, with systems that are large enough for their nonzeros to be stored during a solve
    test:
      suffix: default
      args: -mat_type bccoo -count 150 -maxn 1200 -mat_form_store_at_once false
    test:
      suffix: default_parallel
      nsize: 2
      args: -mat_type bccoo -count 30 -maxn 3000 -mat_form_store_at_once false
    # a solve has up to 1000 steps, in each of which the host waits for the device several times; processes that share a device also wait for each other
    # there, at each step for some time slices: few systems
    test:
      suffix: gpu
      args: -mat_type csrccuda -count 40 -mat_form_store_at_once {{true false}}
    test:
      suffix: gpu_parallel
      nsize: 2
      args: -mat_type csrccuda -count 8

TEST*/
