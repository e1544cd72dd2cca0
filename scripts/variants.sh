#!/usr/bin/env bash
#
# Configures PETSc and SLEPc in many ways, builds the library against each, runs all tests, and writes measurements/tests.md.
#
#   scripts/variants.sh [NAME ...]     all variants, or those named, in this order
#   scripts/variants.sh --list         their names
#   scripts/variants.sh --table        only writes the table, of what has been run
#
# All that is downloaded and built lies in external/variants and build/; what was done is not done again, so that an interrupted
# run goes on where it was. A variant whose tests were run on sources other than today's is tested again, by its name or without one.
# Host builds only, at the lowest priority. JOBS (default: the cores) is how many processes compile, and how many tests run at a time.
# `packages` needs Debian's gfortran, libsuitesparse-dev (in parts GPL) and libmumps-dev.
set -euo pipefail
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS PETSC_DIR PETSC_ARCH SLEPC_DIR

# NAME | PETSc | SLEPc | description | PETSc's options in addition to `common`
variants() {
  sed 's/^ *//; s/ *| */|/g' <<'TABLE'
    int64-complex | 3.26.1 | 3.26.1 | complex double, 64-bit integers | --with-scalar-type=complex --with-64-bit-indices=1
    single        | 3.26.1 | 3.26.1 | real single                     | --with-precision=single
    mpiuni        | 3.26.1 | 3.26.1 | without MPI                     | --with-mpi=0 CC=gcc CXX=g++
    petsc-3.25    | 3.25.6 | 3.25.2 | PETSc 3.25                      |
    debug         | 3.26.1 | 3.26.1 | real double                     |
    complex       | 3.26.1 | 3.26.1 | complex double                  | --with-scalar-type=complex
    int64         | 3.26.1 | 3.26.1 | real double, 64-bit integers    | --with-64-bit-indices=1
    petsc-3.24    | 3.24.6 | 3.24.3 | PETSc 3.24                      |
    petsc-3.22    | 3.22.5 | 3.22.2 | PETSc 3.22                      |
    clang         | 3.26.1 | 3.26.1 | clang                           | CC=clang CXX=clang++ --with-mpi-include=@MPI_INCLUDE@ --with-mpi-lib=@MPI_LIB@
    single-complex| 3.26.1 | 3.26.1 | complex single                  | --with-scalar-type=complex --with-precision=single
    packages      | 3.26.1 | 3.26.1 | SPQR, CHOLMOD, UMFPACK, MUMPS   | CC=mpicc CXX=mpicxx --with-fc=mpif90 --with-fortran-bindings=0 --with-suitesparse-include=/usr/include/suitesparse --with-suitesparse-lib=[-lspqr,-lumfpack,-lklu,-lcholmod,-lbtf,-lccolamd,-lcolamd,-lcamd,-lamd,-lsuitesparseconfig] --with-mumps-include=/usr/include --with-mumps-lib=[-lsmumps,-ldmumps,-lcmumps,-lzmumps,-lmumps_common,-lpord] --with-scalapack-lib=-lscalapack-openmpi
TABLE
}
# All variants have PETSc's debugging, which checks more; the default build does not
readonly common=(--with-debugging=1 --with-fc=0 --with-shared-libraries=1 --with-x=0 --with-openmp=1 --with-cuda=0 --with-blaslapack-lib=-lopenblas COPTFLAGS=-O1 CXXOPTFLAGS=-O1)

say() { printf 'variants: %s\n' "$*"; }
die() { printf 'variants: %s\n' "$*" >&2; exit 1; }
low() { nice -n 19 "$@"; }

# An identifier of all sources, also those that are not committed, for which test results are valid
sources_id() { git ls-files -s -- src include support examples benchmarks tests gmakefile makefile | git hash-object --stdin; git diff HEAD -- src include support examples benchmarks tests gmakefile makefile | git hash-object --stdin; }

top=$PWD/external/variants
jobs=${JOBS:-$(nproc)}
mkdir -p "$top/results" "$top/logs"

# step NAME WHAT COMMAND...: runs the command once, with its output in a log
step() {
  local stamp=$top/results/$1.$2 log=$top/logs/$1-$2.log name=$1 what=$2
  shift 2
  if [ -e "$stamp" ]; then return 0; fi
  say "$name: $what ..."
  if ! low "$@" >"$log" 2>&1 </dev/null; then
    say "$name: $what FAILED; the last lines of $log:"
    tail -n 12 "$log" | sed 's/^/    /'
    return 1
  fi
  touch "$stamp"
}

