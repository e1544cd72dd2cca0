#!/usr/bin/env bash
#
# Builds and runs the tests and adds up what truly ran. The last line is 'N passed, N failed, N skipped'; the exit status is
# not zero if a test failed or none ran.
#
#   tests/run.sh [--build] [--prebuilt DIR] [--list] [--verbose] [PATTERN ...]
#
#   --build          only build the tests, in $BUILDDIR/tests
#   --prebuilt DIR   take the tests that --build made in DIR, perhaps on another machine: no compiler is needed
#   --list           print the names of the tests, once they are built
#   --verbose        also print the tests that pass
#   PATTERN          run the tests whose name matches one of these shell patterns, for example 'mat-products*'
#
# From the environment (make check and 'eval "$(make -s env)"' set them): PETSC_DIR, PETSC_ARCH, SLEPC_DIR (may be empty),
# PETSCCSRC_LIB and SLEPCCSRC_LIB (the two libraries), MPIEXEC, BUILDDIR, MATRICES (real matrices; may be empty),
# JOBS (tests at a time; default: the cores, at most 8 with a GPU), PETSCCSRC_TEST_SECONDS (limit of one run; default: 300),
# PETSCCSRC_TEST_GPU (1 or 0: run the tests that need a GPU; default: when there is one).

set -u
export LC_ALL=C
srcdir=$(cd "$(dirname "$0")" && pwd)
rootdir=$(dirname "$srcdir")
types='csrccuda bccoo'

die() { echo "tests/run.sh: $*" >&2; exit 2; }

build=1 prebuilt='' list='' verbose='' only=''
patterns=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) only=build ;;
    --prebuilt) [ $# -gt 1 ] || die '--prebuilt needs a directory'; prebuilt=$2 build=''; shift ;;
    --list) list=1 ;;
    --verbose) verbose=1 ;;
    -h|--help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) die "unknown option $1" ;;
    *) patterns+=("$1") ;;
  esac
  shift
done

: "${PETSCCSRC_LIB:?is not set: run 'make check', or eval \"\$(make -s env)\" first}"
[ -e "$PETSCCSRC_LIB" ] || die "there is no library $PETSCCSRC_LIB"
export PETSC_DIR=${PETSC_DIR:-} PETSC_ARCH=${PETSC_ARCH:-} SLEPC_DIR=${SLEPC_DIR:-} SLEPCCSRC_LIB=${SLEPCCSRC_LIB:-} PETSCCSRC_LIB
export BUILDDIR=${BUILDDIR:-$(dirname "$PETSCCSRC_LIB")} MPIEXEC=${MPIEXEC:-mpiexec}
if [ -z "${MATRICES:-}" ] && [ -d "$rootdir/../shared/matrices" ]; then MATRICES=$(cd "$rootdir/../shared/matrices" && pwd); fi
export MATRICES=${MATRICES:-}

# ------------------------------------------------------------------------------------------------------------- building
temporary='' sessions=''
# after a failure the files of the tests are wanted
trap 'status=$?; rm -rf ${sessions:+"$sessions"}; [ $status = 1 ] || rm -rf ${temporary:+"$temporary"}' EXIT
if [ -n "$build" ]; then
  [ -n "$PETSC_DIR" ] || die "PETSC_DIR is not set: run 'make check', or eval \"\$(make -s env)\" first"
  testdir=$BUILDDIR/tests
  "$srcdir/build.sh" "$testdir" || die 'building the tests failed'
  [ "$only" = build ] && exit 0
else
  # The scripts contain paths of the machine where they were made: replace them by this machine's
  [ -e "$prebuilt/origin" ] || die "$prebuilt holds no tests: tests/run.sh --build makes them"
  testdir=$(mktemp -d "${TMPDIR:-/tmp}/petsccsrc-tests.XXXXXX")
  temporary=$testdir
  cp -R "$prebuilt/." "$testdir/" || die "cannot copy $prebuilt to $testdir"
  read -r oldtestdir oldsrcdir oldconfigdir oldbindir <"$testdir/origin"
  find "$testdir" -name 'run*.sh' -exec sed -i -e "s#$oldtestdir#$testdir#g" -e "s#$oldsrcdir#$srcdir#g" -e "s#$oldconfigdir#$testdir/harness#g" -e "s#$oldbindir#$testdir/harness#g" {} +
