#!/usr/bin/env bash
#
# Downloads librsb, which is only a baseline of benchmarks/cpu: the distribution's packages librsb0 and librsb-dev are unpacked to
# external/librsb/include and external/librsb/lib; nothing is installed. Without librsb the benchmark is built and says that this baseline
# is left out. The package is built for any x86-64 processor. To compare with a build for this processor, set RSB_DIR to the folder with
# its include and lib.
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
