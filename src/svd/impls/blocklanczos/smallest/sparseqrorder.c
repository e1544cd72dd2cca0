/*
  The order of the columns is found together with the structure of R, as COLAMD does (T. A. Davis, J. R. Gilbert, S. I. Larimore and E. G. Ng, ACM Trans.
  Math. Softw. 30, 2004). The rows are sets of columns. To eliminate a column merges all sets that hold it, in the worst case into a dense triangle whose
  rows are the union of the sets; without the column this is a new set. The next column is one that few others share sets with, by an upper bound. Columns
  that are in the new set only are eliminated with it. Where pairs of columns that share a row are fewer than nonzeros, they take the place of the rows at first (as in
  P. R. Amestoy, T. A. Davis and I. S. Duff, SIAM J. Matrix Anal. Appl. 17, 1996).

  Each elimination is a front. Fronts that have nearly the same columns are merged (C. Ashcraft and R. Grimes, ACM Trans. Math. Softw. 15, 1989).
*/
#include "sparseqrimpl.h"

/* Columns that are in more than so many times the root of the number of rows, if they are no more than a twentieth of all, are eliminated last: their scores would take most of the time */
#define DENSE 10
/* Rows are replaced by neighbours if so many steps for each nonzero are enough to find these */
#define MOST_WORK 16
/* The share of zeros in a front that was merged of several: FILL, and with few pivots FEW over their number, since small fronts take time for calls */
#define FILL 0.05
#define FEW  1.5

typedef struct {
  PetscCount start;
  PetscInt   length;        /* 0: merged into another one */
  PetscInt   inside, stamp; /* the number of members that are in the new set, without dense columns, and of which new set */
} Set;

typedef struct {
  PetscInt    n, order, nsets; /* order: the number of columns eliminated so far; nsets: of sets at first, which are none if neighbours take their place */
  Set        *set;
  PetscInt   *member; /* the columns of sets, one set after the other */
  PetscCount  nmember, room;
  PetscCount *start; /* where the list of each column begins: its sets, and neighbours j as -1 - j */
  PetscInt   *list, *nlist, *maxlist;
  PetscBool  *gone, *dense; /* of columns: eliminated; eliminated last */
  PetscInt    ndense;
  PetscInt   *score, *head, *next, *prev, least;
  PetscInt   *mark, stamp; /* of columns */
} Elimination;

static void Unlink(Elimination *e, PetscInt c)
{
  if (e->prev[c] >= 0) e->next[e->prev[c]] = e->next[c];
  else e->head[e->score[c]] = e->next[c];
  if (e->next[c] >= 0) e->prev[e->next[c]] = e->prev[c];
}

static void Link(Elimination *e, PetscInt c, PetscInt score)
{
  e->score[c] = score;
  e->prev[c]  = -1;
  e->next[c]  = e->head[score];
  if (e->head[score] >= 0) e->prev[e->head[score]] = c;
  e->head[score] = c;
  e->least       = PetscMin(e->least, score);
}

/* Drops from a list what is eliminated or merged */
static void Compact(Elimination *e, PetscInt c)
{
  PetscInt *list = e->list + e->start[c], left = 0;

  for (PetscInt k = 0; k < e->nlist[c]; k++)
    if (list[k] < 0 ? !e->gone[-1 - list[k]] : e->set[list[k]].length > 0) list[left++] = list[k];
  e->nlist[c] = left;
}

/* An elimination that adds a set to a list has merged a set, or eliminated a neighbour, of it: there is room */
static void AddSet(Elimination *e, PetscInt c, PetscInt s)
{
  if (e->nlist[c] == e->maxlist[c]) Compact(e, c);
  e->list[e->start[c] + e->nlist[c]++] = s;
}

/* The rows as sets, and the lists of the columns */
static PetscErrorCode AddRows(Elimination *e, PetscInt m, const PetscInt ai[], const PetscInt aj[])
{
  PetscCount total = 0;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < m; r++) {
    e->set[r] = (Set){e->nmember, 0, 0, -1};
    for (PetscInt k = ai[r]; k < ai[r + 1]; k++) {
      if (e->mark[aj[k]] == r) continue;
      e->mark[aj[k]]          = r;
      e->member[e->nmember++] = aj[k];
      e->set[r].length++;
      e->nlist[aj[k]]++;
    }
  }
  for (PetscInt c = 0; c < e->n; c++) {
    e->start[c] = total;
    total += e->nlist[c];
    e->nlist[c] = 0;
  }
  PetscCall(PetscMalloc1(total, &e->list));
  for (PetscInt r = 0; r < m; r++)
    for (PetscInt k = 0; k < e->set[r].length; k++) AddSet(e, e->member[e->set[r].start + k], r);
  e->nsets = e->stamp = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts the columns that share a row with each column in the place of rows, where these are fewer and quickly found */
