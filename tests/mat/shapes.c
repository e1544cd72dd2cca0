/*
  The table of matrices that the tests use. Their sizes are on both sides of the limits of storage forms: blocks of 256 rows and row
  offsets of 8 bits, warps of 32 and thread blocks of 256 to 1024, chunks of a power of two nonzeros, column gaps that need 8, 16 or
  32 bits, value tables of 256 entries, threads without work.
*/
#include "reference.h"

typedef enum {
  EMPTY,   /* no nonzero */
  FULL,    /* every entry */
  EXACTLY, /* q nonzeros, scattered over the matrix */
  BAND,    /* |i - j| <= q */
  ROW,     /* row q is full */
  COLUMN,  /* column q is full */
  ARROW,   /* first row, first column, diagonal */
  LASTS,   /* last row, last column */
  EVERY,   /* every q-th row and column, full; the others empty */
  COLGAPS, /* neighbouring nonzeros of a row are q columns apart */
  ROWGAPS  /* rows with nonzeros are q rows apart */
} Pattern;

typedef enum {
  ONES,  /* all 1 */
  FEW,   /* 7 values, among them 0 and -0 */
  TABLE, /* 256 values, as many as an index of one byte allows */
  SPILL, /* 257 values */
  ANY,   /* all different */
  WIDE   /* all different, of sizes from 1e-15 to 1e15 */
} Values;

typedef struct {
  PetscInt m, n;
  Pattern  pattern;
  PetscInt q;
  Values   values;
} Shape;

static const char *const PatternNames[] = {"empty", "full", "nonzeros", "band", "full row", "full column", "arrow", "last row and column", "stripes", "column gaps", "row gaps"};
static const char *const ValuesNames[]  = {"ones", "few values", "256 values", "257 values", "any values", "wide values"};

