#!/usr/bin/env python3
"""petsccsrc for Python against SciPy, scikit-learn and PRIMME: singular values, products, and what a call costs beside the library.

    pythonsvds.py svds [-k 16,50] [-rounds 5] [-limit 60] matrix.mtx ...
    pythonsvds.py products [-rounds 5] matrix.mtx ...
    pythonsvds.py overhead
    pythonsvds.py device [-k 50] [-rounds 5] [-rows 1000000] [-columns 20000] [-degree 100]

svds: each peer runs with the loosest tolerance (scikit-learn: the fewest iterations) with which all residuals are at most 1e-8 sigma_1 and values
agree to that with a solve to 1e-12; then all run in turns. Printed are medians of seconds of wall-clock and of CPU time, and the speed-up over the
fastest peer that is right. products: A x and A^T x of a Matrix and of a CSR. The number of threads is OMP_NUM_THREADS, and OPENBLAS_NUM_THREADS for
the peers. The program needs SciPy; scikit-learn and PRIMME are left out if they are missing. device: a matrix of CuPy with random values, some of whose
columns are popular; the first call is timed from before petsccsrc is imported; peers are pylibraft, if it is there, and cupyx.
"""
import argparse
import gzip
import signal
import statistics
import time

import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as spl


def load():
    global Matrix, svds, library
    from petsccsrc import Matrix, svds
    from petsccsrc._library import library


def read(file):
    with (gzip.open if file.endswith(".gz") else open)(file) as stream:
        return sp.csr_matrix(scipy.io.mmread(stream), dtype=float)


