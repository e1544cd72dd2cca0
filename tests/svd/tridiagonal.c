static const char help[] = "Divide and conquer by itself: residuals, orthogonality and order of the eigenpairs of tridiagonal matrices of all kinds.\n";

/* no function of the library: the file itself */
#include "../../src/svd/impls/blocklanczos/tridiagonal.c"

#define MAX_ORDER 200

typedef struct {
  const char *name;
  PetscReal (*d)(PetscInt, PetscInt, PetscRandom), (*e)(PetscInt, PetscInt, PetscRandom); /* entry i of order n */
} Shape;

static PetscReal Uniform(PetscInt i, PetscInt n, PetscRandom r)
{
  PetscReal x = 0.0;

  PetscCallAbort(PETSC_COMM_SELF, PetscRandomGetValueReal(r, &x));
  return x;
}

static PetscReal Power(PetscReal x)
{
  return PetscPowReal((PetscReal)10, x);
}

/* clang-format off */
#define ENTRY(name, value) static PetscReal name(PetscInt i, PetscInt n, PetscRandom r) { return value; }
ENTRY(Zero, 0)
ENTRY(One, 1)
ENTRY(Two, 2)
ENTRY(Minus, -1)
ENTRY(Index, i)
ENTRY(Alternate, i % 2)
ENTRY(Wilkinson, PetscAbsReal((PetscReal)(i - n / 2)))
ENTRY(Pieces, PetscAbsReal((PetscReal)(i % 21 - 10)))
ENTRY(Glue, i % 21 == 20 ? 1e-9 : 1)
ENTRY(Trace, i % 21 == 20 ? 1e-15 : 1)
ENTRY(Tiny, 1e-8 * Uniform(i, n, r))
ENTRY(Tinier, 1e-12 * Uniform(i, n, r))
ENTRY(Huge, 1e150 * (Uniform(i, n, r) - 0.5))
ENTRY(Minute, 1e-150 * (Uniform(i, n, r) - 0.5))
ENTRY(Signed, Uniform(i, n, r) - 0.5)
ENTRY(Falling, Power(-(PetscReal)i / 10))
ENTRY(Rising, Power((PetscReal)(i - n) / 10))
ENTRY(Clement, PetscSqrtReal((PetscReal)(i + 1) * (n - 1 - i)))
ENTRY(Broken, i % 3 ? Uniform(i, n, r) : 0)
ENTRY(Clusters, i % 3 + 1e-13 * Uniform(i, n, r))
/* clang-format on */

static const Shape shapes[] = {
  {"random",              Signed,    Signed },
  {"second differences",  Two,       Minus  },
  {"Wilkinson's",         Wilkinson, One    },
  {"Wilkinson's, glued",  Pieces,    Glue   },
  {"Wilkinson's, apart",  Pieces,    Trace  },
  {"zero",                Zero,      Zero   },
  {"identity",            One,       Zero   },
  {"nearly the identity", One,       Tinier },
  {"falling",             Falling,   Falling},
  {"rising",              Rising,    Rising },
  {"Clement's",           Zero,      Clement},
  {"nearly diagonal",     Index,     Tiny   },
  {"two values",          Alternate, Tiny   },
  {"huge",                Huge,      Huge   },
  {"minute",              Minute,    Minute },
  {"in pieces",           Uniform,   Broken },
  {"clusters",            Clusters,  Tiny   },
  {"signs",               Zero,      Signed }
};

/* T Z = Z W to rounding with Z orthogonal to rounding leaves no value out */
static PetscErrorCode Try(const Shape *shape, PetscInt n, PetscRandom random, PetscInt *faults)
{
  const PetscReal limit = 20 * PETSC_MACHINE_EPSILON;
  const PetscInt  ld    = n + 3;
  PetscReal      *d, *e, *w, *copy, *Z, *work, norm = 0.0, residual = 0.0, orthogonality = 0.0;
  PetscBool       decreasing = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc6(n, &d, n, &e, n, &w, n, &copy, ld * n, &Z, 3 * n * n + 7 * n, &work));
  for (PetscInt i = 0; i < n; i++) {
    d[i] = w[i] = shape->d(i, n, random);
    e[i] = copy[i] = shape->e(i, n, random);
    norm           = PetscMax(norm, PetscMax(PetscAbsReal(d[i]), PetscAbsReal(e[i])));
  }
  if (norm == 0.0) norm = 1.0;
  PetscCall(SmallTridiagonalEigen(n, w, copy, Z, ld, work));
  for (PetscInt j = 0; j < n; j++) {
    const PetscReal *z = Z + j * ld;

    for (PetscInt i = 0; i < n; i++) {
      PetscReal t = (d[i] - w[j]) * z[i], o = i == j ? -1.0 : 0.0;

      if (i) t += e[i - 1] * z[i - 1];
      if (i + 1 < n) t += e[i] * z[i + 1];
      for (PetscInt q = 0; q < n; q++) o += Z[q + i * ld] * z[q];
      /* so that NaN is the largest */
      if (!(PetscAbsReal(t) / norm <= residual)) residual = PetscAbsReal(t) / norm;
      if (!(PetscAbsReal(o) <= orthogonality)) orthogonality = PetscAbsReal(o);
    }
  }
  for (PetscInt j = 0; j + 1 < n; j++) {
    if (!(w[j] >= w[j + 1])) decreasing = PETSC_FALSE;
  }
  if (!(residual <= limit) || !(orthogonality <= 2 * limit) || !decreasing) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, order %" PetscInt_FMT ": residual %.1e, orthogonality %.1e%s\n", shape->name, n, (double)residual, (double)orthogonality, decreasing ? "" : ", not in decreasing order"));
    (*faults)++;
  }
  PetscCall(PetscFree6(d, e, w, copy, Z, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscRandom random;
  PetscInt    faults = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt s = 0; s < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    for (PetscInt n = 1; n <= MAX_ORDER; n += 1 + n / 7) PetscCall(Try(&shapes[s], n, random, &faults));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " faults\n", faults));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  test:
    suffix: 1

TEST*/
