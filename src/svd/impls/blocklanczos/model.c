/* Block size and basis size */
#include "blocklanczos.h"

PetscErrorCode SVDBlockLanczosChooseSizes(SVD svd, PetscInt *blocksize)
{
  SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt          nsv = PetscMax(svd->nsv, 1), bs, ncv;

  PetscFunctionBegin;
  bs = ctx->bs_user == PETSC_DETERMINE ? 8 : ctx->bs_user;
  bs = PetscMin(bs, ctx->n);
  if (svd->ncv == PETSC_DETERMINE) {
    if (svd->mpd != PETSC_DETERMINE) ncv = nsv + svd->mpd;
    else ncv = nsv + 12 * bs;
  } else ncv = svd->ncv;
  ncv = PetscMin(ncv, ctx->n);
  /* a restart and the guard both need room for some blocks beyond the triplets wanted */
  if (ncv < ctx->n) {
    if (ctx->bs_user == PETSC_DETERMINE) {
      bs = PetscMax(PetscMin(bs, (ncv - nsv) / 4), 1);
      if (svd->mpd != PETSC_DETERMINE) bs = PetscMax(PetscMin(bs, svd->mpd / 6), 1);
    }
    if (ncv < nsv + 4 * bs) {
      PetscCall(PetscInfo(svd, "ncv raised from %" PetscInt_FMT " to %" PetscInt_FMT ": room for four blocks of %" PetscInt_FMT " beyond the %" PetscInt_FMT " values wanted\n", ncv, PetscMin(ctx->n, nsv + 4 * bs), bs, nsv));
      ncv = PetscMin(ctx->n, nsv + 4 * bs);
    }
  }
  if (svd->mpd == PETSC_DETERMINE) svd->mpd = ncv;
  if (svd->mpd < ncv) svd->mpd = PetscMin(ncv, PetscMax(svd->mpd, 4 * bs));
  else svd->mpd = ncv;
  svd->ncv = ncv;
  *blocksize = bs;
  PetscFunctionReturn(PETSC_SUCCESS);
}
