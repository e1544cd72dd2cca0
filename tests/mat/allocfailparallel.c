static char help[] = "Every allocation of the library in a parallel product fails once, on one process: none waits, and the matrix goes on as before.\n\
  -alone: also allocations within the products of blocks, whose errors are those of one process; otherwise all processes get an error\n\n";

#include "reference.h"
#include "caught.h"
#include <petsccsrc.h>

#define NEVER 1000000000

static PetscErrorCode (*realmalloc)(size_t, PetscBool, int, const char[], const char[], void **);
static PetscInt  left   = NEVER; /* number of the library's allocations until one fails */
static PetscBool failed = PETSC_FALSE;
static PetscInt  bad    = 0;

/*
  PETSc's own allocations do not fail, save those of dense matrices: inside of PetscSF the processes communicate, and none could go on alone. Without
  -alone those of formats do not fail in dense products, since they are for scratch that the products of blocks make.
*/
static PetscBool alone = PETSC_FALSE, dense = PETSC_FALSE;

static PetscErrorCode FailingMalloc(size_t bytes, PetscBool clear, int line, const char function[], const char file[], void **ptr)
{
  static const char *const folders[] = {"src/exchange/", "impls/aijderived/", "impls/dense/seq/", "impls/csrc/", "impls/bccoo/"};

  for (size_t k = 0; k < (dense && !alone ? 3 : PETSC_STATIC_ARRAY_LENGTH(folders)); k++) {
    if (!strstr(file, folders[k]) || left--) continue;
    *ptr   = NULL;
    failed = PETSC_TRUE;
    return PetscError(PETSC_COMM_SELF, line, function, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "No memory, for a test");
  }
  return (*realmalloc)(bytes, clear, line, function, file, ptr);
}

/* What is done while allocations fail */
typedef enum {
  FIRST,
  FIRSTTRANSPOSE,
  FIRSTDENSE,
  FIRSTDENSETRANSPOSE,
  VALUES,
  SECOND,
  BINDING,
  MEMORY,
  SETTING,
  NORM1,
  NORMINFINITY,
  CONVERTING,
  NACTIONS
} Action;

static const char *const actions[] = {"first product",
                                      "first product with A^T",
                                      "first product with a dense matrix",
                                      "first product of A^T with a dense matrix",
                                      "product with new values",
                                      "product after one with a dense matrix",
                                      "product after binding",
                                      "memory",
                                      "product with another format",
                                      "1-norm",
                                      "infinity norm without CSR",
                                      "conversion without CSR"};

