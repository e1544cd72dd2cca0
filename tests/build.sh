#!/usr/bin/env bash
#
# Builds in the directory given all that tests/run.sh runs, so that it can run it there or, moved, on another machine.
set -eu
testdir=$1
srcdir=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$testdir"

# our programs, and the scripts of PETSc's harness that run them
make -s -f "$srcdir/gmakefile.test" -j"${JOBS:-$(nproc)}" TESTDIR="$testdir" all

# the parts of the harness that run without PETSc's sources
configdir=$PETSC_DIR/config
[ -d "$configdir" ] || configdir=$PETSC_DIR/share/petsc/examples/config
mkdir -p "$testdir/harness"
cp "$configdir/petsc_harness.sh" "$PETSC_DIR/lib/petsc/bin/petscdiff" "$testdir/harness/"
echo "$testdir $srcdir $configdir $PETSC_DIR/lib/petsc/bin" >"$testdir/origin"

# programs of PETSc and SLEPc, unchanged
"$srcdir/programs/build.sh" "$testdir"
