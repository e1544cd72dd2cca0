/*
  Reads Matrix Market files, plain or compressed by gzip, into a matrix of any type on any number of processes.

  The text is parsed by the library fast_matrix_market. The first process reads and parses, and sends each process the entries of
  the rows that it owns. Each process sorts its entries by row, so no process needs arrays for all rows. If reading fails, all
  processes get the same error.
*/
#include "support.h"
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

/* Integers are parsed by std::from_chars(), floating-point numbers by fast_float: both are exact and independent of the locale */
#define FMM_FROM_CHARS_INT_SUPPORTED
#define FMM_USE_FAST_FLOAT
#include <fast_matrix_market/fast_matrix_market.hpp>

namespace fmm = fast_matrix_market;

namespace {

/* The reason why a file could not be read, as a PETSc error code and a text */
struct Failure : std::runtime_error {
  PetscErrorCode code;
  Failure(PetscErrorCode code, const std::string &why) : std::runtime_error(why), code(code) { }
};

/*
  The text of a file, decompressed by zlib if needed. It always ends with a newline and contains no zero byte, as the parser
  requires.
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
    last = buffer[length - 1];
    setg(buffer.data(), buffer.data(), buffer.data() + length);
    return traits_type::to_int_type(buffer[0]);
  }

private:
  gzFile            gz;
  std::vector<char> buffer;
  char              last = 0;
};

/*
  The value of an entry: one number, or two in a complex file. By default the parser ignores the rest of the line after a
  value and would read 1.5D+03 as 1.5; here this is an error. The text ends with a zero byte, so looking ahead is safe.
*/
template <int n>
struct Value {
  double part[n];
};

} // namespace

/* Tells the parser that this type holds complex numbers; otherwise it refuses complex files */
template <>
struct fast_matrix_market::can_read_complex<Value<2>> : std::true_type {
};

namespace {

template <int n>
const char *read_value(const char *pos, const char *end, Value<n> &value, const fmm::read_options &options)
{
  for (double &part : value.part) {
    pos = fmm::skip_spaces(pos);
    if (pos[0] == '+' && pos[1] != '-') pos++; /* as Fortran may write it */
    pos = fmm::read_value(pos, end, part, options);
  }
  pos = fmm::skip_spaces(pos);
  if (pos != end && *pos != '\n') throw fmm::invalid_mm("Unexpected text after the value: " + std::string(pos, std::find(pos, std::min(end, pos + 20), '\n')));
  return pos;
}

template <int n>
Value<n> negate(Value<n> value)
{
  for (double &part : value.part) part = -part;
  return value;
}

#if PetscDefined(USE_COMPLEX)
Value<2> complex_conjugate(Value<2> value)
{
  value.part[1] = -value.part[1];
  return value;
}

PetscScalar ToScalar(const Value<2> &value)
{
  return PetscCMPLX(static_cast<PetscReal>(value.part[0]), static_cast<PetscReal>(value.part[1]));
}
#endif

PetscScalar ToScalar(const Value<1> &value)
{
  return static_cast<PetscReal>(value.part[0]);
}

/* The entries in the order of the file; if the file holds half of a symmetric matrix, which half: 1 below the diagonal, -1 above it */
struct Entries {
  std::vector<PetscInt>    i, j;
  std::vector<PetscScalar> v;
  int                      half     = 0;
  bool                     mirrored = false; /* the last call was for the mirror image of an entry */
};

/* The parser calls this for each entry; in symmetric files first for the mirror image, then for the entry */
template <int n>
class Collector {
public:
  using coordinate_type      = int64_t;
  using value_type           = Value<n>;
  static constexpr int flags = fmm::kAppending;

  Collector(const fmm::matrix_market_header &header, Entries &entries) : header(header), entries(entries) { }

