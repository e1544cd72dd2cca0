/*
  Eigenvalues and eigenvectors of a real symmetric tridiagonal matrix by divide and conquer: J. J. M. Cuppen, Numer. Math. 36, 1981, with
  vectors from values as M. Gu and S. C. Eisenstat make them, SIAM J. Matrix Anal. Appl. 16, 1995.

    T = [ T1   e ]  =  [ T1 - |e|        ] + |e| v v^T,   v = (0 .. 0 1 +-1 0 .. 0),      diag(T1 - |e|, T2 - |e|) = Z D Z^T
        [ e   T2 ]     [        T2 - |e| ]

  D + rho z z^T, z = Z^T v, has the roots of 1 + rho sum z_i^2 / (d_i - x) as its values, one between each two of the d_i, which are called
  poles. Where z_i is rounding, or two poles are, d_i stays.

  LAPACK's stedc does the same in twice the time where the order is about 100, since its loops over the poles divide one number at a time. A
  device waits for this at each restart: with stedc a solve takes 7 per cent longer on ESOC, some 3 on ch7-9-b4 and rail4284, 1 on GL7d16 and
  12month1 (medians of three runs, one H200, OpenBLAS 0.3.21).
*/
#include "blocklanczos.h"

/* Matrices up to this order are left to QR iteration */
#define LEAF_ORDER 13
/* More steps than any root takes */
#define MAX_ROOT_STEPS 100

/* The poles that take part, and the sum: rho z_i^2. They may be in any order. */
typedef struct {
  PetscInt         n;
  const PetscReal *pole, *weight;
} Sum;

/* Both parts of the sum at x, terms below zero and above, which are those of the poles left and right of it, and their derivatives */
typedef struct {
  PetscReal left, right, dleft, dright;
} SumValue;

/* At origin + x, distance: the poles less origin */
static inline SumValue Evaluate(const Sum *sum, const PetscReal distance[], PetscReal x)
{
  const PetscInt   n      = sum->n;
  const PetscReal *weight = sum->weight;
  PetscReal        all = 0.0, size = 0.0, dall = 0.0, dsize = 0.0;

  /* terms without their sign as well, in place of a branch that no vector takes */
#pragma omp simd reduction(+ : all, size, dall, dsize)
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal inverse = 1 / (distance[i] - x), term = weight[i] * inverse;

    all += term;
    size += PetscAbsReal(term);
    dall += term * inverse;
    dsize += term * PetscAbsReal(inverse);
  }
  return (SumValue){(all - size) / 2, (all + size) / 2, (dall - dsize) / 2, (dall + dsize) / 2};
}

/* The root x of c + s / (a - x) + t / (b - x) that lies between a < 0 and b > 0 */
static inline PetscReal RootOfTwo(PetscReal c, PetscReal a, PetscReal s, PetscReal b, PetscReal t)
{
  const PetscReal p = c * (a + b) + s + t, q = c * a * b + s * b + t * a, r = PetscSqrtReal(PetscAbsReal(p * p - 4 * c * q));

  return p <= 0 ? (p - r) / (2 * c) : 2 * q / (p + r);
}

