#pragma once

/*
  The tuned constants of the codings tuples and none, which exist for comparison; they are for the machines of simd/tuning.h. No experiment
  in measurements/experiments.md is about them.
*/
#define BCCOO_MERGE_DENSE 256   /* dense operands: columns of A whose private sums a thread adds up at a time */
#define BCCOO_COUNTED     16384 /* number of values that a dictionary can count at a time; a power of two */
