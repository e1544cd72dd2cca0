#!/usr/bin/env bash
#
# Installs headers, libraries, pkg-config files and the sources of the examples into PREFIX (below DESTDIR, if that is given).
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "install: $*" >&2; exit 1; }
[ -n "${PREFIX:-}" ] || fail "say where: make install PREFIX=/where/to"
[[ $PREFIX = /* ]] || fail "PREFIX=$PREFIX must be an absolute path"
[[ $PREFIX != *[[:space:]]* ]] || fail "PREFIX=$PREFIX must not have spaces, which pkg-config does not take"

root=${DESTDIR:-}$PREFIX
version=$(awk '/define PETSCCSRC_VERSION_(MAJOR|MINOR|SUBMINOR) / { printf "%s%s", sep, $3; sep = "." }' include/petsccsrc.h)
mkdir -p "$root"/{include,lib/pkgconfig,share/petsccsrc}

install -m 644 include/*.h "$root/include"
install -m 755 "$BUILDDIR/libpetsccsrc.so" "$root/lib"
# pkgconfig NAME DESCRIPTION REQUIRES
pkgconfig() {
  cat >"$root/lib/pkgconfig/$1.pc" <<PC
prefix=$PREFIX
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: $1
Description: $2
Version: $version
Requires: $3
Cflags: -I\${includedir}
Libs: -Wl,-rpath,\${libdir} -L\${libdir} -l$1
PC
}
pkgconfig petsccsrc "PETSc matrix types csrccuda and bccoo: products with A and its transpose from one copy" PETSc
if [ -n "${SLEPC_DIR:-}" ] && [ -e "$BUILDDIR/libslepccsrc.so" ]; then
  install -m 755 "$BUILDDIR/libslepccsrc.so" "$root/lib"
  pkgconfig slepccsrc "What petsccsrc offers to SLEPc programs" "petsccsrc SLEPc"
else # another build may have left them
  rm -f "$root/lib/libslepccsrc.so" "$root/lib/pkgconfig/slepccsrc.pc"
fi
# the reader of Matrix Market files in the examples is a header library with a licence of its own; packages may leave it out
fmm=${FMM_DIR:-external/fast_matrix_market}
if [ -d "$fmm" ]; then
  for dir in examples support; do
    mkdir -p "$root/share/petsccsrc/$dir"
    find $dir -maxdepth 1 -type f -exec install -m 644 {} "$root/share/petsccsrc/$dir" \;
  done
  rm -rf "$root/share/petsccsrc/fast_matrix_market"
  cp -r "$fmm" "$root/share/petsccsrc/fast_matrix_market"
else
  echo "install: the examples are left out: there is no $fmm"
fi
install -m 644 README.md LICENSE "$root/share/petsccsrc"
echo "Installed into $root: -dll_append $PREFIX/lib/libpetsccsrc.so"
