/* MATBCCOO: the AIJKind, and how it chooses a format. Options, setters and getters are in settings.c. */
#include "bccoo.h"
#include "formats.h"
#include "settings.h"
#include "transpose.h"

static void BCCOOGetPurpose(const void *settings, PetscInt columns, AIJPurpose *purpose)
{
  const BCCOOSettings *s = (const BCCOOSettings *)settings;

  purpose->columns      = columns;
  purpose->reproducible = PETSC_TRUE; /* products of all its formats are reproducible */
  purpose->rents        = s->compression == MAT_BCCOO_COMPRESSION_SIMD && s->copies == MAT_FORM_COPIES_ONE ? PETSC_TRUE : PETSC_FALSE;
  purpose->tuning       = NULL;
}

PetscErrorCode BCCOOStoredBuild(AIJStored *stored, const AIJFormat *format, MatFormCopies copies, const AIJCSR *csr, const AIJPurpose *purpose)
{
  const PetscReal  bytes   = (PetscReal)(sizeof(PetscScalar) + sizeof(PetscInt)) / 3; /* of a nonzero, the mean of many matrices: docs/bccoo.md */
  const AIJPairing pairing = {.format = format, .transpose = BCCOOTransposeCSR};
  AIJPurpose       two     = *purpose;

  PetscFunctionBegin;
  two.tuning = &pairing;
  /* decided for products with vectors (1 column): products with dense matrices use the copy of A only */
  if (AIJTakesTwoCopies(copies, 1, csr, bytes)) PetscCall(AIJStoredBuild(stored, &AIJFormatPairHost, csr, &two));
  else PetscCall(AIJStoredBuild(stored, format, csr, purpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOBuild(const void *settings, PetscBool ondevice, const AIJPurpose *purpose, const AIJCSR *csr, AIJStored *stored)
{
  static const AIJFormat *const formats[] = {&AIJFormatTuples, &AIJFormatSIMD, &AIJFormatCSR}; /* by MatBCCOOCompression */
  const BCCOOSettings          *s         = (const BCCOOSettings *)settings;

  PetscFunctionBegin;
  (void)ondevice; /* always false */
  PetscCall(BCCOOStoredBuild(stored, formats[s->compression], s->copies, csr, purpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJKind AIJKindBCCOO = {
  .name            = MATBCCOO,
  .aijname         = MATAIJBCCOO,
  .seqname         = MATSEQBCCOO,
  .mpiname         = MATMPIBCCOO,
  .usesdevice      = PETSC_FALSE,
  .size            = sizeof(BCCOOSettings),
  .defaults        = &BCCOODefaults,
  .setters         = BCCOOSetters,
  .setfromoptions  = BCCOOSetFromOptions,
  .getpurpose      = BCCOOGetPurpose,
  .build           = BCCOOBuild,
  .releasedseqname = MATSEQBCCOORELEASED,
  .releasedmpiname = MATMPIBCCOORELEASED,
};

PetscErrorCode MatCreate_SeqBCCOO(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJDerived(A, &AIJKindBCCOO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIBCCOO(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJDerived(A, &AIJKindBCCOO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATBCCOO - "bccoo" - A matrix type for fast products with A and with A^T on CPUs, from one compressed copy of the matrix

   This matrix type is identical to `MATSEQBCCOO` when constructed with a single process communicator, and to
   `MATMPIBCCOO` otherwise.

   Options Database Keys:
+ -mat_type bccoo                                         - sets the matrix type to `MATBCCOO` during a call to `MatSetFromOptions()`
. -mat_bccoo_compression (tuples|simd|csr)                  - how the nonzeros are coded, see `MatBCCOOCompression`
. -mat_form_copies (1|2|auto)                             - whether A^T has a copy of its own, see `MatFormSetCopies()`
. -mat_form_exchange (auto|mpi|shared)                    - how processes exchange entries of vectors
. -mat_form_store_at_once (true|false)                    - read when the library is loaded: the nonzeros are stored at the first product
. -mat_form_explicit_transpose (true|false)               - callers may form a transpose instead of using the product with A^T
- -mat_form_release (true|false)                          - the first product frees the CSR, see `MatFormSetRelease()`

  Level: beginner

   Notes:
   The matrix is a `MATAIJ` matrix except for its products, which use a second stored form of its nonzeros: compressed chunks with
   balanced numbers of nonzeros (Aliaga, Anzt, Gruetzmacher, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2021,
   section 2). The coding of that paper is compression `tuples`; the default, `simd`, is designed for vector instructions.
   The form is built, and refilled or rebuilt when values or the nonzero pattern have changed, once this would have paid back; until
   then `MATAIJ` multiplies, so that the last bits of a product may change within a run. A compression or number of copies other than the
   default, `-mat_form_release` and `-mat_form_store_at_once` have the form built at the first product, as have products with dense matrices. It
   takes memory in addition to the `MATAIJ` matrix, whose CSR takes 12 bytes per nonzero in real double precision with 32-bit
   indices; `MatFormGetMemory()`, and `MatView()` in the format `PETSC_VIEWER_ASCII_INFO_DETAIL` once it is built, tell how much.
   With `-mat_form_release` the CSR is freed.

   The coding is lossless: every value keeps its bits, including -0.0, denormals, infinities, and NaNs with their payload.

   Products use OpenMP threads. Their number is that set by `OMP_NUM_THREADS`, `-omp_num_threads` or the program's
   `omp_set_num_threads()` at the time the form is built. If none of these sets it, the MPI processes of a node divide the cores: a
   core that k processes may run on counts 1/k for each of them, and a process has as many threads as whole cores in its sum, but at
   least one. A process that is bound to cores of its own thus uses all of them. Small matrices have one thread. `-info`, and
   `MatView()` in the format `PETSC_VIEWER_ASCII_INFO_DETAIL`, show the number and its origin. No values are added by atomic
   operations: with the same number of threads, even if the system grants fewer, the results have the same bits in every run.

   `MatHasOperation()` returns false for `MATOP_TRANSPOSE` and a matrix of this type, so that SLEPc uses the transposed product
   instead of forming a transpose; with `-mat_form_explicit_transpose` it returns true. `MatTranspose()` works in both cases.

.seealso: `MATCSRCCUDA`, `MATAIJ`, `MatBCCOOSetCompression()`, `MatFormSetRelease()`, `MatFormGetMemory()`
M*/
