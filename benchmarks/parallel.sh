#!/usr/bin/env bash
#
# Compares several GPUs of this machine, one process each, with one GPU: products, singular values, weak scaling; takes some ten minutes.
#
#   benchmarks/parallel.sh DIR [PIECE ...]
#
#   products   six matrices: A x, A^T u, dense operands, blocklanczos
#   exchanges  the same with the exchanges nccl and mpi in place of the default
#   solvers    SLEPc's solvers on csrccuda and on PETSc's aijcusparse
#   aijcusparse  products of PETSc's aijcusparse
#   weak       the same number of rows for each process, some 5 10^7 nonzeros or more
#   small      the same with an eighth of these
#   billion    10^9 nonzeros: 50 GB of host memory, several minutes for this piece alone
#
# Without PIECE: products, weak, solvers. DIR/parallel.csv gets a line for each time; DIR/*.txt get the output of the programs.
# Needs parallel and mpiexec (or MPIEXEC) in the PATH, PETSCCSRC_LIB and SLEPCCSRC_LIB. Environment variables:
#   GPUS      numbers of processes (default: 1, 2, 4 ... up to the number of GPUs)
#   LIMIT     maximum number of seconds for a run (default 240)
#   SCALE     size of the matrices (default 1)
#   OPTIONS   more options
set -u
dir=${1:?names no directory}
shift
mkdir -p "$dir"
options=(-dll_append "${SLEPCCSRC_LIB:?is not set}" -scale "${SCALE:-1}" -use_gpu_aware_mpi 0 -csv "$dir/parallel.csv")
if [ -z "${GPUS:-}" ]; then
  there=$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' 2>/dev/null | wc -l)
  for ((n = 1; n <= (there > 0 ? there : 2); n *= 2)); do GPUS="${GPUS:-} $n"; done
fi

run() { # NAME RANKS OPTION ...: a failure is reported, but ends neither the piece nor the script
  local name=$1 ranks=$2
  shift 2
  # shellcheck disable=SC2086 # OPTIONS holds several options
  timeout "${LIMIT:-240}" "${MPIEXEC:-mpiexec}" -n "$ranks" parallel "${options[@]}" ${OPTIONS:-} "$@" >"$dir/$name.txt" 2>&1 || { echo "benchmarks/parallel.sh: $name failed, see $dir/$name.txt" >&2; status=1; }
}

status=0
[ $# -gt 0 ] || set -- products weak solvers
for p in "$@"; do
  for n in $GPUS; do
    case $p in
      products) run "products-$n" "$n" ;;
      exchanges) for e in nccl mpi; do if [ "$n" -gt 1 ]; then run "exchanges-$n-$e" "$n" -mat_form_exchange $e; fi; done ;;
      solvers) run "solvers-$n" "$n" -matrix tall,rail,GL7d16,ESOC -K 0 -type csrccuda,aijcusparse -solver cross,trlanczos ;;
      aijcusparse) run "aijcusparse-$n" "$n" -type aijcusparse -solver none ;;
      weak) run "weak-$n" "$n" -matrix weaktall,weakstencil -K 0 -solver none ;;
      small) run "small-$n" "$n" -scale 0.125 -matrix weaktall,weakstencil -K 0 -solver none ;;
      billion) LIMIT=${LIMIT:-590} run "billion-$n" "$n" -matrix billion -K 0 -solver none ;;
      *) echo "benchmarks/parallel.sh: there is no piece $p" >&2; exit 2 ;;
    esac
  done
done
exit $status
