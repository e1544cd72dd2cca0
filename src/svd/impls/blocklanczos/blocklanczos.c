/* The SVD type blocklanczos: settings, set-up, options, view */
#include "blocklanczos.h"

const char *const SVDBlockLanczosForms[] = {"auto", "ata", "twosided", "inverse", "filter", "SVDBlockLanczosForm", "SVD_BLOCKLANCZOS_FORM_", NULL};

/* The projected problem is solved with LAPACK, not by a DS; SLEPc asks for the type of a DS nevertheless */
static PetscErrorCode SVDSetDSType_BlockLanczos(SVD svd)
{
  PetscInt M, N;

  PetscFunctionBegin;
  PetscCall(DSSetType(svd->ds, DSSVD));
  /* here, since SLEPc solves nothing for an empty matrix */
  SVDBlockLanczosCertificateForget(svd);
  PetscCall(PetscArrayzero(&((SVD_BLOCKLANCZOS *)svd->data)->counts, 1));
  /* afterwards SVDSetUp() reduces nsv without a message */
  if (svd->OP) {
    PetscCall(MatGetSize(svd->OP, &M, &N));
    if (svd->nsv > PetscMin(M, N)) PetscCall(PetscInfo(svd, "%" PetscInt_FMT " singular values wanted of a %" PetscInt_FMT " x %" PetscInt_FMT " matrix, which has %" PetscInt_FMT "\n", svd->nsv, M, N, PetscMin(M, N)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDSetUp_BlockLanczos(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt          M, N;

  PetscFunctionBegin;
  SVDCheckStandard(svd);
  SVDCheckDefinite(svd);
  PetscCheck(svd->which == SVD_SMALLEST || ctx->settings.form < SVD_BLOCKLANCZOS_FORM_INVERSE, PetscObjectComm((PetscObject)svd), PETSC_ERR_ARG_INCOMP, "The form %s is for the smallest values: it needs -svd_smallest",
             SVDBlockLanczosForms[ctx->settings.form]);
  PetscCheck(ctx->settings.left || ctx->settings.form != SVD_BLOCKLANCZOS_FORM_TWOSIDED, PetscObjectComm((PetscObject)svd), PETSC_ERR_ARG_INCOMP, "The two-sided form stores left vectors: it cannot be combined with -svd_blocklanczos_left 0");
  PetscCall(MatGetSize(svd->OP, &M, &N));
  ctx->krylov.n = PetscMin(M, N);
  if (!svd->nsv && svd->stop != SVD_STOP_THRESHOLD) svd->nsv = 1;
  if (svd->tol == (PetscReal)PETSC_DETERMINE) svd->tol = SLEPC_DEFAULT_TOL;
  /* what an earlier set-up chose is chosen again, also if SLEPc has reduced it to the size of this matrix; what the user set is kept */
  if (svd->ncv == PetscMin(ctx->settings.auto_ncv, ctx->krylov.n)) svd->ncv = PETSC_DETERMINE;
  if (svd->mpd == ctx->settings.auto_mpd) svd->mpd = PETSC_DETERMINE;
  if (svd->max_it == ctx->settings.auto_max_it) svd->max_it = PETSC_DETERMINE;
  ctx->settings.auto_ncv = ctx->settings.auto_mpd = ctx->settings.auto_max_it = 0;
  {
    const PetscBool ncv = (PetscBool)(svd->ncv == PETSC_DETERMINE), mpd = (PetscBool)(svd->mpd == PETSC_DETERMINE);
    PetscInt        bs;

    PetscCall(SVDBlockLanczosChooseSizes(svd, &bs));
    if (ncv) ctx->settings.auto_ncv = svd->ncv;
    if (mpd) ctx->settings.auto_mpd = svd->mpd;
    /* with -svd_mpd blocks are narrow, and copies of a multiple value come a few at a time */
    if (svd->max_it == PETSC_DETERMINE) {
      const PetscInt64 its = PetscMax(ctx->krylov.n / svd->mpd, (svd->mpd < svd->ncv ? 400 : 100) * (PetscInt64)svd->ncv / svd->mpd);

      ctx->settings.auto_max_it = svd->max_it = (PetscInt)PetscMin(its * (svd->stop == SVD_STOP_THRESHOLD ? 10 : 1), PETSC_INT_MAX);
    }
    svd->leftbasis = PETSC_FALSE;
    /* the threshold test needs one value more */
    PetscCall(SVDBlockLanczosForgetOtherSizes(svd));
    PetscCall(SVDAllocateSolution(svd, svd->stop == SVD_STOP_THRESHOLD ? 1 : 0));
    PetscCall(BlockWorkspaceSetBV(&ctx->blocks, svd->V));
    PetscCall(PetscInfo(svd, "products of blocks: %s\n", ctx->blocks.ops ? ctx->blocks.ops->name : "BV"));
    ctx->krylov.k = ctx->krylov.w = 0; /* nothing is kept of an earlier solve, whose basis may have been larger */
    PetscCall(SVDBlockLanczosAllocate(svd, svd->ncv, bs));
  }
  if (svd->which == SVD_SMALLEST) PetscCall(SVDBlockLanczosSetUpSmallest(svd));
  else PetscCall(SVDBlockLanczosResetSmallest(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDResetAll_BlockLanczos(SVD svd)
{
  PetscFunctionBegin;
  PetscCall(SVDBlockLanczosResetSmallest(svd));
  PetscCall(SVDReset_BlockLanczos(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's options for a KSP make one */
static PetscErrorCode KSPFromOptions(SVD svd)
{
  static const char *const types[] = {"-ksp_type", "-pc_type"};
  SVD_BLOCKLANCZOS        *ctx     = (SVD_BLOCKLANCZOS *)svd->data;
  char                     prefix[256];
  KSP                      ksp;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%ssvd_blocklanczos_", ((PetscObject)svd)->prefix ? ((PetscObject)svd)->prefix : ""));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(types); i++) {
    PetscBool set;

    PetscCall(PetscOptionsHasName(((PetscObject)svd)->options, prefix, types[i], &set));
    if (set) PetscCall(SVDBlockLanczosGetKSP(svd, &ksp));
  }
  if (ctx->ksp) PetscCall(KSPSetFromOptions(ctx->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDSetFromOptions_BlockLanczos(SVD svd, PetscOptionItemsArg PetscOptionsObject)
{
  SVD_BLOCKLANCZOS   *ctx     = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt            bs      = ctx->settings.bs;
  PetscReal           certify = ctx->settings.certify, nonzero = ctx->settings.nonzero;
  PetscBool           left = ctx->settings.left, flg;
  SVDBlockLanczosForm form = ctx->settings.form;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "SVD block Lanczos Options");
  PetscCall(PetscOptionsInt("-svd_blocklanczos_blocksize", "Columns of a block", "SVDBlockLanczosSetBlockSize", bs, &bs, &flg));
  if (flg) PetscCall(SVDBlockLanczosSetBlockSize(svd, bs));
  PetscCall(PetscOptionsReal("-svd_blocklanczos_certify", "Relative gap down to which it is proved that no value is missed; 0: not at all", "SVDBlockLanczosSetCertify", certify, &certify, &flg));
  if (flg) PetscCall(SVDBlockLanczosSetCertify(svd, certify));
  PetscCall(PetscOptionsEnum("-svd_blocklanczos_form", "Operator of the iteration: A^H A, or A and A^H in turn; smallest values: an inverse, or a filter", "SVDBlockLanczosSetForm", SVDBlockLanczosForms, (PetscEnum)form, (PetscEnum *)&form, &flg));
  if (flg) PetscCall(SVDBlockLanczosSetForm(svd, form));
  PetscCall(PetscOptionsReal("-svd_blocklanczos_nonzero", "Smallest values above this one, and above rounding, only", "SVDBlockLanczosSetNonzero", nonzero, &nonzero, &flg));
  if (flg) PetscCall(SVDBlockLanczosSetNonzero(svd, nonzero));
  PetscCall(PetscOptionsBool("-svd_blocklanczos_left", "Store left vectors", "SVDBlockLanczosSetLeftVectors", left, &left, &flg));
  if (flg) PetscCall(SVDBlockLanczosSetLeftVectors(svd, left));
  PetscOptionsHeadEnd();
  PetscCall(KSPFromOptions(svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDView_BlockLanczos(SVD svd, PetscViewer viewer)
{
  SVD_BLOCKLANCZOS   *ctx    = (SVD_BLOCKLANCZOS *)svd->data;
  BlockLanczosCounts *counts = &ctx->counts;
  PetscBool           isascii;

  const BlockLanczosSmallest *smallest = &ctx->smallest;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (!isascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (smallest->B && smallest->direct) PetscCall(PetscViewerASCIIPrintf(viewer, "  smallest values: of a dense copy, by LAPACK\n"));
  else if (smallest->B && !smallest->inverts) PetscCall(PetscViewerASCIIPrintf(viewer, "  smallest values: by a filter of degree %" PetscInt_FMT ", for values up to %g\n", smallest->degree, (double)PetscSqrtReal(smallest->low)));
  else if (smallest->E && ctx->ksp) PetscCall(PetscViewerASCIIPrintf(viewer, "  smallest values: by the KSP below, which solves with %s, shift %g\n", smallest->ofA ? "A" : "A^H A", (double)(smallest->shift / smallest->scale)));
  else if (smallest->B)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  smallest values: by the inverse of a triangular factor of %g entries, %s, shift %g\n", smallest->entries, smallest->normal ? "of Cholesky's for A^H A" : "by reflections",
                                     (double)(smallest->shift / smallest->scale)));
  if (ctx->krylov.bs) PetscCall(PetscViewerASCIIPrintf(viewer, "  block size: %" PetscInt_FMT "%s\n", ctx->krylov.bs, ctx->settings.bs == PETSC_DETERMINE ? " (chosen)" : (ctx->settings.bs == ctx->krylov.bs ? "" : " (another one was set)")));
  else if (ctx->settings.bs == PETSC_DETERMINE) PetscCall(PetscViewerASCIIPrintf(viewer, "  block size: chosen at set-up\n"));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  block size: %" PetscInt_FMT "\n", ctx->settings.bs));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  form: %s%s\n", SVDBlockLanczosForms[ctx->settings.form], ctx->settings.form == SVD_BLOCKLANCZOS_FORM_AUTO && ctx->krylov.twosided ? ", two-sided at the end" : ""));
  if (!ctx->settings.left) PetscCall(PetscViewerASCIIPrintf(viewer, "  left vectors: not stored, computed when asked for\n"));
  if (ctx->settings.certify == 0.0) PetscCall(PetscViewerASCIIPrintf(viewer, "  missed values: not looked for\n"));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  missed values: excluded down to a relative gap of %g, by %s\n", (double)SVDBlockLanczosGap(svd), ctx->settings.certify < 0.0 ? "an estimate or the guard's proof" : "the guard's proof"));
  if (counts->steps || (smallest->B && svd->state >= SVD_STATE_SOLVED)) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  last solve: %" PetscInt_FMT " steps, of which %" PetscInt_FMT " short, %" PetscInt_FMT " vectors multiplied, %" PetscInt_FMT " restarts\n", counts->steps, counts->shortsteps, counts->vectors,
                                     counts->restarts));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  last solve: guard run %" PetscInt_FMT " times, more values found %" PetscInt_FMT " times, %" PetscInt_FMT " directions deflated, continued two-sided %" PetscInt_FMT " times\n", counts->guards,
                                     counts->copies, counts->deflated, counts->switches));
    if (ctx->certificate.n >= 0)
      PetscCall(PetscViewerASCIIPrintf(viewer, "  last solve: %s that exactly %" PetscInt_FMT " values are %s %g, %s 1 - %g\n", ctx->certificate.proved ? "certified" : "estimated, not proved,", ctx->certificate.n, smallest->B ? "below" : "above",
                                       (double)ctx->certificate.bound, ctx->certificate.proved ? "probability" : "estimated probability", (double)ctx->certificate.chance));
    else PetscCall(PetscViewerASCIIPrintf(viewer, "  last solve: nothing is known about missed values\n"));
  }
  if (smallest->B && svd->state >= SVD_STATE_SOLVED)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  last solve: %s%" PetscInt_FMT " values are at most %g, which counts as zero: the rank is %s%" PetscInt_FMT "\n", smallest->exact ? "" : "at least ", smallest->zeros, (double)smallest->tau,
                                     smallest->exact ? "" : "at most ", smallest->N - smallest->zeros));
  if (ctx->ksp) {
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall(KSPView(ctx->ksp, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions that are composed for a setting: a getter, and a setter that accepts any value and makes the solver be set up again */
#define GETTER(getter, type, member) \
  static PetscErrorCode getter(SVD svd, type *member) \
  { \
    PetscFunctionBegin; \
    *member = ((SVD_BLOCKLANCZOS *)svd->data)->settings.member; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define SETTER(setter, type, member) \
  static PetscErrorCode setter(SVD svd, type member) \
  { \
    SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data; \
\
    PetscFunctionBegin; \
    if (ctx->settings.member != member) svd->state = SVD_STATE_INITIAL; \
    ctx->settings.member = member; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
GETTER(SVDBlockLanczosGetCertify_BlockLanczos, PetscReal, certify)
GETTER(SVDBlockLanczosGetNonzero_BlockLanczos, PetscReal, nonzero)
GETTER(SVDBlockLanczosGetForm_BlockLanczos, SVDBlockLanczosForm, form)
GETTER(SVDBlockLanczosGetLeftVectors_BlockLanczos, PetscBool, left)
SETTER(SVDBlockLanczosSetLeftVectors_BlockLanczos, PetscBool, left)

static PetscErrorCode SVDBlockLanczosSetBlockSize_BlockLanczos(SVD svd, PetscInt bs)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCheck(bs == PETSC_DETERMINE || bs > 0, PetscObjectComm((PetscObject)svd), PETSC_ERR_ARG_OUTOFRANGE, "Block size %" PetscInt_FMT ": it must be positive, or PETSC_DETERMINE", bs);
  if (ctx->settings.bs != bs) {
    ctx->settings.bs = bs;
    svd->state       = SVD_STATE_INITIAL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosSetBlockSize - Sets the number of columns in a block of `SVDBLOCKLANCZOS`

  Logically Collective

  Input Parameters:
+ svd - the singular value solver context
- bs  - the block size, or `PETSC_DETERMINE`

  Options Database Key:
. -svd_blocklanczos_blocksize bs - the block size; by default the solver chooses it

  Notes:
  By default the block size is 4, 8 or 16, chosen from the sizes of the matrix and of the problem, or less if `ncv` or `mpd` is small. It
  is doubled when as many equal values are found as the block has columns. A size set here is kept, but a guard has at least two columns.

  A block finds as many copies of a multiple value as it has columns; further copies need the guard (`SVDBlockLanczosSetCertify()`). Smaller
  blocks need fewer products with single vectors in all. Larger ones need fewer passes over the matrix, and make certificates easier.

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosGetBlockSize()`, `SVDBlockLanczosSetCertify()`
@*/
PetscErrorCode SVDBlockLanczosSetBlockSize(SVD svd, PetscInt bs)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscValidLogicalCollectiveInt(svd, bs, 2);
  PetscTryMethod(svd, "SVDBlockLanczosSetBlockSize_C", (SVD, PetscInt), (svd, bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDBlockLanczosGetBlockSize_BlockLanczos(SVD svd, PetscInt *bs)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  *bs = svd->state >= SVD_STATE_SETUP ? ctx->krylov.bs : ctx->settings.bs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosGetBlockSize - Gets the number of columns in a block of `SVDBLOCKLANCZOS`

  Not Collective

  Input Parameter:
. svd - the singular value solver context

  Output Parameter:
. bs - the block size in use; before `SVDSetUp()` the one that was set, which may be `PETSC_DETERMINE`

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosSetBlockSize()`
@*/
PetscErrorCode SVDBlockLanczosGetBlockSize(SVD svd, PetscInt *bs)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscAssertPointer(bs, 2);
  PetscUseMethod(svd, "SVDBlockLanczosGetBlockSize_C", (SVD, PetscInt *), (svd, bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDBlockLanczosSetCertify_BlockLanczos(SVD svd, PetscReal gap)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCheck((gap >= 0.0 && gap <= 1.0) || gap == (PetscReal)PETSC_DETERMINE, PetscObjectComm((PetscObject)svd), PETSC_ERR_ARG_OUTOFRANGE, "Gap to certify %g: it must be from 0 to 1, or PETSC_DETERMINE", (double)gap);
  if (ctx->settings.certify != gap) svd->state = SVD_STATE_INITIAL;
  ctx->settings.certify = gap;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosSetCertify - Sets how `SVDBLOCKLANCZOS` excludes that it has missed singular values, copies of multiple ones in particular

  Logically Collective

  Input Parameters:
+ svd - the singular value solver context
- gap - a gap in (0, 1], relative to the smallest value returned, to ask for a proof; 0 to do nothing; `PETSC_DETERMINE` for the default

  Options Database Key:
. -svd_blocklanczos_certify gap - the gap

  Notes:
  A Krylov space made from a block of $b$ vectors holds no more than $b$ copies of a multiple singular value. The residuals of a
  solve that misses some are as small as any, and smaller values take the place of the missing ones.

  With a gap, a guard iterates after convergence with a fresh random block, orthogonal to the triplets found. If its largest Ritz value is above the
  smallest value found, the solve goes on with the new vectors. Otherwise the guard ends when it has proved that no value is missing above the smallest
  one times 1 + gap. `SVDBlockLanczosGetCertificate()` returns what is proved.

  By default the gap is 1e-3, and the guard runs only if the iterations that found the values do not suffice for an estimate. With blocks of four columns and
  more they usually do, at no cost.

  The products of the guards that find nothing are at most four times those that find the values (or four times `ncv`, if that is more). If this does not
  suffice, the bound is larger; one line on stderr says so, and the solve counts as converged. The number of steps of a guard is proportional to
  $1 / \sqrt{gap}$ if the spectrum is dense below the smallest value wanted.

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosGetCertify()`, `SVDBlockLanczosGetCertificate()`, `SVDBlockLanczosSetBlockSize()`
@*/
PetscErrorCode SVDBlockLanczosSetCertify(SVD svd, PetscReal gap)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscValidLogicalCollectiveReal(svd, gap, 2);
  PetscTryMethod(svd, "SVDBlockLanczosSetCertify_C", (SVD, PetscReal), (svd, gap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosGetCertify - Gets the gap that was set with `SVDBlockLanczosSetCertify()`

  Not Collective

  Input Parameter:
. svd - the singular value solver context

  Output Parameter:
. gap - the gap, 0, or `PETSC_DETERMINE`

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosSetCertify()`, `SVDBlockLanczosGetCertificate()`
@*/
PetscErrorCode SVDBlockLanczosGetCertify(SVD svd, PetscReal *gap)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscAssertPointer(gap, 2);
  PetscUseMethod(svd, "SVDBlockLanczosGetCertify_C", (SVD, PetscReal *), (svd, gap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDBlockLanczosGetCertificate_BlockLanczos(SVD svd, PetscInt *n, PetscReal *bound, PetscReal *chance, PetscBool *proved)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  if (n) *n = ctx->certificate.n;
  if (bound) *bound = ctx->certificate.bound;
  if (chance) *chance = ctx->certificate.chance;
  if (proved) *proved = ctx->certificate.proved;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosGetCertificate - Gets what the last solve with `SVDBLOCKLANCZOS` has proved, or estimated, about missed singular values

  Not Collective

  Input Parameter:
. svd - the singular value solver context

  Output Parameters:
+ n      - the matrix has exactly n singular values above the bound (with `SVD_SMALLEST`: below it), all of which are returned; negative if nothing is known (may be `NULL`)
. bound  - the bound for values that are not returned; `PETSC_INFINITY` if nothing is known (may be `NULL`)
. chance - the chance that this is false (may be `NULL`)
- proved - `PETSC_TRUE` if this is proved, and the chance an upper bound; `PETSC_FALSE` if it is an estimate (may be `NULL`)

  Notes:
  n is the number of values returned above the bound. The bound is slightly above the smallest value returned, so n is smaller than the number of values
  returned. `SVDBlockLanczosSetCertify()` asks for a proof.

  A proof holds but for rounding and for the chance, over the random blocks. The matrix must not depend on these, as one does that was made of the
  results of another solve with the same seed.

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosSetCertify()`
@*/
PetscErrorCode SVDBlockLanczosGetCertificate(SVD svd, PetscInt *n, PetscReal *bound, PetscReal *chance, PetscBool *proved)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscUseMethod(svd, "SVDBlockLanczosGetCertificate_C", (SVD, PetscInt *, PetscReal *, PetscReal *, PetscBool *), (svd, n, bound, chance, proved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDBlockLanczosSetForm_BlockLanczos(SVD svd, SVDBlockLanczosForm form)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCheck(form >= SVD_BLOCKLANCZOS_FORM_AUTO && form <= SVD_BLOCKLANCZOS_FORM_FILTER, PetscObjectComm((PetscObject)svd), PETSC_ERR_ARG_OUTOFRANGE, "Unknown form %d: auto, ata, twosided, inverse or filter", (int)form);
  if (ctx->settings.form != form) {
    ctx->settings.form = form;
    svd->state         = SVD_STATE_INITIAL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosSetForm - Sets the iteration that `SVDBLOCKLANCZOS` uses

  Logically Collective

  Input Parameters:
+ svd  - the singular value solver context
- form - see `SVDBlockLanczosForm`

  Options Database Key:
. -svd_blocklanczos_form (auto|ata|twosided|inverse|filter) - the form; the default is `auto`

  Notes:
  With $A^*A$ ($AA^*$ for a wide matrix) only vectors of the short side are stored, and the values come from a last product with
  the vectors found. This form resolves values down to about $10^{-4}$ of the largest one.

  The two-sided form stores bases of both sides and resolves values down to rounding. With `SVD_BLOCKLANCZOS_FORM_AUTO` the solver
  changes to it if the smallest value wanted is too small for $A^*A$, or if a true residual at the end does not meet the tolerance; it
  continues from the triplets found. With `SVD_BLOCKLANCZOS_FORM_ATA`, triplets that $A^*A$ cannot resolve to the tolerance are not
  returned.

  For the smallest values the operator is the inverse of a triangular factor, or a polynomial of $A^*A$ if this needs too much memory or time; these forms apply to it
  likewise. `SVD_BLOCKLANCZOS_FORM_INVERSE` and `SVD_BLOCKLANCZOS_FORM_FILTER` choose one of the two. With `SVD_BLOCKLANCZOS_FORM_AUTO` small matrices are left to LAPACK.

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosGetForm()`, `SVDBlockLanczosForm`
@*/
PetscErrorCode SVDBlockLanczosSetForm(SVD svd, SVDBlockLanczosForm form)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(svd, form, 2);
  PetscTryMethod(svd, "SVDBlockLanczosSetForm_C", (SVD, SVDBlockLanczosForm), (svd, form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosGetForm - Gets the iteration that `SVDBLOCKLANCZOS` was set to use

  Not Collective

  Input Parameter:
. svd - the singular value solver context

  Output Parameter:
. form - see `SVDBlockLanczosForm`

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosSetForm()`, `SVDBlockLanczosForm`
@*/
PetscErrorCode SVDBlockLanczosGetForm(SVD svd, SVDBlockLanczosForm *form)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscAssertPointer(form, 2);
  PetscUseMethod(svd, "SVDBlockLanczosGetForm_C", (SVD, SVDBlockLanczosForm *), (svd, form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDBlockLanczosSetNonzero_BlockLanczos(SVD svd, PetscReal tau)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCheck(tau >= 0.0 || tau == (PetscReal)PETSC_DETERMINE, PetscObjectComm((PetscObject)svd), PETSC_ERR_ARG_OUTOFRANGE, "Largest value that counts as zero %g: it must not be negative, or PETSC_DETERMINE", (double)tau);
  if (ctx->settings.nonzero != tau) svd->state = SVD_STATE_INITIAL;
  ctx->settings.nonzero = tau;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosSetNonzero - Sets that `SVDBLOCKLANCZOS` returns the smallest nonzero singular values

  Logically Collective

  Input Parameters:
+ svd - the singular value solver context
- tau - values up to this one count as zero; 0 for $\max(m, n, 10) \epsilon \sigma_1$; `PETSC_DETERMINE` (the default) to return zeros, too

  Options Database Key:
. -svd_blocklanczos_nonzero tau - the largest value that counts as zero

  Notes:
  This is for `SVD_SMALLEST`. The values that count as zero are computed, too, unless they are more than a thousand, and `SVDBlockLanczosGetZeros()` returns
  their number. By default zeros are returned: if more values are wanted than the dimension of the null space, their vectors are a basis of it.

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosGetNonzero()`, `SVDBlockLanczosGetZeros()`
@*/
PetscErrorCode SVDBlockLanczosSetNonzero(SVD svd, PetscReal tau)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscValidLogicalCollectiveReal(svd, tau, 2);
  PetscTryMethod(svd, "SVDBlockLanczosSetNonzero_C", (SVD, PetscReal), (svd, tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosGetNonzero - Gets the value that was set by `SVDBlockLanczosSetNonzero()`

  Not Collective

  Input Parameter:
. svd - the singular value solver context

  Output Parameter:
. tau - values up to this one count as zero, or 0, or `PETSC_DETERMINE`

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosSetNonzero()`
@*/
PetscErrorCode SVDBlockLanczosGetNonzero(SVD svd, PetscReal *tau)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscAssertPointer(tau, 2);
  PetscUseMethod(svd, "SVDBlockLanczosGetNonzero_C", (SVD, PetscReal *), (svd, tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDBlockLanczosGetKSP_BlockLanczos(SVD svd, KSP *ksp)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PC                pc;

  PetscFunctionBegin;
  if (!ctx->ksp) {
    PetscCall(KSPCreate(PetscObjectComm((PetscObject)svd), &ctx->ksp));
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)ctx->ksp, (PetscObject)svd, 1));
    PetscCall(KSPSetOptionsPrefix(ctx->ksp, ((PetscObject)svd)->prefix));
    PetscCall(KSPAppendOptionsPrefix(ctx->ksp, "svd_blocklanczos_"));
    PetscCall(KSPSetType(ctx->ksp, KSPPREONLY));
    PetscCall(KSPGetPC(ctx->ksp, &pc));
    PetscCall(PCSetType(pc, PCCHOLESKY));
    svd->state = SVD_STATE_INITIAL;
  }
  *ksp = ctx->ksp;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosGetKSP - Gets the linear solver that `SVDBLOCKLANCZOS` uses for the smallest singular values, in place of its own factorisation

  Collective

  Input Parameter:
. svd - the singular value solver context

  Output Parameter:
. ksp - the linear solver: `KSPPREONLY` with `PCCHOLESKY` unless options or the caller choose others

  Options Database Keys:
+ -svd_blocklanczos_ksp_type type                    - type of the linear solver
. -svd_blocklanczos_pc_type type                     - type of its preconditioner
- -svd_blocklanczos_pc_factor_mat_solver_type package - who makes the factor: `mumps`, `superlu_dist`, `spqr`, ...

  Notes:
  From the first call of this function on, or if one of the first two options is given, the linear solver is used. Set its types before `SVDSetUp()`.

  With `PCLU` and a square matrix $A$ it solves with $A$, which must not be singular. Otherwise it solves with $A^*A + t^2$, where $t$ is $\sqrt{\epsilon} \|A\|_F$.
  `PCQR` factors $[A; t I]$, and then $t$ may be reduced to tell apart smaller values. Solutions are refined, so that they are as accurate as those of
  a QR factorisation. An iterative solver will do, too. If refinement does not reach this accuracy, no certificate is given.

  In parallel the package has to factor parallel matrices: the solver's own factorisation is made by each process for itself, and PETSc's for one process only.

  Level: advanced

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosSetForm()`, `KSP`, `PC`
@*/
PetscErrorCode SVDBlockLanczosGetKSP(SVD svd, KSP *ksp)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscAssertPointer(ksp, 2);
  PetscUseMethod(svd, "SVDBlockLanczosGetKSP_C", (SVD, KSP *), (svd, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDBlockLanczosGetZeros_BlockLanczos(SVD svd, PetscInt *n, PetscReal *tau, PetscBool *exact)
{
  const BlockLanczosSmallest *s = &((SVD_BLOCKLANCZOS *)svd->data)->smallest;

  PetscFunctionBegin;
  if (n) *n = s->zeros;
  if (tau) *tau = s->tau;
  if (exact) *exact = s->exact;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosGetZeros - Gets how many singular values count as zero, after a solve for the smallest ones with `SVDBLOCKLANCZOS`

  Not Collective

  Input Parameter:
. svd - the singular value solver context

  Output Parameters:
+ n     - the number of values found that are at most tau: the rank of the matrix is at most its smaller size minus n (may be `NULL`)
. tau   - the largest value that counts as zero (may be `NULL`)
- exact - `PETSC_TRUE` if there are no others, as certainly as the certificate says: the rank is known; `PETSC_FALSE` if there may be more (may be `NULL`)

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosSetNonzero()`, `SVDBlockLanczosGetCertificate()`
@*/
PetscErrorCode SVDBlockLanczosGetZeros(SVD svd, PetscInt *n, PetscReal *tau, PetscBool *exact)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscUseMethod(svd, "SVDBlockLanczosGetZeros_C", (SVD, PetscInt *, PetscReal *, PetscBool *), (svd, n, tau, exact));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosSetLeftVectors - Sets whether `SVDBLOCKLANCZOS` computes and stores left vectors, those of the long side, in a solve

  Logically Collective

  Input Parameters:
+ svd  - the singular value solver context
- left - `PETSC_TRUE` (the default) to store them

  Options Database Key:
. -svd_blocklanczos_left (true|false) - store them; the default is true

  Notes:
  For an $m \times n$ matrix with $m \ge n$ these are the left vectors, otherwise the right ones. They take $m$ times `nsv` numbers.

  If they are not stored, `SVDGetSingularTriplet()` computes the requested one as $A v / \|A v\|$, by a product with the matrix, which must
  not have changed. These vectors are orthogonal to $\epsilon \sigma_1^2 / \sigma_i^2$, and the values, which come from $A^*A$, are accurate
  to $\epsilon \sigma_1^2 / \sigma_i$. To request the vector of a zero value is an error. Triplets that $A^*A$ cannot resolve to the
  tolerance are not returned, as with `SVD_BLOCKLANCZOS_FORM_ATA`; `SVD_BLOCKLANCZOS_FORM_TWOSIDED` is an error. The `BV` that
  `SVDGetBV()` returns for this side gives columns by `BVGetColumn()` and has no other operation.

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosGetLeftVectors()`, `SVDBlockLanczosSetForm()`
@*/
PetscErrorCode SVDBlockLanczosSetLeftVectors(SVD svd, PetscBool left)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscValidLogicalCollectiveBool(svd, left, 2);
  PetscTryMethod(svd, "SVDBlockLanczosSetLeftVectors_C", (SVD, PetscBool), (svd, left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosGetLeftVectors - Gets whether `SVDBLOCKLANCZOS` stores left vectors

  Not Collective

  Input Parameter:
. svd - the singular value solver context

  Output Parameter:
. left - `PETSC_TRUE` if it stores them

  Level: intermediate

.seealso: `SVDBLOCKLANCZOS`, `SVDBlockLanczosSetLeftVectors()`
@*/
PetscErrorCode SVDBlockLanczosGetLeftVectors(SVD svd, PetscBool *left)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscAssertPointer(left, 2);
  PetscUseMethod(svd, "SVDBlockLanczosGetLeftVectors_C", (SVD, PetscBool *), (svd, left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDBlockLanczosGetCounts_BlockLanczos(SVD svd, PetscInt *steps, PetscInt *vectors, PetscInt *guards, PetscInt *copies)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  if (steps) *steps = ctx->counts.steps;
  if (vectors) *vectors = ctx->counts.vectors;
  if (guards) *guards = ctx->counts.guards;
  if (copies) *copies = ctx->counts.copies;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  SVDBlockLanczosGetCounts - Gets counts of the steps, products and guards of the last solve with `SVDBLOCKLANCZOS`

  Not Collective

  Input Parameter:
. svd - the singular value solver context

  Output Parameters:
+ steps   - number of steps of the Krylov process, each a product of a whole block with $A$ and one with $A^*$ (may be `NULL`)
. vectors - number of vectors multiplied by $A^*$, including the final check (may be `NULL`)
. guards  - how often the guard looked for missed copies (may be `NULL`)
- copies  - how often the guard found some (may be `NULL`)

  Level: advanced

.seealso: `SVDBLOCKLANCZOS`, `SVDGetIterationNumber()`, `SVDBlockLanczosSetCertify()`
@*/
PetscErrorCode SVDBlockLanczosGetCounts(SVD svd, PetscInt *steps, PetscInt *vectors, PetscInt *guards, PetscInt *copies)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(svd, SVD_CLASSID, 1);
  PetscUseMethod(svd, "SVDBlockLanczosGetCounts_C", (SVD, PetscInt *, PetscInt *, PetscInt *, PetscInt *), (svd, steps, vectors, guards, copies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For tests, which call it by its composed name: whether steps leave out the pass against the whole basis where they can */
static PetscErrorCode SVDBlockLanczosSetShortSteps_BlockLanczos(SVD svd, PetscBool shortsteps)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  ctx->settings.shortsteps = shortsteps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Composes, or removes, the functions that the public functions of the same names call */
static PetscErrorCode Compose(SVD svd, PetscBool on)
{
  static const struct {
    const char       *name;
    PetscErrorCodeFn *function;
  } composed[] = {
    {"SVDBlockLanczosSetBlockSize_C",   (PetscErrorCodeFn *)SVDBlockLanczosSetBlockSize_BlockLanczos  },
    {"SVDBlockLanczosGetBlockSize_C",   (PetscErrorCodeFn *)SVDBlockLanczosGetBlockSize_BlockLanczos  },
    {"SVDBlockLanczosGetKSP_C",         (PetscErrorCodeFn *)SVDBlockLanczosGetKSP_BlockLanczos        },
    {"SVDBlockLanczosSetCertify_C",     (PetscErrorCodeFn *)SVDBlockLanczosSetCertify_BlockLanczos    },
    {"SVDBlockLanczosGetCertify_C",     (PetscErrorCodeFn *)SVDBlockLanczosGetCertify_BlockLanczos    },
    {"SVDBlockLanczosGetCertificate_C", (PetscErrorCodeFn *)SVDBlockLanczosGetCertificate_BlockLanczos},
    {"SVDBlockLanczosSetForm_C",        (PetscErrorCodeFn *)SVDBlockLanczosSetForm_BlockLanczos       },
    {"SVDBlockLanczosGetForm_C",        (PetscErrorCodeFn *)SVDBlockLanczosGetForm_BlockLanczos       },
    {"SVDBlockLanczosSetNonzero_C",     (PetscErrorCodeFn *)SVDBlockLanczosSetNonzero_BlockLanczos    },
    {"SVDBlockLanczosGetNonzero_C",     (PetscErrorCodeFn *)SVDBlockLanczosGetNonzero_BlockLanczos    },
    {"SVDBlockLanczosGetZeros_C",       (PetscErrorCodeFn *)SVDBlockLanczosGetZeros_BlockLanczos      },
    {"SVDBlockLanczosSetLeftVectors_C", (PetscErrorCodeFn *)SVDBlockLanczosSetLeftVectors_BlockLanczos},
    {"SVDBlockLanczosGetLeftVectors_C", (PetscErrorCodeFn *)SVDBlockLanczosGetLeftVectors_BlockLanczos},
    {"SVDBlockLanczosGetCounts_C",      (PetscErrorCodeFn *)SVDBlockLanczosGetCounts_BlockLanczos     },
    {"SVDBlockLanczosSetShortSteps_C",  (PetscErrorCodeFn *)SVDBlockLanczosSetShortSteps_BlockLanczos },
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(composed); k++) PetscCall(PetscObjectComposeFunction((PetscObject)svd, composed[k].name, on ? composed[k].function : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SVDDestroy_BlockLanczos(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;

  PetscFunctionBegin;
  PetscCall(SVDResetAll_BlockLanczos(svd));
  PetscCall(SVDBlockLanczosGiveBackLeft(svd));
  PetscCall(KSPDestroy(&ctx->ksp));
  /* restores SLEPc's flag, for another type that may follow */
  if (svd->impltrans) svd->impltrans = ctx->settings.impltrans;
  PetscCall(PetscFree(svd->data));
  PetscCall(Compose(svd, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   SVDBLOCKLANCZOS - SVDBLOCKLANCZOS = "blocklanczos" - A thick-restarted block Lanczos method for the largest or the smallest singular
   values, which finds the copies of multiple ones and estimates, or certifies, that none was missed

   Options Database Keys:
+  -svd_blocklanczos_blocksize bs                            - columns of a block, see `SVDBlockLanczosSetBlockSize()`
.  -svd_blocklanczos_ksp_type, -svd_blocklanczos_pc_type     - for the smallest values, what solves in place of this library's own factor, see `SVDBlockLanczosGetKSP()`
.  -svd_blocklanczos_certify gap                             - the relative gap to certify, 0 for none, see `SVDBlockLanczosSetCertify()`
.  -svd_blocklanczos_form (auto|ata|twosided|inverse|filter) - the iteration, see `SVDBlockLanczosSetForm()`
.  -svd_blocklanczos_nonzero tau                             - smallest values above tau only, see `SVDBlockLanczosSetNonzero()`
-  -svd_blocklanczos_left (true|false)                       - store left vectors, see `SVDBlockLanczosSetLeftVectors()`

   Notes:
   The solver computes the largest or the smallest singular values of standard problems, with any matrix type that SLEPc accepts; anything else is an
   error. For the smallest it factors the matrix on the host, if that is affordable, by a QR or a Cholesky factorisation; small matrices are left to LAPACK.

   For the largest values the matrix is only applied to blocks of vectors, $AX$ and $A^*U$, by `MatProduct`. The transpose is implicit unless
   `SVDSetImplicitTranspose()`, called after `SVDSetType()`, says otherwise, so no second copy of the matrix is made. Vectors and bases are of the matrix's vector
   type.

   In the $A^*A$ form only the basis of the short side is stored. `ncv` (`SVDSetDimensions()`) is raised if it leaves no room for four
   blocks beyond the values wanted. With a threshold the basis grows as more values are found.

   The error estimates at the end are true residuals, computed with the vectors returned. A triplet whose residual is at the level of
   rounding, relative to the largest singular value, counts as converged, however small its value; its estimate is then relative to the
   largest value.

   Vectors of the shorter side that `SVDSetInitialSpaces()` gives are used, all of them, and the certificate remains true whatever they come from; those of the
   longer side are ignored, as SLEPc says by `-info`.

   The number of iterations that SLEPc reports counts cycles between restarts; see `SVDBlockLanczosGetCounts()` for steps.

   The random blocks depend only on the seed of the random context of the right or left `BV` (`BVGetRandomContext()`), not on the number
   of processes, nor on the memory of the vectors.

   Level: beginner

.seealso: `SVD`, `SVDType`, `SVDSetType()`, `SVDBlockLanczosSetBlockSize()`, `SVDBlockLanczosSetForm()`, `SVDBlockLanczosSetCertify()`,
          `SVDBlockLanczosGetCertificate()`, `SVDBlockLanczosSetNonzero()`, `SVDBlockLanczosGetKSP()`, `SVDBlockLanczosSetLeftVectors()`,
          `SVDBlockLanczosGetCounts()`, `SVDTRLANCZOS`, `SVDRANDOMIZED`
M*/
PetscErrorCode SVDCreate_BlockLanczos(SVD svd)
{
  SVD_BLOCKLANCZOS *ctx;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ctx));
  svd->data                = (void *)ctx;
  ctx->settings.bs         = PETSC_DETERMINE;
  ctx->settings.shortsteps = PETSC_TRUE;
  ctx->settings.left       = PETSC_TRUE;
  ctx->settings.form       = SVD_BLOCKLANCZOS_FORM_AUTO;
  ctx->settings.certify    = PETSC_DETERMINE;
  ctx->settings.nonzero    = PETSC_DETERMINE;
  SVDBlockLanczosCertificateForget(svd);
  ctx->krylov.scale       = 1.0;
  ctx->settings.impltrans = svd->impltrans;
  /* otherwise SLEPc would form the transpose of any matrix that can be transposed; this solver does not need it */
  svd->impltrans = PETSC_TRUE;

  svd->ops->solve          = SVDSolve_BlockLanczos;
  svd->ops->setup          = SVDSetUp_BlockLanczos;
  svd->ops->setfromoptions = SVDSetFromOptions_BlockLanczos;
  svd->ops->destroy        = SVDDestroy_BlockLanczos;
  svd->ops->reset          = SVDResetAll_BlockLanczos;
  svd->ops->view           = SVDView_BlockLanczos;
  svd->ops->setdstype      = SVDSetDSType_BlockLanczos;
  PetscCall(Compose(svd, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
