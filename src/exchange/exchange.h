#pragma once

/*
  An exchange is the communication of products with parallel matrices. It copies ghosts (entries of distributed vectors that a process
  needs and another one owns) from their owners, and in reverse adds the contributions of all processes to the entries of the owners.

    exchange.h       the interface
    exchangeimpl.h   an implementation: a table of functions
    exchange.c       creation, with the choice of implementation and pattern
    expect.c         how long products are expected to take, by which the pattern is chosen
    common.c         what all implementations use
    messages.c       by messages between neighbours, of MPI: always available; packing, and sums of what comes, also for NCCL
    shared.c         on the host, pattern lists, through memory that the processes of a node share; sharedmemory.c: such memory
    peer/            on the devices of one host, by kernels that store into memory of the other devices: peer.c, or by copies of panels:
                     panels.c; peerkernels.[h]cu: the kernels; peermemory.c: such memory
    nccl/            messages of NCCL, on the stream of the current PetscDeviceContext: nccl.c; ncclapi.h, ncclload.c: the library, loaded at run
                     time, and its communicators
    devicesum.c      sums over processes of small arrays on devices, by either
    kernels.[h]cu    packing and unpacking on a device

  The own entries of a process are the rows of an array of K columns, stored by columns with a leading dimension. The ghost entries are
  the rows of another such array. There are two patterns:

    lists     the ghost array has one entry for each ghost that was given at creation; each process sends to its neighbours what they need
    gather    the ghost array has room for all entries of all processes, own ones included; those of process r begin at r * stride. With
              unequal layouts some of this room has no entry: it must be ignored when read, and may hold anything when sent.

  forward          ghost entries = the entries of their owners
  reverse add      own entries = own entries + the sum of all ghost entries for them
  reverse insert   the sum alone; with the pattern gather only
                   The contents of ghost arrays are lost. Sums are made in the order of processes, except where NCCL sums over all processes.

  All calls are collective, with the same direction and K. On each process, each array may be in host or in device memory. Begin and End get the
  same arguments. Between them, arrays that the exchange reads must not be changed, and arrays that it writes must be neither read nor written, with one
  exception: in reverse, own entries are not used before End. On a device, work is queued on the stream of the current PetscDeviceContext, and the host
  waits for nothing, except with messages of MPI.
*/
#include <petscis.h>
#include <petscdevicetypes.h>
#include <petscviewer.h>

typedef struct _n_PetscCSRCExchange *PetscCSRCExchange;

typedef enum {
  PETSCCSRC_EXCHANGE_AUTO,
  PETSCCSRC_EXCHANGE_MPI,
  PETSCCSRC_EXCHANGE_NCCL,
  PETSCCSRC_EXCHANGE_PEER,
  PETSCCSRC_EXCHANGE_SHARED
} PetscCSRCExchangeType;

typedef enum {
  PETSCCSRC_PATTERN_AUTO,
  PETSCCSRC_PATTERN_LISTS,
  PETSCCSRC_PATTERN_GATHER
} PetscCSRCExchangePattern;

PETSC_EXTERN const char *const PetscCSRCExchangeTypes[];
PETSC_EXTERN const char *const PetscCSRCExchangePatterns[];

/* The arguments of a creation. layout, nghosts, ghosts, ondevice, lists and overlap may differ between processes. */
typedef struct {
  PetscLayout              layout; /* who owns what */
  PetscInt                 nghosts;
  const PetscInt          *ghosts;   /* global numbers, each once, none owned by this process; used during the call only */
  PetscBool                ondevice; /* arrays of this process will be on its device */
  PetscBool                lists;    /* the pattern must be lists */
  PetscBool                overlap;  /* this process has some tens of microseconds of other work on its device between Begin and End */
  PetscMPIInt              pernode;  /* for tests: at most this many processes are treated as those of one node; 0: all that share memory */
  PetscCSRCExchangeType    type;
  PetscCSRCExchangePattern pattern; /* for tests; auto: the faster one */
} PetscCSRCExchangeRequest;

