#!/usr/bin/env bash
#
# A process that ends while the processes of a node make memory that they share, at each of its system calls, leaves nothing behind.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"

left() { find /dev/shm -maxdepth 1 -name '*petsccsrc*' 2>/dev/null | sort; }

name=sharedmemory faults=()
if [ ! -d /dev/shm ]; then skip "$name" 'no /dev/shm'; exit 0; fi
died=0
for ((step = 1; step < 20; step++)); do
  before=$(left)
  output=$(mpi 2 "$TESTDIR/sys/segments" -die "$step" 2>&1)
  case $output in
    *'0 faults'*) break ;; # there are no more calls
    'Uniprocessor version of MPI'*) skip "$name" 'this PETSc has one process only'; exit 0 ;;
  esac
  died=$((died + 1))
  for try in 1 2 3; do # others may run the same
    after=$(comm -13 <(echo "$before") <(left))
    [ -z "$after" ] && break
    sleep "$try"
  done
  [ -z "$after" ] || faults+=("system call $step: $after")
done
if [ "$died" -ge 3 ] && [ "${#faults[@]}" = 0 ]; then ok "$name"; else not_ok "$name" "a process died $died times" "${faults[@]}"; fi
