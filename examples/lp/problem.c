/* Names, changes and scaling of a linear program */
#include "lp.h"

PetscErrorCode LPDestroy(LP *lp)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < lp->m; i++) PetscCall(PetscFree(lp->rows[i]));
  for (PetscInt j = 0; j < lp->n; j++) PetscCall(PetscFree(lp->columns[j]));
  PetscCall(PetscFree2(lp->rows, lp->columns));
  PetscCall(PetscFree3(lp->i, lp->j, lp->v));
  PetscCall(PetscFree5(lp->cost, lp->lower, lp->upper, lp->rowlower, lp->rowupper));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Names in order, each with its index */
typedef struct {
  const char *name;
  PetscInt    index;
} Name;

static int CompareNames(const void *a, const void *b)
{
  return strcmp(((const Name *)a)->name, ((const Name *)b)->name);
}

static PetscErrorCode SortNames(char *const names[], PetscInt n, Name **sorted)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, sorted));
  for (PetscInt i = 0; i < n; i++) (*sorted)[i] = (Name){names[i], i};
  qsort(*sorted, (size_t)n, sizeof(**sorted), CompareNames);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool ReadReal(const char word[], PetscReal *value)
{
  char        *end;
  const double v = strtod(word, &end);

  if (end == word || *end || v != v) return PETSC_FALSE;
  *value = v >= LP_INFINITE ? LP_INF : (v <= -LP_INFINITE ? -LP_INF : (PetscReal)v);
  return PETSC_TRUE;
}

