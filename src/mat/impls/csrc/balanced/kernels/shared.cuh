#pragma once

/*
  The dynamic shared memory of the kernels. That of each kernel is a struct of pointers to arrays, one after another, some of whose lengths are
  known at run time only. Its constructor sets them from the beginning of the memory and these lengths; the last member is where it ends. The
  size that a kernel is launched with follows from the same constructor, so that the two cannot differ. Of arrays that each warp has one of, the
  pointers are to those of the given warp.
*/
#include "mat/impls/csrc/balanced/balanced.cuh"

/* The size of a struct below in bytes; arguments are those of its constructor after the memory */
template <class Shared, class... Arguments>
static size_t CSRCSharedBytes(const Arguments &...arguments)
{
  unsigned char *const somewhere = reinterpret_cast<unsigned char *>(1024); /* an address that is never used */

  return (size_t)(Shared(somewhere, arguments...).end - somewhere);
}

/* Number of entries of the table of values */
__host__ __device__ __forceinline__ constexpr int CSRCTableEntries(CSRCValues values)
{
  return values == CSRC_VALUES_TABLE ? 256 : 0;
}

/* A x */
template <class Scalar>
struct CSRCMultShared {
  Scalar        *sums; /* accumulators of each warp group */
  Scalar        *table;
  unsigned char *end;

  __host__ __device__ __forceinline__ CSRCMultShared(unsigned char *memory, const CSRCBalancedMatrix<Scalar> &A, CSRCValues values, int groups)
  {
    sums  = reinterpret_cast<Scalar *>(memory);
    table = sums + groups * A.accumulators;
    end   = reinterpret_cast<unsigned char *>(table + CSRCTableEntries(values));
  }
};

/* A^T u, where Entry is a scalar, and A^T U of interleaved nonzeros, where it is a packed row */
template <class Scalar, class Entry = Scalar>
struct CSRCTransposeShared {
  Entry         *u;    /* entries of u that belong to the row block, and zeros for padding */
  Entry         *sums; /* those of a chunk, of the warp */
  Scalar        *table;
  int           *columns; /* of these sums */
  unsigned char *end;

  __host__ __device__ __forceinline__ CSRCTransposeShared(unsigned char *memory, const CSRCBalancedMatrix<Scalar> &A, CSRCValues values, int warps, int warp = 0)
  {
    u                  = reinterpret_cast<Entry *>(memory);
    Entry *const lists = u + A.accumulators;
    sums               = lists + warp * CSRC_LIST;
    table              = reinterpret_cast<Scalar *>(lists + warps * CSRC_LIST);
    columns            = reinterpret_cast<int *>(table + CSRCTableEntries(values)) + warp * CSRC_LIST;
    end                = reinterpret_cast<unsigned char *>(columns + (warps - warp) * CSRC_LIST);
  }
};

/* A X, and A^T U of wide panels */
template <class Scalar, class Row>
struct CSRCDenseShared {
  typename Row::Unit *rows; /* accumulators, or the row block's part of U; one row for all padding */
  Scalar             *table;
  unsigned char      *end;

  __host__ __device__ __forceinline__ CSRCDenseShared(unsigned char *memory, const CSRCBalancedMatrix<Scalar> &A, CSRCValues values)
  {
    rows  = reinterpret_cast<typename Row::Unit *>(memory);
    table = reinterpret_cast<Scalar *>(rows + (size_t)(A.accumulators - A.tilethreads + 1) * Row::units);
    end   = reinterpret_cast<unsigned char *>(table + CSRCTableEntries(values));
  }
};

/* A^T U of narrow panels */
template <class Scalar, class Row>
struct CSRCNarrowShared {
  static constexpr int LIST = CSRC_NARROW_LIST, ROOM = LIST + 32; /* room for sums of a warp: a list, and one sum for each lane, which belongs to a run of an earlier lane */

  typename Row::Unit *rows; /* the row block's part of U; one row for all padding */
  typename Row::Unit *sums; /* ROOM, of the warp */
  Scalar             *table;
  int                *columns; /* of these sums */
  unsigned char      *end;

  __host__ __device__ __forceinline__ CSRCNarrowShared(unsigned char *memory, const CSRCBalancedMatrix<Scalar> &A, CSRCValues values, int warps, int warp = 0)
  {
    rows                            = reinterpret_cast<typename Row::Unit *>(memory);
    typename Row::Unit *const lists = rows + (size_t)(A.accumulators - A.tilethreads + 1) * Row::units;
    sums                            = lists + warp * ROOM * Row::units;
    table                           = reinterpret_cast<Scalar *>(lists + warps * ROOM * Row::units);
    columns                         = reinterpret_cast<int *>(table + CSRCTableEntries(values)) + warp * ROOM;
    end                             = reinterpret_cast<unsigned char *>(columns + (warps - warp) * ROOM);
  }
};
