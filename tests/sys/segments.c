/*
  Memory that the processes of a node share (src/exchange/sharedmemory.c): its own source, whose system calls can fail, be interrupted, or end the process.
  -die N ends the last process at its N-th system call; tests/programs/test_sharedmemory.sh looks for what it leaves.
*/
#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE
#endif
#include <petscconf.h>
#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  #include "exchange/exchangeimpl.h"
  #include <errno.h>
  #include <fcntl.h>
  #include <signal.h>
  #include <stdio.h>
  #include <sys/mman.h>
  #include <sys/socket.h>
  #include <sys/stat.h>
  #include <unistd.h>

static const char help[] = "Memory that processes of a node share, and what happens if system calls fail.\n\n";

static int       calls = 0, fails = 0, dies = 0; /* system calls of this process; the number of the one that fails, or at which it ends; 0: none */
static PetscBool interrupted = PETSC_FALSE;      /* every second reservation is interrupted */

static int Fails(void)
{
  calls++;
  if (calls == dies) (void)raise(SIGKILL);
  errno = EACCES;
  return calls == fails;
}

  #define PAGE 65536 /* the largest pages of any processor: parts that begin with them are right for smaller ones, too */

static PetscBool misplaced = PETSC_FALSE;

static int Fallocate(int file, off_t at, off_t bytes)
{
  static int count = 0;

  if (at % PAGE) misplaced = PETSC_TRUE;
  if (Fails()) return ENOSPC;
  if (interrupted && ++count % 2) return EINTR;
  return posix_fallocate(file, at, bytes);
}

static void *MapFile(void *at, size_t bytes, int prot, int flags, int file, off_t offset)
{
  return Fails() ? MAP_FAILED : mmap(at, bytes, prot, flags, file, offset);
}

  #define memfd_create(...)    (Fails() ? -1 : memfd_create(__VA_ARGS__))
  #define socket(...)          (Fails() ? -1 : socket(__VA_ARGS__))
  #define bind(...)            (Fails() ? -1 : bind(__VA_ARGS__))
  #define sendmsg(...)         (Fails() ? -1 : sendmsg(__VA_ARGS__))
  #define recvmsg(...)         (Fails() ? -1 : recvmsg(__VA_ARGS__))
  #define posix_fallocate(...) Fallocate(__VA_ARGS__)
  #define sysconf(name)        PAGE
  #define mmap(...)            MapFile(__VA_ARGS__)
  #include "../../src/exchange/common.c"
  #include "../../src/exchange/sharedmemory.c"

  #define PIECES 60

static PetscInt    bad = 0;
static PetscMPIInt rank, size;

static void Expect(PetscBool good, const char what[])
{
  if (!good && bad++ < 5) (void)PetscFPrintf(PETSC_COMM_SELF, stdout, "[%d] %s\n", rank, what);
}

/* Mappings of such memory, and open files */
static int CountMappings(void)
{
  FILE *maps = fopen("/proc/self/maps", "r");
  char  line[512];
  int   n = 0;

  while (maps && fgets(line, sizeof(line), maps)) n += strstr(line, "memfd:petsccsrc") ? 1 : 0;
  if (maps) fclose(maps);
  return n;
}

static int CountFiles(void)
{
  int n = 0;

  for (int f = 0; f < 1024; f++) n += fcntl(f, F_GETFD) >= 0;
  return n;
}

static size_t Bytes(int k)
{
  return k % 50 == 7 ? 300000 + 1000 * (size_t)k : 24 + 128 * (size_t)(k % 5);
}

