#pragma once

/*
  The tuned constants of the layout csrc, for an H200 and 16 cores of a Xeon. The layout serves for comparison; no experiment in
  measurements/experiments.md is about these constants.
*/
#define CSRC256_PARALLEL     16384 /* on the host, number of nonzeros from which several threads are used */
#define CSRC256_HOST_PANEL_N 8     /* on the host, number of columns of X that are multiplied in one pass over the matrix, ... */
#define CSRC256_HOST_PANEL_T 4     /* ... and of columns of U, for which each thread has private sums */
#define CSRC256_PANEL        8     /* the same on a device, for X and U */
#define CSRC256_AHEAD        4     /* on a device, minimum number of products that a thread computes at a time: nonzeros times columns of the panel */
