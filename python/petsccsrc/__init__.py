"""PETSc matrix types csrccuda and bccoo, the linear solver qmr, and for SLEPc the SVD solver blocklanczos.

Importing this module registers them with petsc4py, and with slepc4py if that is installed:

    import petsccsrc
    from petsc4py import PETSc

    A.convert("csrccuda")

Options for PETSc are given before the import, to petsc4py.init() or slepc4py.init(). `library`, and with SLEPc `slepclibrary`, are the
files that other programs load with -dll_append.
"""
import ctypes
import importlib.util
import pathlib

from petsc4py import PETSc

from ._version import petsc as _petsc, version as __version__

# petsc4py keeps its libpetsc to itself: with another version the library below would bring a second one, and start neither
if PETSc.Sys.getVersion()[:2] != _petsc:
    raise ImportError("petsccsrc was built for PETSc {}.{}, and petsc4py has {}.{}: build petsccsrc again".format(*_petsc, *PETSc.Sys.getVersion()[:2]))
if PETSc.Sys.isFinalized():
    raise ImportError("petsccsrc must be imported before PETSc is finalized")

library = str(pathlib.Path(__file__).with_name("libpetsccsrc.so"))
slepclibrary = str(pathlib.Path(__file__).with_name("libslepccsrc.so"))
if not pathlib.Path(slepclibrary).exists() or not importlib.util.find_spec("slepc4py"):
    slepclibrary = None


def _register(file, function):
    call = getattr(ctypes.CDLL(file), function)
    PETSc.Sys.pushErrorHandler("traceback")  # prints the reason of an error, of which the exception has the number only
    try:
        code = call()
    finally:
        PETSc.Sys.popErrorHandler()
    if code:
        raise PETSc.Error(code)


if slepclibrary:
    from slepc4py import SLEPc  # starts SLEPc

    _register(slepclibrary, "SlepcCSRCInitializePackage")
else:
    _register(library, "PetscCSRCInitializePackage")
