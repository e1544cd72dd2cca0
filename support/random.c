/* Random numbers that belong to a place, a row for example, and not to a process: so that all is the same on any number of processes */
#include "support.h"

/*
  RandomStart - The state from which the numbers of one place come

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

/* RandomBits - 64 random bits, by splitmix64: a counter and a mixing function, so that any state is a good one */
uint64_t RandomBits(uint64_t *state)
{
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* RandomUniform - A random number, uniform in [0, 1) */
double RandomUniform(uint64_t *state)
{
  return (double)(RandomBits(state) >> 11) / 9007199254740992.0; /* 2^53 */
}
