#!/usr/bin/env bash
#
# Writes the patch that adds the solver qmr, with its test, to PETSc:
#
#   contrib/petsc/qmrpatch.sh /path/to/petsc >qmr.patch        # does not change PETSc's sources
#   cd /path/to/petsc && patch -p1 <qmr.patch                  # or git apply
#
# The solver is src/ksp/impls/qmr/qmr.c of this project, the test is tests/ksp/qmr.c. The patch is made from the sources that it shall be applied
# to, so that it fits any version that has the lines to be changed; it is an error if one of them is not found.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
petsc=$(cd "${1:?qmrpatch: which PETSc?}" && pwd)
fail() { echo "qmrpatch: $*" >&2; exit 1; }
[ -e "$petsc/src/ksp/ksp/interface/itregis.c" ] || fail "$petsc holds no sources of PETSc"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/a" "$work/b"

# change FILE SED: changes a copy of the file; it is an error if nothing changes
change() {
  local tree
  for tree in a b; do mkdir -p "$work/$tree/$(dirname "$1")"; cp "$petsc/$1" "$work/$tree/$1"; done
  sed -i "$2" "$work/b/$1"
  ! cmp -s "$work/a/$1" "$work/b/$1" || fail "nothing to change in $1"
}
change include/petscksp.h 's/^#define KSPQMRCGS .*/&\n#define KSPQMR        "qmr"/'
change src/ksp/ksp/interface/itregis.c 's/^PETSC_EXTERN PetscErrorCode KSPCreate_QMRCGS(KSP);/&\nPETSC_EXTERN PetscErrorCode KSPCreate_QMR(KSP);/; s/^  PetscCall(KSPRegister(KSPQMRCGS, KSPCreate_QMRCGS));/&\n  PetscCall(KSPRegister(KSPQMR, KSPCreate_QMR));/'

solver=$work/b/src/ksp/ksp/impls/qmr
mkdir -p "$solver"
cp "$petsc/src/ksp/ksp/impls/bicg/makefile" "$solver/makefile"
sed -e '/^#include <petsccsrc.h>/d; /^#include "qmr.h"/d' -e 's/, `MATCSRCCUDA`, `MATBCCOO`$//' -e 's/^PetscErrorCode KSPCreate_QMR(KSP ksp)/PETSC_EXTERN &/' "$here/src/ksp/impls/qmr/qmr.c" >"$solver/qmr.c"

# the first number that no test uses
for ((n = 1; ; n++)); do compgen -G "$petsc/src/ksp/ksp/tests/ex$n.*" >/dev/null || break; done
tests=$work/b/src/ksp/ksp/tests
mkdir -p "$tests/output"
sed -e 's/{{aij csrccuda bccoo}}/{{aij baij}}/' -e "s/qmr_1\.out/ex${n}_1.out/" "$here/tests/ksp/qmr.c" >"$tests/ex$n.c"
cp "$here/tests/ksp/output/qmr_1.out" "$tests/output/ex${n}_1.out"
cd "$work"
diff -ruN a b || [ $? = 1 ]
