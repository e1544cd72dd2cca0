/*
  MPS files by CoinUtils, fixed and free, plain or compressed. CoinUtils leaves OBJSENSE to its callers: the lines of this section are
  taken out here, before it sees them. It also wants a section RHS, which a file may leave out.
*/
#include <coin/CoinMpsIO.hpp>
#include <coin/CoinFileIO.hpp>
#include <coin/CoinError.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>
#include "lp.h"

namespace {
/*
  The lines of a file, counted, without OBJSENSE, and with a section RHS, which CoinUtils wants. What CoinUtils would read beyond its buffers, or leave out
  without a word, ends the file and is in `wrong`.
*/
class Lines : public CoinFileInput {
public:
  int         line     = 0;
  bool        maximize = false;
  std::string wrong;

  Lines(const std::string &file) : CoinFileInput(file), input(CoinFileInput::create(file)) { }
  int   read(void *buffer, int size) override { return input->read(buffer, size); }
  char *gets(char *buffer, int size) override
  {
    if (!held.empty()) {
      std::snprintf(buffer, size, "%s", held.c_str());
      held.clear();
      return buffer;
    }
    if (!wrong.empty() || !input->gets(buffer, size)) return nullptr;
    line++;
    if (buffer[0] == '*') {
      while (IsPart(buffer, size) && input->gets(buffer, size)) continue;
      std::strcpy(buffer, "*\n");
      return buffer;
    }
    if (IsPart(buffer, size)) return Wrong("a line is longer than " + std::to_string(size - 2) + " characters");
    for (int k = 0, length = 0; buffer[k]; k++) {
      if (buffer[k] == '\t') buffer[k] = ' ';
      length = (unsigned char)buffer[k] <= ' ' ? 0 : length + 1;
      if (length >= COIN_MAX_FIELD_LENGTH) return Wrong("a name or number is longer than " + std::to_string(COIN_MAX_FIELD_LENGTH - 1) + " characters");
    }

    const bool               section = !std::isspace((unsigned char)buffer[0]) && buffer[0] != '\0';
    std::vector<std::string> words;

    if (section || current == "OBJSENSE") {
      for (char *p = buffer; *p;) {
        while (std::isspace((unsigned char)*p)) p++;
        if (!*p) break;
        words.emplace_back();
        for (; *p && !std::isspace((unsigned char)*p); p++) words.back() += (char)std::toupper((unsigned char)*p);
      }
    }
    if (section) {
      current = words[0];
      if (current == "ROWS" && !named) return Wrong("there is no line NAME before ROWS");
      named |= current == "NAME";
      rhs |= current == "RHS";
      if (!rhs && (current == "RANGES" || current == "BOUNDS" || current == "ENDATA")) {
        rhs  = true;
        held = buffer;
        std::strcpy(buffer, "RHS\n");
      }
      if (std::string(" NAME OBJSENSE ROWS COLUMNS RHS RANGES BOUNDS ENDATA ").find(" " + current + " ") == std::string::npos) return Wrong("a linear program has no section " + current);
      words.erase(words.begin());
    }
    if (current == "BOUNDS" && !std::strncmp(buffer + std::strspn(buffer, " "), "SC ", 3)) return Wrong("a linear program has no semi-continuous columns");
    if (current == "OBJSENSE") {
      for (const auto &word : words) {
        if (word == "MAX" || word == "MAXIMIZE" || word == "MIN" || word == "MINIMIZE") maximize = word[1] == 'A';
        else return Wrong("the section OBJSENSE must say MAX or MIN");
      }
      std::strcpy(buffer, "*\n");
    }
    return buffer;
  }

private:
  static bool IsPart(const char *buffer, int size) { return !std::strchr(buffer, '\n') && (int)std::strlen(buffer) == size - 1; }

  char *Wrong(const std::string &what)
  {
    wrong = what + " at line " + std::to_string(line);
    return nullptr;
  }

  std::unique_ptr<CoinFileInput> input;
  std::string                    held, current; /* a line that follows one of our own; the section */
  bool                           named = false, rhs = false;
};

/* Keeps the first error, with the line that was being read */
class Messages : public CoinMessageHandler {
public:
  const Lines *lines = nullptr;
  std::string  error;

