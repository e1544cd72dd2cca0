/* The products of a chunk by AVX-512, gathers by gather instructions */
#include "bccoolanes.h"

#if defined(BCCOO_X86)
  #define BCCOO_LOADS 0
  #include "bccoolanesavx512.h"
  #include "bccoolaneskernels.h"
  #include "bccoolanesdensekernels.h"

const BCCOOLanesKernels BCCOOLanesKernelsAVX512 = {"avx512", Mult, MultTranspose, BCCOO_DENSE_KERNELS};
#endif
