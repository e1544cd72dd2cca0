static char help[] = "Matrix Market files: every kind is read, and a truncated or malformed one is an error that says why.\n\n";

#include "reference.h"
#include "caught.h"
#include <support.h>
#include <zlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define BANNER "%%MatrixMarket matrix "

static const struct {
  const char *name, *text;
} good[] = {
  {"real",              BANNER "coordinate real general\n% a comment\n3 4 4\n1 1 1.5\n3 4 -2e-3\n2 2 7\n1 4 1e300\n"               },
  {"free format",       BANNER "COORDINATE Real GENERAL\n%\n\n 2\t2   2\n\n  1  1\t 3.25  \n2 1 -4\n\n"                            },
  {"lower case",        "%%matrixmarket MATRIX coordinate real general\n1 2 1\n1 2 3\n"                                            },
  {"comments",          BANNER "coordinate real general\n2 2 2\n% between\n1 2 3\n  %% entries\n2 1 4\n% last\n"                   },
  {"integer",           BANNER "coordinate integer general\n2 2 2\n1 2 -9\n2 1 12\n"                                               },
  {"large integers",    BANNER "coordinate integer general\n3 1 3\n1 1 -9007199254740994\n2 1 1e22\n3 1 00036028797018963968.000\n"},
  {"denormal",          BANNER "coordinate real general\n1 2 2\n1 1 4.9406564584124654e-324\n1 2 0.0e-999\n"                       },
  {"pattern",           BANNER "coordinate pattern general\n2 3 3\n1 1\n2 3\n1 2\n"                                                },
  {"duplicates",        BANNER "coordinate real general\n2 2 4\n1 1 1\n2 2 5\n1 1 2\n1 1 4\n"                                      },
  {"symmetric",         BANNER "coordinate real symmetric\n3 3 4\n1 1 1\n2 1 2\n3 1 3\n3 3 4\n"                                    },
  {"symmetric pattern", BANNER "coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n"                                                   },
  {"skew-symmetric",    BANNER "coordinate real skew-symmetric\n3 3 2\n2 1 2\n3 2 -3\n"                                            },
  {"zero diagonal",     BANNER "coordinate real skew-symmetric\n2 2 2\n1 1 0\n2 1 2\n"                                             },
  {"whole numbers",     BANNER "coordinate integer general\n1 3 3\n1 1 +4.0\n1 2 2e3\n1 3 -0\n"                                    },
  {"array",             BANNER "array real general\n2 3\n1\n2\n3\n4\n5\n6\n"                                                       },
  {"symmetric array",   BANNER "array real symmetric\n2 2\n1\n2\n3\n"                                                              },
  {"skew array",        BANNER "array real skew-symmetric\n3 3\n1\n2\n3\n"                                                         },
  {"no entries",        BANNER "coordinate real general\n3 2 0\n"                                                                  },
  {"no rows",           BANNER "coordinate real general\n0 2 0\n"                                                                  },
  {"no last newline",   BANNER "coordinate real general\n1 1 1\n1 1 6"                                                             }
};