fi
export TESTDIR=$testdir SRCDIR=$srcdir

# -------------------------------------------------------------------------------------------------- how tests are run
# PETSc's options for every run: the library is loaded by -dll_append, as users do; products are of stored nonzeros from the first one on, unless a
# test says otherwise
export PETSC_OPTIONS="${PETSC_OPTIONS:-} -dll_append $PETSCCSRC_LIB -mat_form_store_at_once true"
# all codings of values, also in matrices that would stay in cache
export PETSCCSRC_TEST=${PETSCCSRC_TEST:-cache=0}
export PETSCMPIEXEC=$MPIEXEC
for place in "${HOME:-}/.petscrc" .petscrc petscrc; do
  if [ -e "$place" ]; then echo "tests/run.sh: the options in $place apply to all tests" >&2; fi
done
# Tests may run with more ranks than cores, and as root in containers
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# A program of Open MPI 4 fails if another one makes or removes the directory of all sessions while it starts: here that directory stays
sessions=$(mktemp -d "${TMPDIR:-/tmp}/petsccsrc.XXXXXX") || die 'cannot make a temporary directory'
host=$(uname -n)
mkdir -p "$sessions/ompi.$host.$(id -u)/kept" "$sessions/ompi.${host%%.*}.$(id -u)/kept"
export OMPI_MCA_orte_tmpdir_base=$sessions
# Two threads, so that races can occur even if every rank has one core
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1
# memory that nobody has set is full of large negative numbers, not zeros: a variable of the C library
export MALLOC_PERTURB_=${MALLOC_PERTURB_:-1}
# unset: the scripts of the harness take loop variables from the environment
unset nsize args mat_type svd_type

if [ -z "${PETSCCSRC_TEST_GPU:-}" ]; then
  PETSCCSRC_TEST_GPU=0
  for f in /dev/nvidia[0-9]*; do if [ -e "$f" ]; then PETSCCSRC_TEST_GPU=1; fi; done
fi
export PETSCCSRC_TEST_GPU
# on a GPU more simultaneous tests only wait for each other, and each test has a time limit
if [ -z "${JOBS:-}" ]; then
  JOBS=$(env -u OMP_NUM_THREADS nproc)
  if [ "$PETSCCSRC_TEST_GPU" = 1 ] && [ "$JOBS" -gt 8 ]; then JOBS=8; fi
fi

# -------------------------------------------------------------------------------------------------- the list of tests
seconds=${PETSCCSRC_TEST_SECONDS:-300}
# these take all memory of the device and must run alone
alone='^mat-devicememory'

# One line for each test: its name, then the command, which writes TAP
tests() {
  local script name
  # whole programs, of petsccsrc and others; first, because they take longest
  for script in "$srcdir"/programs/test_*.sh; do
    [ -e "$script" ] || continue
    name=$(basename "$script" .sh)
    echo "programs-${name#test_} bash $script $types"
  done
  # the programs of petsccsrc: scripts of the harness
  for script in "$testdir"/{sys,mat,ksp,svd}/run*.sh; do
    [ -e "$script" ] || continue
    name=$(basename "$(dirname "$script")")-$(basename "$script" .sh | sed 's/^run//')
    if [[ $name = *gpu* && $PETSCCSRC_TEST_GPU != 1 ]]; then echo "$name echo 'ok $name # SKIP no GPU'"
    elif [[ $name = *matrices* && ! -d $MATRICES/small ]]; then echo "$name echo 'ok $name # SKIP no real matrices: MATRICES is not set'"
    elif [[ $name =~ $alone ]]; then echo "$name bash $script -t $seconds"
    else echo "$name bash $script -j -t $seconds"; fi
  done
  # SLEPc's own SVD tests, unchanged
  if [ -d "$testdir/slepc" ]; then
    for script in "$testdir"/slepc/svd/tests/run*.sh; do
      name=$(basename "$script" .sh | sed 's/^run//')
      echo "slepc-$name bash $srcdir/programs/slepctest.sh $script $types"
    done
  else
    echo "slepc echo 'ok slepc # SKIP no SLEPc: SLEPC_DIR is not set'"
  fi
}

