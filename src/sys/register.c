/* Initialization of libpetsccsrc.so: the function that PETSc calls after dlopen(), and the one for programs that link the library */
#include "threads.h"
#include "versionguard.h"
#include "mat/impls/csrc/csrccuda.h"
#include "mat/impls/bccoo/bccoo.h"
#include "ksp/impls/qmr/qmr.h"

static PetscBool PetscCSRCPackageInitialized = PETSC_FALSE;

static PetscErrorCode PetscCSRCFinalizePackage(void)
{
  PetscFunctionBegin;
  PetscCall(AIJKindsFinalize());
  PetscCall(PetscCSRCThreadsFinalize());
  PetscCSRCPackageInitialized = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Register(void)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCThreadsInitialize());
  PetscCall(AIJKindsInitialize());
  PetscCall(MatCSRCCUDARegister());
  PetscCall(AIJKindRegister(&AIJKindBCCOO, MatCreate_SeqBCCOO, MatCreate_MPIBCCOO));
  PetscCall(KSPRegister(KSPQMR, KSPCreate_QMR));
  PetscCall(PetscRegisterFinalize(PetscCSRCFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PetscCSRCInitializePackage - Registers the matrix types `MATCSRCCUDA` and `MATBCCOO` and the solver `KSPQMR` with PETSc

  Logically Collective

  Level: developer

  Notes:
  PETSc calls this itself when the library is loaded with `-dll_append`. A program that links the library calls it after
  `PetscInitialize()`. It may be called any number of times, and both ways of loading may be combined. It does not initialize CUDA; only with
  `-mat_csrc_replace_aijcusparse` it queries for a device.

  Inside `PetscInitialize()` the MPI processes find out which of them share cores, and wait for each other to do so. In a program that
  links the library they do this when the first parallel matrix on all processes gets its type; this function is then not collective.

  It is an error if the library was built for a PETSc of another minor version, scalar type or size of `PetscInt`.

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `KSPQMR`, `PetscDLLibraryAppend()`
@*/
PetscErrorCode PetscCSRCInitializePackage(void)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (PetscCSRCPackageInitialized) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCSRCCheckPETSc());
  ierr = Register();
  if (ierr) PetscCall(PetscCSRCFinalizePackage()); /* the next call tries again */
  PetscCall(ierr);
  PetscCSRCPackageInitialized = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc looks for this name in a library called libpetsccsrc */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petsccsrc(void)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
}
