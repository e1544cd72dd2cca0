/*
  How many OpenMP threads the library takes on the host.

  A number that somebody has chosen is taken: OMP_NUM_THREADS, -omp_num_threads, omp_set_num_threads(). Otherwise OpenMP would
  take all cores that the process may run on, and so would every other process that the launcher has not bound: as many
  teams as processes, whose threads wait for each other at every barrier, cost tens of times what one thread each does. So
  the processes of a node that may run on a core have equal shares in it, and a process takes as many threads as its shares
  make whole cores.

  Who may run on what can only be told by the processes themselves, all together. All of PETSC_COMM_WORLD are together in
  PetscInitialize(), which loads the library where -dll_append asks for it, and where a parallel matrix on all of them gets
  its type. PetscCSRCInitializePackage(), which programs that link the library call, may be called by some of them alone, and
  a matrix may be on a part of them: to wait for the others there could be to wait for ever. Until all have met, such a
  program's processes assume the worst, that all of the node share all that they may run on: too few threads are slower by
  their number at most, too many by much more.
*/
#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE
#endif
#include "threads.h"
#if defined(__linux__)
  #include <sched.h>
#endif
#if defined(_OPENMP)
  #include <omp.h>
#endif

#define MAX_CORES 8192

static int         OpenMPThreads; /* what OpenMP would have taken when the library was loaded ... */
static int         Threads;       /* ... and what we take for as long as it still would */
static const char *ThreadsFrom;
static PetscBool   Chosen; /* somebody has given that number */
static PetscBool   Met;    /* the processes have, all of them: so this is the same on each */

static int MaxThreads(void)
{
#if defined(_OPENMP)
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/* The cores that this process may run on: core[c] is 1 for these, else 0 */
static PetscErrorCode GetCores(int core[], int *ncores)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(core, MAX_CORES));
#if defined(_OPENMP)
  /* OMP_PLACES and OMP_PROC_BIND bind this thread to one place only: the others' are the process's too */
  for (int p = 0; p < omp_get_num_places(); p++) {
    int *id;

    PetscCall(PetscMalloc1(omp_get_place_num_procs(p), &id));
    omp_get_place_proc_ids(p, id);
    for (int k = 0; k < omp_get_place_num_procs(p); k++) core[id[k] % MAX_CORES] = 1;
    PetscCall(PetscFree(id));
  }
#endif
  *ncores = 0;
  for (int c = 0; c < MAX_CORES; c++) *ncores += core[c];
#if defined(__linux__)
  if (!*ncores) {
    cpu_set_t set[MAX_CORES / CPU_SETSIZE];

    if (!sched_getaffinity(0, sizeof(set), set)) {
      for (int c = 0; c < MAX_CORES; c++) *ncores += core[c] = CPU_ISSET_S(c, sizeof(set), set) ? 1 : 0;
    }
  }
#endif
#if defined(_OPENMP)
  /* a system that does not tell which cores they are */
  if (!*ncores) {
    *ncores = PetscMin(omp_get_num_procs(), MAX_CORES);
    for (int c = 0; c < *ncores; c++) core[c] = 1;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without the others: processes of the node, as the launcher counts them, if it is one of those that say so in the environment */
static PetscErrorCode AssumeShared(int ncores)
{
  static const char *const counts[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"};
  PetscMPIInt              size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(counts); k++) {
    const char *value = getenv(counts[k]);

    if (value && atoi(value) > 0) size = PetscMin(size, atoi(value));
  }
  Threads     = PetscMax(1, ncores / size);
  ThreadsFrom = "the cores of this process over all processes of its node";
  PetscCall(PetscInfo(NULL, "OpenMP threads: at most %d; cores that this process may run on: %d, all of them assumed to be shared by the processes of its node: %d\n", Threads, ncores, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCThreadsMeet(MPI_Comm comm)
{
#if PetscDefined(HAVE_MPI_PROCESS_SHARED_MEMORY)
  PetscMPIInt same, size;
  MPI_Comm    node;
  double      share = 1e-6; /* against rounding of thirds and the like */
  int        *core, *users, ncores;

  PetscFunctionBegin;
  if (Met) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_compare(comm, PETSC_COMM_WORLD, &same));
  if (same == MPI_UNEQUAL) PetscFunctionReturn(PETSC_SUCCESS);
  /* even if this process has a number given: others may have none */
  PetscCall(PetscMalloc2(MAX_CORES, &core, MAX_CORES, &users));
  PetscCall(GetCores(core, &ncores));
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_size(node, &size));
  PetscCallMPI(MPI_Allreduce(core, users, MAX_CORES, MPI_INT, MPI_SUM, node));
  PetscCallMPI(MPI_Comm_free(&node));
  for (int c = 0; c < MAX_CORES; c++) share += core[c] ? 1.0 / users[c] : 0.0;
  PetscCall(PetscFree2(core, users));
  Met = PETSC_TRUE;
  if (!Chosen) {
    Threads     = PetscMax(1, (int)share);
    ThreadsFrom = "its share of the cores that it may run on";
    PetscCall(PetscInfo(NULL, "OpenMP threads: at most %d; cores that this process may run on: %d, its share of them: %.2f, processes of its node: %d\n", Threads, ncores, share, size));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
#else
  PetscFunctionBegin;
  (void)comm;
  PetscFunctionReturn(PETSC_SUCCESS);
#endif
}

PetscErrorCode PetscCSRCThreadsInitialize(void)
{
  PetscBool   initialized, option;
  PetscInt    n;
  PetscMPIInt size;
  int        *core, ncores = 1;

  PetscFunctionBegin;
  Met = PETSC_FALSE;
  PetscCall(PetscInitialized(&initialized));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-omp_num_threads", &n, &option));
#if defined(_OPENMP)
  /* PetscInitialize() would do so, if PETSc has OpenMP, but it loads libraries before */
  if (option && !initialized) omp_set_num_threads((int)n);
#endif
  PetscCall(PetscMalloc1(MAX_CORES, &core));
  PetscCall(GetCores(core, &ncores));
  PetscCall(PetscFree(core));
  OpenMPThreads = MaxThreads();
  Threads       = OpenMPThreads;
  Chosen        = PETSC_TRUE;
  if (option && n == Threads) ThreadsFrom = "-omp_num_threads";
  else if (getenv("OMP_NUM_THREADS")) ThreadsFrom = "OMP_NUM_THREADS";
  else if (Threads < ncores) ThreadsFrom = "omp_set_num_threads()";
  else Chosen = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (!initialized || size == 1) PetscCall(PetscCSRCThreadsMeet(PETSC_COMM_WORLD));
  if (!Chosen && !Met) PetscCall(AssumeShared(ncores));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int PetscCSRCGetNumThreads(const char **from)
{
  const int now = MaxThreads();

  if (from) *from = now == OpenMPThreads ? ThreadsFrom : "omp_set_num_threads()";
  return now == OpenMPThreads ? Threads : now;
}