/*
   FindRoot - The root right of a pole

   Input Parameters:
+  sum   - the sum
.  l     - the pole
.  r     - the next one, or negative if there is none
-  width - the root is no further from the pole

   Output Parameters:
+  distance - of the poles from the root, each with a small relative error: it is measured from the pole that is nearer
.  root     - the root
-  found    - false if the steps did not end

   Note:
   Steps are those to the root of a sum with two poles, l and r, that has the value and the derivative of the parts left and right of x. They
   are kept in the interval in which the sign changes.
*/
static void FindRoot(const Sum *sum, PetscInt l, PetscInt r, PetscReal width, PetscReal distance[], PetscReal *root, PetscBool *found)
{
  const PetscInt   n      = sum->n;
  const PetscReal *weight = sum->weight;
  PetscReal        origin = sum->pole[l], low = 0.0, high = width, x;

  for (PetscInt i = 0; i < n; i++) distance[i] = sum->pole[i] - origin;
  if (r >= 0) {
    const PetscReal gap = distance[r], half = gap / 2;
    const SumValue  v = Evaluate(sum, distance, half);
    const PetscReal f = 1 + v.left + v.right, rest = f + weight[l] / half - weight[r] / half;

    high = half;
    if (f < 0) {
      origin = sum->pole[r];
      low    = -half;
      high   = 0.0;
      for (PetscInt i = 0; i < n; i++) distance[i] = sum->pole[i] - origin;
    }
    x = RootOfTwo(rest, distance[l], weight[l], distance[r], weight[r]);
  } else x = weight[l];
  *found = PETSC_FALSE;
  for (PetscInt step = 0; step < MAX_ROOT_STEPS && !*found; step++) {
    SumValue  v;
    PetscReal f;

    if (!(x > low && x < high)) x = (low + high) / 2;
    v      = Evaluate(sum, distance, x);
    f      = 1 + v.left + v.right;
    *found = (PetscBool)(PetscAbsReal(f) <= PETSC_MACHINE_EPSILON * (4 * (1 - v.left + v.right) + PetscAbsReal(x) * (v.dleft + v.dright) / 2) || high - low <= 2 * PETSC_MACHINE_EPSILON * PetscAbsReal(x));
    if (*found) break;
    if (f < 0) low = x;
    else high = x;
    {
      const PetscReal a = distance[l] - x, b = r >= 0 ? distance[r] - x : 0.0;
      const PetscReal c = 1 + v.left - v.dleft * a + v.right - v.dright * b;

      if (r >= 0) x += RootOfTwo(c, a, v.dleft * a * a, b, v.dright * b * b);
      else x = c > 0 ? x + a + v.dleft * a * a / c : high;
    }
  }
  *root = origin + x;
  for (PetscInt i = 0; i < n; i++) distance[i] -= x;
}

/* V from the distances of poles and roots, root j right of pole order[j]; z, whose signs count, is used up */
static void VectorsFromDistances(const Sum *sum, const PetscInt order[], PetscReal z[], PetscReal product[], PetscReal V[])
{
  const PetscInt   n    = sum->n;
  const PetscReal *pole = sum->pole;

  /* the z for which the roots found are the exact ones: so the vectors are orthogonal however close values are */
  for (PetscInt i = 0; i < n; i++) product[i] = 1.0;
  for (PetscInt j = 0; j < n; j++) {
    const PetscInt   q        = order[j];
    const PetscReal *distance = V + j * n, own = product[q] * distance[q], p = pole[q];

#pragma omp simd
    for (PetscInt i = 0; i < n; i++) product[i] *= distance[i] / (pole[i] - p);
    product[q] = own;
  }
  for (PetscInt i = 0; i < n; i++) z[i] = z[i] < 0 ? -PetscSqrtReal(PetscAbsReal(product[i])) : PetscSqrtReal(PetscAbsReal(product[i]));
  for (PetscInt j = 0; j < n; j++) {
    PetscReal *v = V + j * n, sum = 0.0;

#pragma omp simd reduction(+ : sum)
    for (PetscInt i = 0; i < n; i++) {
      v[i] = z[i] / v[i];
      sum += v[i] * v[i];
    }
    sum = 1 / PetscSqrtReal(sum);
    for (PetscInt i = 0; i < n; i++) v[i] *= sum;
  }
}

