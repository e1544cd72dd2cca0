#!/usr/bin/env bash
#
# Runs one of SLEPc's tests, by the script of its TEST block, with each of the types: slepctest.sh SCRIPT TYPE...
script=$1; shift
options=
# SLEPc's explicit cyclic matrix contains the transpose, which the library for SLEPc forms
if grep -q svd_cyclic_explicitmatrix "$script"; then PETSC_OPTIONS+=" -dll_append $SLEPCCSRC_LIB"; fi
# with complex numbers SLEPc's explicit product A^H A needs a transpose, which has to be enabled
if grep -q svd_cross_explicitmatrix "$script" && grep -qs 'PETSC_USE_COMPLEX 1' "$PETSC_DIR/$PETSC_ARCH/include/petscconf.h"; then options=-mat_form_explicit_transpose; fi
# options after those of the test; PETSc 3.22 only accepts them before, which is enough here
extra=-E
if [ -e "$PETSC_DIR/config/petsc_harness.sh" ] && ! grep -q 'E ) final_args' "$PETSC_DIR/config/petsc_harness.sh"; then extra=-e; fi
export PETSCDIFF=$SRCDIR/programs/typediff
for type; do
  if [ "$type" = csrccuda ] && [ "$PETSCCSRC_TEST_GPU" = 1 ] && grep svd_monitor "$script" | grep -qv svd_monitor_cancel; then
    echo "ok $type $(basename "$script" .sh) # SKIP its monitor prints what is left of rounding, which varies on a device"
    continue
  fi
  bash "$script" -j -t 120 $extra "-mat_type $type $options" | sed -e "s/ok \(diff-\)\{0,1\}/&$type /"
done
