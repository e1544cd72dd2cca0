/*
  The products of a chunk by NEON, which every aarch64 processor has: a vector is four registers of two scalars. SVE would not make them longer:
  its vectors have 128 bits on the processors beside GPUs.
*/
#include "../simdimpl.h"

#if defined(BCCOO_NEON)
  #include <arm_neon.h>

typedef struct {
  float64x2_t a, b, c, d;
} V8;

typedef struct {
  const double *table;
  double        equal;
} V8Table;

  #define V8_MASKED 0

  #define V8_FUNCTION static inline __attribute__((always_inline))

/* A vector whose registers are f(register, its first lane) */
  #define REGISTERS(f) ((V8){f(a, 0), f(b, 2), f(c, 4), f(d, 6)})

V8_FUNCTION V8 V8Set(double a)
{
  return (V8){vdupq_n_f64(a), vdupq_n_f64(a), vdupq_n_f64(a), vdupq_n_f64(a)};
}

V8_FUNCTION V8 V8Zero(void)
{
  return V8Set(0.0);
}

/* Lanes from and from + 1 of a vector of which the first lanes are in use: at(p, l) is read for these, the others become 0 */
  #define PAIR(at, from)  (lanes > (from) + 1 ? (float64x2_t){at((from)), at((from) + 1)} : (float64x2_t){lanes > (from) ? at((from)) : 0.0, 0.0})
  #define LOAD(r, from)   (lanes > (from) + 1 ? vld1q_f64(p + (from)) : (float64x2_t){lanes > (from) ? p[from] : 0.0, 0.0})
  #define PLACE(l)        p[i[l]]
  #define GATHER(r, from) PAIR(PLACE, from)

V8_FUNCTION V8 V8Load(const double *p, unsigned lanes)
{
  __asm__("" : "+r"(p)); /* with an address of which they know nothing, compilers load two registers at a time */
  return REGISTERS(LOAD);
}

V8_FUNCTION V8 Gather8(const double *p, const uint8_t *i, unsigned lanes)
{
  return REGISTERS(GATHER);
}

V8_FUNCTION V8 V8Gather16(const double *p, const uint16_t *i, unsigned lanes)
{
  return REGISTERS(GATHER);
}

V8_FUNCTION V8 V8Gather32(const double *p, const uint32_t *i, unsigned lanes)
{
  return REGISTERS(GATHER);
}

V8_FUNCTION void StorePair(double *p, float64x2_t v, unsigned lanes, unsigned from)
{
  if (lanes > from + 1) vst1q_f64(p + from, v);
  else if (lanes > from) p[from] = vgetq_lane_f64(v, 0);
}

V8_FUNCTION void V8Store(double *p, V8 v, unsigned lanes)
{
  StorePair(p, v.a, lanes, 0);
  StorePair(p, v.b, lanes, 2);
  StorePair(p, v.c, lanes, 4);
  StorePair(p, v.d, lanes, 6);
}

V8_FUNCTION void V8Split(V8 v, double a[])
{
  a[0] = vgetq_lane_f64(v.a, 0);
  a[1] = vgetq_lane_f64(v.a, 1);
  a[2] = vgetq_lane_f64(v.b, 0);
  a[3] = vgetq_lane_f64(v.b, 1);
  a[4] = vgetq_lane_f64(v.c, 0);
  a[5] = vgetq_lane_f64(v.c, 1);
  a[6] = vgetq_lane_f64(v.d, 0);
  a[7] = vgetq_lane_f64(v.d, 1);
}

/* Stores a vector that is read again as a whole */
V8_FUNCTION void V8StoreWhole(double *p, V8 v)
{
  V8Store(p, v, BCCOO_SIMD_LANES);
}

V8_FUNCTION void Square(float64x2_t *a, float64x2_t *b)
{
  const float64x2_t t = vtrn1q_f64(*a, *b);

  *b = vtrn2q_f64(*a, *b);
  *a = t;
}

V8_FUNCTION void Swap(float64x2_t *a, float64x2_t *b)
{
  const float64x2_t t = *a;

  *a = *b;
  *b = t;
}

