/*
  V8 of mult.h by AVX-512. Only the two files that include this one are compiled for these instructions; ../simd.c chooses the kernels that
  the processor supports.

  With BCCOO_LOADS a gather of eight lanes is eight loads: gather instructions take several times as long on processors of AMD, and less on
  those of Intel, unless microcode updates have made them slower.
*/
#include <immintrin.h>
BCCOO_BEGIN_INSTRUCTIONS("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,bmi2")

typedef __m512d V8;

typedef struct {
  const double *table;
  __m512d       lo, hi; /* the first 16 values of the table; lo: the one value of a chunk with equal values */
} V8Table;

#if BCCOO_LOADS
  #define V8_MASKED 0
#else
  #define V8_MASKED 1
#endif

/* Always inlined, so that no copy of these functions is compiled for the instructions of the rest of the library */
#define V8_FUNCTION static inline __attribute__((always_inline))

V8_FUNCTION __mmask8 Lanes(unsigned lanes)
{
  return (__mmask8)_bzhi_u32(0xFF, lanes);
}

V8_FUNCTION V8 V8Set(double a)
{
  return _mm512_set1_pd(a);
}

V8_FUNCTION V8 V8Zero(void)
{
  return _mm512_setzero_pd();
}

V8_FUNCTION V8 V8Load(const double *p, unsigned lanes)
{
  return _mm512_maskz_loadu_pd(Lanes(lanes), p);
}

/*
  The gather instruction merges into its destination register and therefore waits for its old contents. If all lanes are in use, compilers
  find that zeros are not needed there and leave them out, and each gather waits for the one before it. The zeros are therefore hidden
  from the compiler.
*/
V8_FUNCTION V8 Gather(const double *p, __m256i i, unsigned lanes)
{
  __m512d zero = _mm512_setzero_pd();

  __asm__("" : "+v"(zero));
  return _mm512_mask_i32gather_pd(zero, Lanes(lanes), i, p, 8);
}

/* Indices are read for all lanes, possibly beyond the last one: what follows are other chunks, or the BCCOO_SIMD_SLOP bytes at the end */
V8_FUNCTION V8 V8Gather16(const double *p, const uint16_t *i, unsigned lanes)
{
  if (BCCOO_LOADS && lanes == BCCOO_SIMD_LANES) return _mm512_set_pd(p[i[7]], p[i[6]], p[i[5]], p[i[4]], p[i[3]], p[i[2]], p[i[1]], p[i[0]]);
  return Gather(p, _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)i)), lanes);
}

V8_FUNCTION V8 V8Gather32(const double *p, const uint32_t *i, unsigned lanes)
{
  if (BCCOO_LOADS && lanes == BCCOO_SIMD_LANES) return _mm512_set_pd(p[i[7]], p[i[6]], p[i[5]], p[i[4]], p[i[3]], p[i[2]], p[i[1]], p[i[0]]);
  return Gather(p, _mm256_loadu_si256((const __m256i *)i), lanes);
}

/* With BCCOO_LOADS in two halves: single lanes are mostly read soon after, and processors of AMD forward them from stores of 256 bits */
V8_FUNCTION void V8Store(double *p, V8 v, unsigned lanes)
{
  if (BCCOO_LOADS && lanes == BCCOO_SIMD_LANES) {
    _mm256_storeu_pd(p, _mm512_castpd512_pd256(v));
    _mm256_storeu_pd(p + 4, _mm512_extractf64x4_pd(v, 1));
    return;
  }
  _mm512_mask_storeu_pd(p, Lanes(lanes), v);
}

V8_FUNCTION void SplitQuarter(__m128d v, double a[])
{
  a[0] = _mm_cvtsd_f64(v);
  a[1] = _mm_cvtsd_f64(_mm_unpackhi_pd(v, v));
}

V8_FUNCTION void V8Split(V8 v, double a[])
{
  const __m256d lo = _mm512_castpd512_pd256(v), hi = _mm512_extractf64x4_pd(v, 1);

  SplitQuarter(_mm256_castpd256_pd128(lo), a);
  SplitQuarter(_mm256_extractf128_pd(lo, 1), a + 2);
  SplitQuarter(_mm256_castpd256_pd128(hi), a + 4);
  SplitQuarter(_mm256_extractf128_pd(hi, 1), a + 6);
}

/* Stores a vector that is read again as a whole */
V8_FUNCTION void V8StoreWhole(double *p, V8 v)
{
  _mm512_storeu_pd(p, v);
}