/* C = A B, A is m x k without gaps between columns */
static PetscErrorCode Multiply(PetscInt m, PetscInt n, PetscInt k, const PetscReal A[], const PetscReal B[], PetscInt ldb, PetscReal C[], PetscInt ldc)
{
  const PetscReal one = 1.0, zero = 0.0;
  PetscBLASInt    bm, bn, bk, bldb, bldc;

  PetscFunctionBegin;
  if (!k) {
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArrayzero(C + j * ldc, m));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(k, &bk));
  PetscCall(PetscBLASIntCast(ldb, &bldb));
  PetscCall(PetscBLASIntCast(ldc, &bldc));
  if (n) PetscCallBLAS("BLASREALgemm", BLASREALgemm_("N", "N", &bm, &bn, &bk, &one, A, &bm, B, &bldb, &zero, C, &bldc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where a column of Z is not zero */
enum {
  ROWS_FIRST, /* in the rows of the first half */
  ROWS_BOTH,
  ROWS_SECOND
};

/*
  Poles that stay are taken out: those with a z that is rounding, and of two that are as good as one the left one, after a rotation that
  leaves it no share. kept, in increasing order, and left are the columns.
*/
static void Deflate(PetscInt n1, PetscInt n, PetscReal d[], PetscReal z[], PetscReal rho, PetscReal Z[], PetscInt ld, PetscInt rows[], PetscInt kept[], PetscInt *nkept, PetscInt left[], PetscInt *nleft)
{
  PetscReal largest = 0.0, tol;
  PetscInt  last    = -1, a, b;

  for (PetscInt j = 0; j < n; j++) largest = PetscMax(largest, PetscMax(PetscAbsReal(d[j]), PetscAbsReal(z[j])));
  tol    = 8 * PETSC_MACHINE_EPSILON * largest;
  *nkept = *nleft = 0;
  a               = 0;
  b               = n1;
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt j = b >= n || (a < n1 && d[a] <= d[b]) ? a++ : b++;

    if (rho * PetscAbsReal(z[j]) <= tol) {
      left[(*nleft)++] = j;
      continue;
    }
    if (last >= 0) {
      const PetscReal r = PetscSqrtReal(z[last] * z[last] + z[j] * z[j]), c = z[j] / r, s = z[last] / r;

      if (PetscAbsReal((d[j] - d[last]) * c * s) <= tol) {
        const PetscReal dl = d[last], dj = d[j];
        PetscReal      *x = Z + last * ld, *y = Z + j * ld;

        if (rows[j] != rows[last]) rows[j] = rows[last] = ROWS_BOTH;
        for (PetscInt q = rows[j] == ROWS_SECOND ? n1 : 0; q < (rows[j] == ROWS_FIRST ? n1 : n); q++) {
          const PetscReal t = x[q];

          x[q] = c * t - s * y[q];
          y[q] = s * t + c * y[q];
        }
        d[last]          = dl * c * c + dj * s * s;
        d[j]             = dl * s * s + dj * c * c;
        z[j]             = r;
        left[(*nleft)++] = last;
      } else kept[(*nkept)++] = last;
    }
    last = j;
  }
  if (last >= 0) kept[(*nkept)++] = last;
}

/* The solution of a matrix of order n1 + n2 from those of its halves, which are in d and in the diagonal blocks of Z; e couples them */
static PetscErrorCode Merge(PetscInt n1, PetscInt n2, PetscReal e, PetscReal d[], PetscReal Z[], PetscInt ld, PetscReal work[], PetscInt iwork[], PetscBool *found)
{
  const PetscInt  n   = n1 + n2;
  const PetscReal rho = 2 * PetscAbsReal(e), root2 = PetscSqrtReal((PetscReal)0.5);
  PetscReal      *z = work, *pole = z + n, *weight = pole + n, *values = weight + n, *product = values + n, *V = product + n, *G = V + n * n, *out = G + n * n;
  PetscInt       *kept = iwork, *left = kept + n, *order = left + n, *place = order + n, *rows = place + n, k, nleft;
  PetscInt        count[3] = {0, 0, 0}, next[3];
  PetscReal       width    = 0.0;
  Sum             sum;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < n; j++) {
    z[j]    = j < n1 ? root2 * Z[n1 - 1 + j * ld] : (e < 0 ? -root2 : root2) * Z[n1 + j * ld];
    rows[j] = j < n1 ? ROWS_FIRST : ROWS_SECOND;
  }
  Deflate(n1, n, d, z, rho, Z, ld, rows, kept, &k, left, &nleft);

  /* poles in the order of the rows of their columns, so that zeros are not multiplied: G holds the rows of the first half, and of the second */
  for (PetscInt i = 0; i < k; i++) count[rows[kept[i]]]++;
  next[ROWS_FIRST]  = 0;
  next[ROWS_BOTH]   = count[ROWS_FIRST];
  next[ROWS_SECOND] = count[ROWS_FIRST] + count[ROWS_BOTH];
  {
    const PetscInt from = count[ROWS_FIRST];
    PetscReal     *G2   = G + n1 * (from + count[ROWS_BOTH]);

    for (PetscInt i = 0; i < k; i++) {
      const PetscInt j = kept[i], p = next[rows[j]]++;

      order[i]   = p;
      pole[p]    = d[j];
      weight[p]  = rho * z[j] * z[j];
      product[p] = z[j];
      width += weight[p];
      if (rows[j] != ROWS_SECOND) PetscCall(PetscArraycpy(G + p * n1, Z + j * ld, n1));
      if (rows[j] != ROWS_FIRST) PetscCall(PetscArraycpy(G2 + (p - from) * n2, Z + n1 + j * ld, n2));
    }
    PetscCall(PetscArraycpy(z, product, k));

    sum    = (Sum){k, pole, weight};
    *found = PETSC_TRUE;
    for (PetscInt i = 0; i < k && *found; i++) FindRoot(&sum, order[i], i + 1 < k ? order[i + 1] : -1, width * (1 + k * PETSC_MACHINE_EPSILON), V + i * k, &values[i], found);
    if (!*found) PetscFunctionReturn(PETSC_SUCCESS);
    VectorsFromDistances(&sum, order, z, product, V);

    for (PetscInt i = 0; i < nleft; i++) PetscCall(PetscArraycpy(out + (k + i) * n, Z + left[i] * ld, n));
    PetscCall(Multiply(n1, k, from + count[ROWS_BOTH], G, V, k, out, n));
    PetscCall(Multiply(n2, k, k - from, G2, V + from, k, out + n1, n));
  }

  for (PetscInt i = 0; i < nleft; i++) values[k + i] = d[left[i]];
  /* the two runs are in order but for rounding */
  for (PetscInt i = 0; i < n; i++) {
    PetscInt j = i;

    for (; j > 0 && values[place[j - 1]] > values[i]; j--) place[j] = place[j - 1];
    place[j] = i;
  }
  for (PetscInt i = 0; i < n; i++) {
    d[i] = values[place[i]];
    PetscCall(PetscArraycpy(Z + i * ld, out + place[i] * n, n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* QR iteration */
static PetscErrorCode Iterate(PetscInt n, PetscReal d[], PetscReal e[], PetscReal Z[], PetscInt ld, PetscReal work[])
{
  PetscBLASInt bn, bld;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(ld, &bld));
  PetscCallLAPACKInfo("LAPACKREALsteqr", LAPACKREALsteqr_("I", &bn, d, e, Z, &bld, work, &info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values in increasing order */
static PetscErrorCode Divide(PetscInt n, PetscReal d[], PetscReal e[], PetscReal Z[], PetscInt ld, PetscReal work[], PetscInt iwork[], PetscBool *found)
{
  const PetscInt n1 = n / 2, n2 = n - n1;

  PetscFunctionBegin;
  *found = PETSC_TRUE;
  if (n <= LEAF_ORDER) {
    PetscCall(Iterate(n, d, e, Z, ld, work));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  d[n1 - 1] -= PetscAbsReal(e[n1 - 1]);
  d[n1] -= PetscAbsReal(e[n1 - 1]);
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArrayzero(Z + j * ld + (j < n1 ? n1 : 0), j < n1 ? n2 : n1));
  PetscCall(Divide(n1, d, e, Z, ld, work, iwork, found));
  if (*found) PetscCall(Divide(n2, d + n1, e + n1, Z + n1 + n1 * ld, ld, work, iwork, found));
  if (*found) PetscCall(Merge(n1, n2, e[n1 - 1], d, Z, ld, work, iwork, found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   SmallTridiagonalEigen - Eigenvalues and eigenvectors of a real symmetric tridiagonal matrix

   Input Parameters:
+  n    - the order
.  d    - the diagonal
.  e    - the other one, n - 1
.  ld   - leading dimension of Z
-  work - 3 n^2 + 7 n numbers

   Output Parameters:
+  d - the values in decreasing order
-  Z - the vectors, n x n

   Note:
   e is used up.
*/
PetscErrorCode SmallTridiagonalEigen(PetscInt n, PetscReal d[], PetscReal e[], PetscReal Z[], PetscInt ld, PetscReal work[])
{
  PetscReal *copy = work + 3 * n * n + 5 * n, scale = 0.0;
  PetscInt  *iwork;
  PetscBool  found;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) scale = PetscMax(scale, PetscMax(PetscAbsReal(d[i]), i + 1 < n ? PetscAbsReal(e[i]) : 0.0));
  if (scale == 0.0) scale = 1.0;
  PetscCall(PetscMalloc1(5 * n, &iwork));
  /* the other sign, the other order */
  for (PetscInt i = 0; i < n; i++) copy[i] = d[i] = -d[i] / scale;
  for (PetscInt i = 0; i + 1 < n; i++) copy[n + i] = e[i] = -e[i] / scale;
  PetscCall(Divide(n, d, e, Z, ld, work, iwork, &found));
  if (!found) {
    PetscCall(PetscArraycpy(d, copy, n));
    PetscCall(Iterate(n, d, copy + n, Z, ld, work));
  }
  for (PetscInt i = 0; i < n; i++) d[i] *= -scale;
  PetscCall(PetscFree(iwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}
