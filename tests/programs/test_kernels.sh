#!/usr/bin/env bash
#
# The kernels without PETSc: runs all programs of tests/cuda at the same time. They end with 'N passed, N failed'.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"

kernels() { # PROGRAM OPTION ...
  local name=$1
  shift
  if [ ! -x "$TESTDIR/cuda/$name" ]; then skip "$name" 'built without CUDA'
  elif [ "$PETSCCSRC_TEST_GPU" != 1 ]; then skip "$name" 'no GPU'
  elif run "$name" "$TESTDIR/cuda/$name" "$@"; then
    case $output in
      *' passed, 0 failed'*) ok "$name" ;;
      *) not_ok "$name" "$(echo "$output" | tail -n 12)" ;;
    esac
  fi
}

results=$(mktemp -d "${TMPDIR:-/tmp}/petsccsrc-kernels.XXXXXX")
trap 'rm -rf "$results"' EXIT
kernels kernels >"$results/1" &
kernels balanced -small >"$results/2" &
kernels kernelsdense -check -small >"$results/3" &
kernels blockkernels >"$results/4" &
wait
cat "$results"/*
