#pragma once

/*
  Public interface of petsccsrc: PETSc matrix types that give fast products with A and with A^T from one stored copy.

  Programs need none of this: -dll_append /abs/path/libpetsccsrc.so -mat_type csrccuda is enough. A program that links
  the library instead calls PetscCSRCInitializePackage() once after PetscInitialize().
*/
#include <petscmat.h>

#define PETSCCSRC_VERSION_MAJOR    0
#define PETSCCSRC_VERSION_MINOR    1
#define PETSCCSRC_VERSION_SUBMINOR 0

/*
  For each kind of matrix: the name that users give, an alias that begins with aij, and the sequential and parallel types. The alias is
  for DMDA, which gives its interpolation and injection the type of its matrices only if the name of that type begins with aij. The
  sequential and parallel names begin with seqaij and mpiaij because PETSc recognizes AIJ matrices by these prefixes.
*/
#define MATCSRCCUDA    "csrccuda"
#define MATAIJCSRCCUDA "aijcsrccuda"
#define MATSEQCSRCCUDA "seqaijcsrccuda"
#define MATMPICSRCCUDA "mpiaijcsrccuda"
#define MATBCCOO       "bccoo"
#define MATAIJBCCOO    "aijbccoo"
#define MATSEQBCCOO    "seqaijbccoo"
#define MATMPIBCCOO    "mpiaijbccoo"

/* Types of matrices without a CSR: it was freed by -mat_form_release, or they are from MatFormSetCSR(). The names do not begin as AIJ's do, so PETSc does not take them for AIJ */
#define MATSEQCSRCCUDARELEASED "seqcsrccudareleased"
#define MATMPICSRCCUDARELEASED "mpicsrccudareleased"
#define MATSEQBCCOORELEASED    "seqbccooreleased"
#define MATMPIBCCOORELEASED    "mpibccooreleased"

/* A solver for square systems that needs products with A and with A^H */
#define KSPQMR "qmr"

/*E
  MatCSRCLayout - How `MATCSRCCUDA` stores a matrix on a device

  Values:
+ `MAT_CSRC_LAYOUT_AUTO` (`auto`)         - the balanced layout, or `csrc` where the balanced one does not suit the matrix; the default
. `MAT_CSRC_LAYOUT_CSRC` (`csrc`)         - blocks of 256 rows, nonzeros sorted by column inside a block, 8-bit row offsets
- `MAT_CSRC_LAYOUT_BALANCED` (`balanced`) - one or a few blocks for each multiprocessor, or one for two of them, all with the same number of nonzeros;
                                            columns and values in as few bytes as hold them exactly

  Level: intermediate

  Notes:
  Without a device the nonzeros are stored as in `MATBCCOO`, whatever the layout.

  In the balanced layout, nonzeros of a block that share a column are summed first and then added to the result by one atomic addition in memory.
  Longer runs make products faster; a wide matrix has longer runs along its rows. Blocks are therefore made of columns for a matrix with at
  least twice as many columns as rows, or with a row, but no column, that has too many nonzeros for one block. The diagonal and the
  off-diagonal block of a parallel matrix choose separately.

  Blocks are cut for products with vectors. Columns of products with dense matrices of 3 or more columns are counted, and so are products
  with vectors, up to 256 of them. When there have been more such columns than vectors, the nonzeros are stored again in smaller blocks, so
  that the sums of 4 columns fit the shared memory of a multiprocessor. The same is done for 5 or more, and for 16 or more columns. Blocks
  that are small enough already are kept.

  `csrc` is the layout of Aliaga, Anzt, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2023, e7871, section 2.

.seealso: `MATCSRCCUDA`, `MatCSRCSetLayout()`
E*/
typedef enum {
  MAT_CSRC_LAYOUT_AUTO,
  MAT_CSRC_LAYOUT_CSRC,
  MAT_CSRC_LAYOUT_BALANCED
} MatCSRCLayout;
PETSC_EXTERN const char *const MatCSRCLayouts[];

