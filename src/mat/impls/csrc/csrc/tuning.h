#pragma once

/*
  The tuned constants of the layout csrc, which is there to compare with: for an H200 and 16 cores of a Xeon; no experiment in
  measurements/experiments.md is about them.
*/
#define CSRC256_PARALLEL     16384 /* nonzeros that are worth starting threads, on the host */
#define CSRC256_HOST_PANEL_N 8     /* on the host, columns of X that share one reading of the matrix ... */
#define CSRC256_HOST_PANEL_T 4     /* ... and of U, where each has private sums */
#define CSRC256_PANEL        8     /* the same on a device, of X and U */
#define CSRC256_AHEAD        4     /* there, products that a thread has under way, at least: nonzeros times columns of the panel */
