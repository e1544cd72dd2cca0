#!/usr/bin/env bash
#
# Prints the settings that a shell needs to use the build: eval "$(make -s env)". Nothing else goes to standard output.
set -eu
if [ ! -e "$BUILDDIR/libpetsccsrc.so" ]; then
  echo "Nothing is built in $BUILDDIR yet: run make first" >&2
  exit 1
fi
if [ ! -e "$PETSC_DIR/include/petsc.h" ]; then
  echo "There is no PETSc in $PETSC_DIR: if the library was built with your own PETSc, export PETSC_DIR, PETSC_ARCH and SLEPC_DIR first" >&2
  exit 1
fi
if [ -e "$BUILDDIR/petsc" ] && [ "$(cat "$BUILDDIR/petsc")" != "$PETSC_DIR" ]; then
  echo "The library in $BUILDDIR was built with the PETSc in $(cat "$BUILDDIR/petsc"), not with that in $PETSC_DIR: run make first" >&2
  exit 1
fi
slepclib=
if [ -e "$BUILDDIR/libslepccsrc.so" ] && [ -n "$SLEPC_DIR" ]; then slepclib=$BUILDDIR/libslepccsrc.so; fi
printf 'export %s=%q\n' PETSC_DIR "$PETSC_DIR" PETSC_ARCH "$PETSC_ARCH" SLEPC_DIR "$SLEPC_DIR" \
  PETSCCSRC_LIB "$BUILDDIR/libpetsccsrc.so" SLEPCCSRC_LIB "$slepclib" MPIEXEC "$BUILDDIR/mpiexec"
[ -n "$slepclib" ] || echo "Without SLEPc (SLEPC_DIR): SLEPCCSRC_LIB is empty, and there is no blocklanczos" >&2
# the petsc4py of `make python`, unless it was built for another PETSc, which it would load
if [ -x external/python/bin/python ] && [ "$(sed -n 2,3p external/stamps/python-petsc4py 2>/dev/null)" = "$(printf '%s\n' "$PETSC_DIR" "$PETSC_ARCH")" ]; then printf 'export PETSCCSRC_PYTHON=%q\n' "$PWD/external/python/bin/python"; fi
