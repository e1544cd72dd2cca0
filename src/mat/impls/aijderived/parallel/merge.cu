/* Merges the rows of two blocks on the device */
#include "merge.h"
#include "cuda/memory.cuh"
#include "cuda/scratch.cuh"

#define THREADS 256

/* A CSR in device memory */
typedef struct {
  const PetscInt    *i, *j;
  const PetscScalar *a;
} DeviceCSR;

/* Where columns go, as in AIJBlocks; place is on the device */
typedef struct {
  PetscInt        nbefore, first;
  const PetscInt *place;
} Columns;

/*
  Warp: one row, whose nonzeros it reads and writes 32 at a time; those of the ghost block are read a second time, the first time to count the
  columns below nbefore. Reads and writes 12 bytes a nonzero (real double, 32-bit indices). Nothing is atomic.
*/
static __global__ void MergeRowsKernel(PetscInt m, DeviceCSR d, DeviceCSR o, Columns to, PetscInt *__restrict__ i, PetscInt *__restrict__ j, PetscScalar *__restrict__ a)
{
  const unsigned all = 0xffffffffu, lane = threadIdx.x % 32, lower = (1u << lane) - 1;
  const size_t   row = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;

  if (row >= (size_t)m) return;
  const size_t dstart = (size_t)d.i[row], dend = (size_t)d.i[row + 1], ostart = (size_t)o.i[row], oend = (size_t)o.i[row + 1];
  size_t       before = dstart + ostart, own = before, after;

  if (lane == 0) i[row] = (PetscInt)before;
  if (lane == 0 && row + 1 == (size_t)m) i[m] = (PetscInt)(dend + oend);
  for (size_t k = ostart; k < oend; k += 32) own += __popc(__ballot_sync(all, k + lane < oend && o.j[k + lane] < to.nbefore));
  for (size_t k = dstart + lane; k < dend; k += 32) {
    j[own + k - dstart] = to.first + d.j[k];
    a[own + k - dstart] = d.a[k];
  }
  after = own + dend - dstart;
  for (size_t k = ostart; k < oend; k += 32) {
    const bool     mine    = k + lane < oend;
    const PetscInt column  = mine ? o.j[k + lane] : 0;
    const unsigned befores = __ballot_sync(all, mine && column < to.nbefore), afters = __ballot_sync(all, mine && column >= to.nbefore);

    if (mine) {
      const size_t at = column < to.nbefore ? before + __popc(befores & lower) : after + __popc(afters & lower);

      j[at] = to.place[column];
      a[at] = o.a[k + lane];
    }
    before += __popc(befores);
    after += __popc(afters);
  }
}

/* Where the parts of a CSR are that are not on the device yet: room for them in arrays */
static void AddMissing(const AIJCSR *csr, CSRCArrays *arrays, PetscInt **i, PetscInt **j, PetscScalar **a)
{
  *i = NULL;
  *j = NULL;
  *a = NULL;
  if (!csr->device.i) arrays->add(i, (size_t)csr->m + 1);
  if (!csr->device.j) arrays->add(j, (size_t)csr->nnz);
  if (!csr->device.a) arrays->add(a, (size_t)csr->nnz);
}

static PetscErrorCode Upload(const AIJCSR *csr, PetscInt *i, PetscInt *j, PetscScalar *a, DeviceCSR *device)
{
  PetscFunctionBegin;
  if (i) PetscCall(PetscCSRCDeviceUpload(i, csr->i, ((size_t)csr->m + 1) * sizeof(*i)));
  if (j) PetscCall(PetscCSRCDeviceUpload(j, csr->j, (size_t)csr->nnz * sizeof(*j)));
  if (a) PetscCall(PetscCSRCDeviceUpload(a, csr->a, (size_t)csr->nnz * sizeof(*a)));
  device->i = i ? i : csr->device.i;
  device->j = j ? j : csr->device.j;
  device->a = a ? a : csr->device.a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJMergeRowsOnDevice(const AIJBlocks *b, AIJCSR *csr)
{
  const AIJCSR *d = &b->d, *o = &b->o;
  const size_t  m = (size_t)csr->m, nnz = (size_t)csr->nnz;
  cudaStream_t  stream;
  CSRCArrays    missing, merged;
  DeviceCSR     dd, od;
  PetscInt     *di, *dj, *oi, *oj, *places, *i, *j;
  PetscScalar  *da, *oa, *a;
  char         *memory;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  CSRCScratch scratch(stream), kept(stream);
  AddMissing(d, &missing, &di, &dj, &da);
  AddMissing(o, &missing, &oi, &oj, &oa);
  missing.add(&places, (size_t)o->n);
  merged.add(&a, nnz); /* the first one: its address is that of the memory */
  merged.add(&j, nnz);
  merged.add(&i, m + 1);
  PetscCall(CSRCCheckMemory(missing.get(scratch, &memory), "the rows of two blocks", missing.bytes, NULL));
  PetscCall(CSRCCheckMemory(merged.get(kept, &memory), "merged rows", merged.bytes, NULL));
  PetscCall(Upload(d, di, dj, da, &dd));
  PetscCall(Upload(o, oi, oj, oa, &od));
  PetscCall(PetscCSRCDeviceUpload(places, b->place, (size_t)o->n * sizeof(*places)));
  MergeRowsKernel<<<(unsigned)((m * 32 + THREADS - 1) / THREADS), THREADS, 0, stream>>>(csr->m, dd, od, Columns{b->nbefore, b->first, places}, i, j, a);
  PetscCallCUDA(cudaGetLastError());
  kept.all.clear(); /* they are the caller's from now on */
  csr->device.i = i;
  csr->device.j = j;
  csr->device.a = a;
  PetscFunctionReturn(PETSC_SUCCESS);
}
