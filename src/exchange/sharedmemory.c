/*
  Memory that the processes of a node share: a file in memory without a name, which one process makes and the others get by a message with SCM_RIGHTS. So
  nothing is left behind however and whenever processes end. Each process has a part of the file, for which it reserves memory itself, near its own core,
  and maps all of it once: mappings of a process are limited.

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

  #define STEP ((off_t)1 << 20) /* bytes reserved at a time: a signal interrupts one step */

struct _n_ExchangeSegments {
  PetscMPIInt size;
  size_t      part; /* bytes, of pages */
  char       *at;
};

/* How processes know that a file is the right one; the inode 0: there is none */
typedef struct {
  dev_t device;
  ino_t inode;
} Told;

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

/* After each step all processes agree on whether to go on; *done is the same on all */
static PetscErrorCode Map(MPI_Comm node, ExchangeSegments s, PetscBool *done)
{
  const off_t part = (off_t)s->part;
  PetscMPIInt rank;
  int         file;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(node, &rank));
  PetscCall(Share(node, s->size, rank, &file));
  *done = file >= 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(Agree(node, done));
  if (*done) {
    *done = Reserve(file, part * rank, part * (rank + 1));
    PetscCall(Agree(node, done));
  }
  if (*done) {
    void *at = mmap(NULL, s->part * (size_t)s->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    *done = at != MAP_FAILED ? PETSC_TRUE : PETSC_FALSE;
    s->at = *done ? (char *)at : NULL;
    PetscCall(Agree(node, done));
  }
  if (file >= 0) (void)close(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExchangeSegmentsCreate(MPI_Comm node, size_t bytes, ExchangeSegments *segments)
{
  const size_t     page = (size_t)sysconf(_SC_PAGESIZE);
  ExchangeSegments s    = NULL;
  PetscBool        done = PETSC_FALSE;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  ierr = PetscCSRCAgree(node, PetscNew(&s), "Memory that processes share");
  if (!ierr) {
    PetscCallMPI(MPI_Comm_size(node, &s->size));
    s->part = (bytes + page - 1) / page * page;
    ierr    = Map(node, s, &done);
  }
  if (!done) PetscCall(ExchangeSegmentsDestroy(&s));
  PetscCall(ierr);
  *segments = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void *ExchangeSegmentOf(ExchangeSegments s, PetscMPIInt r)
{
  return s->at + (size_t)r * s->part;
}

PetscErrorCode ExchangeSegmentsDestroy(ExchangeSegments *segments)
{
  ExchangeSegments s = *segments;

  PetscFunctionBegin;
  if (s && s->at) PetscCheck(!munmap(s->at, s->part * (size_t)s->size), PETSC_COMM_SELF, PETSC_ERR_SYS, "munmap() of memory that processes share failed");
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
