/*
  Reads Matrix Market files, plain or compressed by gzip, into a matrix of any type on any number of processes.

  The library fast_matrix_market parses the header. Entries are parsed here, where everything that contradicts the header is an error. The
  first process reads and parses, and sends each process the entries of the rows that it owns. Each process sorts its entries by row, so
  no process needs arrays for all rows. If reading fails, all processes get the same error. (If the memory of one process does not suffice for its
  entries, only this process gets an error.)
*/
#include "support.h"
#include <zlib.h>

#include <strings.h>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>

/* Integers are parsed by std::from_chars(), floating-point numbers by fast_float: both are exact and independent of the locale */
#include <charconv>
#include <fast_float/fast_float.h>
#define FMM_FROM_CHARS_INT_SUPPORTED
#include <fast_matrix_market/fast_matrix_market.hpp>

namespace fmm = fast_matrix_market;

namespace {

/* The reason why a file could not be read, as a PETSc error code and a text */
struct Failure : std::runtime_error {
  PetscErrorCode code;
  Failure(PetscErrorCode code, const std::string &why) : std::runtime_error(why), code(code) { }
};

/*
  The text of a file, decompressed by zlib if needed. It always ends with a newline and contains no zero byte, and its first word has the
  parser's case, as the parser of the header requires.
*/
class TextFile : public std::streambuf {
public:
  explicit TextFile(const char file[]) : gz(gzopen(file, "rb")), buffer(1 << 17)
  {
    if (!gz) throw Failure(PETSC_ERR_FILE_OPEN, errno ? std::strerror(errno) : "out of memory");
  }
  TextFile(const TextFile &)            = delete;
  TextFile &operator=(const TextFile &) = delete;
  ~TextFile() override { gzclose(gz); }

protected:
  int_type underflow() override
  {
    int length = gzread(gz, buffer.data(), static_cast<unsigned>(buffer.size()));
    int status;

    gzerror(gz, &status);
    if (status == Z_ERRNO) throw Failure(PETSC_ERR_FILE_READ, std::strerror(errno));
    if (status == Z_BUF_ERROR) throw Failure(PETSC_ERR_FILE_UNEXPECTED, "Truncated file: the compressed data end too early");
    if (length < 0) throw Failure(PETSC_ERR_FILE_UNEXPECTED, "The compressed data are damaged");
    if (length == 0) {
      if (last == '\n') return traits_type::eof();
      buffer[0] = '\n';
      length    = 1;
    }
    if (std::memchr(buffer.data(), 0, length)) throw Failure(PETSC_ERR_FILE_UNEXPECTED, "Not a text file: it contains zero bytes");
    if (!last && length >= 14 && !strncasecmp(buffer.data(), "%%MatrixMarket", 14)) std::memcpy(buffer.data(), "%%MatrixMarket", 14);
    last = buffer[length - 1];
    setg(buffer.data(), buffer.data(), buffer.data() + length);
    return traits_type::to_int_type(buffer[0]);
  }

private:
  gzFile            gz;
  std::vector<char> buffer;
  char              last = 0;
};

/* A decimal number without the zeros at both ends: its digits, and by which power of ten they are multiplied; the number may have a sign, a point and an exponent */
std::pair<std::string, long> Significant(const char *from, const char *to)
{
  const char *mantissa = std::find_if(from, to, [](char c) { return c == 'e' || c == 'E'; }), *point = std::find(from, mantissa, '.');
  std::string digits;
  long        power = mantissa == to ? 0 : std::strtol(mantissa + 1, NULL, 10);

  std::copy_if(from, mantissa, std::back_inserter(digits), [](char c) { return '0' <= c && c <= '9'; });
  if (point != mantissa) power -= mantissa - point - 1;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  for (; !digits.empty() && digits.back() == '0'; power++) digits.pop_back();
  return {digits, digits.empty() ? 0 : power};
}

/* The lines after the header, read from left to right. Lines without text are skipped, as the format allows, and comments, which it has before the sizes only. */
class Lines {
public:
  Lines(std::istream &text, int64_t number) : text(text), number(number) { }

  /* Goes to the next line; false at the end of the file */
  bool Next()
  {
    do {
      if (!std::getline(text, line)) return false;
      number++;
      pos = line.data();
      end = pos + line.size();
      SkipBlanks();
    } while (pos == end || *pos == '%');
    return true;
  }

