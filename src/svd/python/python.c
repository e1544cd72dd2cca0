/* The C interface of the Python package: start, matrices, products, solves. See python.h */
#include "python.h"
#include <petsctime.h>
#include "svd/impls/blocklanczos/blocklanczos.h"
#if defined(PETSCCSRC_HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

/* What Python asks of a solve, and what it gets; python/petsccsrc/_library.py has the same structures */
typedef struct {
  int64_t     values, ncv, iterations, seed, smallest, starts; /* ncv, iterations: 0 is the solver's choice; smallest: whether the smallest values are wanted */
  double      tolerance, gap;                                  /* gap: what a proof has to reach; 0: nothing is said of missed values; negative: the default */
  const char *options;                                         /* of PETSc, for this solve, or NULL */
  const void *start;                                           /* vectors of the short side, `starts` of them, or NULL */
  PythonStep  step;
  double      interval; /* seconds between calls of step; 0: after each step */
} PythonRequest;

typedef struct {
  int64_t converged, reason, steps, products, certified, proved; /* certified: a number of values, or -1; proved: not only estimated */
  double  bound, chance, memory;
} PythonResult;

static char                 Reason[1024];
static PetscBool            Began   = PETSC_FALSE;
static const PythonRequest *Present = NULL; /* of the solve that runs */
static PetscLogDouble       Called;         /* when Python was called last */

/* ------------------------------------------------------------------------------------------------ errors */
/* Keeps the message where an error begins; nothing is printed */
static PetscErrorCode Remember(MPI_Comm comm, int line, const char function[], const char file[], PetscErrorCode code, PetscErrorType type, const char message[], void *ctx)
{
  if (type == PETSC_ERROR_INITIAL) (void)PetscSNPrintf(Reason, sizeof(Reason), "%s", message ? message : "");
  return code;
}

PETSC_EXTERN const char *PetscCSRCPythonReason(void)
{
  return Reason;
}

/* Calls a function of this file with errors kept */
#define KEEP_ERRORS(call) \
  do { \
    PetscErrorCode ierr_; \
\
    Reason[0] = '\0'; \
    (void)PetscPushErrorHandler(Remember, NULL); \
    ierr_ = call; \
    (void)PetscPopErrorHandler(); \
    return ierr_; \
  } while (0)

/* ------------------------------------------------------------------------------------------------ start and end */
/* Needs no PETSc: the versions of this library and of the PETSc it was built for, the sizes of PetscInt and PetscReal, whether scalars are complex */
PETSC_EXTERN PetscErrorCode PetscCSRCPythonBuild(int64_t info[])
{
  const int64_t build[] = {PETSCCSRC_VERSION_MAJOR, PETSCCSRC_VERSION_MINOR, PETSCCSRC_VERSION_SUBMINOR, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, sizeof(PetscInt), sizeof(PetscReal), PetscDefined(USE_COMPLEX)};

  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(build); i++) info[i] = build[i];
  return PETSC_SUCCESS;
}