  int print() override
  {
    if (error.empty() && lines && std::strchr("ESW", currentMessage().severity())) {
      const char *words = std::strchr(messageBuffer(), ' '); /* after a number */

      error = std::regex_replace(words ? words + 1 : messageBuffer(), std::regex(" at line [0-9]+| o[fn] file [?]*"), "");
      error += " at line " + std::to_string(lines->line);
    }
    return 0;
  }
  CoinMessageHandler *clone() const override { return new Messages(*this); }
};

class Reader : public CoinMpsIO {
public:
  int read(Lines *lines)
  {
    cardReader_ = new CoinMpsCardReader(lines, this); /* which deletes lines */
    return readMps();
  }
};

PetscReal Bound(double b)
{
  return b >= LP_INFINITE ? LP_INF : (b <= -LP_INFINITE ? -LP_INF : (PetscReal)b);
}

/* What is wrong with the rows or columns: a name that comes twice, as that of a column whose lines are apart, or bounds without a number between them */
template <class NameOf>
std::string CheckSide(const char what[], int n, NameOf name, const double lower[], const double upper[])
{
  std::unordered_set<std::string_view> names(n);

  for (int i = 0; i < n; i++) {
    if (!names.insert(name(i)).second) return std::string(what) + " " + name(i) + " comes twice";
    if (!(lower[i] <= upper[i] && Bound(lower[i]) < LP_INF && Bound(upper[i]) > -LP_INF)) return std::string("there is no number between the bounds of ") + what + " " + name(i);
  }
  return "";
}

/* What is wrong with a program that CoinUtils has read; it reads numbers that are too large as its infinity */
std::string Check(const CoinMpsIO &reader)
{
  const auto        large = [&](double v) { return !(std::fabs(v) < reader.getInfinity()); };
  const double     *cost = reader.getObjCoefficients(), *values = reader.getMatrixByRow()->getElements();
  const std::string column = CheckSide(
    "column", reader.getNumCols(), [&](int j) { return reader.columnName(j); }, reader.getColLower(), reader.getColUpper());

  if (!column.empty()) return column;
  if (large(reader.objectiveOffset()) || std::any_of(cost, cost + reader.getNumCols(), large) || std::any_of(values, values + reader.getNumElements(), large)) return "not all costs and entries are finite numbers";
  return CheckSide(
    "row", reader.getNumRows(), [&](int i) { return reader.rowName(i); }, reader.getRowLower(), reader.getRowUpper());
}
} // namespace

/*
  LPReadMPS - Reads a file into an LP, in which maximization is turned into minimization of the negated cost. What is wrong with the file
  is written to error, which stays empty if nothing is.
*/
PetscErrorCode LPReadMPS(const char file[], LP *lp, char error[], size_t length)
{
  Messages messages;
  Reader   reader;
  Lines   *lines;
  int      errors = -1;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(lp, sizeof(*lp)));
  error[0] = '\0';
  try {
    lines = new Lines(file);
  } catch (CoinError &) {
    PetscCall(PetscSNPrintf(error, length, "%s cannot be opened, or it is compressed in a way that CoinUtils was built without", file));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  messages.lines = lines;
  reader.passInMessageHandler(&messages);
  reader.setSmallElementValue(0);
  try {
    errors = reader.read(lines);
  } catch (CoinError &thrown) {
    if (messages.error.empty()) messages.error = thrown.message();
  }
  lp->maximize = lines->maximize ? PETSC_TRUE : PETSC_FALSE;
  if (!lines->wrong.empty()) messages.error = lines->wrong;
  else if (errors && messages.error.empty()) messages.error = "no linear program ends at line " + std::to_string(lines->line);
  else if (!errors) messages.error = Check(reader);
  if (!messages.error.empty()) {
    PetscCall(PetscSNPrintf(error, length, "%s: %s", file, messages.error.c_str()));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  const CoinPackedMatrix &A = *reader.getMatrixByRow();
  const PetscInt          m = lp->m = reader.getNumRows(), n = lp->n = reader.getNumCols();
  const double            sign = lp->maximize ? -1 : 1;

  PetscCall(PetscMalloc5(n, &lp->cost, n, &lp->lower, n, &lp->upper, m, &lp->rowlower, m, &lp->rowupper));
  PetscCall(PetscMalloc3(m + 1, &lp->i, A.getNumElements(), &lp->j, A.getNumElements(), &lp->v));
  PetscCall(PetscCalloc2(m, &lp->rows, n, &lp->columns));
  lp->offset = reader.objectiveOffset() ? (PetscReal)(-sign * reader.objectiveOffset()) : 0;
  for (PetscInt j = 0; j < n; j++) {
    lp->cost[j]  = (PetscReal)(sign * reader.getObjCoefficients()[j]);
    lp->lower[j] = Bound(reader.getColLower()[j]);
    lp->upper[j] = Bound(reader.getColUpper()[j]);
    if (reader.isInteger(j)) lp->integers++;
    PetscCall(PetscStrallocpy(reader.columnName(j), &lp->columns[j]));
  }
  lp->i[0] = 0;
  for (PetscInt i = 0; i < m; i++) {
    const CoinBigIndex first = A.getVectorFirst(i);
    const int          count = A.getVectorSize(i);

    lp->rowlower[i] = Bound(reader.getRowLower()[i]);
    lp->rowupper[i] = Bound(reader.getRowUpper()[i]);
    for (int k = 0; k < count; k++) {
      lp->j[lp->i[i] + k] = A.getIndices()[first + k];
      lp->v[lp->i[i] + k] = (PetscReal)A.getElements()[first + k];
    }
    lp->i[i + 1] = lp->i[i] + count;
    PetscCall(PetscStrallocpy(reader.rowName(i), &lp->rows[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
