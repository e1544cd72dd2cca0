/*
  How long products with one vector are expected to take on devices, by what they move, add and launch; docs/parallel.md says how well this agrees with what
  was measured. The constants are those of H200s in one host.
*/
#include "exchangeimpl.h"

/* A product on one device */
#define START  4e-6   /* seconds before its kernel reads nonzeros, and after that */
#define MEMORY 4.3e12 /* bytes a second */
#define LOADS  2.1e11 /* entries of x a second, from the second-level cache */
#define ADDS   1.1e11 /* sums a second that are added to memory */
#define HELD   14e6   /* bytes of sums that all thread blocks together keep in shared memory; if there are more, blocks take turns, ... */
#define TURNS  0.3    /* ... and their beginnings and ends take up to this share of the time */

/* The exchange */
#define REVERSE 3e-6 /* seconds that it takes longer if it adds */
#define PANEL   8    /* columns of a panel: ... */
#define LEAST   8e6  /* ... of so many bytes that a process receives, from which on copies reach 300 GB/s and hide (G16) */
#define SECOND  6e-6 /* pattern lists: packing, and the separate product with the off-diagonal block */

static const struct {
  double start, message, byte; /* seconds of any exchange; for each further neighbour; for each byte that a process receives */
} Links[PETSCCSRC_EXCHANGE_SHARED + 1] = {
  [PETSCCSRC_EXCHANGE_MPI]  = {20e-6, 1e-6,   1 / 2.5e9}, /* through the host's memory; with a GPU-aware MPI the patterns differ by microseconds only */
  [PETSCCSRC_EXCHANGE_NCCL] = {6e-6,  0.5e-6, 1 / 50e9 },
  [PETSCCSRC_EXCHANGE_PEER] = {2e-6,  0.3e-6, 1 / 150e9},
};

static double Product(const PetscCSRCWork *w, PetscBool transpose)
{
  const double moved = (w->bytes + (w->rows + w->columns) * sizeof(PetscScalar)) / MEMORY, runs = w->runs / (transpose == w->bycolumns ? LOADS : ADDS);
  const double turns = ceil((w->bycolumns ? w->columns : w->rows) * sizeof(PetscScalar) / HELD);

  return PetscMax(moved, runs) * (1 + TURNS * (1 - 1 / PetscMax(turns, 1)));
}

static double Exchange(const PetscCSRCProcesses *p, PetscBool gather, PetscBool transpose)
{
  const double neighbours = gather ? p->size - 1.0 : (double)p->neighbours, entries = gather ? (p->size - 1.0) * (double)p->own : (double)p->ghosts;

  if (p->size == 1) return 0;
  return Links[p->type].start + (transpose ? REVERSE : 0) + (gather ? 0 : SECOND) + Links[p->type].message * PetscMax(neighbours - 1, 0) + Links[p->type].byte * entries * sizeof(PetscScalar);
}

PetscCSRCExchangePattern PetscCSRCExpect(const PetscCSRCProcesses *p, PetscCSRCExchangePattern pattern, PetscInt n, const PetscCSRCWork work[], PetscLogDouble seconds[2])
{
  const double gather = Exchange(p, PETSC_TRUE, PETSC_FALSE) + Exchange(p, PETSC_TRUE, PETSC_TRUE), lists = Exchange(p, PETSC_FALSE, PETSC_FALSE) + Exchange(p, PETSC_FALSE, PETSC_TRUE);

  if (pattern == PETSCCSRC_PATTERN_AUTO) pattern = gather <= lists && (double)p->size * (double)p->own < PETSC_INT_MAX ? PETSCCSRC_PATTERN_GATHER : PETSCCSRC_PATTERN_LISTS;
  for (int t = 0; t < 2; t++) {
    seconds[t] = START + Exchange(p, (PetscBool)(pattern == PETSCCSRC_PATTERN_GATHER), (PetscBool)t);
    for (PetscInt k = 0; k < n; k++) seconds[t] += Product(&work[k], (PetscBool)t);
  }
  return pattern;
}

PetscInt PetscCSRCExpectPanel(const PetscCSRCProcesses *p, PetscInt K)
{
  return K >= 2 * PANEL && (p->size - 1.0) * (double)p->own * PANEL * sizeof(PetscScalar) >= LEAST ? PANEL : K;
}
