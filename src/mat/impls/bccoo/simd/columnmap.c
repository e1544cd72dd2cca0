/*
  Coding simd: columns numbered within each row block. If row blocks have nonzeros in few columns, compared with the number of their
  nonzeros, each has a map of these columns, and its chunks store the places of columns in the map. A^T u then needs no column blocks, so
  that rows stay whole and chunks large. A map is an ascending list of lines; a line is BCCOO_LINE consecutive columns. Most of the columns
  with nonzeros have neighbours with nonzeros, and lines can be copied and added as vectors.

      row block b  map   3 4 9 ...                   lines of columns of A in which the row block has nonzeros
      A x          xb    x[24..31] x[32..39] ...     the entries of x that the row block needs, copied by its thread before it starts
      A^T u        wb    the sums for these columns, which are added to v after a barrier

  To add them, the columns are cut into stretches of equal cost, one for each thread: stretch t of row block b is the places
  segment[b (nrowblocks + 1) + t] .. segment[b (nrowblocks + 1) + t + 1] - 1 of its map. A thread adds up its stretch row block by row
  block, so that the order of every sum is that of the row blocks.
*/
#include "simdimpl.h"

#define WORD 32 /* lines of a word */

/* A bit for each line that is in the set, and the number of lines in the words before */
typedef struct {
  uint32_t bits, before;
} Word;

/* The lines in which a row block has nonzeros; bit 0 of the first word is line base */
typedef struct {
  PetscInt   base;
  PetscCount nwords;
  Word      *word;
} Set;

static inline uint32_t CountBits(uint32_t bits)
{
  bits -= bits >> 1 & 0x55555555u;
  bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
  return ((bits + (bits >> 4)) & 0x0F0F0F0Fu) * 0x01010101u >> 24;
}

