#!/usr/bin/env bash
#
# Solves linear programs with examples/lp and, if it is there, with cuPDLPx, each without and with its presolve:
#
#   benchmarks/lp.sh DIR FILE.mps.gz ...
#
# Without FILE: those in $MATRICES/lp. DIR/lp.csv gets a line for each run, DIR/*.txt get the output of the programs. A table is printed.
# Solutions of lp are checked by tests/programs/lpcheck.py, which reads the file by itself; optima are HiGHS's, if highspy is there.
# Needs lp in the PATH and PETSCCSRC_LIB. Environment variables:
#   CUPDLPX   cuPDLPx's program (default: cupdlpx, if it is in the PATH)
#   LIMIT     seconds for each run (default 45)
#   TOL       tolerances (default 1e-4 and 1e-6; lp notes in one run when 1e-4 was passed)
#   TYPE      matrix type (default: csrccuda with a GPU, else bccoo)
#   OPTIMA    a file of lines "NAME VALUE", in place of HiGHS; HIGHS=0 leaves both out
#   OPTIONS   more options of lp
set -u
dir=${1:?names no directory}
shift
mkdir -p "$dir"
here=$(cd "$(dirname "$0")" && pwd)
checker=$(ls "$here"/../tests/programs/lpcheck.py "$here"/lpcheck.py 2>/dev/null | head -1)
python=${PETSCCSRC_PYTHON:-python3}
type=bccoo
if ls /dev/nvidia[0-9]* >/dev/null 2>&1; then type=csrccuda; fi
type=${TYPE:-$type} limit=${LIMIT:-45} cupdlpx=${CUPDLPX:-$(command -v cupdlpx)}
counter=$(dirname "$(command -v lp)")/devicebytes.so
[ $# -gt 0 ] || set -- "${MATRICES:?is not set and no file is given}"/lp/*.mps.gz
csv=$dir/lp.csv
[ -e "$csv" ] || echo 'problem,solver,tolerance,status,objective,optimum,iterations,seconds,microseconds an iteration,iterations to 1e-4,seconds to 1e-4,device bytes,checked' >"$csv"
field() { sed -n "s/$1/\\1/p" "$2" | tail -1; } # PATTERN FILE: what the pattern has in parentheses

optimum() { # NAME FILE
  if [ "${HIGHS:-1}" = 0 ]; then return; fi
  if [ -n "${OPTIMA:-}" ]; then awk -v name="$1" '$1 == name { print $2 }' "$OPTIMA"; return; fi
  timeout "$((10 * limit))" "$python" - "$2" 2>/dev/null <<'END' | tail -1
import sys
import highspy
highs = highspy.Highs()
highs.silent()
highs.setOptionValue("solve_relaxation", True)
highs.readModel(sys.argv[1])
highs.run()
if highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
    print(repr(highs.getInfo().objective_function_value))
END
}

for file; do
  name=$(basename "$file") name=${name%%.mps*}
  best=$(optimum "$name" "$file")
  out=$dir/$name.lp.txt
  # shellcheck disable=SC2086 # OPTIONS holds several options
  LD_PRELOAD=$(ls "$counter" 2>/dev/null) timeout $((limit + 60)) lp -file "$file" -dll_append "${PETSCCSRC_LIB:?is not set}" -mat_type "$type" -tol 1e-6 -max_time "$limit" -solution "$dir/$name.solution" ${OPTIONS:-} >"$out" 2>&1
  checked=
  if [ -n "$checker" ] && [ -s "$dir/$name.solution" ]; then
    checked=$("$python" "$checker" "$file" "$dir/$name.solution" 1e-6 2>&1 | tail -1 | sed 's/.*: //; s/,/;/g')
  fi
  echo "$name,lp $type,1e-6,$(field 'Status: \([^;]*\).*' "$out"),$(field 'Objective: \([^,]*\),.*' "$out"),$best,$(field '^\([0-9]*\) iterations,.*' "$out"),$(field '.*restarts, \([0-9.]*\) seconds.*' "$out"),$(field '.* \([0-9.]*\) microseconds.*' "$out"),$(field '.*1e-4 after \([0-9]*\) iter.*' "$out"),$(field '.*1e-4 after .* \([0-9.]*\) seconds' "$out"),$(field 'devicebytes: \([0-9]*\) .*' "$out"),$checked" >>"$csv"
  [ -n "$cupdlpx" ] || continue
  for presolve in --no_presolve ''; do
    for tol in ${TOL:-1e-4 1e-6}; do
      out=$dir/$name.cupdlpx${presolve:+.plain}.$tol
      rm -rf "$out" && mkdir -p "$out"
      # shellcheck disable=SC2086 # presolve may be empty
      LD_PRELOAD=$(ls "$counter" 2>/dev/null) timeout $((limit + 60)) "$cupdlpx" --time_limit "$limit" --eps_opt "$tol" --eps_feas "$tol" $presolve "$file" "$out" >"$out.txt" 2>&1
      cat "$out"/*_summary.txt >>"$out.txt" 2>/dev/null
      its=$(field 'Iterations Count: \(.*\)' "$out.txt") seconds=$(field 'Runtime (sec): \(.*\)' "$out.txt")
      echo "$name,cupdlpx${presolve:+ without presolve},$tol,$(field 'Termination Reason: \(.*\)' "$out.txt"),$(field 'Primal Objective Value: \(.*\)' "$out.txt"),$best,$its,$seconds,$(awk -v i="${its:-0}" -v s="${seconds:-0}" 'BEGIN { if (i > 0) printf "%.2f", 1e6 * s / i }'),,,$(field 'devicebytes: \([0-9]*\) .*' "$out.txt")," >>"$csv"
    done
  done
done
cat "$csv"
