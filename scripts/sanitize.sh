#!/usr/bin/env bash
#
# Runs the host tests under tools that see what results do not show.
#
#   scripts/sanitize.sh [address] [thread] [valgrind] [-- PATTERN ...]     without a name: all three
#
#   address    AddressSanitizer and UndefinedBehaviorSanitizer, gcc's: the whole suite
#   thread     ThreadSanitizer, clang's with LLVM's OpenMP, whose synchronization it knows (gcc's run time looks like races): the products
#   valgrind   memcheck: a subset, one process each; an uninitialized value decides nothing
#
# PATTERN: the tests to run, as for tests/run.sh. From the environment: PETSC_DIR, PETSC_ARCH and SLEPC_DIR as for make, JOBS.
# Needs in addition to make check: for thread clang and libomp-dev, for valgrind valgrind. PETSc itself is used as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=() patterns=()
while [ $# -gt 0 ]; do
  case $1 in
    address | thread | valgrind) tools+=("$1") ;;
    --) shift; patterns=("$@"); break ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
[ ${#tools[@]} -gt 0 ] || tools=(address thread valgrind)

say() { printf 'sanitize: %s\n' "$*"; }
fail() { printf 'sanitize: %s\n' "$*" >&2; exit 1; }

# what make was given to find PETSc, if not its own
variables=()
for v in PETSC_DIR PETSC_ARCH SLEPC_DIR JOBS; do if [ -n "${!v:-}" ]; then variables+=("$v=${!v}"); fi; done

# build TOOL OPTFLAGS LDFLAGS: libraries, programs and tests in a folder of their own, then the environment to run them
build() {
  local dir=$PWD/build/$1
  say "$1: build in $dir"
  export TESTLDFLAGS=$3 # tests link what is instrumented; PETSc takes no notice of LDFLAGS in the environment
  make "${variables[@]}" BUILDDIR="$dir" NVCC= OPTFLAGS="$2" LDFLAGS="$3" tests
  eval "$(make -s "${variables[@]}" BUILDDIR="$dir" env)"
  export BUILDDIR=$dir BINDIR=$dir/bin
}

# launcher COMMAND...: MPI's launcher, called as `launcher -n N program`, runs programs under the command
launcher() {
  local file=$BUILDDIR/launcher
  printf '%s\n' '#!/bin/sh' 'n=$2' 'shift 2' "exec $MPIEXEC -n \"\$n\" $* \"\$@\"" >"$file"
  chmod +x "$file"
  export MPIEXEC=$file
}

# What a tool reports goes to files, whatever program it is in; none may be left
reports=$(mktemp -d "${TMPDIR:-/tmp}/sanitize.XXXXXX")
trap 'rm -rf "$reports"' EXIT
judge() {
  local tool=$1 status=$2 files
  files=$(find "$reports" -name "$tool.*" -size +0 | sort)
  if [ -n "$files" ]; then
    say "$tool: $(wc -l <<<"$files") processes reported something, the first:"
    # shellcheck disable=SC2086 # names without spaces
    head -n 60 $(head -n 1 <<<"$files")
    mkdir -p "build/$tool/reports"
    # shellcheck disable=SC2086
    cp $files "build/$tool/reports"
    say "all of them: build/$tool/reports"
    return 1
  fi
  say "$tool: nothing reported; tests $([ "$status" = 0 ] && echo passed || echo FAILED)"
  return "$status"
}

# Tests that need an address space or a memory limit of their own: the tools take it all
without() { tests/run.sh --list "$@" | grep -v -e '^mat-mtx' -e '^mat-largearrays' -e '^mat-released_memory' -e '^programs-checkout' -e '^programs-install' -e '^programs-python' -e '^programs-loading'; }

run_address() (
  build address '-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined' '-fsanitize=address,undefined'
  local status=0 library
  library=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
  [ ${#patterns[@]} -gt 0 ] || mapfile -t patterns < <(without)
  # the programs are not instrumented: the tool's run time comes first. MPI keeps memory to the end, PETSc's own check for leaks is on.
  launcher env "LD_PRELOAD=$library"
  ASAN_OPTIONS=detect_leaks=0:log_path=$reports/address:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:log_path=$reports/address \
    tests/run.sh "${patterns[@]}" || status=$?
  judge address $status
)

run_thread() (
  local llvm status=0 runtime
  command -v clang >/dev/null || fail "clang is missing"
  llvm=$(dirname "$(clang -print-file-name=libomp.so)")
  runtime=$(clang -print-file-name=libclang_rt.tsan-x86_64.so)
  [ -e "$llvm/libarcher.so" ] && [ -e "$runtime" ] || fail "libarcher.so (libomp-dev) or clang's run time for threads is missing"
  # MPI's compiler wrappers call clang
  export OMPI_CC=clang OMPI_CXX=clang++ MPICH_CC=clang MPICH_CXX=clang++
  build thread '-O1 -g -fsanitize=thread' '-fsanitize=thread -shared-libsan -Wl,-z,undefs'
  [ ${#patterns[@]} -gt 0 ] || patterns=('mat-products*' 'mat-dense*' 'mat-threads*' 'mat-simd*' 'mat-bitwise*' 'mat-rebuild*' 'mat-fuzz_1*')
  launcher env "LD_PRELOAD=$runtime:$llvm/libomp.so"
  OMP_NUM_THREADS=3 OMP_TOOL_LIBRARIES=$llvm/libarcher.so TSAN_OPTIONS=ignore_noninstrumented_modules=1:log_path=$reports/thread:exitcode=0 \
    tests/run.sh "${patterns[@]}" || status=$?
  judge thread $status
)

run_valgrind() (
  local status=0 suppressions
  command -v valgrind >/dev/null || fail "valgrind is missing"
  # it knows no AVX-512, and the code of the library says what it runs on
  build valgrind '-O1 -g' ''
  [ ${#patterns[@]} -gt 0 ] || patterns=('mat-products_1' 'mat-dense_1' 'mat-state_1' 'mat-released_1' 'mat-convert_1')
  suppressions=$(find "$(dirname "$(command -v mpicc)")/.." /usr/share -name openmpi-valgrind.supp 2>/dev/null | head -n 1)
  launcher valgrind -q "--log-file=$reports/valgrind.%p" ${suppressions:+"--suppressions=$suppressions"}
  PETSCCSRC_SIMD=avx2 OMP_NUM_THREADS=2 tests/run.sh "${patterns[@]}" || status=$?
  judge valgrind $status
)

status=0
for tool in "${tools[@]}"; do "run_$tool" || status=1; done
exit $status
