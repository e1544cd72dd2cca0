#!/usr/bin/env bash
#
# Builds everything for another kind of processor and runs its tests here, emulated by qemu.
#
#   scripts/cross.sh aarch64 [PATTERN ...]
#
# PATTERN: tests, as for tests/run.sh; without one, those of `tests` below, and files that one machine writes are read by the other.
#
# From nothing: installs the distribution's cross compiler and emulator; unpacks Open MPI, OpenBLAS and what they need, which are packages for that
# processor, into a folder of its own; builds PETSc and SLEPc. What is there is not made again. It lies in external/<processor> and
# build/arch-<processor>. JOBS (default: the cores) is how many processes compile, and how many tests run at a time. Only Debian's servers have the
# packages of all processors in one place. An emulator computes what the processor does, but shows neither its speed nor its order of memory accesses.
set -euo pipefail
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS PETSC_DIR PETSC_ARCH SLEPC_DIR

readonly tests=('mat-products_simd' 'mat-products_bccoo' 'mat-products_exchange' 'mat-products_1thread' 'mat-products_5threads' 'mat-simd' 'mat-hostformats*' 'mat-fuzz_short*'
  'mat-threads*' 'mat-mtx*' 'mat-binaryfile*' 'ksp-qmr_*' 'svd-smalldense*' 'svd-boards_few*' 'sys-exchange*' 'sys-segments*' 'sys-share*')

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

# step NAME COMMAND...: runs the command once, with its output in a log
step() {
  local name=$1 log=$top/logs/$1.log start=$SECONDS
  shift
  if [ -e "$top/logs/$name.done" ]; then return; fi
  say "$name ..."
  if ! "$@" >"$log" 2>&1 </dev/null; then
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

# Each machine writes a matrix; the files are the same, and each reads that of the other
check_files() {
  local native=build/arch-csrc name=tests/petsc/ksp/tutorials/ex2 dir status=0
  if [ ! -x "$native/$name" ] || [ ! -x "$native/bin/convert" ]; then say "files of this machine: not tried, make tests has built nothing here"; return; fi
  dir=$(mktemp -d "${TMPDIR:-/tmp}/cross.XXXXXX")
  here() { "$native/mpiexec" -n 1 "$native/$1" "${@:2}" -options_left no >/dev/null || status=1; }
  there() { "$BUILDDIR/mpiexec" -n 1 "$BUILDDIR/$1" "${@:2}" -options_left no >/dev/null || status=1; }
  here $name -m 37 -n 41 -mat_view "binary:$dir/here"
  there $name -m 37 -n 41 -mat_view "binary:$dir/there"
  here bin/convert -file "$dir/there"
  there bin/convert -file "$dir/here"
  cmp "$dir/here" "$dir/there" || status=1
  rm -rf "$dir"
  [ $status = 0 ] || die "files that one machine writes are not read by the other"
  say "files that one machine writes are read by the other"
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
  check_files
fi
tests/run.sh "$@"
