/*
  PETSc's binary files of sparse matrices. MatLoad() does not check the row lengths and column indices that it reads, nor, without
  debugging, local sizes that the matrix was given: if these are wrong, it, assembly or products write out of bounds. They are therefore
  read and checked before.
*/
#include "support.h"
#include <petscviewer.h>

#define CHUNK 65536

/* A file that is partly read; why: the error that was found in it, if any */
typedef struct {
  PetscViewer viewer;
  PetscInt    M, N, nz;
  PetscInt    n, *chunk;
  char        why[256];
} BinaryFile;

/* Reads the next integers, at most `left`; all processes get them */
static PetscErrorCode BinaryFileRead(BinaryFile *f, PetscInt left)
{
  PetscInt count;

  PetscFunctionBegin;
  f->n = PetscMin(left, CHUNK);
  PetscCall(PetscViewerBinaryRead(f->viewer, f->chunk, f->n, &count, PETSC_INT));
  if (count < f->n) PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "Truncated file"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Opens a file; afterwards a negative number of nonzeros means that it holds no sparse matrix */
static PetscErrorCode BinaryFileOpen(MPI_Comm comm, const char file[], BinaryFile *f)
{
  PetscInt header[4] = {0, 0, 0, 0};

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(comm, file, FILE_MODE_READ, &f->viewer));
  PetscCall(PetscViewerBinaryRead(f->viewer, header, 4, &f->n, PETSC_INT));
  f->M  = header[1];
  f->N  = header[2];
  f->nz = f->n == 4 && header[0] == MAT_FILE_CLASSID && f->M >= 0 && f->N >= 0 ? header[3] : -1;
  PetscCall(PetscMalloc1(CHUNK, &f->chunk));
  f->why[0] = 0;
  if (header[0] != MAT_FILE_CLASSID) PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "It does not begin as PETSc's files of matrices do; the names of Matrix Market files end in .mtx or .mtx.gz"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BinaryFileClose(BinaryFile *f)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(f->chunk));
  PetscCall(PetscViewerDestroy(&f->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads the row lengths; *row is the row of the given entry */
static PetscErrorCode BinaryFileReadLengths(BinaryFile *f, PetscInt entry, PetscInt *row)
{
  PetscInt sum = 0;

  PetscFunctionBegin;
  *row = 0;
  for (PetscInt r = 0; r < f->M && !f->why[0]; r += f->n) {
    PetscCall(BinaryFileRead(f, f->M - r));
    for (PetscInt k = 0; k < f->n && !f->why[0]; k++) {
      const PetscInt length = f->chunk[k];

      if (length < 0 || length > f->nz - sum)
        PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "Row %" PetscInt_FMT " is said to have %" PetscInt_FMT " nonzeros, where %" PetscInt_FMT " of %" PetscInt_FMT " are left", r + k, length, f->nz - sum, f->nz));
      else {
        sum += length;
        if (sum <= entry) *row = r + k + 1;
      }
    }
  }
  if (!f->why[0] && sum != f->nz) PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "The lengths of the rows add up to %" PetscInt_FMT ", which should be %" PetscInt_FMT, sum, f->nz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatLoadBinary - MatLoad() from a file, after a check of its row lengths and column indices

  Collective

  Input Parameters:
+ A    - the matrix, as for MatLoad()
- file - name of the file

  Notes:
  Wrong row lengths and columns are the error `PETSC_ERR_FILE_UNEXPECTED` on all processes. A file without a sparse matrix in PETSc's
  format is left to MatLoad(), which knows more formats and reports errors in others.

  The lengths and columns are read twice. Every process reads all of them, in pieces.
*/
PetscErrorCode MatLoadBinary(Mat A, const char file[])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  BinaryFile     f;
  PetscInt       row, entry = -1, column = 0;

  PetscFunctionBegin;
  PetscCall(BinaryFileOpen(comm, file, &f));
  if (f.nz >= 0) {
    PetscCall(BinaryFileReadLengths(&f, 0, &row));
    for (PetscInt begin = 0; begin < f.nz && entry < 0 && !f.why[0]; begin += f.n) {
      PetscCall(BinaryFileRead(&f, f.nz - begin));
      for (PetscInt k = 0; k < f.n && entry < 0 && !f.why[0]; k++) {
        if (f.chunk[k] >= 0 && f.chunk[k] < f.N) continue;
        entry  = begin + k;
        column = f.chunk[k];
      }
    }
    if (entry >= 0) { /* finds its row */
      PetscCall(BinaryFileClose(&f));
      PetscCall(BinaryFileOpen(comm, file, &f));
      PetscCall(BinaryFileReadLengths(&f, entry, &row));
      PetscCall(PetscSNPrintf(f.why, sizeof(f.why), "Row %" PetscInt_FMT " has an entry in column %" PetscInt_FMT ", where the matrix has %" PetscInt_FMT " columns, counted from 0", row, column, f.N));
    }
  }
  PetscCall(BinaryFileClose(&f));
  PetscCheck(!f.why[0], comm, PETSC_ERR_FILE_UNEXPECTED, "Cannot read binary matrix file %s: %s", file, f.why);
  if (f.nz >= 0) PetscCall(MatCheckSizes(A, f.M, f.N));

  PetscCall(PetscViewerBinaryOpen(comm, file, FILE_MODE_READ, &f.viewer));
  PetscCall(MatLoad(A, f.viewer));
  PetscCall(PetscViewerDestroy(&f.viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