/* Creates a set for each row block, with a bit for each line from its lowest to its highest; all words are in set[0].word[] */
static PetscErrorCode CreateSets(const BCCOOSIMD *L, Set **set)
{
  PetscCount n = 0;
  Word      *word;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(L->nrowblocks, set));
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    if (L->hi[b] < L->lo[b]) continue;
    (*set)[b].base   = L->lo[b] / BCCOO_LINE / WORD * WORD;
    (*set)[b].nwords = (PetscCount)((L->hi[b] / BCCOO_LINE - (*set)[b].base) / WORD) + 1;
    n += BCCOORound((*set)[b].nwords, BCCOO_SIMD_CLAIM);
  }
  PetscCall(PetscMalloc1(n, &word));
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    (*set)[b].word = word;
    word += BCCOORound((*set)[b].nwords, BCCOO_SIMD_CLAIM);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroySets(Set **set)
{
  PetscFunctionBegin;
  if (*set) PetscCall(PetscFree((*set)->word));
  PetscCall(PetscFree(*set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void Clear(Set *set)
{
  if (set->nwords) memset(set->word, 0, set->nwords * sizeof(*set->word));
}

static inline void Enter(Set *set, PetscInt line)
{
  line -= set->base;
  set->word[line / WORD].bits |= (uint32_t)1 << line % WORD;
}

/* To be called after all lines have been entered; returns their number */
static PetscInt Number(Set *set)
{
  PetscInt n = 0;

  for (PetscCount k = 0; k < set->nwords; k++) {
    set->word[k].before = (uint32_t)n;
    n += (PetscInt)CountBits(set->word[k].bits);
  }
  return n;
}

/* Number of lines in the set before this one */
static inline PetscInt PlaceOf(const Set *set, PetscInt line)
{
  const PetscInt l = line - set->base;
  const Word     w = set->word[l / WORD];

  return (PetscInt)(w.before + CountBits(w.bits & (((uint32_t)1 << l % WORD) - 1)));
}

/* Lists all lines in ascending order */
static void List(const Set *set, PetscInt map[])
{
  for (PetscCount k = 0; k < set->nwords; k++) {
    for (uint32_t bits = set->word[k].bits; bits; bits &= bits - 1) *map++ = set->base + (PetscInt)(k * WORD + CountBits((bits & -bits) - 1));
  }
}

/* Enters the line of nonzero k of the CSR, or, if j is not NULL, sets j[k] to the place of its column in the map */
static inline void Visit(const AIJCSR *csr, PetscInt k, Set *set, PetscInt j[])
{
  const PetscInt line = csr->j[k] / BCCOO_LINE;

  if (j) j[k] = PlaceOf(set, line) * BCCOO_LINE + csr->j[k] % BCCOO_LINE;
  else Enter(set, line);
}

/* Visits all nonzeros of row block b */
static inline void VisitRowBlock(const BCCOOSIMD *L, PetscInt b, const AIJCSR *csr, Set *set, PetscInt j[])
{
  for (PetscInt k = L->start[b]; k < L->start[b + 1]; k++) Visit(csr, k, set, j);
}

/* Cost of adding up the lines before the given one: their number in v and in all maps */
static double MergeCost(const BCCOOSIMD *L, PetscInt line)
{
  double cost = (double)line;

  for (PetscInt b = 0; b < L->nrowblocks; b++) cost += BCCOOLowerBound(L->nmap[b], L->map + L->mapstart[b], line);
  return cost;
}

static PetscErrorCode CutStretches(BCCOOSIMD *L)
{
  const PetscInt nlines = (L->n - 1) / BCCOO_LINE + 1;
  const double   total  = MergeCost(L, nlines);

  PetscFunctionBegin;
  L->nplaces = BCCOORound((PetscCount)L->nrowblocks, BCCOO_SIMD_CLAIM); /* threads share no cache line */
  PetscCall(PetscMalloc3(L->nrowblocks * L->nplaces, &L->place, L->nrowblocks + 1, &L->stretch, (size_t)L->nrowblocks * (L->nrowblocks + 1), &L->segment));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks))
  for (PetscInt t = 0; t <= L->nrowblocks; t++) {
    PetscInt lo = 0, hi = nlines;

    while (lo < hi) {
      const PetscInt mid = lo + (hi - lo) / 2;

      if (MergeCost(L, mid) < total * (double)t / (double)L->nrowblocks) lo = mid + 1;
      else hi = mid;
    }
    L->stretch[t] = (PetscInt)PetscMin((PetscCount)L->n, (PetscCount)lo * BCCOO_LINE);
    for (PetscInt b = 0; b < L->nrowblocks; b++) L->segment[b * (L->nrowblocks + 1) + t] = BCCOOLowerBound(L->nmap[b], L->map + L->mapstart[b], lo);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MapColumns(BCCOOSIMD *L, const AIJCSR *csr, double most, Set set[])
{
  PetscInt   largest = 0;
  PetscCount lines = 0, windows = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(L->nrowblocks + 1, &L->mapstart, L->nrowblocks, &L->nmap));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks))
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    Clear(&set[b]);
    VisitRowBlock(L, b, csr, &set[b], NULL);
    L->nmap[b] = Number(&set[b]);
  }
  L->mapstart[0] = 0;
  for (PetscInt b = 0; b < L->nrowblocks; b++) {
    largest = PetscMax(largest, L->nmap[b]);
    lines += (PetscCount)L->nmap[b];
    windows += set[b].nwords * WORD;
    L->mapstart[b + 1] = L->mapstart[b] + (PetscCount)L->nmap[b] + 1; /* one line more, so that no two threads write to the same cache line */
  }
  if ((double)L->nrowblocks * (largest + 1.0) * BCCOO_LINE > most || BCCOO_MAP_GAPS * lines > windows) {
    PetscCall(PetscFree2(L->mapstart, L->nmap));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(L->mapstart[L->nrowblocks], &L->map));
  PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks))
  for (PetscInt b = 0; b < L->nrowblocks; b++) List(&set[b], L->map + L->mapstart[b]);
  PetscCall(CutStretches(L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes maps if they are sparse enough, and the scratch of the largest times the number of row blocks is at most `most`; otherwise L->map stays NULL */
PetscErrorCode BCCOOSIMDMapColumns(BCCOOSIMD *L, const AIJCSR *csr, double most)
{
  Set           *set = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = CreateSets(L, &set);
  if (!ierr) ierr = MapColumns(L, csr, most, set);
  PetscCall(DestroySets(&set));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets j[k] to the place of the column of nonzero k of the CSR among the columns of its row block's map */
PetscErrorCode BCCOOSIMDNumberColumns(const BCCOOSIMD *L, const AIJCSR *csr, PetscInt j[])
{
  Set           *set = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = CreateSets(L, &set);
  if (!ierr) {
    PetscPragmaOMP(parallel for schedule(static, 1) num_threads((int)L->nrowblocks))
    for (PetscInt b = 0; b < L->nrowblocks; b++) {
      Clear(&set[b]);
      for (PetscInt k = 0; k < L->nmap[b]; k++) Enter(&set[b], L->map[L->mapstart[b] + (PetscCount)k]);
      (void)Number(&set[b]);
      VisitRowBlock(L, b, csr, &set[b], j);
    }
  }
  PetscCall(DestroySets(&set));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* xb = the entries of x in the map of row block b */
void BCCOOSIMDCopyMapped(const BCCOOSIMD *L, PetscInt b, const PetscScalar *PETSC_RESTRICT x, PetscScalar *PETSC_RESTRICT xb)
{
  const PetscInt *map = L->map + L->mapstart[b];

  for (PetscInt k = 0; k < L->nmap[b]; k++, xb += BCCOO_LINE) {
    const PetscInt first = map[k] * BCCOO_LINE;

    if (first + BCCOO_LINE <= L->n) memcpy(xb, x + first, BCCOO_LINE * sizeof(*x));
    else memcpy(xb, x + first, (L->n - first) * sizeof(*x));
  }
}

/* v += the sums w of row block b in stretch t */
void BCCOOSIMDAddMapped(const BCCOOSIMD *L, PetscInt b, PetscInt t, const PetscScalar *PETSC_RESTRICT w, PetscScalar *PETSC_RESTRICT v)
{
  const PetscInt *map = L->map + L->mapstart[b], *segment = L->segment + b * (L->nrowblocks + 1) + t;

  for (PetscInt k = segment[0]; k < segment[1]; k++) {
    const PetscInt     first = map[k] * BCCOO_LINE;
    const PetscScalar *wk    = w + (PetscCount)k * BCCOO_LINE;

    if (first + BCCOO_LINE <= L->n) {
      for (PetscInt l = 0; l < BCCOO_LINE; l++) v[first + l] += wk[l];
    } else {
      for (PetscInt l = 0; first + l < L->n; l++) v[first + l] += wk[l];
    }
  }
}
