#!/usr/bin/env bash
#
# Builds programs of PETSc and SLEPc in scratch copies, with their own makefiles, as users do.
set -eu
testdir=$1
jobs=${JOBS:-$(nproc)}

# copies only files that changed, so that make has nothing to do the second time
scratch() { mkdir -p "$1" && shift && for f; do cmp -s "$f" "$dir/${f##*/}" || cp "$f" "$dir/"; done; }

# PETSc's ksp/tutorials/ex2
src=$PETSC_DIR/src
[ -d "$src/ksp" ] || src=$PETSC_DIR/share/petsc/examples/src
dir=$testdir/petsc/ksp/tutorials
scratch "$dir" "$src/ksp/ksp/tutorials/ex2.c" "$src/ksp/ksp/tutorials/makefile"
make -s -C "$dir" ex2

# SLEPc's svd/tests: those whose matrix takes its type from the options
if [ -n "$SLEPC_DIR" ]; then
  src=$SLEPC_DIR/src
  [ -d "$src/svd" ] || src=$SLEPC_DIR/share/slepc/examples/src
  dir=$testdir/slepc/src/svd/tests
  programs='test1 test3 test4 test6 test8 test9 test10 test14 test15 test16 test18'
  # shellcheck disable=SC2046,SC2086 # words
  scratch "$dir" $(printf "$src/svd/tests/%s.c " $programs) "$src/svd/tests/makefile"
  mkdir -p "$dir/output" && cp "$src"/svd/tests/output/*.out "$dir/output/"
  # shellcheck disable=SC2086
  make -s -C "$dir" -j"$jobs" $programs

  # the scripts of their TEST blocks, without those for GPU types of other libraries
  configdir=$PETSC_DIR/config
  [ -d "$configdir" ] || configdir=$PETSC_DIR/share/petsc/examples/config
  out=$testdir/slepc/svd/tests
  rm -f "$out"/run*.sh
  python3 "$configdir/gmakegentest.py" --petsc-dir="$PETSC_DIR" --petsc-arch="$PETSC_ARCH" --srcdir="$testdir/slepc/src" --testdir="$testdir/slepc" \
    --pkg-name=slepc --pkg-dir="$SLEPC_DIR" --pkg-arch="$PETSC_ARCH" --pkg-pkgs=svd
  grep -lE "mat_type aij(cusparse|hipsparse|kokkos)" "$out"/run*.sh | xargs -r rm -f
  # shellcheck disable=SC2086
  for p in $programs; do ln -sf "../../src/svd/tests/$p" "$out/$p"; done
else
  rm -rf "$testdir/slepc" "$testdir/svd"
fi
