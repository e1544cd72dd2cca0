"""petsccsrc.svds and petsccsrc.Matrix against dense computations; writes TAP. test_python.sh runs it."""
import copy
import gc
import pickle
import signal
import subprocess
import sys
import threading
import traceback

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

import petsccsrc
from petsccsrc import Matrix, svds

generator = np.random.default_rng(7)


def test(function):
    """Runs a test, which fails by an exception, and reports it"""
    label = f"svds.py {function.__doc__ or 'parallel'}"
    try:
        function()
        print(f"ok {label}\n", end="", flush=True)
    except Exception:
        print(f"not ok {label}\n" + "".join(f"#\t{line}\n" for line in traceback.format_exc().splitlines()[-12:]), end="", flush=True)


def random(m, n, density=0.05):
    return sp.random(m, n, density, format="csr", random_state=generator)


def graded():
    """A matrix with values down to 10^-6 of the largest, too large for a dense copy"""
    return (random(3000, 400, 0.01) @ sp.diags(np.logspace(0, -6, 400))).tocsr()


def dense(A):
    return np.asarray(A.todense()) if sp.issparse(A) else np.asarray(A)


def right(A, k, result=None, **arguments):
    """Values are those of LAPACK; vectors are orthonormal, with small residuals; the certificate is true"""
    result = svds(A, k=k, **arguments) if result is None else result
    tol = arguments.get("tol", 1e-8)
    D = dense(A)
    if arguments.get("center"):
        D = D - D.mean(axis=0)
    u, s, vt = result
    exact = np.linalg.svd(D, compute_uv=False)
    scale = exact[0] if exact[0] > 0 else 1
    assert u.shape == (D.shape[0], k) and s.shape == (k,) and vt.shape == (k, D.shape[1]), (u.shape, s.shape, vt.shape)
    assert np.all(np.diff(s) <= 0), s
    np.testing.assert_allclose(s / scale, exact[:k] / scale, rtol=0, atol=10 * tol)
    for vectors in (u.conj().T @ u, vt @ vt.conj().T):
        np.testing.assert_allclose(vectors, np.eye(k), rtol=0, atol=1e-12)
    np.testing.assert_allclose(D @ vt.conj().T / scale, u * (s / scale), rtol=0, atol=10 * tol)
    np.testing.assert_allclose(D.conj().T @ u / scale, vt.conj().T * (s / scale), rtol=0, atol=10 * tol)
    true = np.sqrt(np.linalg.norm(D @ (vt.conj().T / scale) - u * (s / scale), axis=0) ** 2 + np.linalg.norm(D.conj().T @ (u / scale) - vt.conj().T * (s / scale), axis=0) ** 2)
    np.testing.assert_allclose(result.residuals / scale, true, rtol=1e-3, atol=1e-13)
    if result.certificate:
        assert np.sum(exact > result.certificate.bound * (1 + 1e-12)) == result.certificate.count <= k, (exact[: k + 2], result.certificate)
    assert result.products > 0 and result.memory > 0
    return result


def raises(exception, words, function, *arguments, **more):
    try:
        function(*arguments, **more)
    except exception as error:
        assert words in str(error), f"{error!r} does not say {words!r}"
        return error
    raise AssertionError(f"no {exception.__name__}: {words}")


