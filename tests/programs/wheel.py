"""A wheel that brings its own PETSc, installed in this Python: alone in a program, and beside other libraries; writes TAP. tests/wheel.sh runs it."""
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

import petsccsrc

SOLVE = """
import numpy as np, scipy.sparse as sp
from petsccsrc import svds
A = sp.random(3000, 900, 0.02, format='csr', random_state=1)
assert np.allclose(svds(A, k=5).s, np.linalg.svd(A.toarray(), compute_uv=False)[:5], rtol=1e-10)
"""
USES = {
    "petsccsrc": SOLVE,
    "torch": "x = torch.rand(600, 600); torch.exp(x @ x / 600).sum(); torch.svd_lowrank(x)",
    "sklearn.cluster": "import numpy; sklearn.cluster.KMeans(8, n_init=2).fit(numpy.random.default_rng(1).random((5000, 8)))",
    "cupy": "x = cupy.random.random((600, 600)); float((x @ x).sum()); cupy.linalg.svd(x)",
}


def test(label, function):
    try:
        function()
        print(f"ok wheel.py {label}", flush=True)
    except Exception:
        print(f"not ok wheel.py {label}\n" + "".join(f"#\t{line}\n" for line in traceback.format_exc().splitlines()[-12:]), end="", flush=True)


def program(code, **variables):
    """What the code writes as a program of its own, in a folder with options for another PETSc"""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, ".petscrc").write_text("-log_view\n-mat_type none\n", encoding="utf-8")
        environment = {**os.environ, "HOME": folder, "PETSC_OPTIONS": "-log_view -bv_type none -malloc_dump -options_left", **variables}
        result = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert result.returncode == 0, f"{result.returncode}: {result.stdout[-2000:]}"
    return result.stdout


def silent():
    assert program(SOLVE) == ""
    assert "Main Stage" in program(SOLVE, PETSCCSRC_OPTIONS="-log_view")


def handlers():
    """Those of programs; signals from 32 on are the C library's, for threads"""
    code = "caught = lambda: int(open('/proc/self/status').read().split('SigCgt:')[1].split()[0], 16) & 0x7FFFFFFF; before = caught()" + SOLVE + "assert caught() == before"
    program(code)
    try:
        program(code, PETSCCSRC_OPTIONS="-no_signal_handler false")
    except AssertionError:
        return
    raise AssertionError("this test does not see handlers")


def hidden():
    """Of the functions in the library, only those that Python calls can be found"""
    assert petsccsrc.library is None and petsccsrc.slepclibrary is None
    names = "PetscInitialize PetscFinalize MatCreate SVDCreate petsc_gtoc_sz MPI_Init Petsc_MPI_Init dgemm_ openblas_get_num_threads".split()
    program(f"import ctypes, petsccsrc._library as l; library = l.load(l.WHEEL); library.PetscCSRCPythonStart; found = [n for n in {names} if hasattr(library, n)]; assert not found, found")


def complete():
    """Only glibc and the compilers' libraries are the system's; CUDA is that of NVIDIA's wheels, which are required, or the system's without them"""
    maps = "open('/proc/self/maps').read()"
    code = f"import re; import numpy, scipy.sparse.linalg; files = lambda: set(re.findall(r'/\\S+\\.so[.\\d]*', {maps})); before = files()" + SOLVE + "print(*(files() - before), sep='\\n')"
    libraries = program(code).split()
    own = [p for p in libraries if "/petsccsrc" in p]
    cuda = [p for p in libraries if re.search(r"/lib(cudart|cublas|cublasLt|cusparse|cusolver|curand|nvJitLink)\.so", p)]
    assert len(own) >= 3, libraries
    other = [p for p in libraries if p not in own + cuda and not re.search(r"/lib(stdc\+\+|gcc_s|m|rt|dl|pthread|cuda|nvidia-[\w-]+)\.so|/python3", p)]
    assert not other, other
    if cuda:
        assert any("nvidia-cublas" in need for need in importlib.metadata.requires("petsccsrc-cu13"))
        folder = pathlib.Path(petsccsrc.__file__).parent.parent / "nvidia/cu13/lib"
        assert not folder.exists() or all(p.startswith(str(folder)) for p in cuda), cuda


def beside(names):
    return lambda: program("\n".join([f"import {name}" for name in names] + [USES[name] for name in names]))


def petsc4py():
    """Both start PETSc, in either order, and neither sees the other's objects"""
    theirs = """
import petsc4py; petsc4py.init(['x']); from petsc4py import PETSc
B = PETSc.Mat().createAIJ((4, 3), csr=([0, 1, 2, 3, 4], [0, 1, 2, 0], [1.0, 2.0, 3.0, 4.0]))
x = B.createVecRight(); x.set(1); assert (B @ x).getArray().tolist() == [1, 2, 3, 4]
"""
    refused = """
for use in (lambda: svds(B, k=1), lambda: petsccsrc.Matrix(B)):
    try: use()
    except TypeError as error: assert 'getValuesCSR' in str(error)
    else: raise AssertionError('not refused')
assert np.allclose(svds((*B.getValuesCSR(), B.getSize()), k=3).s, [17**0.5, 3, 2])
"""
    for first, second in (theirs, SOLVE), (SOLVE, theirs):
        program(first + second + "import petsccsrc" + refused, PETSC_OPTIONS="")


def comm():
    try:
        petsccsrc.Matrix(__import__("numpy").eye(3), comm=object())
    except TypeError as error:
        assert "with MPI" in str(error)
    else:
        raise AssertionError("not refused")


test("no output, no options of another PETSc", silent)
test("signal handlers stay", handlers)
test("hidden", hidden)
test("complete", complete)
test("communicators are refused", comm)
there = [name for name in USES if importlib.util.find_spec(name.partition(".")[0])]
for names in there, there[::-1]:  # each of them first, in both directions: with three, all orders
    for i in range(len(names) if len(there) > 1 else 0):
        test("imported in the order " + ", ".join(names[i:] + names[:i]), beside(names[i:] + names[:i]))
if importlib.util.find_spec("petsc4py"):
    test("beside petsc4py", petsc4py)
else:
    print("ok wheel.py petsc4py # SKIP no petsc4py")