static const struct {
  const char *name, *text;
} malformed[] = {
  {"empty",                  ""                                                                     },
  {"not a matrix",           "hello\nworld\n"                                                       },
  {"wrong banner",           "%%MatrixMarket matrices coordinate real general\n1 1 1\n1 1 1\n"      },
  {"unknown field",          BANNER "coordinate quaternion general\n1 1 1\n1 1 1\n"                 },
  {"no sizes",               BANNER "coordinate real general\n% nothing follows\n"                  },
  {"negative size",          BANNER "coordinate real general\n-3 3 1\n1 1 1\n"                      },
  {"too few entries",        BANNER "coordinate real general\n3 3 3\n1 1 1\n2 2 2\n"                },
  {"too many entries",       BANNER "coordinate real general\n3 3 1\n1 1 1\n2 2 2\n"                },
  {"row out of range",       BANNER "coordinate real general\n3 3 1\n4 1 1\n"                       },
  {"column 0",               BANNER "coordinate real general\n3 3 1\n1 0 1\n"                       },
  {"no value",               BANNER "coordinate real general\n3 3 1\n1 1\n"                         },
  {"not a number",           BANNER "coordinate real general\n3 3 1\n1 1 one\n"                     },
  {"two signs",              BANNER "coordinate real general\n3 3 1\n1 1 +-5\n"                     },
  {"a number too few",       BANNER "coordinate real general\n3 3 1\n1 2.5\n"                       },
  {"a blank too few",        BANNER "coordinate real general\n3 3 1\n1 2-5\n"                       },
  {"text after a row",       BANNER "coordinate real general\n3 3 1\n1x 2 5\n"                      },
  {"text after a value",     BANNER "coordinate real general\n3 3 1\n1 1 1.5x\n"                    },
  {"text after two numbers", BANNER "coordinate pattern general\n3 3 2\n1 1\n2 2 5\n"               },
  {"a line too few",         BANNER "coordinate pattern general\n3 3 2\n1 1 2 2\n"                  },
  {"an index too large",     BANNER "coordinate real general\n3 3 1\n99999999999999999999 1 1\n"    },
  {"too large",              BANNER "coordinate real general\n3 3 1\n1 1 1e400\n"                   },
  {"too small",              BANNER "coordinate real general\n3 3 1\n1 1 -1e-400\n"                 },
  {"too many digits",        BANNER "coordinate integer general\n3 3 1\n1 1 9007199254740993\n"     },
  {"too many digits, point", BANNER "coordinate integer general\n3 3 1\n1 1 90071992547409930e-1\n" },
  {"pattern with values",    BANNER "coordinate pattern general\n3 3 1\n1 1 2.5\n"                  },
  {"fraction",               BANNER "coordinate integer general\n3 3 2\n1 1 2\n2 2 1.5\n"           },
  {"infinite integer",       BANNER "coordinate integer general\n3 3 1\n1 1 inf\n"                  },
  {"negative unsigned",      BANNER "coordinate unsigned-integer general\n3 3 1\n1 1 -2\n"          },
  {"diagonal, skew",         BANNER "coordinate real skew-symmetric\n3 3 2\n2 1 2\n\n2 2 5\n"       },
  {"diagonal, skew array",   BANNER "array real skew-symmetric\n2 2\n0\n2\n"                        },
  {"pattern, skew",          BANNER "coordinate pattern skew-symmetric\n2 2 1\n2 1\n"               },
  {"pattern, array",         BANNER "array pattern general\n1 1\n1\n"                               },
  {"above, symmetric",       BANNER "coordinate real symmetric\n3 3 3\n1 1 1\n1 2 2\n1 3 3\n"       },
  {"above, hermitian",       BANNER "coordinate real hermitian\n3 3 1\n1 2 2\n"                     },
  {"half an array",          BANNER "array real general\n2 2\n1\n2\n3\n"                            },
  {"array too long",         BANNER "array real symmetric\n2 2\n1\n2\n3\n4\n"                       },
  {"symmetric, 2 x 3",       BANNER "coordinate real symmetric\n2 3 1\n1 1 1\n"                     },
  {"both halves",            BANNER "coordinate real symmetric\n3 3 4\n1 1 1\n2 1 2\n1 3 4\n3 1 4\n"},
  {"both halves, skew",      BANNER "coordinate real skew-symmetric\n3 3 2\n2 3 2\n3 2 -2\n"        },
  {"a vector",               "%%MatrixMarket vector coordinate real general\n3 1\n1 1\n"            },
  {"complex in real",        BANNER "coordinate complex general\n1 1 1\n1 1 1 2\n"                  }
};

