/*
  Copies of large host arrays to the device. From pageable memory the driver copies with one thread, at a fraction of the speed of
  the bus. Here several OpenMP threads copy into two page-locked buffers, piece by piece; the transfer of one piece to the device
  overlaps with the copy of the next piece.
*/
#include "cuda/device.h"
#include "sys/threads.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>

  #define UPLOAD_BUFFERS 2
  #define UPLOAD_PIECE   ((size_t)1 << 20)
  #define UPLOAD_SLICE   ((size_t)1 << 16)
  #define UPLOAD_THREADS 8 /* more are hardly faster */

  /*
    On an H100 (S21) taking these buffers and starting threads costs as much as the driver's copy of 16 MB, some 2.5 ms; larger buffers cost 0.6 ms
    for each MB. So they are allocated once 16 MB have been copied in all: a program that copies less never pays for them, and one that copies more
    loses at most as much as they cost.
  */
  #define UPLOAD_WORTH ((size_t)1 << 24)

/* One for the process; allocated as said above, freed when the library is finalized */
static size_t      Copied  = 0;           /* bytes of large arrays copied before the allocation */
static char       *Buffer  = NULL;        /* UPLOAD_BUFFERS pieces */
static PetscBool   Refused = PETSC_FALSE; /* whether they could not be allocated */
static cudaEvent_t Fetched[UPLOAD_BUFFERS];

static PetscErrorCode UploadInitialize(int threads)
{
  char       *buffer;
  cudaError_t cerr;

  PetscFunctionBegin;
  if (Buffer || Refused) PetscFunctionReturn(PETSC_SUCCESS);
  for (int b = 0; b < UPLOAD_BUFFERS; b++) {
    if (!Fetched[b]) PetscCallCUDA(cudaEventCreateWithFlags(&Fetched[b], cudaEventDisableTiming));
  }
  cerr = cudaHostAlloc((void **)&buffer, UPLOAD_BUFFERS * UPLOAD_PIECE, cudaHostAllocPortable);
  if (cerr == cudaErrorMemoryAllocation) { /* page-locked memory may be limited; the driver then copies */
    (void)cudaGetLastError();
    Refused = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cerr);
  PetscCall(PetscCSRCThreadsSpread(threads));
  Buffer = buffer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void CopyByThreads(char *to, const char *from, size_t bytes, int threads)
{
  const PetscCount slices = (PetscCount)((bytes + UPLOAD_SLICE - 1) / UPLOAD_SLICE);

  PetscPragmaOMP(parallel for schedule(static) num_threads(threads))
  for (PetscCount s = 0; s < slices; s++) memcpy(to + s * UPLOAD_SLICE, from + s * UPLOAD_SLICE, PetscMin(UPLOAD_SLICE, bytes - s * UPLOAD_SLICE));
}

/* Half of all threads, but two: each piece waits for the slowest, and with fewer threads than cores none has to wait for its core. One is not faster than the driver. */
static int NumThreads(void)
{
  const int n = PetscCSRCGetNumThreads(NULL);

  return n < 2 ? n : PetscMin(UPLOAD_THREADS, PetscMax(2, n / 2));
}

PetscErrorCode PetscCSRCDeviceUpload(void *to, const void *from, size_t bytes)
{
  const int    threads = NumThreads();
  const size_t large   = threads > 1 ? 2 * UPLOAD_PIECE : SIZE_MAX;
  cudaStream_t stream;
  int          b = 0;

  PetscFunctionBegin;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  if (bytes >= large && !Buffer) Copied = PetscMin(Copied + bytes, UPLOAD_WORTH);
  if (bytes >= large && Copied >= UPLOAD_WORTH) PetscCall(UploadInitialize(threads));
  if (bytes < large || !Buffer) {
    struct cudaPointerAttributes source;

    PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
    /* on return the driver has read pageable memory, but may still be reading memory that the program has page-locked */
    PetscCallCUDA(cudaPointerGetAttributes(&source, from));
    if (source.type != cudaMemoryTypeUnregistered) PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (size_t done = 0; done < bytes; done += UPLOAD_PIECE, b = (b + 1) % UPLOAD_BUFFERS) {
    const size_t piece  = PetscMin(UPLOAD_PIECE, bytes - done);
    char *const  buffer = Buffer + b * UPLOAD_PIECE;

    PetscCallCUDA(cudaEventSynchronize(Fetched[b]));
    CopyByThreads(buffer, (const char *)from + done, piece, threads);
    PetscCallCUDA(cudaMemcpyAsync((char *)to + done, buffer, piece, cudaMemcpyHostToDevice, stream));
    PetscCallCUDA(cudaEventRecord(Fetched[b], stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceUploadFinalize(void)
{
  PetscFunctionBegin;
  Copied  = 0;
  Refused = PETSC_FALSE;
  for (int b = 0; b < UPLOAD_BUFFERS; b++) {
    if (Fetched[b]) PetscCallCUDA(cudaEventDestroy(Fetched[b]));
    Fetched[b] = NULL;
  }
  if (!Buffer) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFreeHost(Buffer));
  Buffer = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
