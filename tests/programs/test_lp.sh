#!/usr/bin/env bash
#
# examples/lp: what it reads, with the optimal value of each program; statuses, each checked by a program of its own; files of results.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
lp=${BINDIR:-$BUILDDIR/bin}/lp
[ -x "$lp" ] || { skip lp 'it is not built: there is no CoinUtils'; exit; }
dir=$TESTDIR/lp
rm -rf "$dir"
mkdir -p "$dir" && cd "$dir" || exit
python=${PETSCCSRC_PYTHON:-python3}
tol=1e-7 near=1e-5
if grep -qs 'PETSC_PRECISION *= *single' "$PETSC_DIR/$PETSC_ARCH/lib/petsc/conf/petscvariables"; then tol=1e-4 near=1e-2; fi

says() { case $output in *"$2"*) ok "$1" ;; *) not_ok "$1" "no '$2' in the output" "$output" ;; esac; }
# mps NAME SECTION...: writes NAME.mps in free format. A section is its name, a colon, and its lines, with semicolons between them
mps() {
  local name=$1 section
  shift
  { printf 'NAME %s FREE\n' "$name"
    for section; do echo "${section%%:*}"; echo "${section#*:}" | tr ';' '\n' | sed 's/^ */ /'; done
    echo ENDATA; } >"$name.mps"
}
solve() { mpi 1 "$lp" -mat_type bccoo -tol $tol -max_time 60 -progress 0 "$@"; }
# optimum LABEL FILE VALUE [OPTIONS]: the value is found, and the solution is as good as it says, to another program
optimum() {
  local label=$1 file=$2 value=$3 found
  shift 3
  run "$label" solve -file "$file" -solution solution.txt "$@" || return
  found=$(echo "$output" | sed -n 's/^Objective: \([^,]*\),.*/\1/p')
  if awk -v a="$found" -v b="$value" -v near=$near 'BEGIN { d = a - b; s = b; if (d < 0) d = -d; if (s < 0) s = -s; exit !(a != "" && d <= near * (1 + s)) }'; then ok "$label"; else not_ok "$label" "the objective is '$found', not $value" "$output"; fi
  run "$label, checked" "$python" "$SRCDIR/programs/lpcheck.py" "$file" solution.txt $tol && says "$label, checked" 'optimal: objective'
}
# proved LABEL FILE STATUS [OPTIONS]: there is no solution, and the certificate is one to another program
proved() {
  local label=$1 file=$2 status=$3
  shift 3
  run "$label" solve -file "$file" -solution solution.txt "$@" && says "$label" "Status: $status" &&
    run "$label, checked" "$python" "$SRCDIR/programs/lpcheck.py" "$file" solution.txt $near && ok "$label, checked"
}
# fails LABEL CODE WORDS ARGUMENTS
fails() {
  local label=$1 code=$2 words=$3 rc
  shift 3
  output=$(ulimit -c 0; solve "$@" 2>&1); rc=$?
  if [ $rc = "$code" ]; then says "$label" "$words"; else not_ok "$label" "exit code $rc, not $code" "$output"; fi
}

# Fixed format, with all that rows and bounds can be
cat >fixed.mps <<'END'
NAME          RANGES
ROWS
 N  COST
 N  SECOND
 E  E1
 E  E2
 L  L1
 G  G1
COLUMNS
    X         COST               1.0   E1                 1.0
    X         E2                 1.0   L1                 1.0
    X         SECOND             5.0
    Y         COST               2.0   E1                 1.0
    Y         G1                 1.0   L1                -1.0
    Z         COST              -1.0   G1                 1.0
    W         COST               1.0   E1                 1.0
    V         COST               1.0   E2                 1.0
    T         L1                 1.0
RHS
    RHS       E1                 4.0   E2                 5.0
    RHS       L1                 6.0   G1                 1.0
    RHS       COST             -10.0
RANGES
    RNG       E1                 2.0   E2                -3.0
    RNG       L1                 2.5   G1                 4.0
