/*
  The layout csrc on a CUDA device. It is made on the host, for new values too, and its arrays are copied to the device. kernels.cuh describes it, and has the
  kernels of the products and their launches.
*/
#include "csrc.h"
#include "cuda/memory.cuh"
#include "kernels.cuh"
#include "cuda/scratch.cuh"

typedef CSRC256Device<PetscScalar, PetscInt> Arrays;

typedef struct {
  Arrays   device;
  PetscInt nnz;
  char    *memory; /* the allocation for its arrays */
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
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostFree(Arrays *host)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(host->p));
  PetscCall(PetscFree(host->r));
  PetscCall(PetscFree(host->j));
  PetscCall(PetscFree(host->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills the arrays of row block g from a CSR on the host; `at` is scratch, an integer for each nonzero. A stable sort keeps the order of rows within a column. */
static void FillBlock(const AIJCSR *csr, PetscInt g, PetscInt at[], Arrays *host)
{
  const PetscInt  first = g * CSRC256_THREADS, rows = PetscMin(CSRC256_THREADS, csr->m - first);
  const PetscInt *i = csr->i + first, *j = csr->j;

  host->p[g + 1] = i[rows];
  for (PetscInt k = i[0]; k < i[rows]; k++) at[k] = k;
  std::stable_sort(at + i[0], at + i[rows], [j](PetscInt k, PetscInt l) { return j[k] < j[l]; });
  for (PetscInt k = i[0]; k < i[rows]; k++) {
    host->r[k] = (unsigned char)(std::upper_bound(i, i + rows, at[k]) - i - 1);
    host->j[k] = j[at[k]];
    host->v[k] = csr->a[at[k]];
  }
}

/* Makes the layout on the host from a CSR there; *at is scratch; what was allocated is to be freed also after an error */
static PetscErrorCode Make(const AIJCSR *csr, PetscInt **at, Arrays *host)
{
  const PetscInt nblocks = csr->m / CSRC256_THREADS + (csr->m % CSRC256_THREADS ? 1 : 0);

  PetscFunctionBegin;
  host->m       = csr->m;
  host->n       = csr->n;
  host->nblocks = nblocks;
  PetscCall(PetscMalloc1(nblocks + 1, &host->p));
  PetscCall(PetscMalloc1(csr->nnz, &host->r));
  PetscCall(PetscMalloc1(csr->nnz, &host->j));
  PetscCall(PetscMalloc1(csr->nnz, &host->v));
  PetscCall(PetscMalloc1(csr->nnz, at));
  host->p[0] = 0;
  PetscPragmaOMP(parallel for schedule(dynamic, 4) num_threads(csr->nnz >= CSRC256_PARALLEL ? csr->nthreads : 1))
  for (PetscInt g = 0; g < nblocks; g++) FillBlock(csr, g, *at, host);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same from any CSR: columns and values that are only on the device are copied from there */
static PetscErrorCode HostMake(const AIJCSR *csr, Arrays *host)
{
  AIJCSR         onhost  = *csr;
  PetscInt      *columns = NULL, *at = NULL;
  PetscScalar   *values = NULL;
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  *host = Arrays();
  if (!csr->j) ierr = PetscCSRCHostCopy(csr->device.j, (size_t)csr->nnz, sizeof(*csr->j), &columns);
  if (!csr->a && !ierr) ierr = PetscCSRCHostCopy(csr->device.a, (size_t)csr->nnz, sizeof(*csr->a), &values);
  if (columns) onhost.j = columns;
  if (values) onhost.a = values;
  if (!ierr) ierr = Make(&onhost, &at, host);
  PetscCall(PetscFree(at));
  PetscCall(PetscFree(columns));
  PetscCall(PetscFree(values));
  if (ierr) PetscCall(HostFree(host));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies the layout to the device, whose arrays are allocated if they are not yet: then only values are new */
static PetscErrorCode Upload(const Arrays *host, PetscInt nnz, CSRC256CUDA *form)
{
  const size_t nstarts = (size_t)host->nblocks + 1, n = (size_t)nnz;
  Arrays      *device = &form->device;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  if (!form->memory) {
    CSRCScratch kept(stream);
    CSRCArrays  arrays;

    *device   = *host;
    form->nnz = nnz;
    arrays.add(&device->v, n);
    arrays.add(&device->j, n);
    arrays.add(&device->r, n);
    arrays.add(&device->p, nstarts);
    PetscCall(CSRCCheckMemory(arrays.get(kept, &form->memory), "the layout csrc", arrays.bytes, NULL));
    kept.all.clear(); /* form owns the memory from now on */
    PetscCall(PetscCSRCDeviceUpload(device->j, host->j, n * sizeof(*device->j)));
    PetscCall(PetscCSRCDeviceUpload(device->r, host->r, n * sizeof(*device->r)));
    PetscCall(PetscCSRCDeviceUpload(device->p, host->p, nstarts * sizeof(*device->p)));
  }
  PetscCall(PetscCSRCDeviceUpload(device->v, host->v, n * sizeof(*device->v)));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRC256CUDASetValues(void *data, const AIJCSR *csr)
{
  Arrays         host;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(HostMake(csr, &host));
  ierr = Upload(&host, csr->nnz, (CSRC256CUDA *)data);
  PetscCall(HostFree(&host));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRC256CUDABuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  (void)purpose; /* the layout is the same for all products */
  PetscCall(PetscCalloc(sizeof(CSRC256CUDA), data));
  ierr = CSRC256CUDASetValues(*data, csr);
  if (ierr) PetscCall(CSRC256CUDADestroy(data));
  PetscCall(ierr);
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

static PetscErrorCode CSRC256CUDAGetMemory(const void *data, PetscLogDouble *bytes)
{
  const CSRC256CUDA *form = (const CSRC256CUDA *)data;
  const Arrays      *a    = &form->device;

  PetscFunctionBegin;
  *bytes = (PetscLogDouble)form->nnz * (sizeof(*a->r) + sizeof(*a->j) + sizeof(*a->v)) + ((PetscLogDouble)a->nblocks + 1) * sizeof(*a->p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRC256CUDAView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const Arrays *a = &((const CSRC256CUDA *)data)->device;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " blocks of %d rows\n", a->nblocks, CSRC256_THREADS));
  if (detail) PetscCall(PetscViewerASCIIPrintf(viewer, "bytes per nonzero: rows %zu, columns %zu, values %zu\n", sizeof(*a->r), sizeof(*a->j), sizeof(*a->v)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Visit(const Arrays *host, AIJVisitor visit, void *visitctx)
{
  PetscInt row[CSRC256_THREADS];

  PetscFunctionBegin;
  for (PetscInt g = 0; g < host->nblocks; g++) {
    for (PetscInt k = host->p[g], n; k < host->p[g + 1]; k += n) {
      n = PetscMin(CSRC256_THREADS, host->p[g + 1] - k);
      for (PetscInt l = 0; l < n; l++) row[l] = g * CSRC256_THREADS + host->r[k + l];
      (*visit)(visitctx, n, row, host->j + k, host->v + k);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRC256CUDAVisit(const void *data, AIJVisitor visit, void *visitctx)
{
  const CSRC256CUDA *form = (const CSRC256CUDA *)data;
  const Arrays      *a    = &form->device;
  const size_t       nnz  = (size_t)form->nnz;
  Arrays             host = Arrays();
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  host.nblocks = a->nblocks;
  ierr         = PetscCSRCHostCopy(a->p, (size_t)a->nblocks + 1, sizeof(*a->p), &host.p);
  if (!ierr) ierr = PetscCSRCHostCopy(a->r, nnz, sizeof(*a->r), &host.r);
  if (!ierr) ierr = PetscCSRCHostCopy(a->j, nnz, sizeof(*a->j), &host.j);
  if (!ierr) ierr = PetscCSRCHostCopy(a->v, nnz, sizeof(*a->v), &host.v);
  if (!ierr) ierr = Visit(&host, visit, visitctx);
  PetscCall(HostFree(&host));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
