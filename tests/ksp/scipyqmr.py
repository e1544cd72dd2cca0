#!/usr/bin/env python3
"""Runs SciPy's qmr on the systems of qmrscipy.c and prints the results as a table in C.

    MATRICES=<folder with small/> python3 tests/ksp/scipyqmr.py >tests/ksp/scipyqmr.h

Systems and preconditioners are made here and in qmrscipy.c by the same formulas. The residual norms of every step, true and
preconditioned, are computed from the iterate that SciPy passes to its callback. Needs SciPy; files that do not exist are an error.
"""
import os
import pathlib
import sys

import numpy as np
import scipy
import scipy.io
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, qmr

RTOL, STEPS = 1e-10, 20


def convection(n, c):
    """Five-point stencil with upwind-free convection on an n x n grid"""
    rows, cols, vals = [], [], []
    for i in range(n):
        for j in range(n):
            for di, dj, v in ((0, 0, 4.0), (-1, 0, -1 - c), (1, 0, -1 + c), (0, -1, -1 - c / 2), (0, 1, -1 + c / 2)):
                if 0 <= i + di < n and 0 <= j + dj < n:
                    rows.append(i * n + j)
                    cols.append((i + di) * n + j + dj)
                    vals.append(v)
    return sp.csr_array((vals, (rows, cols)), shape=(n * n, n * n))


def strewn(n):
    """Ten entries a row, far from the diagonal, which does not dominate"""
    rows, cols, vals = [], [], []
    for i in range(n):
        for k in range(10):
            rows.append(i)
            cols.append((i + k * k * k) % n)
            vals.append(4 + i % 5 if k == 0 else ((7 * i + 3 * k) % 11 - 5) / 4)
    return sp.csr_array((vals, (rows, cols)), shape=(n, n))


def matrix(name):
    if name == "convection":
        return convection(24, 0.6)
    if name == "strewn":
        return strewn(700)
    if name == "shifted":
        return (convection(24, 0.6) + sp.diags_array(1j * (1 + np.arange(576) % 3) / 2)).tocsr()
    return sp.csr_array(scipy.io.mmread(pathlib.Path(os.environ["MATRICES"]) / "small" / name))


def rhs(n, dtype):
    i = np.arange(n)
    b = 1 + (i % 7) / 7
    return b + 1j * (i % 5) / 5 if np.issubdtype(dtype, np.complexfloating) else b


def ilu0(a):
    """Factors of ILU(0) in one CSR: rows in order, no pivoting, the unit diagonal of L left out"""
    a = a.tocsr(copy=True)
    a.sum_duplicates()
    a.sort_indices()
    rows = [dict(zip(a.indices[s:e].tolist(), a.data[s:e].tolist())) for s, e in zip(a.indptr, a.indptr[1:])]
    for i, row in enumerate(rows):
        for k in sorted(row):
            if k >= i:
                break
            row[k] /= rows[k][k]
            for j, v in rows[k].items():
                if j > k and j in row:
                    row[j] -= row[k] * v
    full = sp.csr_array(
        (np.array([v for r in rows for _, v in sorted(r.items())]), a.indices, a.indptr), shape=a.shape
    )
    lower = sp.tril(full, -1).tocsr() + sp.eye_array(a.shape[0])
    return sp.csr_array(lower), sp.csr_array(sp.triu(full))


def preconditioner(name, a):
    """The product with M^-1, and with its conjugate transpose"""
    n = a.shape[0]
    if name == "none":
        return LinearOperator((n, n), lambda x: x, rmatvec=lambda x: x, dtype=a.dtype)
    if name == "jacobi":
        d = a.diagonal()
        return LinearOperator((n, n), lambda x: x / d, rmatvec=lambda x: x / d.conj(), dtype=a.dtype)
    lower, upper = ilu0(a)
    solve = sp.linalg.spsolve_triangular
    lh, uh = sp.csr_array(lower.conj().T), sp.csr_array(upper.conj().T)
    return LinearOperator(
        (n, n),
        lambda x: solve(upper, solve(lower, x, lower=True), lower=False),
        rmatvec=lambda x: solve(lh, solve(uh, x, lower=True), lower=False),
        dtype=a.dtype,
    )


def run(name, pc, side, norm, guess):
    a = matrix(name).astype(complex if name in ("shifted", "young1c.mtx") else float)
    n = a.shape[0]
    b = rhs(n, a.dtype)
    m, identity = preconditioner(pc, a), preconditioner("none", a)
    measure = m.matvec if norm == "PRECONDITIONED" else (lambda r: r)
    x0 = np.full(n, 0.5, dtype=a.dtype) if guess else np.zeros(n, dtype=a.dtype)
    history = [np.linalg.norm(measure(b - a @ x0))]
    limit = RTOL * np.linalg.norm(measure(b))
    x, info = qmr(
        a, b, x0=x0, rtol=RTOL if norm == "UNPRECONDITIONED" else 1e-14, maxiter=4000,
        M1=m if side == "LEFT" else identity, M2=identity if side == "LEFT" else m,
        callback=lambda x: history.append(np.linalg.norm(measure(b - a @ x))),
    )  # fmt: skip
    if norm == "PRECONDITIONED":  # SciPy tests the true residual only
        its = next(i for i, r in enumerate(history) if r <= limit)
    else:
        assert info == 0, (name, pc, side, info)
        its = len(history) - 1
    first = ", ".join(f"{r:.16e}" for r in history[: STEPS + 1])
    scalar = "PETSC_TRUE" if np.issubdtype(a.dtype, np.complexfloating) else "PETSC_FALSE"
    print(f'  {{"{name}", "{pc}", PC_{side}, KSP_NORM_{norm}, {"PETSC_TRUE" if guess else "PETSC_FALSE"}, {scalar}, {its}, {history[its]:.16e},')
    print(f"   {{{first}}}}},")
    print(name, pc, side, norm, "guess" if guess else "", its, history[its], file=sys.stderr)


def main():
    print(f"/* Written by tests/ksp/scipyqmr.py with SciPy {scipy.__version__}, NumPy {np.__version__}: rtol {RTOL:g} */")
    print("/* clang-format off */")
    print("static const SciPyRun runs[] = {")
    for name in ("convection", "strewn", "shifted"):
        for pc in ("none", "jacobi", "ilu"):
            for side, norm in (("LEFT", "PRECONDITIONED"), ("LEFT", "UNPRECONDITIONED"), ("RIGHT", "UNPRECONDITIONED")):
                if pc != "none" or side == "LEFT" and norm == "UNPRECONDITIONED":
                    run(name, pc, side, norm, False)
        run(name, "jacobi", "LEFT", "UNPRECONDITIONED", True)
    for name, pc in (("cage10.mtx", "none"), ("494_bus.mtx", "jacobi"), ("cage10.mtx", "ilu"), ("young1c.mtx", "jacobi")):
        run(name, pc, "RIGHT", "UNPRECONDITIONED", False)
    print("};")


main()
