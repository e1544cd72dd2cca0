"""Matrices of the library made of those of other libraries, and products with them."""
import contextlib
import ctypes
import operator
import sys
from ctypes import c_int64

import numpy as np

from ._arrays import HOST, CuPy, kind, known
from ._library import Product, alone, library


def _indices(array, xp, limit, integer, what):
    """Index arrays as the library has them, checked, since others would be used as addresses"""
    if xp.dtype(array).kind not in "iu":
        raise TypeError(f"{what} are {xp.dtype(array)}: they must be integers")
    if len(array) and not (xp.device and xp.dtype(array) == np.int32):  # which the library checks itself: CuPy compiles a reduction for seconds
        least, most = int(array.min()), int(array.max())
        if least < 0 or most >= limit:
            raise ValueError(f"{what} are from {least} to {most}: they must be from 0 to {limit - 1}")
    _fits(limit - 1, what)
    return xp.array(array, integer)


def _fits(number, what):
    if number > library.most:
        raise ValueError(f"{what} are up to {number}: this needs a PETSc with 64-bit integers")


def _values(array, xp):
    dtype = xp.dtype(array)
    if dtype.kind not in "biufc":
        raise TypeError(f"values are {dtype}: they must be numbers")
    if dtype.kind == "c" and library.scalar.kind != "c":
        raise TypeError("values are complex: this needs a PETSc with complex scalars")
    return xp.array(array, library.scalar)


