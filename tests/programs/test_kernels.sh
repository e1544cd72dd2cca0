#!/usr/bin/env bash
#
# The kernels by themselves, without PETSc: programs of tests/cuda, each of which ends with 'N passed, N failed'.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"

for program in kernels blockkernels; do
  if [ ! -x "$TESTDIR/cuda/$program" ]; then skip $program 'built without CUDA'
  elif [ "$PETSCCSRC_TEST_GPU" != 1 ]; then skip $program 'no GPU'
  elif run $program "$TESTDIR/cuda/$program"; then
    case $output in
      *' passed, 0 failed'*) ok $program ;;
      *) not_ok $program "$(echo "$output" | tail -n 12)" ;;
    esac
  fi
done
