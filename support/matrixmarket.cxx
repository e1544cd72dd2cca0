/*
  Reads Matrix Market files, plain or compressed by gzip, into a matrix of any type on any number of processes.

  The text is parsed by the library fast_matrix_market. The first process reads and parses; it sorts the entries by row
  and sends each process the rows it owns. Where reading fails, every process gets the same error.
*/
#include "support.h"
#include <petscviewer.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

/* Integers by std::from_chars(), floating-point numbers by fast_float: both exact and independent of the locale */
#define FMM_FROM_CHARS_INT_SUPPORTED
#define FMM_USE_FAST_FLOAT
#include <fast_matrix_market/fast_matrix_market.hpp>

namespace fmm = fast_matrix_market;

namespace {

/* Why a file was not read, as a PETSc error code and a text */
struct Failure : std::runtime_error {
  PetscErrorCode code;
  Failure(PetscErrorCode code, const std::string &why) : std::runtime_error(why), code(code) { }
};

/*
  The text of a file, which zlib decompresses where needed. It always ends with a newline and never has a zero byte: the
  parser relies on both.
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
  The value of an entry: one number, or two in a complex file. By itself the parser ignores what follows a value on its
  line and would take 1.5D+03 for 1.5; here that is an error. The text ends with a zero byte, so looking ahead is safe.
*/
template <int n>
struct Value {
  double part[n];
};

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

/* The entries in the order of the file */
struct Entries {
  std::vector<PetscInt>    i, j;
  std::vector<PetscScalar> v;
};

/* What the parser calls for each entry, and for its mirror image where the file is symmetric */
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
    entries.i.push_back(static_cast<PetscInt>(i));
    entries.j.push_back(static_cast<PetscInt>(j));
    entries.v.push_back(ToScalar(value));
  }

  Collector get_chunk_handler(int64_t) { return *this; } /* the parser's interface; for threads, which are not used */

private:
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

/* A matrix by rows: row r has the entries start[r] to start[r + 1] of j and v */
struct Rows {
  PetscInt                 M = 0, N = 0;
  std::vector<PetscCount>  start;
  std::vector<PetscInt>    j;
  std::vector<PetscScalar> v;
};

void SortByRow(const Entries &entries, Rows &rows)
{
  const size_t nnz = entries.i.size();

  rows.start.assign(static_cast<size_t>(rows.M) + 1, 0);
  for (PetscInt i : entries.i) rows.start[i + 1]++;
  for (PetscInt i = 0; i < rows.M; i++) rows.start[i + 1] += rows.start[i];

  std::vector<PetscCount> next(rows.start.begin(), rows.start.end() - 1);
  rows.j.resize(nnz);
  rows.v.resize(nnz);
  for (size_t k = 0; k < nnz; k++) {
    const PetscCount to = next[entries.i[k]]++;

    rows.j[to] = entries.j[k];
    rows.v[to] = entries.v[k];
  }
}

