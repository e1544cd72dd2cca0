"""Sparse matrices with fast products with A and its transpose from one stored copy, and singular values of them.

    from petsccsrc import svds
    u, s, vt = svds(A, k=50)

The matrix types csrccuda and bccoo, the linear solver qmr and the SVD solver blocklanczos are registered with petsc4py and slepc4py, if these are
installed, when this module is imported. Options for PETSc are given before, to petsc4py.init() or slepc4py.init(), or in PETSC_OPTIONS. `library`
and `slepclibrary` are the files that other programs load with -dll_append. A wheel that brings a PETSc of its own has none of these: it has `svds`
and `Matrix` only.
"""
import ctypes as _ctypes
import importlib.util as _util
import pathlib as _pathlib

from ._library import alone as _alone, folder as _folder, library as _calls
from ._matrix import Matrix
from ._svds import Certificate, NoConvergence, SVDResult, svds

__all__ = ["Certificate", "Matrix", "NoConvergence", "SVDResult", "svds"]
library = None if _alone else str(_folder() / "libpetsccsrc.so")
slepclibrary = str(_folder() / "libslepccsrc.so")
if not _pathlib.Path(slepclibrary).exists():
    slepclibrary = None

if library and _util.find_spec("petsc4py"):
    if slepclibrary:
        _calls.ensure()
    else:
        from petsc4py import PETSc as _PETSc

        _code = _ctypes.CDLL(library).PetscCSRCInitializePackage()
        if _code:
            raise _PETSc.Error(_code)


def __getattr__(name):
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _calls.ensure()
    return _calls.version
