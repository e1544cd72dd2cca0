# shellcheck shell=bash disable=SC2154 # bundle comes from env.sh
# Sourced by check.sh and demo.sh: compares this machine with the requirements of the bundle, and prints what is there and what is missing.
need() { awk -v key="$1" '$1 == key { $1 = ""; print substr($0, 2) }' "$bundle/needs"; }
older() { [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -1)" = "$1" ]; }

if [[ $bundle = *[[:space:]]* ]]; then echo "The bundle is in \"$bundle\": move it to a folder without spaces in its path" >&2; exit 2; fi
missing=
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
if [ "$(uname -m)" != "$(need machine)" ]; then missing="$missing
  a $(need machine) processor (this is $(uname -m))"; fi
if [ -z "$glibc" ] || older "$glibc" "$(need glibc)"; then missing="$missing
  glibc $(need glibc) or newer (this system has ${glibc:-another C library})"; fi
if grep -qs '^flags' /proc/cpuinfo && ! grep -qsw avx2 /proc/cpuinfo; then missing="$missing
  a processor with AVX2"; fi
if [ -z "$missing" ]; then
  # missing libraries and too old ones both give lines with "not found"
  while read -r lib; do
    case $lib in
    libcu* | libnv*) why=" (CUDA $(need cuda)'s runtime; set CUDA_HOME if it is installed in an unusual place)" ;;
    *) why= ;;
    esac
    missing="$missing
  $lib$why"
  done < <(ldd "$bundle"/lib/libpetsc.so.* "$bundle"/lib/libpetsccsrc.so "$bundle"/bin/orterun 2>&1 |
    sed -n "s/^[[:space:]]*\([^ ]*\) => not found.*/\1/p; s/.*version .\([^']*\)' not found.*/a library with \1/p" | sort -u)
fi
if [ -n "$missing" ]; then
  echo "This machine lacks what the bundle needs:$missing" >&2
  exit 2
fi

gpus=$(nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader 2>/dev/null || true)
if [ -z "$(need cuda)" ]; then
  echo "Built without CUDA: the host paths run"
elif [ -n "$gpus" ]; then
  echo "GPU: $(echo "$gpus" | sed 's/, / /; s/, /, driver /' | paste -sd';')"
  if older "$(echo "$gpus" | head -1 | sed 's/.*, //')" 580; then echo "This driver may be too old for CUDA $(need cuda): it needs 580 or newer"; fi
else
  echo "No GPU is usable (nvidia-smi finds none): the host paths run"
fi
