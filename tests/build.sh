#!/usr/bin/env bash
#
# Builds everything that tests/run.sh runs in the given directory. The directory may be moved to another machine and run there.
set -eu
testdir=$1
srcdir=$(cd "$(dirname "$0")" && pwd)
# programs that were built with another PETSc are built again
if [ -e "$testdir/builtwith" ] && [ "$(cat "$testdir/builtwith")" != "$PETSC_DIR" ]; then rm -rf "$testdir"; fi
mkdir -p "$testdir"
echo "$PETSC_DIR" >"$testdir/builtwith"

# the programs of petsccsrc, and the scripts of PETSc's harness that run them
make -s -f "$srcdir/gmakefile.test" -j"${JOBS:-$(env -u OMP_NUM_THREADS nproc)}" TESTDIR="$testdir" all

# the parts of the harness that do not need PETSc's sources
configdir=$PETSC_DIR/config
[ -d "$configdir" ] || configdir=$PETSC_DIR/share/petsc/examples/config
mkdir -p "$testdir/harness"
cp "$configdir/petsc_harness.sh" "$PETSC_DIR/lib/petsc/bin/petscdiff" "$testdir/harness/"
echo "$testdir $srcdir $configdir $PETSC_DIR/lib/petsc/bin" >"$testdir/origin"

# programs of PETSc and SLEPc, unchanged
"$srcdir/programs/build.sh" "$testdir"