def parallel():
    """Rows of each process: of a Mat of petsc4py, and of mpi4py's communicator"""
    from petsc4py import PETSc

    comm = PETSc.COMM_WORLD
    rank, size = comm.getRank(), comm.getSize()

    @test
    def _():
        A = random(120, 70, 0.2)
        D = A.toarray()
        U, S, VT = np.linalg.svd(D)
        first, last = (120 * rank // size, 120 * (rank + 1) // size)
        rows = A[first:last]
        matrices = [PETSc.Mat().createAIJ(((last - first, 120), (None, 70)), csr=(rows.indptr, rows.indices, rows.data))]
        matrices += [matrices[0].convert("bccoo", PETSc.Mat())]
        try:
            from mpi4py import MPI

            matrices += [Matrix(rows, comm=MPI.COMM_WORLD)]
        except ImportError:
            pass
        for B in matrices:
            M = B if isinstance(B, Matrix) else Matrix(B)
            begin, end = matrices[0].getOwnershipRangeColumn()
            for transposed in False, True:
                result = svds(M.T if transposed else B, k=5)
                u, s, vt = (result.vt.T, result.s, result.u.T) if transposed else result
                np.testing.assert_allclose(s, S[:5], rtol=1e-10)
                np.testing.assert_allclose(np.abs(u), np.abs(U[first:last, :5]), atol=1e-6)
                np.testing.assert_allclose(np.abs(vt), np.abs(VT[:5, begin:end]), atol=1e-6)
                assert 0 <= result.certificate.count <= 5
            C = D - D.mean(axis=0)
            np.testing.assert_allclose(svds(B, k=5, center=True).s, np.linalg.svd(C, compute_uv=False)[:5], rtol=1e-10)
            x = generator.standard_normal((70, 4))
            np.testing.assert_allclose(M @ x[begin:end], rows @ x, atol=1e-12)
            np.testing.assert_allclose(M @ x[begin:end, 0], rows @ x[:, 0], atol=1e-12)
            assert M.shape == (120, 70)
            raises(ValueError, "from 1 to 70", svds, B, k=71)
        # the Mat of petsc4py belongs to the Matrix too
        M, x = Matrix(matrices[0]), np.ones(end - begin)
        references = matrices[0].getRefCount()
        raises(ValueError, "or of a Mat of petsc4py", M.update, rows) if size == 1 else None
        matrices[0].destroy()
        others = [matrices[1].duplicate() for _ in range(4)]  # take the memory, if it is free
        np.testing.assert_allclose(M @ x, rows @ np.ones(70), atol=1e-12)
        del others
        assert references == 2, references


if sys.argv[1:] == ["parallel"]:
    parallel()
    sys.exit()


@test
def _():
    "random, tall and wide"
    for shape in (300, 120), (120, 300), (150, 150):
        for k in 1, 6, 20:
            assert right(random(*shape), k).certificate.chance <= 1e-8


@test
def _():
    "identity and one repeated value"
    for A in sp.identity(60, format="csr"), 3 * sp.identity(80, format="csc"), sp.kron(sp.identity(12), np.ones((5, 3)), format="csr"):
        for k in 1, 5, 10:
            right(A, k)


@test
def _():
    "rank below k, zero matrix"
    low = sp.csr_matrix(generator.standard_normal((90, 3)) @ generator.standard_normal((3, 70)))
    for A in low, sp.csr_matrix((50, 40)), sp.csr_matrix((40, 50)), sp.csr_matrix(([2.0], ([3], [4])), shape=(30, 20)):
        right(A, 6)


@test
def _():
    "path and cycle graphs, and incidence of a complete one"
    n = 101
    path = sp.diags([np.ones(n - 1), np.ones(n - 1)], [-1, 1], format="lil")
    right(path.tocsr(), 8)
    path[0, n - 1] = path[n - 1, 0] = 1
    right(path.tocsr(), 9)
    i, j = np.triu_indices(16, 1)
    edges = np.arange(len(i))
    right(sp.coo_matrix((np.r_[np.ones(len(i)), -np.ones(len(i))], (np.r_[edges, edges], np.r_[i, j]))), 15)


@test
def _():
    "projectors"
    Q = np.linalg.qr(generator.standard_normal((60, 7)))[0]
    for k in 3, 7, 10:
        right(sp.csr_matrix(Q @ Q.T), k)


@test
def _():
    "k = min(m, n) - 1 and min(m, n)"
    for shape in (40, 12), (12, 40), (20, 20), (5, 1), (1, 5), (1, 1):
        A = random(*shape, 0.5)
        for k in {max(min(shape) - 1, 1), min(shape)}:
            right(A, k)


@test
def _():
    "entries of 1e-300 and 1e300, one column"
    A = random(80, 50)
    for scale in 1e-300, 1e-160, 1e150, 1e300:
        right(A * scale, 5)
    right(random(200, 1, 0.5), 1)
    assert svds(sp.csr_matrix(np.full((1, 1), -2.5)), k=1).s == 2.5


@test
def _():
    "every kind of matrix gives the same values"
    A = random(200, 90)
    s = right(A, 5).s
    wide = sp.csr_matrix((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), shape=A.shape)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    others = [A.tocsc(), A.tocoo(), A.todok(), A.tolil(), sp.bsr_array(A), sp.csr_array(A), wide, A.toarray(), np.asfortranarray(A.toarray()), A.toarray()[:, ::-1][:, ::-1]]
    for B in others:
        np.testing.assert_allclose(right(B, 5).s, s, rtol=1e-12, err_msg=type(B).__name__)
    for B in Matrix(A), Matrix(A.tocsc()), Matrix(A.T.tocsr()).T, spl.aslinearoperator(A), (A.indptr, A.indices, A.data), (A.indptr, A.indices, A.data, A.shape):
        np.testing.assert_allclose(right(A, 5, svds(B, k=5)).s, s, rtol=1e-12, err_msg=type(B).__name__)
    np.testing.assert_allclose(svds(A.astype(np.float32), k=5).s, s, rtol=1e-6)

    class Own:  # only what SciPy asks for
        shape, matvec, rmatvec = A.shape, staticmethod(lambda x: A @ x), staticmethod(lambda x: A.T @ x)

    right(A, 5, svds(Own(), k=5))
    pattern = sp.csr_matrix(A, dtype=bool)
    right(pattern.astype(np.int8), 4, svds(pattern, k=4))


@test
def _():
    "unsorted and duplicate indices, empty rows; arrays stay as they are"
    A = random(120, 60, 0.1)
    order = np.concatenate([generator.permutation(np.arange(A.indptr[i], A.indptr[i + 1])) for i in range(120)])
    unsorted = sp.csr_matrix((A.data[order], A.indices[order], A.indptr), shape=A.shape)
    double = sp.csr_matrix((np.repeat(A.data, 2), np.repeat(A.indices, 2), 2 * A.indptr), shape=A.shape)
    for B in unsorted, double:
        before = [a.copy() for a in (B.indptr, B.indices, B.data)]
        for a in B.indptr, B.indices, B.data:
            a.flags.writeable = False
        right(B, 5)
        right(B, 5, svds(Matrix(B), k=5))
        for a, b in zip(before, (B.indptr, B.indices, B.data)):
            np.testing.assert_array_equal(a, b)


@test
def _():
    "complex matrices, or an error"
    A = random(90, 40) + 1j * random(90, 40)
    if Matrix(random(3, 3)).dtype.kind != "c":
        raises(TypeError, "complex scalars", svds, A)
    else:
        for B in A, A.tocsc(), A.toarray(), A.T.tocsr():
            right(B, 5)
        right(A, 5, svds(spl.aslinearoperator(A), k=5))
        right(A, 5, center=True)


@test
def _():
    "means removed"
    A = random(150, 60)
    A.data += 1
    for B in A, A.tocsc(), A.T.tocsr(), A.T.tocsc():
        result = right(B, 5, center=True)
        # of a centred matrix, so the left vectors have no mean
        np.testing.assert_allclose(result.u.mean(axis=0), 0, atol=1e-9)
    right(A, 5, svds(Matrix(A), k=5, center=True), center=True)
    right(A, 5, svds(spl.aslinearoperator(A), k=5, center=True), center=True)


@test
def _():
    "parts of the result"
    A = random(80, 50)
    full = svds(A, k=4)
    s = svds(A, k=4, return_singular_vectors=False)
    assert type(s) is np.ndarray
    np.testing.assert_array_equal(s, full.s)
    for B in A, A.tocsc():
        u, _, vt = svds(B, k=4, return_singular_vectors="u")
        assert vt is None and u.shape == (80, 4)
        u, _, vt = svds(B, k=4, return_singular_vectors="vh")
        assert u is None and vt.shape == (4, 50)


@test
def _():
    "tolerance, start, seed, options, certificate"
    A = random(400, 300, 0.02)
    right(A, 6, tol=1e-12)
    assert svds(A, k=6, tol=1e-2, certify=0).products < svds(A, k=6, certify=0).products
    loose = svds(A, k=6, tol=1e-3)
    assert loose.residuals.max() <= 1e-3 * loose.s[0]
    right(A, 6, ncv=60, maxiter=2**40)
    right(A, 6, options={"svd_blocklanczos_blocksize": 2, "svd_blocklanczos_form": "twosided"})
    right(A, 6, certify=0)
    certificate = svds(A, k=6, certify=1e-4).certificate
    assert certificate.proved and certificate.bound <= svds(A, k=6).s[-1] * (1 + 1.01e-4), certificate
    first = svds(A, k=1)
    assert svds(A, k=1, v0=first.vt[0]).steps < first.steps
    assert svds(A.T.tocsr(), k=1, v0=first.vt[0]).steps < first.steps
    for B in random(1500, 800, 0.02), random(800, 1500, 0.02), random(800, 800, 0.02):
        many = svds(B, k=12)
        for C in B, B.tocsc():
            wide = B.shape[0] < B.shape[1]
            warm = svds(C, k=12, tol=1e-4, certify=0, v0=many.u if wide else many.vt.T)
            assert warm.products < 0.6 * svds(C, k=12, tol=1e-4, certify=0).products, warm.products
            np.testing.assert_allclose(warm.s, many.s, rtol=1e-6)
    one, other = svds(A, k=3, rng=1), svds(A, k=3, rng=np.random.default_rng(5))
    np.testing.assert_allclose(one.s, other.s, rtol=1e-10)
    assert not np.array_equal(one.residuals, other.residuals)
    np.testing.assert_array_equal(one.residuals, svds(A, k=3, rng=1).residuals)


@test
def _():
    "smallest values"
    for A, options in (random(300, 200, 0.1), {}), (random(200, 300, 0.1).tocsc(), {}), (random(300, 200, 0.1), {"svd_blocklanczos_form": "inverse"}):
        D = A.toarray()
        exact = np.linalg.svd(D, compute_uv=False)[::-1]
        for B in A, D:
            result = svds(B, k=5, which="SM", options=options)
            u, s, vt = result
            np.testing.assert_allclose(s, exact[:5], rtol=1e-9)
            np.testing.assert_allclose(D @ vt.T, u * s, atol=1e-7)
            np.testing.assert_allclose(D.T @ u, vt.T * s, atol=1e-7)
            assert np.sum(exact < result.certificate.bound) == result.certificate.count, result.certificate
    np.testing.assert_allclose(svds(Matrix(A), k=2, which="SM", options={"svd_blocklanczos_form": "filter"}).s, exact[:2], rtol=1e-8)  # by products alone
    G = graded()
    exact = np.linalg.svd(G.toarray(), compute_uv=False)[:-4:-1]
    for B in Matrix(G), Matrix(G.tocsc()), (G.indptr.astype(np.int64), G.indices.astype(np.int64), G.data, G.shape):
        np.testing.assert_allclose(svds(B, k=3, which="SM").s, exact, rtol=1e-7)
    D[:, 7] = D[:, 11]
    u, s, vt = svds(D, k=2, which="SM")
    assert s[0] < 1e-13 < s[1] and abs(abs(vt[0] @ np.eye(200)[7]) - np.sqrt(0.5)) < 1e-12, s


@test
def _():
    "refusals"
    A = random(30, 20, 0.3)
    for bad in np.nan, np.inf:
        B = A.copy()
        B.data[3] = bad
        for C in B, B.tocsc(), B.toarray(), spl.aslinearoperator(B):
            raises(ValueError, "not finite", svds, C)
    for k in 0, 21, -1:
        raises(ValueError, "from 1 to 20", svds, A, k=k)
    for k in 2.5, None, True:
        raises(TypeError, "integer", svds, A, k=k)
    for solver in "arpack", "lobpcg", "propack":
        raises(ValueError, "blocklanczos", svds, A, solver=solver)
    raises(ValueError, "'LM'", svds, A, which="LR")
    raises(ValueError, "return_singular_vectors", svds, A, return_singular_vectors="v")
    for name in "tol", "certify":
        for value in -1, np.nan, np.inf:
            raises(ValueError, f"{name}={float(value)}: it must", svds, A, **{name: value})
    raises(ValueError, "certify=1.5: it must be from 0 to 1", svds, A, certify=1.5)
    for value in 0, 5:
        raises(ValueError, f"ncv={value}: it must not be less than k=6", svds, A, ncv=value)
    raises(ValueError, "maxiter=0", svds, A, maxiter=0)
    for name in "ncv", "maxiter":
        for value in 7.5, True, "9":
            raises(TypeError, f"{name}={value!r}: it must be an integer", svds, A, **{name: value})
    for which in "LM", "SM":
        for value in 0, 5e-324, 1e-311, np.nan, np.inf:
            for v0 in np.full(20, float(value)), np.r_[value, np.zeros(19)]:
                raises(ValueError, "v0: vector 0 is zero, too small, or not finite", svds, A, k=2, which=which, v0=v0)
            raises(ValueError, "v0: vector 1 is zero, too small, or not finite", svds, A, k=2, which=which, v0=np.c_[np.ones(20), v0, np.ones(20)])
    right(A, 2, v0=np.full(20, 1e-200))
    for shape in 30, (30, 2), (20, 0), (20, 2, 2):
        raises(ValueError, "20 entries", svds, A, v0=np.ones(shape))
    raises(ValueError, "Unknown option svd_bloksize", svds, A, options={"svd_bloksize": 4})
    raises(ValueError, "must be blocklanczos", svds, A, options={"svd_type": "lapack"})
    raises(TypeError, "str", svds, "matrix")
    raises(TypeError, "NoneType", svds, None)
    raises(TypeError, "tuple of 2", svds, (A, A))
    raises(ValueError, "from 1 to 0", svds, sp.csr_matrix((0, 5)))
    raises(ValueError, "dimensions", svds, np.ones(5))
    raises(TypeError, "must be numbers", svds, np.array([["a", "b"], ["c", "d"]]))
    for position, value, words in (0, 20, "indices are from"), (0, -1, "indices are from"):
        indices = A.indices.copy()
        indices[position] = value
        raises(ValueError, words, svds, (A.indptr, indices, A.data, A.shape))
    indptr = A.indptr.copy()
    indptr[5] = indptr[4] - 1
    raises(ValueError, "not descend", svds, (indptr, A.indices, A.data, A.shape))
    raises(ValueError, "indptr are from", svds, (A.indptr + 1, A.indices, A.data, A.shape))
    raises(ValueError, "as many", svds, (A.indptr, A.indices, A.data[:-1], A.shape))
    raises(ValueError, "one more", svds, (A.indptr, A.indices, A.data, (31, 20)))
    raises(TypeError, "must be integers", svds, (A.indptr, A.indices.astype(float), A.data, A.shape))
    raises(TypeError, "integer", svds, (A.indptr, A.indices, A.data, (30.0, 20.0)))
    if petsccsrc._library.library.integer.itemsize == 4:
        raises(ValueError, "64-bit", svds, sp.csr_matrix((2, 2**40)), k=1)
    right(A, 5)  # as before


@test
def _():
    "not converged"
    A = sp.diags(1 + 1e-7 * np.arange(3000.0), format="csr")
    error = raises(petsccsrc.NoConvergence, "of 20 singular values have converged (PETSc's reason -1): raise maxiter", svds, A, k=20, maxiter=1, ncv=24)
    raises(petsccsrc.NoConvergence, "0 of 1 singular values have converged (PETSc's reason -2): rounding", svds, np.ones((300, 1)) * generator.random(50), k=1, center=True)
    assert len(error.result.s) < 20 and len(error.result.s) == error.result.u.shape[1]
    again = pickle.loads(pickle.dumps(error))  # as a pool of processes does
    assert str(again) == str(error) and np.array_equal(again.result.s, error.result.s)


@test
def _():
    "progress, interrupts, exceptions"
    A = random(2000, 1500, 0.005)
    calls = []
    result = right(A, 10, progress=lambda *values: calls.append(values))
    assert [c[0] for c in calls] == list(range(1, result.steps + 1)), calls[:5]
    assert calls[0][2] == np.inf, calls[0]

    class Stop(Exception):
        pass

    def stop(steps, converged, residual):
        if steps == 3:
            raise Stop

    raises(Stop, "", svds, A, k=10, progress=stop)

    # Ctrl-C: between two steps; the second one has the handler that was there before
    steps = []

    def slow(*values):
        steps.append(values)
        if len(steps) == 2:
            signal.raise_signal(signal.SIGINT)

    raises(KeyboardInterrupt, "", svds, A, k=10, progress=slow)
    assert len(steps) == 2 and signal.getsignal(signal.SIGINT) is signal.default_int_handler, steps

    class Faulty(spl.LinearOperator):
        def __init__(self):
            super().__init__(float, A.shape)
            self.products = 0

        def _matmat(self, x):
            self.products += 1
            if self.products == 4:
                raise Stop
            return A @ x

        def _rmatmat(self, x):
            return A.T @ x

    raises(Stop, "", svds, Faulty(), k=10)
    # a solve within a solve
    inner = random(40, 30)
    right(A, 10, svds(spl.LinearOperator(A.shape, matvec=lambda x: A @ x, rmatvec=lambda x: (svds(inner, k=2), A.T @ x)[1], dtype=float), k=10))
    right(A, 10)
    # another matrix in the middle of a solve, or of a product
    A = random(300, 200)
    for B in A, A.toarray(), spl.aslinearoperator(A):
        M = Matrix(B)
        raises(RuntimeError, "update() by a function", svds, M.T, k=5, progress=lambda *_: M.update(A.tocsc()))
        right(A, 5, svds(M, k=5))
        M.update(2 * A)
        np.testing.assert_allclose(M @ np.ones(200), 2 * (A @ np.ones(200)), rtol=1e-12, atol=1e-12)
    M = Matrix(spl.LinearOperator(A.shape, matvec=lambda x: M.update(A), rmatvec=lambda x: A.T @ x, dtype=float))
    raises(RuntimeError, "update() by a function", lambda: M @ np.ones(200))


@test
def _():
    "from other threads"
    A = random(300, 200)
    s, found = svds(A, k=5).s, []
    threads = [threading.Thread(target=lambda: found.append(svds(A, k=5).s)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for f in found:
        np.testing.assert_array_equal(f, s)
    # others take the matrix as it was, or as it is, while it is updated
    B, stop, wrong = 3 * A, threading.Event(), []
    matrices = A, B.tocsc(), A.toarray(), B
    M = Matrix(A)

    def use(function, *exact):
        while not stop.wait(1e-4):
            try:
                found = function()
                if not any(np.allclose(found, e, rtol=1e-10) for e in exact):
                    wrong.append(found)
            except Exception as error:
                wrong.append(error)

    uses = (lambda: M @ np.ones(200), A @ np.ones(200), B @ np.ones(200)), (lambda: M.T @ np.ones((300, 2)), A.T @ np.ones((300, 2)), B.T @ np.ones((300, 2))), (lambda: svds(M, k=5).s, s, 3 * s), (lambda: M.shape, A.shape)
    threads = [threading.Thread(target=use, args=args) for args in uses]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    for thread in threads:
        thread.start()
    for i in range(200):
        M.update(matrices[i % 4])
    stop.set()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert not wrong, (len(wrong), wrong[0])
    # one that still computes when the program ends
    code = """
import threading, numpy as np, petsccsrc, scipy.sparse as sp
begun, r = threading.Event(), np.random.default_rng(1)
A = sp.csr_matrix((r.random(600000), (r.integers(20000, size=600000), r.integers(15000, size=600000))))
threading.Thread(target=lambda: petsccsrc.svds(A, k=60, progress=lambda *_: begun.set()), daemon=True).start()
begun.wait()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@test
def _():
    "nothing stays behind"
    import resource

    A = random(3000, 2000, 0.01)

    def interrupted(steps, *_):
        if steps == 5:
            raise KeyboardInterrupt

    def once():
        svds(A, k=5)
        Matrix(A) @ np.ones(2000)
        svds(A, k=5, center=True)
        raises(KeyboardInterrupt, "", svds, A, k=5, progress=interrupted)
        gc.collect()

    for _ in range(10):
        once()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(30):
        once()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4000, (before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


@test
def _():
    "Matrix: products"
    A = random(130, 70)
    x, X, y, Y = (generator.standard_normal(n) for n in (70, (70, 5), 130, (130, 3)))
    for M in Matrix(A), Matrix(A.tocsc()), Matrix(A.T.tocsr()).T, Matrix(A.toarray()), Matrix(spl.aslinearoperator(A)):
        assert M.shape == (130, 70) and M.T.shape == (70, 130)
        for product, exact in (M @ x, A @ x), (M @ X, A @ X), (M.T @ y, A.T @ y), (M.T @ Y, A.T @ Y), (y @ M, A.T @ y), (Y.T @ M, Y.T @ A), (M.dot(x), A @ x), (M @ np.asfortranarray(X), A @ X), (M @ X[:, :0], A @ X[:, :0]), (M.T.T @ x, A @ x), (M @ X[:, :1], A @ X[:, :1]):
            np.testing.assert_allclose(product, exact, atol=1e-12)
        np.testing.assert_allclose(M @ np.arange(70), A @ np.arange(70), rtol=1e-12)
        raises(ValueError, "70 rows", lambda: M @ y)
        raises(TypeError, "csr_matrix", lambda: M @ A)
        np.testing.assert_allclose([1.0] * 130 @ M, A.T @ np.ones(130), atol=1e-12)
    assert Matrix(A).memory > 0
    T = Matrix(A).T  # keeps the matrix that it is of
    gc.collect()
    np.testing.assert_allclose(T @ y, A.T @ y, atol=1e-12)
    raises(TypeError, "a Matrix already", Matrix, Matrix(A))
    raises(TypeError, "copied", copy.copy, T)


@test
def _():
    "Matrix: its own memory, other values, operators"
    A = random(200, 80)
    B = A.copy()
    M = Matrix(B)
    B.data[:] = 0
    B.indices[:] = 0
    np.testing.assert_allclose(M @ np.ones(80), A @ np.ones(80), atol=1e-12)
    C = A.copy()
    C.data = generator.standard_normal(len(C.data))
    T = M.T
    for D in C, C.tocsc(), C:
        M.update(D)
        np.testing.assert_allclose(M @ np.ones(80), C @ np.ones(80), atol=1e-12)
        np.testing.assert_allclose(T @ np.ones(200), C.T @ np.ones(200), atol=1e-12)
    right(C, 4, svds(M, k=4))
    raises(ValueError, "in place of one of shape", M.update, A.T.tocsr())
    operator = M.aslinearoperator()
    np.testing.assert_allclose(spl.lsqr(operator, np.ones(200), atol=1e-12, btol=1e-12)[0], np.linalg.lstsq(C.toarray(), np.ones(200), rcond=None)[0], atol=1e-6)
    np.testing.assert_allclose(operator.T @ np.ones(200), C.T @ np.ones(200), atol=1e-12)


@test
def _():
    "PCA and TruncatedSVD"
    from petsccsrc.decomposition import PCA, TruncatedSVD

    X = random(200, 60, 0.2)
    D = X.toarray()
    for transformer, E in (TruncatedSVD(n_components=3), D), (PCA(n_components=3), D - D.mean(axis=0)):
        scores = transformer.fit_transform(X)
        u, s, vt = np.linalg.svd(E, full_matrices=False)
        np.testing.assert_allclose(np.abs(scores), np.abs(u[:, :3] * s[:3]), atol=1e-5)
        np.testing.assert_allclose(transformer.transform(X), scores, atol=1e-5)
        np.testing.assert_allclose(transformer.explained_variance_, scores.var(axis=0, ddof=int(type(transformer) is PCA)), rtol=1e-6)
        np.testing.assert_allclose(transformer.explained_variance_ratio_, scores.var(axis=0) / D.var(axis=0).sum(), rtol=1e-6)
        assert np.linalg.norm(transformer.inverse_transform(scores) - D) < np.linalg.norm(E)
        np.testing.assert_allclose(type(transformer)(n_components=3).fit(X.tocsc()).components_, transformer.components_, atol=1e-5)
        X.data[5] = np.nan
        raises(ValueError, "not finite", transformer.fit, X)
        X.data[5] = D[X.nonzero()][5]
    raises(ValueError, "all 30 samples are equal", PCA(n_components=1).fit, sp.csr_matrix(np.full((30, 4), 0.1)))
    counts = sp.csr_matrix(30 * (X > 0.5), dtype=np.int8)  # whose squares are not of this type
    np.testing.assert_allclose(PCA(3).fit(counts).explained_variance_ratio_, PCA(3).fit(counts.astype(float)).explained_variance_ratio_, rtol=1e-6)
    try:
        import sklearn.base
        import sklearn.decomposition
        import sklearn.pipeline
    except ImportError:
        return
    for ours, theirs in (TruncatedSVD(4), sklearn.decomposition.TruncatedSVD(4, algorithm="arpack")), (PCA(4), sklearn.decomposition.PCA(4, svd_solver="arpack")):
        ours, theirs = sklearn.base.clone(ours).fit(X), theirs.fit(X)
        for name in "components_", "singular_values_", "explained_variance_", "explained_variance_ratio_":
            np.testing.assert_allclose(np.abs(getattr(ours, name)), np.abs(getattr(theirs, name)), atol=1e-5, err_msg=name)
    sklearn.pipeline.make_pipeline(PCA(2)).fit_transform(X)


def devicearrays(a):
    """The array, or the tensor, on a device, as a NumPy array"""
    return a.get() if hasattr(a, "get") else a.cpu().numpy()


def ondevice(A, convert, module, copies):
    """Everything that svds and Matrix do with matrices and arrays on a device; convert makes them of those on the host"""
    exact = svds(A, k=5)
    for B in A, A.tocsc():
        result = svds(convert(B), k=5)
        assert all(type(part).__module__.partition(".")[0] == module for part in (*result, result.residuals)), [type(part) for part in result]
        right(A, 5, host(result))
    right(A, 5, host(svds(convert(A), k=5, center=True)), center=True)
    np.testing.assert_allclose(devicearrays(svds(convert(A), k=5, return_singular_vectors=False)), exact.s, rtol=1e-12)
    assert svds(convert(A), k=1, v0=convert(svds(A, k=1).vt[0])).steps < svds(convert(A), k=1).steps
    M = Matrix(convert(A))
    x, Y = generator.standard_normal(A.shape[1]), generator.standard_normal((A.shape[0], 5))
    for product, expected in (M @ convert(x), A @ x), (M.T @ convert(Y), A.T @ Y), (M.T @ convert(Y[:, 0].copy()), A.T @ Y[:, 0]), (M @ convert(x[:, None]), A @ x[:, None]):
        assert type(product).__module__.partition(".")[0] == module
        np.testing.assert_allclose(devicearrays(product), expected, atol=1e-10)
    right(A, 5, host(svds(M, k=5)))
    G = graded()
    for B in convert(G), Matrix(convert(G)):
        result = svds(B, k=3, which="SM")
        assert type(result.s).__module__.partition(".")[0] == module
        np.testing.assert_allclose(devicearrays(result.s), np.linalg.svd(G.toarray(), compute_uv=False)[:-4:-1], rtol=1e-7)
    M.update(convert(2 * A))
    np.testing.assert_allclose(devicearrays(M @ convert(x)), 2 * (A @ x), atol=1e-10)
    raises(TypeError, "not in the same memory", lambda: M @ x)
    bad = A.copy()
    bad.data[5] = np.nan
    raises(ValueError, "not finite", svds, convert(bad))
    indptr, indices, data = (convert(part) for part in (A.indptr, A.indices, A.data))
    for column in A.shape[1], -1:
        bad = A.indices.copy()
        bad[5] = column
        raises(ValueError, f"Nonzero 5 has column {column}", svds, (indptr, convert(bad), data, A.shape))
    bad = A.indptr.copy()
    bad[5] = bad[4] - 1
    raises(ValueError, "must ascend", svds, (convert(bad), indices, data, A.shape))
    # what is copied between host and device does not grow with the matrix
    large = random(60000, 3000, 0.02)
    B = convert(large)
    svds(B, k=5)
    before = copies()
    result = svds(B, k=20)
    assert copies() - before < 2e6 < large.nnz, (before, copies())
    right_values = svds(large, k=20).s
    np.testing.assert_allclose(devicearrays(result.s), right_values, rtol=1e-10)


def host(result):
    """A result with its arrays on the host"""
    copy = type(result)(*(None if part is None else devicearrays(part) for part in result))
    copy.__dict__.update(result.__dict__, residuals=devicearrays(result.residuals))
    return copy


def counted():
    """Bytes copied between host and device, as -log_view counts them; a wheel's PETSc hides the counters"""
    import ctypes

    if not petsccsrc.slepclibrary:
        return 0
    library = ctypes.CDLL(petsccsrc.slepclibrary)
    return sum(ctypes.c_double.in_dll(library, name).value for name in ("petsc_ctog_sz", "petsc_gtoc_sz", "petsc_ctog_sz_scalar", "petsc_gtoc_sz_scalar"))


try:
    import cupy

    cupy.cuda.runtime.getDeviceCount()
except Exception:
    print("ok svds.py cupy # SKIP no CuPy, or no GPU")
else:
    import cupyx.scipy.sparse as cpsp
    import cupyx.scipy.sparse.linalg as cpspl

    def tocupy(a):
        return {"csr": cpsp.csr_matrix, "csc": cpsp.csc_matrix}[a.format](a) if sp.issparse(a) else cupy.asarray(a)

    @test
    def _():
        "cupy"
        A = random(400, 150)
        ondevice(A, tocupy, "cupy", counted)
        for B in cpsp.coo_matrix(tocupy(A)), cupy.asarray(A.toarray()), (cupy.asarray(A.indptr), cupy.asarray(A.indices), cupy.asarray(A.data), A.shape), cpspl.aslinearoperator(tocupy(A)):
            right(A, 5, host(svds(B, k=5)))
        np.testing.assert_allclose(svds(tocupy(A.astype(np.float32)), k=5).s.get(), svds(A, k=5).s, rtol=1e-6)
        x = cpspl.lsmr(Matrix(tocupy(A)).aslinearoperator(), cupy.ones(400))[0]
        np.testing.assert_allclose(x.get(), np.linalg.lstsq(A.toarray(), np.ones(400), rcond=None)[0], atol=1e-4)

    @test
    def _():
        "cupy, the caller's stream"
        A = random(30000, 3000, 0.01)
        s = svds(A, k=3).s
        wait = cupy.RawKernel('extern "C" __global__ void wait(long long n) { long long t = clock64(); while (clock64() - t < n); }', "wait")
        for stream in cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream.null:
            with stream:
                B = tocupy(A)
                B.data *= 0
                M = Matrix(B)
                wait((1,), (1,), (200000000,))  # what follows is late
                B.data += cupy.asarray(A.data)
                result = svds(B, k=3)
                np.testing.assert_allclose(result.s.get(), s, rtol=1e-10)
                M.update(B)
                x = cupy.zeros(3000)
                wait((1,), (1,), (200000000,))
                x += 1
                y = M @ x
                y *= 2
                np.testing.assert_allclose(y.get(), 2 * (A @ np.ones(3000)), rtol=1e-10)


try:
    import torch
except ImportError:
    print("ok svds.py torch # SKIP no PyTorch")
else:

    @test
    def _():
        "torch"
        A = random(100, 60)
        T = torch.sparse_csr_tensor(torch.from_numpy(A.indptr), torch.from_numpy(A.indices), torch.from_numpy(A.data), A.shape)
        for B in T, T.to_sparse_csc(), T.to_sparse_coo(), T.to_dense(), T.to(torch.float32):
            result = svds(B, k=4)
            assert all(isinstance(part, torch.Tensor) and part.dtype == torch.float64 for part in result)
            np.testing.assert_allclose(result.s.numpy(), svds(A, k=4).s, rtol=1e-6)
            torch.testing.assert_close(T @ result.vt.T, result.u * result.s, atol=1e-6, rtol=0)
        x = torch.arange(60.0)
        torch.testing.assert_close(Matrix(T) @ x, T @ x.double())

    if torch.cuda.is_available():

        def totorch(a):
            if not sp.issparse(a):
                return torch.from_numpy(a).cuda()
            make = {"csr": torch.sparse_csr_tensor, "csc": torch.sparse_csc_tensor}[a.format]
            return make(torch.from_numpy(a.indptr), torch.from_numpy(a.indices), torch.from_numpy(a.data), a.shape).cuda()

        @test
        def _():
            "torch on a GPU"
            ondevice(random(400, 150), totorch, "torch", counted)
