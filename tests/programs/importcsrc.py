#!/usr/bin/env python3
"""import petsccsrc is all that a program needs for the types, and for the solvers; run by test_pip.sh"""
import petsccsrc
from petsc4py import PETSc

right = True
for kind in "csrccuda", "bccoo":
    A = PETSc.Mat().create()
    A.setSizes((40, 30))
    A.setType(kind)
    A.setUp()
    first, last = A.getOwnershipRange()
    for i in range(first, last):
        A.setValues(i, [(7 * i) % 30, (7 * i + 11) % 30], [1 + i, 0.5])
    A.assemble()
    B = A.convert("aij", PETSc.Mat())
    x, y = A.createVecs()
    z = y.duplicate()
    x.setRandom()
    A.mult(x, y)
    B.mult(x, z)
    z.axpy(-1, y)
    right = right and kind in A.getType() and z.norm() <= 1e-5 * y.norm()
ksp = PETSc.KSP().create()
ksp.setType("qmr")
right = right and ksp.getType() == "qmr"
if petsccsrc.slepclibrary:
    from slepc4py import SLEPc

    svd = SLEPc.SVD().create()
    svd.setType("blocklanczos")
    right = right and svd.getType() == "blocklanczos"
PETSc.Sys.Print(f"{'Right' if right else 'WRONG'}: petsccsrc {petsccsrc.__version__}")