unpack() {
  if [ -e "$top/$1/.unpacked" ]; then return; fi
  rm -rf "${top:?}/$1"
  tar -xzf "external/$1.tar.gz" -C "$top"
  touch "$top/$1/.unpacked"
}

one() {
  local name=$1 petsc=$2 slepc=$3 options arch=arch-$1 petscdir slepcdir log id counts
  options=${5//@MPI_INCLUDE@/$(mpicc --showme:incdirs 2>/dev/null | cut -d' ' -f1)}
  options=${options//@MPI_LIB@/$(mpicc --showme:libdirs 2>/dev/null | cut -d' ' -f1)/libmpi.so}
  petscdir=$top/petsc-$petsc slepcdir=$top/slepc-$slepc
  id=$(sources_id)
  if [ "$(sed -n 1,2p "$top/results/$name" 2>/dev/null)" = "$id" ]; then say "$name: tested, these sources"; return; fi
  OWN_PETSC=1 scripts/setup.sh archives "petsc-$petsc" "slepc-$slepc" || return
  unpack "petsc-$petsc" || return
  unpack "slepc-$slepc" || return
  # shellcheck disable=SC2086 # options are words
  step "$name" petsc-configure sh -c 'cd "$1" && shift && exec ./configure "$@"' sh "$petscdir" PETSC_DIR="$petscdir" PETSC_ARCH="$arch" "${common[@]}" $options || return
  step "$name" petsc make -C "$petscdir" PETSC_DIR="$petscdir" PETSC_ARCH="$arch" MAKE_NP="$jobs" MAKE_LOAD=1000 all || return
  step "$name" slepc-configure env SLEPC_DIR="$slepcdir" PETSC_DIR="$petscdir" PETSC_ARCH="$arch" sh -c 'cd "$1" && exec ./configure' sh "$slepcdir" || return
  step "$name" slepc make -C "$slepcdir" SLEPC_DIR="$slepcdir" PETSC_DIR="$petscdir" PETSC_ARCH="$arch" MAKE_NP="$jobs" MAKE_LOAD=1000 all || return
  log=$top/logs/$name-check.log
  say "$name: library and tests ..."
  # the counts of the tests are the last line, or if make adds an error message the line before it
  low make JOBS="$jobs" PETSC_DIR="$petscdir" PETSC_ARCH="$arch" SLEPC_DIR="$slepcdir" check >"$log" 2>&1 </dev/null || true
  counts=$(tail -n 2 "$log" | grep -x '[0-9]* passed, [0-9]* failed, [0-9]* skipped' || true)
  if [ -z "$counts" ]; then
    say "$name: it did not come to the tests; the last lines of $log:"
    tail -n 12 "$log" | sed 's/^/    /'
    printf '%s\n' "$id" "$(date -u +%F)" 'does not build' >"$top/results/$name"
    return 1
  fi
  printf '%s\n' "$id" "$(date -u +%F)" "$counts" >"$top/results/$name"
  say "$name: $counts"
}

# Puts the results that there are into the rows of measurements/tests.md; the other rows, and its text, stay as they are
table() {
  local name petsc slepc what options result row
  while IFS='|' read -r name petsc slepc what options; do
    result=$top/results/$name
    if [ ! -s "$result" ]; then continue; fi
    row="| $name | $what | $petsc | $slepc | $(sed -n 3p "$result") | $(sed -n 4p "$result") |"
    awk -v start="| $name |" -v row="$row" 'index($0, start) == 1 { $0 = row } { print }' measurements/tests.md >measurements/tests.md.new
    mv measurements/tests.md.new measurements/tests.md
  done < <(variants)
}

case ${1:-} in
  --list) variants | cut -d'|' -f1; exit ;;
  --table) table; exit ;;
  -*) die "unknown option $1" ;;
esac
for name; do variants | grep -q "^$name|" || die "there is no variant $name; --list names them"; done

status=0
while IFS='|' read -r -u 3 name petsc slepc what options; do
  case " $* " in "  " | *" $name "*) one "$name" "$petsc" "$slepc" "$what" "$options" || status=1 ;; esac
done 3< <(variants)
table
exit $status
