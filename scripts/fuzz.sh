#!/usr/bin/env bash
#
# Many random sequences of tests/mat/fuzz, or of the program of tests/mat in PROGRAM (hostformats), in pieces that go on after a crash; the
# result is a line for each piece, in a file to resume from. Of each 1000 seeds of fuzz the first 500 multiply with stored nonzeros from the
# first product on (-mat_form_store_at_once), the others by the default path.
#
#   scripts/fuzz.sh LOG SEED0 COUNT [-n PROCESSES] [OPTION ...]       options of the program, for example -type csrccuda -device_enable none
#
# Needs what `make tests` builds, and `eval "$(make -s env)"`. The status is 0 if no sequence was wrong.
set -u
[ $# -ge 3 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
log=$(realpath "$1") seed=$2 end=$(($2 + $3))
shift 3
n=1
if [ "${1:-}" = -n ]; then n=$2; shift 2; fi
: "${PETSCCSRC_LIB:?is not set: eval \"\$(make -s env)\"}"
program=${BUILDDIR:-$(dirname "$PETSCCSRC_LIB")}/tests/mat/${PROGRAM:-fuzz}
[ -x "$program" ] || { echo "fuzz.sh: there is no $program: make tests" >&2; exit 2; }
work=$(mktemp -d "${TMPDIR:-/tmp}/fuzz.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
touch "$log"
# the last seed that an earlier run of the same seeds has completed
done=$(sed -n 's/^seeds [0-9]* to \([0-9]*\)[,:].*/\1/p' "$log" | awk -v first="$seed" -v end="$end" '$1 >= first && $1 < end' | sort -n | tail -n 1)
if [ -n "$done" ]; then seed=$((done + 1)); fi
while [ "$seed" -lt "$end" ]; do
  count=$((500 - seed % 500))
  if [ $((end - seed)) -lt $count ]; then count=$((end - seed)); fi
  if [ $((seed / 500 % 2)) = 0 ]; then atonce=true; else atonce=false; fi
  rm -f seed
  # shellcheck disable=SC2086 # MPIEXEC may hold options
  timeout 1200 $MPIEXEC -n "$n" "$program" -dll_append "$PETSCCSRC_LIB" -mat_form_store_at_once $atonce -malloc_dump -checkfunctionlist -seed0 "$seed" -count "$count" -progress "$work/seed" "$@" >output 2>&1 </dev/null
  status=$?
  last=$((seed + count - 1))
  if [ $status -ne 0 ]; then # a crash, a hang or an error: this sequence ends the piece
    [ -s seed ] || { echo "fuzz.sh: the program ended before its first sequence:" >&2; tail -n 5 output >&2; exit 2; }
    last=$(cat seed)
    echo "seed $last: $([ $status -eq 124 ] && echo 'does not end' || echo "status $status")" >>"$log"
  fi
  grep -a -e '^seed' -e ' bytes .* at ' output | head -n 20 >>"$log"
  echo "seeds $seed to $last$([ $atonce = true ] && echo ', at once'): $(if [ $status -eq 0 ]; then grep -a ' faults$' output; else echo 'ended by the last one'; fi)" >>"$log"
  seed=$((last + 1))
done
! grep -q -v '^seeds [0-9]* to [0-9]*\(, at once\)*: 0 faults$' "$log"
