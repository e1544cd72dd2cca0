/*
  Faults of PETSc 3.26.1 that are mended from outside, a function for each. None is mended in a release yet: with the first one that has it the function
  goes, and its line here. contrib/petsc has the smallest programs.

    function here                     PETSc's                               what is wrong                                                      shown by
    MatDerivedCorrectBlockSizes       MatMPIAIJSetPreallocation()           blocks of mpiaijcusparse keep the block size 1                     blocksize.c
    MatDerivedBringToDevice           MatSetValuesCOO_MPIAIJCUSPARSE()      takes the CSRs of the blocks to be on the device                   mat/coodevice
    MatDerivedDropTranspose           MatProductNumeric_SeqAIJCUSPARSE...   keeps the transpose of a result that it computes again             staletranspose.c
    MatDerivedZeroOnDevice            MatProductSymbolic_SeqAIJCUSPARSE...  reads values that an operand does not have yet                     ptap.c
    MatDerivedTransposeAdd            MatMultTransposeAdd_SeqAIJCUSPARSE()  adds the old contents of its result                                transposeadd.c
    MatGetDiagonal_...                MatGetDiagonal_SeqAIJCUSPARSE()       expects row pointers for all rows                                  mat/devicevalues
    MatZeroEntries_...                MatZeroEntries_SeqAIJCUSPARSE()       writes on the device after a new pattern on the host               mat/devicevalues
    MatGetColumnReductions_...,       the same of SeqAIJ                    read, and write, the array on the host though the device has       mat/devicevalues
      EliminateZeros, StoreValues,                                          newer values
      RetrieveValues, IsTranspose
    MatCreateVecs_MPI...              VecSetType() to VECMPICUDA            allocates page-locked memory at once: slow, not wrong              pagelocked.c
    MatFDColoringSetUp_...            VecCopy() to a bound vector           is lost: Jacobians by colors are wrong                             boundcopy.c

  Factors of solver type cusparse have faults of their own (factor.c; factorsolves.c). So has MatNorm() with NORM_1 in parallel, for matrices without CSR
  too (parallel/norm.c; norm1.c).
*/
#include "cusparse.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