BOUNDS
 UP BND       X                  4.0
 UP BND       Y                 -1.0
 FR BND       Z
 MI BND       W
 UP BND       W                  3.0
 FX BND       V                  2.5
 LO BND       T                 -2.0
ENDATA
END
gzip -kf fixed.mps
bzip2 -kf fixed.mps 2>/dev/null
optimum 'fixed format, ranges, bounds, N rows' fixed.mps 8.5
run 'without -mat_type' mpi 1 "$lp" -file fixed.mps && case $output in *WARNING*) not_ok 'without -mat_type' "$output" ;; *) ok 'without -mat_type' ;; esac
optimum 'fixed format, .gz' fixed.mps.gz 8.5 
if [ -e fixed.mps.bz2 ]; then optimum 'fixed format, .bz2' fixed.mps.bz2 8.5; else skip 'fixed format, .bz2' 'no bzip2'; fi

# One difficulty each; no row but the first is needed for the value
mps rangedown 'ROWS: N c; E r' 'COLUMNS: x c 1 r 1' 'RHS: b r 5' 'RANGES: d r -3'
optimum 'negative range of an E row' rangedown.mps 2
mps rangeup 'ROWS: N c; E r' 'COLUMNS: x c -1 r 1' 'RHS: b r 5' 'RANGES: d r 3'
optimum 'positive range of an E row' rangeup.mps -8
mps rangeless 'ROWS: N c; L r' 'COLUMNS: x c 1 r 1' 'RHS: b r 5' 'RANGES: d r 2'
optimum 'range of an L row' rangeless.mps 3
mps rangegreater 'ROWS: N c; G r' 'COLUMNS: x c -1 r 1' 'RHS: b r 5' 'RANGES: d r -2'
optimum 'range of a G row' rangegreater.mps -7
mps free 'ROWS: N c; G r' 'COLUMNS: x c 1 r 1' 'RHS: b r -5' 'BOUNDS: FR s x'
optimum 'free column' free.mps -5
mps negative 'ROWS: N c; G r' 'COLUMNS: x c 1 r 1' 'RHS: b r -7' 'BOUNDS: UP s x -3'
optimum 'negative upper bound, whose lower bound of zero goes' negative.mps -7
mps minus 'ROWS: N c; G r' 'COLUMNS: x c -1 r -1; y c 1 r 1' 'RHS: b r -9' 'BOUNDS: MI s x; UP s x 2; LO s y -4; UP s y -1'
optimum 'column without a lower bound, with an upper one' minus.mps -6
mps fixed1 'ROWS: N c; G r' 'COLUMNS: x c 1 r 1; y c 2 r 1' 'RHS: b r 5' 'BOUNDS: FX s x 1.5'
optimum 'fixed column' fixed1.mps 8.5
mps several 'ROWS: N c; N d; G r; N e' 'COLUMNS: x c 1 r 1; x d 7 e 8' 'RHS: b r 5'
optimum 'several N rows' several.mps 5
mps constant 'ROWS: N c; G r' 'COLUMNS: x c 1 r 1' 'RHS: b r 5 c -100'
optimum 'right-hand side of the objective' constant.mps 105
mps max1 'OBJSENSE: MAX' 'ROWS: N c; L r' 'COLUMNS: x c 3 r 1; y c 2 r 2' 'RHS: b r 4 c 10'
optimum 'OBJSENSE MAX' max1.mps 2
sed 's/^OBJSENSE.*/OBJSENSE MAXIMIZE/; /^ MAX$/d' max1.mps >max2.mps
optimum 'OBJSENSE MAXIMIZE in one line' max2.mps 2
sed 's/^ MAX$/    MIN/' max1.mps >min.mps
optimum 'OBJSENSE MIN' min.mps -10
mps integer 'ROWS: N c; L r' "COLUMNS: m 'MARKER' 'INTORG'; x c -1 r 2; n 'MARKER' 'INTEND'" 'RHS: b r 5' 'BOUNDS: UP s x 9'
optimum 'integer marks' integer.mps -2.5
run 'integer marks' solve -file integer.mps && says 'integer marks, said' '1 columns are marked as integer: these marks are relaxed'
mps huge 'ROWS: N c; L r' 'COLUMNS: x c -1 r 1' 'RHS: b r 5' 'BOUNDS: UP s x 1e30'
optimum 'bound of 1e30' huge.mps -5
mps nothing 'ROWS: N c' 'COLUMNS: x c 1' 'BOUNDS: LO s x 3'
optimum 'no rows' nothing.mps 3
mps empty 'ROWS: N c; L r; L s' 'COLUMNS: x c -1 r 1' 'RHS: b r 5 s 1'
optimum 'an empty row' empty.mps -5
mps degenerate 'ROWS: N c; L r; L s; L t' 'COLUMNS: x c -1 r 1; x s 1 t 2; y c -1 r 1; y s 2 t 1; z c -1 r 1; z s 1 t 1' 'RHS: b r 1 s 1; b t 1'
optimum 'a degenerate vertex' degenerate.mps -1

