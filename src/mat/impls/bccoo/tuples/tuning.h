#pragma once

/*
  The tuned constants of the codings tuples and none, which are there to compare with: for the machines of simd/tuning.h; no experiment in
  measurements/experiments.md is about them.
*/
#define BCCOO_MERGE_DENSE 256   /* columns of A that a thread merges at a time, dense operands */
#define BCCOO_COUNTED     16384 /* values that a dictionary can count at a time; a power of two */
