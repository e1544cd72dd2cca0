static const char help[] = "Chessboard matrices: every singular value and every multiplicity, against the exact spectrum.\n\
  -boards a,b,k,...  boards, three numbers each\n\
  -nsv n,...         how many values\n\
  -seeds n           starts of each solve\n\
  -blocksizes b,...  block sizes (0: the solver's choice)\n";

#include "check.h"
#include <support.h>

#define MAXLIST 64

static PetscErrorCode ExactValues(PetscInt a, PetscInt b, PetscInt k, PetscInt n, PetscReal values[])
{
  const SpectrumLevel *levels;
  PetscInt             nlevels, done = 0;

  PetscFunctionBegin;
  PetscCall(ChessboardGetSpectrum(a, b, k, &nlevels, &levels));
  for (PetscInt l = 0; l < nlevels; l++) {
    for (PetscInt i = 0; i < levels[l].multiplicity && done < n; i++) values[done++] = PetscSqrtReal((PetscReal)levels[l].square);
  }
  PetscCheck(done == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Board %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " rooks: %" PetscInt_FMT " of %" PetscInt_FMT " values known", a, b, k, done, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  boards[MAXLIST] = {4, 4, 1, 4, 4, 2, 5, 5, 1, 5, 5, 2, 5, 6, 2, 6, 6, 3}, nsvs[MAXLIST] = {16, 32, 64}, sizes[MAXLIST] = {0};
  PetscInt  nboards = 18, nnsv = 3, nsizes = 1, seeds = 1, solves = 0, wrong = 0, steps, vectors, sum[2] = {0, 0};
  PetscBool flg, verbose = PETSC_FALSE;
  SVDCheck  worst = {0};

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(SlepcCSRCInitializePackage());
  PetscCall(SVDCheckGetList("-boards", MAXLIST, boards, &nboards));
  PetscCall(SVDCheckGetList("-nsv", MAXLIST, nsvs, &nnsv));
  PetscCall(SVDCheckGetList("-blocksizes", MAXLIST, sizes, &nsizes));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seeds", &seeds, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));

  for (PetscInt board = 0; board < nboards / 3; board++) {
    const PetscInt *abk = boards + 3 * board;
    Mat             A;
    PetscInt        M, N;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatFillChessboard(A, abk[0], abk[1], abk[2]));
    PetscCall(MatGetSize(A, &M, &N));
    for (PetscInt i = 0; i < nnsv; i++) {
      const PetscInt nsv = PetscMin(nsvs[i], PetscMin(M, N));
      PetscReal     *exact;

      if (i && nsv == PetscMin(nsvs[i - 1], PetscMin(M, N))) continue;
      PetscCall(PetscMalloc1(nsv, &exact));
      PetscCall(ExactValues(abk[0], abk[1], abk[2], nsv, exact));
      for (PetscInt j = 0; j < nsizes; j++) {
        for (PetscInt seed = 0; seed < seeds; seed++) {
          SVD      svd;
          SVDCheck check;
          char     size[16];

          PetscCall(PetscSNPrintf(size, sizeof(size), "%" PetscInt_FMT, sizes[j]));
          if (sizes[j]) PetscCall(PetscOptionsSetValue(NULL, "-svd_blocklanczos_blocksize", size));
          PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
          PetscCall(SVDSetOperators(svd, A, NULL));
          PetscCall(SVDSetDimensions(svd, nsv, PETSC_DETERMINE, PETSC_DETERMINE));
          PetscCall(SVDSetSeed(svd, seed));
          PetscCall(SVDSetFromOptions(svd));
          PetscCall(SVDSolve(svd));
          PetscCall(SVDCheckSolution(svd, nsv, exact, &check));
          steps = vectors = 0;
          PetscCall(PetscObjectTypeCompare((PetscObject)svd, SVDBLOCKLANCZOS, &flg));
          if (flg) PetscCall(SVDBlockLanczosGetCounts(svd, &steps, &vectors, NULL, NULL));
          solves++;
          sum[0] += steps;
          sum[1] += vectors;
          flg = (PetscBool)(check.n < nsv || check.value > 1e-8 || check.orthogonal > 1e-13 || check.residual > 2e-8 || check.estimate > 1.1);
          if (flg) wrong++;
          if (flg || verbose)
            PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                                  "%s ch%" PetscInt_FMT "-%" PetscInt_FMT "-b%" PetscInt_FMT " nsv %" PetscInt_FMT " block %" PetscInt_FMT " seed %" PetscInt_FMT ": %" PetscInt_FMT
                                  " triplets, values %.1e, orthogonality %.1e, residuals %.1e, %" PetscInt_FMT " steps, %" PetscInt_FMT " vectors\n",
                                  flg ? "WRONG" : "right", abk[0], abk[1], abk[2], nsv, sizes[j], seed, check.n, (double)check.value, (double)check.orthogonal, (double)check.residual, steps, vectors));
          worst.value      = PetscMax(worst.value, check.value);
          worst.orthogonal = PetscMax(worst.orthogonal, check.orthogonal);
          worst.residual   = PetscMax(worst.residual, check.residual);
          worst.estimate   = PetscMax(worst.estimate, check.estimate);
          PetscCall(SVDDestroy(&svd));
        }
      }
      PetscCall(PetscFree(exact));
    }
    PetscCall(MatDestroy(&A));
  }
  if (verbose)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "worst: values %.1e orthogonality %.1e residuals %.1e, of their estimate %.1e; %" PetscInt_FMT " steps, %" PetscInt_FMT " vectors\n", (double)worst.value, (double)worst.orthogonal, (double)worst.residual,
                          (double)worst.estimate, sum[0], sum[1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", wrong ? "some spectra are wrong" : "every spectrum is right"));
  if (verbose || wrong) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " of %" PetscInt_FMT " solves wrong\n", wrong, solves));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    depends: check.c
    requires: double

  testset:
    args: -svd_type blocklanczos
    output_file: output/boards_1.out
    test:
      suffix: 1
      args: -blocksizes 0,1,4,8,16,32
    test:
      suffix: twosided
      args: -blocksizes 0,1,8,32 -svd_blocklanczos_form twosided
    test:
      suffix: seeds
      args: -blocksizes 0,4 -seeds 5 -boards 4,4,1,4,4,2,5,5,1,5,5,2
    # few values, small projected problems, and both
    test:
      suffix: few
      args: -nsv 1,2,3,4,5 -boards 5,5,2,5,6,2,6,6,3
    test:
      suffix: mpd
      args: -svd_mpd {{20 30 60}} -nsv 3,7,10,16,24 -boards 5,5,2,6,6,3
    test: # locked triplets in the two-sided form
      suffix: mpdtwosided
      args: -svd_blocklanczos_form twosided -svd_mpd {{20 30}} -nsv 3,7,10,16,24 -boards 5,5,2,6,6,3
    test:
      suffix: mpdsmall
      args: -svd_mpd {{8 10}} -nsv 3,7,10,16 -boards 5,5,2
    # more converge early than are wanted, and larger ones come later
    test:
      suffix: mpdcopies
      args: -svd_mpd {{5 10}} -nsv 24,40 -boards 6,6,3
    # BV's functions in place of the solver's own products of blocks
    test:
      suffix: bv
      args: -blocksizes 0,8 -boards 4,4,1,4,4,2,5,5,1 -bv_type vecs
    # SLEPc's second copy of the matrix, if the user wants one
    test:
      suffix: explicit
      args: -blocksizes 0,8 -boards 4,4,2,5,5,1 -svd_implicittranspose 0
    test:
      suffix: types
      args: -mat_type {{csrccuda bccoo}} -blocksizes 0,1,16 -boards 4,4,1,4,4,2,5,5,1,5,5,2
    test:
      suffix: parallel
      nsize: {{2 3 4}}
      args: -mat_type {{aij csrccuda bccoo}} -nsv 16 -blocksizes 0,8,32 -boards 4,4,1,4,4,2,5,5,1
    # on a GPU in short pieces: the harness limits the time of each, and a device is shared
    test:
      suffix: 1_gpu
      args: -mat_type {{csrccuda aijcusparse}} -blocksizes {{0,1 4,8 16,32}} -boards {{4,4,1,4,4,2,5,5,1 5,5,2 5,6,2,6,6,3}}
    test:
      suffix: twosided_gpu
      # LAPACK's gesdd may say so on its way to an error, after which gesvd is called
      filter: grep -v "On entry to DLASCL"
      args: -svd_blocklanczos_form twosided -mat_type {{csrccuda aijcusparse}} -blocksizes {{0,1 4,8 16,32}} -boards {{4,4,1,4,4,2,5,5,1 5,5,2 5,6,2,6,6,3}}
    # five starts of each of the eight; the two large ones
    test:
      suffix: seeds_gpu
      args: -mat_type csrccuda -seeds 5 -blocksizes {{0 2 4}} -boards {{4,4,1,4,4,2,5,5,1 5,5,2 5,6,2 6,6,3}}
    test:
      suffix: large_gpu
      args: -mat_type csrccuda -seeds 5 -boards {{7,9,4 8,8,4}} -nsv {{16 32 64}}
    test:
      suffix: parallel_gpu
      nsize: 2
      args: -mat_type csrccuda -blocksizes 0,8 -boards 4,4,1,4,4,2,5,5,1

  # what the guard is for: without it copies are missed, and the test sees it
  test:
    suffix: noguard
    args: -svd_type blocklanczos -svd_blocklanczos_certify 0 -blocksizes 1,2,4 -nsv 16,32 -boards 4,4,2,5,6,2,6,6,3
    filter: grep -E "spectr(a|um)"
    output_file: output/boards_wrong.out

TEST*/