/*
  Lines "KIND NAME NUMBERS", where KIND is one of kinds; the first has count numbers, the others two; lines that begin with # are comments. Rows are
  named if KIND begins with r, else columns. What is between the first word and the numbers is the name, which may have blanks.
*/
static PetscErrorCode ReadLines(const LP *lp, const char file[], const char *const kinds[], int count, PetscErrorCode (*take)(PetscInt kind, PetscInt index, const PetscReal values[], void *ctx), void *ctx)
{
  Name *names[2];
  FILE *fp;
  char  line[2048];

  PetscFunctionBegin;
  PetscCall(SortNames(lp->columns, lp->n, &names[0]));
  PetscCall(SortNames(lp->rows, lp->m, &names[1]));
  PetscCall(PetscFOpen(PETSC_COMM_SELF, file, "r", &fp));
  for (int number = 1; fgets(line, sizeof(line), fp); number++) {
    const char *blanks = " \t\r\n", *word = line + strspn(line, blanks);
    char       *end;
    PetscReal   values[2] = {0, 0};
    int         kind      = 0, wanted, row;
    Name        key, *found;

    if (!*word || *word == '#') continue;
    while (kinds[kind] && (strncmp(kinds[kind], word, strlen(kinds[kind])) || !strchr(blanks, word[strlen(kinds[kind])]))) kind++;
    PetscCheck(kinds[kind], PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s, line %d: %s does not begin with what is known here", file, number, word);
    row    = word[0] == 'r';
    wanted = kind ? 2 : count;
    word += strlen(kinds[kind]);
    for (int v = wanted; v-- > 0;) {
      end = line + strlen(line);
      while (end > word && strchr(blanks, end[-1])) *--end = 0;
      while (end > word && !strchr(blanks, end[-1])) end--;
      PetscCheck(ReadReal(end, &values[v]), PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s, line %d: %s needs %d numbers, and \"%s\" is none", file, number, kinds[kind], wanted, end);
      *end = 0;
    }
    word += strspn(word, blanks);
    for (end = line + strlen(line); end > word && strchr(blanks, end[-1]);) *--end = 0;
    key.name = word;
    found    = (Name *)bsearch(&key, names[row], (size_t)(row ? lp->m : lp->n), sizeof(key), CompareNames);
    PetscCheck(found, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s, line %d: there is no %s \"%s\"", file, number, row ? "row" : "column", word);
    PetscCall(take(kind, found->index, values, ctx));
  }
  PetscCall(PetscFClose(PETSC_COMM_SELF, fp));
  PetscCall(PetscFree(names[0]));
  PetscCall(PetscFree(names[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TakeChange(PetscInt kind, PetscInt index, const PetscReal values[], void *ctx)
{
  LP *lp = (LP *)ctx;

  PetscFunctionBegin;
  if (kind == 0) {
    PetscCheck(PetscAbsReal(values[0]) < LP_INF, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "The new cost of column %s is infinite", lp->columns[index]);
    lp->cost[index] = lp->maximize ? -values[0] : values[0];
  } else {
    PetscCheck(values[0] <= values[1] && values[0] < LP_INF && values[1] > -LP_INF, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "The new bounds %g and %g leave no number between them", (double)values[0], (double)values[1]);
    (kind == 1 ? lp->rowlower : lp->lower)[index] = values[0];
    (kind == 1 ? lp->rowupper : lp->upper)[index] = values[1];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LPReadChanges - Lines "cost COLUMN VALUE", "row ROW LOWER UPPER" and "column COLUMN LOWER UPPER" change a program; A stays */
PetscErrorCode LPReadChanges(LP *lp, const char file[])
{
  PetscFunctionBegin;
  PetscCall(ReadLines(lp, file, (const char *const[]){"cost", "row", "column", NULL}, 1, TakeChange, lp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TakeValue(PetscInt kind, PetscInt index, const PetscReal values[], void *ctx)
{
  PetscFunctionBegin;
  PetscCheck(!PetscIsInfReal(values[0]), PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "The start is infinite at %s %" PetscInt_FMT ", counted from 0", kind ? "row" : "column", index);
  ((PetscReal **)ctx)[kind][index] = values[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LPReadSolution - Reads x and y from what LPWriteSolution() wrote, perhaps for another program: names that it does not mention get 0 */
PetscErrorCode LPReadSolution(const LP *lp, const char file[], PetscReal x[], PetscReal y[])
{
  PetscReal *both[2] = {x, y};

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(x, lp->n));
  PetscCall(PetscArrayzero(y, lp->m));
  PetscCall(ReadLines(lp, file, (const char *const[]){"column", "row", NULL}, 2, TakeValue, both));
  if (lp->maximize) {
    for (PetscInt i = 0; i < lp->m; i++) y[i] = -y[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  LPScale - Squares of the scales of rows and columns: ten times the entries are divided by the square roots of the largest entries of
  their rows and columns (Ruiz), then by those of their sums (Pock and Chambolle). PDHG on the scaled program is PDHG on the user's own
  with the step of each row and column multiplied by the square of its scale. So neither the matrix nor the vectors are scaled.
*/
PetscErrorCode LPScale(const LP *lp, PetscReal r[], PetscReal c[])
{
  PetscReal *rows, *columns;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(lp->m, &rows, lp->n, &columns));
  for (PetscInt i = 0; i < lp->m; i++) r[i] = 1;
  for (PetscInt j = 0; j < lp->n; j++) c[j] = 1;
  for (int pass = 0; pass <= 10; pass++) {
    PetscCall(PetscArrayzero(rows, lp->m));
    PetscCall(PetscArrayzero(columns, lp->n));
    for (PetscInt i = 0; i < lp->m; i++) {
      for (PetscInt k = lp->i[i]; k < lp->i[i + 1]; k++) {
        const PetscInt  j = lp->j[k];
        const PetscReal a = PetscAbsReal(lp->v[k]) * r[i] * c[j];

        rows[i]    = pass < 10 ? PetscMax(rows[i], a) : rows[i] + a;
        columns[j] = pass < 10 ? PetscMax(columns[j], a) : columns[j] + a;
      }
    }
    for (PetscInt i = 0; i < lp->m; i++) {
      if (rows[i] > 0) r[i] /= PetscSqrtReal(rows[i]);
    }
    for (PetscInt j = 0; j < lp->n; j++) {
      if (columns[j] > 0) c[j] /= PetscSqrtReal(columns[j]);
    }
  }
  for (PetscInt i = 0; i < lp->m; i++) r[i] *= r[i];
  for (PetscInt j = 0; j < lp->n; j++) c[j] *= c[j];
  PetscCall(PetscFree2(rows, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}
