/*
  Memory that the processes of a node share: a segment of each process, in POSIX shared memory, which the others map. It has a name only until all
  have mapped it, so that nothing is left behind when the processes end, however they do.

  MPI_Win_allocate_shared() would be shorter. But where there is not enough memory (64 MB in many a container), Open MPI 4 returns an error
  on one process and keeps the others waiting.
*/
#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE
#endif
#include "exchangeimpl.h"

#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  #include <fcntl.h>
  #include <sys/mman.h>
  #include <time.h>
  #include <unistd.h>

/* What a process tells the others of its segment; the name has to be new on the node */
typedef struct {
  long pid, nanoseconds;
} Segment;

static PetscErrorCode GetName(const Segment *s, char name[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, len, "/petsccsrc-%ld-%ld", s->pid, s->nanoseconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Maps a segment, a new one with memory for all of it; NULL if that fails */
static void *Map(const char name[], PetscBool create, size_t bytes)
{
  const int file = shm_open(name, create ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
  void     *at   = MAP_FAILED;

  if (file < 0) return NULL;
  /* without memory for all of it a process would be killed when it writes there */
  if (!create || !posix_fallocate(file, 0, (off_t)bytes)) at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  (void)close(file);
  if (create && at == MAP_FAILED) (void)shm_unlink(name);
  return at == MAP_FAILED ? NULL : at;
}

static PetscErrorCode Agree(MPI_Comm node, PetscBool *ok)
{
  int all = *ok ? 1 : 0;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, node));
  *ok = all ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeSegmentsMap(MPI_Comm node, size_t bytes, void *at[], PetscBool *done)
{
  PetscMPIInt     size, rank;
  struct timespec now;
  Segment         own, *all = NULL;
  char            name[64];
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(node, &size));
  PetscCallMPI(MPI_Comm_rank(node, &rank));
  PetscCall(PetscMemzero(at, size * sizeof(*at)));
  ierr = PetscCSRCAgree(node, PetscMalloc1(size, &all), "Memory that processes share");
  if (ierr) PetscCall(PetscFree(all));
  PetscCall(ierr);
  (void)clock_gettime(CLOCK_REALTIME, &now);
  own = (Segment){(long)getpid(), now.tv_nsec};
  PetscCall(GetName(&own, name, sizeof(name)));
  at[rank] = Map(name, PETSC_TRUE, bytes);
  *done    = at[rank] ? PETSC_TRUE : PETSC_FALSE;
  PetscCallMPI(MPI_Allgather(&own, 2, MPI_LONG, all, 2, MPI_LONG, node));
  PetscCall(Agree(node, done));
  for (PetscMPIInt r = 0; r < size && *done; r++) {
    char theirs[64];

    if (r == rank) continue;
    PetscCall(GetName(&all[r], theirs, sizeof(theirs)));
    at[r] = Map(theirs, PETSC_FALSE, bytes);
    *done = at[r] ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscCall(PetscFree(all));
  PetscCall(Agree(node, done));
  if (at[rank]) (void)shm_unlink(name);
  if (!*done) PetscCall(ExchangeSegmentsUnmap(size, bytes, at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeSegmentsUnmap(PetscMPIInt n, size_t bytes, void *at[])
{
  PetscFunctionBegin;
  for (PetscMPIInt r = 0; r < n; r++) {
    if (at[r]) PetscCheck(!munmap(at[r], bytes), PETSC_COMM_SELF, PETSC_ERR_SYS, "munmap() of memory that processes share failed");
    at[r] = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
