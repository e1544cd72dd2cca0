"""slepc4py 3.26.1: errors of SLEPc are not PETSc.Error

    python errors.py

prints "SystemError: <method 'setType' ...> returned a result with an exception set" and should print "PETSc.Error: 86".

Why: src/lib-slepc/custom.h defines PETSC_ERR_PYTHON as -1 unless PetscDefined(ERR_PYTHON). PETSC_ERR_PYTHON is an enumerator of
PetscErrorCode, which the preprocessor does not see, so it is always defined as -1. petsc4py's CHKERR(), which slepc4py calls through a
pointer, sets the exception and returns the enumerator, 101. Code generated from "except PETSC_ERR_PYTHON" compares with -1, and goes on
with the exception set.

How to correct it: remove the definition, and the #if, from custom.h.
"""
import slepc4py

slepc4py.init()
from petsc4py import PETSc
from slepc4py import SLEPc

try:
    SLEPc.SVD().create().setType("nothing")
except PETSc.Error as error:
    print("PETSc.Error:", error.ierr)
except SystemError as error:
    print("SystemError:", error)
