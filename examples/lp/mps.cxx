/*
  MPS files by CoinUtils, fixed and free, plain or compressed. CoinUtils leaves OBJSENSE to its callers: the lines of this section are
  taken out here, before it sees them.
*/
#include <coin/CoinMpsIO.hpp>
#include <coin/CoinFileIO.hpp>
#include <coin/CoinError.hpp>
#include <cctype>
#include <cstring>
#include <memory>
#include <string>
#include <vector>
#include "lp.h"

namespace
{
/* The lines of a file, counted, without OBJSENSE */
class Lines : public CoinFileInput {
public:
  int  line = 0;
  bool maximize = false, sense = false, understood = true;

  Lines(const std::string &file) : CoinFileInput(file), input(CoinFileInput::create(file)) { }
  int   read(void *buffer, int size) override { return input->read(buffer, size); }
  char *gets(char *buffer, int size) override
  {
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
    }
    if (sense) {
      if (buffer[0] != '*') {
        for (const auto &word : words) {
          if (word == "MAX" || word == "MAXIMIZE" || word == "MIN" || word == "MINIMIZE") maximize = word[1] == 'A';
          else understood = false;
        }
      }
      std::strcpy(buffer, "*\n");
    }
    return buffer;
  }

private:
  std::unique_ptr<CoinFileInput> input;
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

      error = words ? words + 1 : messageBuffer();
      if (error.find("at line") == std::string::npos) error += " at line " + std::to_string(lines->line);
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

bool IsNan(const double *a, PetscInt n)
{
  for (PetscInt i = 0; i < n; i++) {
    if (a[i] != a[i]) return true;
  }
  return false;
}
} // namespace

/* LPReadMPS - Reads a file into an LP, in which maximization is turned into minimization of the negated cost */
PetscErrorCode LPReadMPS(const char file[], LP *lp)
{
  Messages messages;
  Reader   reader;
  Lines   *lines;
  int      errors = -1, lastline = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(lp, sizeof(*lp)));
  try {
    lines = new Lines(file);
  } catch (CoinError &) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s cannot be opened, or it is compressed in a way that CoinUtils was built without", file);
  }
  messages.lines = lines;
  reader.passInMessageHandler(&messages);
  reader.setSmallElementValue(0);
  try {
    errors = reader.read(lines);
  } catch (CoinError &error) {
    if (messages.error.empty()) messages.error = error.message();
  }
  lastline     = lines->line;
  lp->maximize = lines->maximize ? PETSC_TRUE : PETSC_FALSE;
  PetscCheck(lines->understood, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s: the section OBJSENSE must say MAX or MIN", file);
  PetscCheck(!errors, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s: %s", file, messages.error.empty() ? ("no linear program ends at line " + std::to_string(lastline)).c_str() : messages.error.c_str());

  const CoinPackedMatrix &A = *reader.getMatrixByRow();
  const PetscInt          m = lp->m = reader.getNumRows(), n = lp->n = reader.getNumCols();
  const double            sign = lp->maximize ? -1 : 1;

  PetscCheck(!IsNan(reader.getObjCoefficients(), n) && !IsNan(reader.getColLower(), n) && !IsNan(reader.getColUpper(), n) && !IsNan(reader.getRowLower(), m) && !IsNan(reader.getRowUpper(), m) && !IsNan(A.getElements(), A.getNumElements()), PETSC_COMM_SELF,
             PETSC_ERR_FILE_UNEXPECTED, "%s: not all of its numbers are numbers", file);
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
