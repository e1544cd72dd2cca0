#!/usr/bin/env bash
#
# Solves linear programs with examples/lp and, if it is there, with cuPDLPx without its presolve, and then with it while time is left:
#
#   benchmarks/lp.sh DIR FILE.mps.gz ...
#
# Without FILE: those in $MATRICES/lp. DIR/lp.csv gets a line for each run, DIR/*.txt the output of the programs. A table is printed, with
# a line for each program. Solutions of lp are checked by tests/programs/lpcheck.py, which reads the file by itself; optima are HiGHS's, if
# highspy is there. Needs lp in the PATH and PETSCCSRC_LIB. Environment variables:
#   CUPDLPX   cuPDLPx's program (default: cupdlpx, if it is in the PATH)
#   LIMIT     seconds for each run (default 45)
#   BUDGET    seconds for all runs: runs with presolve that do not fit are left out, and other runs get what is left (default: any number)
#   TOL       tolerance (default 1e-6; when 1e-4 was passed is noted)
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
type=${TYPE:-$type} tol=${TOL:-1e-6} cupdlpx=${CUPDLPX:-$(command -v cupdlpx)}
counter=$(ls "$(dirname "$(command -v lp)")/devicebytes.so" 2>/dev/null)
[ $# -gt 0 ] || set -- "${MATRICES:?is not set and no file is given}"/lp/*.mps.gz
csv=$dir/lp.csv
echo 'problem,solver,status,objective,iterations,seconds,iterations to 1e-4,seconds to 1e-4,device bytes,rows,nonzeros' >"$csv"
field() { sed -n "s/$1/\\1/p" "$2" | tail -1; } # PATTERN FILE: what the pattern has in parentheses
bytes() { grep -ao 'devicebytes: [0-9]*' "$1" | awk '$2 > most { most = $2 } END { if (NR) print most + 0 }'; } # FILE: the most of its processes; `timeout` is one
name() { local n; n=$(basename "$1"); echo "${n%%.mps*}"; }
limit() { # seconds for the next run
  local left=$((${BUDGET:-1000000} - SECONDS))
  echo $((left < ${LIMIT:-45} ? (left > 1 ? left : 1) : ${LIMIT:-45}))
}

ours() { # FILE
  local name out seconds
  name=$(name "$1") seconds=$(limit)
  out=$dir/$name.lp.txt
  # shellcheck disable=SC2086 # OPTIONS holds several options
  LD_PRELOAD=$counter timeout $((seconds + 60)) lp -file "$1" -dll_append "${PETSCCSRC_LIB:?is not set}" -mat_type "$type" -tol "$tol" -max_time "$seconds" -solution "$dir/$name.solution" ${OPTIONS:-} >"$out" 2>&1
  echo "$name,lp,$(field 'Status: \([^;]*\).*' "$out"),$(field 'Objective: \([^,]*\),.*' "$out"),$(field '^\([0-9]*\) iterations,.*' "$out"),$(field '.*restarts, \([0-9.]*\) seconds.*' "$out"),$(field '.*1e-4 after \([0-9]*\) iter.*' "$out"),$(field '.*1e-4 after .* \([0-9.]*\) seconds' "$out"),$(bytes "$out"),$(field '.*: \([0-9]*\) rows.*' "$out"),$(field '.*columns, \([0-9]*\) nonzeros.*' "$out")" >>"$csv"
}

peer() { # FILE [--no_presolve]
  local name out seconds
  name=$(name "$1") seconds=$(limit)
  out=$dir/$name.cupdlpx${2:+.plain}
  rm -rf "$out" && mkdir -p "$out"
  # shellcheck disable=SC2086 # the option may be missing
  LD_PRELOAD=$counter timeout $((seconds + 60)) "$cupdlpx" --time_limit "$seconds" --eps_opt "$tol" --eps_feas "$tol" ${2:-} "$1" "$out" >"$out.txt" 2>&1
  # lines of its log: iterations, seconds and, last, the relative residuals; it prints them ever more rarely
  awk '/^ *[0-9]+ [-+.e0-9]+ \|/ && $1 > 0 && $(NF-2) < 1e-4 && $(NF-1) < 1e-4 && $NF < 1e-4 { print "1e-4: " $1, $2; exit }' "$out.txt" >"$out.easy"
  cat "$out"/*_summary.txt "$out.easy" >>"$out.txt" 2>/dev/null
  echo "$name,cupdlpx${2:+ without presolve},$(field 'Termination Reason: \(.*\)' "$out.txt"),$(field 'Primal Objective Value: \(.*\)' "$out.txt"),$(field 'Iterations Count: \(.*\)' "$out.txt"),$(awk '/^(Runtime|Presolve Time) .sec.: / { sum += $NF; has = 1 } END { if (has) print sum }' "$out.txt"),$(field '1e-4: \([0-9]*\) .*' "$out.txt"),$(field '1e-4: [0-9]* \(.*\)' "$out.txt"),$(bytes "$out.txt"),," >>"$csv"
}

after() { # FILE: the check, and the optimum. Both take one core: several files at a time
  local name
  name=$(name "$1")
  if [ -n "$checker" ] && [ -s "$dir/$name.solution" ]; then "$python" "$checker" "$1" "$dir/$name.solution" "$tol" 2>&1 | tail -1 | sed 's/.*: //; s/,/;/g' >"$dir/$name.checked"; fi
  if [ "${HIGHS:-1}" = 0 ]; then return; fi
  if [ -n "${OPTIMA:-}" ]; then awk -v name="$name" '$1 == name { print $2 }' "$OPTIMA" >"$dir/$name.optimum"; return; fi
  timeout "$((10 * ${LIMIT:-45}))" "$python" - "$1" 2>/dev/null <<'END' | tail -1 >"$dir/$name.optimum"
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
export -f after name
export dir checker python tol

for file; do
  rm -f "$dir/$(name "$file")".{checked,optimum,solution}
  ours "$file"
  if [ -n "$cupdlpx" ]; then peer "$file" --no_presolve; fi
done
for file; do
  if [ -n "$cupdlpx" ] && [ "$SECONDS" -lt "${BUDGET:-1000000}" ]; then peer "$file"; fi
done
# shellcheck disable=SC2016 # the shell of xargs expands it
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" bash -c 'after "$1"' after
for file; do
  name=$(name "$file")
  echo "$name,after,$(cat "$dir/$name.checked" 2>/dev/null),$(cat "$dir/$name.optimum" 2>/dev/null)"
done | cat "$csv" - | awk -F, -v tol="$tol" '
  function its(s) { return (count[p, s] == "" ? "-" : count[p, s] (done[p, s] ? "" : "+")) }
  function two(format, a, b) { return (a == "" ? "-" : sprintf(format, a)) ", " (b == "" ? "-" : sprintf(format, b)) }
  function off(s,   d) { # the objective beside the optimum
    if (best[p] == "" || value[p, s] == "" || !done[p, s]) return ""
    d = value[p, s] - best[p]
    return d / (1 + (best[p] < 0 ? -best[p] : best[p]))
  }
  function ratio(what, a, b) {
    if (!(a > 0 && b > 0)) return
    if (!number[what]++) whats[++nwhats] = what
    logs[what] += log(a / b)
  }
  NR == 1 { next }
  $2 == "after" { checked[$1] = $3; best[$1] = $4; next }
  {
    if (!($1 in seen)) { seen[$1] = 1; order[++n] = $1 }
    s = $2 == "lp" ? 0 : ($2 == "cupdlpx" ? 2 : 1)
    done[$1, s] = tolower($3) == "optimal"; value[$1, s] = $4; count[$1, s] = $5; seconds[$1, s] = $6
    easyits[$1, s] = $7; easy[$1, s] = $8; bytes[$1, s] = $9
    if (s == 0) { rows[$1] = $10; nonzeros[$1] = $11 }
  }
  END {
    print "| LP | iterations of lp, cuPDLPx, with presolve | seconds | to 1e-4 | us an iteration | MB | objective off the optimum | check of lp |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for (i = 1; i <= n; i++) {
      p = order[i]
      for (s = 0; s < 3; s++) {
        solved[s] += done[p, s]; passed[s] += easy[p, s] != "" || done[p, s]
        us[s] = count[p, s] > 0 ? 1e6 * seconds[p, s] / count[p, s] : ""
      }
      printf "| %s | %s, %s, %s | %s | %s | %s | %s | %s | %s |\n", p, its(0), its(1), its(2), two("%.3f", seconds[p, 0], seconds[p, 1]) ", " (seconds[p, 2] == "" ? "-" : sprintf("%.3f", seconds[p, 2])), two("%.2f", easy[p, 0], easy[p, 1]), two("%.1f", us[0], us[1]), two("%.1f", bytes[p, 0] == "" ? "" : bytes[p, 0] / 1e6, bytes[p, 1] == "" ? "" : bytes[p, 1] / 1e6), two("%.0e", off(0), off(1)), checked[p]
      # a peer that ends at once, far from the optimum, is no measure of anything
      wrong = off(1) != "" && (off(1) > 0.01 || off(1) < -0.01)
      if (wrong) { note = note " " p; continue }
      ratio("time an iteration", us[0], us[1])
      if (rows[p] > 0 && nonzeros[p] > 50 * rows[p]) ratio(nonzeros[p] > 2000000 ? "time an iteration, rows above 50, above 2 10^6 nonzeros" : "time an iteration, rows above 50", us[0], us[1])
      ratio("bytes", bytes[p, 0], bytes[p, 1])
      if (done[p, 0] && done[p, 1]) { ratio("iterations", count[p, 0], count[p, 1]); ratio("seconds", seconds[p, 0], seconds[p, 1]) }
      if (done[p, 0] && done[p, 2]) ratio("seconds, with its presolve", seconds[p, 0], seconds[p, 2])
    }
    printf "\nOf %d solved to %s by lp %d, cuPDLPx %d, with presolve %d; passed 1e-4: %d, %d, %d\n", n, tol, solved[0], solved[1], solved[2], passed[0], passed[1], passed[2]
    if (note != "") print "cuPDLPx is more than 1 per cent off the optimum and not compared:" note
    for (w = 1; w <= nwhats; w++) printf "lp over cuPDLPx, %s: %.2f (of %d)\n", whats[w], exp(logs[whats[w]] / number[whats[w]]), number[whats[w]]
  }' | tee "$dir/lp.md"