static PetscErrorCode Start(void)
{
  PetscFunctionBegin;
  if (!SlepcInitializeCalled) {
    Began = (PetscBool)!PetscInitializeCalled;
    if (Began) { /* faults and interrupts are Python's; with a device PETSc would end the process if MPI cannot read its memory. PETSC_OPTIONS has the last word */
      PetscCall(PetscOptionsSetValue(NULL, "-no_signal_handler", "true"));
      PetscCall(PetscOptionsSetValue(NULL, "-use_gpu_aware_mpi", "false"));
    }
    PetscCall(SlepcInitializeNoArguments());
  }
  PetscCall(SlepcCSRCInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Starts PETSc and SLEPc, unless they have been started */
PETSC_EXTERN PetscErrorCode PetscCSRCPythonStart(void)
{
  PetscBool finalized;

  PetscCall(PetscFinalized(&finalized));
  if (finalized) { /* PETSc has no errors any more */
    (void)snprintf(Reason, sizeof(Reason), "petsccsrc must be imported before PETSc is finalized");
    return PETSC_ERR_ORDER;
  }
  KEEP_ERRORS(Start());
}

/* Ends what PetscCSRCPythonStart() has started */
PETSC_EXTERN PetscErrorCode PetscCSRCPythonEnd(void)
{
  PetscBool finalized;

  PetscCall(PetscFinalized(&finalized));
  if (Began && !finalized) PetscCall(SlepcFinalize());
  Began = PETSC_FALSE;
  return PETSC_SUCCESS;
}

/* ------------------------------------------------------------------------------------------------ memory */
static PetscMemType MemType(int device)
{
  return device ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
}

/* Work on one stream is done before what is queued on the other one from now on; before: the caller's stream is the first one */
static PetscErrorCode Order(int device, void *stream, PetscBool before)
{
#if defined(PETSCCSRC_HAVE_CUDA)
  cudaStream_t own, caller = (cudaStream_t)stream;
  cudaEvent_t  event;
#endif

  PetscFunctionBegin;
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCall(PetscGetCurrentCUDAStream(&own));
  if (own == caller) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  PetscCallCUDA(cudaEventRecord(event, before ? caller : own));
  PetscCallCUDA(cudaStreamWaitEvent(before ? own : caller, event, 0));
  PetscCallCUDA(cudaEventDestroy(event));
#else
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "The arrays are on a device, but petsccsrc was built without CUDA");
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays on another device than PETSc's could only be used through the host */
static PetscErrorCode CheckDevice(int device, const void *array)
{
#if defined(PETSCCSRC_HAVE_CUDA)
  struct cudaPointerAttributes attributes;
  int                          own;
#endif

  PetscFunctionBegin;
  if (!device || !array) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCCSRC_HAVE_CUDA)
  PetscCallCUDA(cudaGetDevice(&own));
  PetscCallCUDA(cudaPointerGetAttributes(&attributes, array));
  PetscCheck(attributes.device == own, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "The arrays are on the device %d, and PETSc uses the device %d: CUDA_VISIBLE_DEVICES, or PETSC_OPTIONS=\"-device_select_cuda %d\", changes this", attributes.device, own,
             attributes.device);
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector, or a dense matrix, of an array of the caller's */
static PetscErrorCode WrapVec(MPI_Comm comm, int device, PetscInt n, const void *array, Vec *x)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
#if PETSC_VERSION_GE(3, 26, 0)
  if (size == 1) PetscCall(VecCreateSeqWithArrayAndMemType(comm, MemType(device), 1, n, (const PetscScalar *)array, x));
  else PetscCall(VecCreateMPIWithArrayAndMemType(comm, MemType(device), 1, n, PETSC_DETERMINE, (const PetscScalar *)array, x));
#else
  if (size == 1) PetscCall(VecCreateSeqWithArray(comm, 1, n, (const PetscScalar *)array, x));
  else PetscCall(VecCreateMPIWithArray(comm, 1, n, PETSC_DETERMINE, (const PetscScalar *)array, x));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WrapDense(MPI_Comm comm, int device, PetscInt m, PetscInt columns, const void *array, Mat *X)
{
  PetscMPIInt    rank;
  const PetscInt n = columns;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
#if PETSC_VERSION_GE(3, 26, 0)
  PetscCall(MatCreateDenseWithMemType(comm, MemType(device), m, rank ? 0 : n, PETSC_DETERMINE, columns, m, (PetscScalar *)array, X));
#else
  PetscCall(MatCreateDense(comm, m, rank ? 0 : n, PETSC_DETERMINE, columns, (PetscScalar *)array, X));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------------------------------------------ matrices */
/*
  A matrix of this library from the CSR of the m rows of this process, n columns in all, for products with so many columns; with 0, for the smallest
  values, it is a CSR if there is no need to convert one. The arrays are not kept.
*/
static PetscErrorCode MatrixOfCSR(MPI_Comm comm, int device, PetscInt columns, PetscInt m, PetscInt n, size_t size, const void *i, const void *j, const void *a, Mat *A)
{
  PetscMPIInt processes;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &processes));
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, processes > 1 ? PETSC_DECIDE : n, PETSC_DETERMINE, n));
  PetscCall(MatSetType(*A, device ? MATCSRCCUDA : MATBCCOO));
  if (!columns && !device && processes == 1 && size == sizeof(PetscInt)) PetscCall(MatSeqAIJSetPreallocationCSR(*A, (const PetscInt *)i, (const PetscInt *)j, (const PetscScalar *)a));
  else if (processes == 1) PetscCall(MatFormSetCSR(*A, columns ? columns : 4, size, i, j, (const PetscScalar *)a));
  else {
    PetscCheck(!device && size == sizeof(PetscInt), comm, PETSC_ERR_SUP, "On several processes, rows must be on the host, with indices of %zu bytes", sizeof(PetscInt));
    PetscCall(MatMPIAIJSetPreallocationCSR(*A, (const PetscInt *)i, (const PetscInt *)j, (const PetscScalar *)a));
    PetscCall(MatFormSetRelease(*A, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* comm: the address of an MPI_Comm, or NULL for this process alone */
static MPI_Comm CommOf(const void *comm)
{
  return comm ? *(const MPI_Comm *)comm : PETSC_COMM_SELF;
}

static PetscErrorCode MatrixCSR(MPI_Comm comm, int device, void *stream, int64_t columns, int64_t m, int64_t n, int64_t size, const void *i, const void *j, const void *a, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(Order(device, stream, PETSC_TRUE));
  PetscCall(CheckDevice(device, i));
  PetscCall(MatrixOfCSR(comm, device, (PetscInt)columns, (PetscInt)m, (PetscInt)n, (size_t)size, i, j, a, A));
  PetscCall(Order(device, stream, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscCSRCPythonCSR(const void *comm, int device, void *stream, int64_t columns, int64_t m, int64_t n, int64_t size, const void *i, const void *j, const void *a, Mat *A)
{
  KEEP_ERRORS(MatrixCSR(CommOf(comm), device, stream, columns, m, n, size, i, j, a, A));
}

PETSC_EXTERN PetscErrorCode PetscCSRCPythonDense(int device, int64_t m, int64_t n, const void *a, Mat *A)
{
  KEEP_ERRORS(WrapDense(PETSC_COMM_SELF, device, (PetscInt)m, (PetscInt)n, a, A));
}

PETSC_EXTERN PetscErrorCode PetscCSRCPythonOperator(int device, int64_t m, int64_t n, PythonProduct product, Mat *A)
{
  KEEP_ERRORS(MatCreatePythonOperator(PETSC_COMM_SELF, (PetscInt)m, (PetscInt)n, (PetscBool) !!device, product, A));
}

PETSC_EXTERN PetscErrorCode PetscCSRCPythonCentered(Mat A, int rows, Mat *B)
{
  KEEP_ERRORS(MatCreateCentered(A, (PetscBool) !!rows, B));
}

/* sizes: of this process and of all; returns also whether the matrix multiplies vectors on a device */
static PetscErrorCode Sizes(Mat A, int64_t sizes[])
{
  PetscInt  m, n, M, N;
  VecType   type;
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrcmpAny(type, &device, VECCUDA, VECSEQCUDA, VECMPICUDA, ""));
  sizes[0] = m;
  sizes[1] = n;
  sizes[2] = M;
  sizes[3] = N;
  sizes[4] = device;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscCSRCPythonSizes(Mat A, int64_t sizes[])
{
  KEEP_ERRORS(Sizes(A, sizes));
}

PETSC_EXTERN PetscErrorCode PetscCSRCPythonDestroy(void **object)
{
  KEEP_ERRORS(PetscObjectDestroy((PetscObject *)object));
}

/* Bytes of the stored nonzeros; 0 if there are none, as in a matrix of another library */
static PetscErrorCode Memory(Mat A, double *bytes)
{
  PetscLogDouble stored = 0.0;
  PetscMemType   where;

  PetscFunctionBegin;
  PetscTryMethod(A, "MatFormGetMemory_C", (Mat, PetscLogDouble *, PetscMemType *), (A, &stored, &where));
  *bytes = stored;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscCSRCPythonMemory(Mat A, double *bytes)
{
  KEEP_ERRORS(Memory(A, bytes));
}

/* ------------------------------------------------------------------------------------------------ products */
static PetscErrorCode MultiplyVec(Mat A, PetscBool transpose, int device, PetscInt nx, const void *x, PetscInt ny, void *y)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)A);
  Vec      in, out;

  PetscFunctionBegin;
  PetscCall(WrapVec(comm, device, nx, x, &in));
  PetscCall(WrapVec(comm, device, ny, y, &out));
  PetscCall((transpose ? MatMultTranspose : MatMult)(A, in, out));
  PetscCall(VecDestroy(&in));
  PetscCall(VecDestroy(&out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyDense(Mat A, PetscBool transpose, int device, PetscInt columns, PetscInt nx, const void *x, PetscInt ny, void *y)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)A);
  Mat      in, out;

  PetscFunctionBegin;
  PetscCall(WrapDense(comm, device, nx, columns, x, &in));
  PetscCall(WrapDense(comm, device, ny, columns, y, &out));
  PetscCall(MatProductCreateWithMat(A, in, NULL, out));
  PetscCall(MatProductSetType(out, transpose ? MATPRODUCT_AtB : MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(out));
  PetscCall(MatProductSymbolic(out));
  PetscCall(MatProductNumeric(out));
  PetscCall(MatDestroy(&out));
  PetscCall(MatDestroy(&in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(Mat A, PetscBool transpose, int device, void *stream, int64_t columns, const void *x, void *y)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(Order(device, stream, PETSC_TRUE));
  PetscCall(CheckDevice(device, x));
  PetscCall(MatGetLocalSize(A, &m, &n));
  if (columns == 1) PetscCall(MultiplyVec(A, transpose, device, transpose ? m : n, x, transpose ? n : m, y));
  else PetscCall(MultiplyDense(A, transpose, device, (PetscInt)columns, transpose ? m : n, x, transpose ? n : m, y));
  PetscCall(Order(device, stream, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscCSRCPythonMultiply(Mat A, int transpose, int device, void *stream, int64_t columns, const void *x, void *y)
{
  KEEP_ERRORS(Multiply(A, (PetscBool) !!transpose, device, stream, columns, x, y));
}

/* ------------------------------------------------------------------------------------------------ solves */
/* Composed with the solver, which calls it after each step */
static PetscErrorCode AfterStep(SVD svd)
{
  const BlockLanczosCounts *counts = &((SVD_BLOCKLANCZOS *)svd->data)->counts;
  PetscReal                 worst  = 0.0;
  PetscLogDouble            now;

  PetscFunctionBegin;
  PetscCall(PetscTime(&now));
  if (now - Called < Present->interval) PetscFunctionReturn(PETSC_SUCCESS);
  Called = now;
  for (PetscInt i = 0; i < PetscMin(svd->nsv, svd->ncv); i++) worst = PetscMax(worst, svd->errest[i]);
  if (worst == 0.0) worst = (PetscReal)INFINITY; /* nothing has been estimated yet; PETSC_INFINITY is a finite number */
  PetscCheck(!(*Present->step)(counts->steps, svd->nconv, (double)worst), PETSC_COMM_SELF, PETSC_ERR_PYTHON, "Interrupted");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The defaults, then PETSc's options, then those of this solve, which must all be known */
static PetscErrorCode SetOptions(SVD svd, const PythonRequest *request)
{
  PetscOptions options;
  PetscInt     left;
  char       **names, **values, unknown[128] = "";

  PetscFunctionBegin;
  PetscCall(SVDSetDimensions(svd, (PetscInt)request->values, request->ncv ? (PetscInt)request->ncv : PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SVDSetTolerances(svd, (PetscReal)request->tolerance, request->iterations ? (PetscInt)request->iterations : PETSC_DETERMINE));
  if (request->smallest) PetscCall(SVDSetWhichSingularTriplets(svd, SVD_SMALLEST));
  PetscCall(SVDBlockLanczosSetCertify(svd, request->gap < 0 ? (PetscReal)PETSC_DETERMINE : (PetscReal)request->gap));
  PetscCall(SVDSetFromOptions(svd));
  if (!request->options) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options, request->options));
  PetscCall(PetscObjectSetOptions((PetscObject)svd, options));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(PetscObjectSetOptions((PetscObject)svd, NULL));
  PetscCall(PetscOptionsLeftGet(options, &left, &names, &values));
  if (left) PetscCall(PetscStrncpy(unknown, names[0], sizeof(unknown)));
  PetscCall(PetscOptionsLeftRestore(options, &left, &names, &values));
  PetscCall(PetscOptionsDestroy(&options));
  PetscCheck(!unknown[0], PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Unknown option %s", unknown);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetStart(SVD svd, Mat A, const PythonRequest *request, int device)
{
  PetscInt    M, N, m, n;
  PetscCount  nstart = request->starts;
  Vec        *start;
  BV          V;
  PetscRandom random;

  PetscFunctionBegin;
  if (request->start) {
    PetscCall(MatGetSize(A, &M, &N));
    PetscCall(MatGetLocalSize(A, &m, &n));
    if (M < N) n = m;
    for (PetscCount j = 0; j < nstart; j++) {
      Vec       v;
      PetscReal norm;

      PetscCall(WrapVec(PetscObjectComm((PetscObject)A), device, n, (const PetscScalar *)request->start + j * n, &v));
      PetscCall(VecNorm(v, NORM_1, &norm)); /* not finite if an entry is not; 1 / |v| is less than PetscMin(M, N) / norm */
      PetscCall(VecDestroy(&v));
      PetscCheck(!PetscIsInfOrNanReal(norm) && !PetscIsInfOrNanReal(PetscMin(M, N) / norm), PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
                 "v0: vector %" PetscCount_FMT " is zero, too small, or not finite: the absolute values of its entries add up to %g", j, (double)norm);
    }
    PetscCall(PetscMalloc1(nstart, &start));
    for (PetscCount j = 0; j < nstart; j++) PetscCall(WrapVec(PetscObjectComm((PetscObject)A), device, n, (const PetscScalar *)request->start + j * n, &start[j]));
    PetscCall(SVDSetInitialSpaces(svd, M < N ? 0 : (PetscInt)nstart, start, M < N ? (PetscInt)nstart : 0, start));
    for (PetscCount j = 0; j < nstart; j++) PetscCall(VecDestroy(&start[j]));
    PetscCall(PetscFree(start));
  }
  if (request->seed >= 0) {
    PetscCall(SVDGetBV(svd, &V, NULL));
    PetscCall(BVGetRandomContext(V, &random));
    PetscCall(PetscRandomSetSeed(random, request->seed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetResult(SVD svd, PythonResult *result)
{
  const SVD_BLOCKLANCZOS *ctx = (SVD_BLOCKLANCZOS *)svd->data;
  PetscInt                M, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(svd->OP, &M, &N));
  result->converged = PetscMin(svd->nconv, svd->nsv);
  result->reason    = svd->reason;
  result->steps     = ctx->counts.steps;
  result->products  = ctx->counts.vectors;
  result->certified = ctx->certificate.n;
  result->proved    = ctx->certificate.proved;
  result->bound     = (double)ctx->certificate.bound;
  result->chance    = (double)ctx->certificate.chance;
  PetscCall(Memory(svd->OP, &result->memory));
  result->memory += (double)sizeof(PetscScalar) * ((double)PetscMin(M, N) * (svd->ncv + 4 * ctx->krylov.bs) + (double)PetscMax(M, N) * (svd->nsv + ctx->krylov.bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat A, const PythonRequest *request, int device, void *stream, PythonResult *result, SVD *svd)
{
  const PythonRequest *outer = Present; /* the operator of a solve may solve */
  PetscErrorCode       ierr;
  PetscBool            blocklanczos;

  PetscFunctionBegin;
  PetscCall(Order(device, stream, PETSC_TRUE));
  PetscCall(SVDCreate(PetscObjectComm((PetscObject)A), svd));
  PetscCall(SVDSetOperators(*svd, A, NULL));
  PetscCall(SVDSetType(*svd, SVDBLOCKLANCZOS));
  PetscCall(SetOptions(*svd, request));
  PetscCall(PetscObjectTypeCompare((PetscObject)*svd, SVDBLOCKLANCZOS, &blocklanczos));
  PetscCheck(blocklanczos, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "The options choose the solver %s: it must be " SVDBLOCKLANCZOS, ((PetscObject)*svd)->type_name);
  PetscCall(SetStart(*svd, A, request, device));
  PetscCall(PetscObjectComposeFunction((PetscObject)*svd, "SVDBlockLanczosAfterStep_C", AfterStep));
  PetscCall(PetscTime(&Called));
  Present = request;
  ierr    = SVDSolve(*svd);
  Present = outer;
  PetscCall(ierr);
  PetscCall(GetResult(*svd, result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscCSRCPythonSolve(Mat A, const PythonRequest *request, int device, void *stream, PythonResult *result, SVD *svd)
{
  KEEP_ERRORS(Solve(A, request, device, stream, result, svd));
}

/* Values and norms of residuals on the host; u and v, of this process's rows by columns, may be NULL */
static PetscErrorCode Triplets(SVD svd, int device, void *stream, int64_t number, double sigma[], double residual[], void *u, void *v)
{
  const SVD_BLOCKLANCZOS *ctx  = (SVD_BLOCKLANCZOS *)svd->data;
  MPI_Comm                comm = PetscObjectComm((PetscObject)svd);
  PetscInt                m, n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(svd->OP, &m, &n));
  for (PetscInt i = 0; i < (PetscInt)number; i++) {
    Vec       left = NULL, right = NULL;
    PetscReal value;

    if (u) PetscCall(WrapVec(comm, device, m, (PetscScalar *)u + (size_t)i * m, &left));
    if (v) PetscCall(WrapVec(comm, device, n, (PetscScalar *)v + (size_t)i * n, &right));
    PetscCall(SVDGetSingularTriplet(svd, i, &value, left, right));
    sigma[i]    = (double)value;
    residual[i] = (double)(ctx->projected.res[svd->perm[i]] / ctx->krylov.scale);
    PetscCall(VecDestroy(&left));
    PetscCall(VecDestroy(&right));
  }
  PetscCall(Order(device, stream, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscCSRCPythonTriplets(SVD svd, int device, void *stream, int64_t number, double sigma[], double residual[], void *u, void *v)
{
  KEEP_ERRORS(Triplets(svd, device, stream, number, sigma, residual, u, v));
}
