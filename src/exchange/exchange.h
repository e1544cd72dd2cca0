#pragma once

/*
  An exchange brings to every process the entries that it needs of vectors that are distributed over processes, and adds up what they
  have for the owners of these entries. Products of parallel matrices are made of it.

    exchange.h       the interface
    exchangeimpl.h   an implementation: a table of functions
    exchange.c       creation: which implementation, which pattern
    sf.c             by PetscSF: always there, the reference
    shared.c         on the host, through memory that the processes of a node share
    nccl.c           by NCCL, on the stream of the current PetscDeviceContext; ncclapi.h, ncclload.c: the library, loaded at run time, and
                     its communicators; also sums over processes of small arrays on devices
    kernels.[h]cu    what is packed for others and unpacked, on a device

  The own entries of a process are rows of an array, K columns a leading dimension apart. So are the ghost entries, copies of what
  others own. There are two patterns:

    lists     a ghost array has an entry for each of the ghosts that were given at creation, and neighbours send each other these
    gather    a ghost array has room for all entries of all processes, own ones too: those of process r begin at r * stride. Room that a
              process has no entries for (unequal layouts) is to be ignored when read, and may hold anything when sent.

  forward   ghost entries = what their owners have
  reverse   own entries = own entries + the sum of all ghost entries for them, or, by INSERT_VALUES and with the pattern gather only, the
            sum alone. Ghost arrays are lost. Sums are made in the order of processes, but for those of MPI and NCCL over all processes.

  All calls are collective, with the same K. Arrays may be in host or device memory, as each process likes. Between Begin and End, which
  get the same arguments, arrays that are read must not be changed and those that are written must not be touched: but for own
  entries in reverse, which may be written until End if they are not to be read (INSERT_VALUES excepted). On a device work is queued on
  the stream of the current PetscDeviceContext, and with NCCL the host waits for nothing.
*/
#include <petscis.h>
#include <petscdevicetypes.h>
#include <petscviewer.h>

typedef struct _n_PetscCSRCExchange *PetscCSRCExchange;

typedef enum {
  PETSCCSRC_EXCHANGE_AUTO,
  PETSCCSRC_EXCHANGE_SF,
  PETSCCSRC_EXCHANGE_NCCL,
  PETSCCSRC_EXCHANGE_SHARED
} PetscCSRCExchangeType;

typedef enum {
  PETSCCSRC_PATTERN_AUTO,
  PETSCCSRC_PATTERN_LISTS,
  PETSCCSRC_PATTERN_GATHER
} PetscCSRCExchangePattern;

PETSC_EXTERN const char *const PetscCSRCExchangeTypes[];
PETSC_EXTERN const char *const PetscCSRCExchangePatterns[];

/* What an exchange is made for. layout, nghosts, ghosts, ondevice and overlap may differ between processes. */
typedef struct {
  PetscLayout              layout; /* who owns what */
  PetscInt                 nghosts;
  const PetscInt          *ghosts;       /* global numbers, each once, none of them own: borrowed for the call */
  PetscBool                ondevice;     /* arrays of this process will be on its device */
  PetscBool                overlap;      /* this process has some tens of microseconds of other work on its device between Begin and End */
  PetscBool                reproducible; /* the same bits every time */
  PetscMPIInt              pernode;      /* for tests: so many processes at most are taken for those of a node; 0: all that share memory */
  PetscCSRCExchangeType    type;
  PetscCSRCExchangePattern pattern;
} PetscCSRCExchangeRequest;

PETSC_EXTERN PetscErrorCode PetscCSRCExchangeCreate(MPI_Comm, const PetscCSRCExchangeRequest *, PetscCSRCExchange *);
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeDestroy(PetscCSRCExchange *);
/* Rows of a ghost array, and for the pattern gather the stride between those of two processes; for lists the stride is 0 */
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeGetGhosts(PetscCSRCExchange, PetscInt *n, PetscInt *stride);
/* In a few words: what it is */
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeDescribe(PetscCSRCExchange, char text[], size_t len);

PETSC_EXTERN PetscErrorCode PetscCSRCExchangeForwardBegin(PetscCSRCExchange, PetscInt K, const PetscScalar own[], PetscInt ldown, PetscMemType, PetscScalar ghost[], PetscInt ldghost, PetscMemType);
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeForwardEnd(PetscCSRCExchange, PetscInt K, const PetscScalar own[], PetscInt ldown, PetscMemType, PetscScalar ghost[], PetscInt ldghost, PetscMemType);
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeReverseBegin(PetscCSRCExchange, InsertMode, PetscInt K, PetscScalar ghost[], PetscInt ldghost, PetscMemType, PetscScalar own[], PetscInt ldown, PetscMemType);
PETSC_EXTERN PetscErrorCode PetscCSRCExchangeReverseEnd(PetscCSRCExchange, InsertMode, PetscInt K, PetscScalar ghost[], PetscInt ldghost, PetscMemType, PetscScalar own[], PetscInt ldown, PetscMemType);

/* Collective: an error of one process (0: none) becomes one of all. The others' error says what failed. */
PETSC_EXTERN PetscErrorCode PetscCSRCAgree(MPI_Comm, PetscErrorCode, const char what[]);

/*
  Collective on a communicator of an object, which is one of PETSc's own: whether sums over processes can be made on devices; then sums of
  n scalars, in place, queued on the current stream, the same bits on all processes
*/
PETSC_EXTERN PetscErrorCode PetscCSRCDeviceSumUsable(MPI_Comm, PetscBool *);
PETSC_EXTERN PetscErrorCode PetscCSRCDeviceSum(MPI_Comm, PetscScalar a[], size_t n);