/* PCPBJACOBI reads beyond the inverted diagonals of a block with the block size 1 */
PetscErrorCode MatDerivedCorrectBlockSizes(Mat A, Mat block, PetscInt cbs)
{
  PetscFunctionBegin;
  if (block->rmap->bs != A->rmap->bs || block->cmap->bs != cbs) PetscCall(MatSetBlockSizes(block, A->rmap->bs, cbs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* aijcusparse's A^T u + z is right if z is y */
PetscErrorCode MatDerivedTransposeAdd(Mat A, PetscErrorCode (*multtransposeadd)(Mat, Vec, Vec, Vec), Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  if (z != y) PetscCall(VecCopy(z, y));
  PetscCall((*multtransposeadd)(A, x, y, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions that AIJ composes, the same for all matrices, and those composed in their place */
static PetscErrorCode (*StoreValues)(Mat), (*RetrieveValues)(Mat), (*IsTranspose)(Mat, Mat, PetscReal, PetscBool *), (*IsHermitianTranspose)(Mat, Mat, PetscReal, PetscBool *);

static PetscErrorCode MatStoreValues_SeqAIJDerived(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedFetch(A));
  PetscCall((*StoreValues)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRetrieveValues_SeqAIJDerived(Mat A)
{
  PetscFunctionBegin;
  PetscCall((*RetrieveValues)(A));
  PetscCall(MatDerivedWritten(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatIsTranspose_SeqAIJDerived(Mat A, Mat B, PetscReal tol, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedFetch(A));
  PetscCall(MatDerivedFetch(B));
  PetscCall((*IsTranspose)(A, B, tol, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatIsHermitianTranspose_SeqAIJDerived(Mat A, Mat B, PetscReal tol, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedFetch(A));
  PetscCall(MatDerivedFetch(B));
  PetscCall((*IsHermitianTranspose)(A, B, tol, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc before 3.26 does not say, on the host either, that MatRetrieveValues() changes values */
const AIJComposed MatDerivedSeqComposed[] = {
  {"MatRetrieveValues_C", (PetscErrorCodeFn *)MatRetrieveValues_SeqAIJDerived, (PetscErrorCodeFn **)&RetrieveValues},
  {NULL,                  NULL,                                                NULL                                },
};

const AIJComposed MatDerivedSeqCUSPARSEComposed[] = {
  {"MatRetrieveValues_C",       (PetscErrorCodeFn *)MatRetrieveValues_SeqAIJDerived,       (PetscErrorCodeFn **)&RetrieveValues      },
  {"MatStoreValues_C",          (PetscErrorCodeFn *)MatStoreValues_SeqAIJDerived,          (PetscErrorCodeFn **)&StoreValues         },
  {"MatIsTranspose_C",          (PetscErrorCodeFn *)MatIsTranspose_SeqAIJDerived,          (PetscErrorCodeFn **)&IsTranspose         },
  {"MatIsHermitianTranspose_C", (PetscErrorCodeFn *)MatIsHermitianTranspose_SeqAIJDerived, (PetscErrorCodeFn **)&IsHermitianTranspose},
  {NULL,                        NULL,                                                      NULL                                      },
};

#if defined(PETSCCSRC_HAVE_CUDA)
/* The CSRs of the blocks of a duplicate are on the host */
PetscErrorCode MatDerivedBringToDevice(Mat A)
{
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUSPARSEGetArrayRead(A, &a));
  PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writing access drops the transpose that a matrix keeps */
PetscErrorCode MatDerivedDropTranspose(Mat C)
{
  PetscScalar *c;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUSPARSEGetArrayWrite(C, &c));
  PetscCall(MatSeqAIJCUSPARSERestoreArrayWrite(C, &c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Inside a product of three an operand can have a pattern and no values yet. PETSc would copy there what its memory on the host happens to hold, and take
  the product for complete. With some of this cuSPARSE does not return (S23). So the values are zero for this step, on the device alone.
*/
PetscErrorCode MatDerivedZeroOnDevice(Mat A)
{
  const PetscInt *i, *j;
  PetscScalar    *a;
  cudaStream_t    stream;
  MatInfo         info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(MatSeqAIJCUSPARSEGetIJ(A, PETSC_TRUE, &i, &j)); /* now it has arrays on the device */
  PetscCall(MatSeqAIJCUSPARSEGetArrayWrite(A, &a));
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaMemsetAsync(a, 0, (size_t)info.nz_used * sizeof(*a), stream));
  PetscCall(MatSeqAIJCUSPARSERestoreArrayWrite(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* aijcusparse's function expects row pointers for all rows; rows without nonzeros may be left out of the CSR on the device */
PetscErrorCode MatGetDiagonal_SeqCUSPARSEDerived(Mat A, Vec d)
{
  const PetscInt *i[2], *j;
  PetscScalar    *diagonal;
  AIJCSR          csr;
  Vec             own = NULL, v;

  PetscFunctionBegin;
  if (!MatDerivedCSROnDevice(A)) { /* then it works on the host */
    PetscCall((*MatDerivedOf(A)->base.getdiagonal)(A, d));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < 2; k++) MatDerivedCallLent(A, MatSeqAIJCUSPARSEGetIJ(A, k ? PETSC_TRUE : PETSC_FALSE, &i[k], &j));
  if (i[0] == i[1]) {
    PetscCall(MatDerivedVecToDevice(d, PETSC_FALSE, &own, &v));
    PetscCall((*MatDerivedOf(A)->base.getdiagonal)(A, v));
    PetscCall(MatDerivedCopyEntries(v, d));
    PetscCall(VecDestroy(&own));
  } else {
    PetscCall(MatDerivedGetCSR(A, PETSC_FALSE, &csr));
    PetscCall(VecGetArrayWrite(d, &diagonal));
    for (PetscInt r = 0; r < csr.m; r++) {
      PetscInt k = csr.i[r];

      while (k < csr.i[r + 1] && csr.j[k] != r) k++;
      diagonal[r] = k < csr.i[r + 1] ? csr.a[k] : (PetscScalar)0.0;
    }
    PetscCall(VecRestoreArrayWrite(d, &diagonal));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* aijcusparse's function writes to the array on the device even if the pattern has changed on the host since */
PetscErrorCode MatZeroEntries_SeqCUSPARSEDerived(Mat A)
{
  PetscScalar *a;
  MatInfo      info;

  PetscFunctionBegin;
  if (MatDerivedCSROnDevice(A)) PetscCall((*MatDerivedOf(A)->base.zeroentries)(A));
  else {
    PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArrayWrite(A, &a));
    PetscCall(PetscArrayzero(a, (PetscCount)info.nz_used));
    PetscCall(MatSeqAIJRestoreArrayWrite(A, &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Some functions of AIJ read or write the array on the host as it stands, where the newest values may be on the device. The array is
  fetched before them, and after those that write it is made the newest.
*/
PetscErrorCode MatGetColumnReductions_SeqCUSPARSEDerived(Mat A, PetscInt type, PetscReal *reductions)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedFetch(A));
  PetscCall((*MatDerivedOf(A)->base.getcolumnreductions)(A, type, reductions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatEliminateZeros_SeqCUSPARSEDerived(Mat A, PetscBool keep)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedFetch(A));
  PetscCall((*MatDerivedOf(A)->base.eliminatezeros)(A, keep));
  PetscCall(MatDerivedWritten(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc gives each parallel vector on a device, but no sequential one, page-locked memory on the host when it is created: 16 ms for 32 MB. Here such
  memory is allocated when it is first needed.
*/
static PetscErrorCode CreateVec(Mat A, PetscLayout map, Vec *v)
{
  PetscFunctionBegin;
  PetscCall(VecCreateMPICUDAWithArrays(PetscObjectComm((PetscObject)A), PetscAbs(map->bs), map->n, map->N, NULL, NULL, v));
  PetscCall(VecSetLayout(*v, map)); /* it may have a local numbering */
  PetscCall(VecSet(*v, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateVecs_MPICUSPARSEDerived(Mat A, Vec *right, Vec *left)
{
  PetscErrorCode (*const getvecs)(Mat, Vec *, Vec *) = A->ops->getvecs;
  PetscErrorCode ierr;
  PetscMPIInt    size;
  PetscBool      iscuda;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(PetscStrcmp(A->defaultvectype, VECCUDA, &iscuda));
  if (size == 1 || !iscuda || A->boundtocpu || A->rmap->n < 0 || A->cmap->n < 0) {
    A->ops->getvecs = NULL;
    ierr            = MatCreateVecs(A, right, left);
    A->ops->getvecs = getvecs;
    PetscCall(ierr);
  } else {
    if (right) PetscCall(CreateVec(A, A->cmap, right));
    if (left) PetscCall(CreateVec(A, A->rmap, left));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc binds the work vectors of a Jacobian by colors to the host, but marks their zeros as current on the device too: a result of the function that is
  on the device, which SNES and TS give, is then copied to the device, from where no operation of a bound vector reads it. So the zeros become the host's.
*/
PetscErrorCode MatFDColoringSetUp_CUSPARSEDerived(Mat A, ISColoring colors, MatFDColoring c)
{
  const Vec    work[] = {c->w1, c->w2};
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall((*MatDerivedOf(A)->base.fdcoloringsetup)(A, colors, c));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(work); k++) {
    PetscCall(VecGetArrayWrite(work[k], &a));
    PetscCall(VecRestoreArrayWrite(work[k], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
