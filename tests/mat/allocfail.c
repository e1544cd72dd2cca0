static char help[] = "Every allocation of a build and of a product fails once, on the host and on a device: an error, nothing lost, and the matrix goes on as before.\n\n";

#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE /* dladdr(), RTLD_NEXT */
#endif
#include "reference.h"
#include "caught.h"
#if defined(PETSC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
  #include <dlfcn.h>
#endif

#define NEVER 1000000000

static PetscErrorCode (*realmalloc)(size_t, PetscBool, int, const char[], const char[], void **);
static PetscErrorCode (*realrealloc)(size_t, int, const char[], const char[], void **);
static PetscInt left = NEVER; /* number of allocations until one fails */

static PetscErrorCode FailingMalloc(size_t bytes, PetscBool clear, int line, const char function[], const char file[], void **ptr)
{
  if (!left--) {
    *ptr = NULL;
    return PetscError(PETSC_COMM_SELF, line, function, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "No memory, for a test");
  }
  return (*realmalloc)(bytes, clear, line, function, file, ptr);
}

static PetscErrorCode FailingRealloc(size_t bytes, int line, const char function[], const char file[], void **ptr)
{
  if (!left--) return PetscError(PETSC_COMM_SELF, line, function, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "No memory, for a test");
  return (*realrealloc)(bytes, line, function, file, ptr);
}

/* Arrays on the device that the library holds, and how many it has ever allocated */
static PetscInt nheld = 0, nallocated = 0;

#if defined(PETSC_HAVE_CUDA)
static void *held[1024];

/*
  The program's own cudaMalloc() and cudaFree() take the place of CUDA's in all libraries, as the loader looks for a function in the program
  first. What PETSc allocates does not fail.
*/
static PetscBool IsFromOurLibrary(void *caller)
{
  Dl_info info;

  return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libpetsccsrc.so") ? PETSC_TRUE : PETSC_FALSE;
}

PETSC_EXTERN cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
  static cudaError_t (*real)(void **, size_t);
  const PetscBool ours = IsFromOurLibrary(__builtin_return_address(0));
  cudaError_t     cerr;

  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "cudaMalloc");
  if (ours) nallocated++;
  if (ours && !left--) return cudaErrorMemoryAllocation;
  cerr = (*real)(ptr, bytes);
  if (ours && cerr == cudaSuccess) {
    if (nheld == PETSC_STATIC_ARRAY_LENGTH(held)) abort();
    held[nheld++] = *ptr;
  }
  return cerr;
}

PETSC_EXTERN cudaError_t cudaFree(void *ptr)
{
  static cudaError_t (*real)(void *);

  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "cudaFree");
  for (PetscInt k = 0; k < nheld; k++) {
    if (held[k] == ptr) held[k] = held[--nheld];
  }
  return (*real)(ptr);
}
#endif

/* What is done while allocations fail. The matrix may have had a product before; x, y and the dense matrices exist already. */
typedef enum {
  FIRST,
  FIRSTSCALED,
  FIRSTTRANSPOSE,
  FIRSTDENSE,
  FIRSTDENSETRANSPOSE,
  SECONDDENSE,
  SECONDDENSETRANSPOSE,
  VALUES,
  OTHERVALUES,
  PATTERN,
  NACTIONS
} Action;

static const char *const actions[] = {"first product",
                                      "first product after the values were changed, on a device if there is one",
                                      "first product with A^T",
                                      "first product with a dense matrix",
                                      "first product of A^T with a dense matrix",
                                      "product with a dense matrix after products with vectors",
                                      "product of A^T with a dense matrix after products with vectors",
                                      "product with new values",
                                      "product with new values that need another coding",
                                      "product with a new pattern"};

