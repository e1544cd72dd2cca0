/*
  Generated matrices that replace large ones of public collections: same size, same number of nonzeros, and distributions of row
  lengths and columns that resemble those of the original. With them one can measure where the originals are not available.

  Row i has its own random numbers, seeded by the name and i, so the matrix is the same on any number of processes. Columns are
  drawn one by one and duplicates are dropped, so the number of nonzeros is slightly below the one asked for.
*/
#include "support.h"

typedef enum {
  DEGREE_FIXED, /* the average number of nonzeros in a row, rounded down or up at random */
  DEGREE_EXP    /* exponential distribution */
} Degree;

typedef enum {
  COLUMN_UNIFORM,
  COLUMN_ZIPF,  /* a few popular columns, scattered over the matrix; shape is the exponent */
  COLUMN_BAND,  /* columns near the diagonal; shape is the width in columns */
  STENCIL_STAR, /* a grid point and its direct neighbours; shape is the dimension of the grid */
  STENCIL_BOX   /* a grid point and all its neighbours in three dimensions; shape is the number of unknowns at a point */
} Pattern;

typedef enum {
  VALUE_UNIFORM, /* uniform in [-1, 1) */
  VALUE_INTEGER, /* uniform in 1, 2, ... nvalues */
  VALUE_STENCIL  /* one value on, one below, one above the diagonal */
} Value;

typedef struct {
  const char *name;
  PetscInt    m, n; /* rows and columns; for a stencil, m is the number of points along an edge of the grid, and the rest follows */
  double      nnz;
  Degree      degree;
  Pattern     pattern;
  double      shape;
  Value       value;
  PetscInt    nvalues;
} Law;

/* Names of variants of a matrix end in what differs: the distribution of row lengths or of values */
static const Law laws[] = {
  {"12month1",           872622,  12471,   22624727,  DEGREE_EXP,   COLUMN_ZIPF,    3,     VALUE_UNIFORM, 0 },
  {"12month1-fixed",     872622,  12471,   22624727,  DEGREE_FIXED, COLUMN_ZIPF,    3,     VALUE_UNIFORM, 0 },
  {"connectus",          394792,  512,     1127525,   DEGREE_EXP,   COLUMN_ZIPF,    2,     VALUE_UNIFORM, 0 },
  {"ESOC",               327062,  37830,   6019939,   DEGREE_FIXED, COLUMN_BAND,    2000,  VALUE_UNIFORM, 0 },
  {"GL7d16",             955128,  460261,  14488881,  DEGREE_EXP,   COLUMN_UNIFORM, 0,     VALUE_UNIFORM, 0 },
  {"GL7d16-fixed",       955128,  460261,  14488881,  DEGREE_FIXED, COLUMN_UNIFORM, 0,     VALUE_UNIFORM, 0 },
  {"GL7d16-integer",     955128,  460261,  14488881,  DEGREE_FIXED, COLUMN_UNIFORM, 0,     VALUE_INTEGER, 9 },
  {"IMDB",               896308,  428440,  3782463,   DEGREE_EXP,   COLUMN_ZIPF,    3,     VALUE_UNIFORM, 0 },
  {"rail4284",           1096894, 4284,    11284032,  DEGREE_FIXED, COLUMN_UNIFORM, 0,     VALUE_UNIFORM, 0 },
  {"rail4284-ones",      1096894, 4284,    11284032,  DEGREE_FIXED, COLUMN_UNIFORM, 0,     VALUE_INTEGER, 1 },
  {"spal_004",           321696,  10203,   46168124,  DEGREE_FIXED, COLUMN_UNIFORM, 0,     VALUE_UNIFORM, 0 },
  {"specular",           477976,  1600,    7647040,   DEGREE_FIXED, COLUMN_UNIFORM, 0,     VALUE_UNIFORM, 0 },
  {"Rucci1",             1977885, 109900,  7791168,   DEGREE_FIXED, COLUMN_BAND,    500,   VALUE_UNIFORM, 0 },
  {"stormG2",            1377306, 528185,  3459881,   DEGREE_FIXED, COLUMN_BAND,    4,     VALUE_UNIFORM, 0 },
  {"tp-6",               1014301, 142752,  11537419,  DEGREE_EXP,   COLUMN_UNIFORM, 0,     VALUE_UNIFORM, 0 },
  {"pds-100",            514577,  156243,  1096002,   DEGREE_FIXED, COLUMN_BAND,    40000, VALUE_UNIFORM, 0 },
  {"Delor338K",          887058,  343236,  4211599,   DEGREE_EXP,   COLUMN_ZIPF,    4,     VALUE_UNIFORM, 0 },
  {"big",                8000000, 1000000, 200000000, DEGREE_FIXED, COLUMN_ZIPF,    2,     VALUE_UNIFORM, 0 },
  {"circuit",            2000000, 2000000, 14000000,  DEGREE_FIXED, COLUMN_BAND,    20000, VALUE_INTEGER, 40},
  {"atmosmodd",          108,     0,       0,         DEGREE_FIXED, STENCIL_STAR,   3,     VALUE_UNIFORM, 0 },
  {"atmosmodd-constant", 108,     0,       0,         DEGREE_FIXED, STENCIL_STAR,   3,     VALUE_STENCIL, 0 },
  {"7point",             160,     0,       0,         DEGREE_FIXED, STENCIL_STAR,   3,     VALUE_UNIFORM, 0 },
  {"ecology",            1000,    0,       0,         DEGREE_FIXED, STENCIL_STAR,   2,     VALUE_STENCIL, 0 },
  {"audikw",             48,      0,       0,         DEGREE_FIXED, STENCIL_BOX,    3,     VALUE_UNIFORM, 0 }
};