PETSC_EXTERN PetscErrorCode PetscCSRCExchangeCreate(MPI_Comm, const PetscCSRCExchangeRequest *, PetscCSRCExchange *);
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeDestroy(PetscCSRCExchange *);
/* Rows of a ghost array, and the stride between the rows of two processes with the pattern gather; with lists the stride is 0 */
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeGetGhosts(PetscCSRCExchange, PetscInt *n, PetscInt *stride);
/* What the times of products on devices, one for each process, depend on besides the products: by which exchange, and the largest numbers of a process */
typedef struct {
  PetscCSRCExchangeType type; /* mpi, nccl or peer */
  PetscMPIInt           size;
  PetscInt              own, ghosts, neighbours;
} PetscCSRCProcesses;

/* What products with one stored matrix do on a device. Runs: entries of x that A x loads, and sums that A^T x adds to memory; by columns the other way round. */
typedef struct {
  PetscLogDouble bytes, runs, rows, columns; /* bytes: of the nonzeros */
  PetscBool      bycolumns;
} PetscCSRCWork;

/*
  Expected seconds of A x and of A^T x with n stored matrices on each process, or of their exchanges if n is 0. The result is the pattern; with auto the one
  with which both products together take less.
*/
PETSC_EXTERN PetscCSRCExchangePattern PetscCSRCExpect(const PetscCSRCProcesses *, PetscCSRCExchangePattern, PetscInt n, const PetscCSRCWork[], PetscLogDouble seconds[2]);
/* Pattern gather, peer: columns of panels of which one travels while another is multiplied; K: all K columns at once are faster */
PETSC_EXTERN PetscInt PetscCSRCExpectPanel(const PetscCSRCProcesses *, PetscInt K);
/* Expected seconds on the processes of an exchange between devices; 0 where it is not known: with other exchanges, and a GPU-aware MPI */
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeExpect(PetscCSRCExchange, PetscInt n, const PetscCSRCWork[], PetscLogDouble seconds[2]);
/* A description of the exchange in a few words */
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeDescribe(PetscCSRCExchange, char text[], size_t len);

/* Rows of K columns, a leading dimension apart */
typedef struct {
  PetscScalar *a;
  PetscInt     ld;
  PetscMemType mem;
} PetscCSRCExchangeArray;

/* The arrays of a call. Forward only reads own entries. */
typedef struct {
  PetscInt               K;
  PetscCSRCExchangeArray own, ghost;
  PetscInt               panel; /* 0, or the columns of a panel */
} PetscCSRCExchangeArrays;

typedef enum {
  PETSCCSRC_FORWARD,
  PETSCCSRC_REVERSE_ADD,
  PETSCCSRC_REVERSE_INSERT
} PetscCSRCDirection;

PETSC_EXTERN PetscErrorCode PetscCSRCExchangeBegin(PetscCSRCExchange, PetscCSRCDirection, const PetscCSRCExchangeArrays *);
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeEnd(PetscCSRCExchange, PetscCSRCDirection, const PetscCSRCExchangeArrays *);

/*
  Panels: some columns travel while others are multiplied. *panel is K where K columns are better exchanged at once. Otherwise calls may have that panel, with
  *rows as the ghost array, whose columns follow each other. rows may be NULL; if not, the call is collective and makes room for K columns. In forward, Panel
  waits for the ghost entries of the panel that begins with column k; in reverse it sends them.
*/
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeGetPanel(PetscCSRCExchange, PetscInt K, PetscInt *panel, PetscScalar **rows);
PETSC_EXTERN PetscErrorCode PetscCSRCExchangePanel(PetscCSRCExchange, PetscCSRCDirection, const PetscCSRCExchangeArrays *, PetscInt k);

/* Collective: an error on one process (ierr not 0) becomes an error on all. The message on the others says what failed, and where. */
PETSC_EXTERN PetscErrorCode PetscCSRCAgree(MPI_Comm, PetscErrorCode, const char what[]);

/*
  Collective on the communicator of a PetscObject. The first says whether sums over processes can be made on devices, and chooses how. If so, the
  second sums n scalars in place: it is queued on the current stream, and the results are bitwise the same on all processes
*/
PETSC_EXTERN PetscErrorCode PetscCSRCDeviceSumUsable(MPI_Comm, PetscBool *);
PETSC_EXTERN PetscErrorCode PetscCSRCDeviceSum(MPI_Comm, PetscScalar a[], size_t n);
