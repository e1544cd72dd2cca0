#!/usr/bin/env bash
#
# Ways to load the libraries into an unchanged program, and libraries that PETSc must refuse.
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

# refused LABEL DIRECTORY WORDS...: the library is not loaded, and one message contains all of the words
refused() {
  local label="refusing $1" library=$TESTDIR/guard/$2/libpetsccsrc.so word said
  shift 2
  if output=$(PETSC_OPTIONS="-dll_append $library" mpi 1 "$ex2" 2>&1); then
    not_ok "$label" 'it was loaded' "$output"
    return
  fi
  said=$(echo "$output" | grep 'petsccsrc was built for')
  for word; do
    case $said in
      *"$word"*) ;;
      *) not_ok "$label" "the message lacks '$word'" "$output"; return ;;
    esac
  done
  if [ "$(echo "$said" | wc -l)" = 1 ]; then ok "$label"; else not_ok "$label" 'more than one message' "$output"; fi
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

refused 'a library for another minor version' version 'for PETSc 3.99' 'loading it is 3.'
refused 'a library for other scalars' scalar COMPLEX scalars
refused 'a library for another precision' real 'real numbers' FLOAT DOUBLE
refused 'a library for other integers' int 64-bit 32-bit
