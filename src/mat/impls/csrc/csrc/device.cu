/*
  The layout csrc on a CUDA device. csrc.c makes the layout on the host, and its arrays are copied to the device; the host
  keeps only the permutation by which new values are gathered. kernels.cuh has the kernels of the products and their launches.
*/
#include "csrc.h"
#include "cuda/memory.cuh"
#include "kernels.cuh"
#include "cuda/scratch.cuh"

static_assert(CSRC256_THREADS == CSRC256_ROWS, "thread t of a block owns row t of a row block");

typedef struct {
  CSRC256                             *host; /* sizes and perm; the other arrays are freed once they are on the device */
  CSRC256Device<PetscScalar, PetscInt> device;
  char                                *memory; /* the allocation for its arrays */
} CSRC256CUDA;

static PetscErrorCode CSRC256CUDABuild(const AIJCSR *, const AIJPurpose *, void **);
static PetscErrorCode CSRC256CUDASetValues(void *, const AIJCSR *);
static PetscErrorCode CSRC256CUDADestroy(void **);
static PetscErrorCode CSRC256CUDAApply(void *, AIJOp, const PetscScalar *, const PetscScalar *, PetscScalar *);
static PetscErrorCode CSRC256CUDAApplyDense(void *, AIJOp, PetscInt, const PetscScalar *, PetscInt, PetscScalar *, PetscInt);
static PetscErrorCode CSRC256CUDAGetMemory(const void *, PetscLogDouble *);
static PetscErrorCode CSRC256CUDAView(const void *, PetscViewer, PetscBool);
static PetscErrorCode CSRC256CUDAVisit(const void *, AIJVisitor, void *);

const AIJFormat AIJFormatCSRC256 = {
  PetscDesignatedInitializer(name, "csrc, on the device"), PetscDesignatedInitializer(ondevice, PETSC_TRUE),    PetscDesignatedInitializer(build, CSRC256CUDABuild),           PetscDesignatedInitializer(setvalues, CSRC256CUDASetValues),
  PetscDesignatedInitializer(destroy, CSRC256CUDADestroy), PetscDesignatedInitializer(apply, CSRC256CUDAApply), PetscDesignatedInitializer(applydense, CSRC256CUDAApplyDense), PetscDesignatedInitializer(getmemory, CSRC256CUDAGetMemory),
  PetscDesignatedInitializer(view, CSRC256CUDAView),       PetscDesignatedInitializer(visit, CSRC256CUDAVisit),
};

static PetscErrorCode CSRC256CUDADestroy(void **data)
{
  CSRC256CUDA *form = (CSRC256CUDA *)*data;

  PetscFunctionBegin;
  if (!form) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCSRCDeviceFree(&form->memory));
  PetscCall(CSRC256Destroy(&form->host));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Gets a CSR on the host, where this layout is made. Columns and values that are only on the device are copied to *columns and *values, which
  the caller frees.
