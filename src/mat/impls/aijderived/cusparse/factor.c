/*
  Factors. PETSc has solver type petsc for AIJ, and solver type cusparse for aijcusparse. This file registers both for the types of kinds, so
  that these have the same defaults: cusparse if aijcusparse is underneath, otherwise petsc. Where users ask for petsc, PETSc takes
  the first type with which the name begins, which is AIJ; so a function of this file is registered there too, which leaves AIJ's own matrices to PETSc.

  PETSc's functions must be wrapped for two reasons. First, those of solver type cusparse read and write vectors on a device; given a vector on the
  host they raise no error but leave in x what was there before, while the types of kinds accept vectors on both. Second, the symbolic step may
  compose with a factor what is composed with the matrix, which includes functions of this library. Each step of a factorization (symbolic,
  numeric, solve) is therefore a function of this file, which calls PETSc's function; this sets the function of the next step, which is then
  replaced in turn. With -mat_csrc_replace_aijcusparse the wrappers are also used for matrices that are still PETSc's aijcusparse.
*/
#include "cusparse.h"

#define AIJ_FACTOR AIJ_PART "_factor"

/*
  Composed with a factor: PETSc's functions, and vectors on the device that replace vectors of the program that are not there; also the data to
  make a factor anew: once PETSc's factor of solver type cusparse has solved a transposed system, it would solve all later ones with the
  values of that time.
*/
typedef struct {
  PetscErrorCode (*lusymbolic)(Mat, Mat, IS, IS, const MatFactorInfo *);   /* LU or ILU, which have a permutation of columns ... */
  PetscErrorCode (*choleskysymbolic)(Mat, Mat, IS, const MatFactorInfo *); /* ... Cholesky or ICC, which have none */
  PetscBool cusparse;                                                      /* whether the solver type is cusparse; only then the next members are used */
  PetscErrorCode (*lunumeric)(Mat, Mat, const MatFactorInfo *), (*choleskynumeric)(Mat, Mat, const MatFactorInfo *);
  PetscErrorCode (*solve)(Mat, Vec, Vec), (*solvetranspose)(Mat, Vec, Vec);
  Vec       own[2];
  PetscBool hastransposed; /* a transposed system has been solved */
  IS        rows, cols;    /* of LU and ILU */
} Factor;

