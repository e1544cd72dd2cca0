/* MATCSRCCUDA: the kind, and its choice of a format and of the purpose to store nonzeros for. The settings are in settings.c. */
#include "csrccuda.h"
#include "settings.h"
#include "balanced/balanced.h"
#include "csrc/csrc.h"
#include "cuda/device.h"
#include "mat/impls/bccoo/formats.h"
#include "mat/impls/formats/pair/pair.h"

/*
  Where products are to have the same bits every time, nonzeros are never stored again for wider products: these bits must not depend on
  which products came before.
*/
static void CSRCGetPurpose(const void *settings, PetscInt columns, AIJPurpose *purpose)
{
  const CSRCSettings *s = (const CSRCSettings *)settings;

  purpose->columns      = s->reproducible ? 1 : PetscMax(columns, 1);
  purpose->reproducible = s->reproducible;
  purpose->rents        = s->layout == MAT_CSRC_LAYOUT_AUTO && s->copies == MAT_FORM_COPIES_ONE && !s->reproducible ? PETSC_TRUE : PETSC_FALSE;
  purpose->tuning       = NULL;
}

#if defined(PETSCCSRC_HAVE_CUDA)
  #define BYTES 11.0 /* bytes per nonzero in the balanced layout if values are stored in full: 10.2 to 12.3 */

