/* V2 and V4 of matmult.h, for all vector instructions of x86 */
typedef __m128d V2;
typedef __m256d V4;

#define NARROW(V, mm) \
  V8_FUNCTION V V##Set(double a) \
  { \
    return mm##_set1_pd(a); \
  } \
  V8_FUNCTION V V##Load(const double *p) \
  { \
    return mm##_loadu_pd(p); \
  } \
  V8_FUNCTION void V##Store(double *p, V v) \
  { \
    mm##_storeu_pd(p, v); \
  } \
  V8_FUNCTION V V##Add(V a, V b) \
  { \
    return mm##_add_pd(a, b); \
  } \
  V8_FUNCTION V V##Fma(V a, V b, V c) \
  { \
    return mm##_fmadd_pd(a, b, c); \
  }
NARROW(V2, _mm)
NARROW(V4, _mm256)
