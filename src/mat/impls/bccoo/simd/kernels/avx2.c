/* The products of a chunk by AVX2 and FMA. Only this file is compiled for these instructions; ../simd.c chooses the kernels that the processor supports. */
#include "../simdimpl.h"

#if defined(BCCOO_X86)
  #include <immintrin.h>
BCCOO_BEGIN_INSTRUCTIONS("avx2,fma,bmi2")

typedef struct {
  __m256d a, b;
} V8;

typedef struct {
  const double *table;
  double        equal;
} V8Table;

  #define V8_MASKED 0

/* Always inlined, so that no copy of these functions is compiled for the instructions of the rest of the library */
  #define V8_FUNCTION static inline __attribute__((always_inline))

/* Lanes() returns masks with all bits set in the first lanes of eight */
static const int64_t LaneMasks[2 * BCCOO_SIMD_LANES] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

V8_FUNCTION __m256i Lanes(unsigned lanes, unsigned from)
{
  return _mm256_loadu_si256((const __m256i *)(LaneMasks + BCCOO_SIMD_LANES - lanes + from));
}

V8_FUNCTION V8 V8Set(double a)
{
  return (V8){_mm256_set1_pd(a), _mm256_set1_pd(a)};
}

V8_FUNCTION V8 V8Zero(void)
{
  return (V8){_mm256_setzero_pd(), _mm256_setzero_pd()};
}

V8_FUNCTION V8 V8Load(const double *p, unsigned lanes)
{
  if (lanes == BCCOO_SIMD_LANES) return (V8){_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)};
  return (V8){_mm256_maskload_pd(p, Lanes(lanes, 0)), _mm256_maskload_pd(p + 4, Lanes(lanes, 4))};
}

/*
  A gather is eight loads: gather instructions are no faster on the processors that have AVX2 but not AVX-512, and several times slower on
  some of them since microcode updates.
*/
  #define GATHER(name, index) \
    V8_FUNCTION V8 name(const double *p, const index *i, unsigned lanes) \
    { \
      double a[BCCOO_SIMD_LANES] = {0.0}; \
\
      if (lanes == BCCOO_SIMD_LANES) return (V8){_mm256_set_pd(p[i[3]], p[i[2]], p[i[1]], p[i[0]]), _mm256_set_pd(p[i[7]], p[i[6]], p[i[5]], p[i[4]])}; \
      for (unsigned l = 0; l < lanes; l++) a[l] = p[i[l]]; \
      return V8Load(a, BCCOO_SIMD_LANES); \
    }
GATHER(Gather8, uint8_t)
GATHER(V8Gather16, uint16_t)
GATHER(V8Gather32, uint32_t)

V8_FUNCTION void V8Store(double *p, V8 v, unsigned lanes)
{
  if (lanes == BCCOO_SIMD_LANES) {
    _mm256_storeu_pd(p, v.a);
    _mm256_storeu_pd(p + 4, v.b);
  } else {
    _mm256_maskstore_pd(p, Lanes(lanes, 0), v.a);
    _mm256_maskstore_pd(p + 4, Lanes(lanes, 4), v.b);
  }
}

V8_FUNCTION void SplitHalf(__m256d v, double a[])
{
  const __m128d lo = _mm256_castpd256_pd128(v), hi = _mm256_extractf128_pd(v, 1);

  a[0] = _mm_cvtsd_f64(lo);
  a[1] = _mm_cvtsd_f64(_mm_unpackhi_pd(lo, lo));
  a[2] = _mm_cvtsd_f64(hi);
  a[3] = _mm_cvtsd_f64(_mm_unpackhi_pd(hi, hi));
}

V8_FUNCTION void V8Split(V8 v, double a[])
{
  SplitHalf(v.a, a);
  SplitHalf(v.b, a + 4);
}

/* Stores a vector that is read again as a whole */
V8_FUNCTION void V8StoreWhole(double *p, V8 v)
{
  V8Store(p, v, BCCOO_SIMD_LANES);
}

V8_FUNCTION void Transpose4(__m256d *r0, __m256d *r1, __m256d *r2, __m256d *r3)
{
  const __m256d a = _mm256_unpacklo_pd(*r0, *r1), b = _mm256_unpackhi_pd(*r0, *r1), c = _mm256_unpacklo_pd(*r2, *r3), d = _mm256_unpackhi_pd(*r2, *r3);

  *r0 = _mm256_permute2f128_pd(a, c, 0x20);
  *r1 = _mm256_permute2f128_pd(b, d, 0x20);
  *r2 = _mm256_permute2f128_pd(a, c, 0x31);
  *r3 = _mm256_permute2f128_pd(b, d, 0x31);
}

