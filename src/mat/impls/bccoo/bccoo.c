/* MATBCCOO: the kind, and its choice of a format. settings.c has what users set. */
#include "bccoo.h"
#include "formats.h"
#include "settings.h"

static void BCCOOGetPurpose(const void *settings, PetscInt columns, AIJPurpose *purpose)
{
  (void)settings;
  purpose->columns      = columns;
  purpose->reproducible = PETSC_TRUE; /* as products of all its formats are */
  purpose->rents        = PETSC_FALSE;
  purpose->tuning       = NULL;
  purpose->fits         = NULL;
}

PetscErrorCode BCCOOStoredBuild(AIJStored *stored, const AIJFormat *format, MatFormCopies copies, const AIJCSR *csr, const AIJPurpose *purpose)
{
  const PetscReal bytes = (PetscReal)(sizeof(PetscScalar) + sizeof(PetscInt)) / 3; /* of a nonzero, in the mean of many matrices: docs/bccoo.md */
  AIJPurpose      two   = *purpose;

  PetscFunctionBegin;
  two.tuning = format;
  /* products with vectors count: dense matrices take the copy of A */
  if (AIJTakesTwoCopies(copies, 1, csr, bytes)) PetscCall(AIJStoredBuild(stored, &AIJFormatHostTwoCopies, csr, &two));
  else PetscCall(AIJStoredBuild(stored, format, csr, purpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCCOOBuild(const void *settings, PetscBool ondevice, const AIJPurpose *purpose, const AIJCSR *csr, AIJStored *stored)
{
  static const AIJFormat *const formats[] = {&AIJFormatCOO, &AIJFormatTuples, &AIJFormatSIMD, &AIJFormatCSR}; /* by MatBCCOOCompression */
  const BCCOOSettings          *s         = (const BCCOOSettings *)settings;

  PetscFunctionBegin;
  (void)ondevice; /* never */
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
. -mat_bccoo_compression (none|tuples|simd|csr)             - how the nonzeros are coded, see `MatBCCOOCompression`
. -mat_form_copies (1|2|auto)                             - whether A^T has a copy of its own, see `MatFormSetCopies()`
- -mat_form_release (true|false)                          - the first product frees the CSR, see `MatFormSetRelease()`

  Level: beginner

   Notes:
   The matrix is a `MATAIJ` matrix in everything but its products, which use a second stored form of its nonzeros: compressed
   chunks with balanced numbers of nonzeros (Aliaga, Anzt, Gruetzmacher, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper.
   2021, section 2). Their own coding is compression `tuples`; the default, `simd`, is one that vector instructions read.
   The form is built at the first product, refilled when values have changed, and rebuilt when the nonzero pattern has. Its memory
   comes on top of that of the `MATAIJ` matrix, whose CSR takes 12 bytes per nonzero in real double precision with 32-bit indices;
   `MatFormGetMemory()`, and `MatView()` in the format `PETSC_VIEWER_ASCII_INFO_DETAIL` after a product, tell how much it is. With
   `-mat_form_release` the CSR is freed.

   The coding is lossless: every value keeps its bits, including -0.0, denormals, infinities, and NaNs with their payload.

   Products use OpenMP threads: as many as `OMP_NUM_THREADS`, `-omp_num_threads` or the program's `omp_set_num_threads()` said
   when the form was built. If none has, the MPI processes of a node divide the cores: a process has as many threads as its shares
   of the cores that it may run on make whole ones, all of them if it is bound to cores of its own, and at least one. Small
   matrices have one thread. `-info`, and `MatView()` in the format `PETSC_VIEWER_ASCII_INFO_DETAIL`, tell the number and where it
   comes from. No values are added by atomic operations: with the same number of threads, even if the system grants fewer, the
   results have the same bits in every run.

   `MatHasOperation()` denies `MATOP_TRANSPOSE` for a matrix of this type, so that SLEPc uses the transposed product instead of
   forming a transpose. `MatTranspose()` works all the same, and with `-mat_form_explicit_transpose` the answer is yes.

.seealso: `MATCSRCCUDA`, `MATAIJ`, `MatCreateBCCOO()`, `MatBCCOOSetCompression()`, `MatFormSetRelease()`, `MatFormGetMemory()`
M*/