# Neither solved nor proved
fails 'too few iterations' 1 'Status: not solved' -file fixed.mps -max_it 3
says 'the three residuals are printed' 'primal '

# a check that comes late, or never, does not outlast the time; infeasible, so that neither ends before
mps slow 'ROWS: N c; E r' 'COLUMNS: x c 1 r 1; y c 1 r 2' 'RHS: b r -1'
for graph in 1 0; do
  for check in 100000000 2147483647; do
    fails "-check $check, -max_time 1, graph $graph" 1 'Status: not solved' -file slow.mps -ray_tol 1e-300 -max_time 1 -max_it 2000000000 -check $check -graph $graph
    seconds=$(echo "$output" | sed -n 's/.* restarts, \([0-9]*\)\..* seconds.*/\1/p')
    if [ "${seconds:-99}" -lt 10 ]; then ok "-check $check ends in time, graph $graph"; else not_ok "-check $check ends in time, graph $graph" "it took $seconds seconds" "$output"; fi
  done
done

# No solution
mps i1 'ROWS: N c; L r; G s' 'COLUMNS: x c 1 r 1; x s 1; y c 1 r 1; y s 1' 'RHS: b r 1 s 2'
mps i2 'ROWS: N c; E r; E s' 'COLUMNS: x c 1 r 1; x s 1; y c -1 r -1; y s -1' 'RHS: b r 1 s 2' 'BOUNDS: FR d x; FR d y'
mps i3 'ROWS: N c; E r' 'COLUMNS: x c 1 r 1; y c 1 r 2' 'RHS: b r -1'
mps i4 'ROWS: N c; G r' 'COLUMNS: x c 1 r 1; y c 1 r 1' 'RHS: b r 3' 'BOUNDS: UP d x 1; UP d y 1'
mps i5 'ROWS: N c; G r; G s; G t' 'COLUMNS: x r 1 t -1; y r -1 s 1; z s -1 t 1' 'RHS: b r 1 s 1; b t 1' 'BOUNDS: FR d x; FR d y; FR d z'
mps i6 'ROWS: N c; E s; E t; L u' 'COLUMNS: x c 1 s 1; x u 1; y c 2 t 1; y u 1; z s -1 t 1' 'RHS: b s 30 t 50; b u 10'
for k in 1 2 3 4 5 6; do proved "infeasible program $k" i$k.mps infeasible; done
mps u1 'ROWS: N c; L r' 'COLUMNS: x c -1 r 1; y r -1' 'RHS: b r 1'
mps u2 'ROWS: N c; G r' 'COLUMNS: x c 1 r 1; y r 1' 'BOUNDS: FR d x'
mps u3 'OBJSENSE: MAX' 'ROWS: N c; E r' 'COLUMNS: x c 1 r 1; y c 1 r -1'
mps u4 'ROWS: N c; G r; L s' 'COLUMNS: x c -1 r 1; x s 1; y c -2 r 2; y s -3' 'RHS: b r 3 s 12'
for k in 1 2 3 4; do proved "unbounded program $k" u$k.mps unbounded; done
mps both 'ROWS: N c; L r; L s' 'COLUMNS: x c -1 s -1; y r 1' 'RHS: b r -1'
proved 'infeasible and dual infeasible' both.mps ''
mps bounds 'ROWS: N c; L r' 'COLUMNS: x c 1 r 1' 'RHS: b r 5' 'BOUNDS: LO d x 4; UP d x 3'
fails 'contradictory bounds' 2 'UP d x 3 > at line 11' -file bounds.mps

