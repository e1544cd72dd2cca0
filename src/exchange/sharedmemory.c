/*
  Memory that the processes of a node share. A chunk is a file in memory without a name: one process makes it, the others get it by a message with
  SCM_RIGHTS. So nothing is left behind however and whenever processes end. Each process has a part of the chunk, for which it reserves memory itself,
  near its own core.

      chunk   | part of process 0: 64 blocks | part of process 1: 64 blocks | ...

  A process maps a chunk once. Chunks are kept for the communicator of a node, and what is asked for is consecutive blocks of each part: mappings of a
  process are limited, matrices are not. A process unmaps a chunk when it has no block of it any more.

  MPI_Win_allocate_shared() would be shorter. But where there is not enough memory, Open MPI 4 returns an error on one process and keeps the others
  waiting.
*/
#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE
#endif
#include "exchangeimpl.h"

#if defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
  #include <errno.h>
  #include <fcntl.h>
  #include <sys/mman.h>
  #include <sys/socket.h>
  #include <sys/stat.h>
  #include <sys/un.h>
  #include <unistd.h>

  #define BLOCKS      64
  #define BLOCK_LEAST 1024             /* bytes of a block */
  #define BLOCK_UNIT  128              /* of which a block is a multiple, and of 1 / BLOCKS of a page, so that a part is one of pages */
  #define STEP        ((off_t)1 << 20) /* bytes reserved at a time: a signal interrupts one step */

enum {
  NO_ROOM = -1,
  GONE    = -2 /* this process has unmapped it */
};

typedef struct _n_Chunk Chunk;
struct _n_Chunk {
  Chunk   *next;
  char    *at;
  size_t   block; /* bytes of a block ... */
  uint64_t taken; /* ... and the blocks of this process's part that are taken, a bit each */
};

/* What is kept for the communicator of a node; the list is the same on all processes */
typedef struct {
  Chunk *chunks;
} Pool;

struct _n_ExchangeSegments {
  PetscMPIInt size, rank;
  Chunk      *chunk;
  uint64_t    blocks; /* of this process's part */
  PetscMPIInt first[];
};

/* How processes know that a file is the right one; the inode 0: there is none */
typedef struct {
  dev_t device;
  ino_t inode;
} Told;

