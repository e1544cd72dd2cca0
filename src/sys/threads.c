/*
  The number of OpenMP threads that the library uses on the host.

  If the user has chosen a number (OMP_NUM_THREADS, -omp_num_threads, omp_set_num_threads()), the library uses it. Otherwise
  OpenMP would use all cores that the process may run on, and so would every other process that the launcher has not bound.
  There would then be one full team for each process, with threads that wait for each other at every barrier: this takes tens
  of times as long as one thread for each process. So each core is divided equally among the processes of the node that may
  run on it, and a process uses as many threads as its shares add up to, rounded down, but at least one.

  To count the shares, the processes have to communicate. All of PETSC_COMM_WORLD can do so at two places: in
  PetscInitialize(), which loads the library if -dll_append asks for it, and where a parallel matrix on all of them gets its
  type. PetscCSRCInitializePackage(), which programs that link the library call, may be called on some processes only, and a
  matrix may be on some only: to wait for the others there could be a deadlock. Until the processes have communicated, they
  assume the worst: that all processes of the node share all cores that this one may run on. Too few threads are slower by
  at most the factor by which they are too few; too many are slower by much more.

  A process that fork() makes has no threads of its parent's team, and a run time that does not know this, as libgomp, waits for them. So there,
  parallel regions have one thread.
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
  #include <pthread.h>
#endif

#define MAX_CORES 8192

static int         OpenMPThreads; /* omp_get_max_threads() when the library was loaded ... */
static int         Threads;       /* ... and the number that the library uses as long as OpenMP's is still that one */
static const char *ThreadsFrom;
static PetscBool   Chosen;        /* the user has given the number */
static PetscBool   Met;           /* PetscCSRCThreadsMeet() has run on all processes; the same on each */
static int         Processes = 1; /* of the node; until they have met, perhaps too many */

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
  /* OMP_PLACES and OMP_PROC_BIND bind this thread to one place; the places of the other threads are the process's too */
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
  /* the system does not tell which cores they are */
  if (!*ncores) {
    *ncores = PetscMin(omp_get_num_procs(), MAX_CORES);
    for (int c = 0; c < *ncores; c++) core[c] = 1;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without communication: the launcher's number, if it sets one of these environment variables, otherwise that of PETSC_COMM_WORLD */
static PetscErrorCode CountProcesses(void)
{
  static const char *const counts[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"};
  PetscMPIInt              size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(counts); k++) {
    const char *value = getenv(counts[k]);

    if (value && atoi(value) > 0) size = PetscMin(size, atoi(value));
  }
  Processes = size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without communication */
static PetscErrorCode AssumeShared(int ncores)
{
  PetscFunctionBegin;
  Threads     = PetscMax(1, ncores / Processes);
  ThreadsFrom = "the cores of this process over all processes of its node";
  PetscCall(PetscInfo(NULL, "OpenMP threads: at most %d; cores that this process may run on: %d, all of them assumed to be shared by the processes of its node: %d\n", Threads, ncores, Processes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCThreadsMeet(MPI_Comm comm)
{
#if PetscDefined(HAVE_MPI_PROCESS_SHARED_MEMORY)
  PetscMPIInt same, size;
  MPI_Comm    node;
  double      share = 1e-6; /* so that 3 * (1.0 / 3) is not rounded down to 0 */
  int        *core, *users, ncores;

  PetscFunctionBegin;
  if (Met) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_compare(comm, PETSC_COMM_WORLD, &same));
  if (same == MPI_UNEQUAL) PetscFunctionReturn(PETSC_SUCCESS);
  /* even if the user has chosen a number on this process: perhaps not on the others */
  PetscCall(PetscMalloc2(MAX_CORES, &core, MAX_CORES, &users));
  PetscCall(GetCores(core, &ncores));
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_size(node, &size));
  PetscCallMPI(MPI_Allreduce(core, users, MAX_CORES, MPI_INT, MPI_SUM, node));
  PetscCallMPI(MPI_Comm_free(&node));
  for (int c = 0; c < MAX_CORES; c++) share += core[c] ? 1.0 / users[c] : 0.0;
  PetscCall(PetscFree2(core, users));
  Met       = PETSC_TRUE;
  Processes = size;
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

#if defined(_OPENMP)
static void ForkedChild(void)
{
  omp_set_max_active_levels(0);
}
#endif

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
  if (!OpenMPThreads) (void)pthread_atfork(NULL, NULL, ForkedChild); /* once; the C library forgets it when this library is unloaded */
  /* PetscInitialize() does this too, if PETSc has OpenMP, but only after it has loaded libraries */
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
  PetscCall(CountProcesses());
  if (!initialized || size == 1) PetscCall(PetscCSRCThreadsMeet(PETSC_COMM_WORLD));
  if (!Chosen && !Met) PetscCall(AssumeShared(ncores));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int PetscCSRCGetNumProcesses(void)
{
  return Processes;
}

int PetscCSRCGetNumThreads(const char **from)
{
  const int now = MaxThreads();

  if (from) *from = now == OpenMPThreads ? ThreadsFrom : "omp_set_num_threads()";
  return now == OpenMPThreads ? Threads : now;
}
