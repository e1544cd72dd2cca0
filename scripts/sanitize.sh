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
# PETSCCSRC_SIMD: address and thread take the portable code, for they see no masked loads and stores of vector instructions;
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

# launcher COMMAND...: MPI's launcher, called as `launcher -n N program`, runs programs under the command. PETSc puts arrays that are
# allocated together into one piece, and with its own check for leaks a margin around each piece: what reads beyond one would be hidden.
# Of the options that decide on margins -log_view_memory has the last word.
launcher() {
  local file=$BUILDDIR/launcher
  printf '%s\n' '#!/bin/sh' 'n=$2' 'shift 2' \
    'case " $* " in *" -malloc"*) ;; *) export PETSC_OPTIONS="$PETSC_OPTIONS -log_view_memory 0 -malloc_coalesce 0" ;; esac' \
    "exec $MPIEXEC -n \"\$n\" $* \"\$@\"" >"$file"
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

# Not those that only compile or install, and run nothing by the launcher
all() { tests/run.sh --list | grep -vE '^programs-(checkout|install|pip|python|site|withoutcuda)$'; }

run_address() (
  build address '-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all' '-fsanitize=address,undefined'
  local status=0 library
  library=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
  [ ${#patterns[@]} -gt 0 ] || mapfile -t patterns < <(all)
  # the programs are not instrumented: the tool's run time comes first. MPI keeps memory to the end: leaks are for make check.
  launcher env "LD_PRELOAD=$library"
  PETSCCSRC_SIMD=${PETSCCSRC_SIMD:-portable} ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:log_path=$reports/address:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:log_path=$reports/address \
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
  # the tool's run time has to be in the program: a shared one dies where it comes first
  build thread '-O1 -g -fsanitize=thread' '-fsanitize=thread -Wl,-z,undefs'
  [ ${#patterns[@]} -gt 0 ] || patterns=('mat-*' 'sys-*')
  launcher env "LD_PRELOAD=$llvm/libomp.so" # also for PETSc's own, which was linked to gcc's
  PETSCCSRC_SIMD=${PETSCCSRC_SIMD:-portable} OMP_NUM_THREADS=${OMP_NUM_THREADS:-3} OMP_TOOL_LIBRARIES=$llvm/libarcher.so TSAN_OPTIONS=ignore_noninstrumented_modules=1:log_path=$reports/thread:exitcode=0 \
    tests/run.sh "${patterns[@]}" || status=$?
  judge thread $status
)

run_valgrind() (
  local status=0 suppressions
  command -v valgrind >/dev/null || fail "valgrind is missing"
  build valgrind '-O1 -g' ''
  [ ${#patterns[@]} -gt 0 ] || patterns=('mat-products_1thread' 'mat-convert_bccoo' 'mat-convert_kinds' 'mat-threads_1' 'ksp-repeat_1' 'svd-boards_few')
  # the dynamic linker compares the words of a run path eight bytes at a time, beyond the end of short ones; PMIx, by which Open MPI
  # talks to its launcher, sends structures with gaps
  printf '%s\n' '{' ld.so Memcheck:Addr8 fun:strncmp fun:is_dst '}' '{' pmix Memcheck:Param 'writev(vector[...])' ... 'obj:*/libpmix.so*' '}' >"$BUILDDIR/valgrind.supp"
  suppressions=$(find "$(dirname "$(command -v mpicc)")/.." /usr/share -name openmpi-valgrind.supp 2>/dev/null | head -n 1)
  launcher valgrind -q "--suppressions=$BUILDDIR/valgrind.supp" "--log-file=$reports/valgrind.%p" ${suppressions:+"--suppressions=$suppressions"}
  PETSCCSRC_SIMD=${PETSCCSRC_SIMD:-avx2} OMP_NUM_THREADS=2 PETSCCSRC_TEST_SECONDS=1800 tests/run.sh "${patterns[@]}" || status=$?
  judge valgrind $status
)

status=0
for tool in "${tools[@]}"; do "run_$tool" || status=1; done
exit $status
