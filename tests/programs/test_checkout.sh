#!/usr/bin/env bash
#
# A checkout in a folder with a space in its name, which make would take for two paths, gives one error that says so.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
label='a checkout with a space in its path'
[ -e "$SRCDIR/../makefile" ] && command -v make >/dev/null || { skip "$label" 'no sources'; exit; }
folder="$TESTDIR/a checkout"
mkdir -p "$folder" && cp "$SRCDIR/../makefile" "$SRCDIR/../gmakefile" "$folder" || exit
output=$(cd "$folder" && env -u MAKEFLAGS -u MFLAGS make PETSC_DIR="$PETSC_DIR" 2>&1)
if [ "$(echo "$output" | wc -l)" = 1 ] && [[ $output = *"$folder\": move it to a folder without spaces"* ]]; then ok "$label"
else not_ok "$label" "$output"; fi
rm -rf "$folder"
