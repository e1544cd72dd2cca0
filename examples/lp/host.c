/* The loops of kernels.h on the host */
#include "lp.h"
#include "kernels.h"

static PetscErrorCode Create_Host(void **data, LPStep **step)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(step));
  *data = *step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetStep_Host(void *data, const LPStep *step)
{
  PetscFunctionBegin;
  *(LPStep *)data = *step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each kind has a loop of its own, in which it is a constant */
#define LPLoopCase(kind) \
  case kind: \
    PetscPragmaOMP(parallel for schedule(static) reduction(+ : a, b, c, d, e)) \
    for (PetscInt i = 0; i < s.n; i++) { \
      PetscReal sum[LP_SUMS] = {0}; \
\
      LPEntry(kind, &s, (PetscReal)k, i, sum); \
      a += sum[0]; \
      b += sum[1]; \
      c += sum[2]; \
      d += sum[3]; \
      e += sum[4]; \
    } \
    break

static PetscErrorCode Loop_Host(void *data, LPKind kind, const LPSide *side, PetscInt k, PetscReal sums[])
{
  const LPSide s = *side;
  PetscReal    a = 0, b = 0, c = 0, d = 0, e = 0;

  PetscFunctionBegin;
  switch (kind) {
    LPLoopCase(LP_COLUMN_STEP);
    LPLoopCase(LP_COLUMN_REFLECT);
    LPLoopCase(LP_COLUMN_POINT);
    LPLoopCase(LP_COLUMN_RESIDUAL);
    LPLoopCase(LP_ROW_STEP);
    LPLoopCase(LP_ROW_POINT);
    LPLoopCase(LP_ROW_RESIDUAL);
    LPLoopCase(LP_MOVE);
    LPLoopCase(LP_RESTART);
  }
  if (sums) {
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
    sums[4] = e;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_Host(void **data)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const LPLoops LPLoopsHost = {Create_Host, SetStep_Host, Loop_Host, NULL, NULL, Destroy_Host};
