/* The products of a chunk by AVX-512, with gather instructions */
#include "../simdimpl.h"

#if defined(BCCOO_X86)
  #define BCCOO_LOADS 0
  #include "avx512.h"
  #include "mult.h"
  #include "matmult.h"

BCCOO_END_INSTRUCTIONS

const BCCOOSIMDKernels BCCOOSIMDKernelsAVX512 = {"avx512", PETSC_FALSE, Mult, MultTranspose, BCCOO_DENSE_KERNELS};
#endif
