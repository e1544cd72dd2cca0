#pragma once

/*
  The layout csrc (Aliaga, Anzt, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2023, e7871,
  section 2): rows in blocks of 256, the nonzeros of a row block sorted by column and, within a column, by row.

      p[g] .. p[g+1]-1   the nonzeros of row block g
      r[k]               row of nonzero k, relative to its row block (8 bits)
      j[k], v[k]         column and value of nonzero k
      perm[k]            place of nonzero k in the CSR, kept on the host for new values
*/
#include "mat/impls/aijderived/format.h"
#include "tuning.h"

#define CSRC256_ROWS 256 /* number of rows of a row block; at most 256, since r has 8 bits */

typedef struct {
  PetscInt       m, n, nnz;
  PetscInt       nblocks;
  int            nthreads; /* number of threads on the host, which makes and refills the form */
  PetscInt      *p;
  unsigned char *r;
  PetscInt      *j;
  PetscScalar   *v;
  PetscInt      *perm;
} CSRC256;

PETSC_INTERN PetscErrorCode CSRC256Build(const AIJCSR *, CSRC256 **);
PETSC_INTERN PetscErrorCode CSRC256SetValues(CSRC256 *, const AIJCSR *);
PETSC_INTERN PetscErrorCode CSRC256Visit(const CSRC256 *, AIJVisitor, void *);
PETSC_INTERN PetscErrorCode CSRC256Destroy(CSRC256 **);

#if defined(PETSCCSRC_HAVE_CUDA)
PETSC_INTERN const AIJFormat AIJFormatCSRC256; /* on a CUDA device */
#endif
