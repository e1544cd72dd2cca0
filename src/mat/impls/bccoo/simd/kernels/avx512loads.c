/* The products of a chunk by AVX-512, with eight loads in place of a gather instruction */
#include "../simdimpl.h"

#if defined(BCCOO_X86)
  #define BCCOO_LOADS 1
  #include "avx512.h"
  #include "mult.h"
  #include "matmult.h"

BCCOO_END_INSTRUCTIONS

const BCCOOSIMDKernels BCCOOSIMDKernelsAVX512Loads = {"avx512loads", PETSC_TRUE, Mult, MultTranspose, BCCOO_DENSE_KERNELS};
#endif