static PetscErrorCode FactorDestroy(PetscCtxRt ctx)
{
  Factor *f = (Factor *)PetscCtxOf(ctx);

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&f->own[k]));
  PetscCall(ISDestroy(&f->rows));
  PetscCall(ISDestroy(&f->cols));
  PetscCall(PetscFree(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FactorGet(Mat F, Factor **f)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)F, AIJ_FACTOR, (void *)f));
  PetscCheck(*f, PetscObjectComm((PetscObject)F), PETSC_ERR_PLIB, "This factor was not made for a matrix of a type of this library");
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
static PetscErrorCode Solve(PetscErrorCode (*solve)(Mat, Vec, Vec), Factor *f, Mat F, Vec b, Vec x)
{
  Vec w[2];

  PetscFunctionBegin;
  PetscCall(MatDerivedVecToDevice(b, PETSC_TRUE, &f->own[0], &w[0]));
  PetscCall(MatDerivedVecToDevice(x, PETSC_FALSE, &f->own[1], &w[1]));
  PetscCall((*solve)(F, w[0], w[1]));
  PetscCall(MatDerivedCopyEntries(w[1], x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSolve_Factor(Mat F, Vec b, Vec x)
{
  Factor *f;

  PetscFunctionBegin;
  PetscCall(FactorGet(F, &f));
  PetscCall(Solve(f->solve, f, F, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSolveTranspose_Factor(Mat F, Vec b, Vec x)
{
  Factor *f;

  PetscFunctionBegin;
  PetscCall(FactorGet(F, &f));
  f->hastransposed = PETSC_TRUE;
  PetscCall(Solve(f->solvetranspose, f, F, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's numeric step sets the functions that solve. They are replaced unless the factor is on the host: AIJ's functions take any vector. */
static PetscErrorCode Numeric(PetscErrorCode (*numeric)(Mat, Mat, const MatFactorInfo *), Factor *f, Mat F, Mat A, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  MatDerivedCallLent(A, (*numeric)(F, A, info));
  if (F->boundtocpu || F->offloadmask == PETSC_OFFLOAD_CPU) PetscFunctionReturn(PETSC_SUCCESS);
  f->solve               = F->ops->solve;
  f->solvetranspose      = F->ops->solvetranspose;
  F->ops->solve          = MatSolve_Factor;
  F->ops->solvetranspose = MatSolveTranspose_Factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLUFactorNumeric_Factor(Mat F, Mat A, const MatFactorInfo *info)
{
  Factor *f;
  Mat     G;

  PetscFunctionBegin;
  PetscCall(FactorGet(F, &f));
  if (f->hastransposed) {
    PetscCall(MatGetFactor(A, MATSOLVERCUSPARSE, F->factortype, &G));
    PetscCall((*(F->factortype == MAT_FACTOR_LU ? G->ops->lufactorsymbolic : G->ops->ilufactorsymbolic))(G, A, f->rows, f->cols, info));
    PetscCall((*G->ops->lufactornumeric)(G, A, info));
    PetscCall(MatReplaceInsides(F, &G)); /* f is gone */
  } else PetscCall(Numeric(f->lunumeric, f, F, A, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCholeskyFactorNumeric_Factor(Mat F, Mat A, const MatFactorInfo *info)
{
  Factor *f;

  PetscFunctionBegin;
  PetscCall(FactorGet(F, &f));
  PetscCall(Numeric(f->choleskynumeric, f, F, A, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif

/*
  PETSc's symbolic step. It may compose with a factor the functions that are composed with the matrix: this library's and, where solver type petsc is
  asked for, aijcusparse's, which AIJ would not remove again. So none are composed with the matrix meanwhile.
*/
static PetscErrorCode Symbolic(const Factor *f, Mat F, Mat A, IS rows, IS cols, const MatFactorInfo *info)
{
  PetscFunctionList composed = ((PetscObject)A)->qlist;
  AIJLent           lent;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(MatDerivedLend(1, &A, &lent));
  ((PetscObject)A)->qlist = NULL;
  ierr                    = f->lusymbolic ? (*f->lusymbolic)(F, A, rows, cols, info) : (*f->choleskysymbolic)(F, A, rows, info);
  ((PetscObject)A)->qlist = composed;
  PetscCall(MatDerivedTakeBack(1, &lent));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLUFactorSymbolic_Factor(Mat F, Mat A, IS rows, IS cols, const MatFactorInfo *info)
{
  Factor *f;

  PetscFunctionBegin;
  PetscCall(FactorGet(F, &f));
  PetscCall(Symbolic(f, F, A, rows, cols, info));
#if defined(PETSCCSRC_HAVE_CUDA)
  if (!f->cusparse) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectReference((PetscObject)rows));
  PetscCall(PetscObjectReference((PetscObject)cols));
  PetscCall(ISDestroy(&f->rows));
  PetscCall(ISDestroy(&f->cols));
  f->rows                 = rows;
  f->cols                 = cols;
  f->lunumeric            = F->ops->lufactornumeric;
  F->ops->lufactornumeric = MatLUFactorNumeric_Factor;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCholeskyFactorSymbolic_Factor(Mat F, Mat A, IS rows, const MatFactorInfo *info)
{
  Factor *f;

  PetscFunctionBegin;
  PetscCall(FactorGet(F, &f));
  PetscCall(Symbolic(f, F, A, rows, NULL, info));
#if defined(PETSCCSRC_HAVE_CUDA)
  if (!f->cusparse) PetscFunctionReturn(PETSC_SUCCESS);
  f->choleskynumeric            = F->ops->choleskyfactornumeric;
  F->ops->choleskyfactornumeric = MatCholeskyFactorNumeric_Factor;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Saves the function of the symbolic step that PETSc has set in F for this type of factor, and replaces it */
#define TakeSymbolic(op, saved, ours) \
  do { \
    if ((*F)->ops->op) { \
      f->saved      = (*F)->ops->op; \
      (*F)->ops->op = ours; \
    } \
  } while (0)

/* PETSc's functions that create factors: [0] of AIJ with solver type petsc, [1] of aijcusparse with solver type cusparse */
static PetscErrorCode (*Create[2][MAT_FACTOR_NUM_TYPES])(Mat, MatFactorType, Mat *);

static PetscErrorCode GetFactor(Mat A, PetscBool cusparse, MatFactorType ftype, Mat *F)
{
  Factor *f;

  PetscFunctionBegin;
  PetscCall((*Create[cusparse][ftype])(A, ftype, F));
  PetscCall(PetscNew(&f));
  PetscCall(PetscObjectContainerCompose((PetscObject)*F, AIJ_FACTOR, f, FactorDestroy));
  f->cusparse = cusparse && !MatDerivedBoundToCPU(A) ? PETSC_TRUE : PETSC_FALSE;
  if (ftype == MAT_FACTOR_LU) TakeSymbolic(lufactorsymbolic, lusymbolic, MatLUFactorSymbolic_Factor);
  if (ftype == MAT_FACTOR_ILU) TakeSymbolic(ilufactorsymbolic, lusymbolic, MatLUFactorSymbolic_Factor);
  if (ftype == MAT_FACTOR_CHOLESKY) TakeSymbolic(choleskyfactorsymbolic, choleskysymbolic, MatCholeskyFactorSymbolic_Factor);
  if (ftype == MAT_FACTOR_ICC) TakeSymbolic(iccfactorsymbolic, choleskysymbolic, MatCholeskyFactorSymbolic_Factor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetFactor_SeqAIJDerived_petsc(Mat A, MatFactorType type, Mat *F)
{
  PetscFunctionBegin;
  if (MatDerivedOf(A)) PetscCall(GetFactor(A, PETSC_FALSE, type, F));
  else PetscCall((*Create[PETSC_FALSE][type])(A, type, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetFactor_SeqAIJDerived_cusparse(Mat A, MatFactorType type, Mat *F)
{
  PetscFunctionBegin;
  PetscCheck(!MatDerivedOf(A) || MatDerivedOf(A)->cusparse, PETSC_COMM_SELF, PETSC_ERR_SUP, "Solver type %s needs a device, which a matrix of type %s has only if it was made while one could be used", MATSOLVERCUSPARSE, ((PetscObject)A)->type_name);
  PetscCall(GetFactor(A, PETSC_TRUE, type, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kinds whose factors have been registered */
static const AIJKind *Registered[AIJ_MAX_KINDS];
static int            NumRegistered = 0;

PetscErrorCode MatDerivedForgetFactors(void)
{
  PetscFunctionBegin;
  NumRegistered = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the two solver types only the default is registered for a kind: PETSc takes the first one that it finds */
PetscErrorCode MatDerivedRegisterFactors(const AIJKind *kind, PetscBool cusparse)
{
  const MatFactorType types[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};

  PetscFunctionBegin;
  for (int k = 0; k < NumRegistered; k++) {
    if (Registered[k] == kind) PetscFunctionReturn(PETSC_SUCCESS);
  }
  Registered[NumRegistered++] = kind;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    for (int c = 0; c <= (int)cusparse; c++) {
      const MatSolverType solver                          = c ? MATSOLVERCUSPARSE : MATSOLVERPETSC;
      PetscErrorCode (*ours)(Mat, MatFactorType, Mat *)   = c ? MatGetFactor_SeqAIJDerived_cusparse : MatGetFactor_SeqAIJDerived_petsc;
      PetscErrorCode (*create)(Mat, MatFactorType, Mat *) = NULL;

      PetscCall(MatSolverTypeGet(solver, c ? MATSEQAIJCUSPARSE : MATSEQAIJ, types[k], NULL, NULL, &create));
      if (!create) continue;
      if (create != ours) Create[c][types[k]] = create; /* it may be ours, by the lines below or with -mat_csrc_replace_aijcusparse */
      if (c == (int)cusparse) PetscCall(MatSolverTypeRegister(solver, kind->seqname, types[k], ours));
      if (!c) PetscCall(MatSolverTypeRegister(solver, MATSEQAIJ, types[k], ours));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
