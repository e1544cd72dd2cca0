/* Random numbers that depend on a place, for example a row, and not on the process: they are the same on any number of processes */
#include "support.h"

/*
  RandomStart - Returns the initial state of the random numbers of one place

  Not Collective

  Input Parameters:
+ seed  - any number
- index - the place
*/
uint64_t RandomStart(uint64_t seed, PetscInt index)
{
  seed = RandomBits(&seed) ^ (uint64_t)index;
  return RandomBits(&seed);
}

/* RandomBits - Returns 64 random bits, by splitmix64: a counter and a mixing function, so any initial state is good */
uint64_t RandomBits(uint64_t *state)
{
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* RandomUniform - Returns a random number, uniform in [0, 1) */
double RandomUniform(uint64_t *state)
{
  return (double)(RandomBits(state) >> 11) / 9007199254740992.0; /* 2^53 */
}

/* RandomDraw - Returns the t-th random number of row i, in [0, 1): no state, but only 31 bits of modest quality, enough for an example's data */
PetscReal RandomDraw(PetscInt i, PetscInt t)
{
  uint64_t z = (uint64_t)i * 7919 + (uint64_t)t * 104729 + 12345;

  for (int k = 0; k < 3; k++) z = (z * 1103515245 + 12345 + (z >> 7)) & 0x7fffffff;
  return (PetscReal)z / (PetscReal)0x80000000;
}