static const Shape shapes[] = {
  /* empty matrices */
  {0,     0,     EMPTY,   0,     ANY  },
  {0,     5,     EMPTY,   0,     ANY  },
  {5,     0,     EMPTY,   0,     ANY  },
  {1,     1,     EMPTY,   0,     ANY  },
  {300,   700,   EMPTY,   0,     ANY  },
 /* one row, one column */
  {1,     1,     FULL,    0,     ANY  },
  {1,     31,    FULL,    0,     ANY  },
  {1,     32,    FULL,    0,     FEW  },
  {1,     33,    FULL,    0,     ANY  },
  {1,     1023,  FULL,    0,     ONES },
  {1,     1024,  FULL,    0,     ANY  },
  {1,     1025,  FULL,    0,     FEW  },
  {1,     5000,  EXACTLY, 17,    ANY  },
  {31,    1,     FULL,    0,     ANY  },
  {32,    1,     FULL,    0,     ONES },
  {33,    1,     FULL,    0,     ANY  },
  {255,   1,     FULL,    0,     ANY  },
  {256,   1,     FULL,    0,     ANY  },
  {257,   1,     FULL,    0,     FEW  },
  {5000,  1,     EXACTLY, 17,    ANY  },
 /* row blocks and row offsets */
  {255,   100,   BAND,    3,     ANY  },
  {256,   100,   BAND,    3,     ANY  },
  {257,   100,   BAND,    3,     ANY  },
  {511,   511,   BAND,    1,     ANY  },
  {512,   512,   BAND,    1,     FEW  },
  {513,   513,   BAND,    1,     ONES },
  {1023,  700,   BAND,    2,     ANY  },
  {1024,  700,   BAND,    2,     ANY  },
  {1025,  700,   BAND,    2,     ANY  },
  {2048,  30,    EXACTLY, 3000,  ANY  },
  {30,    2048,  EXACTLY, 3000,  ANY  },
  {257,   300,   FULL,    0,     ANY  }, /* more than 65536 nonzeros in a block of 256 rows */
  {4099,  4101,  BAND,    0,     ANY  }, /* a diagonal */
  /* numbers of nonzeros */
  {97,    89,    EXACTLY, 1,     ANY  },
  {97,    89,    EXACTLY, 2,     ANY  },
  {97,    89,    EXACTLY, 31,    ANY  },
  {97,    89,    EXACTLY, 32,    FEW  },
  {97,    89,    EXACTLY, 33,    ANY  },
  {97,    89,    EXACTLY, 63,    ANY  },
  {97,    89,    EXACTLY, 64,    ANY  },
  {97,    89,    EXACTLY, 65,    ONES },
  {97,    89,    EXACTLY, 127,   ANY  },
  {97,    89,    EXACTLY, 128,   ANY  },
  {97,    89,    EXACTLY, 129,   ANY  },
  {97,    89,    EXACTLY, 255,   ANY  },
  {97,    89,    EXACTLY, 256,   ANY  },
  {97,    89,    EXACTLY, 257,   ANY  },
  {97,    89,    EXACTLY, 511,   FEW  },
  {97,    89,    EXACTLY, 512,   ANY  },
  {97,    89,    EXACTLY, 513,   ANY  },
  {97,    89,    EXACTLY, 1023,  ANY  },
  {97,    89,    EXACTLY, 1024,  FEW  },
  {97,    89,    EXACTLY, 1025,  ANY  },
  {97,    89,    EXACTLY, 2047,  ANY  },
  {97,    89,    EXACTLY, 2048,  ANY  },
  {97,    89,    EXACTLY, 2049,  ANY  },
  {97,    89,    EXACTLY, 4095,  ANY  },
  {97,    89,    EXACTLY, 4096,  ONES },
  {97,    89,    EXACTLY, 4097,  ANY  },
  {300,   290,   EXACTLY, 8191,  ANY  },
  {300,   290,   EXACTLY, 8192,  ANY  },
  {300,   290,   EXACTLY, 8193,  ANY  },
  {300,   290,   EXACTLY, 16385, ANY  },
  {300,   290,   EXACTLY, 32769, ANY  },
  {300,   290,   EXACTLY, 65537, ANY  },
 /* empty and full rows and columns */
  {600,   500,   ROW,     0,     ANY  },
  {600,   500,   ROW,     255,   ANY  },
  {600,   500,   ROW,     599,   ANY  },
  {3,     9000,  ROW,     1,     ANY  },
  {600,   500,   COLUMN,  0,     ANY  },
  {600,   500,   COLUMN,  499,   ANY  },
  {9000,  3,     COLUMN,  1,     FEW  },
  {700,   700,   ARROW,   0,     ANY  },
  {700,   300,   ARROW,   0,     ANY  },
  {300,   700,   ARROW,   0,     ANY  },
  {1000,  1000,  LASTS,   0,     ANY  },
  {100,   100,   EVERY,   2,     ANY  },
  {1000,  900,   EVERY,   31,    ANY  },
  {1500,  1400,  EVERY,   256,   ANY  },
  {1500,  1400,  EVERY,   257,   FEW  },
 /* gaps on both sides of a number of bits */
  {4,     600,   COLGAPS, 123,   ANY  },
  {4,     600,   COLGAPS, 124,   FEW  },
  {4,     600,   COLGAPS, 125,   ANY  },
  {4,     600,   COLGAPS, 126,   ANY  },
  {4,     600,   COLGAPS, 127,   ANY  },
  {4,     600,   COLGAPS, 128,   ANY  },
  {4,     600,   COLGAPS, 129,   ANY  },
  {4,     900,   COLGAPS, 254,   ANY  },
  {4,     900,   COLGAPS, 255,   ANY  },
  {4,     900,   COLGAPS, 256,   FEW  },
  {4,     900,   COLGAPS, 257,   ANY  },
  {3,     99000, COLGAPS, 32767, ANY  },
  {3,     99000, COLGAPS, 32768, ANY  },
  {3,     99000, COLGAPS, 32769, ANY  },
  {3,     99000, COLGAPS, 65534, ANY  },
  {3,     99000, COLGAPS, 65535, ANY  },
  {3,     99000, COLGAPS, 65536, ONES },
  {3,     99000, COLGAPS, 65537, ANY  },
  {900,   4,     ROWGAPS, 255,   ANY  },
  {900,   4,     ROWGAPS, 256,   ANY  },
  {900,   4,     ROWGAPS, 257,   ANY  },
  {99000, 3,     ROWGAPS, 32768, ANY  },
  {99000, 3,     ROWGAPS, 65535, ANY  },
  {99000, 3,     ROWGAPS, 65536, FEW  },
  {99000, 3,     ROWGAPS, 65537, ANY  },
 /* values */
  {200,   180,   EXACTLY, 3000,  ONES },
  {200,   180,   EXACTLY, 3000,  FEW  },
  {200,   180,   EXACTLY, 3000,  TABLE},
  {200,   180,   EXACTLY, 3000,  SPILL},
  {200,   180,   EXACTLY, 3000,  WIDE },
  {16,    16,    FULL,    0,     TABLE},
  {257,   1,     FULL,    0,     SPILL},
 /* columns of one row, none of them next to each other, that are 2^16 - 1, 2^16 and 2^16 + 1 apart */
  {1,     70000, COLGAPS, 65535, ANY  },
  {1,     70000, COLGAPS, 65536, ANY  },
  {1,     70000, COLGAPS, 65537, ANY  }
};

