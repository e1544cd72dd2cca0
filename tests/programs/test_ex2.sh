#!/usr/bin/env bash
#
# PETSc's ksp/tutorials/ex2, unchanged and built by its own makefile, with each of the types: every solver takes as many iterations
# as with AIJ, to an equally good answer, on 1, 2 and 3 processes. bicg, lsqr, cgls and cgne multiply with A^T in every iteration.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
cd "$TESTDIR/petsc/ksp/tutorials" || exit

# name and options; those with .1 run on one process
solvers='
bicg      -ksp_type bicg -pc_type jacobi
lsqr      -ksp_type lsqr -pc_type none
cgls      -ksp_type cgls -pc_type none
cgne      -ksp_type cgne -pc_type jacobi
gmres     -ksp_type gmres
gamg      -ksp_type cg -pc_type gamg
bjacobi   -ksp_type cg -pc_type bjacobi
sor       -ksp_type gmres -pc_type sor
icc.1     -ksp_type cg -pc_type icc
lu.1      -ksp_type preonly -pc_type lu
'

# in single precision the last iterations depend on the order of sums
slack=0
if grep -qs 'PETSC_USE_REAL_SINGLE 1' "$PETSC_DIR/$PETSC_ARCH/include/petscconf.h"; then slack=2; fi

for n in 1 2 3; do
  echo "$solvers" | while read -r name options; do
    case $name in
      '') continue ;;
      *.1) [ $n = 1 ] || continue ;;
    esac
    # shellcheck disable=SC2086
    run "ex2 $name aij, $n processes" mpi $n ./ex2 -ksp_converged_reason $options </dev/null || continue
    expected=$(echo "$output" | sed -n 's/.*converged due to \([A-Z_]*\) iterations \([0-9]*\).*/\1 \2/p')
    norm=$(echo "$output" | sed -n 's/Norm of error \([^ ]*\) .*/\1/p')
    for type; do
      label="ex2 $name $type, $n processes"
      # shellcheck disable=SC2086
      run "$label" mpi $n ./ex2 -mat_type "$type" -ksp_converged_reason $options </dev/null || continue
      found=$(echo "$output" | sed -n 's/.*converged due to \([A-Z_]*\) iterations \([0-9]*\).*/\1 \2/p')
      foundnorm=$(echo "$output" | sed -n 's/Norm of error \([^ ]*\) .*/\1/p')
      if ! awk -v a="$found" -v b="$expected" -v slack=$slack 'BEGIN { split(a, f); split(b, e); exit !(e[1] && f[1] == e[1] && f[2] <= e[2] + slack && f[2] >= e[2] - slack) }'; then not_ok "$label" "AIJ: $expected iterations" "$output"
      elif ! awk -v a="$foundnorm" -v b="$norm" 'BEGIN { exit !(a <= 10 * b + 1e-7) }'; then not_ok "$label" "AIJ's error is $norm" "$output"
      else ok "$label"; fi
    done
  done
done
