#!/bin/sh
cat <<HELP
petsccsrc: matrix types csrccuda and bccoo for PETSc

  make             set up what is missing and build libraries and programs into build/
  make demo        the largest singular values of a real matrix, checked against its exact spectrum
  make check       build and run all tests
  make tests       build all tests, without running them
  eval "\$(make -s env)"   PETSC_DIR, PETSC_ARCH, SLEPC_DIR, PETSCCSRC_LIB, SLEPCCSRC_LIB, MPIEXEC for this shell
  make python      petsc4py and slepc4py in external/python, built against the same PETSc and SLEPc
  make wheel       wheels of the Python package that bring PETSc and all else, in build/wheel; make check-wheel tests them
  make bench       the measurements of measurements/performance.md on this machine's GPU; without one, a trial on the host
  make bench-cpu   the same on this machine's cores, with MKL and librsb to compare with, fetched into external/ if they can be had
  make tutorials   the tutorials of PETSc and SLEPc that benchmarks/programs.sh runs
  make bench-lp    linear programs (LPS="files"), beside cuPDLPx if it is there
  make bench-parallel   products and singular values on 1, 2, 4 ... GPUs
  make install PREFIX=/where/to
  make bundle      one archive that runs on a GPU node without internet, compilers or PETSc
  make site        the guides and manual pages as a site with a search, in build/site
  make reconfigure build PETSc and SLEPc in external/ anew, with the variables below
  make checkformat compare the sources with .clang-format; make format applies it
  make clean       remove build/; make distclean removes external/ too

Variables
  PETSC_DIR, PETSC_ARCH, SLEPC_DIR   a PETSc and SLEPc of your own; without them both are built in external/
  MATRICES         folder of real matrices, with small/ and large/     now: ${MATRICES:-none}
  CUDA_ARCH        CUDA architectures, for example 90 or 80,90; default: PETSc's, which default to the GPU present, else 80,90
  CUDA_DIR         where CUDA is, if nvcc is not on the PATH
  CUDA=0           set up PETSc without CUDA
  NVCC=            build the host paths alone
  OPTFLAGS         default -O3
  JOBS             how many processes compile; V=1 shows the commands
  BUNDLE_MATRICES=1   put the small real matrices into the bundle
  TESTS=0             leave the tests out of the bundle

Here: PETSC_DIR=$PETSC_DIR PETSC_ARCH=$PETSC_ARCH SLEPC_DIR=$SLEPC_DIR
HELP
