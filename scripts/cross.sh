#!/usr/bin/env bash
#
# Builds everything for another kind of processor and runs its tests here, emulated by qemu.
#
#   scripts/cross.sh aarch64 [PATTERN ...]
#
# PATTERN: tests, as for tests/run.sh; without one, those of `tests` below, and the two machines are compared.
#
# From nothing: installs the distribution's cross compiler and emulator; unpacks Open MPI, OpenBLAS and what they need, which are packages for that
# processor, into a folder of its own; builds PETSc and SLEPc. What is there is not made again. It lies in external/<processor> and
# build/arch-<processor>. JOBS (default: the cores) is how many processes compile, and how many tests run at a time. Only Debian's servers have the
# packages of all processors in one place. An emulator computes what the processor does, but shows neither its speed nor its order of memory accesses.
set -euo pipefail
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS PETSC_DIR PETSC_ARCH SLEPC_DIR

readonly tests=(mat-products_{simd,bccoo,exchange,1thread,5threads} mat-simd_1 mat-hostformats_{1,limits} mat-fuzz_1 mat-threads_1 mat-bitwise_2threads mat-mtx_ours
  mat-binaryfile_1 ksp-qmr_default svd-smalldense_1 svd-boards_few sys-exchange_{host,shared} sys-segments_1 'sys-share_*')

say() { printf 'cross: %s\n' "$*"; }
die() { printf 'cross: %s\n' "$*" >&2; exit 1; }

case ${1:-} in
  aarch64) debian=arm64 ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
machine=$1
shift
[ "$(uname -m)" != "$machine" ] || die "this machine is one of $machine: make check runs all tests"
triple=$machine-linux-gnu
version=$(sed -n 's/^PETSC_VERSION := //p' makefile)
top=$PWD/external/$machine
sysroot=$top/sysroot
jobs=${JOBS:-$(env -u OMP_NUM_THREADS nproc)}
export PETSC_DIR=$top/petsc-$version PETSC_ARCH=arch-$machine SLEPC_DIR=$top/slepc-$version
mkdir -p "$top/logs"

# step NAME COMMAND...: runs the command once, in a shell of its own, with its output in a log
step() {
  local name=$1 log=$top/logs/$1.log start=$SECONDS
  shift
  if [ -e "$top/logs/$name.done" ]; then return; fi
  say "$name ..."
  if ! (set -e && "$@") >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" | sed 's/^/    /' >&2
    die "$name failed; all of it: $log"
  fi
  say "$name: done in $((SECONDS - start)) s"
  touch "$top/logs/$name.done"
}

tools() {
  local packages="g++-$triple qemu-user-static"
  if command -v "$triple-g++" "qemu-$machine-static" >/dev/null; then return; fi
  [ "$(id -u)" = 0 ] || die "needs the packages $packages"
  DEBIAN_FRONTEND=noninteractive step tools sh -c "apt-get update && apt-get install -y --no-install-recommends $packages"
}