def peers(A, k):
    """Name: the function of a setting, and its settings from loose to tight"""
    tolerances = [10.0**-e for e in range(2, 15, 2)] + [0]

    def scipy_(solver):
        return lambda tol: spl.svds(A, k=k, tol=tol, solver=solver, rng=1, **({"maxiter": 1000} if solver == "lobpcg" else {}))

    found = {solver: (scipy_(solver), tolerances) for solver in ("arpack", "propack", "lobpcg") if k < min(A.shape) or solver == "propack"}
    try:
        from sklearn.utils.extmath import randomized_svd

        found["randomized_svd"] = (lambda n: randomized_svd(A, k, n_oversamples=max(10, k // 2), n_iter=n, random_state=1), [2**e for e in range(1, 10)])
    except ImportError:
        pass
    try:
        import primme

        if k < min(A.shape):
            found["primme"] = (lambda tol: primme.svds(A, k, tol=tol), tolerances[:-1])
    except ImportError:
        pass
    return found


def is_right(A, answer, reference):
    u, s, vt = answer
    order = np.argsort(-s)
    u, s, vt = u[:, order], s[order], vt[order]
    residual = max(np.linalg.norm(A @ vt.T - u * s, axis=0).max(), np.linalg.norm(A.T @ u - vt.T * s, axis=0).max())
    return np.all(np.isfinite(s)) and residual <= 1e-8 * reference[0] and np.abs(s - reference).max() <= 1e-8 * reference[0]


class Late(Exception):
    pass


def loosest(A, run, settings, reference, limit):
    def late(*_):
        raise Late

    signal.signal(signal.SIGALRM, late)
    for setting in settings:
        signal.alarm(limit)
        try:
            if is_right(A, run(setting), reference):
                return setting
        except Late:
            return None
        except Exception:
            continue
        finally:
            signal.alarm(0)
    return None


def in_turns(runs, rounds):
    """Medians of wall-clock and CPU seconds"""
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter(), time.process_time()
            run()
            times[name].append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return {name: tuple(map(statistics.median, zip(*each))) for name, each in times.items()}


def geometric(values):
    return statistics.geometric_mean(values) if values else float("nan")


def measure_svds(arguments):
    gains = []
    for file in arguments.matrices:
        A = read(file)
        for k in map(int, arguments.k.split(",")):
            if k > min(A.shape):
                continue
            reference = svds(A, k=k, tol=1e-12).s
            runs, text = {"petsccsrc": lambda: svds(A, k=k)}, []
            assert is_right(A, svds(A, k=k), reference)
            for name, (run, settings) in peers(A, k).items():
                setting = loosest(A, run, settings, reference, arguments.limit)
                if setting is None:
                    text.append(f"{name}: not right in {arguments.limit} s")
                else:
                    runs[name] = lambda run=run, setting=setting: run(setting)
                    runs[name].setting = setting
            times = in_turns(runs, arguments.rounds)
            best = [min(t[i] for name, t in times.items() if name != "petsccsrc") for i in (0, 1)]
            gain = [best[i] / times["petsccsrc"][i] for i in (0, 1)]
            gains.append(gain)
            text = [f"{name}{f' ({runs[name].setting:g})' if name != 'petsccsrc' else ''} {wall:.3f} {cpu:.3f}" for name, (wall, cpu) in times.items()] + text
            print(f"{file.rpartition('/')[2].partition('.')[0]}, {A.shape[0]} x {A.shape[1]}, {A.nnz} nonzeros, k = {k}: {'; '.join(text)}; speed-up {gain[0]:.2f} {gain[1]:.2f}", flush=True)
    print("geometric means of the speed-ups over the fastest peer, wall-clock and CPU time: {:.2f} {:.2f}".format(*map(geometric, zip(*gains))))


def measure_products(arguments):
    gains = []
    for file in arguments.matrices:
        A = read(file)
        M = Matrix(A)
        x, y = np.random.default_rng(1).standard_normal(A.shape[1]), np.random.default_rng(2).standard_normal(A.shape[0])
        T = A.T
        np.testing.assert_allclose(M.T @ y, T @ y, rtol=1e-10, atol=1e-10 * np.abs(y).max() * abs(A).max())
        count = max(1, int(2e7 / max(A.nnz, 1000)))

        def repeat(product):
            def run():
                for _ in range(count):
                    product()

            return run

        times = in_turns({"Mx": repeat(lambda: M @ x), "Ax": repeat(lambda: A @ x), "MTy": repeat(lambda: M.T @ y), "ATy": repeat(lambda: T @ y)}, arguments.rounds)
        gain = [times["Ax"][1] / times["Mx"][1], times["ATy"][1] / times["MTy"][1]]
        gains.append(gain)
        print(f"{file.rpartition('/')[2].partition('.')[0]}, {A.shape[0]} x {A.shape[1]}, {A.nnz} nonzeros, {M.memory / A.nnz:.2f} bytes each: us of CPU time "
              + ", ".join(f"{name} {cpu / count * 1e6:.1f}" for name, (_, cpu) in times.items()) + ", speed-up {:.2f} {:.2f}".format(*gain), flush=True)
    print("geometric means of the speed-ups over scipy.sparse, A x and A^T x: {:.2f} {:.2f}".format(*map(geometric, zip(*gains))))


def measure_overhead(arguments):
    """The time of a call outside the library's functions, and of the calls from it"""
    library.ensure()
    functions, inside = dict(library.functions), [0.0]

    def timed(function):
        def call(*given):
            start = time.perf_counter()
            code = function(*given)
            inside[0] += time.perf_counter() - start
            return code

        return call

    for m, n, density in (50, 30, 0.2), (1000, 500, 0.01):
        A = sp.random(m, n, density, format="csr", random_state=1)
        total, beside, empty = [], [], []
        for _ in range(300):
            start = time.perf_counter()
            steps = svds(A, k=6).steps
            total.append(time.perf_counter() - start)
        library.functions = {name: timed(function) for name, function in functions.items()}
        for _ in range(300):
            inside[0], start = 0.0, time.perf_counter()
            svds(A, k=6)
            beside.append(time.perf_counter() - start - inside[0])
        library.functions = functions
        M = Matrix(A)
        product = []
        x = np.ones(n)
        for _ in range(300):
            start = time.perf_counter()
            M @ x
            product.append(time.perf_counter() - start)
        print(f"{m} x {n}: svds {min(total) * 1e3:.3f} ms (median {statistics.median(total) * 1e3:.3f}), of which outside the library {min(beside) * 1e3:.3f} (median {statistics.median(beside) * 1e3:.3f}), "
              f"{steps} steps; M @ x {min(product) * 1e6:.1f} us")


def measure_device(arguments):
    import cupy
    import cupyx.scipy.sparse as cpsp
    import cupyx.scipy.sparse.linalg as cpspl

    m, n, k = arguments.rows, arguments.columns, int(arguments.k.split(",")[-1])
    random = cupy.random.default_rng(1)
    keys = cupy.repeat(cupy.arange(m, dtype=cupy.int64), arguments.degree) * n
    keys += (random.random(len(keys)) ** 3 * n).astype(cupy.int64) * 2654435761 % n
    keys = cupy.unique(keys)
    indptr = cupy.concatenate([cupy.zeros(1, cupy.int64), cupy.cumsum(cupy.bincount(keys // n, minlength=m))]).astype(cupy.int32)
    A = cpsp.csr_matrix((random.random(len(keys)) * 2 - 1, (keys % n).astype(cupy.int32), indptr), shape=(m, n))
    del keys
    cupy.get_default_memory_pool().free_all_blocks()
    T = A.T.tocsr()

    def ours():
        load()
        return svds(A, k=k)

    runs = {"petsccsrc": ours, "cupyx": lambda: cpspl.svds(A, k=k, tol=1e-8, maxiter=20000)}
    try:
        from pylibraft.sparse.linalg import svds as raft

        runs["pylibraft"] = lambda: raft(A, k=k, solver="lanczos", tol=1e-8, maxiter=1000, seed=1)
    except ImportError:
        pass
    print(f"{m} x {n}, {A.nnz} nonzeros, k = {k}", flush=True)
    for name, run in runs.items():
        times = []
        for _ in range(arguments.rounds + 1):
            cupy.cuda.Device().synchronize()
            start = time.perf_counter()
            answer = run()
            cupy.cuda.Device().synchronize()
            times.append((time.perf_counter() - start) * 1e3)
        u, s, vt = map(cupy.asarray, answer)
        residual = max(float(cupy.linalg.norm(A @ vt.T - u * s, axis=0).max()), float(cupy.linalg.norm(T @ u - vt.T * s, axis=0).max())) / float(s.max())
        print(f"{name}: first {times[0]:.1f} ms, then {statistics.median(times[1:]):.1f}; residual {residual:.1e} sigma_1, largest {float(s.max()):.10g}, smallest {float(s.min()):.10g}"
              + (f"; {answer.certificate}, {answer.steps} steps" if name == "petsccsrc" else ""), flush=True)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("what", choices=["svds", "products", "overhead", "device"])
parser.add_argument("-k", default="16,50")
parser.add_argument("-rounds", type=int, default=5)
parser.add_argument("-limit", type=int, default=60)
parser.add_argument("-rows", type=int, default=1000000)
parser.add_argument("-columns", type=int, default=20000)
parser.add_argument("-degree", type=int, default=100)
parser.add_argument("matrices", nargs="*")
parsed = parser.parse_intermixed_args()
if parsed.what != "device":
    load()
{"device": measure_device, "svds": measure_svds, "products": measure_products, "overhead": measure_overhead}[parsed.what](parsed)
