static char help[] = "Processes of a node divide its cores: the number of threads of a matrix, and what is said of it.\n"
                     "  -nested    : process p may run on the first (p + 1) / size of the cores\n"
                     "  -linked    : the library is linked, not loaded: no call of it is collective before a parallel matrix\n"
                     "  -given <n> : the number that somebody has given, by OpenMP's variable or PETSc's option\n\n";

#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE
#endif
#include <petsccsrc.h>
#include <omp.h>
#include <sched.h>

#define CORES 8192

typedef struct {
  unsigned char on[CORES];
} Cores;

static int Allowed(Cores *cores)
{
  cpu_set_t set[CORES / CPU_SETSIZE];
  int       n = 0;

  CPU_ZERO_S(sizeof(set), set);
  (void)sched_getaffinity(0, sizeof(set), set);
  for (int c = 0; c < CORES; c++) n += cores->on[c] = CPU_ISSET_S(c, sizeof(set), set) ? 1 : 0;
  return n;
}

static void KeepFirst(int n)
{
  cpu_set_t set[CORES / CPU_SETSIZE];
  Cores     cores;

  (void)Allowed(&cores);
  CPU_ZERO_S(sizeof(set), set);
  for (int c = 0; c < CORES && n; c++) {
    if (cores.on[c]) {
      CPU_SET_S(c, sizeof(set), set);
      n--;
    }
  }
  (void)sched_setaffinity(0, sizeof(set), set);
}

/* The rule, computed in units of 1/720720 of a core: exact for up to 16 processes. All processes of a test are on one machine. */
static PetscErrorCode Share(int *threads)
{
  PetscMPIInt size;
  Cores       mine, *all;
  int         share = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  PetscCall(PetscMalloc1(size, &all));
  (void)Allowed(&mine);
  PetscCallMPI(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, MPI_COMM_WORLD));
  for (int c = 0; c < CORES; c++) {
    int users = 0;

    for (int p = 0; p < size; p++) users += all[p].on[c];
    if (mine.on[c]) share += 720720 / users;
  }
  PetscCall(PetscFree(all));
  *threads = PetscMax(1, share / 720720);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MPI_Comm comm, MatType type, Mat *A)
{
  const PetscInt m = 4000;
  PetscInt       first, last;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, m));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 8, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 8, NULL, 8, NULL));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt k = 0; k < 8; k++) PetscCall(MatSetValue(*A, i, (i + 7 * k) % m, 1 + k, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiplies, and checks the output of MatView(): the number of threads, and with bccoo also that of bands */
static PetscErrorCode Check(Mat A, const char what[], int threads, const char from[], int *bad)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscViewer    viewer;
  FILE          *file;
  char          *text, *at, expected[128];
  size_t         length;
  Vec            x, y;
  PetscMPIInt    rank, size;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMultTranspose(A, y, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));

  file = open_memstream(&text, &length);
  PetscCall(PetscViewerASCIIOpenWithFILE(comm, file, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO_DETAIL));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  fclose(file);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (!rank) {
    PetscCall(PetscSNPrintf(expected, sizeof(expected), "threads of %s: at most %d (%s)", size > 1 ? "each process" : "the host", threads, from));
    at = strstr(text, expected);
    if (at && size == 1 && (at = strstr(text, " bands of rows"))) {
      while (at > text && at[-1] != ' ') at--;
      if (atoi(at) != threads) at = NULL;
    } else if (at || strstr(text, expected)) at = text;
    if (!at) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: expected '%s' and as many bands, but MatView() says\n%s", what, expected, text));
      (*bad)++;
    }
  }
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckType(MatType type, int given, const char from[], PetscBool linked, PetscBool nested, int *bad)
{
  Mat   A, B;
  Cores cores;
  int   threads = given, chosen;

  PetscFunctionBegin;
  if (linked) { /* matrices on one process, then on some, which must not wait for the others */
    PetscMPIInt rank, size;
    MPI_Comm    half;
    const char *assumed;

    PetscCallMPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank % 2, rank, &half));
    threads = PetscMax(1, Allowed(&cores) / size);
    assumed = size > 1 ? "the cores of this process over all processes of its node" : from;
    if (!rank) {
      PetscCall(PetscCSRCInitializePackage());
      PetscCall(Create(PETSC_COMM_SELF, type, &A));
      PetscCall(Check(A, "alone", threads, assumed, bad));
      PetscCall(MatDestroy(&A));
    }
    PetscCall(PetscCSRCInitializePackage());
    if (rank % 2 == 0) {
      PetscCall(Create(half, type, &A));
      PetscCall(Check(A, "half", threads, assumed, bad));
      PetscCall(MatDestroy(&A));
    }
    PetscCallMPI(MPI_Comm_free(&half));
  }
  if (!given) PetscCall(Share(&threads));

  /* a matrix on all processes; if some have more threads than others the text differs */
  PetscCall(Create(PETSC_COMM_WORLD, type, &A));
  if (!nested) PetscCall(Check(A, "together", threads, from, bad));
  PetscCall(MatDestroy(&A));

  /* a matrix on each process; a number set by the program is used, but not for an existing form */
  PetscCall(Create(PETSC_COMM_SELF, type, &A));
  PetscCall(Check(A, "each", threads, from, bad));
  chosen = omp_get_max_threads();
  omp_set_num_threads(chosen + 2);
  PetscCall(MatScale(A, 2));
  PetscCall(Check(A, "new values", threads, from, bad));
  PetscCall(Create(PETSC_COMM_SELF, type, &B));
  PetscCall(Check(B, "program's", chosen + 2, "omp_set_num_threads()", bad));
  omp_set_num_threads(chosen);
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank, size;
  PetscBool   nested = PETSC_FALSE, linked = PETSC_FALSE;
  PetscInt    given = 0;
  int         bad   = 0;
  Cores       cores;
  const char *from = "its share of the cores that it may run on";

  PetscFunctionBeginUser;
  if (MPI_Init(&argc, &argv) || MPI_Comm_rank(MPI_COMM_WORLD, &rank) || MPI_Comm_size(MPI_COMM_WORLD, &size)) return 1;
  for (int k = 1; k < argc; k++) {
    if (!strcmp(argv[k], "-nested")) KeepFirst(PetscMax(1, Allowed(&cores) * (rank + 1) / size));
  }
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-nested", &nested, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-linked", &linked, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-given", &given, NULL));
  if (given) from = getenv("OMP_NUM_THREADS") ? "OMP_NUM_THREADS" : "-omp_num_threads";
  PetscCall(CheckType(MATBCCOO, (int)given, from, linked, nested, &bad));
  PetscCall(CheckType(MATCSRCCUDA, (int)given, from, PETSC_FALSE, nested, &bad));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d faults\n", bad));
  PetscCall(PetscFinalize());
  return MPI_Finalize();
}

/*TEST

  testset:
    output_file: output/share_1.out
    args: -device_enable none -options_left 0
    nsize: {{1 2 4}}
    test:
      suffix: unbound
      env: "-n OMP_NUM_THREADS"
    test:
      suffix: nested
      args: -nested
      env: "-n OMP_NUM_THREADS"
    test:
      suffix: linked
      args: -linked -use_gpu_aware_mpi 0 -mat_form_store_at_once true
      env: "-n OMP_NUM_THREADS" PETSC_OPTIONS=
    test:
      suffix: variable
      args: -given 3
      env: OMP_NUM_THREADS=3
    test:
      suffix: option
      args: -given 3 -omp_num_threads 3
      env: "-n OMP_NUM_THREADS"

TEST*/
