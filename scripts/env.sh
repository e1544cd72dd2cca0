#!/usr/bin/env bash
#
# Prints the settings that a shell needs to use the build: eval "$(make -s env)". Nothing else goes to standard output.
set -eu
if [ ! -e "$BUILDDIR/libpetsccsrc.so" ]; then
  echo "Nothing is built in $BUILDDIR yet: run make first" >&2
  exit 1
fi
slepclib=
if [ -e "$BUILDDIR/libslepccsrc.so" ] && [ -n "$SLEPC_DIR" ]; then slepclib=$BUILDDIR/libslepccsrc.so; fi
printf 'export %s=%q\n' PETSC_DIR "$PETSC_DIR" PETSC_ARCH "$PETSC_ARCH" SLEPC_DIR "$SLEPC_DIR" \
  PETSCCSRC_LIB "$BUILDDIR/libpetsccsrc.so" SLEPCCSRC_LIB "$slepclib" MPIEXEC "$BUILDDIR/mpiexec"
if [ -x external/python/bin/python ]; then printf 'export PETSCCSRC_PYTHON=%q\n' "$PWD/external/python/bin/python"; fi
