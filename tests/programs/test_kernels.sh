#!/usr/bin/env bash
#
# The kernels by themselves, without PETSc: programs of tests/cuda. They end with 'N passed, N failed'.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"

for test in kernels 'balanced -small' 'kernelsdense -check -small' blockkernels; do
  name=${test%% *}
  read -ra command <<<"$TESTDIR/cuda/$test"
  if [ ! -x "${command[0]}" ]; then skip "$name" 'built without CUDA'
  elif [ "$PETSCCSRC_TEST_GPU" != 1 ]; then skip "$name" 'no GPU'
  elif run "$name" "${command[@]}"; then
    case $output in
      *' passed, 0 failed'*) ok "$name" ;;
      *) not_ok "$name" "$(echo "$output" | tail -n 12)" ;;
    esac
  fi
done