/* A law at a given scale, as needed to generate a row */
typedef struct {
  const Law *law;
  PetscInt   M, N;
  PetscInt   edge;      /* points along an edge of the grid */
  double     average;   /* nonzeros in a row */
  double     width;     /* width of the band */
  PetscInt   maxdegree; /* largest number of columns drawn for a row, duplicates included */
} Generator;

static PetscErrorCode GeneratorInit(const Law *law, PetscReal scale, Generator *g)
{
  PetscFunctionBegin;
  *g = (Generator){.law = law};
  if (law->pattern == STENCIL_STAR || law->pattern == STENCIL_BOX) {
    const PetscInt dim      = law->pattern == STENCIL_STAR ? (PetscInt)law->shape : 3;
    const PetscInt unknowns = law->pattern == STENCIL_BOX ? (PetscInt)law->shape : 1;

    const double edge = law->m * pow((double)scale, 1.0 / dim) + 0.5;

    PetscCheck(edge <= (double)PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Scale %g makes more points than a PetscInt can count", (double)scale);
    g->edge = PetscMax(1, (PetscInt)edge);
    g->M    = unknowns;
    for (PetscInt d = 0; d < dim; d++) PetscCall(PetscIntMultError(g->M, g->edge, &g->M));
    g->N         = g->M;
    g->maxdegree = law->pattern == STENCIL_STAR ? 2 * dim + 1 : 27 * unknowns;
  } else {
    PetscCheck((double)scale * PetscMax(law->m, law->n) < (double)PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Scale %g makes more rows or columns than a PetscInt can count", (double)scale);
    g->M       = PetscMax(1, (PetscInt)(law->m * scale));
    g->N       = PetscMax(1, (PetscInt)(law->n * scale));
    g->average = law->nnz / law->m;
    /* A band narrows with the matrix, but not so far that it has too few columns for a row */
    g->width     = PetscMax(law->shape * scale, PetscMin(law->shape, 4 * g->average));
    g->maxdegree = g->N;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Draws the columns of a row: unsorted, with duplicates */
static PetscInt RowColumnsRandom(const Generator *g, PetscInt row, uint64_t *state, PetscInt cols[])
{
  const Law *law = g->law;
  double     length;
  PetscInt   degree;

  if (law->degree == DEGREE_EXP) length = -log1p(-RandomUniform(state)) * g->average;
  else length = g->average;
  degree = (PetscInt)PetscMin(length + RandomUniform(state), (double)g->N);
  for (PetscInt t = 0; t < degree; t++) {
    const double u = RandomUniform(state);
    double       c;

    switch (law->pattern) {
    case COLUMN_ZIPF:
      cols[t] = (PetscInt)((uint64_t)(pow(u, law->shape) * g->N) * UINT64_C(2654435761) % (uint64_t)g->N);
      break;
    case COLUMN_BAND:
      c       = (double)row * g->N / g->M + (u - 0.5) * g->width;
      cols[t] = (PetscInt)PetscClipInterval(c, 0.0, g->N - 1.0);
      break;
    default:
      cols[t] = (PetscInt)(u * g->N);
    }
  }
  return degree;
}

static PetscInt RowColumnsStencil(const Generator *g, PetscInt row, PetscInt cols[])
{
  const PetscBool box      = (PetscBool)(g->law->pattern == STENCIL_BOX);
  const PetscInt  unknowns = box ? (PetscInt)g->law->shape : 1, depth = !box && g->law->shape < 3 ? 0 : 1;
  const PetscInt  point = row / unknowns, x = point % g->edge, y = point / g->edge % g->edge, z = point / g->edge / g->edge;
  PetscInt        degree = 0;

  for (PetscInt dz = -depth; dz <= depth; dz++) {
    for (PetscInt dy = -1; dy <= 1; dy++) {
      for (PetscInt dx = -1; dx <= 1; dx++) {
        const PetscBool neighbour = (PetscBool)(box || PetscAbsInt(dx) + PetscAbsInt(dy) + PetscAbsInt(dz) <= 1);
        const PetscBool inside    = (PetscBool)(0 <= x + dx && x + dx < g->edge && 0 <= y + dy && y + dy < g->edge && (!depth || (0 <= z + dz && z + dz < g->edge)));

        if (!neighbour || !inside) continue;
        for (PetscInt u = 0; u < unknowns; u++) cols[degree++] = (point + (dz * g->edge + dy) * g->edge + dx) * unknowns + u;
      }
    }
  }
  return degree;
}

static PetscScalar EntryValue(const Law *law, PetscInt row, PetscInt col, uint64_t *state)
{
  switch (law->value) {
  case VALUE_INTEGER:
    return (PetscReal)(1 + (PetscInt)(RandomUniform(state) * law->nvalues));
  case VALUE_STENCIL:
    return row == col ? 6.5 : col < row ? -1.1 : -0.9;
  default:
    return (PetscReal)(2 * RandomUniform(state) - 1);
  }
}

/*
  MatFillStandin - Generates a matrix that replaces one of a collection

  Collective

  Input Parameters:
+ A     - the matrix, as for MatLoad()
. name  - a name of the table above, or sampling-<rows>-<columns>-<nonzeros> for columns drawn uniformly
- scale - factor for the number of rows, columns and nonzeros; 1 for the size of the original
*/
PetscErrorCode MatFillStandin(Mat A, const char name[], PetscReal scale)
{
  MPI_Comm       comm;
  const Law     *law = NULL;
  Law            sampling;
  uint64_t       seed = 0;
  int            m, n, end = 0;
  Generator      g;
  PetscInt       rstart, rend, *i, *j, *cols;
  PetscScalar   *v;
  PetscSegBuffer jbuffer, vbuffer;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)A, &comm));
  for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(laws) && !law; l++) {
    PetscBool same;

    PetscCall(PetscStrcasecmp(name, laws[l].name, &same));
    if (same) law = &laws[l];
  }
  if (!law && sscanf(name, "sampling-%d-%d-%lf%n", &m, &n, &sampling.nnz, &end) == 3 && !name[end] && m > 0 && n > 0) {
    sampling = (Law){name, m, n, sampling.nnz, DEGREE_FIXED, COLUMN_UNIFORM, 0, VALUE_UNIFORM, 0};
    law      = &sampling;
  }
  if (!law) {
    char known[1024] = "";

    for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(laws); l++) {
      PetscCall(PetscStrlcat(known, " ", sizeof(known)));
      PetscCall(PetscStrlcat(known, laws[l].name, sizeof(known)));
    }
    SETERRQ(comm, PETSC_ERR_ARG_UNKNOWN_TYPE, "No generated matrix has the name %s; there are:%s sampling-<rows>-<columns>-<nonzeros>", name, known);
  }
  PetscCheck(scale > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "Scale %g must be positive", (double)scale);
  for (const char *c = law->name; *c; c++) seed = seed * 131 + (uint64_t)*c;

  PetscCall(GeneratorInit(law, scale, &g));
  PetscCall(MatFillSizes(A, g.M, g.N));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  PetscCall(PetscMalloc2(rend - rstart + 1, &i, g.maxdegree, &cols));
  PetscCall(PetscSegBufferCreate(sizeof(PetscInt), 65536, &jbuffer));
  PetscCall(PetscSegBufferCreate(sizeof(PetscScalar), 65536, &vbuffer));
  i[0] = 0;
  for (PetscInt row = rstart; row < rend; row++) {
    uint64_t     state = RandomStart(seed, row);
    PetscInt     degree, *jrow;
    PetscScalar *vrow;

    if (g.edge) degree = RowColumnsStencil(&g, row, cols);
    else degree = RowColumnsRandom(&g, row, &state, cols);
    PetscCall(PetscSortRemoveDupsInt(&degree, cols));
    PetscCall(PetscSegBufferGetInts(jbuffer, degree, &jrow));
    PetscCall(PetscSegBufferGet(vbuffer, degree, &vrow));
    for (PetscInt t = 0; t < degree; t++) {
      jrow[t] = cols[t];
      vrow[t] = EntryValue(law, row, cols[t], &state);
    }
    PetscCall(PetscIntSumError(i[row - rstart], degree, &i[row - rstart + 1]));
  }
  PetscCall(PetscSegBufferExtractInPlace(jbuffer, &j));
  PetscCall(PetscSegBufferExtractInPlace(vbuffer, &v));
  PetscCall(MatFillRows(A, i, j, v));
  PetscCall(PetscSegBufferDestroy(&jbuffer));
  PetscCall(PetscSegBufferDestroy(&vbuffer));
  PetscCall(PetscFree2(i, cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}
