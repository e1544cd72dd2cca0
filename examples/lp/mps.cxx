/*
  MPS files by CoinUtils, fixed and free, plain or compressed. CoinUtils leaves OBJSENSE to its callers: the lines of this section are
  taken out here, before it sees them. It also wants a section RHS, which a file may leave out.
*/
#include <coin/CoinMpsIO.hpp>
#include <coin/CoinFileIO.hpp>
#include <coin/CoinError.hpp>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <memory>
#include <regex>
#include <string>
#include <vector>
#include "lp.h"

namespace {
/* The lines of a file, counted, without OBJSENSE, and with a section RHS, which CoinUtils wants */
class Lines : public CoinFileInput {
public:
  int  line     = 0;
  bool maximize = false, sense = false;
  int  unclear = 0; /* a line of OBJSENSE */

  Lines(const std::string &file) : CoinFileInput(file), input(CoinFileInput::create(file)) { }
  int   read(void *buffer, int size) override { return input->read(buffer, size); }
  char *gets(char *buffer, int size) override
  {
    if (!held.empty()) {
      std::snprintf(buffer, size, "%s", held.c_str());
      held.clear();
      return buffer;
    }
    if (!input->gets(buffer, size)) return nullptr;
    line++;
    std::vector<std::string> words;
    const bool               section = !std::isspace((unsigned char)buffer[0]) && buffer[0] != '*' && buffer[0] != '\0';

    if (section || sense) {
      for (char *p = buffer; *p;) {
        while (std::isspace((unsigned char)*p)) p++;
        if (!*p) break;
        words.emplace_back();
        for (; *p && !std::isspace((unsigned char)*p); p++) words.back() += (char)std::toupper((unsigned char)*p);
      }
    }
    if (section) {
      sense = !words.empty() && words[0] == "OBJSENSE";
      if (sense) words.erase(words.begin());
      else if (!words.empty()) {
        rhs |= words[0] == "RHS";
        if (!rhs && (words[0] == "RANGES" || words[0] == "BOUNDS" || words[0] == "ENDATA")) {
          rhs  = true;
          held = buffer;
          std::strcpy(buffer, "RHS\n");
        }
      }
    }
    if (sense) {
      if (buffer[0] != '*') {
        for (const auto &word : words) {
          if (word == "MAX" || word == "MAXIMIZE" || word == "MIN" || word == "MINIMIZE") maximize = word[1] == 'A';
          else unclear = line;
        }
      }
      std::strcpy(buffer, "*\n");
    }
    return buffer;
  }

private:
  std::unique_ptr<CoinFileInput> input;
  std::string                    held; /* a line that follows one of our own */
  bool                           rhs = false;
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
    int       sets = 0;
    CoinSet **set  = nullptr;

    cardReader_      = new CoinMpsCardReader(lines, this); /* which deletes lines */
    const int errors = readMps(sets, set);
    for (int s = 0; s < sets; s++) delete set[s];
    delete[] set;
    return errors;
  }
};

PetscReal Bound(double b)
{
  return b >= LP_INFINITE ? LP_INF : (b <= -LP_INFINITE ? -LP_INF : (PetscReal)b);
}

bool IsNumber(const CoinMpsIO &reader)
{
  const double *const arrays[] = {reader.getObjCoefficients(), reader.getColLower(), reader.getColUpper(), reader.getRowLower(), reader.getRowUpper(), reader.getMatrixByRow()->getElements()};
  const CoinBigIndex  sizes[]  = {reader.getNumCols(), reader.getNumCols(), reader.getNumCols(), reader.getNumRows(), reader.getNumRows(), reader.getNumElements()};

  for (int a = 0; a < 6; a++) {
    for (CoinBigIndex i = 0; i < sizes[a]; i++) {
      if (arrays[a][i] != arrays[a][i]) return false;
    }
  }
  return true;
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
  if (lines->unclear) messages.error = "the section OBJSENSE must say MAX or MIN at line " + std::to_string(lines->unclear);
  else if (errors && messages.error.empty()) messages.error = "no linear program ends at line " + std::to_string(lines->line);
  else if (!errors && !IsNumber(reader)) messages.error = "not all of its numbers are numbers";
  else if (!errors) messages.error.clear();
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