Rows ReadFile(const char file[])
{
  TextFile                  buffer(file);
  std::istream              text(&buffer);
  fmm::matrix_market_header header;
  Entries                   entries;
  Rows                      rows;

  text.exceptions(std::ios::badbit); /* so that a failure in TextFile arrives here as it is */
  try {
    fmm::read_header(text, header);
  } catch (const fmm::invalid_mm &error) {
    const std::string why = error.what();

    /* where the parser gives no line it means the one with the sizes */
    throw Failure(PETSC_ERR_FILE_UNEXPECTED, why.compare(0, 5, "Line ") ? "The line with the sizes: " + why : why);
  }
  if (header.object != fmm::matrix) throw Failure(PETSC_ERR_SUP, "It holds a vector, not a matrix");
  if (header.field == fmm::complex && !PetscDefined(USE_COMPLEX)) throw Failure(PETSC_ERR_SUP, "Its values are complex, and this PETSc is built for real numbers");
  if (std::max(header.nrows, header.ncols) > PETSC_INT_MAX) throw Failure(PETSC_ERR_SUP, "Its size of " + std::to_string(header.nrows) + " x " + std::to_string(header.ncols) + " needs a PETSc built for 64-bit indices");
  if (header.symmetry != fmm::general && header.nrows != header.ncols) throw fmm::invalid_mm("A " + fmm::symmetry_map.at(header.symmetry) + " matrix must be square", header.header_line_count);

  /* The header may lie: do not take all of the memory on its word alone */
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

  /* Of a dense symmetric matrix half of the values are in the file; the parser does not count them */
  if (header.format == fmm::array) {
    const int64_t absent = header.symmetry == fmm::skew_symmetric ? header.nrows : 0;

    if (static_cast<int64_t>(entries.i.size()) < header.nnz - absent) throw Failure(PETSC_ERR_FILE_UNEXPECTED, "Truncated file: values are missing");
  }
  rows.M = static_cast<PetscInt>(header.nrows);
  rows.N = static_cast<PetscInt>(header.ncols);
  SortByRow(entries, rows);
  return rows;
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
  complex; general, symmetric, skew-symmetric and hermitian, of which the missing half is filled in. Values of entries that
  come more than once are added. Zeros in the file become stored entries, also those of an array file.

  A file that does not open is `PETSC_ERR_FILE_OPEN`; one that is truncated or malformed `PETSC_ERR_FILE_UNEXPECTED`, with
  the reason and where known the line; a complex file in a real build `PETSC_ERR_SUP`.
*/
PetscErrorCode MatLoadMatrixMarket(Mat A, const char file[])
{
  MPI_Comm           comm;
  PetscMPIInt        rank, size, tag;
  Rows               rows;
  PetscInt           head[3] = {PETSC_SUCCESS, 0, 0}; /* error code, rows, columns */
  char               why[512];
  PetscLayout        rmap;
  const PetscInt    *range, *j;
  const PetscScalar *v;
  PetscInt           m, *i, *recvj = NULL;
  PetscScalar       *recvv     = NULL;
  PetscCount        *recvstart = NULL;
  const PetscCount  *start;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)A, &comm));
  PetscCall(PetscObjectGetNewTag((PetscObject)A, &tag));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (rank == 0) {
    std::string reason;

    try {
      rows    = ReadFile(file);
      head[1] = rows.M;
      head[2] = rows.N;
    } catch (const Failure &failure) {
      head[0] = failure.code;
      reason  = failure.what();
    } catch (const std::bad_alloc &) {
      head[0] = PETSC_ERR_MEM;
      reason  = "Out of memory";
    } catch (const std::exception &malformed) {
      head[0] = PETSC_ERR_FILE_UNEXPECTED;
      reason  = malformed.what();
    }
    PetscCall(PetscStrncpy(why, reason.c_str(), sizeof(why)));
  }
  PetscCallMPI(MPI_Bcast(head, 3, MPIU_INT, 0, comm));
  if (head[0]) {
    PetscCallMPI(MPI_Bcast(why, sizeof(why), MPI_CHAR, 0, comm));
    SETERRQ(comm, static_cast<PetscErrorCode>(head[0]), "Cannot read Matrix Market file %s: %s", file, why);
  }

  PetscCall(MatFillSizes(A, head[1], head[2]));
  PetscCall(MatGetLayouts(A, &rmap, NULL));
  PetscCall(PetscLayoutGetRanges(rmap, &range));
  m = range[rank + 1] - range[rank];
  if (rank == 0) {
    for (PetscMPIInt to = 1; to < size; to++) {
      const PetscCount begin = rows.start[range[to]], end = rows.start[range[to + 1]];

      PetscCallMPI(MPIU_Send(&rows.start[range[to]], range[to + 1] - range[to] + 1, MPIU_COUNT, to, tag, comm));
      PetscCallMPI(MPIU_Send(rows.j.data() + begin, end - begin, MPIU_INT, to, tag, comm));
      PetscCallMPI(MPIU_Send(rows.v.data() + begin, end - begin, MPIU_SCALAR, to, tag, comm));
    }
    start = rows.start.data();
    j     = rows.j.data();
    v     = rows.v.data();
  } else {
    PetscCall(PetscMalloc1(m + 1, &recvstart));
    PetscCallMPI(MPIU_Recv(recvstart, m + 1, MPIU_COUNT, 0, tag, comm, MPI_STATUS_IGNORE));
    PetscCall(PetscMalloc2(recvstart[m] - recvstart[0], &recvj, recvstart[m] - recvstart[0], &recvv));
    PetscCallMPI(MPIU_Recv(recvj, recvstart[m] - recvstart[0], MPIU_INT, 0, tag, comm, MPI_STATUS_IGNORE));
    PetscCallMPI(MPIU_Recv(recvv, recvstart[m] - recvstart[0], MPIU_SCALAR, 0, tag, comm, MPI_STATUS_IGNORE));
    start = recvstart;
    j     = recvj;
    v     = recvv;
  }
  PetscCall(PetscMalloc1(m + 1, &i));
  for (PetscInt r = 0; r <= m; r++) PetscCall(PetscIntCast(start[r] - start[0], &i[r]));
  PetscCall(MatFillRows(A, i, j, v));
  PetscCall(PetscFree(i));
  PetscCall(PetscFree(recvstart));
  PetscCall(PetscFree2(recvj, recvv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatLoadFile - Reads a matrix from a file of the kind its name tells

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
  else {
    PetscViewer viewer;

    PetscCall(PetscViewerBinaryOpen(PetscObjectComm((PetscObject)A), file, FILE_MODE_READ, &viewer));
    PetscCall(MatLoad(A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
