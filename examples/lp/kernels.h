#pragma once
/*
  The work of the iteration for one entry i of the vectors of one side, columns (x) or rows (y). Host and device compile the same code:
  the kind is a constant in each loop or kernel.

  T(z) is the point that one iteration of PDHG makes from z. With w = (k+1)/(k+2), where k counts the iterations since the last restart,
  the iteration is z <- w (2 T(z) - z) + (1 - w) start. Steps, and norms of differences, are those of the scaled program.
*/
#include <petscsystypes.h>
#include <petscmath.h>

#if defined(__CUDACC__)
  #define LP_INLINE static __host__ __device__ inline
#else
  #define LP_INLINE static inline __attribute__((always_inline))
#endif

/* What changes between launches of a captured graph */
typedef struct {
  PetscReal tau, sigma; /* steps of x and y, to be multiplied by their scales */
  PetscReal k;          /* iterations since the last restart */
} LPStep;

typedef struct {
  PetscInt           n;
  const PetscScalar *lower, *upper, *cost, *product, *scale; /* product: A^T y for columns, A x for rows; the rows have no cost; scale: LPScale() */
  PetscScalar       *current, *start, *other;
  const LPStep      *step;
} LPSide;

typedef enum {
  LP_COLUMN_STEP,     /* other = 2 T(x) - x, and x moves on */
  LP_COLUMN_REFLECT,  /* other = 2 T(x) - x */
  LP_COLUMN_POINT,    /* other = T(x); |T(x) - x|^2, |T(x) - start|^2, over the scale */
  LP_COLUMN_RESIDUAL, /* with product = A^T T(y): c^T T(x); violated reduced costs, squared, and their part of the bound, in two ways */
  LP_ROW_STEP,        /* with product = A (2 T(x) - x): y moves on */
  LP_ROW_POINT,       /* other = T(y); |T(y) - y|^2, |T(y) - start|^2, over the scale; (T(y) - y)^T A (2 T(x) - x) */
  LP_ROW_RESIDUAL,    /* with product = A T(x): violated rows, squared; their part of the bound; (T(y) - y)^T A T(x) */
  LP_MOVE,            /* z moves on, other = T(z) */
  LP_RESTART          /* z = start = T(z) */
} LPKind;

#define LP_SUMS 5

LP_INLINE PetscReal LPAverage(PetscReal k, PetscReal reflected, PetscReal start)
{
  const PetscReal w = (k + 1) / (k + 2);

  return w * reflected + (1 - w) * start;
}

LP_INLINE PetscReal LPClip(PetscReal a, PetscReal lower, PetscReal upper)
{
  return a < lower ? lower : (a > upper ? upper : a);
}

/* A value at the bound that its multiplier points to; a multiplier that points to an infinite bound is a violation */
LP_INLINE PetscReal LPSupport(PetscReal multiplier, PetscReal lower, PetscReal upper, PetscReal *violation)
{
  const PetscReal bound = multiplier > 0 ? lower : upper;

  *violation = 0;
  if (multiplier == 0) return 0;
  if (bound >= -PETSC_MAX_REAL && bound <= PETSC_MAX_REAL) return multiplier * bound;
  *violation = multiplier;
  return 0;
}

LP_INLINE void LPEntry(LPKind kind, const LPSide *s, PetscReal k, PetscInt i, PetscReal sum[LP_SUMS])
{
  const PetscReal now = PetscRealPart(s->current[i]);

  switch (kind) {
  case LP_COLUMN_STEP:
  case LP_COLUMN_REFLECT:
  case LP_COLUMN_POINT: {
    const PetscReal point = LPClip(now - s->step->tau * PetscRealPart(s->scale[i]) * (PetscRealPart(s->cost[i]) - PetscRealPart(s->product[i])), PetscRealPart(s->lower[i]), PetscRealPart(s->upper[i]));

    if (kind == LP_COLUMN_POINT) {
      const PetscReal away = point - PetscRealPart(s->start[i]);

      s->other[i] = point;
      sum[0] += (point - now) * (point - now) / PetscRealPart(s->scale[i]);
      sum[1] += away * away / PetscRealPart(s->scale[i]);
    } else {
      const PetscReal next = kind == LP_COLUMN_STEP ? LPAverage(s->step->k + k, 2 * point - now, PetscRealPart(s->start[i])) : now;

      s->other[i] = 2 * point - now;
      if (kind == LP_COLUMN_STEP) s->current[i] = next;
    }
  } break;
  case LP_ROW_STEP:
  case LP_ROW_POINT: {
    const PetscReal product = PetscRealPart(s->product[i]), sigma = s->step->sigma * PetscRealPart(s->scale[i]);
    const PetscReal ratio = now / sigma - product, point = sigma * (ratio - LPClip(ratio, -PetscRealPart(s->upper[i]), -PetscRealPart(s->lower[i])));

    if (kind == LP_ROW_POINT) {
      const PetscReal away = point - PetscRealPart(s->start[i]);

      s->other[i] = point;
      sum[0] += (point - now) * (point - now) / PetscRealPart(s->scale[i]);
      sum[1] += away * away / PetscRealPart(s->scale[i]);
      sum[2] += (point - now) * product;
    } else s->current[i] = LPAverage(s->step->k + k, 2 * point - now, PetscRealPart(s->start[i]));
  } break;
  case LP_COLUMN_RESIDUAL: {
    const PetscReal cost = PetscRealPart(s->cost[i]), point = PetscRealPart(s->other[i]), lower = PetscRealPart(s->lower[i]), upper = PetscRealPart(s->upper[i]);
    const PetscReal reduced = cost - PetscRealPart(s->product[i]);
    PetscReal       violation, value = LPSupport(reduced, lower, upper, &violation);

    sum[0] += cost * point;
    sum[1] += violation * violation;
    sum[2] += value;
    /* where x is not at the bound, the whole reduced cost is a violation */
    if (point != (reduced > 0 ? lower : upper)) {
      violation = reduced;
      value     = 0;
    }
    sum[3] += violation * violation;
    sum[4] += value;
  } break;
  case LP_ROW_RESIDUAL: {
    const PetscReal product = PetscRealPart(s->product[i]), point = PetscRealPart(s->other[i]);
    const PetscReal violation = product - LPClip(product, PetscRealPart(s->lower[i]), PetscRealPart(s->upper[i]));
    PetscReal       never;

    sum[0] += violation * violation;
    sum[1] += LPSupport(point, PetscRealPart(s->lower[i]), PetscRealPart(s->upper[i]), &never);
    sum[2] += (point - now) * product;
  } break;
  case LP_MOVE:
    s->current[i] = LPAverage(s->step->k + k, 2 * PetscRealPart(s->other[i]) - now, PetscRealPart(s->start[i]));
    break;
  case LP_RESTART:
    s->current[i] = s->start[i] = s->other[i];
    break;
  }
}

/* The loops, for the memory in which the vectors are. Sums may be NULL for kinds that have none */
typedef struct {
  PetscErrorCode (*create)(void **data, LPStep **step); /* step: where the kernels read it */
  PetscErrorCode (*setstep)(void *data, const LPStep *step);
  PetscErrorCode (*loop)(void *data, LPKind kind, const LPSide *side, PetscInt k, PetscReal sums[]);
  PetscErrorCode (*capture)(void *data, PetscBool begin); /* NULL: there are no graphs */
  PetscErrorCode (*launch)(void *data);
  PetscErrorCode (*destroy)(void **data);
} LPLoops;

PETSC_EXTERN const LPLoops LPLoopsHost;
#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_EXTERN const LPLoops LPLoopsDevice;
#endif