selected() {
  local p
  [ ${#patterns[@]} -gt 0 ] || return 0
  # shellcheck disable=SC2254 # these are patterns
  for p in "${patterns[@]}"; do case $1 in $p) return 0 ;; esac; done
  return 1
}

jobs=$testdir/jobs
while read -r name command; do
  if selected "$name"; then printf '%s %s\n' "$name" "$command"; fi
done < <(tests) >"$jobs"
if [ -n "$list" ]; then cut -d' ' -f1 "$jobs"; exit 0; fi

# --------------------------------------------------------------------------------------------------------------- running
# A test is one run of a program. The harness reports its exit status and its output separately, as X and diff-X; here they are one test.
export results=$testdir/results verbose
rm -rf "$results"
mkdir -p "$results" || die "cannot write to $results"

# shellcheck disable=SC2016 # expanded later
one='
  name=${1%% *}; command=${1#* }; start=$SECONDS TIMEFORMAT="%U %S"
  cpu=$({ time bash -c "$command" >"$results/$name.tap" 2>&1; } 2>&1)
  awk -v name="$name" -v seconds="$((SECONDS - start))" -v cpu="$cpu" -v verbose="$verbose" -v logfile="$results/$name.tap" -v counts="$results/$name.counts" '"'"'
    /^ ?(not )?ok / && !/# SKIP Command failed so no diff/ {
      failed = $1 == "not"; skipped = / # SKIP/
      label = $0; sub(/^ ?(not )?ok /, "", label); why = label; sub(/ #.*/, "", label); sub(/^[^#]*#? ?(SKIP )?/, "", why); sub(/^(diff|cmd)-/, "", label)
      if (!(label in state)) state[label] = 0
      if (failed) state[label] = 2; else if (skipped && !state[label]) { state[label] = 1; reason = why }
      next
    }
    /^#/ && lines++ < 16 { details = details "  " $0 "\n" }
    END {
      for (l in state) { n[state[l]]++; if (state[l] == 2) bad = bad "  not ok " l "\n"; else if (verbose) bad = bad "  " (state[l] ? "skipped " : "ok ") l "\n" }
      if (!(n[0] + n[1] + n[2])) { n[2] = 1; bad = "  not ok " name ": it reported no result\n"; while ((getline line <logfile) > 0 && lines++ < 16) details = details "  # " line "\n" }
      split(cpu, c)
      printf "%-44s %3d passed%s%s  %3d s, %.0f s of CPUs\n%s%s", name, n[0], n[2] ? ", " n[2] " FAILED" : "", n[1] ? ", " n[1] " skipped (" reason ")" : "", seconds, c[1] + c[2], bad, n[2] ? details "  all of it: " logfile "\n" : ""
      print n[0] + 0, n[2] + 0, n[1] + 0 >counts
    }'"'"' "$results/$name.tap"
'
started=$SECONDS
cut -d' ' -f1 "$jobs" >"$results/names"
grep -E "$alone" "$jobs" | xargs -r -d '\n' -n 1 bash -c "$one" one
sed -i -E "/$alone/d" "$jobs"
xargs -r -d '\n' -P "$JOBS" -n 1 bash -c "$one" one <"$jobs"

# a test whose shell was killed has counted nothing
while read -r name; do
  [ -e "$results/$name.counts" ] && continue
  printf '%-44s %3d passed, %d FAILED: it was killed\n' "$name" 0 1
  echo 0 1 0 >"$results/$name.counts"
done <"$results/names"

cat "$results"/*.counts 2>/dev/null | awk -v seconds=$((SECONDS - started)) '
  { passed += $1; failed += $2; skipped += $3 }
  END {
    printf "%d s\n%d passed, %d failed, %d skipped\n", seconds, passed, failed, skipped
    exit failed > 0 || passed == 0
  }'
