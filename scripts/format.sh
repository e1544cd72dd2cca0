#!/usr/bin/env bash
#
# Runs clang-format on all sources with the given arguments. The version is fixed, since each version breaks some lines differently; if
# neither external/venv nor the machine has it, it is installed into external/venv.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly VERSION=14.0.6
readonly venv=external/venv log=external/logs/format.log

has_version() { "$1" --version 2>/dev/null | grep -qF "version $VERSION"; }

if has_version "$venv/bin/clang-format"; then tool=$venv/bin/clang-format
elif has_version clang-format; then tool=clang-format
else
  tool=$venv/bin/clang-format
  mkdir -p external/logs
  { [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"; "$venv/bin/pip" install --retries 2 --timeout 30 --disable-pip-version-check "clang-format==$VERSION"; } >"$log" 2>&1 ||
    { echo "format: clang-format $VERSION could not be installed into $venv ($log)" >&2; exit 1; }
fi
git ls-files -z '*.c' '*.h' '*.cu' '*.cuh' '*.cxx' | xargs -0 "$tool" "$@"
