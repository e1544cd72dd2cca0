#pragma once

/*
  Replacements for what PETSc and SLEPc from 3.22 to 3.25 lack or name differently. The sources are written for 3.26; everything that
  older versions need is in this file. With an older version the library has only its host parts (gmakefile leaves CUDA out).
*/
#include <petscmat.h>
#include <petscsf.h>
#include <petsc/private/petscimpl.h>

/* clang-format off: it would format these as expressions */
#if PETSC_VERSION_LT(3, 25, 0)
typedef void *PetscCtx;
  #if PETSC_VERSION_LT(3, 23, 0)
typedef void          *PetscCtxRt;
typedef PetscErrorCode PetscCtxDestroyFn(void *);
  #else
typedef void **PetscCtxRt;
  #endif
#endif
/* clang-format on */

#if PETSC_VERSION_LT(3, 23, 0)
/* PetscOptionItems: a structure before 3.23, a pointer since */
typedef PetscOptionItems *PetscOptionItemsArg;
  /* The argument of a destructor: the pointer itself before 3.23, a pointer to it since */
  #define PetscCtxOf(ctx) (ctx)
  #define PetscCtxTo(ctx) (ctx)
static inline PetscErrorCode PetscCtxDestroyDefault(PetscCtxRt ctx)
{
  return PetscFree(ctx);
}
static inline PetscErrorCode MatGetCurrentMemType(Mat A, PetscMemType *mtype)
{
  (void)A;
  *mtype = PETSC_MEMTYPE_HOST;
  return PETSC_SUCCESS;
}
/* Before, the function copied garray; since, it takes ownership of it */
static inline PetscErrorCode MatCreateMPIAIJWithSeqAIJ_Older(MPI_Comm comm, Mat Ad, Mat Ao, PetscInt garray[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreateMPIAIJWithSeqAIJ(comm, Ad, Ao, garray, A));
  PetscCall(PetscFree(garray));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #define MatCreateMPIAIJWithSeqAIJ(comm, M, N, Ad, Ao, garray, A) MatCreateMPIAIJWithSeqAIJ_Older(comm, Ad, Ao, garray, A)
  #if defined(KSPCG) /* a source that has included petscksp.h before */
typedef PetscErrorCode KSPConvergenceTestFn(KSP, PetscInt, PetscReal, KSPConvergedReason *, void *);
  #endif
#else
typedef PetscOptionItems PetscOptionItemsArg;
  #define PetscCtxOf(ctx) (*(void **)(ctx))
  #define PetscCtxTo(ctx) (&(ctx))
#endif

#if PETSC_VERSION_LT(3, 26, 0)
typedef struct {
  PetscObjectId    id;
  PetscObjectState state, nonzerostate;
} MatState;

static inline PetscErrorCode MatGetState_Older(Mat A, MatState *now)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &now->id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &now->state));
  PetscCall(MatGetNonzeroState(A, &now->nonzerostate));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #define MatGetState MatGetState_Older

/* The caller only compares the PetscSF of MPIAIJ with an earlier one. Any object of the same lifetime can be used for that */
static inline PetscErrorCode MatGetMultPetscSF(Mat A, PetscSF *sf)
{
  PetscErrorCode (*get)(Mat, PetscSF *);
  Mat              Ao;
  PetscObjectState nonzerostate;
  char             name[64];

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatGetMultPetscSF_C", &get));
  if (get) {
    PetscCall((*get)(A, sf));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &Ao, NULL));
  PetscCall(MatGetNonzeroState(A, &nonzerostate));
  PetscCall(PetscSNPrintf(name, sizeof(name), "petsccsrc_communication_%" PetscInt64_FMT, (PetscInt64)nonzerostate));
  PetscCall(PetscObjectQuery((PetscObject)Ao, name, (PetscObject *)sf));
  if (!*sf) {
    PetscCall(PetscSFCreate(PETSC_COMM_SELF, sf));
    PetscCall(PetscObjectCompose((PetscObject)Ao, name, (PetscObject)*sf));
    PetscCall(PetscObjectDereference((PetscObject)*sf));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* For sources that include SLEPc's private headers before this one */
#if defined(SLEPC_VERSION_MAJOR)
  #if SLEPC_VERSION_LT(3, 26, 0)
    #define BVUsesKokkos(bv) PETSC_FALSE
    #undef SVDSetCtxThreshold
  #else
    #define BVUsesKokkos(bv) ((bv)->kokkos)
  #endif
  #if !defined(SVDLANCZOS)
  /* a source that does not use the SVD */
  #elif SLEPC_VERSION_LT(3, 23, 0)
    #define SVD_HAS_THRESHOLDS                    0
    #define SVDSetThreshold(svd, value, relative) PETSC_ERR_SUP
    /* There are no thresholds: no stopping test has this value */
    #define SVD_STOP_THRESHOLD                    ((SVDStop)-1)
    #define SVDSetCtxThreshold(svd, sigma, errest, k, n)
    #define SVDGetThreshold(svd, threshold, relative) (*(threshold) = 0.0, *(relative) = PETSC_FALSE, PETSC_SUCCESS)
    /* Makes room for more values and vectors, and keeps those that there are */
    #define SVDReallocateSolution(svd, n)             SVDReallocateSolution_Older(svd, n, &(svd)->sigma, &(svd)->perm, &(svd)->errest, (svd)->V, (svd)->leftbasis ? (svd)->U : NULL)
static inline PetscErrorCode SVDReallocateSolution_Older(SVD svd, PetscInt n, PetscReal **sigma, PetscInt **perm, PetscReal **errest, BV V, BV U)
{
  PetscReal *newsigma, *newerrest;
  PetscInt  *newperm, old;

  PetscFunctionBegin;
  PetscCall(BVGetSizes(V, NULL, NULL, &old));
  if (n <= old) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc3(n, &newsigma, n, &newperm, n, &newerrest));
  PetscCall(PetscArraycpy(newsigma, *sigma, old));
  PetscCall(PetscArraycpy(newperm, *perm, old));
  PetscCall(PetscArraycpy(newerrest, *errest, old));
  PetscCall(PetscFree3(*sigma, *perm, *errest));
  *sigma  = newsigma;
  *perm   = newperm;
  *errest = newerrest;
  PetscCall(BVResize(V, n, PETSC_TRUE));
  if (U) PetscCall(BVResize(U, n, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #else
    #define SVD_HAS_THRESHOLDS 1
  #endif
  #if SLEPC_VERSION_GE(3, 23, 0) && SLEPC_VERSION_LT(3, 26, 0)
    #define SVDSetCtxThreshold(svd, sigma, errest, k, n) \
      do { \
        if ((svd)->stop == SVD_STOP_THRESHOLD && (k)) { \
          ((SVDStoppingCtx)(svd)->stoppingctx)->firstsv = (sigma)[0]; \
          ((SVDStoppingCtx)(svd)->stoppingctx)->lastsv  = (sigma)[(k)-1]; \
        } \
      } while (0)
  #endif
#endif

/* MatMatMult() of AIJ in PETSc 3.25 writes out of bounds on a process without rows of the dense matrix; tests leave this case out */
#define PETSCCSRC_AIJ_NEEDS_ROWS (PETSC_VERSION_GE(3, 25, 0) && PETSC_VERSION_LT(3, 26, 0))
