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

/* Users' names first. The internal names begin with seqaij or mpiaij because PETSc recognizes AIJ matrices by these prefixes. */
#define MATCSRCCUDA    "csrccuda"
#define MATSEQCSRCCUDA "seqaijcsrccuda"
#define MATMPICSRCCUDA "mpiaijcsrccuda"
#define MATBCCOO       "bccoo"
#define MATSEQBCCOO    "seqaijbccoo"
#define MATMPIBCCOO    "mpiaijbccoo"

/* The types of a bccoo matrix whose CSR -mat_bccoo_release_aij has freed: by their names PETSc sees that they are not AIJ */
#define MATSEQBCCOORELEASED "seqbccooreleased"
#define MATMPIBCCOORELEASED "mpibccooreleased"

/* A solver for square systems that multiplies with A and with A^T */
#define KSPQMR "qmr"

/*E
  MatCSRCLayout - How `MATCSRCCUDA` stores a matrix on a device

  Values:
+ `MAT_CSRC_LAYOUT_AUTO` (`auto`)         - the balanced layout, or `csrc` where the balanced one does not suit the matrix; the default
. `MAT_CSRC_LAYOUT_CSRC` (`csrc`)         - blocks of 256 rows, nonzeros sorted by column inside a block, 8-bit row offsets
- `MAT_CSRC_LAYOUT_BALANCED` (`balanced`) - one block or a few for each multiprocessor, all with the same number of nonzeros;
                                            columns and values in as few bytes as hold them exactly

  Level: intermediate

  Notes:
  Without a device, `csrc` selects that layout on the host; otherwise nonzeros are stored as `MATBCCOO` stores them.

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
  MatCSRCBlocking - Which products the balanced layout of `MATCSRCCUDA` sizes its blocks for

  Values:
+ `MAT_CSRC_BLOCKING_AUTO` (`auto`)     - for products with vectors, or, once these have had more columns in total, for dense matrices
                                          of 3 or more, 5 or more, or 16 or more columns; the default
. `MAT_CSRC_BLOCKING_VECTOR` (`vector`) - large blocks, for products with vectors
- `MAT_CSRC_BLOCKING_DENSE` (`dense`)   - smaller blocks, so that the sums of 4 columns fit the shared memory of a multiprocessor;
                                          those of 8 once a product has had 5 columns, and those of 16 once one has had 16

  Level: advanced

.seealso: `MATCSRCCUDA`, `MatCSRCSetBlocking()`
E*/
typedef enum {
  MAT_CSRC_BLOCKING_AUTO,
  MAT_CSRC_BLOCKING_VECTOR,
  MAT_CSRC_BLOCKING_DENSE
} MatCSRCBlocking;
PETSC_EXTERN const char *const MatCSRCBlockings[];

/*E
  MatCSRCOrientation - What the blocks of the balanced layout of `MATCSRCCUDA` are made of

  Values:
+ `MAT_CSRC_ORIENTATION_AUTO` (`auto`)       - columns for a matrix with at least twice as many columns as rows, or with a row, but no
                                               column, that has too many nonzeros for one block; otherwise rows; the default
. `MAT_CSRC_ORIENTATION_ROWS` (`rows`)       - rows: A x is bitwise the same every time, A^T x adds by atomics
- `MAT_CSRC_ORIENTATION_COLUMNS` (`columns`) - columns: the other way round

  Level: advanced

  Note:
  Nonzeros of a block that share a column (or a row, for blocks of columns) are summed first and then added to the result by one
  atomic addition in memory: the longer these runs, the faster. A wide matrix has longer runs along its rows.

.seealso: `MATCSRCCUDA`, `MatCSRCSetOrientation()`, `MatCSRCSetReproducible()`
E*/
typedef enum {
  MAT_CSRC_ORIENTATION_AUTO,
  MAT_CSRC_ORIENTATION_ROWS,
  MAT_CSRC_ORIENTATION_COLUMNS
} MatCSRCOrientation;
PETSC_EXTERN const char *const MatCSRCOrientations[];

/*E
  MatBCCOOCompression - How `MATBCCOO` encodes the nonzeros of a matrix

  Values:
+ `MAT_BCCOO_COMPRESSION_NONE` (`none`)     - balanced coordinate storage, no compression (BCOO)
. `MAT_BCCOO_COMPRESSION_TUPLES` (`tuples`) - delta-coded columns, implicit rows, values through a table of 256 entries (BCCOO)
. `MAT_BCCOO_COMPRESSION_SIMD` (`simd`)     - short columns and values, eight nonzeros at a time, laid out for vector instructions; the default
- `MAT_BCCOO_COMPRESSION_CSR` (`csr`)       - a copy of the CSR, whose products run in one thread: to compare with

  Level: intermediate

  Note:
  BCOO and BCCOO are those of Aliaga, Anzt, Gruetzmacher, Quintana-Orti, Tomas, Concurrency Computat. Pract. Exper. 2021, section 2.

.seealso: `MATBCCOO`, `MatBCCOOSetCompression()`
E*/
typedef enum {
  MAT_BCCOO_COMPRESSION_NONE,
  MAT_BCCOO_COMPRESSION_TUPLES,
  MAT_BCCOO_COMPRESSION_SIMD,
  MAT_BCCOO_COMPRESSION_CSR
} MatBCCOOCompression;
PETSC_EXTERN const char *const MatBCCOOCompressions[];

