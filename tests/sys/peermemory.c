#include <petscconf.h>
#if defined(PETSC_HAVE_CUDA)
  #if !defined(PETSCCSRC_HAVE_CUDA)
    #define PETSCCSRC_HAVE_CUDA
  #endif
  #define POOL_BLOCK ((size_t)1 << 12)
  #include "mappedmemory.h"
  #include <petscsys.h>

static const char help[] = "Memory that devices map (src/exchange/peer/peermemory.c), without devices: pieces of the pool and memory mapped by itself, in any order.\n\n";

  #define MOST  12
  #define STEPS 400

typedef struct {
  PetscCSRCPeerMemory memory;
  size_t              bytes; /* of this process's part */
  int                 id;
} Live;

/* What process `from` stores in the part of process `to` */
static int Number(int id, PetscMPIInt from, PetscMPIInt to)
{
  return 1 + (id * 100 + from) * 100 + to;
}

static PetscInt Wrong(const Live *l, PetscMPIInt size, PetscMPIInt rank)
{
  const int *own = (const int *)PetscCSRCPeerMemoryOf(l->memory, rank);
  PetscInt   bad = 0;

  for (size_t k = 0; k < l->bytes / sizeof(int); k++) bad += own[k] != (k < (size_t)size ? Number(l->id, (PetscMPIInt)k, rank) : 0);
  return bad;
}

/* Memory is made and freed by turns; all processes draw the same numbers, but their parts have other sizes */
static PetscErrorCode Check(MPI_Comm comm, PetscInt *bad, PetscInt *pieces, PetscInt *others)
{
  Live        live[MOST];
  int         n = 0;
  PetscRandom rand;
  PetscMPIInt size, rank;
  PetscBool   usable, share;
  const char *reason;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscCSRCPeersAsked(comm, &usable));
  if (usable) (*bad)++;
  PetscCall(PetscCSRCPeersUsable(comm, &usable, &share, &reason));
  if (!usable || share) (*bad)++;
  PetscCall(PetscCSRCPeersAsked(comm, &usable));
  if (!usable) (*bad)++;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rand));
  for (int step = 0; step < STEPS; step++) {
    PetscReal x, y;

    PetscCall(PetscRandomGetValueReal(rand, &x));
    PetscCall(PetscRandomGetValueReal(rand, &y));
    if (n < MOST && (!n || x < 0.55)) {
      Live *l = &live[n++];

      l->id    = step;
      l->bytes = (size_t)(y * y * 30 * POOL_BLOCK) + 128 + (size_t)((rank * 7 + step) % 5) * POOL_BLOCK;
      PetscCall(PetscCSRCPeerMemoryCreate(comm, "memory", l->bytes, &l->memory));
      if (l->memory->pool) (*pieces)++;
      else (*others)++;
      for (PetscMPIInt r = 0; r < size; r++) ((int *)PetscCSRCPeerMemoryOf(l->memory, r))[rank] = Number(l->id, rank, r);
      PetscCallMPI(MPI_Barrier(comm));
    } else {
      const int k = (int)PetscMin(y * n, n - 1);

      PetscCall(PetscCSRCPeerMemoryDestroy(&live[k].memory));
      live[k] = live[--n];
    }
    for (int k = 0; k < n; k++) *bad += Wrong(&live[k], size, rank);
    PetscCallMPI(MPI_Barrier(comm));
  }
  while (n) PetscCall(PetscCSRCPeerMemoryDestroy(&live[--n].memory));
  PetscCall(PetscRandomDestroy(&rand));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    bad = 0, pieces = 0, others = 0;
  PetscMPIInt rank;
  MPI_Comm    half, comm;
  int         left = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscCommDuplicate(PETSC_COMM_WORLD, &comm, NULL));
  PetscCall(Check(comm, &bad, &pieces, &others));
  PetscCall(PetscCommDestroy(&comm));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank % 2, 0, &half));
  PetscCall(PetscCommDuplicate(half, &comm, NULL));
  PetscCall(Check(comm, &bad, &pieces, &others));
  PetscCall(PetscCommDestroy(&comm));
  PetscCallMPI(MPI_Comm_free(&half));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(mappings); k++) left += mappings[k].address ? 1 : 0;
  /* the pool of all processes stays until PETSc ends, as parts of each that this process has mapped */
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &rank));
  if (left != rank || !pieces || !others) bad++;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &bad, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(PetscFinalize());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(mappings); k++) bad += mappings[k].address ? 1 : 0;
  return bad ? 1 : 0;
}
#else
int main(void)
{
  return 0;
}
#endif

/*TEST

  test:
    suffix: 1
    requires: cuda
    output_file: output/exchange_1.out
    nsize: {{1 2 3 4}}

TEST*/
