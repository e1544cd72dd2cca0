#!/usr/bin/env bash
#
# Tests a wheel that scripts/wheel.sh has made: installs it into an empty environment, runs the code of docs/python.md and the tests of the Python
# package, and tries it beside other libraries.
#
#   tests/wheel.sh [--here] WHEEL
#
# --here: without a network, beside the packages of this Python, such as CuPy and PyTorch. Otherwise packages come from pip's index, and no more than a
# minute may pass from pip to singular values. PETSCCSRC_PYTHON: a Python with petsc4py, that of make python by default, beside which the wheel is tried. With
# qemu-x86_64-static it is tried on a processor without AVX.
set -euo pipefail
here=
if [ "${1:-}" = --here ]; then here=yes; shift; fi
wheel=$(realpath "$1")
cd "$(dirname "$0")"
dir=$(mktemp -d "${TMPDIR:-/tmp}/wheel.XXXXXX")
trap 'rm -rf "$dir"' EXIT
unset PYTHONPATH PETSC_OPTIONS PETSC_DIR PETSC_ARCH SLEPC_DIR SLEPCCSRC_LIB PETSCCSRC_LIB
export PYTHONDONTWRITEBYTECODE=1
failed=0
count() { tee "$dir/out"; if grep -q '^not ok' "$dir/out"; then failed=1; fi; }
fail() { echo "not ok $*"; failed=1; }
run() { # LABEL COMMAND...
  if "${@:2}" >"$dir/log" 2>&1; then echo "ok $1"; else fail "$1"; sed 's/^/#\t/' "$dir/log" | tail -n 20; fi
}

size=$(stat -c %s "$wheel")
echo "# $(basename "$wheel"): $(awk -v s="$size" 'BEGIN { printf "%.1f", s / 1e6 }') MB"
[ "$size" -lt 40000000 ] || fail 'a wheel of 40 MB or more'
SECONDS=0
if [ -n "$here" ]; then
  python=python3
  python3 -m pip install -q --disable-pip-version-check --no-cache-dir --no-index --no-deps --target "$dir/site" "$wheel"
  export PYTHONPATH=$dir/site
else
  python=$dir/venv/bin/python
  python3 -m venv "$dir/venv"
  "$python" -m pip install -q --disable-pip-version-check "$wheel" scipy
fi
echo "# installed in $SECONDS s"
run 'singular values' "$python" -c 'import scipy.sparse as sp; from petsccsrc import svds; print(svds(sp.random(20000, 3000, 0.002, format="csr"), k=50).s)'
if [ -z "$here" ] && [ $SECONDS -gt 60 ]; then fail "$SECONDS s from pip to singular values"; else echo "ok from pip to singular values in $SECONDS s"; fi
"$python" programs/wheel.py | count
"$python" programs/svds.py | count
run docs/python.md "$python" programs/mdcode.py ../docs/python.md
other=${PETSCCSRC_PYTHON:-../external/python/bin/python}
if [ -z "$here" ] && [ -x "$other" ]; then PYTHONPATH=$(echo "$dir"/venv/lib/python3*/site-packages) "$other" programs/wheel.py | count; fi
if [ -z "$here" ] && [ "$(uname -m)" = x86_64 ] && command -v qemu-x86_64-static >/dev/null; then
  run 'a processor without AVX' env OPENBLAS_NUM_THREADS=1 qemu-x86_64-static -cpu Nehalem "$python" -c 'import scipy.sparse as sp; from petsccsrc import svds; print(svds(sp.random(300, 200, 0.1), k=5).s)'
fi
exit $failed
