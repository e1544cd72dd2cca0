/*
  Draws singular values as an SVG picture, which any browser can show.
*/
#include "support.h"

/* The drawing area inside the picture, in pixels */
static const double width = 760, height = 460, left = 70, right = 670, top = 50, bottom = 400;

/* The scale of the vertical axis: linear, or logarithmic if the values span decades */
typedef struct {
  PetscBool logarithmic;
  double    low, high, step;
} Axis;

static double AxisPosition(const Axis *axis, double value)
{
  if (axis->logarithmic) value = log10(PetscMax(value, pow(10, axis->low)));
  return bottom - (bottom - top) * (value - axis->low) / (axis->high - axis->low);
}

/* Chooses round ends, slightly beyond the smallest and the largest value, and a round step */
static Axis AxisCreate(double smallest, double largest)
{
  Axis axis;

  axis.logarithmic = (PetscBool)(smallest > 0 && largest > 1000 * smallest);
  if (axis.logarithmic) {
    axis.low  = floor(log10(smallest));
    axis.high = ceil(log10(largest));
    axis.step = ceil((axis.high - axis.low) / 8);
  } else {
    const double span  = largest > smallest ? largest - smallest : PetscMax(PetscAbs(largest), 1.0);
    const double power = pow(10, floor(log10(span / 6)));
    const double steps = span / 6 / power;

    axis.step = power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
    axis.low  = axis.step * floor(smallest / axis.step - 0.25);
    axis.high = axis.step * ceil(largest / axis.step + 0.25);
    if (smallest >= 0) axis.low = PetscMax(axis.low, 0.0);
  }
  return axis;
}

