#!/usr/bin/env bash
#
# The kernels by themselves, without PETSc: tests/cuda/kernels.cu. It ends with 'N passed, N failed'.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"

if [ ! -x "$TESTDIR/cuda/kernels" ]; then skip kernels 'built without CUDA'
elif [ "$PETSCCSRC_TEST_GPU" != 1 ]; then skip kernels 'no GPU'
elif run kernels "$TESTDIR/cuda/kernels"; then
  case $output in
    *' passed, 0 failed'*) ok kernels ;;
    *) not_ok kernels "$(echo "$output" | tail -n 12)" ;;
  esac
fi
