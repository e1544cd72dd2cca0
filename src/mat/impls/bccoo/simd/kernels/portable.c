/* The products of a chunk in plain C, for every PetscScalar and every processor */
#include "../simdimpl.h"

/*
  Where gcc multiplies a scalar by an element of a vector register on aarch64, it multiplies both halves of the register. The half that is not used
  may be 0 times infinity, an invalid operation. Without vectors there is no such element; products use NEON there, and this file only in tests.
*/
#if defined(BCCOO_NEON) && defined(__GNUC__) && !defined(__clang__)
  #pragma GCC optimize("no-tree-vectorize")
#endif

typedef struct {
  PetscScalar a[BCCOO_SIMD_LANES];
} V8;

typedef struct {
  const PetscScalar *table;
  PetscScalar        equal;
} V8Table;

#define V8_MASKED 0

/* Always inlined: there are so many calls that compilers would leave some out, and keep vectors in memory */
#if defined(__GNUC__)
  #define V8_FUNCTION static inline __attribute__((always_inline))
#else
  #define V8_FUNCTION static inline
#endif

V8_FUNCTION V8 V8Set(PetscScalar a)
{
  V8 v;

  for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) v.a[l] = a;
  return v;
}

V8_FUNCTION V8 V8Zero(void)
{
  return V8Set(0.0);
}

V8_FUNCTION V8 V8Load(const PetscScalar *p, unsigned lanes)
{
  V8 v = V8Zero();

  for (unsigned l = 0; l < lanes; l++) v.a[l] = p[l];
  return v;
}

V8_FUNCTION V8 V8Gather16(const PetscScalar *p, const uint16_t *i, unsigned lanes)
{
  V8 v = V8Zero();

  for (unsigned l = 0; l < lanes; l++) v.a[l] = p[i[l]];
  return v;
}

V8_FUNCTION V8 V8Gather32(const PetscScalar *p, const uint32_t *i, unsigned lanes)
{
  V8 v = V8Zero();

  for (unsigned l = 0; l < lanes; l++) v.a[l] = p[i[l]];
  return v;
}

V8_FUNCTION void V8Store(PetscScalar *p, V8 v, unsigned lanes)
{
  for (unsigned l = 0; l < lanes; l++) p[l] = v.a[l];
}

V8_FUNCTION void V8Split(V8 v, PetscScalar a[])
{
  for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) a[l] = v.a[l];
}

V8_FUNCTION void V8StoreWhole(PetscScalar *p, V8 v)
{
  V8Store(p, v, BCCOO_SIMD_LANES);
}

/* r[i] gets element i of all r */
V8_FUNCTION void V8Transpose(V8 r[BCCOO_SIMD_LANES])
{
  for (unsigned i = 0; i < BCCOO_SIMD_LANES; i++) {
    for (unsigned k = 0; k < i; k++) {
      const PetscScalar a = r[i].a[k];

      r[i].a[k] = r[k].a[i];
      r[k].a[i] = a;
    }
  }
}

/* Sets unused lanes to 0 */
V8_FUNCTION V8 V8Keep(V8 v, unsigned lanes)
{
  for (unsigned l = lanes; l < BCCOO_SIMD_LANES; l++) v.a[l] = 0.0;
  return v;
}

V8_FUNCTION V8 V8Mul(V8 a, V8 b, unsigned lanes)
{
  V8 p = V8Zero();

  for (unsigned l = 0; l < lanes; l++) p.a[l] = a.a[l] * b.a[l];
  return p;
}

V8_FUNCTION V8 V8Add(V8 a, V8 b)
{
  for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) a.a[l] += b.a[l];
  return a;
}

V8_FUNCTION V8 V8Fma(V8 a, V8 b, V8 c, unsigned lanes)
{
  for (unsigned l = 0; l < lanes; l++) c.a[l] += a.a[l] * b.a[l];
  return c;
}

V8_FUNCTION V8 V8Conj(V8 v)
{
  for (unsigned l = 0; l < BCCOO_SIMD_LANES; l++) v.a[l] = PetscConj(v.a[l]);
  return v;
}

V8_FUNCTION PetscScalar V8Sum(V8 v, unsigned lanes)
{
  PetscScalar sum = 0.0;

  for (unsigned l = 0; l < lanes; l++) sum += v.a[l];
  return sum;
}

V8_FUNCTION V8Table V8TableLoad(const PetscScalar *table, int values, const BCCOOSIMDStreams *s)
{
  V8Table t;

  t.table = table;
  t.equal = values == BCCOO_VALUES_EQUAL ? *(const PetscScalar *)s->values : 0.0;
  return t;
}

V8_FUNCTION V8 V8Values(const V8Table *t, int values, const BCCOOSIMDStreams *s, size_t k, unsigned lanes)
{
  V8 v = V8Zero();

  switch (values) {
  case BCCOO_VALUES_EQUAL:
    return V8Set(t->equal);
  case BCCOO_VALUES_SMALL:
  case BCCOO_VALUES_TABLE:
  case BCCOO_VALUES_OWN:
    for (unsigned l = 0; l < lanes; l++) v.a[l] = t->table[((const uint8_t *)s->values)[k + l]];
    break;
  case BCCOO_VALUES_LARGE:
    for (unsigned l = 0; l < lanes; l++) v.a[l] = t->table[((const uint16_t *)s->values)[k + l]];
    break;
  case BCCOO_VALUES_SINGLE:
    for (unsigned l = 0; l < lanes; l++) v.a[l] = ((const float *)s->values)[k + l];
    break;
  default:
    for (unsigned l = 0; l < lanes; l++) v.a[l] = ((const PetscScalar *)s->values)[k + l];
  }
  return v;
}

#define NARROW(V, n) \
  typedef struct { \
    PetscScalar a[n]; \
  } V; \
  V8_FUNCTION V V##Set(PetscScalar a) \
  { \
    V v; \
    for (unsigned l = 0; l < n; l++) v.a[l] = a; \
    return v; \
  } \
  V8_FUNCTION V V##Load(const PetscScalar *p) \
  { \
    V v; \
    for (unsigned l = 0; l < n; l++) v.a[l] = p[l]; \
    return v; \
  } \
  V8_FUNCTION void V##Store(PetscScalar *p, V v) \
  { \
    for (unsigned l = 0; l < n; l++) p[l] = v.a[l]; \
  } \
  V8_FUNCTION V V##Add(V a, V b) \
  { \
    for (unsigned l = 0; l < n; l++) a.a[l] += b.a[l]; \
    return a; \
  } \
  V8_FUNCTION V V##Fma(V a, V b, V c) \
  { \
    for (unsigned l = 0; l < n; l++) c.a[l] += a.a[l] * b.a[l]; \
    return c; \
  }
NARROW(V2, 2)
NARROW(V4, 4)

V8_FUNCTION V4 V4Low(V8 v)
{
  return V4Load(v.a);
}

V8_FUNCTION V8 V4Widen(V4 v)
{
  return (V8){
    {v.a[0], v.a[1], v.a[2], v.a[3]}
  };
}

#include "mult.h"
#include "matmult.h"

const BCCOOSIMDKernels BCCOOSIMDKernelsPortable = {"portable", PETSC_TRUE, Mult, MultTranspose, BCCOO_DENSE_KERNELS};
