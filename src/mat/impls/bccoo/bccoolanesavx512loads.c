/* The products of a chunk by AVX-512, gathers by loads */
#include "bccoolanes.h"

#if defined(BCCOO_X86)
  #define BCCOO_LOADS 1
  #include "bccoolanesavx512.h"
  #include "bccoolaneskernels.h"
  #include "bccoolanesdensekernels.h"

const BCCOOLanesKernels BCCOOLanesKernelsAVX512Loads = {"avx512loads", Mult, MultTranspose, BCCOO_DENSE_KERNELS};
#endif