# The types; on a device also without graphs
for type; do
  for graph in 1 0; do
    optimum "$type, graph $graph" fixed.mps 8.5 -mat_type "$type" -graph $graph
    optimum "$type, graph $graph, degenerate" degenerate.mps -1 -mat_type "$type" -graph $graph -check 20
    proved "$type, graph $graph, infeasible" i6.mps infeasible -mat_type "$type" -graph $graph
    proved "$type, graph $graph, unbounded" u4.mps unbounded -mat_type "$type" -graph $graph
  done
done

# Malformed files: the line
bad() { sed "$3" fixed.mps >bad.mps; fails "$1" 2 "$2" -file bad.mps; says "$1, line" "at line $4"; }
bad 'unknown row' 'No match for row NOROW' 's/^\(    Z .*\) G1 /\1 NOROW /' 15
bad 'unknown column' 'No match for column NOCOL' 's/Y                 -1.0$/NOCOL             -1.0/' 28
bad 'number with letters' 'Bad image' 's/^    X         E2                 1.0 /    X         E2                 1.x /' 11
bad 'not a number' 'Bad image' 's/-1.0   G1/nan   G1/' 15
bad 'unknown kind of row' 'Bad image' 's/^ L  L1/ Q  L1/' 7
bad 'unknown kind of bound' 'Bad image' 's/^ FR/ ZZ/' 29
bad 'unknown section' 'no section BONDS' 's/^BOUNDS/BONDS/' 26
bad 'an entry twice' 'Duplicate row E1' 's/SECOND             5.0/E1                 5.0/' 12
bad 'end of file' 'Bad image' '/^RANGES/,$d' 22
bad 'OBJSENSE' 'the section OBJSENSE must say MAX or MIN' '1s/$/\nOBJSENSE\n    UP/' 3
bad 'no NAME' 'no line NAME before ROWS' 1d 1
bad 'quadratic costs' 'no section QUADOBJ' '/^ENDATA/i QUADOBJ\n    X         X                  1.0' 34
bad 'semi-continuous column' 'no semi-continuous columns' 's/^ FX/ SC/' 32
printf -v name %0160d 1
bad 'a name too long for CoinUtils' 'longer than 159 characters' "s/G1/$name/" 8
printf -v name %02000d 1
bad 'a line too long for CoinUtils' 'line is longer than' "s/G1/$name/" 8
# bad2 LABEL WORDS SCRIPT: wrong as a whole
bad2() { sed "$3" fixed.mps >bad.mps; fails "$1" 2 "$2" -file bad.mps; }
bad2 'a column whose lines are apart' 'column X comes twice' '/^    Y  .*COST/a\    X         G1                 1.0'
mps twice 'ROWS: N c; L r; L r' 'COLUMNS: x c -1 r 1' 'RHS: b r 5'
fails 'a row twice' 2 'row r comes twice' -file twice.mps
bad2 'infinite lower bound' 'no number between the bounds of column T' 's/-2.0$/ 1e30/'
bad2 'infinite row' 'no number between the bounds of row E1' 's/E1                 4.0/E1                 1e30/'
for line in 10 11; do bad2 "1e400 in line $line" 'not all costs and entries are finite' "${line}s/ 1.0 / 1e400 /"; done
(printf '*%03000d\n' 1; sed 's/^    X   /\tX\t/' fixed.mps) >tabs.mps
optimum 'tabs, and a long comment' tabs.mps 8.5
echo nothing >bad.mps
fails 'no MPS at all' 2 'at line 1' -file bad.mps
fails 'no file' 2 'none.mps cannot be opened' -file none.mps
: >bad.mps
fails 'an empty file' 2 'bad.mps: ' -file bad.mps

