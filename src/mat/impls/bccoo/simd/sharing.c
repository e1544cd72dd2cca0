/*
  Whether the threads share a product with a vector, or one thread does all of it. Where other programs compute on the same cores, a thread that loses
  its core keeps the others waiting for some milliseconds, and a product may take longer than one thread would need for all of it (C49, C54).

  Products are therefore timed, in turns of a few. After a shared turn that is slower than can be expected of one thread, one thread does a product; as long as
  that is faster it does more turns, and then a turn is shared again. If it is slower, the next trial comes some turns later. How many turns these are
  doubles each time. From the first trial on that was faster, threads also sleep between products. Many threads that wait for one are still faster than
  one, but slower than if they slept: so they do after a long product that is much slower than can be expected of so many (C62).

  The result does not depend on any of this: the parts of a product and the order of its sums remain those of all threads (mult.c).
*/
#include "simdimpl.h"
#include "sys/threads.h"

#define TURN     4    /* products */
#define LONGEST  256  /* turns until the other kind is tried again */
#define EXPECTED 1e-9 /* seconds of one thread for a nonzero in most matrices; many need less than half */
#define SLOW     4    /* times its part of that */
#define LONG     1e-3 /* seconds: waking threads takes some hundredths of this */

PetscErrorCode BCCOOSIMDSharingBegin(const BCCOOSIMD *L, BCCOOSIMDSharing *s, PetscBool *shared)
{
  PetscFunctionBegin;
  *shared = (PetscBool)(L->nrowblocks > 1 && !s->alone);
  if (L->nrowblocks > 1) PetscCall(PetscTime(&s->begin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCCOOSIMDSharingEnd(const BCCOOSIMD *L, BCCOOSIMDSharing *s)
{
  const PetscBool trial = (PetscBool)(s->alone && s->left == s->stay);
  PetscLogDouble  now, mean;

  PetscFunctionBegin;
  if (L->nrowblocks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscTime(&now));
  s->time += now - s->begin;
  if (++s->products < TURN && !trial) PetscFunctionReturn(PETSC_SUCCESS);

  mean = s->time / s->products;
  if (!s->alone) {
    s->last = mean;
    if (mean > LONG && mean * (PetscReal)L->nrowblocks > SLOW * EXPECTED * L->nnz) PetscCall(PetscCSRCThreadsYield((int)L->nrowblocks, PETSC_TRUE));
    if (mean < EXPECTED * L->nnz) s->left = s->stay = 0;
    else if (s->left) s->left--;
    else {
      s->alone = PETSC_TRUE;
      s->left = s->stay = PetscMax(1, s->stay);
    }
  } else if (mean < s->last && s->left) {
    s->left--;
    PetscCall(PetscCSRCThreadsYield((int)L->nrowblocks, PETSC_TRUE));
  } else {
    s->alone = PETSC_FALSE;
    s->left  = mean < s->last ? 0 : s->stay;
    s->stay  = PetscMin(2 * s->stay, LONGEST);
  }
  s->products = 0;
  s->time     = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