# apt with lists of its own, for which nothing is installed
unpack_packages() {
  local apt=$top/apt lib=$sysroot/usr/lib/$triple package
  rm -rf "$apt" "$sysroot"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$sysroot"
  : >"$apt/status"
  printf '%s\n' "APT::Architecture \"$debian\";" "APT::Architectures { \"$debian\"; };" "Dir::State \"$apt\";" "Dir::State::status \"$apt/status\";" "Dir::Cache \"$apt/cache\";" >"$apt/conf"
  export APT_CONFIG=$apt/conf
  apt-get update
  apt-get install -y --no-install-recommends --download-only libopenmpi-dev libopenblas-dev zlib1g-dev "libstdc++-$("$triple-gcc" -dumpversion)-dev"
  for package in "$apt"/cache/archives/*.deb; do dpkg -x "$package" "$sysroot"; done
  # the links that the installation of these packages would make
  ln -s openmpi/lib/libmpi.so openblas-pthread/libopenblas.so openblas-pthread/libopenblas.so.0 "$lib"
  rm -rf "$apt"
}

# build NAME: compiles PETSc or SLEPc, once it is configured
build() {
  local dir=$top/$1-$version
  make -C "$dir" "${1^^}_DIR=$dir" PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" MAKE_NP="$jobs" MAKE_LOAD=1000 all
}

# With --with-batch PETSc runs no program that it has compiled
configure_petsc() {
  cd "$PETSC_DIR"
  ./configure PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" --with-batch=1 --with-debugging=0 --with-fc=0 --with-shared-libraries=1 --with-x=0 --with-openmp=1 --with-cuda=0 \
    CC="$triple-gcc --sysroot=$sysroot" CXX="$triple-g++ --sysroot=$sysroot" --with-ar="$triple-ar" --with-ranlib="$triple-ranlib" COPTFLAGS=-O2 CXXOPTFLAGS=-O2 \
    CXXPPFLAGS=-DOMPI_SKIP_MPICXX=1 --with-mpi-include="$sysroot/usr/lib/$triple/openmpi/include" --with-mpi-lib=-lmpi --with-blaslapack-lib=-lopenblas
}

configure_slepc() {
  cd "$SLEPC_DIR"
  ./configure
}

unpack() { tar -xzf "external/$1-$version.tar.gz" -C "$top"; }

# This machine's launcher starts the emulator, which finds the other's libraries in the folder of its packages
make_launcher() {
  # shellcheck disable=SC2016 # for that shell
  printf '%s\n' '#!/bin/sh' '# called as mpiexec -n N PROGRAM ...' 'n=$2' 'shift 2' "exec mpiexec -n \"\$n\" qemu-$machine-static -L '$sysroot' \"\$@\"" >"$top/mpiexec"
  chmod +x "$top/mpiexec"
}

# With what is built for this machine: each writes a matrix, both files are the same, and each reads that of the other; sums have the same bits
compare() {
  local native=build/arch-csrc ex2=tests/petsc/ksp/tutorials/ex2 simd=tests/mat/simd dir status=0
  if [ ! -x "$native/$ex2" ] || [ ! -x "$native/$simd" ] || [ ! -x "$native/bin/convert" ]; then say "not compared with this machine, for which make tests has built nothing"; return; fi
  dir=$(mktemp -d "${TMPDIR:-/tmp}/cross.XXXXXX")
  # failed WHAT: says what failed, and goes on
  failed() { say "failed: $*"; status=1; }
  # on FOLDER OUTPUT PROGRAM ARGUMENT ...
  on() { "$1/mpiexec" -n 1 "$1/$3" "${@:4}" -options_left no >"$dir/$2" || failed "${@:3}, of $1"; }
  on "$native" out $ex2 -m 37 -n 41 -mat_view "binary:$dir/here.bin"
  on "$BUILDDIR" out $ex2 -m 37 -n 41 -mat_view "binary:$dir/there.bin"
  on "$native" out bin/convert -file "$dir/there.bin"
  on "$BUILDDIR" out bin/convert -file "$dir/here.bin"
  cmp "$dir/here.bin" "$dir/there.bin" || failed "files are the same"
  set -- -mat_form_store_at_once -mat_bccoo_compression simd
  on "$native" here $simd -dll_append "$native/libpetsccsrc.so" "$@" -instructions avx2
  on "$BUILDDIR" there $simd -dll_append "$PETSCCSRC_LIB" "$@" -instructions neon
  grep checksum "$dir/here" && cmp "$dir/here" "$dir/there" || failed "products have the same bits"
  [ $status = 0 ] || die "the two machines differ: $dir"
  rm -rf "$dir"
  say "files that one machine writes are read by the other; products have the same bits as by AVX2"
}

started=$SECONDS
tools
step packages unpack_packages
OWN_PETSC=1 scripts/setup.sh archives "petsc-$version" "slepc-$version"
step unpack-petsc unpack petsc
step configure-petsc configure_petsc
step build-petsc build petsc
step unpack-slepc unpack slepc
step configure-slepc configure_slepc
step build-slepc build slepc
make_launcher

variables=(PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" SLEPC_DIR="$SLEPC_DIR" MPIEXEC="$top/mpiexec" JOBS="$jobs")
make "${variables[@]}" tests
say "all is built after $((SECONDS - started)) s"
eval "$(make -s "${variables[@]}" env)"
export BUILDDIR=$PWD/build/$PETSC_ARCH JOBS=$jobs PETSCCSRC_TEST_GPU=0 PETSCCSRC_TEST_SECONDS=${PETSCCSRC_TEST_SECONDS:-1800}
if [ $# = 0 ]; then
  set -- "${tests[@]}"
  compare
fi
tests/run.sh "$@"
