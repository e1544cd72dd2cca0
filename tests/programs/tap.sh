# shellcheck shell=bash
# Test Anything Protocol for the scripts of this folder, which source this file.

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1"; shift; for line; do printf '%s\n' "$line" | head -n 12 | sed 's/^/#	/'; done; }
skip() { echo "ok $1 # SKIP $2"; }

output=
# run LABEL COMMAND...: output goes to $output. A failing command is a failed test, unless PETSc has MPIUNI, its MPI for one process
run() {
  local label=$1; shift
  if output=$("$@" 2>&1); then return 0; fi
  if [[ $output = 'Uniprocessor version of MPI can only use one processor'* ]]; then skip "$label" 'this PETSc has one process only'; return 1; fi
  not_ok "$label" "$* failed:" "$output"
  return 1
}

# mpi N PROGRAM...
# shellcheck disable=SC2086 # MPIEXEC may hold options
mpi() { local n=$1; shift; timeout 120 $MPIEXEC -n "$n" "$@"; }