static PetscErrorCode Write(const char file[], const char text[], PetscBool compressed, PetscInt cut)
{
  PetscMPIInt rank;
  size_t      len;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscStrlen(text, &len));
  if (!rank) {
    if (compressed) {
      gzFile f = gzopen(file, "wb");

      PetscCheck(f && gzwrite(f, text, (unsigned)len) == (int)len && gzclose(f) == Z_OK, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", file);
    } else {
      FILE *f = fopen(file, "wb");

      PetscCheck(f && fwrite(text, 1, len, f) == len && !fclose(f), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", file);
    }
    if (cut) { /* truncates the file to this many bytes */
      char  bytes[256];
      FILE *f = fopen(file, "rb");

      PetscCheck(cut < (PetscInt)sizeof(bytes) && f && fread(bytes, 1, cut, f) == (size_t)cut && !fclose(f), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "Cannot cut %s", file);
      f = fopen(file, "wb");
      PetscCheck(f && fwrite(bytes, 1, cut, f) == (size_t)cut && !fclose(f), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot cut %s", file);
    }
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Load(const char file[], Mat *A)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetFromOptions(*A));
  ierr = MatLoadMatrixMarket(*A, file);
  PetscFunctionReturn(ierr);
}

static PetscErrorCode Show(const char name[], const char file[])
{
  Mat       A;
  Reference ref;
  PetscInt  bad = 0;

  PetscFunctionBegin;
  PetscCall(Load(file, &A));
  PetscCall(ReferenceCreateFromMat(name, A, &ref));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " x %" PetscInt_FMT "\n", name, ref.m, ref.n));
  for (PetscInt r = 0; r < ref.m; r++) {
    for (PetscInt k = ref.i[r]; k < ref.i[r + 1]; k++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " %" PetscInt_FMT " %.17g\n", r + 1, ref.j[k] + 1, (double)PetscRealPart(ref.a[k])));
  }
  PetscCall(ReferenceCheckProducts(&ref, A, &bad));
  PetscCall(ReferenceDestroy(&ref));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShowError(const char name[], const char file[])
{
  Mat            A;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  Catch(ierr, Load(file, &A));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s%s\n", name, ierr ? "" : "NO ERROR ", caught.message));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A short file may claim as many rows and entries as an index can count: no memory is taken for these before the matrix has accepted the sizes and entries have come */
static PetscErrorCode ShowManyRows(const char name[], const char file[], PetscInt n)
{
  const long     page = sysconf(_SC_PAGESIZE);
  struct rlimit  before, limit;
  long           pages = 0;
  FILE          *f     = fopen("/proc/self/statm", "r");
  Mat            A;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(f && fscanf(f, "%ld", &pages) == 1 && !fclose(f), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "Cannot read the size of this process");
  PetscCheck(!getrlimit(RLIMIT_AS, &before), PETSC_COMM_SELF, PETSC_ERR_SYS, "Cannot get the limit of memory");
  limit          = before;
  limit.rlim_cur = (rlim_t)(pages * page) + (1 << 26);
  PetscCheck(!setrlimit(RLIMIT_AS, &limit), PETSC_COMM_SELF, PETSC_ERR_SYS, "Cannot set a limit of memory");
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  Catch(ierr, MatLoadMatrixMarket(A, file));
  PetscCheck(!setrlimit(RLIMIT_AS, &before), PETSC_COMM_SELF, PETSC_ERR_SYS, "Cannot reset the limit of memory");
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s%s\n", name, ierr ? "" : "NO ERROR ", caught.message));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes set before that contradict the file, on all processes or on one, are an error on all */
static PetscErrorCode ShowSizes(const char file[], const char name[], PetscInt m, PetscInt n)
{
  Mat            A;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetFromOptions(A));
  Catch(ierr, MatLoadMatrixMarket(A, file));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s%s\n", name, ierr ? "" : "NO ERROR ", caught.message));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(good); k++) {
    PetscCall(Write("good.mtx", good[k].text, PETSC_FALSE, 0));
    PetscCall(Show(good[k].name, "good.mtx"));
  }
  PetscCall(Write("good.mtx.gz", good[0].text, PETSC_TRUE, 0));
  PetscCall(Show("compressed", "good.mtx.gz"));

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(malformed); k++) {
    PetscCall(Write("bad.mtx", malformed[k].text, PETSC_FALSE, 0));
    PetscCall(ShowError(malformed[k].name, "bad.mtx"));
  }
  PetscCall(Write("bad.mtx", good[0].text, PETSC_FALSE, 70));
  PetscCall(ShowError("cut off", "bad.mtx"));
  PetscCall(Write("bad.mtx.gz", good[0].text, PETSC_TRUE, 60));
  PetscCall(ShowError("compressed, cut off", "bad.mtx.gz"));
  PetscCall(ShowError("missing", "missing.mtx"));
  PetscCall(Write("bad.mtx", BANNER "coordinate real general\n2147483647 3 1\n1 1 1\n", PETSC_FALSE, 0));
  PetscCall(ShowManyRows("many rows", "bad.mtx", 3));
  PetscCall(Write("bad.mtx", BANNER "coordinate real general\n2147483647 2147483647 2147483647\n1 1 1\n", PETSC_FALSE, 0));
  PetscCall(ShowManyRows("many entries", "bad.mtx", PETSC_DETERMINE));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(Write("good.mtx", good[0].text, PETSC_FALSE, 0));
  PetscCall(ShowSizes("good.mtx", "other local rows", rank ? 0 : 5, PETSC_DECIDE));
  PetscCall(ShowSizes("good.mtx", "other local columns", rank ? 0 : 3, rank ? 0 : 3));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c

  testset:
    output_file: output/mtx_1.out
    temporaries: good.mtx good.mtx.gz bad.mtx bad.mtx.gz
    requires: !complex double
    nsize: {{1 3}}
    test:
      suffix: aij
      args: -mat_type aij
    test:
      suffix: ours
      nsize: 2
      args: -mat_type {{csrccuda bccoo}}

TEST*/
