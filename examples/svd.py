#!/usr/bin/env python3
"""Singular values in Python: petsc4py and slepc4py with the types and the solver of this library.

    svd.py [-board 5,6,2] [-svd_nsv 30] [-plot svd.png] [PETSc's and SLEPc's options]

The matrix is a boundary matrix of a chessboard complex: a row is a placement of k+1 rooks that do not attack each other, a column
a placement of k rooks. Many singular values are multiple; all computed values are compared with numpy's dense SVD. SLEPCCSRC_LIB
(from `make env`) names the library. The program needs petsc4py, slepc4py and matplotlib: `make python`.
"""
import itertools
import os
import sys

import numpy as np
import slepc4py

slepc4py.init(sys.argv + ["-dll_append", os.environ["SLEPCCSRC_LIB"]])  # before PETSc and SLEPc are imported
from petsc4py import PETSc
from slepc4py import SLEPc


def placements(a, b, k):
    """All placements of k rooks: rows in order, each with its column"""
    return [tuple(zip(rows, columns)) for rows in itertools.combinations(range(a), k) for columns in itertools.permutations(range(b), k)]


def chessboard(a, b, k):
    """The row pointers, column indices and values of the CSR, and the sizes"""
    rows, columns = placements(a, b, k + 1), {p: j for j, p in enumerate(placements(a, b, k))}
    indices, values = [], []
    for placement in rows:  # each entry leaves out one rook; signs alternate
        entries = sorted((columns[placement[:t] + placement[t + 1 :]], (-1.0) ** t) for t in range(k + 1))
        indices.extend(j for j, _ in entries)
        values.extend(v for _, v in entries)
    return np.arange(0, len(indices) + 1, k + 1, dtype=PETSc.IntType), np.array(indices, dtype=PETSc.IntType), np.array(values), (len(rows), len(columns))


options = PETSc.Options()
board = [int(n) for n in options.getString("board", "5,6,2").split(",")]
pointers, indices, values, (m, n) = chessboard(*board)

A = PETSc.Mat().create()
A.setSizes((m, n))
A.setType(options.getString("mat_type", "csrccuda"))
A.setUp()
first, last = A.getOwnershipRange()
mine = slice(pointers[first], pointers[last])
A.setPreallocationCSR((pointers[first : last + 1] - pointers[first], indices[mine], values[mine]))
A.assemble()

svd = SLEPc.SVD().create()
svd.setOperator(A)
svd.setType("blocklanczos")
svd.setDimensions(min(30, n))
svd.setFromOptions()
svd.solve()
found = np.array([svd.getValue(i) for i in range(min(svd.getConverged(), svd.getDimensions()[0]))])

dense = np.zeros((m, n))
dense[np.repeat(np.arange(m), np.diff(pointers)), indices] = values
exact = np.linalg.svd(dense, compute_uv=False)[: len(found)]
worst = np.max(np.abs(found - exact)) / exact[0]
right = len(found) == svd.getDimensions()[0] and worst < 1e-8
PETSc.Sys.Print(f"{m} x {n}, type {A.getType()}, solver {svd.getType()}: {len(found)} singular values")
for square, copies in sorted(zip(*np.unique(np.round(found**2, 6), return_counts=True)), reverse=True):
    PETSc.Sys.Print(f"  sigma^2 = {square:9.6f}  {copies} copies")
PETSc.Sys.Print(f"{'Right' if right else 'WRONG'}: they differ from numpy's by {worst:.1e} sigma_1")

plot = options.getString("plot", "")
if plot and PETSc.COMM_WORLD.getRank() == 0:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(layout="constrained")
    ax.plot(np.arange(1, len(exact) + 1), exact**2, "o", fillstyle="none", markersize=9, label="numpy's dense SVD")
    ax.plot(np.arange(1, len(found) + 1), found**2, ".", label=svd.getType())
    ax.set_xlabel("index")
    ax.set_ylabel("squared singular value")
    ax.legend()
    fig.savefig(plot)
sys.exit(0 if right else 1)
