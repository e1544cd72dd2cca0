#pragma once

/*
  The tuned constants of the layout csrc, for an H200 and 16 cores of a Xeon. The layout serves for comparison; no experiment in
  measurements/experiments.md is about these constants.
*/
#define CSRC256_PARALLEL 16384 /* number of nonzeros from which several threads of the host make and refill the layout */
#define CSRC256_PANEL    8     /* number of columns of X or U that are multiplied in one pass over the matrix */
#define CSRC256_AHEAD    4     /* minimum number of products that a thread computes at a time: nonzeros times columns of the panel */
