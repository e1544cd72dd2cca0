#!/usr/bin/env bash
#
# Runs the host tests under tools that see what results do not show.
#
#   scripts/sanitize.sh [address] [thread] [valgrind] [-- PATTERN ...]     without a name: all three
#
#   address    AddressSanitizer and UndefinedBehaviorSanitizer, gcc's: the whole suite
#   thread     ThreadSanitizer, clang's with LLVM's OpenMP, whose synchronization it knows (gcc's looks like races): all of mat and sys
#   valgrind   memcheck: a few tests, for it is slow: no uninitialized value decides anything. With CUDA's libraries a program starts in
#              half a minute: a PETSc without CUDA is better
#
# PATTERN: the tests to run, as for tests/run.sh. From the environment: PETSC_DIR, PETSC_ARCH and SLEPC_DIR as for make, JOBS, and
# PETSCCSRC_TEST: address and thread take the portable code, for they see no masked loads and stores of vector instructions;
# valgrind takes AVX2, it sees those and knows no AVX-512.
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

# the variables by which make finds PETSc, if it is not the one in external/
variables=()
for v in PETSC_DIR PETSC_ARCH SLEPC_DIR JOBS; do if [ -n "${!v:-}" ]; then variables+=("$v=${!v}"); fi; done

# build TOOL OPTFLAGS LDFLAGS: builds libraries, programs and tests in a separate folder and sets the environment to run them
build() {
  local dir=$PWD/build/$1
  say "$1: build in $dir"
  export TESTLDFLAGS=$3 # tests link instrumented code; PETSc ignores LDFLAGS in the environment
  make "${variables[@]}" BUILDDIR="$dir" NVCC= OPTFLAGS="$2" LDFLAGS="$3" tests
  eval "$(make -s "${variables[@]}" BUILDDIR="$dir" env)"
  export BUILDDIR=$dir BINDIR=$dir/bin
}

# launcher COMMAND...: makes a launcher, called as `launcher -n N program`, that runs programs under the command. By default PETSc puts
# arrays that are allocated together into one piece of memory, and with its own leak check a margin around each piece. Either would hide
# reads beyond an array. -log_view_memory overrides the other options for margins.
launcher() {
  local file=$BUILDDIR/launcher
  printf '%s\n' '#!/bin/sh' 'n=$2' 'shift 2' \
    'case " $* " in *" -malloc"*) ;; *) export PETSC_OPTIONS="$PETSC_OPTIONS -log_view_memory 0 -malloc_coalesce 0" ;; esac' \
    "exec $MPIEXEC -n \"\$n\" $* \"\$@\"" >"$file"
  chmod +x "$file"
  export MPIEXEC=$file
}

# Tools write their reports to files, whatever program they run in; no report means success
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

# Without tests that only compile or install, and run nothing by the launcher
all() { tests/run.sh --list | grep -vE '^programs-(checkout|cross|install|pip|python|site|withoutcuda)$'; }

run_address() (
  build address '-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all' '-fsanitize=address,undefined'
  local status=0 library
  library=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
  [ ${#patterns[@]} -gt 0 ] || mapfile -t patterns < <(all)
  # the programs are not instrumented, so the tool's run time is preloaded. MPI does not free all memory: `make check` looks for leaks.
  launcher env "LD_PRELOAD=$library"
  PETSCCSRC_TEST=${PETSCCSRC_TEST:-cache=0,simd=portable} ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:log_path=$reports/address:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:log_path=$reports/address \
    tests/run.sh "${patterns[@]}" || status=$?
  judge address $status
)

run_thread() (
  local llvm status=0
  command -v clang >/dev/null || fail "clang is missing"
  llvm=$(cd "$(clang -print-resource-dir)/../.." && pwd) # LLVM's libraries, where clang does not look for files by name
  [ -e "$llvm/libarcher.so" ] || fail "libarcher.so (libomp-dev) is missing"
  # MPI's compiler wrappers call clang
  export OMPI_CC=clang OMPI_CXX=clang++ MPICH_CC=clang MPICH_CXX=clang++ CCC_OVERRIDE_OPTIONS='#+-Wno-unknown-warning-option' # PETSc's are gcc's
  # the tool's run time has to be in the program: a preloaded shared one crashes
  build thread '-O1 -g -fsanitize=thread' '-fsanitize=thread -Wl,-z,undefs'
  [ ${#patterns[@]} -gt 0 ] || patterns=('mat-*' 'sys-*')
  launcher env "LD_PRELOAD=$llvm/libomp.so" # also for PETSc, which was linked to gcc's
  PETSCCSRC_TEST=${PETSCCSRC_TEST:-cache=0,simd=portable} OMP_NUM_THREADS=${OMP_NUM_THREADS:-3} OMP_TOOL_LIBRARIES=$llvm/libarcher.so TSAN_OPTIONS=ignore_noninstrumented_modules=1:log_path=$reports/thread:exitcode=0 \
    tests/run.sh "${patterns[@]}" || status=$?
  judge thread $status
)

run_valgrind() (
  local status=0 suppressions
  command -v valgrind >/dev/null || fail "valgrind is missing"
  build valgrind '-O1 -g' ''
  [ ${#patterns[@]} -gt 0 ] || patterns=('mat-products_1thread' 'mat-convert_bccoo' 'mat-convert_kinds' 'mat-threads_1' 'ksp-repeat_1' 'svd-boards_few')
  # the dynamic linker compares run paths eight bytes at a time and reads beyond the end of short ones; PMIx, by which Open MPI
  # communicates with its launcher, sends structures with padding
  printf '%s\n' '{' ld.so Memcheck:Addr8 fun:strncmp fun:is_dst '}' '{' pmix Memcheck:Param 'writev(vector[...])' ... 'obj:*/libpmix.so*' '}' >"$BUILDDIR/valgrind.supp"
  suppressions=$(find "$(dirname "$(command -v mpicc)")/.." /usr/share -name openmpi-valgrind.supp 2>/dev/null | head -n 1)
  launcher valgrind -q "--suppressions=$BUILDDIR/valgrind.supp" "--log-file=$reports/valgrind.%p" ${suppressions:+"--suppressions=$suppressions"}
  PETSCCSRC_TEST=${PETSCCSRC_TEST:-cache=0$(uname -m | sed -n "s/x86_64/,simd=avx2/p")} OMP_NUM_THREADS=2 PETSCCSRC_TEST_SECONDS=1800 tests/run.sh "${patterns[@]}" || status=$?
  judge valgrind $status
)

status=0
for tool in "${tools[@]}"; do "run_$tool" || status=1; done
exit $status
