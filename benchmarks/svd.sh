#!/usr/bin/env bash
#
# All measurements of the SVD solvers on one GPU, in some minutes: writes CSV files for svdtable.py, and the output of the solvers.
#
#   benchmarks/svd.sh DIR [PIECE ...]
#
#   warm        five matrices, all solvers, types and transpose modes
#   first       the first solve of a new matrix, also in SLEPc's default mode
#   fresh       the first solve of a fresh process and later ones, by what the process has done before (text only)
#   randomized  -svd_type randomized with the same number of iterations for each type, with SLEPc's default orthogonalization and by blocks (+chol)
#   triplets    time to n triplets, and number of wrong ones
#   boards      the eight chessboards, 16, 32 and 64 values, five starts each
#
# Needs svdsolvers and svdfirst in the PATH and SLEPCCSRC_LIB. LIMIT: maximum number of seconds for a piece (default 600). OPTIONS: more options, for
# all pieces.
set -u
dir=${1:?names no directory}
shift
mkdir -p "$dir"
large=standin:12month1-fixed,standin:rail4284,standin:GL7d16-fixed
options=(-dll_append "${SLEPCCSRC_LIB:?is not set}")
steps=(-randomized+steps_svd_max_it 10 -randomized+steps_svd_conv_maxit)
chol=(-randomized+chol_svd_max_it 10 -randomized+chol_svd_conv_maxit -randomized+chol_bv_orthog_block chol)

cases() { # SOLVER,... TYPE:MODE ...: prints all combinations, for -case
  local solvers=$1 solver where list=''
  shift
  for where in "$@"; do
    for solver in ${solvers//,/ }; do list+=,$where:$solver; done
  done
  printf '%s' "${list#,}"
}

piece() { # NAME OPTION ...
  local name=$1
  shift
  # shellcheck disable=SC2086 # OPTIONS holds several options
  timeout "${LIMIT:-600}" svdsolvers "${options[@]}" ${OPTIONS:-} "$@" -csv "$dir/$name.csv" >"$dir/$name.txt" 2>&1 || { echo "benchmarks/svd.sh: $name failed, see $dir/$name.txt" >&2; status=1; }
}

status=0
[ $# -gt 0 ] || set -- warm first fresh randomized triplets boards
for p in "$@"; do
  case $p in
    warm) piece warm -matrix "chessboard:7:9:4,$large,standin:ESOC" -case "csrccuda:default:blocklanczos,$(cases trlanczos,cross,lanczos csrccuda:default aijcusparse:implicit aijcusparse:twocopies)" ;;
    first) piece first "${steps[@]}" -matrix "$large" -repeat 1 -case "csrccuda:default:blocklanczos,$(cases trlanczos,cross,lanczos,randomized+steps csrccuda:default aijcusparse:default)" ;;
    fresh)
      for matrix in chessboard:7:9:4 standin:rail4284 standin:12month1-fixed; do
        for before in nothing device vector solver; do timeout "${LIMIT:-600}" svdfirst "${options[@]}" -matrix "$matrix" -before "$before" || status=1; done
      done >"$dir/fresh.txt" 2>&1
      ;;
    randomized) piece randomized "${steps[@]}" "${chol[@]}" -matrix "$large" -repeat 2 -case "$(cases randomized+steps,randomized+chol csrccuda:default aijcusparse:implicit aijcusparse:twocopies)" ;;
    triplets) piece triplets -matrix chessboard:7:9:4 -nsv 8,16,32,64 -repeat 2 -case "csrccuda:default:blocklanczos,$(cases trlanczos,cross csrccuda:default aijcusparse:implicit)" ;;
    boards) piece boards -matrix chessboard:4:4:1,chessboard:4:4:2,chessboard:5:5:1,chessboard:5:5:2,chessboard:5:6:2,chessboard:6:6:3,chessboard:7:9:4,chessboard:8:8:4 -nsv 16,32,64 -seeds 5 -case csrccuda:default:blocklanczos ;;
    *) echo "benchmarks/svd.sh: there is no piece $p" >&2; exit 2 ;;
  esac
done
exit $status
