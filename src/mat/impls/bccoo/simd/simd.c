/* Coding simd: the table of functions of the format that simdimpl.h describes; choice of the vector instructions */
#include "simdimpl.h"
#include "sys/testvalue.h"

static PetscErrorCode SIMDBuild(const AIJCSR *, const AIJPurpose *, void **);
static PetscErrorCode SIMDSetValues(void *, const AIJCSR *);
static PetscErrorCode SIMDDestroy(void **);
static PetscErrorCode SIMDApply(void *, AIJOp, const PetscScalar *, const PetscScalar *, PetscScalar *);
static PetscErrorCode SIMDApplyDense(void *, AIJOp, PetscInt, const PetscScalar *, PetscInt, PetscScalar *, PetscInt);
static PetscErrorCode SIMDGetMemory(const void *, PetscLogDouble *);
static PetscErrorCode SIMDView(const void *, PetscViewer, PetscBool);

const AIJFormat AIJFormatSIMD = {
  .name       = "simd",
  .ondevice   = PETSC_FALSE,
  .build      = SIMDBuild,
  .setvalues  = SIMDSetValues,
  .destroy    = SIMDDestroy,
  .apply      = SIMDApply,
  .applydense = SIMDApplyDense,
  .getmemory  = SIMDGetMemory,
  .view       = SIMDView,
  .visit      = BCCOOSIMDVisit,
  .getrows    = BCCOOSIMDGetRows,
  .getcsr     = BCCOOSIMDGetCSR,
};

/*
  Gets the best kernels that the processor and the build support. For tests and measurements `simd` in PETSCCSRC_TEST may
  ask for others: portable (plain C, the only ones for scalars other than real double precision), avx2 (with FMA), avx512 (F, VL, BW, DQ),
  avx512loads, which has eight loads in place of a gather instruction and is the best on processors of AMD, or neon (on aarch64).
*/
static PetscErrorCode GetKernels(const BCCOOSIMDKernels **kernels)
{
  const BCCOOSIMDKernels *have[4] = {&BCCOOSIMDKernelsPortable}; /* best last */
  int                     n       = 1;
  char                    names[64], want[32];
  PetscBool               given;

  PetscFunctionBegin;
#if defined(BCCOO_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    have[n++] = &BCCOOSIMDKernelsAVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
      const PetscBool loads = __builtin_cpu_is("amd") ? PETSC_TRUE : PETSC_FALSE;

      have[n++] = loads ? &BCCOOSIMDKernelsAVX512 : &BCCOOSIMDKernelsAVX512Loads;
      have[n++] = loads ? &BCCOOSIMDKernelsAVX512Loads : &BCCOOSIMDKernelsAVX512;
    }
  }
#elif defined(BCCOO_NEON)
  have[n++] = &BCCOOSIMDKernelsNEON;
#endif
  *kernels = have[n - 1];
  PetscCall(PetscCSRCTestValue("simd", want, sizeof(want), &given));
  if (!given) PetscFunctionReturn(PETSC_SUCCESS);
  *kernels = NULL;
  names[0] = 0;
  for (int k = 0; k < n; k++) {
    if (!strcmp(want, have[k]->name)) *kernels = have[k];
    PetscCall(PetscStrlcat(names, k ? ", " : "", sizeof(names)));
    PetscCall(PetscStrlcat(names, have[k]->name, sizeof(names)));
  }
  PetscCheck(*kernels, PETSC_COMM_SELF, PETSC_ERR_SUP, "PETSCCSRC_TEST=simd=%s: this processor, or this build, has %s", want, names);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether all nonzeros, with values in full, stay in cache between products. Then bytes cost little and decoding costs much: a table that is not in
  registers takes as long as the gather from x. Where that is a gather instruction, this is less than what comes from the last-level cache in that
  time. For tests and measurements `cache` in PETSCCSRC_TEST may give the number of bytes that stay there.