  /* An index of 1 to most, returned from 0 */
  int64_t Index(const char what[], int64_t most)
  {
    int64_t    index  = 0;
    const auto result = std::from_chars(pos, end, index);

    if (result.ec == std::errc::invalid_argument) Fail(std::string(what) + " is not a number: " + Word());
    if (!IsEnd(result.ptr)) Fail(std::string(what) + " is not a number: " + Word());
    if (result.ec != std::errc() || index < 1 || index > most) Fail(std::string(what) + " " + Word() + " is out of range: the matrix has " + std::to_string(most));
    pos = result.ptr;
    SkipBlanks();
    return index - 1;
  }

  PetscReal Number(fmm::field_type field)
  {
    const char *from = pos + (*pos == '+' && pos[1] != '-'); /* as Fortran may write it; a zero byte ends the line */
    double      value;
    const auto  result = fast_float::from_chars(from, end, value);

    if (result.ptr == from || !IsEnd(result.ptr)) Fail("The value is not a number: " + Word());
    if (PetscIsInfReal(static_cast<PetscReal>(value)) && std::find_if(from, result.ptr, [](char c) { return '0' <= c && c <= '9'; }) != result.ptr) Fail("Value " + Word() + " is too large for the precision of this PETSc");
    if (static_cast<PetscReal>(value) == 0 && !Significant(from, result.ptr).first.empty()) Fail("Value " + Word() + " is too small for the precision of this PETSc");
    if (field == fmm::integer || field == fmm::unsigned_integer) {
      char exact[512];

      if (!std::isfinite(value) || value != std::floor(value) || (field == fmm::unsigned_integer && value < 0)) Fail("Value " + Word() + " cannot be in an " + fmm::field_map.at(field) + " file");
      std::snprintf(exact, sizeof(exact), "%.0f", static_cast<double>(static_cast<PetscReal>(value)));
      if (Significant(from, result.ptr) != Significant(exact, exact + std::strlen(exact))) Fail("Value " + Word() + " of an " + fmm::field_map.at(field) + " file loses digits in the precision of this PETSc");
    }
    pos = result.ptr;
    SkipBlanks();
    return static_cast<PetscReal>(value);
  }

  void End(const char why[]) const
  {
    if (pos != end) Fail("Unexpected text at the end: " + Word() + why);
  }

  [[noreturn]] void Fail(const std::string &why) const { throw Failure(PETSC_ERR_FILE_UNEXPECTED, "Line " + std::to_string(number) + ": " + why); }

private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  /* Whether a word ends at a place. Without this check 1.5D+03 would be read as 1.5, and "1 2.5", where a number is missing, as column 2 and value 0.5. */
  bool IsEnd(const char *at) const { return at == end || IsBlank(*at); }

  void SkipBlanks() { pos = std::find_if_not(pos, end, IsBlank); }

  /* The word at this place, for messages */
  std::string Word() const
  {
    const std::string word(pos, std::find_if(pos, end - pos > 30 ? pos + 30 : end, IsBlank));

    return word.empty() ? "nothing" : word;
  }

  std::istream &text;
  int64_t       number;
  std::string   line;
  const char   *pos = nullptr, *end = nullptr;
};

/* The entries in the order of the file, those of a symmetric matrix with their mirror images */
struct Entries {
  std::vector<PetscInt>    i, j;
  std::vector<PetscScalar> v;

  void Add(int64_t row, int64_t column, PetscScalar value)
  {
    i.push_back(static_cast<PetscInt>(row));
    j.push_back(static_cast<PetscInt>(column));
    v.push_back(value);
  }
};

/* An open file whose header has been read */
class MatrixFile {
public:
  fmm::matrix_market_header header;

  explicit MatrixFile(const char file[]);
  Entries Read();
  Entries Read(PetscMPIInt size, const PetscInt range[], std::vector<size_t> &begin);

private:
  PetscScalar ReadValue(Lines &lines) const;
  void        Add(const Lines &lines, int64_t i, int64_t j, PetscScalar value, Entries &entries) const;

