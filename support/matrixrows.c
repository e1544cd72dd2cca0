/*
  The last step of every reader and generator: each process has its rows in CSR form, and these are put into a matrix.
*/
#include "support.h"

/* Local sizes must be set on all processes or on none, and add up to the global size; PETSc checks this only with debugging */
static PetscErrorCode CheckLocalSizes(MPI_Comm comm, const char what[], PetscInt local, PetscInt global)
{
  const PetscInt64 mine[2] = {local < 0, PetscMax(local, 0)};
  PetscInt64       sum[2];
  PetscMPIInt      size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPIU_Allreduce(mine, sum, 2, MPIU_INT64, MPI_SUM, comm));
  PetscCheck(!sum[0] || sum[0] == size, comm, PETSC_ERR_ARG_INCOMP, "The matrix was given its local %s on some processes and not on others", what);
  PetscCheck(sum[0] || sum[1] == global, comm, PETSC_ERR_ARG_SIZ, "The matrix was given local %s that add up to %" PetscInt64_FMT ", its source has %" PetscInt_FMT, what, sum[1], global);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCheckSizes - Sizes of A that are set already must be those of its source, M x N; collective */
PetscErrorCode MatCheckSizes(Mat A, PetscInt M, PetscInt N)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscInt       m, n, rows, cols;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &rows, &cols));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCheck(rows < 0 || rows == M, comm, PETSC_ERR_ARG_SIZ, "The matrix was given %" PetscInt_FMT " rows, its source has %" PetscInt_FMT, rows, M);
  PetscCheck(cols < 0 || cols == N, comm, PETSC_ERR_ARG_SIZ, "The matrix was given %" PetscInt_FMT " columns, its source has %" PetscInt_FMT, cols, N);
  PetscCall(CheckLocalSizes(comm, "rows", m, M));
  PetscCall(CheckLocalSizes(comm, "columns", n, N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatFillSizes - Sets the sizes of a matrix and, if it has none, its type

  Collective

  Input Parameters:
+ A - the matrix; sizes that are set already must agree
. M - global number of rows
- N - global number of columns

  Note:
  Afterwards the layouts are set up, so that MatGetOwnershipRange() may be called.
*/
PetscErrorCode MatFillSizes(Mat A, PetscInt M, PetscInt N)
{
  PetscLayout rmap, cmap;
  PetscInt    m, n;
  MatType     type;

  PetscFunctionBegin;
  PetscCall(MatCheckSizes(A, M, N));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatSetSizes(A, m < 0 ? PETSC_DECIDE : m, n < 0 ? PETSC_DECIDE : n, M, N));
  PetscCall(MatGetType(A, &type));
  if (!type) PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatGetLayouts(A, &rmap, &cmap));
  PetscCall(PetscLayoutSetUp(rmap));
  PetscCall(PetscLayoutSetUp(cmap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatFillRows - Sets all entries of a matrix from the rows of each process, and assembles it

  Collective

  Input Parameters:
+ A - the matrix, after MatFillSizes()
. i - where each row of this process begins in `j` and `v`, and the end of the last row
. j - global column indices, in any order; values of an index that occurs twice in a row are added
- v - values
*/
PetscErrorCode MatFillRows(Mat A, const PetscInt i[], const PetscInt j[], const PetscScalar v[])
{
  PetscInt  bs, N, rstart, rend, cstart, cend;
  PetscInt *dnnz, *onnz;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCheck(bs == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Block size %" PetscInt_FMT " is not supported here, only 1", bs);
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  PetscCall(MatGetOwnershipRangeColumn(A, &cstart, &cend));

  /* With duplicates a row may be longer than the matrix is wide, which preallocation does not accept */
  PetscCall(PetscCalloc2(rend - rstart, &dnnz, rend - rstart, &onnz));
  for (PetscInt r = 0; r < rend - rstart; r++) {
    for (PetscInt k = i[r]; k < i[r + 1]; k++) {
      if (cstart <= j[k] && j[k] < cend) dnnz[r]++;
      else onnz[r]++;
    }
    dnnz[r] = PetscMin(dnnz[r], cend - cstart);
    onnz[r] = PetscMin(onnz[r], N - (cend - cstart));
  }
  PetscCall(MatXAIJSetPreallocation(A, PETSC_DECIDE, dnnz, onnz, dnnz, onnz));
  PetscCall(PetscFree2(dnnz, onnz));
  PetscCall(MatSetUp(A)); /* for types without preallocation, such as MATDENSE */

  for (PetscInt r = 0; r < rend - rstart; r++) {
    const PetscInt row = rstart + r;

    PetscCall(MatSetValues(A, 1, &row, i[r + 1] - i[r], PetscSafePointerPlusOffset(j, i[r]), PetscSafePointerPlusOffset(v, i[r]), ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}