static PetscErrorCode ReplaceRows(Elimination *e)
{
  const PetscCount most = e->nmember;
  PetscCount      *start, total = 0, work = 0;
  PetscInt        *list;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(e->n, &start));
  PetscCall(PetscMalloc1(most, &list));
  for (PetscInt c = 0; c < e->n && total <= most; c++) {
    start[c]   = total;
    e->mark[c] = e->stamp + c;
    for (PetscInt i = 0; i < e->nlist[c] && total <= most; i++) {
      const Set *s = &e->set[e->list[e->start[c] + i]];

      work += s->length;
      for (PetscInt k = 0; k < s->length && total <= most; k++) {
        const PetscInt j = e->member[s->start + k];

        if (e->mark[j] == e->stamp + c) continue;
        e->mark[j] = e->stamp + c;
        if (total++ < most) list[total - 1] = -1 - j;
      }
      if (work > MOST_WORK * most) total = most + 1;
    }
  }
  if (total <= most) {
    for (PetscInt c = 0; c < e->n; c++) e->nlist[c] = (PetscInt)((c + 1 < e->n ? start[c + 1] : total) - start[c]);
    PetscCall(PetscArraycpy(e->start, start, e->n));
    PetscCall(PetscFree(e->list));
    e->list    = list;
    e->nmember = e->nsets = 0;
  } else PetscCall(PetscFree(list));
  e->stamp += e->n;
  PetscCall(PetscFree(start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EliminationCreate(PetscInt m, PetscInt n, const PetscInt ai[], const PetscInt aj[], Elimination *e)
{
  PetscCount end, room = 0;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(e, 1));
  e->n    = n;
  e->room = ai[m] + (PetscCount)4 * n + 64;
  PetscCall(PetscMalloc2(m + n, &e->set, n, &e->start));
  PetscCall(PetscMalloc1(e->room, &e->member));
  PetscCall(PetscCalloc3(n, &e->gone, n, &e->dense, n, &e->nlist));
  PetscCall(PetscMalloc6(n, &e->maxlist, n, &e->mark, n, &e->score, n + 1, &e->head, n, &e->next, n, &e->prev));
  for (PetscInt c = 0; c < n; c++) e->head[c] = e->mark[c] = -1;
  for (PetscInt c = 0; c < n; c++) e->maxlist[c] = PETSC_INT_MAX;
  PetscCall(AddRows(e, m, ai, aj));
  PetscCall(ReplaceRows(e));
  for (PetscInt c = 0; c < n; c++) {
    e->dense[c] = (PetscBool)(e->nlist[c] > DENSE * PetscSqrtReal((PetscReal)(e->nsets ? m : n)));
    e->ndense += e->dense[c];
  }
  if (e->ndense > n / 20) {
    PetscCall(PetscArrayzero(e->dense, n));
    e->ndense = 0;
  }
  /* lists of dense columns get more room, since what they have lost is dropped when they are full only */
  for (PetscInt c = 0; c < n; c++) {
    e->maxlist[c] = e->dense[c] ? 2 * e->nlist[c] : e->nlist[c];
    room += e->maxlist[c];
  }
  PetscCall(PetscRealloc(room * sizeof(PetscInt), &e->list));
  end = room;
  for (PetscInt c = n - 1; c >= 0; c--) {
    end -= e->maxlist[c];
    PetscCall(PetscArraymove(e->list + end, e->list + e->start[c], e->nlist[c]));
    e->start[c] = end;
  }
  for (PetscInt c = 0; c < n; c++) {
    PetscInt64 score = 0;

    for (PetscInt i = 0; i < e->nlist[c]; i++) {
      const PetscInt s = e->list[e->start[c] + i];

      score += s < 0 ? 1 : e->set[s].length - 1;
    }
    Link(e, c, e->dense[c] ? n - 1 : (PetscInt)PetscMin(score, n - 1));
  }
  e->least = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EliminationDestroy(Elimination *e)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(e->set, e->start));
  PetscCall(PetscFree(e->member));
  PetscCall(PetscFree(e->list));
  PetscCall(PetscFree3(e->gone, e->dense, e->nlist));
  PetscCall(PetscFree6(e->maxlist, e->mark, e->score, e->head, e->next, e->prev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes a column out */
static void Take(Elimination *e, PetscInt c, PetscInt pos[])
{
  Unlink(e, c);
  e->gone[c] = PETSC_TRUE;
  pos[c]     = e->order++;
}

static void Include(Elimination *e, PetscInt j, Set *merged)
{
  if (e->gone[j] || e->mark[j] == e->stamp) return; /* eliminated, or there already */
  e->mark[j]                                  = e->stamp;
  e->member[merged->start + merged->length++] = j;
}

/* The union of the sets and neighbours of column c, without c, as a new set */
static PetscErrorCode Merge(Elimination *e, PetscInt c, Set *merged)
{
  const PetscInt *list = e->list + e->start[c];
  PetscCount      most = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < e->nlist[c]; i++) most += list[i] < 0 ? 1 : e->set[list[i]].length;
  most = PetscMin(most, e->n - e->order);
  if (e->nmember + most > e->room) {
    e->room = 2 * (e->nmember + most);
    PetscCall(PetscRealloc(e->room * sizeof(PetscInt), &e->member));
  }
  *merged    = (Set){e->nmember, 0, 0, -1};
  e->mark[c] = e->stamp;
  for (PetscInt i = 0; i < e->nlist[c]; i++) {
    if (list[i] < 0) Include(e, -1 - list[i], merged);
    else {
      Set *s = &e->set[list[i]];

      for (PetscInt k = 0; k < s->length; k++) Include(e, e->member[s->start + k], merged);
      s->length = 0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a set is part of the new one */
static PetscBool Subset(const Elimination *e, const Set *s)
{
  PetscInt inside = s->inside;

  if (inside == s->length || inside + e->ndense < s->length) return (PetscBool)(inside == s->length);
  for (PetscInt k = 0; k < s->length; k++) {
    const PetscInt j = e->member[s->start + k];

    if (!e->dense[j] || e->mark[j] != e->stamp) inside--;
  }
  return (PetscBool)(inside == 0);
}

/* The bounds of the members of a new set, which then has the number `number`; columns that are in no other set are taken out with it */
static void Rescore(Elimination *e, Set *merged, PetscInt number, PetscInt pos[], PetscInt *npiv)
{
  PetscInt *member = e->member + merged->start, left = 0;

  for (PetscInt i = 0; i < merged->length; i++) {
    const PetscInt *list = e->list + e->start[member[i]];

    for (PetscInt k = 0; k < e->nlist[member[i]] && !e->dense[member[i]]; k++) {
      Set *s = list[k] < 0 ? NULL : &e->set[list[k]];

      if (!s || !s->length) continue;
      if (s->stamp != e->stamp) s->inside = 0;
      s->stamp = e->stamp;
      s->inside++;
    }
  }
  for (PetscInt i = 0; i < merged->length; i++) {
    const PetscInt c    = member[i];
    PetscInt      *list = e->list + e->start[c], live = 0;
    PetscInt64     score = 0;

    if (e->dense[c]) {
      member[left++] = c;
      continue;
    }
    for (PetscInt k = 0; k < e->nlist[c]; k++) {
      if (list[k] < 0) { /* a neighbour that is in the new set too is not counted twice */
        if (e->gone[-1 - list[k]] || e->mark[-1 - list[k]] == e->stamp) continue;
        score++;
      } else {
        Set *s = &e->set[list[k]];

        if (s->length && Subset(e, s)) s->length = 0;
        if (!s->length) continue;
        score += s->length - s->inside;
      }
      list[live++] = list[k];
    }
    e->nlist[c] = live;
    if (!live) {
      Take(e, c, pos);
      (*npiv)++;
      continue;
    }
    Unlink(e, c);
    e->score[c]    = (PetscInt)PetscMin(score, e->n); /* linked below, when the size of the set is known */
    member[left++] = c;
  }
  merged->length = left;
  e->nmember     = merged->start + left;
  for (PetscInt i = 0; i < left; i++) {
    const PetscInt c = member[i];

    AddSet(e, c, number);
    if (!e->dense[c]) Link(e, c, (PetscInt)PetscMin((PetscInt64)e->score[c] + left - 1, e->n - 1));
  }
}

/*
  Eliminates all columns: sets the numbers of columns of the fronts, pos, and where the columns of each front that are not eliminated there begin in e->member. Stops
  if the factor is too large, or will take more operations than `few`, supposed that all columns that are left belong to a clique of the size of the last front.
*/
static PetscErrorCode Eliminate(SparseQR qr, Elimination *e, double bytes, double few, PetscBool *enough)
{
  double done = 0.0;

  PetscFunctionBegin;
  *enough = PETSC_TRUE;
  for (PetscInt number = e->nsets; e->order < e->n && *enough; number++) {
    Front   *f = &qr->front[qr->nfronts++];
    PetscInt c;

    while (e->head[e->least] < 0) e->least++;
    c       = e->head[e->least];
    f->npiv = 1;
    PetscCall(Merge(e, c, &e->set[number]));
    Take(e, c, qr->pos);
    Rescore(e, &e->set[number], number, qr->pos, &f->npiv);
    e->stamp++;
    f->columns = e->set[number].start;
    f->n       = f->npiv + e->set[number].length;
    qr->entries += (double)f->npiv * f->n;
    for (PetscInt k = 0; k < f->npiv; k++) done += PetscSqr((double)(f->n - k));
    *enough = (PetscBool)(qr->entries * sizeof(PetscScalar) <= bytes && done + PetscMax(e->n - e->order - f->n, 0) * PetscSqr((double)f->n) <= few);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Puts the fronts of a subtree one after the other, with their pivots, and merges a front with its parent if that adds few zeros to R: many fronts of one
  column would each pass on nearly all of the last one.
*/
static PetscErrorCode Amalgamate(SparseQR qr, const Elimination *e)
{
  PetscInt *of, *number, top = 0, roots = 0;
  PetscInt *parent, *size, *begin, *before, *own; /* of each front: the columns of its subtree, where the next ones of these go; where its own ones began, and begin now */
  PetscInt *kept;                                 /* of the fronts that are kept, the last of the parts */
  Front    *front;
  double   *zeros;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(qr->n, &of, qr->n, &number));
  PetscCall(PetscMalloc5(qr->nfronts, &parent, qr->nfronts, &size, qr->nfronts, &begin, qr->nfronts, &before, qr->nfronts, &own));
  PetscCall(PetscMalloc3(qr->nfronts, &kept, qr->nfronts, &front, qr->nfronts, &zeros));
  for (PetscInt i = 0, p = 0; i < qr->nfronts; i++) {
    before[i] = p;
    size[i]   = 0;
    for (PetscInt k = 0; k < qr->front[i].npiv; k++) of[p++] = i;
  }
  for (PetscInt i = 0; i < qr->nfronts; i++) {
    const Front *f     = &qr->front[i];
    PetscInt     least = qr->n;

    for (PetscInt k = 0; k < f->n - f->npiv; k++) least = PetscMin(least, qr->pos[e->member[f->columns + k]]);
    parent[i] = least < qr->n ? of[least] : -1;
    size[i] += f->npiv;
    if (parent[i] >= 0) size[parent[i]] += size[i];
  }
  /* the positions of a subtree begin where those before it, of the same parent, end; its root has the last ones */
  for (PetscInt i = qr->nfronts - 1; i >= 0; i--) {
    PetscInt *const next = parent[i] >= 0 ? &begin[parent[i]] : &roots;

    begin[i] = *next;
    *next += size[i];
    own[i] = *next - qr->front[i].npiv;
    for (PetscInt k = 0; k < qr->front[i].npiv; k++) number[before[i] + k] = own[i] + k;
  }
  for (PetscInt p = 0; p < qr->n; p++) of[number[p]] = -1;
  for (PetscInt i = 0; i < qr->nfronts; i++) of[own[i]] = i;
  for (PetscInt c = 0; c < qr->n; c++) qr->pos[c] = number[qr->pos[c]];
  qr->entries = 0.0;
  for (PetscInt p = 0; p < qr->n; p++) {
    const PetscInt i = of[p];
    Front          f;

    if (i < 0) continue;
    f          = qr->front[i];
    zeros[top] = 0.0;
    for (; top > 0; top--) { /* a child of any part has its columns right before them */
      const Front   *child = &front[top - 1];
      const PetscInt q     = parent[kept[top - 1]];
      double         added;

      if (q < 0 || own[q] > own[i] || own[q] < own[i] + qr->front[i].npiv - f.npiv) break;
      added = zeros[top] + zeros[top - 1] + (double)child->npiv * (f.n - (child->n - child->npiv));
      if (added > (FILL + FEW / (child->npiv + f.npiv)) * (child->npiv + f.npiv) * (child->npiv + f.n)) break;
      f.npiv += child->npiv;
      f.n += child->npiv;
      zeros[top - 1] = added;
    }
    front[top]  = f;
    kept[top++] = i;
  }
  for (PetscInt i = 0; i < top; i++) qr->entries += (double)front[i].npiv * front[i].n;
  PetscCall(PetscArraycpy(qr->front, front, top));
  qr->nfronts = top;
  PetscCall(PetscFree2(of, number));
  PetscCall(PetscFree5(parent, size, begin, before, own));
  PetscCall(PetscFree3(kept, front, zeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From Amalgamate(): the columns of fronts by their positions, in order, the tree, the rows of A that begin in each front, and the counts that follow */
static PetscErrorCode Plan(SparseQR qr, const PetscInt ai[], const PetscInt aj[], const Elimination *e)
{
  PetscInt  *frontof, at = 0;
  PetscCount total = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < qr->nfronts; i++) total += qr->front[i].n;
  PetscCall(PetscMalloc1(total, &qr->column));
  PetscCall(PetscMalloc1(qr->n, &frontof));
  total = 0;
  for (PetscInt i = 0; i < qr->nfronts; i++) {
    Front          *f      = &qr->front[i];
    const PetscInt *member = e->member + f->columns;

    f->columns = total;
    f->child = f->first = f->parent = f->next = -1;
    for (PetscInt k = 0; k < f->npiv; k++) {
      frontof[at]         = i;
      qr->column[total++] = at++;
    }
    for (PetscInt k = f->npiv; k < f->n; k++) qr->column[total++] = qr->pos[member[k - f->npiv]];
    PetscCall(PetscSortInt(f->n - f->npiv, qr->column + f->columns + f->npiv));
    qr->widest = PetscMax(qr->widest, f->n);
  }
  for (PetscInt r = 0; r < qr->m; r++) {
    PetscInt least = qr->n;

    qr->normalflops += 2 * PetscSqr((double)(ai[r + 1] - ai[r]));
    for (PetscInt k = ai[r]; k < ai[r + 1]; k++) least = PetscMin(least, qr->pos[aj[k]]);
    if (least == qr->n) continue;
    qr->nextrow[r]                  = qr->front[frontof[least]].first;
    qr->front[frontof[least]].first = r;
    qr->front[frontof[least]].rows++;
  }
  for (PetscInt i = 0; i < qr->nfronts; i++) {
    Front *f = &qr->front[i];

    for (PetscInt k = 0; k < f->npiv; k++) qr->normalflops += PetscSqr((double)(f->n - k));
    f->rows += f->npiv; /* those of the shift */
    f->nrest = PetscMin(f->rows, f->n) - f->npiv;
    if (f->rows <= f->n) qr->flops += 4.0 * f->rows * f->n * f->npiv;
    else qr->flops += 2.0 * f->rows * f->n * f->n * (f->rows > CHUNK * (double)f->n ? (double)CHUNK / (CHUNK - 1) : 1);
    if (f->n == f->npiv) continue;
    f->parent                  = frontof[qr->column[f->columns + f->npiv]];
    f->next                    = qr->front[f->parent].child;
    qr->front[f->parent].child = i;
    qr->front[f->parent].rows += f->nrest;
  }
  PetscCall(PetscFree(frontof));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SparseQRAnalyse(PetscInt m, PetscInt n, const PetscInt ai[], const PetscInt aj[], double bytes, double flops, double few, SparseQR *qr)
{
  Elimination e;
  PetscBool   enough;

  PetscFunctionBegin;
  PetscCall(PetscNew(qr));
  (*qr)->m = m;
  (*qr)->n = n;
  PetscCall(PetscCalloc1(n, &(*qr)->front));
  PetscCall(PetscMalloc2(n, &(*qr)->pos, m, &(*qr)->nextrow));
  PetscCall(EliminationCreate(m, n, ai, aj, &e));
  PetscCall(Eliminate(*qr, &e, bytes, few, &enough));
  if (enough) PetscCall(Amalgamate(*qr, &e));
  if (enough) PetscCall(Plan(*qr, ai, aj, &e));
  PetscCall(EliminationDestroy(&e));
  if (!enough || PetscMin((*qr)->flops, (*qr)->normalflops) > flops) PetscCall(SparseQRDestroy(qr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SparseQRGetInfo(SparseQR qr, double *entries, double *flops, double *normalflops)
{
  PetscFunctionBegin;
  *entries     = qr->entries;
  *flops       = qr->flops;
  *normalflops = qr->normalflops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SparseQRDestroy(SparseQR *qr)
{
  PetscFunctionBegin;
  if (!*qr) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < (*qr)->nfronts; i++) PetscCall(PetscFree((*qr)->front[i].R));
  PetscCall(PetscFree((*qr)->front));
  PetscCall(PetscFree((*qr)->column));
  PetscCall(PetscFree2((*qr)->pos, (*qr)->nextrow));
  PetscCall(PetscFree(*qr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
