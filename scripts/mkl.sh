#!/usr/bin/env bash
#
# Downloads MKL, which is only a baseline of benchmarks/cpu: PyPI's mkl-static and mkl-include are unpacked to external/mkl/include
# and external/mkl/lib. Without MKL the benchmark is built and says that this baseline is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly VERSION=2026.2.0
readonly to=external/mkl

if [ -f "$to/version" ] && [ "$(cat "$to/version")" = "$VERSION" ]; then exit 0; fi
left_out() {
  echo "mkl: $1; benchmarks/cpu leaves this baseline out" >&2
  exit 0
}
[ "$(uname -m)" = x86_64 ] || left_out "there is none for this processor"
rm -rf "$to"
mkdir -p "$to/lib" external/logs
python3 -m pip download --quiet --no-deps --dest "$to/wheels" "mkl-static==$VERSION" "mkl-include==$VERSION" >external/logs/mkl.log 2>&1 || left_out "pip could not fetch mkl-static $VERSION (external/logs/mkl.log)"
for wheel in "$to"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$to/wheels"; done
mv "$to"/wheels/mkl_include-*.data/data/include "$to/include"
for part in intel_lp64 gnu_thread core; do mv "$to"/wheels/mkl_static-*.data/data/lib/libmkl_$part.a "$to/lib"; done
rm -rf "$to/wheels"
echo "$VERSION" >"$to/version"
