"""The libraries, called by ctypes: src/svd/python/python.h describes the interface."""
import atexit
import ctypes
import importlib.util
import os
import pathlib
import signal
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_void_p

import numpy as np

# y = A x: transpose, columns, x, its leading dimension, y, its leading dimension
Product = ctypes.CFUNCTYPE(c_int, c_int, c_int64, c_void_p, c_int64, c_void_p, c_int64)
# steps, values converged, largest residual
Step = ctypes.CFUNCTYPE(c_int, c_int64, c_int64, c_double)


class Request(ctypes.Structure):
    _fields_ = [
        *((name, c_int64) for name in ("values", "ncv", "iterations", "seed", "smallest", "starts")),
        *((name, c_double) for name in ("tolerance", "gap")),
        ("options", c_char_p),
        ("start", c_void_p),
        ("step", Step),
        ("interval", c_double),
    ]


class Result(ctypes.Structure):
    _fields_ = [
        *((name, c_int64) for name in ("converged", "reason", "steps", "products", "certified", "proved")),
        *((name, c_double) for name in ("bound", "chance", "memory")),
    ]


FUNCTIONS = {
    "Build": [POINTER(c_int64)],
    "Start": [],
    "End": [],
    "CSR": [c_void_p, c_int, c_void_p, c_int64, c_int64, c_int64, c_int64, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)],
    "Dense": [c_int, c_int64, c_int64, c_void_p, POINTER(c_void_p)],
    "Operator": [c_int, c_int64, c_int64, Product, POINTER(c_void_p)],
    "Centered": [c_void_p, c_int, POINTER(c_void_p)],
    "Sizes": [c_void_p, POINTER(c_int64)],
    "Destroy": [POINTER(c_void_p)],
    "Memory": [c_void_p, POINTER(c_double)],
    "Multiply": [c_void_p, c_int, c_int, c_void_p, c_int64, c_void_p, c_void_p],
    "Solve": [c_void_p, POINTER(Request), c_int, c_void_p, POINTER(Result), POINTER(c_void_p)],
    "Triplets": [c_void_p, c_int, c_void_p, c_int64, c_void_p, c_void_p, c_void_p, c_void_p],
}

# PETSc's error codes: memory; support; arguments, and numbers that are not finite
EXCEPTIONS = {55: MemoryError, 56: NotImplementedError, **dict.fromkeys((*range(60, 65), *range(68, 76), 80, 84, 85, 86, 89, 95), ValueError)}


# In a wheel that brings a PETSc of its own, without MPI, which nothing else in the program can use
WHEEL = pathlib.Path(__file__).parent / "libpetsccsrc-wheel.so"
alone = WHEEL.exists()


def load(file):
    try:
        return ctypes.CDLL(str(file))
    except OSError:  # CUDA's packages may be in another of Python's folders
        spec = importlib.util.find_spec("nvidia")
        for name in ("nvJitLink", "cudart", "cublasLt", "cublas", "cusparse", "cusolver", "curand"):
            for path in spec.submodule_search_locations if spec else ():
                for library in pathlib.Path(path).glob(f"cu13/lib/lib{name}.so.*"):
                    ctypes.CDLL(str(library))
        return ctypes.CDLL(str(file))


def folder():
    """Where the libraries are: in the package or, for sources that are not installed, where SLEPCCSRC_LIB says"""
    here = pathlib.Path(__file__).parent
    if not (here / "libpetsccsrc.so").exists() and os.environ.get("SLEPCCSRC_LIB"):
        return pathlib.Path(os.environ["SLEPCCSRC_LIB"]).parent
    return here


class Library:
    """The library once it is loaded and PETSc has been started, which the first use does"""

    def __init__(self):
        self.lock = threading.RLock()  # PETSc is not to be called by two threads at once
        self.functions = None
        self.pending = []  # exceptions in functions of Python that the library has called

    def start(self):
        file = WHEEL if alone else folder() / "libslepccsrc.so"
        if not file.exists():
            raise ImportError(f"there is no {file}: petsccsrc was built without SLEPc, which svds and Matrix need")
        library = load(file)
        functions = {}
        for name, types in FUNCTIONS.items():
            functions[name] = getattr(library, f"PetscCSRCPython{name}")
            functions[name].argtypes = types
        self.reason = library.PetscCSRCPythonReason
        self.reason.restype = c_char_p
        build = (c_int64 * 8)()
        functions["Build"](build)
        self.version = "{}.{}.{}".format(*build)
        # petsc4py keeps its libpetsc to itself: with another version the library brings a second one, and neither works
        PETSc = None if alone else getattr(sys.modules.get("petsc4py.PETSc"), "Sys", None)
        if PETSc and PETSc.getVersion()[:2] != tuple(build[3:5]):
            raise ImportError("petsccsrc was built for PETSc {}.{}, and petsc4py has {}.{}: build petsccsrc again".format(*build[3:5], *PETSc.getVersion()[:2]))
        self.integer = np.dtype(f"i{build[5]}")
        self.most = int(np.iinfo(self.integer).max)
        self.scalar = np.dtype(f"c{2 * build[6]}" if build[7] else f"f{build[6]}")
        self.functions = functions
        try:
            self("Start")
        except Exception:
            self.functions = None
            raise
        atexit.register(self.end)

    def end(self):
        if not self.lock.acquire(blocking=False):
            return  # another thread still computes
        functions, self.functions = self.functions, None  # objects that are left have ended with PETSc
        functions["End"]()

    def ensure(self):
        with self.lock:
            if not self.functions:
                self.start()

    def __call__(self, name, *arguments):
        with self.lock:
            code = self.functions[name](*arguments)
            if self.pending:
                exception = self.pending.pop()
                self.pending.clear()
                raise exception
            if code:
                reason = self.reason().decode(errors="replace")
                raise EXCEPTIONS.get(code, RuntimeError)(reason or f"PETSc's error {code}")

    def new(self, name, *arguments):
        """Calls a function whose last argument is a new object"""
        handle = c_void_p()
        try:
            self(name, *arguments, byref(handle))
        except BaseException:
            self.destroy(handle)
            raise
        return handle

    def destroy(self, handle):
        if handle.value and self.functions:
            self("Destroy", byref(handle))

    def guarded(self, function):
        """A function for the library to call: an exception ends the library's work, and is raised again when that has ended"""

        def call(*arguments):
            try:
                function(*arguments)
                return 0
            except BaseException as exception:
                self.pending.append(exception)
                return 1

        return call


class Interrupts:
    """Within this context Ctrl-C is only noted, so that work can be ended where that leaves nothing behind; on exit it has its usual effect"""

    def __enter__(self):
        self.noted = False
        self.previous = None
        if threading.current_thread() is threading.main_thread():
            self.previous = signal.signal(signal.SIGINT, self.note)
            if not callable(self.previous):  # ignored, fatal, or not Python's
                signal.signal(signal.SIGINT, self.previous or signal.SIG_DFL)
                self.previous = None
        return self

    def note(self, *_):
        self.noted = True

    def check(self):
        if self.noted:
            raise KeyboardInterrupt

    def __exit__(self, *exception):
        if self.previous is None:
            return
        signal.signal(signal.SIGINT, self.previous)
        if self.noted and not (exception[0] and issubclass(exception[0], KeyboardInterrupt)):
            signal.raise_signal(signal.SIGINT)


library = Library()