static PetscErrorCode SVGText(MPI_Comm comm, FILE *fp, double x, double y, const char attributes[], const char text[])
{
  PetscFunctionBegin;
  PetscCall(PetscFPrintf(comm, fp, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes));
  for (const char *c = text; *c; c++) {
    if (*c == '&') PetscCall(PetscFPrintf(comm, fp, "&amp;"));
    else if (*c == '<') PetscCall(PetscFPrintf(comm, fp, "&lt;"));
    else PetscCall(PetscFPrintf(comm, fp, "%c", *c));
  }
  PetscCall(PetscFPrintf(comm, fp, "</text>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SVGPlotSpectrum - Draws the largest singular values that were found, and the exact ones where they are known

  Collective

  Input Parameters:
+ comm    - the communicator; its first process writes
. file    - name of the picture, usually ending in `.svg`
. title   - a line above the picture
. n       - number of singular values found, at least 1
. sigma   - the singular values found, largest first
. nlevels - number of distinct exact singular values, or 0
- levels  - squares and multiplicities of the exact singular values, largest first

  Note:
  With exact values the squares are drawn, exact ones as circles and computed ones as dots: a dot inside its circle is
  right. Without exact values the singular values themselves are drawn.
*/
PetscErrorCode SVGPlotSpectrum(MPI_Comm comm, const char file[], const char title[], PetscInt n, const PetscReal sigma[], PetscInt nlevels, const SpectrumLevel levels[])
{
  FILE          *fp;
  Axis           axis;
  PetscInt       level, copy;
  double         smallest, largest, label = 0, *value;
  char           text[64];
  const double   spacing = (right - left) / (double)n, radius = PetscClipInterval(0.3 * spacing, 1.0, 5.0);
  const PetscInt tick = PetscMax(1, (n + 15) / 16);

  PetscFunctionBegin;
  PetscCheck(n > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "Nothing to plot: %" PetscInt_FMT " singular values", n);
  PetscCall(PetscMalloc1(n, &value));
  for (PetscInt s = 0; s < n; s++) value[s] = (double)(nlevels ? sigma[s] * sigma[s] : sigma[s]);
  largest  = value[0];
  smallest = value[n - 1];
  level = copy = 0;
  for (PetscInt s = 0; s < n && level < nlevels; s++) { /* the range includes the exact values that belong to those found */
    largest  = PetscMax(largest, (double)levels[level].square);
    smallest = PetscMin(smallest, (double)levels[level].square);
    if (++copy == levels[level].multiplicity) level++, copy = 0;
  }
  axis = AxisCreate(smallest, largest);

  PetscCall(PetscFOpen(comm, file, "w", &fp));
  PetscCall(PetscFPrintf(comm, fp, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" font-size=\"13\">\n", width, height, width, height));
  PetscCall(PetscFPrintf(comm, fp, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"white\"/>\n", width, height));
  PetscCall(SVGText(comm, fp, left, 30, "font-size=\"16\"", title));

  for (PetscInt t = 0; axis.low + t * axis.step < axis.high + axis.step / 2; t++) {
    const double mark = axis.low + t * axis.step, y = AxisPosition(&axis, axis.logarithmic ? pow(10, mark) : mark);

    snprintf(text, sizeof(text), axis.logarithmic ? "1e%g" : "%g", mark); /* PetscSNPrintf() adds a period to %g */
    PetscCall(PetscFPrintf(comm, fp, "<path d=\"M%.0f %.1fH%.0f\" stroke=\"#dddddd\"/>\n", left, y, right));
    PetscCall(SVGText(comm, fp, left - 8, y + 4, "text-anchor=\"end\"", text));
  }
  for (PetscInt s = 0; s < n; s += tick) {
    PetscCall(PetscSNPrintf(text, sizeof(text), "%" PetscInt_FMT, s + 1));
    PetscCall(SVGText(comm, fp, left + (s + 0.5) * spacing, bottom + 20, "text-anchor=\"middle\"", text));
  }
  PetscCall(PetscFPrintf(comm, fp, "<path d=\"M%.0f %.0fV%.0fH%.0f\" fill=\"none\" stroke=\"black\"/>\n", left, top, bottom, right));
  PetscCall(SVGText(comm, fp, (left + right) / 2, bottom + 45, "text-anchor=\"middle\"", "index of the singular value"));
  PetscCall(PetscSNPrintf(text, sizeof(text), "text-anchor=\"middle\" transform=\"rotate(-90 20 %.0f)\"", (top + bottom) / 2));
  PetscCall(SVGText(comm, fp, 20, (top + bottom) / 2, text, nlevels ? "squared singular value" : "singular value"));

  level = copy = 0;
  for (PetscInt s = 0; s < n && level < nlevels; s++) {
    const double y = AxisPosition(&axis, (double)levels[level].square);

    if (copy == 0 && PetscAbs(y - label) > 12) { /* labels must not overlap */
      label = y;
      PetscCall(PetscSNPrintf(text, sizeof(text), "%" PetscInt_FMT " x%" PetscInt_FMT, levels[level].square, levels[level].multiplicity));
      PetscCall(SVGText(comm, fp, right + 8, y + 4, "fill=\"#0060a8\"", text));
    }
    PetscCall(PetscFPrintf(comm, fp, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"none\" stroke=\"#0060a8\" stroke-width=\"1.5\"/>\n", left + (s + 0.5) * spacing, y, radius + 3));
    if (++copy == levels[level].multiplicity) level++, copy = 0;
  }
  for (PetscInt s = 0; s < n; s++) PetscCall(PetscFPrintf(comm, fp, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#d04000\"/>\n", left + (s + 0.5) * spacing, AxisPosition(&axis, value[s]), radius));
  if (nlevels) {
    PetscCall(SVGText(comm, fp, right - 4, 30, "text-anchor=\"end\" fill=\"#0060a8\"", "circles: exact"));
    PetscCall(SVGText(comm, fp, right + 8, 30, "fill=\"#d04000\"", "dots: found"));
  }
  PetscCall(PetscFPrintf(comm, fp, "</svg>\n"));
  PetscCall(PetscFClose(comm, fp));
  PetscCall(PetscFree(value));
  PetscFunctionReturn(PETSC_SUCCESS);
}
