/* Operations that differ where aijcusparse is underneath: tables of operations, and composed functions */
#include "../derivedimpl.h"
#include "kernels.h"

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
PetscErrorCode MatDerivedComposeFetching(Mat A, PetscBool cusparse, PetscBool on)
{
  const struct {
    const char        *name;
    PetscErrorCodeFn  *ours;
    PetscErrorCodeFn **aij;
    PetscBool          always; /* not only with aijcusparse underneath */
  } functions[] = {
    {"MatStoreValues_C",          (PetscErrorCodeFn *)MatStoreValues_SeqAIJDerived,          (PetscErrorCodeFn **)&StoreValues,          PETSC_FALSE},
    {"MatRetrieveValues_C",       (PetscErrorCodeFn *)MatRetrieveValues_SeqAIJDerived,       (PetscErrorCodeFn **)&RetrieveValues,       PETSC_TRUE },
    {"MatIsTranspose_C",          (PetscErrorCodeFn *)MatIsTranspose_SeqAIJDerived,          (PetscErrorCodeFn **)&IsTranspose,          PETSC_FALSE},
    {"MatIsHermitianTranspose_C", (PetscErrorCodeFn *)MatIsHermitianTranspose_SeqAIJDerived, (PetscErrorCodeFn **)&IsHermitianTranspose, PETSC_FALSE},
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(functions); k++) {
    PetscErrorCodeFn *now;

    if (!functions[k].always && !cusparse) continue;
    PetscCall(PetscObjectQueryFunction((PetscObject)A, functions[k].name, &now));
    if (now != functions[k].ours) *functions[k].aij = now;
    PetscCall(PetscObjectComposeFunction((PetscObject)A, functions[k].name, on ? functions[k].ours : *functions[k].aij));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
/* PETSc replaces operations and composed functions when an aijcusparse matrix is bound to the host, or no longer so; those of these types are installed again */
static PetscErrorCode MatBindToCPU_SeqCUSPARSEDerived(Mat A, PetscBool flg)
{
  Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  PetscCall(MatDerivedRestoreOperations(A));
  PetscUseTypeMethod(A, bindtocpu, flg);
  if (flg && A->offloadmask == PETSC_OFFLOAD_BOTH) A->offloadmask = PETSC_OFFLOAD_CPU; /* PETSc does not mark changes on the host from now on */
  PetscCall(MatDerivedReinstall(A));
  if (f->cache.built && f->cache.ondevice == MatDerivedBoundToCPU(A)) PetscCall(MatDerivedReset(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_SeqCUSPARSEDerived(Mat A, PetscScalar a)
{
  PetscFunctionBegin;
  MatDerivedCallLent(A, (*MatDerivedOf(A)->base.scale)(A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalScale_SeqCUSPARSEDerived(Mat A, Vec l, Vec r)
{
  const Vec      given[2] = {l, r};
  Vec            own[2]   = {NULL, NULL}, v[2];
  PetscErrorCode ierr;
  AIJLent        lent;

  PetscFunctionBegin;
  if (A->boundtocpu) {
    PetscCall((*MatDerivedOf(A)->base.diagonalscale)(A, l, r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDerivedVecToDevice(given[k], PETSC_TRUE, &own[k], &v[k]));
  PetscCall(MatDerivedLend(1, &A, &lent));
  ierr = (*MatDerivedOf(A)->base.diagonalscale)(A, v[0], v[1]);
  PetscCall(MatDerivedTakeBack(1, &lent));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&own[k]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies values between matrices with the same pattern whose CSRs are on the device; AIJ's function copies on the host */
static PetscErrorCode MatCopy_SeqCUSPARSEDerived(Mat A, Mat B, MatStructure str)
{
  const Mat_Derived *f = MatDerivedOf(A), *g = MatDerivedOf(B);
  MatInfo            info[2];
  const Mat          both[2] = {A, B};
  AIJLent            lent[2];
  PetscErrorCode     ierr;
  const PetscScalar *a;
  PetscScalar       *b;

  PetscFunctionBegin;
  if (str == SAME_NONZERO_PATTERN && g && g->cusparse && MatDerivedCSROnDevice(A) && MatDerivedCSROnDevice(B)) {
    PetscCall(MatGetInfo(A, MAT_LOCAL, &info[0]));
    PetscCall(MatGetInfo(B, MAT_LOCAL, &info[1]));
    PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "SAME_NONZERO_PATTERN, but %g and %g nonzeros", info[0].nz_used, info[1].nz_used);
    PetscCall(MatDerivedLend(2, both, lent));
    ierr = MatSeqAIJCUSPARSEGetArrayRead(A, &a);
    if (!ierr) ierr = MatSeqAIJCUSPARSEGetArrayWrite(B, &b);
    if (!ierr) ierr = PetscCSRCDeviceCopy(b, PETSC_MEMTYPE_CUDA, a, PETSC_MEMTYPE_CUDA, (PetscInt)info[0].nz_used);
    if (!ierr) ierr = MatSeqAIJCUSPARSERestoreArrayWrite(B, &b);
    if (!ierr) ierr = MatSeqAIJCUSPARSERestoreArrayRead(A, &a);
    PetscCall(MatDerivedTakeBack(2, lent));
    PetscCall(ierr);
  } else PetscCall((*f->base.copy)(A, B, str));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's function copies values on the host. That suits where the host has the newest ones: they go to the device together with the pattern. */
static PetscErrorCode MatDuplicate_SeqCUSPARSEDerived(Mat A, MatDuplicateOption op, Mat *B)
{
  const PetscBool ondevice = op == MAT_COPY_VALUES && !A->boundtocpu && A->offloadmask == PETSC_OFFLOAD_GPU ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt *i, *j;

  PetscFunctionBegin;
  PetscCall(MatDuplicate_AIJDerived(A, ondevice ? MAT_DO_NOT_COPY_VALUES : op, B));
  if (ondevice) {
    MatDerivedCallLent(*B, MatSeqAIJCUSPARSEGetIJ(*B, PETSC_TRUE, &i, &j)); /* copies the pattern to the device */
    PetscCall(MatCopy_SeqCUSPARSEDerived(A, *B, SAME_NONZERO_PATTERN));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds *a, or the entries of d if a is NULL, to the diagonal, or inserts them, if the CSR is on the device and has all entries of the diagonal */
static PetscErrorCode ChangeDiagonal(Mat A, const PetscScalar *a, Vec d, InsertMode mode, PetscBool *done)
{
  const PetscScalar *entries = NULL;
  const PetscInt    *i, *j;
  PetscScalar       *values;
  PetscErrorCode     ierr;
  AIJLent            lent;
  Vec                own = NULL, v;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!A->assembled || !A->rmap->n || !MatDerivedCSROnDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetDiagonalMarkers_SeqAIJ(A, NULL, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedVecToDevice(d, PETSC_TRUE, &own, &v));
  if (v) PetscCall(VecCUDAGetArrayRead(v, &entries));
  PetscCall(MatDerivedLend(1, &A, &lent));
  ierr = MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &i, &j);
  if (!ierr) ierr = MatSeqAIJCUSPARSEGetArray(A, &values);
  if (!ierr) ierr = AIJChangeDiagonal(A->rmap->n, i, j, a, entries, mode, values);
  if (!ierr) ierr = MatSeqAIJCUSPARSERestoreArray(A, &values);
  PetscCall(MatDerivedTakeBack(1, &lent));
  if (v) PetscCall(VecCUDARestoreArrayRead(v, &entries));
  PetscCall(VecDestroy(&own));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShift_SeqCUSPARSEDerived(Mat A, PetscScalar a)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(ChangeDiagonal(A, &a, NULL, ADD_VALUES, &done));
  if (!done) PetscCall(MatShift_AIJDerived(A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalSet_SeqCUSPARSEDerived(Mat A, Vec d, InsertMode mode)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  if (mode == ADD_VALUES || mode == INSERT_VALUES) PetscCall(ChangeDiagonal(A, NULL, d, mode, &done));
  if (!done) PetscCall((*MatDerivedOf(A)->base.diagonalset)(A, d, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MPIAIJ's function sets values on the host. If on all processes the diagonal is that of the diagonal block and has all entries, the blocks are shifted. */
static PetscErrorCode MatShift_MPICUSPARSEDerived(Mat A, PetscScalar a)
{
  PetscBool inblock = A->rmap->rstart == A->cmap->rstart && A->rmap->n == A->cmap->n ? PETSC_TRUE : PETSC_FALSE;
  Mat       Ad;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, NULL, NULL));
  if (inblock) PetscCall(MatGetDiagonalMarkers_SeqAIJ(Ad, NULL, &inblock));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &inblock, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (!inblock) PetscCall(MatShift_AIJDerived(A, a));
  else if (Ad->rmap->n) PetscCall(MatShift(Ad, a)); /* AIJ's function preallocates a matrix without entries */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* aijcusparse's function expects row pointers for all rows; rows without nonzeros may be left out of the CSR on the device */
static PetscErrorCode MatGetDiagonal_SeqCUSPARSEDerived(Mat A, Vec d)
{
  const PetscInt *i[2], *j;
  PetscScalar    *diagonal;
  PetscErrorCode  ierr = PETSC_SUCCESS;
  AIJCSR          csr;
  AIJLent         lent;
  Vec             own = NULL, v;

  PetscFunctionBegin;
  if (!MatDerivedCSROnDevice(A)) { /* then it works on the host */
    PetscCall((*MatDerivedOf(A)->base.getdiagonal)(A, d));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDerivedLend(1, &A, &lent));
  for (int k = 0; k < 2 && !ierr; k++) ierr = MatSeqAIJCUSPARSEGetIJ(A, k ? PETSC_TRUE : PETSC_FALSE, &i[k], &j);
  PetscCall(MatDerivedTakeBack(1, &lent));
  PetscCall(ierr);
  if (i[0] == i[1]) {
    PetscCall(MatDerivedVecToDevice(d, PETSC_FALSE, &own, &v));
    PetscCall((*MatDerivedOf(A)->base.getdiagonal)(A, v));
    PetscCall(MatDerivedVecFromDevice(d, v));
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
static PetscErrorCode MatZeroEntries_SeqCUSPARSEDerived(Mat A)
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
static PetscErrorCode MatGetColumnReductions_SeqCUSPARSEDerived(Mat A, PetscInt type, PetscReal *reductions)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedFetch(A));
  PetscCall((*MatDerivedOf(A)->base.getcolumnreductions)(A, type, reductions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatEliminateZeros_SeqCUSPARSEDerived(Mat A, PetscBool keep)
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

static PetscErrorCode MatCreateVecs_MPICUSPARSEDerived(Mat A, Vec *right, Vec *left)
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
static PetscErrorCode MatFDColoringSetUp_CUSPARSEDerived(Mat A, ISColoring colors, MatFDColoring c)
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

const AIJOperation MatDerivedSeqCUSPARSEOperations[] = {
  AIJ_OPERATION(bindtocpu, MatBindToCPU_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(scale, MatScale_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(diagonalscale, MatDiagonalScale_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(copy, MatCopy_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(duplicate, MatDuplicate_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(transpose, MatTranspose_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(shift, MatShift_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(diagonalset, MatDiagonalSet_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(zeroentries, MatZeroEntries_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getdiagonal, MatGetDiagonal_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(getcolumnreductions, MatGetColumnReductions_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(eliminatezeros, MatEliminateZeros_SeqCUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(productsetfromoptions, MatProductSetFromOptions_SeqAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(fdcoloringsetup, MatFDColoringSetUp_CUSPARSEDerived, OVERRIDE_ALWAYS),
  {0, NULL, OVERRIDE_ALWAYS},
};

const AIJOperation MatDerivedMPICUSPARSEOperations[] = {
  AIJ_OPERATION(getvecs, MatCreateVecs_MPICUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(shift, MatShift_MPICUSPARSEDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(productsetfromoptions, MatProductSetFromOptions_MPIAIJDerived, OVERRIDE_ALWAYS),
  AIJ_OPERATION(fdcoloringsetup, MatFDColoringSetUp_CUSPARSEDerived, OVERRIDE_ALWAYS),
  {0, NULL, OVERRIDE_ALWAYS},
};
#else
const AIJOperation MatDerivedSeqCUSPARSEOperations[] = {
  {0, NULL, OVERRIDE_ALWAYS}
};
const AIJOperation MatDerivedMPICUSPARSEOperations[] = {
  {0, NULL, OVERRIDE_ALWAYS}
};
#endif