  void handle(int64_t i, int64_t j, const Value<n> &value)
  {
    if (i >= header.nrows || j >= header.ncols) throw fmm::invalid_mm("More values than the matrix has entries");
    if (header.symmetry != fmm::general && header.format == fmm::coordinate && i != j) {
      entries.mirrored = !entries.mirrored;
      if (!entries.mirrored) CheckHalf(i, j);
    }
    entries.i.push_back(static_cast<PetscInt>(i));
    entries.j.push_back(static_cast<PetscInt>(j));
    entries.v.push_back(ToScalar(value));
  }

  Collector get_chunk_handler(int64_t) { return *this; } /* required by the parser, for threads, which are not used */

private:
  /* A file with both halves would give each entry twice */
  void CheckHalf(int64_t i, int64_t j)
  {
    const int half = i > j ? 1 : -1;

    if (entries.half == -half)
      throw fmm::invalid_mm("Entry (" + std::to_string(i + 1) + ", " + std::to_string(j + 1) + ") lies on the other side of the diagonal than those before it: a " + fmm::symmetry_map.at(header.symmetry) + " file holds one half of the matrix");
    entries.half = half;
  }

  const fmm::matrix_market_header &header;
  Entries                         &entries;
};

template <int n>
void ReadEntries(std::istream &text, const fmm::matrix_market_header &header, Entries &entries)
{
  Collector<n>      collector(header, entries);
  fmm::read_options options;
  Value<n>          one = {{1.0}};

  options.parallel_ok = false;
  fmm::read_matrix_market_body(text, header, collector, one, options);
}

/* An open file whose header has been read */
class MatrixFile {
public:
  fmm::matrix_market_header header;

  explicit MatrixFile(const char file[]);
  Entries Read();
  Entries Read(PetscMPIInt size, const PetscInt range[], std::vector<size_t> &begin);

private:
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
}

Entries MatrixFile::Read()
{
  Entries entries;

  /* The count in the header may be wrong: limits the memory that is reserved for it */
  const size_t expected = static_cast<size_t>(std::min<int64_t>(header.nnz, 1 << 24));
  entries.i.reserve(expected);
  entries.j.reserve(expected);
  entries.v.reserve(expected);
#if PetscDefined(USE_COMPLEX)
  if (header.field == fmm::complex) ReadEntries<2>(text, header, entries);
  else ReadEntries<1>(text, header, entries);
#else
  ReadEntries<1>(text, header, entries);
#endif

  /* For a dense symmetric matrix the file has half of the values; the parser does not count them */
  if (header.format == fmm::array) {
    const int64_t absent = header.symmetry == fmm::skew_symmetric ? header.nrows : 0;

    if (static_cast<int64_t>(entries.i.size()) < header.nnz - absent) throw Failure(PETSC_ERR_FILE_UNEXPECTED, "Truncated file: values are missing");
  }
  return entries;
}

/* The entries, sorted by the process that owns their row: entries begin[p] to begin[p + 1] - 1 belong to process p, in the order of the file */
Entries MatrixFile::Read(PetscMPIInt size, const PetscInt range[], std::vector<size_t> &begin)
{
  const auto owner = [=](PetscInt row) { return std::upper_bound(range + 1, range + size, row) - range - 1; };
  Entries    read  = Read(), grouped;

  begin.assign(size + 1, 0);
  begin[size] = read.i.size();
  if (size == 1) return read;
  for (PetscInt row : read.i) begin[owner(row)]++;
  for (size_t p = 0, sum = 0; p <= static_cast<size_t>(size); p++) {
    const size_t count = p < static_cast<size_t>(size) ? begin[p] : 0;

    begin[p] = sum;
    sum += count;
  }
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
  complex; general, symmetric, skew-symmetric and hermitian. The file of a symmetric matrix holds either half; the other half is filled
  in. Values of entries that occur more than once are added. Zeros in the file become stored entries, also those of an array file.

  Errors are `PETSC_ERR_FILE_OPEN` if the file does not open; `PETSC_ERR_FILE_UNEXPECTED`, with the reason and if known the line, if it
  is truncated or malformed; `PETSC_ERR_SUP` for a complex file in a real build.
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
  PetscCall(PetscIntCast(count, &nnz));
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
