#!/usr/bin/env bash
#
# One process of a parallel solve is killed during products: the others end at once, and mpiexec reports a failure.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
cd "$TESTDIR/petsc/ksp/tutorials" || exit

for type; do
  label="one of 3 processes killed, $type"
  mark=killed.$type.$$
  # this solve does not end by itself
  # shellcheck disable=SC2086
  timeout -k 5 120 $MPIEXEC -n 3 ./ex2 -m 100 -n 100 -mat_type "$type" -ksp_type richardson -ksp_richardson_scale 1e-9 -pc_type none -ksp_rtol 0 -ksp_atol 0 -ksp_max_it 2000000000 -ksp_divtol 1e300 -ksp_convergence_test skip -options_left no -mark "$mark" >"$mark.log" 2>&1 </dev/null &
  launcher=$!
  processes=
  for ((i = 0; i < 300; i++)); do
    processes=$(pgrep -f "^\./ex2 .*$mark")
    # shellcheck disable=SC2086
    set -- $processes
    if [ $# = 3 ] || grep -qs 'Uniprocessor version of MPI' "$mark.log"; then break; fi
    sleep 0.1
  done
  if grep -qs 'Uniprocessor version of MPI' "$mark.log"; then skip "$label" 'this PETSc has one process only'; wait "$launcher"; rm -f "$mark.log"; continue; fi
  if [ $# != 3 ]; then not_ok "$label" "$# processes run, should be 3" "$(cat "$mark.log")"; kill "$launcher" 2>/dev/null; wait "$launcher"; continue; fi
  sleep 2 # by then the processes multiply
  kill -9 "$2"
  begin=$SECONDS
  wait "$launcher"
  status=$?
  sleep 0.5
  left=$(pgrep -f "^\./ex2 .*$mark" | wc -l)
  if [ $status = 0 ] || [ $((SECONDS - begin)) -gt 60 ] || [ "$left" != 0 ]; then not_ok "$label" "status $status after $((SECONDS - begin)) s, $left processes left" "$(cat "$mark.log")"; else ok "$label"; fi
  rm -f "$mark.log"
done
