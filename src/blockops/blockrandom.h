#pragma once

/*
  Random numbers by position: a function of a key and a row, the same on host and device. BLOCK_RANDOM declares functions for both.
*/
#include <petscsys.h>

#if defined(__CUDACC__)
  #define BLOCK_RANDOM __host__ __device__ static inline
#else
  #define BLOCK_RANDOM static inline
#endif

/* The finaliser of splitmix64: every bit of the result depends on every bit of x */
BLOCK_RANDOM PetscInt64 BlockRandomMix(PetscInt64 x)
{
  unsigned long long z = (unsigned long long)x + 0x9e3779b97f4a7c15ull;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return (PetscInt64)(z ^ (z >> 31));
}

/* A normal number (complex: in both parts) from a hash, by the method of Box and Muller */
BLOCK_RANDOM PetscScalar BlockRandomNormal(PetscInt64 key, PetscInt row)
{
  const unsigned long long u = (unsigned long long)BlockRandomMix(key ^ (PetscInt64)row);
  const double             a = ((double)(u >> 32) + 0.5) / 4294967296.0;
  const double             b = 6.283185307179586476925 * ((double)(u & 0xffffffffull) / 4294967296.0);
  const double             r = sqrt(-2 * log(a));

#if PetscDefined(USE_COMPLEX) && defined(__CUDACC__)
  return PetscComplex((PetscReal)(r * cos(b)), (PetscReal)(r * sin(b))); /* PetscCMPLX() works on the host only */
#elif PetscDefined(USE_COMPLEX)
  return PetscCMPLX((PetscReal)(r * cos(b)), (PetscReal)(r * sin(b)));
#else
  return (PetscScalar)(r * cos(b));
#endif
}
