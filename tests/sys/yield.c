static char help[] = "Threads of OpenMP sleep between products if OpenBLAS has threads too: a team that only counts is started for this, and ended.\n\n";

#include <petscmat.h>
#include <dirent.h>
#include <omp.h>
#include <stdlib.h>
#include <time.h>

PETSC_EXTERN int  openblas_get_parallel(void) __attribute__((weak));
PETSC_EXTERN void openblas_set_num_threads(int) __attribute__((weak));
PETSC_EXTERN void __kmpc_fork_call(void *, int, void *, ...) __attribute__((weak)); /* LLVM's OpenMP, whose threads are other ones */

/* The number of threads of this process */
static int Tasks(void)
{
  DIR *dir = opendir("/proc/self/task");
  int  n   = 0;

  while (dir && readdir(dir)) n++;
  if (dir) (void)closedir(dir);
  return n - 2;
}

/* A product of a tridiagonal matrix that is large enough for several threads */
static PetscErrorCode Multiply(PetscInt *wrong)
{
  const PetscInt n = 20000;
  Mat            A;
  Vec            x, y;
  PetscReal      norm;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 3, NULL, &A));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = PetscMax(0, i - 1); j <= PetscMin(n - 1, i + 1); j++) PetscCall(MatSetValue(A, i, j, i == j ? 2.0 : -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatConvert(A, "bccoo", MAT_INPLACE_MATRIX, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecNorm(y, NORM_1, &norm)); /* 1 in the first and the last row, 0 elsewhere */
  if (norm != 2.0) (*wrong)++;
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscBool can = (PetscBool)(!__kmpc_fork_call && openblas_get_parallel && openblas_set_num_threads && openblas_get_parallel() == 1 && omp_get_max_threads() > 1 && omp_get_num_procs() <= 2 * omp_get_max_threads());
  const int       n = omp_get_max_threads(), counting = PetscMax(0, omp_get_num_procs() - n) + 2;
  PetscInt        bad = 0;

  PetscFunctionBeginUser;
  if (MPI_Init(&argc, &argv) || unsetenv("OMP_WAIT_POLICY") || unsetenv("GOMP_SPINCOUNT")) return 1;
  for (int round = 0; round < 3 && !bad; round++) { /* the last time OpenBLAS has one thread */
    int      before, during, after;
    PetscInt wrong = 0;

    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    if (can) openblas_set_num_threads(round < 2 ? omp_get_num_procs() + 1 : 1);
    before = Tasks();
    PetscCall(Multiply(&wrong));
    during = Tasks();
    PetscCall(Multiply(&wrong));
    if (Tasks() != during) wrong++;
    PetscCall(PetscFinalize());
    after = Tasks();
    for (int ms = 0; ms < 5000 && after - before > (round ? 0 : n - 1); ms++) { /* threads that were told to end may not have done so yet */
      const struct timespec one_ms = {0, 1000000};

      (void)nanosleep(&one_ms, NULL);
      after = Tasks();
    }
    /* in the first round the team of the products is started too, and stays */
    if (can && (during - before != (round < 2 ? counting : 0) + (round ? 0 : n - 1) || after - before != (round ? 0 : n - 1))) wrong++;
    if (wrong) {
      printf("round %d: %d threads, then %d, then %d; at most %d, %d that count\n", round, before, during, after, n, counting);
      bad++;
    }
  }
  printf("%d faults\n", (int)bad);
  return MPI_Finalize() ? 1 : 0;
}

/*TEST

  test:
    output_file: output/yield.out

TEST*/
