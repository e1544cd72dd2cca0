#!/usr/bin/env bash
#
# SLEPc's SVD tests, unchanged, with -svd_type blocklanczos in place of their solver: those whose output does not depend on the solver.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
[ -d "$TESTDIR/slepc" ] || { skip slepcblock 'no SLEPc'; exit; }
if [ -e "$PETSC_DIR/config/petsc_harness.sh" ] && ! grep -q 'E ) final_args' "$PETSC_DIR/config/petsc_harness.sh"; then skip slepcblock "PETSc's scripts take no options after those of a test"; exit; fi

export PETSCDIFF=$SRCDIR/programs/typediff PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB"
for test in test3_1_trlanczos test3_2_trlanczos test8_1 test9_1 test14_1 test14_2; do
  for type in aij "$@"; do
    # the variable replaces a loop over solvers, the option replaces a single solver; options of that solver remain unused
    svd_type=blocklanczos bash "$TESTDIR/slepc/svd/tests/run$test.sh" -j -t 120 -E "-svd_type blocklanczos -mat_type $type -options_left 0" | sed -e "s/ok \(diff-\)\{0,1\}/&$type /"
  done
done