/* r[i] gets element i of all r */
V8_FUNCTION void V8Transpose(V8 r[BCCOO_SIMD_LANES])
{
  Transpose4(&r[0].a, &r[1].a, &r[2].a, &r[3].a);
  Transpose4(&r[0].b, &r[1].b, &r[2].b, &r[3].b);
  Transpose4(&r[4].a, &r[5].a, &r[6].a, &r[7].a);
  Transpose4(&r[4].b, &r[5].b, &r[6].b, &r[7].b);
  for (int i = 0; i < 4; i++) {
    const __m256d b = r[i].b;

    r[i].b     = r[i + 4].a;
    r[i + 4].a = b;
  }
}

/* Sets unused lanes to 0 */
V8_FUNCTION V8 V8Keep(V8 v, unsigned lanes)
{
  return (V8){_mm256_and_pd(v.a, _mm256_castsi256_pd(Lanes(lanes, 0))), _mm256_and_pd(v.b, _mm256_castsi256_pd(Lanes(lanes, 4)))};
}

V8_FUNCTION V8 V8Mul(V8 a, V8 b, unsigned lanes)
{
  if (lanes < BCCOO_SIMD_LANES) {
    a = V8Keep(a, lanes);
    b = V8Keep(b, lanes);
  }
  return (V8){_mm256_mul_pd(a.a, b.a), _mm256_mul_pd(a.b, b.b)};
}

V8_FUNCTION V8 V8Add(V8 a, V8 b)
{
  return (V8){_mm256_add_pd(a.a, b.a), _mm256_add_pd(a.b, b.b)};
}

V8_FUNCTION V8 V8Fma(V8 a, V8 b, V8 c, unsigned lanes)
{
  if (lanes < BCCOO_SIMD_LANES) {
    a = V8Keep(a, lanes);
    b = V8Keep(b, lanes);
  }
  return (V8){_mm256_fmadd_pd(a.a, b.a, c.a), _mm256_fmadd_pd(a.b, b.b, c.b)};
}

V8_FUNCTION V8 V8Conj(V8 v)
{
  return v;
}

V8_FUNCTION double V8Sum(V8 v, unsigned lanes)
{
  double sum = 0.0, a[BCCOO_SIMD_LANES];

  V8Store(a, v, BCCOO_SIMD_LANES);
  for (unsigned l = 0; l < lanes; l++) sum += a[l];
  return sum;
}

V8_FUNCTION V8Table V8TableLoad(const double *table, int values, const BCCOOSIMDStreams *s)
{
  return (V8Table){table, values == BCCOO_VALUES_EQUAL ? *(const double *)s->values : 0.0};
}

/* Unused lanes get a value of the table, or 0: what follows in memory may be a signaling NaN, which traps */
V8_FUNCTION V8 V8Values(const V8Table *t, int values, const BCCOOSIMDStreams *s, size_t k, unsigned lanes)
{
  switch (values) {
  case BCCOO_VALUES_EQUAL:
    return V8Set(t->equal);
  case BCCOO_VALUES_SMALL:
  case BCCOO_VALUES_TABLE:
  case BCCOO_VALUES_OWN:
    return Gather8(t->table, (const uint8_t *)s->values + k, lanes);
  case BCCOO_VALUES_LARGE:
    return V8Gather16(t->table, (const uint16_t *)s->values + k, lanes);
  case BCCOO_VALUES_SINGLE:
    if (lanes < BCCOO_SIMD_LANES) {
      const float  *v = (const float *)s->values + k;
      const __m128i n = _mm_set1_epi32((int)lanes);

      return (V8){_mm256_cvtps_pd(_mm_maskload_ps(v, _mm_cmpgt_epi32(n, _mm_setr_epi32(0, 1, 2, 3)))), _mm256_cvtps_pd(_mm_maskload_ps(v + 4, _mm_cmpgt_epi32(n, _mm_setr_epi32(4, 5, 6, 7))))};
    }
    return (V8){_mm256_cvtps_pd(_mm_loadu_ps((const float *)s->values + k)), _mm256_cvtps_pd(_mm_loadu_ps((const float *)s->values + k + 4))};
  default:
    return V8Load((const double *)s->values + k, lanes);
  }
}

  #include "narrow.h"

V8_FUNCTION V4 V4Low(V8 v)
{
  return v.a;
}

V8_FUNCTION V8 V4Widen(V4 v)
{
  return (V8){v, v};
}

  #include "mult.h"
  #include "matmult.h"

BCCOO_END_INSTRUCTIONS

const BCCOOSIMDKernels BCCOOSIMDKernelsAVX2 = {"avx2", PETSC_TRUE, Mult, MultTranspose, BCCOO_DENSE_KERNELS};
#endif
