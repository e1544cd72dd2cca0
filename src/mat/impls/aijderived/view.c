/* Memory of the stored nonzeros, and views of a matrix */
#include "seq.h"
#include "parallel/parallel.h"
#include "sys/threads.h"

#define NOT_BUILT "%s format: none yet (nonzeros are stored once products repay it, or at the first one with -mat_form_store_at_once)\n"

PetscErrorCode MatDerivedGetBytes(Mat A, PetscLogDouble *bytes)
{
  const Mat_Derived *f = MatDerivedOf(A);

  PetscFunctionBegin;
  *bytes = 0.0;
  if (f->cache.stored.format) PetscCall((*f->cache.stored.format->getmemory)(f->cache.stored.data, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatFormGetMemory_SeqAIJDerived(Mat A, PetscLogDouble *bytes, PetscMemType *mtype)
{
  PetscFunctionBegin;
  PetscCall(MatDerivedUpdate(A));
  PetscCall(MatDerivedGetBytes(A, bytes));
  *mtype = MatDerivedOf(A)->cache.ondevice ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatFormGetMemory - Gets the memory of the stored form that the products of a `MATCSRCCUDA` or `MATBCCOO` matrix use

  Collective

  Input Parameter:
. A - the assembled matrix

  Output Parameters:
+ bytes - the bytes kept between products, including scratch, summed over all MPI processes; the CSR of the matrix is not counted
- mtype - the type of the memory in which the form is, on this MPI process

  Level: intermediate

  Notes:
  The form is built if it has not been built yet.

  It is an error if the matrix is of another type, or not assembled.

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `MatGetInfo()`
@*/
PetscErrorCode MatFormGetMemory(Mat A, PetscLogDouble *bytes, PetscMemType *mtype)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(bytes, 2);
  PetscAssertPointer(mtype, 3);
  PetscUseMethod(A, "MatFormGetMemory_C", (Mat, PetscLogDouble *, PetscMemType *), (A, bytes, mtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatFormGetMemory_MPIAIJDerived(Mat A, PetscLogDouble *bytes, PetscMemType *mtype)
{
  Mat            parts[2];
  PetscLogDouble part, local = 0.0;
  PetscErrorCode ierr = PETSC_SUCCESS;
  int            n;

  PetscFunctionBegin;
  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Matrix of type %s must be assembled first", ((PetscObject)A)->type_name);
  PetscCall(MatDerivedUpdateMPI(A, 1));
  PetscCall(MatDerivedGetLocal(A, parts, &n));
  /* on the host this may store the nonzeros, which can fail on one process only */
  for (int k = 0; k < n && !ierr; k++) {
    ierr = MatFormGetMemory(parts[k], &part, mtype);
    if (!ierr) local += part;
  }
  PetscCall(PetscCSRCAgree(PetscObjectComm((PetscObject)A), ierr, "Storing the nonzeros"));
  PetscCallMPI(MPIU_Allreduce(&local, bytes, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Prints bytes per nonzero with and without the CSR, for kinds on the host and for matrices without CSR. The CSR counts as i, j, a, and the two lengths
  that AIJ keeps for each row.
*/
static PetscErrorCode MatDerivedViewBytes(Mat A, PetscViewer viewer, PetscLogDouble rows, PetscLogDouble nnz, PetscLogDouble bytes)
{
  const Mat_Derived   *f   = MatDerivedOf(A);
  const PetscLogDouble csr = nnz * (sizeof(PetscInt) + sizeof(PetscScalar)) + 3.0 * rows * sizeof(PetscInt);

  PetscFunctionBegin;
  if ((f->kind->usesdevice && !f->released) || nnz == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (f->released) PetscCall(PetscViewerASCIIPrintf(viewer, "memory: %.2f bytes per nonzero without the CSR, which is freed (%s); %.2f with it\n", bytes / nnz, MAT_FORM_RELEASE, (bytes + csr) / nnz));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "memory: %.2f bytes per nonzero with the CSR, which is kept; %.2f without it (%s)\n", (bytes + csr) / nnz, bytes / nnz, MAT_FORM_RELEASE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDerivedViewInfo_Seq(Mat A, PetscViewer viewer)
{
  const Mat_Derived *f = MatDerivedOf(A);
  PetscViewerFormat  format;
  PetscLogDouble     bytes;
  PetscBool          detail;

  PetscFunctionBegin;
  PetscCall(PetscViewerGetFormat(viewer, &format));
  detail = format == PETSC_VIEWER_ASCII_INFO_DETAIL ? PETSC_TRUE : PETSC_FALSE;
  if (!f->cache.built) PetscCall(PetscViewerASCIIPrintf(viewer, NOT_BUILT, f->kind->name));
  else if (!f->cache.nnz) PetscCall(PetscViewerASCIIPrintf(viewer, "%s format: none, there are no nonzeros\n", f->kind->name));
  else {
    PetscCall(MatDerivedGetBytes(A, &bytes));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s format: %s, %" PetscInt_FMT " nonzeros, %.2f bytes per nonzero\n", f->kind->name, f->cache.stored.format->name, f->cache.nnz, bytes / f->cache.nnz));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall((*f->cache.stored.format->view)(f->cache.stored.data, viewer, detail));
    if (detail) PetscCall(PetscViewerASCIIPrintf(viewer, "threads of the host: at most %d (%s)\n", f->cache.nthreads, f->cache.threadsfrom));
    PetscCall(PetscViewerASCIIPopTab(viewer));
    PetscCall(MatDerivedViewBytes(A, viewer, f->cache.m, f->cache.nnz, bytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints info about the local matrices of all processes; collective; like the sequential function it stores nothing */
static PetscErrorCode MatDerivedViewInfo_MPI(Mat A, PetscViewer viewer)
{
  const Mat_Derived *f = MatDerivedOf(A);
  enum {
    BYTES,
    NONZEROS, /* that are stored */
    STORED,   /* the number of local matrices whose nonzeros are stored, ... */
    LEFT,     /* ... and are not */
    N
  };
  PetscLogDouble    all[N] = {0};
  Mat               blocks[2];
  PetscViewerFormat format;
  int               n;

  PetscFunctionBegin;
  PetscCall(MatDerivedGetLocal(A, blocks, &n));
  for (int k = 0; k < n; k++) {
    const Mat_Derived *part  = MatDerivedOf(blocks[k]);
    PetscLogDouble     bytes = 0.0;

    if (part->cache.built) {
      PetscCall(MatDerivedGetBytes(blocks[k], &bytes));
      all[BYTES] += bytes;
      all[NONZEROS] += (PetscLogDouble)part->cache.nnz;
      all[STORED] += part->cache.nnz ? 1 : 0;
    } else if (blocks[k]->rmap->n && blocks[k]->cmap->n) all[LEFT]++;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, N, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)A)));
  if (all[LEFT] > 0 && !all[STORED]) PetscCall(PetscViewerASCIIPrintf(viewer, NOT_BUILT, f->kind->name));
  else {
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s format, ", f->kind->name));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    if (all[LEFT] > 0) PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " of %" PetscInt_FMT " blocks, the others are left to AIJ", (PetscInt)all[STORED], (PetscInt)(all[STORED] + all[LEFT])));
    else PetscCall(PetscViewerASCIIPrintf(viewer, "%s on all processes", n == 1 ? "all rows" : "both blocks"));
    PetscCall(PetscViewerASCIIPrintf(viewer, ": %.2f bytes per nonzero\n", all[NONZEROS] > 0 ? all[BYTES] / all[NONZEROS] : 0.0));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
    if (!all[LEFT]) PetscCall(MatDerivedViewBytes(A, viewer, 2.0 * A->rmap->N, all[NONZEROS], all[BYTES]));
  }
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (f->parallel.exchange) {
    char text[256];

    PetscCall(PetscCSRCExchangeDescribe(f->parallel.exchange, text, sizeof(text)));
    PetscCall(PetscViewerASCIIPrintf(viewer, "exchange of vectors %s\n", text));
    if (f->parallel.slower[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", f->parallel.slower));
  }
  if (format == PETSC_VIEWER_ASCII_INFO_DETAIL && (all[STORED] > 0 || !all[LEFT])) {
    const Mat_Derived *diagonal = MatDerivedOf(blocks[0]);
    const char        *from     = diagonal->cache.threadsfrom;
    const int          threads  = from ? diagonal->cache.nthreads : PetscCSRCGetNumThreads(&from); /* a process without rows stores nothing */
    int                most[2]  = {threads, -threads};

    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 2, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
    if (most[0] == -most[1]) PetscCall(PetscViewerASCIIPrintf(viewer, "threads of each process: at most %d (%s)\n", most[0], from));
    else PetscCall(PetscViewerASCIIPrintf(viewer, "threads of a process: at most %d to %d (%s)\n", -most[1], most[0], from));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewerWantsInfo(PetscViewer viewer, PetscBool *info)
{
  PetscViewerFormat format;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, info));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL) *info = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Views a matrix without CSR by a temporary AIJ copy, for all formats but ASCII info */
static PetscErrorCode ViewCopy(Mat A, PetscViewer viewer)
{
  Mat         B;
  const char *name;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(PetscObjectGetName((PetscObject)A, &name));
  PetscCall(PetscObjectSetName((PetscObject)B, name));
  PetscUseTypeMethod(B, view, viewer); /* MatView() has already printed the header */
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One function for all types of kinds: PETSc gives a duplicate the view function of the original, which may be of another of these types */
PetscErrorCode MatView_AIJDerived(Mat A, PetscViewer viewer)
{
  const Mat_Derived *f = MatDerivedOf(A);
  PetscBool          info, isseq;

  PetscFunctionBegin;
  PetscCall(ViewerWantsInfo(viewer, &info));
  if (!f->released) PetscCall((*f->base.view)(A, viewer));
  else if (!info) PetscCall(ViewCopy(A, viewer));
  if (!info) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &isseq, MATSEQAIJ, f->kind->releasedseqname, ""));
  if (isseq) PetscCall(MatDerivedViewInfo_Seq(A, viewer));
  else if (f->released || (A->assembled && !A->structure_only)) PetscCall(MatDerivedViewInfo_MPI(A, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
