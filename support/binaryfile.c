/*
  PETSc's binary files of sparse matrices. MatLoad() does not check the row lengths and column indices that it reads, nor, without
  debugging, local sizes that the matrix was given: if these are wrong, it, assembly or products write out of bounds. If a row has two
  entries in a column, the matrix that MatLoad() makes depends on the number of processes. The first process therefore checks a file before.
*/
#include "support.h"
#include <petscviewer.h>

#define CHUNK 65536

/* What the first process has found out; why: the fault of the file, if it has one */
typedef struct {
  PetscInt M, N, nz; /* nz < 0: the file holds no sparse matrix */
  char     why[256];
} Findings;

/* A stream of integers of the file, read in pieces */
typedef struct {
  PetscViewer viewer;
  PetscInt    left, n, next, *chunk; /* integers that are not read yet; integers in the chunk, and the next of them */
} Stream;

/* Opens a file and reads its header; left to read are the row lengths */
static PetscErrorCode StreamOpen(const char file[], Stream *s, Findings *f)
{
  PetscInt header[4] = {0, 0, 0, 0}, count;

  PetscFunctionBegin;
  /* not PetscViewerBinaryOpen(), which reads -viewer_binary_mpiio: here the file has a descriptor */
  PetscCall(PetscViewerCreate(PETSC_COMM_SELF, &s->viewer));
  PetscCall(PetscViewerSetType(s->viewer, PETSCVIEWERBINARY));
  PetscCall(PetscViewerFileSetMode(s->viewer, FILE_MODE_READ));
  PetscCall(PetscViewerFileSetName(s->viewer, file));
  PetscCall(PetscViewerBinaryRead(s->viewer, header, 4, &count, PETSC_INT));
  PetscCall(PetscMalloc1(CHUNK, &s->chunk));
  f->M    = header[1];
  f->N    = header[2];
  f->nz   = count == 4 && header[0] == MAT_FILE_CLASSID && f->M >= 0 && f->N >= 0 ? header[3] : -1;
  s->left = f->M;
  if (header[0] != MAT_FILE_CLASSID) PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "It does not begin as PETSc's files of matrices do; the names of Matrix Market files end in .mtx or .mtx.gz"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StreamClose(Stream *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(s->chunk));
  PetscCall(PetscViewerDestroy(&s->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The next integer, one of those that are left; 0 if the file ends before */
static PetscErrorCode StreamNext(Stream *s, PetscInt *value, Findings *f)
{
  PetscInt count;

  PetscFunctionBegin;
  if (s->next == s->n) {
    s->n    = PetscMin(s->left, CHUNK);
    s->next = 0;
    s->left -= s->n;
    PetscCall(PetscArrayzero(s->chunk, s->n));
    PetscCall(PetscViewerBinaryRead(s->viewer, s->chunk, s->n, &count, PETSC_INT));
    if (count < s->n) PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "Truncated file"));
  }
  *value = s->chunk[s->next++];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckLengths(Stream *s, Findings *f)
{
  PetscInt left = f->nz, length;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < f->M && !f->why[0]; r++) {
    PetscCall(StreamNext(s, &length, f));
    if (!f->why[0] && (length < 0 || length > left)) PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "Row %" PetscInt_FMT " is said to have %" PetscInt_FMT " nonzeros, where %" PetscInt_FMT " of %" PetscInt_FMT " are left", r, length, left, f->nz));
    else left -= length;
  }
  if (!f->why[0] && left) PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "The lengths of the rows add up to %" PetscInt_FMT ", which should be %" PetscInt_FMT, f->nz - left, f->nz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts the bytes of the values */
static PetscErrorCode CheckSize(Stream *s, Findings *f)
{
  const off_t wanted = (off_t)sizeof(PetscInt) * (4 + (off_t)f->M + f->nz) + (off_t)sizeof(PetscScalar) * f->nz;
  off_t       here, size;
  int         fd;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryGetDescriptor(s->viewer, &fd));
  PetscCall(PetscBinarySeek(fd, 0, PETSC_BINARY_SEEK_CUR, &here));
  PetscCall(PetscBinarySeek(fd, 0, PETSC_BINARY_SEEK_END, &size));
  PetscCall(PetscBinarySeek(fd, here, PETSC_BINARY_SEEK_SET, &here));
  if (size < wanted) PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "Truncated file"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* met[j]: the number of the last row, counted from 1, that has an entry in column j */
static PetscErrorCode CheckColumns(Stream *columns, Stream *lengths, PetscInt met[], Findings *f)
{
  PetscFunctionBegin;
  columns->left = f->nz;
  for (PetscInt r = 0; r < f->M && !f->why[0]; r++) {
    PetscInt length, j = 0;

    PetscCall(StreamNext(lengths, &length, f));
    for (PetscInt k = 0; k < length && !f->why[0]; k++) {
      PetscCall(StreamNext(columns, &j, f));
      if (j < 0 || j >= f->N) PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "Row %" PetscInt_FMT " has an entry in column %" PetscInt_FMT ", where the matrix has %" PetscInt_FMT " columns, counted from 0", r, j, f->N));
      else if (met[j] == r + 1) PetscCall(PetscSNPrintf(f->why, sizeof(f->why), "Row %" PetscInt_FMT " has two entries in column %" PetscInt_FMT ", counted from 0", r, j));
      else met[j] = r + 1;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckWith(const char file[], Stream s[2], PetscInt **met, Findings *f)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(StreamOpen(file, &s[k], f));
  if (f->nz < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckLengths(&s[0], f));
  if (!f->why[0]) PetscCall(CheckSize(&s[0], f));
  if (f->why[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(f->N, met));
  PetscCall(CheckColumns(&s[0], &s[1], *met, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const char file[], Findings *f)
{
  Stream         s[2] = {{.n = 0}, {.n = 0}};
  PetscInt      *met  = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = CheckWith(file, s, &met, f);
  PetscCall(PetscFree(met));
  for (int k = 0; k < 2; k++) PetscCall(StreamClose(&s[k]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatLoadBinary - MatLoad() from a file, after a check of its row lengths and column indices

  Collective

  Input Parameters:
+ A    - the matrix, as for MatLoad()
- file - name of the file

  Notes:
  Wrong row lengths and columns, two entries in one place and a truncated file are the error `PETSC_ERR_FILE_UNEXPECTED` on all processes. A
  file without a sparse matrix in PETSc's format is left to MatLoad(), which knows more formats and reports errors in others.

  The first process reads lengths twice and columns once before MatLoad() does, in pieces.
*/
PetscErrorCode MatLoadBinary(Mat A, const char file[])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscViewer    viewer;
  PetscMPIInt    rank;
  Findings       f    = {0, 0, -1, ""};
  PetscErrorCode ierr = PETSC_SUCCESS;
  int            code;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) ierr = Check(file, &f);
  code = (int)ierr;
  PetscCallMPI(MPI_Bcast(&code, 1, MPI_INT, 0, comm));
  PetscCall(ierr);
  PetscCheck(!code, comm, (PetscErrorCode)code, "The first process cannot read binary matrix file %s", file);
  PetscCallMPI(MPI_Bcast(&f, sizeof(f), MPI_BYTE, 0, comm));
  PetscCheck(!f.why[0], comm, PETSC_ERR_FILE_UNEXPECTED, "Cannot read binary matrix file %s: %s", file, f.why);
  if (f.nz >= 0) PetscCall(MatCheckSizes(A, f.M, f.N));
  PetscCall(PetscViewerBinaryOpen(comm, file, FILE_MODE_READ, &viewer));
  PetscCall(MatLoad(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