/*E
  MatBCCOOSIMD - The instruction set that products of `MATBCCOO` with compression `simd` use

  Values:
+ `MAT_BCCOO_SIMD_BEST` (`best`)         - the best of these that the processor has; the default
. `MAT_BCCOO_SIMD_PORTABLE` (`portable`) - plain C; the only one for complex or single precision scalars
. `MAT_BCCOO_SIMD_AVX2` (`avx2`)         - AVX2 and FMA
. `MAT_BCCOO_SIMD_AVX512` (`avx512`)     - AVX-512 F, VL, BW and DQ
- `MAT_BCCOO_SIMD_AVX512_LOADS` (`avx512loads`) - the same, with eight loads in place of a gather instruction; the best on AMD processors

  Level: advanced

.seealso: `MATBCCOO`, `MatBCCOOSetSIMD()`, `MatBCCOOCompression`
E*/
typedef enum {
  MAT_BCCOO_SIMD_BEST,
  MAT_BCCOO_SIMD_PORTABLE,
  MAT_BCCOO_SIMD_AVX2,
  MAT_BCCOO_SIMD_AVX512,
  MAT_BCCOO_SIMD_AVX512_LOADS
} MatBCCOOSIMD;
PETSC_EXTERN const char *const MatBCCOOSIMDs[];

PETSC_EXTERN PetscErrorCode PetscCSRCInitializePackage(void);

PETSC_EXTERN PetscErrorCode MatCreateSeqCSRCCUDA(MPI_Comm, PetscInt, PetscInt, PetscInt, const PetscInt[], Mat *);
PETSC_EXTERN PetscErrorCode MatCreateCSRCCUDA(MPI_Comm, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, const PetscInt[], PetscInt, const PetscInt[], Mat *);
PETSC_EXTERN PetscErrorCode MatCSRCSetLayout(Mat, MatCSRCLayout);
PETSC_EXTERN PetscErrorCode MatCSRCGetLayout(Mat, MatCSRCLayout *);
PETSC_EXTERN PetscErrorCode MatCSRCSetBlocking(Mat, MatCSRCBlocking);
PETSC_EXTERN PetscErrorCode MatCSRCGetBlocking(Mat, MatCSRCBlocking *);
PETSC_EXTERN PetscErrorCode MatCSRCSetOrientation(Mat, MatCSRCOrientation);
PETSC_EXTERN PetscErrorCode MatCSRCGetOrientation(Mat, MatCSRCOrientation *);
PETSC_EXTERN PetscErrorCode MatCSRCSetRequireDevice(Mat, PetscBool);
PETSC_EXTERN PetscErrorCode MatCSRCGetRequireDevice(Mat, PetscBool *);
PETSC_EXTERN PetscErrorCode MatCSRCSetAutotune(Mat, PetscBool);
PETSC_EXTERN PetscErrorCode MatCSRCGetAutotune(Mat, PetscBool *);
PETSC_EXTERN PetscErrorCode MatCSRCSetReproducible(Mat, PetscBool);
PETSC_EXTERN PetscErrorCode MatCSRCGetReproducible(Mat, PetscBool *);

PETSC_EXTERN PetscErrorCode MatCreateSeqBCCOO(MPI_Comm, PetscInt, PetscInt, PetscInt, const PetscInt[], Mat *);
PETSC_EXTERN PetscErrorCode MatCreateBCCOO(MPI_Comm, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, const PetscInt[], PetscInt, const PetscInt[], Mat *);
PETSC_EXTERN PetscErrorCode MatBCCOOSetCompression(Mat, MatBCCOOCompression);
PETSC_EXTERN PetscErrorCode MatBCCOOGetCompression(Mat, MatBCCOOCompression *);
PETSC_EXTERN PetscErrorCode MatBCCOOSetSIMD(Mat, MatBCCOOSIMD);
PETSC_EXTERN PetscErrorCode MatBCCOOGetSIMD(Mat, MatBCCOOSIMD *);
PETSC_EXTERN PetscErrorCode MatBCCOOSetReleaseAIJ(Mat, PetscBool);
PETSC_EXTERN PetscErrorCode MatBCCOOGetReleaseAIJ(Mat, PetscBool *);

PETSC_EXTERN PetscErrorCode MatFormGetMemory(Mat, PetscLogDouble *, PetscMemType *);
