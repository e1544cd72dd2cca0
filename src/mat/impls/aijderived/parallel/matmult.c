/*
  Products of the parallel type with parallel dense matrices, from the stored nonzeros of its local matrices. For A X, ghost rows of X are
  received from their owners while the product of the diagonal block is computed. For A^T X, the product of the off-diagonal block gives
  ghost rows of the result, which are added to the rows of their owners. PETSc's functions for MPIAIJ would read the CSR of the
  off-diagonal block. As with vectors (mult.c), errors of a block's product are returned after the exchange.
*/
#include "parallel.h"

#define AIJ_BATCH AIJ_PART "_batch" /* composed with a product: how many columns it multiplies at a time; 0: all */

/* Creates the dense matrices for K columns of ghost entries, and of what is computed for them, in the memory where A multiplies, or of the exchange */
static PetscErrorCode CreateGhostRows(Mat A, PetscInt K)
{
  AIJParallel *p = &MatDerivedOf(A)->parallel;
  PetscInt     n, panel;
  PetscScalar *rows;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->rows));
  PetscCall(PetscCSRCExchangeGetGhosts(p->exchange, &n, NULL));
  PetscCall(PetscCSRCExchangeGetPanel(p->exchange, K, &panel, &rows));
  if (panel < K) PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, VECCUDA, n, K, n, K, n, rows, &p->rows));
  else PetscCall(MatDerivedCreateDense(A, n, K, &p->rows));
  PetscCall(MatDerivedPrepareOff(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps the matrix of ghost rows while K is the same, since SLEPc repeats products of one shape. K changes on all processes at once. */
static PetscErrorCode GetGhostRows(Mat A, PetscInt K)
{
  AIJParallel   *p = &MatDerivedOf(A)->parallel;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (p->rows && p->rows->cmap->n == K) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscCSRCAgree(PetscObjectComm((PetscObject)A), CreateGhostRows(A, K), "Room for ghost rows");
  if (ierr) PetscCall(MatDestroy(&p->rows)); /* on all processes, which then make it again together */
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FinishProduct(Mat C)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(C, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A B for the local parts of B and C; collective */
static PetscErrorCode LocalAB(Mat A, Mat B, Mat C)
{
  AIJParallel            *p = &MatDerivedOf(A)->parallel;
  PetscCSRCExchangeArrays v = {.K = C->cmap->n};
  Mat                     Ad, Ao;
  PetscErrorCode          ierr = PETSC_SUCCESS; /* of the diagonal block's product */

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
  PetscCall(MatDenseGetLDA(B, &v.own.ld));
  PetscCall(MatDenseGetLDA(p->rows, &v.ghost.ld));
  PetscCall(MatDenseGetArrayReadAndMemType(B, (const PetscScalar **)&v.own.a, &v.own.mem));
  PetscCall(MatDenseGetArrayWriteAndMemType(p->rows, &v.ghost.a, &v.ghost.mem));
  PetscCall(PetscCSRCExchangeBegin(p->exchange, PETSCCSRC_FORWARD, &v));
  if (!p->whole) ierr = MatDerivedApplyDense(Ad, AIJ_N, B, C);
  PetscCall(PetscCSRCExchangeEnd(p->exchange, PETSCCSRC_FORWARD, &v));
  PetscCall(MatDenseRestoreArrayWriteAndMemType(p->rows, &v.ghost.a));
  PetscCall(MatDenseRestoreArrayReadAndMemType(B, (const PetscScalar **)&v.own.a));
  PetscCall(ierr);
  if (p->whole) PetscCall(MatDerivedApplyDense(p->whole, AIJ_N, p->rows, C));
  else PetscCall(MatDerivedOffMatMultAdd(A, p->rows, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A^T B for the local parts of B and C; collective */
static PetscErrorCode LocalAtB(Mat A, Mat B, Mat C)
{
  AIJParallel            *p = &MatDerivedOf(A)->parallel;
  PetscCSRCExchangeArrays v = {.K = C->cmap->n};
  Mat                     Ad, Ao;
  PetscScalar            *array;
  PetscCSRCDirection      direction;
  PetscErrorCode          ierr; /* of the products */

  PetscFunctionBegin;
  PetscCall(MatDerivedGetBlocks(A, &Ad, &Ao, NULL));
  direction = p->whole ? PETSCCSRC_REVERSE_INSERT : PETSCCSRC_REVERSE_ADD;
  PetscCall(MatDenseGetLDA(C, &v.own.ld));
  PetscCall(MatDenseGetLDA(p->rows, &v.ghost.ld));
  ierr = p->whole ? MatDerivedApplyDense(p->whole, AIJ_T, B, p->rows) : MatDerivedOffTransposeMatMult(A, B, p->rows);
  PetscCall(MatDenseGetArrayAndMemType(p->rows, &v.ghost.a, &v.ghost.mem));
  /* the address of C's entries; the product of the diagonal block writes them before the exchange adds to them */
  PetscCall(MatDenseGetArrayWriteAndMemType(C, &array, &v.own.mem));
  v.own.a = array;
  PetscCall(MatDenseRestoreArrayWriteAndMemType(C, &array));
  PetscCall(PetscCSRCExchangeBegin(p->exchange, direction, &v));
  if (!p->whole && !ierr) ierr = MatDerivedApplyDense(Ad, AIJ_T, B, C);
  PetscCall(MatDenseGetArrayAndMemType(C, &v.own.a, &v.own.mem));
  PetscCall(PetscCSRCExchangeEnd(p->exchange, direction, &v));
  PetscCall(MatDenseRestoreArrayAndMemType(C, &v.own.a));
  PetscCall(MatDenseRestoreArrayAndMemType(p->rows, &v.ghost.a));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns k .. end - 1 of the local parts of B and C, both or none; may fail on one process only */
static PetscErrorCode GetColumns(Mat B, Mat C, PetscInt k, PetscInt end, Mat *Bk, Mat *Ck)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *Bk = *Ck = NULL;
  PetscCall(MatDenseGetSubMatrix(B, PETSC_DECIDE, PETSC_DECIDE, k, end, Bk));
  ierr = MatDenseGetSubMatrix(C, PETSC_DECIDE, PETSC_DECIDE, k, end, Ck);
  if (ierr) PetscCall(MatDenseRestoreSubMatrix(B, Bk));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same two with the pattern gather, in panels of so many columns. In A B all panels are sent at first, and each is multiplied when it has arrived; in A^T B
  each is sent when it is computed.
*/
static PetscErrorCode LocalPanels(Mat A, AIJOp op, PetscInt panel, Mat B, Mat C)
{
  AIJParallel             *p         = &MatDerivedOf(A)->parallel;
  const PetscCSRCDirection direction = op == AIJ_N ? PETSCCSRC_FORWARD : PETSCCSRC_REVERSE_INSERT;
  const Mat                X = op == AIJ_N ? p->rows : B, Y = op == AIJ_N ? C : p->rows;
  PetscCSRCExchangeArrays  v    = {.K = C->cmap->n, .panel = panel};
  PetscErrorCode           ierr = PETSC_SUCCESS;
  PetscScalar             *array;
  Mat                      Xk, Yk;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(p->rows, &v.ghost.ld));
  PetscCall(MatDenseGetArrayWriteAndMemType(p->rows, &array, &v.ghost.mem));
  v.ghost.a = array;
  PetscCall(MatDenseRestoreArrayWriteAndMemType(p->rows, &array));
  PetscCall(MatDenseGetLDA(op == AIJ_N ? B : C, &v.own.ld));
  if (op == AIJ_N) PetscCall(MatDenseGetArrayReadAndMemType(B, (const PetscScalar **)&v.own.a, &v.own.mem));
  else PetscCall(MatDenseGetArrayWriteAndMemType(C, &v.own.a, &v.own.mem));
  PetscCall(PetscCSRCExchangeBegin(p->exchange, direction, &v));
  for (PetscInt k = 0; k < v.K; k += panel) {
    PetscErrorCode one = PetscCSRCAgree(PetscObjectComm((PetscObject)A), GetColumns(X, Y, k, PetscMin(k + panel, v.K), &Xk, &Yk), "A panel of columns");

    if (op == AIJ_N) PetscCall(PetscCSRCExchangePanel(p->exchange, direction, &v, k));
    if (!one) one = MatDerivedApplyDense(p->whole, op, Xk, Yk);
    if (op == AIJ_T) PetscCall(PetscCSRCExchangePanel(p->exchange, direction, &v, k));
    if (!ierr) ierr = one;
    if (Yk) PetscCall(MatDenseRestoreSubMatrix(Y, &Yk));
    if (Xk) PetscCall(MatDenseRestoreSubMatrix(X, &Xk));
  }
  PetscCall(PetscCSRCExchangeEnd(p->exchange, direction, &v));
  if (op == AIJ_N) PetscCall(MatDenseRestoreArrayReadAndMemType(B, (const PetscScalar **)&v.own.a));
  else PetscCall(MatDenseRestoreArrayWriteAndMemType(C, &v.own.a));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Local(Mat A, AIJOp op, Mat B, Mat C)
{
  PetscInt panel;

  PetscFunctionBegin;
  PetscCall(MatDerivedUpdateMPI(A, C->cmap->n));
  PetscCall(GetGhostRows(A, C->cmap->n));
  PetscCall(PetscCSRCExchangeGetPanel(MatDerivedOf(A)->parallel.exchange, C->cmap->n, &panel, NULL));
  if (panel < C->cmap->n) PetscCall(LocalPanels(A, op, panel, B, C));
  else PetscCall((op == AIJ_N ? LocalAB : LocalAtB)(A, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiplies all columns at once or, to save memory for ghost rows, as many at a time as -matproduct_batch_size says */
static PetscErrorCode Product(Mat A, AIJOp op, Mat B, Mat C)
{
  const PetscBool transpose = (PetscBool)(op == AIJ_T);
  const PetscInt  nb = transpose ? A->rmap->n : A->cmap->n, nc = transpose ? A->cmap->n : A->rmap->n;
  const PetscInt  K = C->cmap->N;
  PetscInt       *given, batch;
  PetscErrorCode  ierr = PETSC_SUCCESS;
  Mat             Bl, Cl, Bk, Ck;

  PetscFunctionBegin;
  PetscCall(MatDerivedReleaseIfAsked(A));
  PetscCall(MatDenseGetLocalMatrix(B, &Bl));
  PetscCall(MatDenseGetLocalMatrix(C, &Cl));
  /* with MAT_REUSE_MATRIX, PETSc does not check the caller's matrix */
  PetscCheck(Bl->rmap->n == nb && Cl->rmap->n == nc && Bl->cmap->n == K, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "Operands do not fit: %s%" PetscInt_FMT " x %" PetscInt_FMT " on this process, times %" PetscInt_FMT " x %" PetscInt_FMT " into %" PetscInt_FMT " x %" PetscInt_FMT, transpose ? "the transpose of " : "", A->rmap->n, A->cmap->n,
             Bl->rmap->n, Bl->cmap->n, Cl->rmap->n, K);
  PetscCall(PetscObjectContainerQuery((PetscObject)C, AIJ_BATCH, (void *)&given));
  batch = given && *given > 0 ? PetscMin(*given, K) : K; /* the second step of a product of three has none */
  /* to the end also after an error, which may be one of this process alone */
  if (K && batch == K) ierr = Local(A, op, Bl, Cl);
  for (PetscInt k = 0; batch < K && k < K; k += batch) {
    PetscErrorCode one = PetscCSRCAgree(PetscObjectComm((PetscObject)A), GetColumns(Bl, Cl, k, PetscMin(k + batch, K), &Bk, &Ck), "A batch of columns");

    if (!one) one = Local(A, op, Bk, Ck);
    if (!ierr) ierr = one;
    if (Ck) PetscCall(MatDenseRestoreSubMatrix(Cl, &Ck));
    if (Bk) PetscCall(MatDenseRestoreSubMatrix(Bl, &Bk));
  }
  PetscCall(FinishProduct(C)); /* collective too */
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatMultNumeric_MPIAIJDerived(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall((MatDerivedOf(A) ? Product : MatDerivedProductOfOthers)(A, AIJ_N, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransposeMatMultNumeric_MPIAIJDerived(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall((MatDerivedOf(A) ? Product : MatDerivedProductOfOthers)(A, AIJ_T, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_MPIAIJDerived_MPIDense(Mat C)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(MatDerivedProductElsewhere(C, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Product(C->product->A, C->product->type == MATPRODUCT_AB ? AIJ_N : AIJ_T, C->product->B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_MPIAIJDerived_MPIDense(Mat C)
{
  Mat         A, B;
  PetscLayout rows, inner;
  PetscInt   *batch;
  PetscBool   isdense, transposed;

  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  A          = C->product->A;
  B          = C->product->B;
  transposed = C->product->type == MATPRODUCT_AtB ? PETSC_TRUE : PETSC_FALSE;
  rows       = transposed ? A->cmap : A->rmap;
  inner      = transposed ? A->rmap : A->cmap;
  PetscCheck(inner->n == B->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%s: A has %" PetscInt_FMT " %s on this process, B has %" PetscInt_FMT " rows", MatProductTypes[C->product->type], inner->n, transposed ? "rows" : "columns", B->rmap->n);
  PetscCall(MatSetSizes(C, rows->n, B->cmap->n, rows->N, B->cmap->N));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C, &isdense, MATMPIDENSE, MATMPIDENSECUDA, ""));
  if (!isdense) PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
  PetscCall(MatSetUp(C));
  /* the same option as PETSc's for MPIAIJ; 0: all columns at once */
  PetscCall(PetscNew(&batch));
  PetscCall(PetscObjectContainerCompose((PetscObject)C, AIJ_BATCH, batch, PetscCtxDestroyDefault));
  PetscOptionsBegin(PetscObjectComm((PetscObject)C), ((PetscObject)C)->prefix, "MatProduct", "Mat");
  PetscCall(PetscOptionsBoundedInt("-matproduct_batch_size", "Number of dense columns per batch", "MatProduct", *batch, batch, NULL, 0));
  PetscOptionsEnd();
  C->ops->productnumeric = MatProductNumeric_MPIAIJDerived_MPIDense;
  if (transposed) C->ops->transposematmultnumeric = MatTransposeMatMultNumeric_MPIAIJDerived;
  else C->ops->matmultnumeric = MatMatMultNumeric_MPIAIJDerived;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up C as PETSc does for MPIAIJ and this dense type, by the function that is composed with the dense matrix */
static PetscErrorCode MatProductSetFromOptions_AsMPIAIJ(Mat C, Mat dense, const char format[])
{
  PetscErrorCode (*f)(Mat) = NULL;
  char name[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), format, ((PetscObject)dense)->type_name));
  PetscCall(PetscObjectQueryFunction((PetscObject)dense, name, &f));
  if (f) PetscCall((*f)(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_MPIAIJDerived_MPIDense(Mat C)
{
  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  switch (C->product->type) {
  case MATPRODUCT_AB:
  case MATPRODUCT_AtB:
    C->ops->productsymbolic = MatProductSymbolic_MPIAIJDerived_MPIDense;
    break;
  default: /* PETSc's functions for MPIAIJ need a CSR */
    if (!MatDerivedOf(C->product->A)->released) PetscCall(MatProductSetFromOptions_AsMPIAIJ(C, C->product->B, "MatProductSetFromOptions_mpiaij_%s_C"));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_MPIDense_MPIAIJDerived(Mat C)
{
  PetscFunctionBegin;
  MatCheckProduct(C, 1);
  PetscCall(MatProductSetFromOptions_AsMPIAIJ(C, C->product->A, "MatProductSetFromOptions_%s_mpiaij_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