# Results as a start, and new costs and bounds without another matrix
optimum 'before the start' fixed.mps 8.5
cp solution.txt start.txt
run 'a start' solve -file fixed.mps -start start.txt -check 20 && says 'a start at the solution takes one check' '
20 iterations, 0 restarts'
echo 'row E2 1e400 0' >infinite.txt
output=$(ulimit -c 0; solve -file fixed.mps -start infinite.txt 2>&1) && not_ok 'an infinite start' "$output" || says 'an infinite start' 'The start is infinite at row 1'
printf '%s\n' '# costs' 'cost Z 3' 'cost X 2' >costs.txt
printf '%s\n' 'row E1 4.2 4.2' 'row L1 -inf 8' 'column T 0 inf' >sides.txt
sed 's/Z         COST              -1.0/Z         COST               3.0/; s/X         COST               1.0/X         COST               2.0/' fixed.mps >costs.mps
sed 's/RHS       E1                 4.0/RHS       E1                 4.2/; s/RHS       L1                 6.0/RHS       L1                 8.0/; /RNG .*E1/s/E1                 2.0/E1                 0.0/; /RNG       L1/s/L1                 2.5/L1                  1e30/; s/LO BND       T                 -2.0/LO BND       T                  0.0/' costs.mps >sides.mps
for changes in costs costs,sides; do
  last=${changes##*,}
  run "changes: $changes" solve -file fixed.mps -changes "${changes//,/.txt,}.txt" -solution changed.txt && ok "changes: $changes"
  value=$(echo "$output" | sed -n 's/^Objective: \([^,]*\),.*/\1/p' | tail -1)
  optimum "changes: $changes, as a file of its own" $last.mps "$value"
  run "changes: $changes, checked" "$python" "$SRCDIR/programs/lpcheck.py" $last.mps changed.txt $tol && ok "changes: $changes, checked"
done
label='changes: the matrix is stored once'
run "$label" solve -file fixed.mps -changes costs.txt,sides.txt -info info.txt:mat &&
  if [ "$(cat info.txt* | grep -c 'Stored 4 x 6')" = 1 ]; then ok "$label"; else not_ok "$label" "$(grep Stored info.txt*)"; fi
echo 'cost NONE 1' >wrong.txt
output=$(ulimit -c 0; solve -file fixed.mps -changes wrong.txt 2>&1) && not_ok 'changes of an unknown column' "$output" || says 'changes of an unknown column' 'wrong.txt, line 1: there is no column "NONE"'
echo 'cost X 1e400' >wrong.txt
output=$(ulimit -c 0; solve -file fixed.mps -changes wrong.txt 2>&1) && not_ok 'an infinite new cost' "$output" || says 'an infinite new cost' 'The new cost of column X is infinite'
run 'binary' solve -file fixed.mps -binary solution.bin -check 7 && if [ "$(wc -c <solution.bin)" -gt 80 ]; then ok 'binary'; else not_ok 'binary' 'solution.bin is too short'; fi

# Real ones
for name in sienna_ptdf24 genx_piecewise; do
  if [ ! -e "$MATRICES/lp/$name.mps.gz" ]; then skip "$name" 'no real matrices: MATRICES is not set'; continue; fi
  # the second one has more rows, and more iterations, than the host can do in a test
  far=1e-3
  if [ $name = genx_piecewise ]; then far=3e-2; fi
  for type; do
    run "$name $type" mpi 1 "$lp" -file "$MATRICES/lp/$name.mps.gz" -tol $far -max_time 100 -mat_type "$type" -solution $name.txt &&
      run "$name $type" "$python" "$SRCDIR/programs/lpcheck.py" "$MATRICES/lp/$name.mps.gz" $name.txt $far && says "$name $type" holds
  done
done
