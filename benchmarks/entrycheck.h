#pragma once

/*
  What the checks of products have in common, in C and C++: the entries of operands, and how large an error is.
*/
#include <petscsys.h>
#include <math.h>
#include <stdint.h>

/* The same for every run: uniform in [-1, 1) */
static inline double ReferenceValue(uint64_t index)
{
  uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
  return 2.0 * (double)(z >> 11) / 9007199254740992.0 - 1.0; /* 2^53 */
}

/* An error as a share of what rounding allows: above 1 the entry is wrong. NaN comes out as infinity. */
static inline PetscReal ErrorShare(PetscReal differs, PetscReal allowed)
{
  if (differs == 0) return 0;
  return allowed > 0 && differs < PETSC_MAX_REAL ? differs / allowed : (PetscReal)INFINITY;
}
