#!/usr/bin/env bash
#
# The result of `make install` is complete: the examples are compiled from there by their own makefile, and one is run.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
[ -n "$PETSC_DIR" ] && [ -e "$SRCDIR/../scripts/install.sh" ] || { skip install 'no sources and no PETSc to compile with'; exit; }
command -v pkg-config >/dev/null || { skip install 'no pkg-config'; exit; }
prefix=$TESTDIR/installed
rm -rf "$prefix"
run 'install' env PREFIX="$prefix" DESTDIR= bash "$SRCDIR/../scripts/install.sh" || exit
ok install

pkgconfig=$prefix/lib/pkgconfig:$PETSC_DIR/$PETSC_ARCH/lib/pkgconfig
for lib in "$SLEPC_DIR/$PETSC_ARCH/lib" "$SLEPC_DIR/lib" "$SLEPC_DIR"/installed-*/lib; do pkgconfig=$pkgconfig:$lib/pkgconfig; done
# If PETSc was not configured with MPI's compiler wrappers, its pkg-config file lacks MPI: no PETSc program can be compiled with it
printf '#include <petsc.h>\nint main(int argc, char **argv) { return PetscInitialize(&argc, &argv, NULL, NULL) || PetscFinalize() || MPI_Barrier(PETSC_COMM_SELF); }\n' >"$prefix/program.c"
# shellcheck disable=SC2046 # options are words
if ! (export PKG_CONFIG_PATH=$pkgconfig && $(pkg-config --variable=ccompiler PETSc) -o "$prefix/program" "$prefix/program.c" $(pkg-config --cflags --libs PETSc)) >/dev/null 2>&1; then
  skip 'compiling the installed examples' "what pkg-config says of this PETSc compiles no program of PETSc's"
  exit
fi
run 'compiling the installed examples' make -C "$prefix/share/petsccsrc/examples" PKG_CONFIG_PATH="$pkgconfig" CFLAGS=-O0 CXXFLAGS=-O0 || exit
ok 'compiling the installed examples'
cd "$prefix/share/petsccsrc/examples" || exit
if run 'convert, compiled from the installation' env PETSC_OPTIONS= ./convert; then
  case $output in *'All products and nonzeros agree.'*) ok 'convert, compiled from the installation' ;; *) not_ok 'convert, compiled from the installation' "$output" ;; esac
fi
if run 'adjoint, compiled from the installation' env PETSC_OPTIONS= ./adjoint -n 20 -dll_append "$prefix/lib/libpetsccsrc.so" -mat_type csrccuda; then
  case $output in *'csrccuda'*'Right: they agree.'*) ok 'adjoint, compiled from the installation' ;; *) not_ok 'adjoint, compiled from the installation' "$output" ;; esac
fi
