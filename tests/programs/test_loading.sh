#!/usr/bin/env bash
#
# Ways to load the libraries into an unchanged program.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
ex2=$TESTDIR/petsc/ksp/tutorials/ex2

# loads LABEL LIBRARIES [OPTION]: the types are registered
loads() {
  local type option=${3:--dll_append}
  for type in csrccuda bccoo; do
    if PETSC_OPTIONS="-use_gpu_aware_mpi 0 $option $2" run "loading $1, $type" mpi 1 "$ex2" -mat_type $type; then
      case $output in
        *'Norm of error'*) ok "loading $1, $type" ;;
        *) not_ok "loading $1, $type" "$output" ;;
      esac
    fi
  done
}

loads 'once' "$PETSCCSRC_LIB"
loads 'twice' "$PETSCCSRC_LIB,$PETSCCSRC_LIB"
loads 'first' "$PETSCCSRC_LIB" -dll_prepend
if [ -n "$SLEPCCSRC_LIB" ] && [ -e "$SLEPCCSRC_LIB" ]; then
  # a program that does not use SLEPc
  loads 'the SLEPc library alone' "$SLEPCCSRC_LIB"
  loads 'both libraries' "$PETSCCSRC_LIB,$SLEPCCSRC_LIB"
else
  skip 'loading the SLEPc library' 'no SLEPc'
fi
