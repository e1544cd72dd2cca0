# shellcheck shell=bash
# To be sourced by bash: . ./env.sh. Sets the environment to use this bundle, wherever it was unpacked.
bundle=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The folder of CUDA's runtime libraries, if the loader does not find them by itself
cuda=$(awk '$1 == "cuda" { print $2 }' "$bundle/needs")
cudalibs=
for dir in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "${CUDA_DIR:-}" /usr/local/cuda /usr/local/cuda-"$cuda" /usr/local/cuda-"$cuda".*; do
  for lib in lib64 lib "targets/$(uname -m)-linux/lib"; do
    if [ -z "$cudalibs" ] && [ -n "$dir" ] && [ -e "$dir/$lib/libcudart.so.$cuda" ]; then cudalibs=$dir/$lib; fi
  done
done
export LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}${cudalibs:+:$cudalibs}
export PATH=$bundle/bin:$PATH

# By default Open MPI and PMIx look for their parts where they were installed
export OPAL_PREFIX=$bundle OPAL_BINDIR=$bundle/bin OPAL_LIBDIR=$bundle/lib OPAL_PKGLIBDIR=$bundle/lib/openmpi
export OPAL_DATADIR=$bundle/share OPAL_PKGDATADIR=$bundle/share/openmpi OPAL_SYSCONFDIR=$bundle/share/openmpi
export PMIX_PREFIX=$bundle PMIX_LIBDIR=$bundle/lib PMIX_PKGLIBDIR=$bundle/lib/pmix PMIX_DATADIR=$bundle/share PMIX_PKGDATADIR=$bundle/share/pmix

export PETSCCSRC_LIB=$bundle/lib/libpetsccsrc.so SLEPCCSRC_LIB=
if [ -e "$bundle/lib/libslepccsrc.so" ]; then SLEPCCSRC_LIB=$bundle/lib/libslepccsrc.so; fi
export MPIEXEC=$bundle/bin/mpiexec BINDIR=$bundle/bin
export PETSC_DIR='' PETSC_ARCH='' SLEPC_DIR=''
if [ -z "${MATRICES:-}" ] && [ -d "$bundle/matrices" ]; then export MATRICES=$bundle/matrices; fi
# This Open MPI is not GPU-aware; without this option PETSc ends with an error
export PETSC_OPTIONS="-use_gpu_aware_mpi 0 ${PETSC_OPTIONS:-}"