static PetscErrorCode OperandsCreate(const Reference *ref, Action action, ReferenceOperands *o)
{
  PetscFunctionBegin;
  PetscCall(ReferenceOperandsCreate(ref, PETSC_COMM_WORLD, o));
  if (action == VALUES) {
    PetscCall(MatMult(o->A, o->x, o->y));
    PetscCall(MatScale(o->A, 2));
    PetscCall(MatScale(o->A, 0.5));
  }
  if (action == SECOND) PetscCall(MatProductNumeric(o->Y));
  if (action == BINDING) {
    PetscCall(MatMult(o->A, o->x, o->y));
    PetscCall(MatBindToCPU(o->A, PETSC_FALSE));
    PetscCall(MatBindToCPU(o->A, PETSC_TRUE));
  }
  if (action == NORMINFINITY || action == CONVERTING) {
    PetscCall(MatFormSetRelease(o->A, PETSC_TRUE));
    PetscCall(MatMult(o->A, o->x, o->y));
  }
  if (action == SETTING) {
    PetscCall(MatBCCOOSetCompression(o->A, MAT_BCCOO_COMPRESSION_TUPLES));
    PetscCall(MatCSRCSetLayout(o->A, MAT_CSRC_LAYOUT_CSRC));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Act(const ReferenceOperands *o, Action action)
{
  PetscLogDouble bytes;
  PetscMemType   mtype;
  PetscReal      norm;
  Mat            B;

  PetscFunctionBegin;
  switch (action) {
  case FIRSTTRANSPOSE:
    PetscCall(MatMultTranspose(o->A, o->y, o->x));
    break;
  case FIRSTDENSE:
    PetscCall(MatProductNumeric(o->Y));
    break;
  case FIRSTDENSETRANSPOSE:
    PetscCall(MatProductNumeric(o->V));
    break;
  case MEMORY:
    PetscCall(MatFormGetMemory(o->A, &bytes, &mtype));
    break;
  case NORM1:
  case NORMINFINITY:
    PetscCall(MatNorm(o->A, action == NORM1 ? NORM_1 : NORM_INFINITY, &norm));
    break;
  case CONVERTING:
    PetscCall(MatConvert(o->A, MATAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatDestroy(&B));
    break;
  default:
    PetscCall(MatMult(o->A, o->x, o->y));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs the action; on process `where` the n-th allocation of the library fails */
static PetscErrorCode ActWithout(const ReferenceOperands *o, Action action, PetscMPIInt where, PetscInt n)
{
  PetscErrorCode ierr;
  PetscMPIInt    rank;

  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  dense         = action == FIRSTDENSE || action == FIRSTDENSETRANSPOSE ? PETSC_TRUE : PETSC_FALSE;
  failed        = PETSC_FALSE;
  left          = rank == where ? n : NEVER;
  PetscTrMalloc = FailingMalloc;
  ierr          = Act(o, action);
  left          = NEVER;
  PetscTrMalloc = realmalloc;
  return ierr;
}

static PetscErrorCode FailEach(const Reference *ref, Action action, PetscMPIInt where)
{
  PetscErrorCode ierr;
  PetscInt       failures = 0, any[3];

  PetscFunctionBegin;
  do {
    ReferenceOperands o;

    PetscCall(OperandsCreate(ref, action, &o));
    Catch(ierr, ActWithout(&o, action, where, failures));
    any[0] = ierr ? 1 : 0;
    any[1] = -any[0];
    any[2] = failed && !ierr ? 1 : 0;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, any, 3, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
    if (any[2]) {
      bad++;
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: allocation %" PetscInt_FMT " failed on process %d, which got no error\n", ref->name, actions[action], failures, (int)where));
    }
    if (any[0] != -any[1] && !alone) {
      bad++;
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: allocation %" PetscInt_FMT " failed on process %d: an error on some processes only\n", ref->name, actions[action], failures, (int)where));
    }
    if (any[0]) failures++;
    PetscCall(ReferenceOperandsCheck(ref, &o, &bad));
    PetscCall(ReferenceOperandsDestroy(&o));
  } while (any[0]);
  if (!failures && action != VALUES && action != SECOND && action != BINDING) {
    bad++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: no allocation failed\n", ref->name, actions[action]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Reference         ref;
  ReferenceOperands o;
  PetscMPIInt       size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ReferenceSetTestValues());
  ReferenceWaits = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  realmalloc = PetscTrMalloc;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-alone", &alone, NULL));
  /* the tests' options log events, for which processes of a PETSc with debugging meet at their ends: those of failing products have none */
  if (alone) PetscCall(PetscLogEventExcludeClass(MAT_CLASSID));
  PetscCall(ShapesGet(20, &ref));             /* few nonzeros */
  PetscCall(OperandsCreate(&ref, FIRST, &o)); /* what is made once for a communicator is made here */
  PetscCall(ReferenceCheckProducts(&ref, o.A, &bad));
  PetscCall(MatProductNumeric(o.Y));
  PetscCall(ReferenceOperandsDestroy(&o));
  for (int action = 0; action < NACTIONS; action++) {
    PetscCall(FailEach(&ref, (Action)action, 0));
    PetscCall(FailEach(&ref, (Action)action, size - 1));
  }
  PetscCall(ReferenceDestroy(&ref));
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  testset:
    # a PETSc with debugging would allocate for PetscMalloc2() and others several times, and would lose the first parts where a later one fails
    args: -malloc_coalesce -options_left 0 -mat_type {{csrccuda bccoo}}
    output_file: output/allocfail_1.out
    test:
      suffix: host
      nsize: {{2 3}}
      args: -device_enable none -exchange_pattern {{lists gather}}
    test:
      suffix: mpi
      nsize: 2
      args: -device_enable none -mat_form_exchange mpi
    test:
      suffix: alone
      nsize: 2
      args: -device_enable none -alone -mat_form_store_at_once 0 -mat_form_exchange {{mpi shared}} -exchange_pattern {{lists gather}}
  testset:
    nsize: 2
    output_file: output/allocfail_1.out
    test: # the error of a batch is not lost in the next one
      suffix: batches
      args: -malloc_coalesce -options_left 0 -mat_type {{csrccuda bccoo}} -device_enable none -alone -matproduct_batch_size 2 -exchange_pattern {{lists gather}}
  # matrices on devices that PETSc could not set up are freed with functions composed, which it would list
  testset:
    nsize: {{2 3}}
    args: -malloc_coalesce -options_left 0 -checkfunctionlist 0 -mat_type csrccuda -exchange_pattern {{lists gather}}
    output_file: output/allocfail_1.out
    test:
      suffix: gpu
      args: -dense_mat_type densecuda
    test:
      suffix: gpu_alone
      args: -alone

TEST*/
