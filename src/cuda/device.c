/* Whether a device is usable; device memory and copies. All but the first needs CUDA and is called for data on a device only. */
#include "cuda/device.h"
#include <petsc/private/petscimpl.h>
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

static PetscBool DeviceAsked  = PETSC_FALSE;
static PetscBool DeviceUsable = PETSC_FALSE;
static char      DeviceReason[256];

/* The options that forbid PETSc to use GPUs. Without CUDA they are read too, so that PETSc does not call them unused */
static PetscErrorCode DeviceForbidden(PetscBool *forbidden)
{
  const char *names[]  = {"-device_enable", "-device_enable_cuda", "-default_device_type"};
  const char *values[] = {"none", "none", "host"};

  PetscFunctionBegin;
  *forbidden = PETSC_FALSE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names) && !*forbidden; k++) {
    char value[32];

    PetscCall(PetscOptionsGetString(NULL, NULL, names[k], value, sizeof(value), forbidden));
    if (*forbidden) PetscCall(PetscStrcasecmp(value, values[k], forbidden));
    if (*forbidden) PetscCall(PetscSNPrintf(DeviceReason, sizeof(DeviceReason), "%s %s was given", names[k], values[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceUsable(PetscBool *usable, const char **reason)
{
  PetscFunctionBegin;
  if (!DeviceAsked) {
    PetscBool forbidden;

    DeviceUsable = PETSC_FALSE;
    PetscCall(DeviceForbidden(&forbidden));
#if defined(PETSCCSRC_HAVE_CUDA)
    if (!forbidden) {
      int         count = 0;
      cudaError_t cerr  = cudaGetDeviceCount(&count);

      /* the error only says that there is no device: it is cleared so that PETSc does not find it later */
      if (cerr != cudaSuccess) (void)cudaGetLastError();
      DeviceUsable = cerr == cudaSuccess && count > 0 ? PETSC_TRUE : PETSC_FALSE;
      if (!DeviceUsable) PetscCall(PetscSNPrintf(DeviceReason, sizeof(DeviceReason), "CUDA finds no device (%s)", cudaGetErrorString(cerr)));
    }
#else
    PetscCall(PetscStrncpy(DeviceReason, "petsccsrc was built without CUDA", sizeof(DeviceReason)));
#endif
    DeviceAsked = PETSC_TRUE;
  }
  *usable = DeviceUsable;
  if (reason) *reason = DeviceReason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceForget(void)
{
  PetscFunctionBegin;
  DeviceAsked = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCHostCopy(const void *ptr, size_t n, size_t size, void *copy)
{
  PetscFunctionBegin;
  *(void **)copy = NULL;
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscBool                    usable = PETSC_FALSE;
  struct cudaPointerAttributes attributes;

  PetscCall(PetscCSRCDeviceUsable(&usable, NULL));
  if (usable && ptr && n) {
    PetscCallCUDA(cudaPointerGetAttributes(&attributes, ptr));
    if (attributes.type == cudaMemoryTypeDevice) {
      cudaStream_t stream;

      PetscCall(PetscGetCurrentCUDAStream(&stream)); /* what is copied may still be computed there */
      PetscCall(PetscMalloc(n * size, (void **)copy));
      PetscCallCUDA(cudaMemcpyAsync(*(void **)copy, ptr, n * size, cudaMemcpyDeviceToHost, stream));
      PetscCallCUDA(cudaStreamSynchronize(stream));
      PetscCall(PetscLogGpuToCpu((PetscLogDouble)(n * size)));
    }
  }
#else
  (void)ptr;
  (void)n;
  (void)size;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
/* Always returns an error: there is not enough device memory */
PetscErrorCode PetscCSRCDeviceMemoryError(const char what[], size_t bytes)
{
  size_t avail = 0, total = 0;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemGetInfo(&avail, &total));
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Device memory exhausted: %s wants %zu bytes, %zu of %zu are free. The host matrix is intact: MatBindToCPU(A, PETSC_TRUE) makes its products run on the host", what, bytes, avail, total);
}

PetscErrorCode PetscCSRCDeviceMalloc(const char what[], size_t bytes, void *ptr)
{
  cudaStream_t stream;
  cudaError_t  cerr;

  PetscFunctionBegin;
  *(void **)ptr = NULL;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream)); /* with this, PETSc has chosen the device of this process */
  cerr = cudaMalloc((void **)ptr, bytes);
  if (cerr == cudaErrorMemoryAllocation) {
    *(void **)ptr = NULL;
    (void)cudaGetLastError();
    PetscCall(PetscCSRCDeviceMemoryError(what, bytes));
  }
  PetscCallCUDA(cerr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceFree(void *ptr)
{
  PetscFunctionBegin;
  if (*(void **)ptr) PetscCallCUDA(cudaFree(*(void **)ptr));
  *(void **)ptr = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceCopy2DOn(void *queue, PetscScalar *to, PetscInt ldto, const PetscScalar *from, PetscInt ldfrom, PetscInt m, PetscInt n)
{
  const cudaStream_t stream = (cudaStream_t)queue;
  const size_t       s      = sizeof(PetscScalar);

  PetscFunctionBegin;
  if (m <= 0 || n <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (n == 1 || (ldto == m && ldfrom == m)) PetscCallCUDA(cudaMemcpyAsync(to, from, s * (size_t)m * (size_t)n, cudaMemcpyDefault, stream));
  else if (PetscMax(ldto, ldfrom) > (PetscInt)(INT_MAX / s)) { /* the distance of columns in a copy of two dimensions is limited */
    for (size_t k = 0; k < (size_t)n; k++) PetscCallCUDA(cudaMemcpyAsync(to + k * (size_t)ldto, from + k * (size_t)ldfrom, s * (size_t)m, cudaMemcpyDefault, stream));
  } else PetscCallCUDA(cudaMemcpy2DAsync(to, s * (size_t)ldto, from, s * (size_t)ldfrom, s * (size_t)m, (size_t)n, cudaMemcpyDefault, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceCopy2D(PetscScalar *to, PetscInt ldto, PetscMemType tomem, const PetscScalar *from, PetscInt ldfrom, PetscMemType frommem, PetscInt m, PetscInt n)
{
  cudaStream_t   stream;
  PetscLogDouble bytes = (PetscLogDouble)sizeof(PetscScalar) * m * n;

  PetscFunctionBegin;
  if (m <= 0 || n <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscCSRCDeviceCopy2DOn(stream, to, ldto, from, ldfrom, m, n));
  if (PetscMemTypeHost(frommem) && PetscMemTypeDevice(tomem)) PetscCall(PetscLogCpuToGpu(bytes));
  if (PetscMemTypeDevice(frommem) && PetscMemTypeHost(tomem)) PetscCall(PetscLogGpuToCpu(bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceCopy(PetscScalar *to, PetscMemType tomem, const PetscScalar *from, PetscMemType frommem, PetscInt n)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCDeviceCopy2D(to, n, tomem, from, n, frommem, n, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscCSRCDeviceWait(void)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