*/
static PetscErrorCode CSRC256CUDAGetHost(const AIJCSR *csr, AIJCSR *host, PetscInt **columns, PetscScalar **values)
{
  PetscFunctionBegin;
  *host    = *csr;
  *columns = NULL;
  *values  = NULL;
  if (!csr->j) {
    PetscCall(PetscCSRCHostCopy(csr->device.j, (size_t)csr->nnz, sizeof(*csr->j), columns));
    host->j = *columns;
  }
  if (!csr->a) {
    PetscCall(PetscCSRCHostCopy(csr->device.a, (size_t)csr->nnz, sizeof(*csr->a), values));
    host->a = *values;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of build() that may fail halfway: form then holds what has been allocated, and can be destroyed */
static PetscErrorCode CSRC256CUDAFill(CSRC256CUDA *form, const AIJCSR *csr)
{
  CSRC256Device<PetscScalar, PetscInt> *device = &form->device;
  CSRC256                              *host;
  CSRCArrays                            arrays;
  size_t                                nnz, nstarts;
  cudaStream_t                          stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(CSRC256Build(csr, &form->host));
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
  PetscCall(CSRCCheckMemory(arrays.get(kept, &form->memory), "the layout csrc", arrays.bytes, NULL));
  kept.all.clear(); /* form owns the memory from now on */
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

static PetscErrorCode CSRC256CUDABuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  CSRC256CUDA   *form;
  AIJCSR         host;
  PetscInt      *columns;
  PetscScalar   *values;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  (void)purpose; /* the layout is the same for all products */
  *data = NULL;
  PetscCall(PetscNew(&form));
  ierr = CSRC256CUDAGetHost(csr, &host, &columns, &values);
  if (!ierr) ierr = CSRC256CUDAFill(form, &host);
  PetscCall(PetscFree(columns));
  PetscCall(PetscFree(values));
  if (PetscUnlikely(ierr)) (void)CSRC256CUDADestroy((void **)&form); /* the first error is the one to report */
  PetscCall(ierr);
  *data = form;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRC256CUDASetValues(void *data, const AIJCSR *csr)
{
  CSRC256CUDA   *form   = (CSRC256CUDA *)data;
  CSRC256       *host   = form->host;
  AIJCSR         onhost = *csr;
  PetscScalar   *values;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  /* host->v belongs to the form, so that destroy() frees it if something fails */
  PetscCall(PetscFree(host->v));
  PetscCall(PetscMalloc1(host->nnz, &host->v));
  ierr = PetscCSRCHostCopy(csr->a ? NULL : csr->device.a, (size_t)csr->nnz, sizeof(*values), &values);
  if (values) onhost.a = values;
  if (!ierr) ierr = CSRC256SetValues(host, &onhost);
  PetscCall(PetscFree(values));
  PetscCall(ierr);
  PetscCall(PetscCSRCDeviceUpload(form->device.v, host->v, (size_t)host->nnz * sizeof(*host->v)));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree(host->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = op(A) X + Z, K columns; Z is NULL, or has Y's shape and leading dimension */
static PetscErrorCode CSRC256CUDAProduct(const CSRC256CUDA *form, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, const PetscScalar *Z, PetscScalar *Y, PetscInt ldy)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  switch (op) {
  case AIJ_N:
    PetscCallCUDA(CSRC256Mult(form->device, (size_t)K, X, (size_t)ldx, Z, Y, (size_t)ldy, stream));
    break;
  case AIJ_T:
    PetscCallCUDA(CSRC256MultTranspose<false>(form->device, (size_t)K, X, (size_t)ldx, Z, Y, (size_t)ldy, stream));
    break;
  case AIJ_H:
    PetscCallCUDA(CSRC256MultTranspose<CSRCParts<PetscScalar> == 2>(form->device, (size_t)K, X, (size_t)ldx, Z, Y, (size_t)ldy, stream));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRC256CUDAApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  const CSRC256CUDA *form = (const CSRC256CUDA *)data;
  const PetscInt     m = form->device.m, n = form->device.n;

  PetscFunctionBegin;
  PetscCall(CSRC256CUDAProduct(form, op, 1, x, op == AIJ_N ? n : m, z, y, op == AIJ_N ? m : n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRC256CUDAApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  PetscFunctionBegin;
  PetscCall(CSRC256CUDAProduct((const CSRC256CUDA *)data, op, K, X, ldx, NULL, Y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes that are kept between products: the arrays on the device, and the permutation on the host */
static PetscErrorCode CSRC256CUDASizes(const CSRC256CUDA *form, PetscLogDouble *device, PetscLogDouble *host)
{
  const PetscLogDouble nnz = (PetscLogDouble)form->host->nnz;

  PetscFunctionBegin;
  *device = nnz * (sizeof(*form->device.r) + sizeof(*form->device.j) + sizeof(*form->device.v)) + (PetscLogDouble)(form->host->nblocks + 1) * sizeof(*form->device.p);
  *host   = nnz * sizeof(*form->host->perm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRC256CUDAGetMemory(const void *data, PetscLogDouble *bytes)
{
  PetscLogDouble device, host;

  PetscFunctionBegin;
  PetscCall(CSRC256CUDASizes((const CSRC256CUDA *)data, &device, &host));
  *bytes = device + host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRC256CUDAView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const CSRC256CUDA *form = (const CSRC256CUDA *)data;
  const CSRC256     *a    = form->host;
  const double       nnz  = (double)PetscMax(1, a->nnz);
  PetscLogDouble     device, host;

  PetscFunctionBegin;
  PetscCall(CSRC256CUDASizes(form, &device, &host));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " blocks of %d rows, bytes per nonzero: device %.2f, host %.2f\n", a->nblocks, CSRC256_ROWS, device / nnz, host / nnz));
  if (detail) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "device, bytes per nonzero: rows %zu, columns %zu, values %zu, block starts %.2f\n", sizeof(*form->device.r), sizeof(*form->device.j), sizeof(*form->device.v),
                                     (double)(a->nblocks + 1) * sizeof(*form->device.p) / nnz));
    PetscCall(PetscViewerASCIIPrintf(viewer, "host, bytes per nonzero: places for new values %zu\n", sizeof(*a->perm)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRC256CUDAVisit(const void *data, AIJVisitor visit, void *visitctx)
{
  const CSRC256CUDA *form = (const CSRC256CUDA *)data;
  CSRC256            copy = *form->host;
  const size_t       nnz  = (size_t)copy.nnz;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  copy.p = copy.j = NULL;
  copy.r          = NULL;
  copy.v          = NULL;
  ierr            = PetscCSRCHostCopy(form->device.p, (size_t)copy.nblocks + 1, sizeof(*copy.p), &copy.p);
  if (!ierr) ierr = PetscCSRCHostCopy(form->device.r, nnz, sizeof(*copy.r), &copy.r);
  if (!ierr) ierr = PetscCSRCHostCopy(form->device.j, nnz, sizeof(*copy.j), &copy.j);
  if (!ierr) ierr = PetscCSRCHostCopy(form->device.v, nnz, sizeof(*copy.v), &copy.v);
  if (!ierr) ierr = CSRC256Visit(&copy, visit, visitctx);
  PetscCall(PetscFree(copy.p));
  PetscCall(PetscFree(copy.r));
  PetscCall(PetscFree(copy.j));
  PetscCall(PetscFree(copy.v));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