static PetscErrorCode Unmap(PetscMPIInt size, Chunk *c)
{
  PetscFunctionBegin;
  if (c->at) PetscCheck(!munmap(c->at, (size_t)size * BLOCKS * c->block), PETSC_COMM_SELF, PETSC_ERR_SYS, "munmap() of memory that processes share failed");
  c->at = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* When the communicator is freed no exchange has a block any more */
static PetscErrorCode DestroyPool(void *data)
{
  Pool *pool = (Pool *)data;

  PetscFunctionBegin;
  while (pool->chunks) {
    Chunk *c = pool->chunks;

    pool->chunks = c->next;
    PetscCall(PetscFree(c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static ExchangeAttribute Attribute = {sizeof(Pool), DestroyPool, MPI_KEYVAL_INVALID};

static PetscErrorCode Agree(MPI_Comm node, PetscBool *ok)
{
  int all = *ok ? 1 : 0;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, node));
  *ok = all ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Closes a file that is not the one that was told of */
static int OnlyIfSame(int file, const Told *told)
{
  struct stat s;

  if (file < 0 || (!fstat(file, &s) && s.st_dev == told->device && s.st_ino == told->inode)) return file;
  (void)close(file);
  return -1;
}

/* A message with one byte and the right to a file, or with room for it */
typedef struct {
  struct msghdr header;
  struct iovec  part;
  char          byte;
  union {
    char           bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
} Message;

static void SetMessage(Message *m)
{
  (void)memset(m, 0, sizeof(*m));
  m->part                  = (struct iovec){&m->byte, 1};
  m->header.msg_iov        = &m->part;
  m->header.msg_iovlen     = 1;
  m->header.msg_control    = m->control.bytes;
  m->header.msg_controllen = sizeof(m->control.bytes);
}

static void Send(int from, struct sockaddr_un *to, socklen_t len, int file)
{
  Message         m;
  struct cmsghdr *c;

  SetMessage(&m);
  m.header.msg_name    = to;
  m.header.msg_namelen = len;
  c                    = CMSG_FIRSTHDR(&m.header);
  c->cmsg_level        = SOL_SOCKET;
  c->cmsg_type         = SCM_RIGHTS;
  c->cmsg_len          = CMSG_LEN(sizeof(int));
  (void)memcpy(CMSG_DATA(c), &file, sizeof(file));
  (void)sendmsg(from, &m.header, MSG_NOSIGNAL); /* who gets none says so */
}

static int Receive(int at)
{
  Message         m;
  struct cmsghdr *c;
  int             file = -1;

  SetMessage(&m);
  if (recvmsg(at, &m.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) return -1;
  c = CMSG_FIRSTHDR(&m.header);
  if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) (void)memcpy(&file, CMSG_DATA(c), sizeof(file));
  return file;
}

typedef struct {
  struct sockaddr_un name;
  socklen_t          len; /* 0: there is no socket */
} Address;

/*
  Process 0 makes the file and sends it to the others, whose sockets the system gives names that are no files, before it tells them which one it is.
  *file is -1 where there is none.
*/
static PetscErrorCode Share(MPI_Comm node, PetscMPIInt size, PetscMPIInt rank, int *file)
{
  const int      own  = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  Address        here = {{.sun_family = AF_UNIX}, 0}, *all = NULL;
  socklen_t      len  = sizeof(here.name);
  Told           told = {0, 0};
  struct stat    s;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *file = -1;
  ierr  = PetscCSRCAgree(node, PetscMalloc1(rank ? 0 : size, &all), "Memory that processes share");
  if (!ierr) {
    if (!rank) *file = memfd_create("petsccsrc", MFD_CLOEXEC);
    if (*file >= 0 && !fstat(*file, &s)) told = (Told){s.st_dev, s.st_ino};
    if (own >= 0 && rank && !bind(own, (struct sockaddr *)&here.name, sizeof(here.name.sun_family)) && !getsockname(own, (struct sockaddr *)&here.name, &len)) here.len = len;
    PetscCallMPI(MPI_Gather(&here, sizeof(here), MPI_BYTE, all, sizeof(here), MPI_BYTE, 0, node));
    for (PetscMPIInt r = 1; r < size && *file >= 0 && own >= 0; r++) {
      if (all[r].len) Send(own, &all[r].name, all[r].len, *file);
    }
    PetscCallMPI(MPI_Bcast(&told, sizeof(told), MPI_BYTE, 0, node));
    if (rank && here.len) *file = OnlyIfSame(Receive(own), &told);
  }
  if (own >= 0) (void)close(own);
  PetscCall(PetscFree(all));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without memory for all of it a process would be killed when it writes there */
static PetscBool Reserve(int file, off_t begin, off_t end)
{
  while (begin < end) {
    const off_t bytes = PetscMin(end - begin, STEP);
    const int   err   = posix_fallocate(file, begin, bytes);

    if (err && err != EINTR) return PETSC_FALSE;
    if (!err) begin += bytes;
  }
  return PETSC_TRUE;
}

/* Maps a new chunk. After each step all processes agree on whether to go on; *done is the same on all. */
static PetscErrorCode Map(MPI_Comm node, PetscMPIInt size, PetscMPIInt rank, Chunk *c, PetscBool *done)
{
  const size_t part = BLOCKS * c->block;
  void        *at   = MAP_FAILED;
  int          file;

  PetscFunctionBegin;
  PetscCall(Share(node, size, rank, &file));
  *done = file >= 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(Agree(node, done));
  if (*done) {
    *done = Reserve(file, (off_t)part * rank, (off_t)part * (rank + 1));
    PetscCall(Agree(node, done));
  }
  if (*done) {
    at    = mmap(NULL, part * (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    *done = at != MAP_FAILED ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(Agree(node, done));
  }
  if (file >= 0) (void)close(file);
  c->at = at == MAP_FAILED ? NULL : (char *)at;
  if (!*done) PetscCall(Unmap(size, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of blocks as bits from the lowest one on; 0: more than a part has */
static uint64_t Bits(const Chunk *c, size_t bytes)
{
  const size_t n = (bytes + c->block - 1) / c->block;

  return n < BLOCKS ? ((uint64_t)1 << n) - 1 : n == BLOCKS ? ~(uint64_t)0 : 0;
}

/* The first of consecutive blocks of this process's part that are free */
static int Find(const Chunk *c, size_t bytes)
{
  const uint64_t bits = Bits(c, bytes);

  if (!c->at) return GONE;
  for (int b = 0; bits && b < BLOCKS; b++) {
    if ((bits << b) >> b == bits && !(c->taken & bits << b)) return b;
  }
  return NO_ROOM;
}

/* A chunk in which all processes have room, and where; NULL if there is none. Forgets those that all have unmapped. */
static PetscErrorCode Choose(MPI_Comm node, Pool *pool, size_t bytes, ExchangeSegments s, Chunk **chunk)
{
  int            n = 0, k = 0, *all = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *chunk = NULL;
  for (const Chunk *c = pool->chunks; c; c = c->next) n++;
  ierr = PetscCSRCAgree(node, PetscMalloc1((size_t)n * (s->size + 1), &all), "Memory that processes share");
  if (ierr) PetscCall(PetscFree(all));
  PetscCall(ierr);
  for (const Chunk *c = pool->chunks; c; c = c->next) all[n * s->size + k++] = Find(c, bytes);
  PetscCallMPI(MPI_Allgather(PetscSafePointerPlusOffset(all, n * s->size), n, MPI_INT, all, n, MPI_INT, node));
  k = 0;
  for (Chunk **c = &pool->chunks; *c; k++) {
    PetscBool room = PETSC_TRUE, gone = PETSC_TRUE;

    for (PetscMPIInt r = 0; r < s->size; r++) {
      if (all[r * n + k] < 0) room = PETSC_FALSE;
      if (all[r * n + k] != GONE) gone = PETSC_FALSE;
    }
    if (room && !*chunk) {
      *chunk = *c;
      for (PetscMPIInt r = 0; r < s->size; r++) s->first[r] = all[r * n + k];
    }
    if (gone) {
      Chunk *old = *c;

      *c = old->next;
      PetscCall(PetscFree(old));
    } else c = &(*c)->next;
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds a chunk with room for so many bytes of each process; *chunk is NULL if there is no memory for it */
static PetscErrorCode AddChunk(MPI_Comm node, Pool *pool, size_t bytes, const struct _n_ExchangeSegments *s, Chunk **chunk)
{
  const size_t   block = (bytes + BLOCKS - 1) / BLOCKS, unit = PetscMax(BLOCK_UNIT, (size_t)sysconf(_SC_PAGESIZE) / BLOCKS);
  PetscBool      done = PETSC_FALSE;
  Chunk         *c    = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(node, PetscNew(&c), "Memory that processes share");
  if (!ierr) {
    c->block = PetscMax(BLOCK_LEAST, (block + unit - 1) / unit * unit);
    ierr     = Map(node, s->size, s->rank, c, &done);
  }
  if (done) {
    c->next      = pool->chunks;
    pool->chunks = c;
  } else PetscCall(PetscFree(c));
  PetscCall(ierr);
  *chunk = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeSegmentsCreate(MPI_Comm node, size_t bytes, ExchangeSegments *segments)
{
  ExchangeSegments s = NULL;
  PetscMPIInt      size, rank;
  Pool            *pool;
  PetscBool        isnew;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  *segments = NULL;
  PetscCallMPI(MPI_Comm_size(node, &size));
  PetscCallMPI(MPI_Comm_rank(node, &rank));
  PetscCall(ExchangeAttributeGet(&Attribute, node, &pool, &isnew));
  ierr = PetscCSRCAgree(node, PetscCalloc(sizeof(*s) + (size_t)size * sizeof(s->first[0]), &s), "Memory that processes share");
  if (!ierr) {
    s->size = size;
    s->rank = rank;
    ierr    = Choose(node, pool, bytes, s, &s->chunk);
  }
  if (!ierr && !s->chunk) ierr = AddChunk(node, pool, bytes, s, &s->chunk);
  if (ierr || !s->chunk) {
    PetscCall(PetscFree(s));
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s->blocks = Bits(s->chunk, bytes) << s->first[rank];
  s->chunk->taken |= s->blocks;
  /* All are here: nobody uses any more what had these blocks before. Nobody goes on before all blocks are zeros. */
  PetscCall(PetscMemzero(ExchangeSegmentOf(s, rank), bytes));
  PetscCallMPI(MPI_Barrier(node));
  *segments = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void *ExchangeSegmentOf(ExchangeSegments s, PetscMPIInt r)
{
  return s->chunk->at + ((size_t)r * BLOCKS + (size_t)s->first[r]) * s->chunk->block;
}

PetscErrorCode ExchangeSegmentsDestroy(ExchangeSegments *segments)
{
  ExchangeSegments s = *segments;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  s->chunk->taken &= ~s->blocks;
  if (!s->chunk->taken) PetscCall(Unmap(s->size, s->chunk));
  PetscCall(PetscFree(*segments));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeSharedCount(MPI_Comm comm, PetscInt *n)
{
  PetscShmComm shm;
  MPI_Comm     node;
  PetscMPIInt  size;

  PetscFunctionBegin;
  PetscCall(PetscShmCommGet(comm, &shm));
  PetscCall(PetscShmCommGetMpiShmComm(shm, &node));
  PetscCallMPI(MPI_Comm_size(node, &size));
  *n = size;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