/* Each process writes its number into its part; all must find the numbers of all, and zeros behind them */
static PetscErrorCode CheckPiece(MPI_Comm node, ExchangeSegments s, int k, PetscBool first)
{
  int *own = (int *)ExchangeSegmentOf(s, rank);

  PetscFunctionBeginUser;
  if (first) {
    for (size_t b = 0; b < Bytes(k) / sizeof(int); b++) Expect((PetscBool)!own[b], "memory is not zero at first");
    own[0] = 1000 * k + rank + 1;
    own[1] = -k;
  }
  PetscCallMPI(MPI_Barrier(node));
  for (PetscMPIInt r = 0; r < size; r++) {
    const int *theirs = (const int *)ExchangeSegmentOf(s, r);

    Expect((PetscBool)(theirs[0] == 1000 * k + r + 1 && theirs[1] == -k), "another process's numbers are missing");
  }
  PetscCallMPI(MPI_Barrier(node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many pieces at the same time, freed in an order that differs between processes, and used again */
static PetscErrorCode CheckPieces(MPI_Comm node)
{
  ExchangeSegments s[PIECES];

  PetscFunctionBeginUser;
  for (int pass = 0; pass < 2; pass++) {
    for (int k = 0; k < PIECES; k++) {
      if (pass && k % 3) continue;
      PetscCall(ExchangeSegmentsCreate(node, Bytes(k), &s[k]));
      PetscCheck(s[k], PETSC_COMM_SELF, PETSC_ERR_MEM, "There is no shared memory");
      PetscCall(CheckPiece(node, s[k], k, PETSC_TRUE));
    }
    for (int k = 0; k < PIECES; k++) PetscCall(CheckPiece(node, s[k], k, PETSC_FALSE));
    for (int k = 0; k < PIECES; k++) {
      const int which = rank % 2 ? PIECES - 1 - k : k;

      if (pass || which % 3 == 0) PetscCall(ExchangeSegmentsDestroy(&s[which]));
    }
  }
  Expect((PetscBool)!CountMappings(), "mappings are left");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each system call fails once on one process: all go on without such memory, or by the other way, and nothing is left */
static PetscErrorCode CheckFailures(MPI_Comm node, PetscMPIInt where)
{
  const int files = CountFiles();
  int       all[2];

  PetscFunctionBeginUser;
  for (int k = 1; k < 40; k++) {
    ExchangeSegments s;

    calls = 0;
    fails = rank == where ? k : 0;
    PetscCall(ExchangeSegmentsCreate(node, 100, &s));
    all[0] = s ? 1 : 0;
    PetscCallMPI(MPI_Allreduce(&all[0], &all[1], 1, MPI_INT, MPI_SUM, node));
    Expect((PetscBool)(all[1] == 0 || all[1] == size), "processes do not agree");
    if (s) PetscCall(CheckPiece(node, s, 1, PETSC_TRUE));
    PetscCall(ExchangeSegmentsDestroy(&s));
    Expect((PetscBool)(!CountMappings() && CountFiles() == files), "a mapping or a file is left");
    all[0] = rank == where && calls < k;
    PetscCallMPI(MPI_Bcast(&all[0], 1, MPI_INT, where, node));
    if (all[0]) {
      Expect((PetscBool)(s || all[1] == size), "there is no shared memory though nothing failed");
      break;
    }
  }
  fails = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MPI_Comm         node;
  PetscInt         n = 0;
  ExchangeSegments s;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_dup(PETSC_COMM_WORLD, &node));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-die", &n, NULL));
  if (n) {
    dies = rank == size - 1 ? (int)n : 0;
    PetscCall(ExchangeSegmentsCreate(node, 100, &s));
    PetscCall(ExchangeSegmentsDestroy(&s));
  } else {
    PetscCall(CheckPieces(node));
    interrupted = PETSC_TRUE;
    PetscCall(ExchangeSegmentsCreate(node, 5000000, &s));
    Expect((PetscBool)(s != NULL), "a signal interrupts the reservation of memory");
    Expect((PetscBool)!misplaced, "the part of a process does not begin with a page");
    PetscCall(ExchangeSegmentsDestroy(&s));
    interrupted = PETSC_FALSE;
    PetscCall(CheckFailures(node, 0));
    PetscCall(CheckFailures(node, size - 1));
  }
  PetscCallMPI(MPI_Comm_free(&node));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " faults\n", bad));
  PetscCall(PetscFinalize());
  return 0;
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
    requires: defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
    output_file: output/exchange_1.out
    nsize: {{1 2 3}}

TEST*/
