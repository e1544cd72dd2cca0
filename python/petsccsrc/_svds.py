"""Singular values and vectors: svds()."""
import collections
import ctypes
import math

import numpy as np

from ._arrays import HOST, kind, known
from ._library import Interrupts, Request, Result, Step, library
from ._matrix import Matrix, _values

#: A has exactly `count` singular values above `bound` (with which="SM" below it), all of which were returned; this is wrong with a probability of `chance`, at most if it is proved, otherwise as estimated
Certificate = collections.namedtuple("Certificate", "count bound chance proved")


class SVDResult(collections.namedtuple("SVDResult", "u s vt")):
    """u, s and vt, with A vt^H = u diag(s) but for residuals, s descending, or ascending with which="SM"

    certificate: what is proved, or estimated, about missed values, or None; residuals: for each triplet the norm of (A v - s u, A^H u - s v);
    products: the number of vectors multiplied by A^H, with as many by A; memory: bytes of the stored nonzeros and of the solver's vectors;
    steps: the number of steps.
    """


class NoConvergence(RuntimeError):
    """Fewer values than wanted have converged; `result` has those that have"""

    def __init__(self, message, result):
        super().__init__(message)
        self.result = result

    def __reduce__(self):  # for processes that pass it on
        return type(self), (*self.args, self.result)


def _options(options):
    def text(value):
        return str(value).lower() if isinstance(value, bool) else str(value)

    return " ".join(f"-{name.lstrip('-')} {text(value)}" for name, value in options.items()).encode() or None


class _Progress:
    """What the library calls after each step"""

    def __init__(self, progress, interrupts, k):
        self.interrupts = interrupts
        self.callback = progress if callable(progress) else None
        self.bar = None
        if progress and not self.callback:
            try:
                from tqdm.auto import tqdm

                self.bar = tqdm(total=k, unit="value", leave=False)
            except ImportError:
                self.callback = lambda steps, converged, residual: print(f"step {steps}: {converged} of {k} values have converged, largest residual {residual:.1e}", flush=True)

    def __call__(self, steps, converged, residual):
        self.interrupts.check()
        if self.callback:
            self.callback(steps, converged, residual)
        elif self.bar is not None:
            self.bar.update(converged - self.bar.n)
            self.bar.set_postfix(steps=steps, residual=f"{residual:.1e}")

    def close(self):
        if self.bar is not None:
            self.bar.close()


def _check(k, ncv, maxiter, shape, which, solver, return_singular_vectors):
    if solver is not None:
        raise ValueError(f"solver={solver!r}: there is one solver only, blocklanczos; leave the argument out")
    if which not in ("LM", "SM"):
        raise ValueError(f"which={which!r}: it must be 'LM' or 'SM'")
    if not isinstance(return_singular_vectors, (bool, np.bool_)) and return_singular_vectors not in ("u", "vh"):
        raise ValueError(f"return_singular_vectors={return_singular_vectors!r}: it must be True, False, 'u' or 'vh'")
    for name, value in ("k", k), ("ncv", 0 if ncv is None else ncv), ("maxiter", 0 if maxiter is None else maxiter):
        if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
            raise TypeError(f"{name}={value!r}: it must be an integer")
    if not 1 <= k <= min(shape):
        raise ValueError(f"k={k}: it must be from 1 to {min(shape)}, for a matrix of shape {shape}")
    if ncv is not None and ncv < k:
        raise ValueError(f"ncv={ncv}: it must not be less than k={k}")
    if maxiter is not None and maxiter < 1:
        raise ValueError(f"maxiter={maxiter}: it must be positive")


def _seed(rng):
    if rng is None:
        return -1
    if isinstance(rng, (int, np.integer)):
        if rng < 0:
            raise ValueError(f"rng={rng}: it must not be negative")
        return int(rng)
    return int(np.random.default_rng(rng).integers(2**31))


