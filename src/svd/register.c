/*
  Initialization of libslepccsrc.so, the library of everything that needs SLEPc. It also registers the matrix types, so that
  SLEPc programs need only one -dll_append.
*/
#include "impls/blocklanczos/blocklanczos.h"
#include "impls/cyclic/cyclic.h"

/*@
  SlepcCSRCInitializePackage - Registers `SVDBLOCKLANCZOS` with SLEPc, and everything that `PetscCSRCInitializePackage()` registers

  Logically Collective

  Level: developer

  Notes:
  PETSc calls this itself when the library is loaded with `-dll_append`. A program that links the library calls it after
  `SlepcInitialize()`; it calls `PetscCSRCInitializePackage()`.

  It is an error if the library was built for another minor version of SLEPc.

.seealso: `PetscCSRCInitializePackage()`, `SVDBLOCKLANCZOS`
@*/
PetscErrorCode SlepcCSRCInitializePackage(void)
{
  PetscInt major, minor;

  PetscFunctionBegin;
  PetscCall(PetscCSRCInitializePackage());
  PetscCall(SlepcGetVersionNumber(&major, &minor, NULL, NULL));
  PetscCheck(major == SLEPC_VERSION_MAJOR && minor == SLEPC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_SUP, "slepccsrc was built for SLEPc %d.%d, but the SLEPc loading it is %" PetscInt_FMT ".%" PetscInt_FMT "; build it against this SLEPc",
             SLEPC_VERSION_MAJOR, SLEPC_VERSION_MINOR, major, minor);
  PetscCall(SVDRegister(SVDBLOCKLANCZOS, SVDCreate_BlockLanczos));
  PetscCall(SVDBlockLanczosRegisterLeft());
  PetscCall(SVDRegister(SVDCYCLIC, SVDCreate_Cyclic_AIJDerived));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc looks for this name in a library called libslepccsrc */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_slepccsrc(void)
{
  PetscFunctionBegin;
  PetscCall(SlepcCSRCInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
}
