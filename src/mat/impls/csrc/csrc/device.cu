/*
  The paper's CSRC layout on a CUDA device. csrc.c makes the form on the host, and its arrays are copied to the device; on
  the host only the permutation is kept, through which new values are gathered. kernels.cuh has the kernels of the
  products and their launches.
*/
#include "csrc.h"
#include "cuda/memory.cuh"
#include "kernels.cuh"
#include "cuda/scratch.cuh"

static_assert(CSRC_PAPER_THREADS == CSRC_PAPER_ROWS, "thread t of a block owns row t of a row block");

typedef struct {
  CSRCPaper                             *host; /* sizes and perm; its other arrays are freed once they are on the device */
  CSRCPaperDevice<PetscScalar, PetscInt> device;
  char                                  *memory; /* where its arrays stand */
} CSRCPaperCUDA;

static PetscErrorCode CSRCPaperCUDABuild(const AIJCSR *, const AIJPurpose *, void **);
static PetscErrorCode CSRCPaperCUDASetValues(void *, const AIJCSR *);
static PetscErrorCode CSRCPaperCUDADestroy(void **);
static PetscErrorCode CSRCPaperCUDAApply(void *, AIJOp, const PetscScalar *, const PetscScalar *, PetscScalar *);
static PetscErrorCode CSRCPaperCUDAApplyDense(void *, AIJOp, PetscInt, const PetscScalar *, PetscInt, PetscScalar *, PetscInt);
static PetscErrorCode CSRCPaperCUDAGetMemory(const void *, PetscLogDouble *);
static PetscErrorCode CSRCPaperCUDAView(const void *, PetscViewer, PetscBool);

const AIJFormat AIJFormatCSRCDevice = {
  PetscDesignatedInitializer(name, "csrc, on the device"),   PetscDesignatedInitializer(ondevice, PETSC_TRUE),      PetscDesignatedInitializer(build, CSRCPaperCUDABuild),           PetscDesignatedInitializer(setvalues, CSRCPaperCUDASetValues),
  PetscDesignatedInitializer(destroy, CSRCPaperCUDADestroy), PetscDesignatedInitializer(apply, CSRCPaperCUDAApply), PetscDesignatedInitializer(applydense, CSRCPaperCUDAApplyDense), PetscDesignatedInitializer(getmemory, CSRCPaperCUDAGetMemory),
  PetscDesignatedInitializer(view, CSRCPaperCUDAView),
};

static PetscErrorCode CSRCPaperCUDADestroy(void **data)
{
  CSRCPaperCUDA *form = (CSRCPaperCUDA *)*data;

  PetscFunctionBegin;
  if (!form) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCSRCDeviceFree(&form->memory));
  PetscCall(CSRCPaperDestroy(&form->host));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of build() that may fail halfway; what has been allocated until then is in form and can be freed. form->memory is NULL if it does not fit */