/*E
  MatFormCopies - How many copies of its nonzeros a matrix `MATCSRCCUDA` or `MATBCCOO` stores for products

  Values:
+ `MAT_FORM_COPIES_ONE` (`1`)     - one for products with A and with A^T; the default
. `MAT_FORM_COPIES_TWO` (`2`)     - two: on the host one of A and one of A^T; on a device one in blocks of rows and one in blocks of
                                    columns, and each product uses the faster one
- `MAT_FORM_COPIES_AUTO` (`auto`) - two if a second copy takes less than a quarter of the memory of a product's operands, otherwise one

  Level: advanced

  Note:
  On a device, products with both copies are timed once the copies are stored, and a copy that gains less than 2 percent is freed.
  Different copies may therefore remain in two runs, and the last bits of results may differ. With `MatCSRCSetReproducible()` there are always
  two, and nothing is timed: A x uses the blocks of rows and A^T x the blocks of columns. Both are then bitwise reproducible.

.seealso: `MATCSRCCUDA`, `MATBCCOO`, `MatFormSetCopies()`, `MatCSRCSetReproducible()`
E*/
typedef enum {
  MAT_FORM_COPIES_ONE,
  MAT_FORM_COPIES_TWO,
  MAT_FORM_COPIES_AUTO
} MatFormCopies;
PETSC_EXTERN const char *const MatFormCopiesTypes[];

/*E
  MatBCCOOCompression - How `MATBCCOO` encodes the nonzeros of a matrix

  Values:
+ `MAT_BCCOO_COMPRESSION_TUPLES` (`tuples`) - delta-coded columns, implicit rows, values through a table of 256 entries (BCCOO)
. `MAT_BCCOO_COMPRESSION_SIMD` (`simd`)     - short columns and values, eight nonzeros at a time, laid out for vector instructions; the default
- `MAT_BCCOO_COMPRESSION_CSR` (`csr`)       - a copy of the CSR, with products in one thread; for comparisons

  Level: intermediate

  Note:
  BCCOO is that of Aliaga, Anzt, Gruetzmacher, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2021, section 2.

.seealso: `MATBCCOO`, `MatBCCOOSetCompression()`
E*/
typedef enum {
  MAT_BCCOO_COMPRESSION_TUPLES,
  MAT_BCCOO_COMPRESSION_SIMD,
  MAT_BCCOO_COMPRESSION_CSR
} MatBCCOOCompression;
PETSC_EXTERN const char *const MatBCCOOCompressions[];

PETSC_EXTERN PetscErrorCode PetscCSRCInitializePackage(void);

PETSC_EXTERN PetscErrorCode MatCSRCSetLayout(Mat, MatCSRCLayout);
PETSC_EXTERN PetscErrorCode MatCSRCGetLayout(Mat, MatCSRCLayout *);
PETSC_EXTERN PetscErrorCode MatCSRCSetRequireDevice(Mat, PetscBool);
PETSC_EXTERN PetscErrorCode MatCSRCGetRequireDevice(Mat, PetscBool *);
PETSC_EXTERN PetscErrorCode MatCSRCSetReproducible(Mat, PetscBool);
PETSC_EXTERN PetscErrorCode MatCSRCGetReproducible(Mat, PetscBool *);

PETSC_EXTERN PetscErrorCode MatBCCOOSetCompression(Mat, MatBCCOOCompression);
PETSC_EXTERN PetscErrorCode MatBCCOOGetCompression(Mat, MatBCCOOCompression *);

PETSC_EXTERN PetscErrorCode MatFormSetCopies(Mat, MatFormCopies);
PETSC_EXTERN PetscErrorCode MatFormGetCopies(Mat, MatFormCopies *);
PETSC_EXTERN PetscErrorCode MatFormSetRelease(Mat, PetscBool);
PETSC_EXTERN PetscErrorCode MatFormGetRelease(Mat, PetscBool *);
PETSC_EXTERN PetscErrorCode MatFormSetCSR(Mat, PetscInt, size_t, const void *, const void *, const PetscScalar *);
PETSC_EXTERN PetscErrorCode MatFormGetMemory(Mat, PetscLogDouble *, PetscMemType *);