class Matrix:
    """A sparse matrix that is stored once, in the format for products, and multiplied many times

    A is a matrix of scipy.sparse, cupyx.scipy.sparse or PyTorch, a tuple (indptr, indices, data) or (indptr, indices, data, shape) of arrays, a
    dense array, a LinearOperator, or a Mat of petsc4py. With comm, a communicator of mpi4py, A has the rows of this process, and all columns.

    columns: how many columns most operands have, which decides how nonzeros are stored on a GPU; svds(Matrix) multiplies blocks of 4 to 16.

    A's nonzeros are stored and its arrays are not kept, but those of a dense array, an operator and a Mat are used. M @ x, M.T @ x and x @ M
    multiply vectors and blocks where A is, on the host or on a CUDA device.
    """

    __array_ufunc__ = None  # NumPy's @ leaves x @ M to this class
    _base = None  # the matrix that this one is the transpose of
    _users = 0  # calls that use what is stored
    _borrowed = False  # a Mat of petsc4py

    def __init__(self, A, comm=None, columns=1):
        self._make(A, comm, columns)

    def _make(self, A, comm, columns):
        if alone and comm is not None:
            raise TypeError("comm: this petsccsrc is a wheel for one process; build it with pip install . against a PETSc with MPI")
        library.ensure()
        self.transposed = False
        self._keep = None  # what the library uses and does not own
        self._comm = comm
        self._mpi = None if comm is None else sys.modules["mpi4py.MPI"]._addressof(comm)
        self._columns = columns
        self._handle = self._convert(A)
        sizes = (c_int64 * 5)()
        library("Sizes", self._handle, sizes)
        self._local = (sizes[0], sizes[1])
        self._shape = (sizes[3], sizes[2]) if self.transposed else (sizes[2], sizes[3])
        if sizes[4] and self._xp is HOST:  # a Mat of petsc4py on a device
            import cupy

            self._xp = CuPy(cupy)
        return self

    def _convert(self, A):
        """A handle of A, or of its transpose, which is then said in self.transposed"""
        module = type(A).__module__.partition(".")[0]
        if isinstance(A, Matrix):
            raise TypeError("A is a Matrix already")
        if module == "petsc4py":
            if alone:
                raise TypeError("a Mat of petsc4py: this petsccsrc is a wheel with a PETSc of its own; give (*A.getValuesCSR(), A.getSize()), or build it with pip install . against that PETSc")
            A.incRef()  # A.destroy() does not end it
            self._borrowed, self._xp = True, HOST
            return ctypes.c_void_p(A.handle)
        if isinstance(A, tuple):
            if len(A) not in (3, 4):
                raise TypeError(f"a tuple of {len(A)}: it must be (indptr, indices, data) or (indptr, indices, data, shape)")
            indptr, indices, data = map(known, A[:3])
            rows, columns = map(operator.index, A[3]) if len(A) == 4 else (len(indptr) - 1, int(indices.max()) + 1 if len(indices) else 0)
            if rows != len(indptr) - 1:
                raise ValueError(f"indptr has {len(indptr)} entries for {rows} rows: it must have one more than rows")
            return self._csr(indptr, indices, data, columns)
        if module == "torch":
            return self._torch(A)
        if hasattr(A, "tocsr"):  # scipy.sparse, cupyx.scipy.sparse
            if len(A.shape) != 2:
                raise ValueError(f"A has {len(A.shape)} dimensions: it must have 2")
            self.transposed = A.format == "csc"
            A = A if A.format in ("csr", "csc") else A.tocsr()
            return self._csr(A.indptr, A.indices, A.data, A.shape[not self.transposed])
        if hasattr(A, "matvec"):
            return self._operator(A)
        return self._dense(A)

    def _csr(self, indptr, indices, data, columns):
        self._xp = xp = kind(data)
        if kind(indptr) is None or xp is None or {kind(a).device for a in (indptr, indices, data)} != {xp.device}:
            raise TypeError("indptr, indices and data must be arrays in the same memory")
        if any(a.ndim != 1 for a in (indptr, indices, data)) or len(indptr) < 1:
            raise ValueError("indptr, indices and data must have one dimension, and indptr an entry more than rows")
        narrow = self._comm is None and xp.dtype(indptr) == xp.dtype(indices) == np.int32
        integer = np.dtype(np.int32) if narrow else library.integer
        indptr = _indices(indptr, xp, len(indices) + 1, integer, "indptr")
        indices = _indices(indices, xp, columns, integer, "indices")
        values = _values(data, xp)
        if len(values) != len(indices):
            raise ValueError(f"{len(indices)} indices and {len(values)} values: they must be as many")
        if int(indptr[0]) or int(indptr[-1]) > len(indices) or not xp.device and bool((indptr[1:] < indptr[:-1]).any()):
            raise ValueError(f"indptr must begin with 0, not descend, and end with at most {len(indices)}")
        _fits(len(indptr), "rows")
        if self.transposed and self._comm:
            raise TypeError("with comm, A must have rows: CSC has columns")
        return library.new("CSR", self._mpi, xp.device, xp.stream(), self._columns, len(indptr) - 1, columns, integer.itemsize, *map(xp.address, (indptr, indices, values)))

    def _torch(self, A):
        torch = sys.modules["torch"]
        if A.ndim != 2:
            raise ValueError(f"A has {A.ndim} dimensions: it must have 2")
        if A.layout == torch.strided:
            return self._dense(A)
        self.transposed = A.layout == torch.sparse_csc
        if self.transposed:
            return self._csr(A.ccol_indices(), A.row_indices(), A.values(), A.shape[0])
        A = A if A.layout == torch.sparse_csr else A.to_sparse_csr()
        return self._csr(A.crow_indices(), A.col_indices(), A.values(), A.shape[1])

    def _dense(self, A):
        given, A = A, known(A)
        self._xp = xp = kind(A)
        if A.ndim == 0:
            raise TypeError(f"A is a {type(given).__name__}: it must be a matrix, an array or an operator")
        if A.ndim != 2:
            raise ValueError(f"A has {A.ndim} dimensions: it must have 2")
        self._check_one_process("a dense array")
        _fits(max(A.shape), "rows and columns")
        values = _values(A, xp)  # by rows: the transpose by columns
        self.transposed = True
        handle = library.new("Dense", xp.device, A.shape[1], A.shape[0], xp.address(values))
        self._keep = values
        return handle

    def _operator(self, A):
        if not hasattr(A, "matmat"):
            from scipy.sparse.linalg import aslinearoperator

            A = aslinearoperator(A)
        m, n = map(int, A.shape)
        _fits(max(m, n), "rows and columns")
        self._xp = xp = CuPy(sys.modules["cupy"]) if type(A).__module__.startswith("cupyx") else HOST
        self._check_one_process("an operator")
        if np.dtype(getattr(A, "dtype", None) or float).kind == "c" and library.scalar.kind != "c":
            raise TypeError("the operator is complex: this needs a PETSc with complex scalars")
        dtype = library.scalar

        def product(transpose, columns, x, ldx, y, ldy):
            x = xp.wrap(x, (columns, m if transpose else n), ldx, dtype).T
            y = xp.wrap(y, (columns, n if transpose else m), ldy, dtype).T
            if not transpose:
                y[...] = A.matmat(x)
            elif dtype.kind == "c":
                y[...] = A.rmatmat(x.conj()).conj()
            else:
                y[...] = A.rmatmat(x)
            xp.wait()

        self._keep = Product(library.guarded(product))
        return library.new("Operator", xp.device, m, n, self._keep)

    def _check_one_process(self, what):
        if self._comm:
            raise TypeError(f"with comm, A must be sparse, and not {what}")

    def __reduce__(self):
        raise TypeError("a Matrix cannot be copied or pickled: make another one from the matrix that it was made of")

    def __del__(self):
        if self._base is None and hasattr(self, "_handle") and not sys.is_finalizing():
            library.destroy(self._handle)

    @property
    def shape(self):
        """Rows and columns, of all processes"""
        return self._shape

    @property
    def dtype(self):
        return library.scalar

    @property
    def ndim(self):
        return 2

    @property
    def memory(self):
        """Bytes of the stored nonzeros"""
        memory = ctypes.c_double()
        with self._use():
            library("Memory", self._handle, memory)
        return int(memory.value)

    @property
    def T(self):
        """The transpose, which is the same matrix, also after update()"""
        return self._base or _Transpose(self)

    @contextlib.contextmanager
    def _use(self):
        """What is stored stays until the end: update() waits in other threads, and is an error in a function that is called meanwhile"""
        owner = self._base or self
        with library.lock:
            owner._users += 1
            try:
                yield
            finally:
                owner._users -= 1

    def __matmul__(self, x):
        with self._use():
            return self._multiply(x)

    def _multiply(self, x):
        given, x = x, known(x)
        xp = kind(x)
        if x.ndim == 0:
            raise TypeError(f"the operand is a {type(given).__name__}: it must be an array")
        if xp.device != self._xp.device:
            raise TypeError("the matrix and the operand are not in the same memory")
        length, rows = self._local if self.transposed else self._local[::-1]
        if x.ndim not in (1, 2) or x.shape[0] != length:
            raise ValueError(f"an operand of shape {tuple(x.shape)}: it must have {length} rows")
        columns = _values(x.T if x.ndim == 2 else x, xp)  # stored by columns
        y = xp.empty((*columns.shape[:-1], rows), library.scalar)
        count = 1 if x.ndim == 1 else len(columns)
        if count:
            library("Multiply", self._handle, int(self.transposed), xp.device, xp.stream(), count, xp.address(columns), xp.address(y))
        return y.T if x.ndim == 2 else y

    dot = matvec = matmat = __matmul__

    def rmatvec(self, x):
        """The product with the conjugate transpose"""
        if library.scalar.kind != "c":
            return self.T @ x
        return (self.T @ x.conj()).conj()

    rmatmat = rmatvec

    def __rmatmul__(self, x):
        return (self.T @ known(x).T).T

    def update(self, A):
        """Stores another matrix of the same shape in place of this one, for example one with new values"""
        other = Matrix(A, comm=self._comm, columns=self._columns)
        if other.shape != self.shape or self._base is not None or self._borrowed:
            raise ValueError(f"a matrix of shape {other.shape} in place of one of shape {self.shape}, or of a transpose, or of a Mat of petsc4py")
        with library.lock:
            if self._users:
                raise RuntimeError("update() by a function that a product with this matrix, or svds() of it, has called")
            self._handle, other._handle = other._handle, self._handle
            self._keep, other._keep = other._keep, self._keep
            self._xp, self._local, self.transposed = other._xp, other._local, other.transposed

    def aslinearoperator(self):
        """A LinearOperator of SciPy, or of CuPy if the matrix is on a device"""
        if self._xp.device:
            from cupyx.scipy.sparse.linalg import LinearOperator
        else:
            from scipy.sparse.linalg import LinearOperator
        return LinearOperator(self.shape, matvec=self.matvec, rmatvec=self.rmatvec, matmat=self.matmat, rmatmat=self.rmatmat, dtype=library.scalar)


class _Transpose(Matrix):
    """All that it has is its matrix's, as that is now"""

    def __init__(self, matrix):
        self._base = matrix

    def __getattr__(self, name):
        return getattr(self._base, name)

    @property
    def shape(self):
        return self._base.shape[::-1]

    @property
    def transposed(self):
        return not self._base.transposed