PetscErrorCode ShapesCount(PetscInt *count)
{
  PetscFunctionBegin;
  *count = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(shapes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Holds(const Shape *s, PetscInt i, PetscInt j)
{
  switch (s->pattern) {
  case FULL:
    return PETSC_TRUE;
  case BAND:
    return (PetscBool)(PetscAbsInt(i - j) <= s->q);
  case ROW:
    return (PetscBool)(i == s->q);
  case COLUMN:
    return (PetscBool)(j == s->q);
  case ARROW:
    return (PetscBool)(i == 0 || j == 0 || i == j);
  case LASTS:
    return (PetscBool)(i == s->m - 1 || j == s->n - 1);
  case EVERY:
    return (PetscBool)(i % s->q == 0 && j % s->q == 0);
  case COLGAPS:
    return (PetscBool)((j - i) % s->q == 0);
  case ROWGAPS:
    return (PetscBool)((i - j) % s->q == 0);
  default:
    return PETSC_FALSE;
  }
}

static PetscScalar Value(Values values, PetscInt k)
{
  switch (values) {
  case ONES:
    return 1;
  case FEW:
    return k % 7 == 6 ? -(PetscScalar)0.0 : (PetscScalar)(PetscReal)(k % 7 - 2);
  case TABLE:
    return ReferenceValue(11, k % 256);
  case SPILL:
    return ReferenceValue(11, k % 257);
  case WIDE:
    return ReferenceValue(11, k) * PetscPowReal(10, (PetscReal)(k % 31 - 15));
  default:
    return ReferenceValue(11, k);
  }
}

static PetscInt64 GCD(PetscInt64 a, PetscInt64 b)
{
  return b ? GCD(b, a % b) : a;
}

PetscErrorCode ShapesGet(PetscInt k, Reference *ref)
{
  const Shape *s     = &shapes[k];
  PetscInt     count = 0, *rows, *cols;
  PetscScalar *vals;
  char         name[128];

  PetscFunctionBegin;
  if (s->pattern == EXACTLY) count = s->q;
  else
    for (PetscInt i = 0; i < s->m; i++)
      for (PetscInt j = 0; j < s->n; j++) count += Holds(s, i, j);
  PetscCall(PetscMalloc3(count, &rows, count, &cols, count, &vals));
  if (s->pattern == EXACTLY) {
    /* a stride coprime to the number of places visits no place twice */
    const PetscInt64 places = (PetscInt64)s->m * s->n;
    PetscInt64       stride = places * 618 / 1000 + 1, place = places / 3;

    while (GCD(stride, places) != 1) stride++;
    for (PetscInt l = 0; l < count; l++) {
      rows[l] = (PetscInt)(place / s->n);
      cols[l] = (PetscInt)(place % s->n);
      place   = (place + stride) % places;
    }
  } else {
    count = 0;
    for (PetscInt i = 0; i < s->m; i++) {
      for (PetscInt j = 0; j < s->n; j++) {
        if (!Holds(s, i, j)) continue;
        rows[count]   = i;
        cols[count++] = j;
      }
    }
  }
  for (PetscInt l = 0; l < count; l++) vals[l] = Value(s->values, l);
  PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT " x %" PetscInt_FMT " %s %" PetscInt_FMT ", %s", s->m, s->n, PatternNames[s->pattern], s->q, ValuesNames[s->values]));
  PetscCall(ReferenceCreate(name, s->m, s->n, count, rows, cols, vals, ref));
  PetscCall(PetscFree3(rows, cols, vals));
  PetscFunctionReturn(PETSC_SUCCESS);
}
