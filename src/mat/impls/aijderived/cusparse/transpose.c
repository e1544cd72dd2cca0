/*
  Transposes of sequential matrices whose CSR is on the device. PETSc's are made on the host. Here the nonzeros are sorted on the device;
  of what comes out, the pattern goes to the host, as a matrix of AIJ's has it there, and the values stay on the device. What is made
  again for the same pattern takes its values from the places that were found then.
*/
#include "../seq.h"
#include "cusparse.h"
#include "kernels.h"

#if defined(PETSCCSRC_HAVE_CUDA)
static PetscErrorCode PatternOf(Mat A, AIJPattern *pattern)
{
  const PetscInt *i;
  PetscInt        m;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatGetState(A, &pattern->state));
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &pattern->j, &done)); /* these are AIJ's own arrays: nothing has to be restored */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool SamePattern(const AIJPattern *p, const AIJPattern *q)
{
  return p->state.id == q->state.id && p->state.nonzerostate == q->state.nonzerostate && p->j == q->j ? PETSC_TRUE : PETSC_FALSE;
}

/* Records that B, if it is of these types, is the transpose of A; takes ownership of place, which may be NULL */
static PetscErrorCode Remember(Mat A, Mat B, int *place)
{
  Mat_Derived *g = MatDerivedOf(B);

  PetscFunctionBegin;
  if (!g || !g->cusparse) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCSRCDeviceFree(&g->transpose.place));
  g->transpose.place = place;
  PetscCall(PatternOf(A, &g->transpose.patterns[0]));
  PetscCall(PatternOf(B, &g->transpose.patterns[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gathers the values of B, of these types and not bound to the host, from a CSR on the device, each from its place */
static PetscErrorCode Gather(const AIJCSR *csr, const int *place, Mat B)
{
  const PetscInt *i, *j;
  PetscScalar    *b;

  PetscFunctionBegin;
  MatDerivedCallLent(B, MatSeqAIJCUSPARSEGetIJ(B, PETSC_TRUE, &i, &j)); /* copies the pattern to the device if necessary */
  MatDerivedCallLent(B, MatSeqAIJCUSPARSEGetArrayWrite(B, &b));
  PetscCall(AIJGather(csr->nnz, place, csr->device.a, b));
  MatDerivedCallLent(B, MatSeqAIJCUSPARSERestoreArrayWrite(B, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes *B, which is to be destroyed after an error, A^T with the settings of A. It is assembled at the end, with values, since options may view it then. */
static PetscErrorCode CreateTranspose(Mat A, const AIJCSR *csr, PetscInt i[], PetscInt j[], const int place[], Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, csr->n, csr->m, csr->n, csr->m));
  PetscCall(MatSetBlockSizes(*B, A->cmap->bs, A->rmap->bs));
  PetscCall(MatSetType(*B, MatDerivedOf(A)->kind->seqname)); /* A may have a lent name at this moment */
  PetscCall(MatDerivedCopySettings(A, *B));
  MatDerivedOf(*B)->release = MatDerivedOf(A)->release;
  for (PetscInt r = 0; r < csr->n; r++) i[r] = i[r + 1] - i[r];
  PetscCall(MatSeqAIJSetPreallocation(*B, 0, i));
  PetscCall(MatSeqAIJSetColumnIndices(*B, j));
  PetscCall(MatSetOption(*B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscUseTypeMethod(*B, assemblyend, MAT_FINAL_ASSEMBLY); /* determines which rows the CSR on the device has */
  PetscCall(Gather(csr, place, *B));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransposeAnew(Mat A, MatReuse reuse, Mat *B, PetscBool *done)
{
  PetscInt      *i, *j;
  int           *place;
  AIJCSR         csr;
  Mat            T = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetCSR(A, PETSC_TRUE, &csr));
  if (csr.device.a) PetscCall(AIJTransposePattern(&csr, &i, &j, &place, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = CreateTranspose(A, &csr, i, j, place, &T);
  PetscCall(PetscFree(i));
  PetscCall(PetscFree(j));
  if (ierr) {
    PetscCall(MatDestroy(&T));
    PetscCall(PetscCSRCDeviceFree(&place));
  }
  PetscCall(ierr);
  if (reuse == MAT_INITIAL_MATRIX) {
    PetscCall(Remember(A, T, place));
    *B = T;
  } else {
    PetscCall(PetscCSRCDeviceFree(&place));
    PetscCall(MatHeaderMerge(A, &T));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values for a matrix that is recorded as the transpose of A; places are computed when they are first needed */
static PetscErrorCode TransposeAgain(Mat A, Mat B, PetscBool *done)
{
  Mat_Derived *g = MatDerivedOf(B);
  AIJPattern   now[2];
  AIJCSR       csr;

  PetscFunctionBegin;
  if (!g || !g->cusparse || B->boundtocpu || !B->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatternOf(A, &now[0]));
  PetscCall(PatternOf(B, &now[1]));
  if (!SamePattern(&now[0], &g->transpose.patterns[0]) || !SamePattern(&now[1], &g->transpose.patterns[1])) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDerivedGetCSR(A, PETSC_TRUE, &csr));
  if (!csr.device.a) PetscFunctionReturn(PETSC_SUCCESS);
  *done = PETSC_TRUE;
  if (!g->transpose.place) PetscCall(AIJTransposePattern(&csr, NULL, NULL, &g->transpose.place, done));
  if (*done) PetscCall(Gather(&csr, g->transpose.place, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatTranspose_SeqCUSPARSEDerived(Mat A, MatReuse reuse, Mat *B)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  if (MatDerivedCSROnDevice(A)) {
    if (reuse == MAT_REUSE_MATRIX) PetscCall(TransposeAgain(A, *B, &done));
    else PetscCall(TransposeAnew(A, reuse, B, &done));
  }
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatTranspose_AIJDerived(A, reuse, B));
  if (reuse == MAT_REUSE_MATRIX) PetscCall(MatDerivedWritten(*B)); /* PETSc writes to the array on the host without marking it as the newest */
  if (reuse != MAT_INPLACE_MATRIX) PetscCall(Remember(A, *B, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
