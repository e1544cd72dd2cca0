#!/usr/bin/env bash
#
# Everything compiles and links against a PETSc without CUDA: the configuration of this PETSc with its devices removed.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
configuration=$PETSC_DIR/$PETSC_ARCH/include/petscconf.h
[ -n "$PETSC_DIR" ] && [ -e "$SRCDIR/../gmakefile" ] || { skip withoutcuda 'no sources and no PETSc to compile with'; exit; }
grep -q PETSC_HAVE_CUDA "$configuration" || { skip withoutcuda 'this PETSc has no CUDA'; exit; }
dir=$TESTDIR/withoutcuda
rm -rf "$dir"
mkdir -p "$dir/include"
sed '/CUDA\|CUPM\|HAVE_DEVICE\|DEVICELANGUAGE/d' "$configuration" >"$dir/include/petscconf.h"
flags="-I$dir/include -Werror=implicit-function-declaration"
run 'compiling without CUDA' make -C "$SRCDIR/.." -f gmakefile -j2 BUILDDIR="$dir" NVCC= OPTFLAGS=-O0 CFLAGS="$flags" CXXFLAGS="-I$dir/include" LDFLAGS=-Wl,-z,defs all || exit
ok 'compiling without CUDA'
rm -rf "$dir"