def svds(A, k=6, ncv=None, tol=0, which="LM", v0=None, maxiter=None, return_singular_vectors=True, solver=None, rng=None, options=None, *, center=False, certify=None, progress=False):
    """The k largest singular values of a sparse matrix, or the smallest, with their vectors, and with a bound for those that were missed

    which: "LM", the largest, or "SM", the smallest; of an operator by products alone, which do not reach tiny values;
    A: a matrix as Matrix takes it, or a Matrix. Values are computed in double precision, also those of a matrix in single precision.
    ncv: columns of the basis; tol: residuals are below tol times the value, 0 is 1e-8; v0: a vector to start with, of the shorter side, or several as columns, such as those of an earlier solve;
    maxiter: the largest number of restarts; rng: a seed or a numpy.random.Generator, the same numbers each time without it;
    options: a dictionary of PETSc's options without the dash, such as {"svd_blocklanczos_blocksize": 8};
    center: of A without the means of its columns, which are not subtracted from the matrix itself;
    certify: prove that no value is missed above (1 + certify) times the smallest; by default an estimate suffices; 0 does no work for it;
    progress: True, or a function of the number of steps, of values converged, and of the largest residual.

    Returns u, s, vt as scipy.sparse.linalg.svds does, s descending, or ascending with "SM", as arrays of the library that A is of: an SVDResult. With several processes, u has
    the rows of this process, and vt its columns.
    """
    matrix = A if isinstance(A, Matrix) else object.__new__(Matrix)._make(A, None, 0 if which == "SM" else 4)
    _check(k, ncv, maxiter, matrix.shape, which, solver, return_singular_vectors)
    k = int(k)
    tol, gap = float(tol), -1.0 if certify is None else float(certify)
    if not 0 <= tol < math.inf:
        raise ValueError(f"tol={tol}: it must not be negative, infinite or NaN")
    if certify is not None and not 0 <= gap <= 1:
        raise ValueError(f"certify={gap}: it must be from 0 to 1")
    request = Request(values=k, ncv=min(ncv or 0, library.most), iterations=min(maxiter or 0, library.most), seed=_seed(rng), smallest=which == "SM", tolerance=tol or 1e-8, gap=gap, options=_options(options or {}))
    with matrix._use(), Interrupts() as interrupts:
        xp = matrix._xp
        if v0 is not None:
            v0 = _start(matrix, v0)
            request.start, request.starts = xp.address(v0), v0.shape[0] if len(v0.shape) == 2 else 1
        request.interval = 0 if progress else 0.05
        progress = _Progress(progress, interrupts, k)
        request.step = Step(library.guarded(progress))
        handle, solver, result = matrix._handle, None, Result()
        try:
            if center:
                handle = library.new("Centered", handle, int(matrix.transposed))
            solver = library.new("Solve", handle, request, xp.device, xp.stream(), result)
            return _result(matrix, solver, result, k, return_singular_vectors)
        finally:
            progress.close()
            if solver is not None:
                library.destroy(solver)
            if handle is not matrix._handle:
                library.destroy(handle)


def _start(matrix, v0):
    """The vectors to start with, as the rows of an array"""
    v0, n = known(v0), (matrix._local[::-1] if matrix.transposed else matrix._local)[matrix.shape[0] >= matrix.shape[1]]
    if kind(v0) is None or len(v0.shape) not in (1, 2) or v0.shape[0] != n or 0 in v0.shape:
        raise ValueError(f"v0 has the shape {tuple(v0.shape)}: it must have {n} entries, or be {n} x j for j vectors")
    if matrix.transposed:  # what is stored is A^T, of which the vectors of a side are those of A's other side, conjugated
        v0 = (matrix @ v0 if matrix.shape[0] == matrix.shape[1] else v0).conj()
    return _values(v0.T if len(v0.shape) == 2 else v0, matrix._xp)


def _result(matrix, solver, result, k, return_singular_vectors):
    xp, n = matrix._xp, result.converged
    s, residuals = np.empty(n), np.empty(n)
    # vectors are rows here: the arrays of the left ones are returned transposed
    left, right = (xp.empty((n, length), library.scalar) if wanted else None for length, wanted in zip(matrix._local, _wanted(return_singular_vectors, matrix.transposed)))
    if n:
        pointers = [a if a is None else xp.address(a) for a in (left, right)]
        library("Triplets", solver, xp.device, xp.stream(), n, s.ctypes.data, residuals.ctypes.data, *pointers)
    if library.scalar.kind == "c" and right is not None:  # A = left s right^H
        right = right.conj()
    if matrix.transposed:
        left, right = right, left
    if xp is not HOST:
        s, residuals = xp.array(s, s.dtype), xp.array(residuals, s.dtype)
    answer = SVDResult(None if left is None else left.T, s, right)
    answer.residuals = residuals
    answer.certificate = Certificate(result.certified, result.bound, result.chance, bool(result.proved)) if result.certified >= 0 else None
    answer.products, answer.steps, answer.memory = result.products, result.steps, int(result.memory)
    if n < k:
        remedy = "raise maxiter, ncv or tol" if result.reason == -1 else "rounding is above tol times the others"
        raise NoConvergence(f"{n} of {k} singular values have converged (PETSc's reason {result.reason}): {remedy}", answer)
    return s if return_singular_vectors is False else answer


def _wanted(return_singular_vectors, transposed):
    wanted = [return_singular_vectors in (True, "u"), return_singular_vectors in (True, "vh")]
    return wanted[::-1] if transposed else wanted