static PetscErrorCode CSRCPaperCUDAFill(CSRCPaperCUDA *form, const AIJCSR *csr, PetscBool *fits)
{
  CSRCPaperDevice<PetscScalar, PetscInt> *device = &form->device;
  CSRCPaper                              *host;
  CSRCArrays                              arrays;
  size_t                                  nnz, nstarts;
  cudaStream_t                            stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(CSRCPaperBuild(csr, &form->host));
  host            = form->host;
  nnz             = (size_t)host->nnz;
  nstarts         = (size_t)host->nblocks + 1;
  device->m       = host->m;
  device->n       = host->n;
  device->nblocks = host->nblocks;
  CSRCScratch kept(stream);
  arrays.add(&device->v, nnz);
  arrays.add(&device->j, nnz);
  arrays.add(&device->r, nnz);
  arrays.add(&device->p, nstarts);
  PetscCall(CSRCCheckMemory(arrays.get(kept, &form->memory), "the paper's CSRC form", arrays.bytes, fits));
  if (!form->memory) PetscFunctionReturn(PETSC_SUCCESS);
  kept.all.clear(); /* the form owns it now */
  PetscCall(PetscCSRCDeviceUpload(device->v, host->v, nnz * sizeof(*device->v)));
  PetscCall(PetscCSRCDeviceUpload(device->j, host->j, nnz * sizeof(*device->j)));
  PetscCall(PetscCSRCDeviceUpload(device->r, host->r, nnz * sizeof(*device->r)));
  PetscCall(PetscCSRCDeviceUpload(device->p, host->p, nstarts * sizeof(*device->p)));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree(host->v));
  PetscCall(PetscFree(host->j));
  PetscCall(PetscFree(host->r));
  PetscCall(PetscFree(host->p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCPaperCUDABuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  CSRCPaperCUDA *form;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *data = NULL;
  PetscCall(PetscNew(&form));
  ierr = CSRCPaperCUDAFill(form, csr, purpose->fits);
  if (PetscUnlikely(ierr || !form->memory)) (void)CSRCPaperCUDADestroy((void **)&form); /* the first error is the one to report */
  PetscCall(ierr);
  *data = form;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCPaperCUDASetValues(void *data, const AIJCSR *csr)
{
  CSRCPaperCUDA *form = (CSRCPaperCUDA *)data;
  CSRCPaper     *host = form->host;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  /* host->v belongs to the form, so that destroy() frees it if something fails */
  PetscCall(PetscFree(host->v));
  PetscCall(PetscMalloc1(host->nnz, &host->v));
  PetscCall(CSRCPaperSetValues(host, csr));
  PetscCall(PetscCSRCDeviceUpload(form->device.v, host->v, (size_t)host->nnz * sizeof(*host->v)));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree(host->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = op(A) X + Z, K columns; Z is NULL or of Y's shape and leading dimension */
static PetscErrorCode CSRCPaperCUDAProduct(const CSRCPaperCUDA *form, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, const PetscScalar *Z, PetscScalar *Y, PetscInt ldy)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  switch (op) {
  case AIJ_N:
    PetscCallCUDA(CSRCPaperMult(form->device, (size_t)K, X, (size_t)ldx, Z, Y, (size_t)ldy, stream));
    break;
  case AIJ_T:
    PetscCallCUDA(CSRCPaperMultTranspose<false>(form->device, (size_t)K, X, (size_t)ldx, Z, Y, (size_t)ldy, stream));
    break;
  case AIJ_H:
    PetscCallCUDA(CSRCPaperMultTranspose<CSRCParts<PetscScalar> == 2>(form->device, (size_t)K, X, (size_t)ldx, Z, Y, (size_t)ldy, stream));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCPaperCUDAApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  const CSRCPaperCUDA *form = (const CSRCPaperCUDA *)data;
  const PetscInt       m = form->device.m, n = form->device.n;

  PetscFunctionBegin;
  PetscCall(CSRCPaperCUDAProduct(form, op, 1, x, op == AIJ_N ? n : m, z, y, op == AIJ_N ? m : n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCPaperCUDAApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  PetscFunctionBegin;
  PetscCall(CSRCPaperCUDAProduct((const CSRCPaperCUDA *)data, op, K, X, ldx, NULL, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What lives between products: the form on the device, and the permutation on the host */
static PetscErrorCode CSRCPaperCUDASizes(const CSRCPaperCUDA *form, PetscLogDouble *device, PetscLogDouble *host)
{
  const PetscLogDouble nnz = (PetscLogDouble)form->host->nnz;

  PetscFunctionBegin;
  *device = nnz * (sizeof(*form->device.r) + sizeof(*form->device.j) + sizeof(*form->device.v)) + (PetscLogDouble)(form->host->nblocks + 1) * sizeof(*form->device.p);
  *host   = nnz * sizeof(*form->host->perm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCPaperCUDAGetMemory(const void *data, PetscLogDouble *bytes)
{
  PetscLogDouble device, host;

  PetscFunctionBegin;
  PetscCall(CSRCPaperCUDASizes((const CSRCPaperCUDA *)data, &device, &host));
  *bytes = device + host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRCPaperCUDAView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const CSRCPaperCUDA *form = (const CSRCPaperCUDA *)data;
  const CSRCPaper     *a    = form->host;
  const double         nnz  = (double)PetscMax(1, a->nnz);
  PetscLogDouble       device, host;

  PetscFunctionBegin;
  PetscCall(CSRCPaperCUDASizes(form, &device, &host));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " blocks of %d rows, bytes per nonzero: device %.2f, host %.2f\n", a->nblocks, CSRC_PAPER_ROWS, device / nnz, host / nnz));
  if (detail) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "device, bytes per nonzero: rows %zu, columns %zu, values %zu, block starts %.2f\n", sizeof(*form->device.r), sizeof(*form->device.j), sizeof(*form->device.v), (double)(a->nblocks + 1) * sizeof(*form->device.p) / nnz));
    PetscCall(PetscViewerASCIIPrintf(viewer, "host, bytes per nonzero: places for new values %zu\n", sizeof(*a->perm)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