/* r[i] gets element i of all r: squares of two rows and two columns are transposed, then exchanged with those across the diagonal */
V8_FUNCTION void V8Transpose(V8 r[BCCOO_SIMD_LANES])
{
  for (int i = 0; i < BCCOO_SIMD_LANES; i += 2) {
    Square(&r[i].a, &r[i + 1].a);
    Square(&r[i].b, &r[i + 1].b);
    Square(&r[i].c, &r[i + 1].c);
    Square(&r[i].d, &r[i + 1].d);
  }
  for (int i = 0; i < 2; i++) {
    Swap(&r[i].b, &r[i + 2].a);
    Swap(&r[i].c, &r[i + 4].a);
    Swap(&r[i].d, &r[i + 6].a);
    Swap(&r[i + 2].c, &r[i + 4].b);
    Swap(&r[i + 2].d, &r[i + 6].b);
    Swap(&r[i + 4].d, &r[i + 6].c);
  }
}

  #define BITS(r, from) vandq_u64(vreinterpretq_u64_f64(v.r), vcgtq_u64(vdupq_n_u64(lanes), (uint64x2_t){(from), (from) + 1}))
  #define KEEP(r, from) vreinterpretq_f64_u64(BITS(r, from))

/* Sets unused lanes to 0 */
V8_FUNCTION V8 V8Keep(V8 v, unsigned lanes)
{
  return REGISTERS(KEEP);
}

V8_FUNCTION V8 V8Mul(V8 a, V8 b, unsigned lanes)
{
  if (lanes < BCCOO_SIMD_LANES) {
    a = V8Keep(a, lanes);
    b = V8Keep(b, lanes);
  }
  return (V8){vmulq_f64(a.a, b.a), vmulq_f64(a.b, b.b), vmulq_f64(a.c, b.c), vmulq_f64(a.d, b.d)};
}

V8_FUNCTION V8 V8Add(V8 a, V8 b)
{
  return (V8){vaddq_f64(a.a, b.a), vaddq_f64(a.b, b.b), vaddq_f64(a.c, b.c), vaddq_f64(a.d, b.d)};
}

V8_FUNCTION V8 V8Fma(V8 a, V8 b, V8 c, unsigned lanes)
{
  if (lanes < BCCOO_SIMD_LANES) {
    a = V8Keep(a, lanes);
    b = V8Keep(b, lanes);
  }
  return (V8){vfmaq_f64(c.a, a.a, b.a), vfmaq_f64(c.b, a.b, b.b), vfmaq_f64(c.c, a.c, b.c), vfmaq_f64(c.d, a.d, b.d)};
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

  #define SINGLE(r, from) (lanes > (from) + 1 ? vcvt_f64_f32(vld1_f32(f + (from))) : (float64x2_t){lanes > (from) ? f[from] : 0.0, 0.0})

V8_FUNCTION V8 V8Values(const V8Table *t, int values, const BCCOOSIMDStreams *s, size_t k, unsigned lanes)
{
  const float *f = (const float *)s->values + k;

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
    return REGISTERS(SINGLE);
  default:
    return V8Load((const double *)s->values + k, lanes);
  }
}

typedef float64x2_t V2;
typedef struct {
  float64x2_t a, b;
} V4;

V8_FUNCTION V2 V2Set(double a)
{
  return vdupq_n_f64(a);
}

V8_FUNCTION V2 V2Load(const double *p)
{
  return vld1q_f64(p);
}

V8_FUNCTION void V2Store(double *p, V2 v)
{
  vst1q_f64(p, v);
}

V8_FUNCTION V2 V2Add(V2 a, V2 b)
{
  return vaddq_f64(a, b);
}

V8_FUNCTION V2 V2Fma(V2 a, V2 b, V2 c)
{
  return vfmaq_f64(c, a, b);
}

V8_FUNCTION V4 V4Set(double a)
{
  return (V4){V2Set(a), V2Set(a)};
}

V8_FUNCTION V4 V4Load(const double *p)
{
  return (V4){V2Load(p), V2Load(p + 2)};
}

V8_FUNCTION void V4Store(double *p, V4 v)
{
  V2Store(p, v.a);
  V2Store(p + 2, v.b);
}

V8_FUNCTION V4 V4Add(V4 a, V4 b)
{
  return (V4){V2Add(a.a, b.a), V2Add(a.b, b.b)};
}

V8_FUNCTION V4 V4Fma(V4 a, V4 b, V4 c)
{
  return (V4){V2Fma(a.a, b.a, c.a), V2Fma(a.b, b.b, c.b)};
}

V8_FUNCTION V4 V4Low(V8 v)
{
  return (V4){v.a, v.b};
}

V8_FUNCTION V8 V4Widen(V4 v)
{
  return (V8){v.a, v.b, v.a, v.b};
}

  #include "mult.h"
  #include "matmult.h"

const BCCOOSIMDKernels BCCOOSIMDKernelsNEON = {"neon", PETSC_TRUE, Mult, MultTranspose, BCCOO_DENSE_KERNELS};
#endif
