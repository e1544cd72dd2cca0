#!/usr/bin/env bash
#
# Fetches librsb for benchmarks/cpu, where it is a baseline and nothing else: the distribution's packages librsb0 and librsb-dev, unpacked to
# external/librsb/include and external/librsb/lib; nothing is installed. Without it the benchmark is built and says that this baseline is left
# out. The package is built for any x86-64 processor: to compare with a build for this one, set RSB_DIR to where that has its include and lib.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly to=external/librsb

if [ -f "$to/lib/librsb.so" ]; then exit 0; fi
left_out() {
  rm -rf "$to"
  echo "librsb: $1; benchmarks/cpu leaves this baseline out" >&2
  exit 0
}
command -v apt-get >/dev/null && command -v dpkg >/dev/null || left_out "there is no apt-get here"
rm -rf "$to"
mkdir -p "$to/packages" external/logs
(cd "$to/packages" && apt-get download librsb0 librsb-dev) >external/logs/librsb.log 2>&1 || left_out "apt-get could not fetch librsb0 and librsb-dev (external/logs/librsb.log)"
for package in "$to"/packages/*.deb; do dpkg -x "$package" "$to/packages"; done
mkdir "$to/include" "$to/lib"
mv "$to"/packages/usr/include/rsb*.h "$to/include"
mv "$to"/packages/usr/lib/*/librsb.so* "$to/lib"
rm -rf "$to/packages"
if ldd "$to/lib/librsb.so" | grep -q 'not found'; then left_out "it needs libraries that this machine lacks: $(ldd "$to/lib/librsb.so" | sed -n 's/ => not found//p' | xargs)"; fi