*/
static PetscErrorCode StaysInCache(const BCCOOSIMD *L, const AIJCSR *csr, PetscBool *stays)
{
  const size_t bytes = (size_t)csr->nnz * (sizeof(PetscScalar) + sizeof(uint32_t));
  size_t       node  = BCCOO_SIMD_NODE;
  char         value[32];
  PetscBool    given;

  PetscFunctionBegin;
  PetscCall(PetscCSRCTestValue("cache", value, sizeof(value), &given));
  if (given) {
    char *end;

    node = (size_t)strtoull(value, &end, 10);
    PetscCheck(!*end, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "PETSCCSRC_TEST=cache=%s is no number of bytes", value);
  }
  *stays = bytes / L->nrowblocks <= BCCOO_SIMD_CORE || (L->kernels->loads && bytes <= node / PetscMax(1, csr->nprocesses)) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Encode(BCCOOSIMD *L, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(BCCOOSIMDEncode(L, csr));
  PetscCall(BCCOOSIMDCutColumnTasks(L));
  PetscCall(BCCOOSIMDPlanDense(L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fill(BCCOOSIMD *L, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(GetKernels(&L->kernels));
  PetscCall(BCCOOSIMDPlan(L, csr));
  PetscCall(StaysInCache(L, csr, &L->incache));
  PetscCall(PetscMalloc1(L->nrowblocks * BCCOO_PANEL, &L->carry));
  PetscCall(Encode(L, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, in the chunks that are there or in new ones */
static PetscErrorCode Refill(BCCOOSIMD *L, const AIJCSR *csr)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(BCCOOSIMDSetValues(L, csr, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  L->recoded++;
  PetscCall(Encode(L, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls one of these with a CSR whose rows are sorted by column */
static PetscErrorCode FromSorted(BCCOOSIMD *L, const AIJCSR *csr, PetscErrorCode (*make)(BCCOOSIMD *, const AIJCSR *))
{
  BCCOOSorted    sorted;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = BCCOOOrderApply(&L->order, csr, BCCOONumParts(csr), &sorted);
  if (!ierr) ierr = (*make)(L, &sorted.csr);
  PetscCall(PetscFree(sorted.j));
  PetscCall(PetscFree(sorted.a));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SIMDBuild(const AIJCSR *csr, const AIJPurpose *purpose, void **data)
{
  BCCOOSIMD     *L;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  (void)purpose; /* the same chunks serve all products */
  PetscCall(PetscNew(&L));
  L->m   = csr->m;
  L->n   = csr->n;
  L->nnz = csr->nnz;
  *data  = L;
  ierr   = BCCOOOrderBuild(csr, BCCOONumParts(csr), &L->order);
  if (!ierr) ierr = FromSorted(L, csr, Fill);
  if (ierr) PetscCall(SIMDDestroy(data));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SIMDSetValues(void *data, const AIJCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(FromSorted((BCCOOSIMD *)data, csr, Refill));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SIMDDestroy(void **data)
{
  BCCOOSIMD *L = (BCCOOSIMD *)*data;

  PetscFunctionBegin;
  if (!L) PetscFunctionReturn(PETSC_SUCCESS);
  if (L->data) {
    for (PetscInt b = 0; b < L->nrowblocks; b++) PetscCall(PetscFree(L->data[b]));
  }
  PetscCall(PetscFree(L->data));
  PetscCall(PetscFree(L->tile));
  PetscCall(PetscFree4(L->claimed, L->taskrow, L->taskshare, L->rowtask));
  PetscCall(PetscFree2(L->own, L->start));
  PetscCall(PetscFree(L->bound));
  PetscCall(PetscFree2(L->lo, L->hi));
  PetscCall(PetscFree5(L->left, L->coltaskclaimed, L->coltask, L->share, L->shared));
  PetscCall(PetscFree(L->carry));
  PetscCall(PetscFree(L->map));
  PetscCall(PetscFree2(L->mapstart, L->nmap));
  PetscCall(PetscFree3(L->place, L->stretch, L->segment));
  PetscCall(PetscFree(L->table));
  PetscCall(BCCOOOrderDestroy(&L->order));
  PetscCall(PetscFree(L->work.array));
  PetscCall(PetscFree(*data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SIMDApply(void *data, AIJOp op, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  BCCOOSIMD *L = (BCCOOSIMD *)data;

  PetscFunctionBegin;
  if (op == AIJ_N) PetscCall(BCCOOSIMDMult(L, x, z, y));
  else PetscCall(BCCOOSIMDMultTranspose(L, BCCOOIsHermitian(op), x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiplies panels of columns; the last columns as vectors, if that takes less time */
static PetscErrorCode SIMDApplyDense(void *data, AIJOp op, PetscInt K, const PetscScalar *X, PetscInt ldx, PetscScalar *Y, PetscInt ldy)
{
  BCCOOSIMD *L = (BCCOOSIMD *)data;

  PetscFunctionBegin;
  for (PetscInt k = 0, n; k < K; k += n) {
    const PetscInt      panel = BCCOOSIMDPanel(L, (PetscBool)(op != AIJ_N), K - k, &n);
    const BCCOOOperands o     = {panel, n, X + (PetscCount)k * ldx, ldx, Y + (PetscCount)k * ldy, ldy};

    if (panel == 1) PetscCall(SIMDApply(data, op, o.X, NULL, o.Y));
    else if (op == AIJ_N) PetscCall(BCCOOSIMDMultDense(L, &o));
    else PetscCall(BCCOOSIMDMultTransposeDense(L, BCCOOIsHermitian(op), &o));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of all memory that is kept between products, by purpose; heads of chunks count as tables */
static void GetBytes(const BCCOOSIMD *L, BCCOOBytes *bytes)
{
  memset(bytes, 0, sizeof(*bytes));
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    for (const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, 0), *end = BCCOOSIMDTile(L, b, L->ncolblocks); c != end; c = BCCOOSIMDNext(c)) {
      const BCCOOSIMDStreams s      = BCCOOSIMDGetStreams(c);
      const size_t           values = c->values == BCCOO_VALUES_EQUAL ? sizeof(PetscScalar) : c->n * BCCOOValueBytes(c->values) + c->ntable * sizeof(PetscScalar),
                   columns          = (size_t)c->bytes - (size_t)((const unsigned char *)s.columns - (const unsigned char *)c);
      const size_t rows             = c->nslices * sizeof(*s.slices) + c->nrows * sizeof(*s.rows) + c->nsteps * sizeof(*s.steps);

      bytes->values += values;
      bytes->columns += columns;
      bytes->rows += rows;
      bytes->tables += c->bytes - values - columns - rows;
    }
    bytes->tables += BCCOO_SIMD_SLOP;
  }
  bytes->tables += sizeof(*L) + L->nrowblocks * (sizeof(*L->data) + (L->ncolblocks + 1) * sizeof(*L->tile) + (5 + L->nrowtasks + 2 * BCCOO_SIMD_CLAIM) * sizeof(PetscInt) + L->ncolblocks * L->nrowtasks * sizeof(*L->rowtask)) +
                   (2 + BCCOO_SIMD_CLAIM) * L->ncolblocks * sizeof(PetscInt) + L->ncoltasks * sizeof(*L->coltask) + (L->nrowblocks + L->ncolblocks + 2) * sizeof(PetscInt) + PetscMax(BCCOO_SIMD_QUICK, L->ntable) * sizeof(PetscScalar);
  if (L->map) {
    bytes->columns += L->mapstart[L->nrowblocks] * sizeof(*L->map);
    bytes->tables += (L->nrowblocks + 1) * (sizeof(*L->mapstart) + sizeof(*L->nmap) + sizeof(*L->stretch) + L->nrowblocks * sizeof(*L->segment)) + L->nrowblocks * L->nplaces * sizeof(*L->place);
  }
  bytes->tables += BCCOOOrderGetBytes(&L->order);
  bytes->buffers = (L->nrowblocks * BCCOO_PANEL + L->work.n) * sizeof(PetscScalar);
}

static PetscErrorCode SIMDGetMemory(const void *data, PetscLogDouble *bytes)
{
  BCCOOBytes b;

  PetscFunctionBegin;
  GetBytes((const BCCOOSIMD *)data, &b);
  *bytes = BCCOOBytesTotal(&b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SIMDView(const void *data, PetscViewer viewer, PetscBool detail)
{
  const BCCOOSIMD         *L                    = (const BCCOOSIMD *)data;
  static const char *const names[BCCOO_NVALUES] = {"equal", "small table", "table", "large table", "own tables", "single precision", "full"};
  double                   coded[BCCOO_NVALUES] = {0.0}, pairs = 0, wide = 0, follow = 0, same = 0;
  PetscInt                 nchunks = 0, nshared = 0, nmapped = 0;
  BCCOOBytes               bytes;

  PetscFunctionBegin;
  GetBytes(L, &bytes);
  PetscCall(BCCOOBytesView(&bytes, L->nnz, viewer));
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    for (const BCCOOSIMDChunk *c = BCCOOSIMDTile(L, b, 0), *end = BCCOOSIMDTile(L, b, L->ncolblocks); c != end; c = BCCOOSIMDNext(c), nchunks++) {
      const BCCOOSIMDStreams s = BCCOOSIMDGetStreams(c);

      coded[c->values] += c->n;
      pairs += c->pairs ? c->n : 0;
      wide += c->wide ? c->n : 0;
      for (PetscInt k = 0; k < c->nsteps; k++) {
        follow += s.steps[k] & BCCOO_STEP_CONSECUTIVE ? s.steps[k] & BCCOO_STEP_LANES : 0;
        same += s.steps[k] & BCCOO_STEP_SAME ? s.steps[k] & BCCOO_STEP_LANES : 0;
      }
    }
  }
  for (PetscInt p = 0; p < L->ncoltasks; p++) nshared += L->coltask[p].own;
  PetscCall(PetscViewerASCIIPrintf(viewer, "values:"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (int v = 0; v < BCCOO_NVALUES; v++) {
    if (coded[v] > 0) PetscCall(PetscViewerASCIIPrintf(viewer, " %s %.1f%%", names[v], 100.0 * coded[v] / L->nnz));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "; table of %" PetscInt_FMT "\n", L->ntable));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (!detail) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "nonzeros in pairs %.1f%%, in steps of consecutive columns %.1f%%, of one column %.1f%%, with wide columns %.1f%%\n", 100.0 * pairs / L->nnz, 100.0 * follow / L->nnz, 100.0 * same / L->nnz, 100.0 * wide / L->nnz));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " chunks; %" PetscInt_FMT " row blocks, %" PetscInt_FMT " column blocks; A^T x in %" PetscInt_FMT " column tasks, %" PetscInt_FMT " with sums of their own\n", nchunks, L->nrowblocks,
                                   L->ncolblocks, L->ncoltasks, nshared));
  for (PetscInt b = 0; L->map && b < L->nrowblocks; b++) nmapped += L->nmap[b];
  if (L->map) PetscCall(PetscViewerASCIIPrintf(viewer, "columns are numbered within each row block: %" PetscInt_FMT " lines of %" PetscInt_FMT " columns in the maps of all row blocks\n", nmapped, BCCOO_LINE));
  PetscCall(PetscViewerASCIIPrintf(viewer, "instructions: %s\n", L->kernels->name));
  PetscCall(PetscViewerASCIIPrintf(viewer, "rows not sorted by column in the CSR: %" PetscInt_FMT "\n", L->order.nunsorted));
  PetscFunctionReturn(PETSC_SUCCESS);
}