/* Builds the requested layout; with auto the balanced one, unless it proves unsuitable for the matrix. Products that are the same every time need two copies. */
static PetscErrorCode CSRCBuildOnDevice(const CSRCSettings *s, const AIJPurpose *purpose, const AIJCSR *csr, AIJStored *stored)
{
  static const CSRCOrientation rows = CSRC_ROWS, columns = CSRC_COLUMNS;
  const AIJPairing             pairing = {
                &AIJFormatBalanced,
                {&rows, &columns},
                NULL
  };
  const PetscBool any      = s->layout == MAT_CSRC_LAYOUT_AUTO ? PETSC_TRUE : PETSC_FALSE;
  PetscBool       balanced = s->layout == MAT_CSRC_LAYOUT_BALANCED || (any && CSRCBalancedHolds(csr)) ? PETSC_TRUE : PETSC_FALSE, suits = PETSC_TRUE, holds;
  int             has, needs;

  PetscFunctionBegin;
  PetscCall(CSRCBalancedDeviceHolds(&holds, &has, &needs));
  if (any && !holds) balanced = PETSC_FALSE;
  PetscCheck(balanced || !(s->reproducible || s->copies == MAT_FORM_COPIES_TWO), PETSC_COMM_SELF, PETSC_ERR_SUP, "%s: on a device there are two copies in the balanced layout only, which %s",
             s->reproducible ? "-mat_csrc_reproducible" : "-mat_form_copies 2",
             s->layout == MAT_CSRC_LAYOUT_CSRC ? "-mat_csrc_layout csrc excludes"
             : holds                           ? "does not hold a matrix of this size"
                                               : "needs more shared memory than this device has");
  if (balanced && (s->reproducible || AIJTakesTwoCopies(s->copies, purpose->columns, csr, BYTES))) {
    AIJPurpose two = *purpose;

    two.tuning = &pairing;
    PetscCall(AIJStoredBuild(stored, &AIJFormatPairDevice, csr, &two));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (balanced) {
    PetscCall(AIJStoredBuild(stored, &AIJFormatBalanced, csr, purpose));
    if (any) PetscCall(CSRCBalancedSuits(stored->data, &suits));
    if (suits) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AIJStoredDestroy(stored));
  }
  PetscCall(AIJStoredBuild(stored, &AIJFormatCSRC256, csr, purpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* On the host: as bccoo stores by default, whatever layout is set. The layouts are for devices. */
static PetscErrorCode CSRCBuild(const void *settings, PetscBool ondevice, const AIJPurpose *purpose, const AIJCSR *csr, AIJStored *stored)
{
  const CSRCSettings *s = (const CSRCSettings *)settings;

  PetscFunctionBegin;
#if defined(PETSCCSRC_HAVE_CUDA)
  if (ondevice) {
    PetscCall(CSRCBuildOnDevice(s, purpose, csr, stored));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#else
  (void)ondevice;
#endif
  if (s->layout != MAT_CSRC_LAYOUT_AUTO) PetscCall(PetscInfo(NULL, "-mat_csrc_layout %s is for a device: on the host the nonzeros are stored as %s stores them\n", MatCSRCLayouts[s->layout], MATBCCOO));
  PetscCall(BCCOOStoredBuild(stored, &AIJFormatSIMD, s->copies, csr, purpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The layout csrc counts more nonzeros than the balanced one, but several matrices in that one are faster */
static PetscInt CSRCGetPiece(const void *settings, PetscBool ondevice, const AIJCSR *csr)
{
  const PetscBool balanced = ondevice && ((const CSRCSettings *)settings)->layout != MAT_CSRC_LAYOUT_CSRC ? PETSC_TRUE : PETSC_FALSE;

  return balanced && csr->m <= CSRC_BALANCED_MOST && csr->n <= CSRC_BALANCED_MOST ? CSRC_BALANCED_MOST : PETSC_INT_MAX;
}

#define CSRC_KIND(user, aijuser, seq, mpi, seqreleased, mpireleased) \
  { \
    .name = user, .aijname = aijuser, .seqname = seq, .mpiname = mpi, .usesdevice = PETSC_TRUE, .size = sizeof(CSRCSettings), .defaults = &CSRCDefaults, .setters = CSRCSetters, .setfromoptions = CSRCSetFromOptions, .getpurpose = CSRCGetPurpose, \
    .build = CSRCBuild, .getpiece = CSRCGetPiece, .releasedseqname = seqreleased, .releasedmpiname = mpireleased \
  }
const AIJKind AIJKindCSRCCUDA = CSRC_KIND(MATCSRCCUDA, MATAIJCSRCCUDA, MATSEQCSRCCUDA, MATMPICSRCCUDA, MATSEQCSRCCUDARELEASED, MATMPICSRCCUDARELEASED);
/* The same kind under the name aijcusparse, for programs and parts of PETSc that need exactly this name */
const AIJKind AIJKindCUSPARSE = CSRC_KIND(MATAIJCUSPARSE, NULL, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, "seqcusparsereleased", "mpicusparsereleased");

PetscErrorCode MatCreate_SeqCSRCCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJDerived(A, &AIJKindCSRCCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPICSRCCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJDerived(A, &AIJKindCSRCCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCCSRC_HAVE_CUDA)
/* Exported by PETSc, but declared in none of its installed headers */
PETSC_EXTERN PetscErrorCode MatCreate_SeqAIJCUSPARSE(Mat);

static PetscErrorCode MatCreate_SeqAsCUSPARSE(Mat A)
{
  PetscFunctionBegin;
  if (A->factortype != MAT_FACTOR_NONE) PetscCall(MatCreate_SeqAIJCUSPARSE(A)); /* a factor of solver type cusparse has operations of its own */
  else PetscCall(MatCreate_SeqAIJDerived(A, &AIJKindCUSPARSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreate_MPIAsCUSPARSE(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJDerived(A, &AIJKindCUSPARSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode MatCSRCCUDARegister(void)
{
  PetscBool replace = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(AIJKindRegister(&AIJKindCSRCCUDA, MatCreate_SeqCSRCCUDA, MatCreate_MPICSRCCUDA));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_csrc_replace_aijcusparse", &replace, NULL));
#if defined(PETSCCSRC_HAVE_CUDA)
  if (replace) {
    PetscBool   usable;
    const char *reason;

    PetscCall(PetscCSRCDeviceUsable(&usable, &reason));
    if (usable) PetscCall(AIJKindRegister(&AIJKindCUSPARSE, MatCreate_SeqAsCUSPARSE, MatCreate_MPIAsCUSPARSE));
    else PetscCall(PetscInfo(NULL, "-mat_csrc_replace_aijcusparse: %s stays PETSc's: %s\n", MATAIJCUSPARSE, reason));
  }
#else
  if (replace) PetscCall(PetscInfo(NULL, "-mat_csrc_replace_aijcusparse: %s stays PETSc's: petsccsrc was built without CUDA\n", MATAIJCUSPARSE));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATCSRCCUDA - "csrccuda" - A matrix type for fast products with A and with A^T from one stored copy, on NVIDIA GPUs and on CPUs

   This matrix type is identical to `MATSEQCSRCCUDA` when constructed with a single process communicator, and to
   `MATMPICSRCCUDA` otherwise.

   Options Database Keys:
+ -mat_type csrccuda                        - sets the matrix type to `MATCSRCCUDA` during a call to `MatSetFromOptions()`
. -mat_csrc_layout (auto|csrc|balanced)     - how the nonzeros are stored on a device, see `MatCSRCLayout`
. -mat_form_copies (1|2|auto)               - how many copies are stored, see `MatFormCopies`
. -mat_form_explicit_transpose (true|false) - callers may form a transpose instead of using the product with A^T
. -mat_form_release (true|false)            - the first product frees the CSR, see `MatFormSetRelease()`
. -mat_form_exchange (auto|mpi|nccl|peer|shared) - how processes exchange entries of vectors
. -mat_form_store_at_once (true|false)      - read when the library is loaded: the nonzeros are stored at the first product
. -mat_csrc_require_device (true|false)     - it is an error if no device can be used
. -mat_csrc_replace_aijcusparse (true|false) - read when the library is loaded: matrices of type `MATAIJCUSPARSE` become this type under their own name
- -mat_csrc_reproducible (true|false)       - A x and A^T x have the same bits every time, see `MatCSRCSetReproducible()`

  Level: beginner

   Notes:
   The matrix is a `MATAIJ` matrix in everything but its products, which use a second stored form of its nonzeros, CSRC: rows
   in blocks (or columns, where that is better), the nonzeros of a block sorted by column (Aliaga, Anzt,
   Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2023, e7871, section 2). The form is built at the first product,
   refilled when values have changed, and rebuilt when the nonzero pattern has; but where the CSR is on a device, and nothing was set
   that chooses how nonzeros are stored, products are those of `MATAIJCUSPARSE` until storing would have paid back, and without a device those of
   `MATAIJ`. `-mat_form_store_at_once` has the form built at the first product.

   If a CUDA device can be used, the form lives on it, vectors made by `MatCreateVecs()` are `VECCUDA`, and the matrix is a
   `MATAIJCUSPARSE` matrix in everything else: values from coordinates, scaling, sums, products with sparse matrices and
   factors are made on the device; so are, unlike those of `MATAIJCUSPARSE`, transposes, shifts and duplicates. Its CSR is on the host, on the device, or on both, as `MATAIJCUSPARSE` keeps it. Otherwise, or
   after `MatBindToCPU()`, the nonzeros are stored on the host, as `MATBCCOO` stores them, and products use OpenMP threads.

   `MatHasOperation()` denies `MATOP_TRANSPOSE` for a matrix of this type, so that SLEPc uses the transposed product instead of
   forming a transpose. `MatTranspose()` works all the same, and with `-mat_form_explicit_transpose` the answer is yes.

   On a device A^T x is added by floating-point atomics (A x if blocks are made of columns, both in the layout `csrc`): its last
   bits may differ from run to run, unless `MatCSRCSetReproducible()` was called, with which the matrix is stored twice.

.seealso: `MATBCCOO`, `MATAIJ`, `MATAIJCUSPARSE`, `MatCSRCSetLayout()`, `MatCSRCSetRequireDevice()`, `MatCSRCSetReproducible()`,
          `MatFormSetCopies()`, `MatFormSetRelease()`, `MatFormGetMemory()`
M*/