/* r[i] gets element i of all r */
V8_FUNCTION void V8Transpose(V8 r[BCCOO_SIMD_LANES])
{
  V8 a[BCCOO_SIMD_LANES], b[BCCOO_SIMD_LANES];

  for (int i = 0; i < BCCOO_SIMD_LANES; i += 2) {
    a[i]     = _mm512_unpacklo_pd(r[i], r[i + 1]);
    a[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
  }
  for (int i = 0; i < BCCOO_SIMD_LANES; i += 4) {
    b[i]     = _mm512_shuffle_f64x2(a[i], a[i + 2], 0x88);
    b[i + 1] = _mm512_shuffle_f64x2(a[i + 1], a[i + 3], 0x88);
    b[i + 2] = _mm512_shuffle_f64x2(a[i], a[i + 2], 0xDD);
    b[i + 3] = _mm512_shuffle_f64x2(a[i + 1], a[i + 3], 0xDD);
  }
  for (int i = 0; i < 4; i++) {
    r[i]     = _mm512_shuffle_f64x2(b[i], b[i + 4], 0x88);
    r[i + 4] = _mm512_shuffle_f64x2(b[i], b[i + 4], 0xDD);
  }
}

/* Sets unused lanes to 0 */
V8_FUNCTION V8 V8Keep(V8 v, unsigned lanes)
{
  return _mm512_maskz_mov_pd(Lanes(lanes), v);
}

/* The masks of the next two are in the instructions, and not left to compilers: they may compute all lanes first, which raises exceptions of unused lanes */
V8_FUNCTION V8 V8Mul(V8 a, V8 b, unsigned lanes)
{
  V8 product;

  if (__builtin_constant_p(lanes) && lanes == BCCOO_SIMD_LANES) return _mm512_mul_pd(a, b);
  __asm__("vmulpd %2, %1, %0%{%3%}%{z%}" : "=v"(product) : "v"(a), "v"(b), "Yk"(Lanes(lanes)));
  return product;
}

V8_FUNCTION V8 V8Add(V8 a, V8 b)
{
  return _mm512_add_pd(a, b);
}

V8_FUNCTION V8 V8Fma(V8 a, V8 b, V8 c, unsigned lanes)
{
  if (__builtin_constant_p(lanes) && lanes == BCCOO_SIMD_LANES) return _mm512_fmadd_pd(a, b, c);
  __asm__("vfmadd231pd %2, %1, %0%{%3%}" : "+v"(c) : "v"(a), "v"(b), "Yk"(Lanes(lanes)));
  return c;
}

V8_FUNCTION V8 V8Conj(V8 v)
{
  return v;
}

V8_FUNCTION double V8Sum(V8 v, unsigned lanes)
{
  return _mm512_mask_reduce_add_pd(Lanes(lanes), v);
}

V8_FUNCTION V8Table V8TableLoad(const double *table, int values, const BCCOOSIMDStreams *s)
{
  V8Table t;

  t.table = table;
  t.lo = t.hi = _mm512_setzero_pd();
  if (values == BCCOO_VALUES_EQUAL) t.lo = _mm512_set1_pd(*(const double *)s->values);
  if (values == BCCOO_VALUES_SMALL) {
    t.lo = _mm512_loadu_pd(table);
    t.hi = _mm512_loadu_pd(table + 8);
  }
  return t;
}

V8_FUNCTION V8 V8Values(const V8Table *t, int values, const BCCOOSIMDStreams *s, size_t k, unsigned lanes)
{
  switch (values) {
  case BCCOO_VALUES_EQUAL:
    return t->lo;
  case BCCOO_VALUES_SMALL:
    return _mm512_permutex2var_pd(t->lo, _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)((const uint8_t *)s->values + k))), t->hi);
  case BCCOO_VALUES_TABLE:
  case BCCOO_VALUES_OWN:
    if (BCCOO_LOADS && lanes == BCCOO_SIMD_LANES) {
      const uint8_t *i = (const uint8_t *)s->values + k;

      return _mm512_set_pd(t->table[i[7]], t->table[i[6]], t->table[i[5]], t->table[i[4]], t->table[i[3]], t->table[i[2]], t->table[i[1]], t->table[i[0]]);
    }
    return Gather(t->table, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)((const uint8_t *)s->values + k))), lanes);
  case BCCOO_VALUES_LARGE:
    return V8Gather16(t->table, (const uint16_t *)s->values + k, lanes);
  case BCCOO_VALUES_SINGLE:
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(Lanes(lanes), (const float *)s->values + k));
  default:
    return _mm512_maskz_loadu_pd(Lanes(lanes), (const double *)s->values + k);
  }
}

#include "narrow.h"

V8_FUNCTION V4 V4Low(V8 v)
{
  return _mm512_castpd512_pd256(v);
}

V8_FUNCTION V8 V4Widen(V4 v)
{
  return _mm512_zextpd256_pd512(v);
}
