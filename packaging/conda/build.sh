#!/usr/bin/env bash
# Called in a copy of the sources. MARCHFLAGS: the package runs on any processor; kernels for AVX2, AVX-512 and NEON are chosen at run time.
set -euo pipefail
make -f gmakefile -j"${CPU_COUNT:-1}" PETSC_DIR="$PREFIX" PETSC_ARCH= SLEPC_DIR="$PREFIX" BUILDDIR="$PWD/build/conda" MARCHFLAGS= PREFIX="$PREFIX" install
