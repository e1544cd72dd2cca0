/* Functions like MatCreateAIJ() for the types of this library, for programs that link it */
#include <petsccsrc.h>

static PetscErrorCode CheckSequential(MPI_Comm comm)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCheck(size == 1, comm, PETSC_ERR_ARG_WRONG, "A sequential matrix needs a communicator of one process, this one has %d", size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MPI_Comm comm, MatType type, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(PetscCSRCInitializePackage());
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, type));
  /* only the one that fits the size of the communicator does anything */
  PetscCall(MatSeqAIJSetPreallocation(*A, d_nz, d_nnz));
  PetscCall(MatMPIAIJSetPreallocation(*A, d_nz, d_nnz, o_nz, o_nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateSeqCSRCCUDA - Creates a sequential sparse matrix of type `MATSEQCSRCCUDA`

  Collective

  Input Parameters:
+ comm - MPI communicator, of one process
. m    - number of rows
. n    - number of columns
. nz   - number of nonzeros per row (same for all rows), ignored if `nnz` is provided
- nnz  - array with the number of nonzeros of each row, or `NULL`

  Output Parameter:
. A - the matrix

  Level: intermediate

.seealso: `MATCSRCCUDA`, `MatCreateCSRCCUDA()`, `MatCreateSeqAIJ()`, `MatSetValues()`
@*/
PetscErrorCode MatCreateSeqCSRCCUDA(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt nz, const PetscInt nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(CheckSequential(comm));
  PetscCall(Create(comm, MATCSRCCUDA, m, n, m, n, nz, nnz, 0, NULL, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateCSRCCUDA - Creates a sparse matrix of type `MATCSRCCUDA`

  Collective

  Input Parameters:
+ comm  - MPI communicator
. m     - number of local rows (or `PETSC_DECIDE` to have calculated if `M` is given)
. n     - number of local columns (or `PETSC_DECIDE` to have calculated if `N` is given)
. M     - number of global rows (or `PETSC_DETERMINE` to have calculated if `m` is given)
. N     - number of global columns (or `PETSC_DETERMINE` to have calculated if `n` is given)
. d_nz  - number of nonzeros per row in the diagonal portion of the local submatrix
. d_nnz - array with the number of nonzeros of each row of the diagonal portion, or `NULL`
. o_nz  - number of nonzeros per row in the off-diagonal portion of the local submatrix
- o_nnz - array with the number of nonzeros of each row of the off-diagonal portion, or `NULL`

  Output Parameter:
. A - the matrix

  Level: intermediate

  Note:
  On one process `o_nz` and `o_nnz` are not used. See `MatCreateAIJ()` for the meaning of the two portions.

.seealso: `MATCSRCCUDA`, `MatCreateSeqCSRCCUDA()`, `MatCreateAIJ()`, `MatSetValues()`
@*/
PetscErrorCode MatCreateCSRCCUDA(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(Create(comm, MATCSRCCUDA, m, n, M, N, d_nz, d_nnz, o_nz, o_nnz, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateSeqBCCOO - Creates a sequential sparse matrix of type `MATSEQBCCOO`

  Collective

  Input Parameters:
+ comm - MPI communicator, of one process
. m    - number of rows
. n    - number of columns
. nz   - number of nonzeros per row (same for all rows), ignored if `nnz` is provided
- nnz  - array with the number of nonzeros of each row, or `NULL`

  Output Parameter:
. A - the matrix

  Level: intermediate

.seealso: `MATBCCOO`, `MatCreateBCCOO()`, `MatCreateSeqAIJ()`, `MatSetValues()`
@*/
PetscErrorCode MatCreateSeqBCCOO(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt nz, const PetscInt nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(CheckSequential(comm));
  PetscCall(Create(comm, MATBCCOO, m, n, m, n, nz, nnz, 0, NULL, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateBCCOO - Creates a sparse matrix of type `MATBCCOO`

  Collective

  Input Parameters:
+ comm  - MPI communicator
. m     - number of local rows (or `PETSC_DECIDE` to have calculated if `M` is given)
. n     - number of local columns (or `PETSC_DECIDE` to have calculated if `N` is given)
. M     - number of global rows (or `PETSC_DETERMINE` to have calculated if `m` is given)
. N     - number of global columns (or `PETSC_DETERMINE` to have calculated if `n` is given)
. d_nz  - number of nonzeros per row in the diagonal portion of the local submatrix
. d_nnz - array with the number of nonzeros of each row of the diagonal portion, or `NULL`
. o_nz  - number of nonzeros per row in the off-diagonal portion of the local submatrix
- o_nnz - array with the number of nonzeros of each row of the off-diagonal portion, or `NULL`

  Output Parameter:
. A - the matrix

  Level: intermediate

  Note:
  On one process `o_nz` and `o_nnz` are not used. See `MatCreateAIJ()` for the meaning of the two portions.

.seealso: `MATBCCOO`, `MatCreateSeqBCCOO()`, `MatCreateAIJ()`, `MatSetValues()`
@*/
PetscErrorCode MatCreateBCCOO(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(Create(comm, MATBCCOO, m, n, M, N, d_nz, d_nnz, o_nz, o_nnz, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
