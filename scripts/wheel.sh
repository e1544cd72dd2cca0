#!/usr/bin/env bash
#
# Makes the wheels of the Python package, which bring PETSc, SLEPc and OpenBLAS: build/wheel/petsccsrc-*.whl and, where nvcc is,
# build/wheel/petsccsrc_cu13-*.whl, which takes CUDA from NVIDIA's wheels. Each is for one process, for all processors of this machine's kind, and for systems with a glibc as old as
# its name says: not older than this machine's if compilers here use newer functions.
#
#   scripts/wheel.sh [cpu] [cu13]
#
# PETSc and SLEPc are built once, without MPI, in external/wheel. JOBS (default: the cores) is how many processes compile; CUDA_ARCH, CUDA_DIR and
# CUDA=0 are as for make.
set -euo pipefail
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS PETSC_DIR PETSC_ARCH SLEPC_DIR

version=$(sed -n 's/^PETSC_VERSION := //p' makefile)
top=$PWD/external/wheel
jobs=${JOBS:-$(env -u OMP_NUM_THREADS nproc)}
export JOBS=$jobs PETSC_DIR=$top/petsc-$version SLEPC_DIR=$top/slepc-$version
mkdir -p "$top/logs" build/wheel/licenses

say() { printf 'wheel: %s\n' "$*"; }

# step NAME COMMAND...: runs the command once, in a shell of its own, with its output in a log; again NAME COMMAND...: each time
step() { [ -e "$top/logs/$1.done" ] || { again "$@" && touch "$top/logs/$1.done"; }; }
again() {
  local name=$1 log=$top/logs/$1.log start=$SECONDS
  shift
  say "$name ..."
  if ! (set -e && "$@") >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" | sed 's/^/    /' >&2
    say "$name failed; all of it: $log" >&2
    exit 1
  fi
  say "$name: done in $((SECONDS - start)) s"
}

tools() { rm -rf "$top/venv" && python3 -m venv "$top/venv" && "$top/venv/bin/pip" install --retries 2 --timeout 30 --disable-pip-version-check -r scripts/wheel-requirements.txt; }

# Hidden from the program, this PETSc does not read what the program's own PETSc reads: PETSC_OPTIONS and files .petscrc
unpack() {
  tar -xzf "external/petsc-$version.tar.gz" -C "$top"
  tar -xzf "external/slepc-$version.tar.gz" -C "$top"
  sed -i 's/getenv("PETSC_OPTIONS/getenv("PETSCCSRC_OPTIONS/; s/skipPetscrc *= PETSC_FALSE, skip/skipPetscrc = PETSC_TRUE, skip/' "$PETSC_DIR/src/sys/objects/options.c"
  [ "$(grep -c 'getenv("PETSCCSRC_OPTIONS\|skipPetscrc = PETSC_TRUE, skip' "$PETSC_DIR/src/sys/objects/options.c")" = 3 ]
  # of PETSc's packages only those are built that are used: `compile`
  sed -i '/PetscCall(\(TSInitializePackage\|TaoInitializePackage\|CharacteristicInitializePackage\|PetscDLLibraryRegister_petscts\)());/d' \
    "$PETSC_DIR"/src/{sys/dll/reg.c,sys/classes/viewer/interface/dlregispetsc.c,ksp/pc/impls/mpi/pcmpi.c}
}

# The instructions that all processors have; kernels for others are chosen when they run
march=
[ "$(uname -m)" != x86_64 ] || march=-march=x86-64

find_nvcc() {
  if [ "${CUDA:-1}" = 0 ]; then return; fi
  if [ -n "${CUDA_DIR:-}" ]; then echo "$CUDA_DIR/bin/nvcc"; else command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true; fi
}

configure_petsc() {
  local cuda=(--with-cuda=0) arch=${CUDA_ARCH:-80,90} nvcc flags="-O3 $march -fPIC -ffunction-sections -fdata-sections"
  cd "$PETSC_DIR"
  if [ "$1" = cu13 ]; then
    nvcc=$(readlink -f "$(find_nvcc)")
    cuda=(--with-cuda=1 --with-cuda-dir="${nvcc%/bin/nvcc}" --with-cuda-arch="$arch" CUDAOPTFLAGS="-O3 -Xcompiler -fPIC --compress-mode=size -gencode arch=compute_${arch##*,},code=compute_${arch##*,}")
  fi
  # a BLAS of this machine is used by tests of the configuration only
  ./configure PETSC_ARCH="$PETSC_ARCH" --with-mpi=0 CC=gcc CXX=g++ --with-fc=0 --with-x=0 --with-openmp=1 --with-debugging=0 --with-shared-libraries=0 \
    --with-blaslapack-lib=-lopenblas COPTFLAGS="$flags" CXXOPTFLAGS="$flags" "${cuda[@]}"
}

configure_slepc() { cd "$SLEPC_DIR" && ./configure; }
compile() { make -C "$1" MAKE_NP="$jobs" MAKE_LOAD=1000 "${@:2}" all; }

# wheel KIND
wheel() {
  local name=petsccsrc file
  [ "$1" = cpu ] || name=petsccsrc-$1
  export PETSC_ARCH=arch-$1 PETSCCSRC_WHEEL=$name PETSCCSRC_BUILDDIR=$PWD/build/wheel/$1 MARCHFLAGS=$march
  step "$1-configure-petsc" configure_petsc "$1"
  step "$1-petsc" compile "$PETSC_DIR" pkgs='sys vec mat dm ksp snes'
  step "$1-configure-slepc" configure_slepc
  step "$1-slepc" compile "$SLEPC_DIR"
  rm -rf build/wheel/raw
  again "$1" "$top/venv/bin/pip" wheel --disable-pip-version-check --no-cache-dir --no-deps --no-index --no-build-isolation -w build/wheel/raw .
  rm -f build/wheel/"${name/-/_}"-[0-9]*.whl
  again "$1-audit" env PATH="$top/venv/bin:$PATH" LD_LIBRARY_PATH="$SCIPY_OPENBLAS" auditwheel repair --exclude 'libcu*' -w build/wheel build/wheel/raw/*.whl
  file=$(ls build/wheel/"${name/-/_}"-[0-9]*.whl)
  say "$file: $(awk -v s="$(stat -c %s "$file")" 'BEGIN { printf "%.1f", s / 1e6 }') MB"
}

if [ $# = 0 ]; then
  set -- cpu
  if [ -n "$(find_nvcc)" ]; then set -- cpu cu13; fi
fi
cmp -s scripts/wheel-requirements.txt "$top/requirements" || rm -f "$top/logs/tools.done"
step tools tools
cp scripts/wheel-requirements.txt "$top/requirements"
OWN_PETSC=1 scripts/setup.sh archives "petsc-$version" "slepc-$version"
step unpack unpack
SCIPY_OPENBLAS=$("$top/venv/bin/python" -c 'import scipy_openblas32; print(scipy_openblas32.get_lib_dir())')
export SCIPY_OPENBLAS
cp "$PETSC_DIR/LICENSE" build/wheel/licenses/PETSc.txt
cp "$SLEPC_DIR/LICENSE.md" build/wheel/licenses/SLEPc.txt
cp "$top"/venv/lib/python3*/site-packages/scipy_openblas32-*/licenses/LICENSE.txt build/wheel/licenses/OpenBLAS-and-GCC.txt # its text for libgfortran holds for libgomp
for kind; do wheel "$kind"; done
