#!/usr/bin/env bash
# Called by conda-build in a copy of the sources
set -euo pipefail
make -f gmakefile -j"${CPU_COUNT:-1}" PETSC_DIR="$PREFIX" PETSC_ARCH= SLEPC_DIR="$PREFIX" BUILDDIR="$PWD/build/conda" PREFIX="$PREFIX" install
