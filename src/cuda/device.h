#pragma once

/*
  device.c: whether a device is usable, device memory, copies. A device is usable if PETSc has CUDA, there is a device, and -device_enable
  does not forbid it; otherwise *reason says why not. The check does not initialize PetscDevice. The other functions are for data on a
  device. If an allocation fails, the error says what the memory was for, how many bytes were wanted, and how many are free.
*/
#include <petscsys.h>
#include <petscdevicetypes.h>

PETSC_INTERN PetscErrorCode PetscCSRCDeviceUsable(PetscBool *usable, const char **reason);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceForget(void);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceMalloc(const char what[], size_t bytes, void *ptr);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceFree(void *ptr);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceMemoryError(const char what[], size_t bytes);

/* Copies between host and device on the stream of the current PetscDeviceContext; PetscCSRCDeviceWait() waits for them */
PETSC_INTERN PetscErrorCode PetscCSRCDeviceCopy(PetscScalar *to, PetscMemType tomem, const PetscScalar *from, PetscMemType frommem, PetscInt n);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceCopy2D(PetscScalar *to, PetscInt ldto, PetscMemType tomem, const PetscScalar *from, PetscInt ldfrom, PetscMemType frommem, PetscInt m, PetscInt n);
/* The same between devices, on any stream */
PETSC_INTERN PetscErrorCode PetscCSRCDeviceCopy2DOn(void *stream, PetscScalar *to, PetscInt ldto, const PetscScalar *from, PetscInt ldfrom, PetscInt m, PetscInt n);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceWait(void);
/* A host copy of n items of the given size if ptr is in device memory, to be freed with PetscFree(); NULL if it is in host memory */
PETSC_INTERN PetscErrorCode PetscCSRCHostCopy(const void *ptr, size_t n, size_t size, void *copy);

/* upload.c: copies large host arrays to the device; later work on the current stream sees them. The source may be changed on return */
PETSC_INTERN PetscErrorCode PetscCSRCDeviceUpload(void *to, const void *from, size_t bytes);
PETSC_INTERN PetscErrorCode PetscCSRCDeviceUploadFinalize(void);