  TextFile     buffer;
  std::istream text;
};

MatrixFile::MatrixFile(const char file[]) : buffer(file), text(&buffer)
{
  text.exceptions(std::ios::badbit); /* so that an exception in TextFile is passed on unchanged */
  try {
    fmm::read_header(text, header);
  } catch (const fmm::invalid_mm &error) {
    const std::string why = error.what();

    /* if the parser gives no line, it means the line with the sizes */
    throw Failure(PETSC_ERR_FILE_UNEXPECTED, why.compare(0, 5, "Line ") ? "The line with the sizes: " + why : why);
  }
  if (header.object != fmm::matrix) throw Failure(PETSC_ERR_SUP, "It holds a vector, not a matrix");
  if (header.field == fmm::complex && !PetscDefined(USE_COMPLEX)) throw Failure(PETSC_ERR_SUP, "Its values are complex, and this PETSc is built for real numbers");
  if (std::max(header.nrows, header.ncols) > PETSC_INT_MAX) throw Failure(PETSC_ERR_SUP, "Its size of " + std::to_string(header.nrows) + " x " + std::to_string(header.ncols) + " needs a PETSc built for 64-bit indices");
  if (header.symmetry != fmm::general && header.nrows != header.ncols) throw fmm::invalid_mm("A " + fmm::symmetry_map.at(header.symmetry) + " matrix must be square", header.header_line_count);
  /* two kinds that the format does not have: values that are not in the file would be guessed */
  if (header.field == fmm::pattern && header.format == fmm::array) throw fmm::invalid_mm("An array file must have values, not a pattern", 1);
  if (header.field == fmm::pattern && header.symmetry == fmm::skew_symmetric) throw fmm::invalid_mm("A skew-symmetric file must have values, not a pattern", 1);
}

/* The rest of a line: no number, one, or two */
PetscScalar MatrixFile::ReadValue(Lines &lines) const
{
  PetscScalar value = 1.0;

  if (header.field != fmm::pattern) value = lines.Number(header.field);
#if PetscDefined(USE_COMPLEX)
  if (header.field == fmm::complex) value = PetscCMPLX(PetscRealPart(value), lines.Number(header.field));
#endif
  lines.End(header.field == fmm::pattern ? "; a pattern file has no values" : "");
  return value;
}

/* Adds an entry and, in a file of half a matrix, its mirror image */
void MatrixFile::Add(const Lines &lines, int64_t i, int64_t j, PetscScalar value, Entries &entries) const
{
  const auto fail = [&](const char why[]) { lines.Fail("Entry (" + std::to_string(i + 1) + ", " + std::to_string(j + 1) + ") of a " + fmm::symmetry_map.at(header.symmetry) + " file is " + why); };

  entries.Add(i, j, value);
  if (header.symmetry == fmm::general) return;
  /* A file with both halves would give each entry twice */
  if (i < j) fail("above the diagonal: it holds the diagonal and the half below");
  if (i > j) entries.Add(j, i, header.symmetry == fmm::skew_symmetric ? -value : header.symmetry == fmm::hermitian ? PetscConj(value) : value);
  else if (header.symmetry == fmm::skew_symmetric && value != (PetscScalar)0.0) fail("on the diagonal and not zero");
  else if (header.symmetry == fmm::hermitian && PetscImaginaryPart(value) != 0.0) fail("on the diagonal and not real");
}

Entries MatrixFile::Read()
{
  Lines   lines(text, header.header_line_count);
  Entries entries;

  /* The count in the header may be wrong: more memory is taken as entries come */
  const size_t expected = static_cast<size_t>(std::max<int64_t>(0, std::min<int64_t>(header.nnz, 1 << 16)));
  entries.i.reserve(expected);
  entries.j.reserve(expected);
  entries.v.reserve(expected);
  if (header.format == fmm::coordinate) {
    for (int64_t k = 0; k < header.nnz; k++) {
      if (!lines.Next()) throw Failure(PETSC_ERR_FILE_UNEXPECTED, "Truncated file: it has " + std::to_string(k) + " of " + std::to_string(header.nnz) + " entries");
      const int64_t i = lines.Index("Row", header.nrows), j = lines.Index("Column", header.ncols);

      Add(lines, i, j, ReadValue(lines), entries);
    }
  } else {
    for (int64_t j = 0; j < header.ncols; j++) {
      for (int64_t i = header.symmetry == fmm::general ? 0 : header.symmetry == fmm::skew_symmetric ? j + 1 : j; i < header.nrows; i++) {
        if (!lines.Next()) throw Failure(PETSC_ERR_FILE_UNEXPECTED, "Truncated file: it ends before the value of row " + std::to_string(i + 1) + ", column " + std::to_string(j + 1));
        Add(lines, i, j, ReadValue(lines), entries);
      }
    }
  }
  if (lines.Next()) lines.Fail("The matrix is complete before this line");
  return entries;
}

/* The entries, sorted by the process that owns their row: entries begin[p] to begin[p + 1] - 1 belong to process p, in the order of the file */
Entries MatrixFile::Read(PetscMPIInt size, const PetscInt range[], std::vector<size_t> &begin)
{
  const auto owner = [=](PetscInt row) { return std::upper_bound(range + 1, range + size, row) - range - 1; };
  Entries    read  = Read(), grouped;

  begin.assign(size + 1, 0);
  for (PetscInt row : read.i) begin[owner(row)]++;
  if (*std::max_element(begin.begin(), begin.end()) > static_cast<size_t>(PETSC_INT_MAX)) throw Failure(PETSC_ERR_SUP, "The rows of a process have more entries than a PetscInt can count");
  std::exclusive_scan(begin.begin(), begin.end(), begin.begin(), size_t(0));
  if (size == 1) return read;
  std::vector<size_t> next(begin);
  grouped.i.resize(read.i.size());
  grouped.j.resize(read.i.size());
  grouped.v.resize(read.i.size());
  for (size_t k = 0; k < read.i.size(); k++) {
    const size_t to = next[owner(read.i[k])]++;

    grouped.i[to] = read.i[k];
    grouped.j[to] = read.j[k];
    grouped.v[to] = read.v[k];
  }
  return grouped;
}

/* Calls action() on the first process; if it fails, all processes get the error */
template <class Action>
PetscErrorCode FirstProcess(MPI_Comm comm, const char file[], Action action)
{
  PetscMPIInt rank;
  int         code = PETSC_SUCCESS;
  char        why[512];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    std::string reason;

    try {
      action();
    } catch (const Failure &failure) {
      code   = failure.code;
      reason = failure.what();
    } catch (const std::bad_alloc &) {
      code   = PETSC_ERR_MEM;
      reason = "Out of memory";
    } catch (const std::exception &malformed) {
      code   = PETSC_ERR_FILE_UNEXPECTED;
      reason = malformed.what();
    }
    PetscCall(PetscStrncpy(why, reason.c_str(), sizeof(why)));
  }
  PetscCallMPI(MPI_Bcast(&code, 1, MPI_INT, 0, comm));
  if (code) {
    PetscCallMPI(MPI_Bcast(why, sizeof(why), MPI_CHAR, 0, comm));
    SETERRQ(comm, static_cast<PetscErrorCode>(code), "Cannot read Matrix Market file %s: %s", file, why);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorts the entries of rows [first, first + m) by row: row r gets the entries i[r] to i[r + 1] - 1 of j and v */
PetscErrorCode SortByRow(PetscInt first, PetscInt m, PetscInt nnz, const PetscInt row[], const PetscInt column[], const PetscScalar value[], PetscInt **i, PetscInt **j, PetscScalar **v)
{
  PetscInt *start;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(static_cast<size_t>(m) + 2, &start));
  PetscCall(PetscMalloc2(nnz, j, nnz, v));
  /* start[r + 1] is the position of the next entry of row r, and in the end the beginning of row r + 1 */
  for (PetscInt k = 0; k < nnz; k++) start[static_cast<size_t>(row[k] - first) + 2]++;
  for (size_t r = 2; r < static_cast<size_t>(m) + 2; r++) start[r] += start[r - 1];
  for (PetscInt k = 0; k < nnz; k++) {
    const PetscInt to = start[row[k] - first + 1]++;

    (*j)[to] = column[k];
    (*v)[to] = value[k];
  }
  *i = start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  MatLoadMatrixMarket - Reads a Matrix Market file, plain or compressed by gzip

  Collective

  Input Parameters:
+ A    - the matrix, as for MatLoad()
- file - name of the file, which the first process must be able to read

  Notes:
  All kinds of files are read: coordinate and array; real, integer, pattern (all values are one) and, in a complex build,
  complex; general, symmetric, skew-symmetric and hermitian. The file of a symmetric matrix holds the diagonal and the half below it; the
  other half is filled in, and an entry above the diagonal is an error, as the format says. Values of entries that occur more than once are
  added. Zeros in the file become stored entries, also those of an array file. Values of real and complex files are rounded to the precision of this
  PETSc; those of integer files must be exact in it, and none may become infinite, or 0 if it is not.

  Errors are `PETSC_ERR_FILE_OPEN` if the file does not open; `PETSC_ERR_FILE_UNEXPECTED`, with the reason and if known the line, if it
  is truncated or malformed; `PETSC_ERR_SUP` for a vector, for a complex file in a real build, and for sizes that this PETSc cannot count.
*/
PetscErrorCode MatLoadMatrixMarket(Mat A, const char file[])
{
  MPI_Comm                    comm;
  PetscMPIInt                 rank, size, tag;
  std::unique_ptr<MatrixFile> open;
  Entries                     entries;
  std::vector<size_t>         begin;
  PetscInt                    sizes[2];
  PetscLayout                 rmap;
  const PetscInt             *range, *row, *column;
  const PetscScalar          *value;
  PetscCount                  count = 0;
  PetscInt                    nnz, *i = NULL, *j = NULL, *recvrow = NULL, *recvcolumn = NULL;
  PetscScalar                *v = NULL, *recvvalue = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)A, &comm));
  PetscCall(PetscObjectGetNewTag((PetscObject)A, &tag));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(FirstProcess(comm, file, [&] {
    open.reset(new MatrixFile(file));
    sizes[0] = static_cast<PetscInt>(open->header.nrows);
    sizes[1] = static_cast<PetscInt>(open->header.ncols);
  }));
  PetscCallMPI(MPI_Bcast(sizes, 2, MPIU_INT, 0, comm));
  PetscCall(MatFillSizes(A, sizes[0], sizes[1]));
  PetscCall(MatGetLayouts(A, &rmap, NULL));
  PetscCall(PetscLayoutGetRanges(rmap, &range));
  PetscCall(FirstProcess(comm, file, [&] {
    entries = open->Read(size, range, begin);
    open.reset();
  }));

  if (rank == 0) {
    for (PetscMPIInt to = 1; to < size; to++) {
      const size_t first = begin[to];

      count = static_cast<PetscCount>(begin[to + 1] - first);
      PetscCallMPI(MPI_Send(&count, 1, MPIU_COUNT, to, tag, comm));
      PetscCallMPI(MPIU_Send(entries.i.data() + first, count, MPIU_INT, to, tag, comm));
      PetscCallMPI(MPIU_Send(entries.j.data() + first, count, MPIU_INT, to, tag, comm));
      PetscCallMPI(MPIU_Send(entries.v.data() + first, count, MPIU_SCALAR, to, tag, comm));
    }
    count  = static_cast<PetscCount>(begin[1]);
    row    = entries.i.data();
    column = entries.j.data();
    value  = entries.v.data();
  } else {
    PetscCallMPI(MPI_Recv(&count, 1, MPIU_COUNT, 0, tag, comm, MPI_STATUS_IGNORE));
    PetscCall(PetscMalloc3(count, &recvrow, count, &recvcolumn, count, &recvvalue));
    PetscCallMPI(MPIU_Recv(recvrow, count, MPIU_INT, 0, tag, comm, MPI_STATUS_IGNORE));
    PetscCallMPI(MPIU_Recv(recvcolumn, count, MPIU_INT, 0, tag, comm, MPI_STATUS_IGNORE));
    PetscCallMPI(MPIU_Recv(recvvalue, count, MPIU_SCALAR, 0, tag, comm, MPI_STATUS_IGNORE));
    row    = recvrow;
    column = recvcolumn;
    value  = recvvalue;
  }
  nnz = static_cast<PetscInt>(count); /* which MatrixFile::Read() has checked, so that all processes get the error */
  PetscCall(SortByRow(range[rank], range[rank + 1] - range[rank], nnz, row, column, value, &i, &j, &v));
  PetscCall(PetscFree3(recvrow, recvcolumn, recvvalue));
  entries = Entries();
  PetscCall(MatFillRows(A, i, j, v));
  PetscCall(PetscFree(i));
  PetscCall(PetscFree2(j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatLoadFile - Reads a matrix from a file; the file's name decides on the format

  Collective

  Input Parameters:
+ A    - the matrix, as for MatLoad()
- file - name of the file: `.mtx` and `.mtx.gz` are Matrix Market, all others PETSc binary
*/
PetscErrorCode MatLoadFile(Mat A, const char file[])
{
  PetscBool plain, compressed;

  PetscFunctionBegin;
  PetscCall(PetscStrendswith(file, ".mtx", &plain));
  PetscCall(PetscStrendswith(file, ".mtx.gz", &compressed));
  if (plain || compressed) PetscCall(MatLoadMatrixMarket(A, file));
  else PetscCall(MatLoadBinary(A, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}