static PetscErrorCode OperandsCreate(const Reference *ref, Action action, ReferenceOperands *o)
{
  Mat B = NULL;

  PetscFunctionBegin;
  PetscCall(ReferenceOperandsCreate(ref, PETSC_COMM_SELF, o));
  if (action == OTHERVALUES) {
    PetscCall(MatDuplicate(o->A, MAT_COPY_VALUES, &B));
    PetscCall(MatZeroEntries(o->A)); /* all values are equal */
  }
  if (action == VALUES || action == OTHERVALUES || action == PATTERN || action == SECONDDENSE || action == SECONDDENSETRANSPOSE) {
    PetscCall(MatMult(o->A, o->x, o->y));
    PetscCall(MatMultTranspose(o->A, o->y, o->x));
    PetscCall(ReferenceFillVec(o->x, 1));
  }
  if (action == OTHERVALUES) PetscCall(MatCopy(B, o->A, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&B));
  if (action == VALUES || action == FIRSTSCALED) { /* the same values, but marked as new */
    PetscCall(MatScale(o->A, 2));
    PetscCall(MatScale(o->A, 0.5));
  }
  if (action == PATTERN) {
    PetscCall(MatSetOption(o->A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetValue(o->A, 0, ref->n - 1, 0, ADD_VALUES));
    PetscCall(MatSetValue(o->A, ref->m - 1, 0, 0, ADD_VALUES));
    PetscCall(MatAssemblyBegin(o->A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(o->A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Act(const ReferenceOperands *o, Action action)
{
  PetscFunctionBegin;
  switch (action) {
  case FIRSTTRANSPOSE:
    PetscCall(MatMultTranspose(o->A, o->y, o->x));
    break;
  case FIRSTDENSE:
  case SECONDDENSE:
    PetscCall(MatProductNumeric(o->Y));
    break;
  case FIRSTDENSETRANSPOSE:
  case SECONDDENSETRANSPOSE:
    PetscCall(MatProductNumeric(o->V));
    break;
  default:
    PetscCall(MatMult(o->A, o->x, o->y));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs the action with the n-th allocation failing */
static PetscErrorCode ActWithout(const ReferenceOperands *o, Action action, PetscInt n)
{
  PetscErrorCode ierr;

  left           = n;
  PetscTrMalloc  = FailingMalloc;
  PetscTrRealloc = FailingRealloc;
  ierr           = Act(o, action);
  left           = NEVER;
  PetscTrMalloc  = realmalloc;
  PetscTrRealloc = realrealloc;
  return ierr;
}

static PetscErrorCode FailEach(const Reference *ref, Action action, PetscInt *failures, PetscInt *bad)
{
  PetscErrorCode ierr = PETSC_ERR_MEM;
  PetscLogDouble before, after;
  const PetscInt heldbefore = nheld;

  PetscFunctionBegin;
  for (PetscInt n = 0; ierr; n++) {
    ReferenceOperands o;

    PetscCall(PetscMallocGetCurrentUsage(&before));
    PetscCall(OperandsCreate(ref, action, &o));
    Catch(ierr, ActWithout(&o, action, n));
    if (ierr && caught.code != PETSC_ERR_MEM) {
      (*bad)++;
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s: allocation %" PetscInt_FMT " failed: error %d, %s\n", ref->name, actions[action], n, (int)caught.code, caught.message));
    }
    if (ierr) (*failures)++;
    PetscCall(ReferenceOperandsCheck(ref, &o, bad));
    PetscCall(ReferenceOperandsDestroy(&o));
    PetscCall(PetscMallocGetCurrentUsage(&after));
    if (after != before) {
      (*bad)++;
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s: allocation %" PetscInt_FMT " failed: %g bytes lost\n", ref->name, actions[action], n, after - before));
    }
    if (nheld != heldbefore) {
      (*bad)++;
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s: allocation %" PetscInt_FMT " failed: %" PetscInt_FMT " arrays on the device lost\n", ref->name, actions[action], n, nheld - heldbefore));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt shapes[] = {20, 60}; /* few nonzeros, many */
  PetscInt              bad      = 0;
  PetscBool             ondevice = PETSC_FALSE; /* is the library expected to allocate on a device? */

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ondevice", &ondevice, NULL));
  realmalloc  = PetscTrMalloc;
  realrealloc = PetscTrRealloc;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    Reference ref;

    PetscCall(ShapesGet(shapes[s], &ref));
    if (s == 0) { /* so that PETSc has done its one-time allocations */
      ReferenceOperands o;

      PetscCall(OperandsCreate(&ref, FIRST, &o));
      PetscCall(ReferenceCheckProducts(&ref, o.A, &bad));
      PetscCall(ReferenceOperandsDestroy(&o));
    }
    for (int action = 0; action < NACTIONS; action++) {
      PetscInt failures = 0;

      PetscCall(FailEach(&ref, (Action)action, &failures, &bad));
      /* refilling values, and products after others, may need no allocation */
      if (!failures && (action < SECONDDENSE || action == PATTERN)) {
        bad++;
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s: no allocation failed\n", ref.name, actions[action]));
      }
    }
    PetscCall(ReferenceDestroy(&ref));
  }
  if (!nallocated != !ondevice) {
    bad++;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "The library allocated %" PetscInt_FMT " arrays on a device\n", nallocated));
  }
  PetscCall(ReferenceReport(bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    depends: reference.c shapes.c

  testset:
    # what PETSc has allocated is counted; a PETSc with debugging would allocate for PetscMalloc2() and others several times, and lose the first parts where a later one fails
    args: -malloc_debug -malloc_coalesce -options_left 0
    output_file: output/allocfail_1.out
    test:
      suffix: csrccuda
      args: -device_enable none -mat_type csrccuda
    test:
      suffix: bccoo
      args: -mat_type bccoo -mat_bccoo_compression {{tuples simd csr}}
    test:
      suffix: copies
      args: -mat_type bccoo -mat_form_copies 2
    test:
      suffix: gpu
      args: -ondevice -mat_type csrccuda -mat_csrc_layout {{auto balanced csrc}}
    test:
      suffix: pieces
      args: -mat_type bccoo -pieces 3
    test:
      suffix: gpu_pieces
      args: -ondevice -mat_type csrccuda -pieces 3
    test:
      suffix: gpu_copies
      args: -ondevice -mat_type csrccuda -mat_form_copies 2
    test:
      suffix: gpu_reproducible
      args: -ondevice -mat_type csrccuda -mat_csrc_reproducible

TEST*/
