#pragma once

/*
  Scalars in kernels. A scalar is a real number, or any complex type that holds two reals side by side and has real(),
  imag() and value_type: PetscScalar of every PETSc build qualifies. Nothing here needs PETSc.
*/
#include <cuda_runtime.h>
#include <type_traits>

/* The real type behind a scalar, and how many of them it holds */
template <class Scalar, class = void>
struct CSRCScalarTraits {
  using Real                 = Scalar;
  static constexpr int parts = 1;
};

template <class Scalar>
struct CSRCScalarTraits<Scalar, std::void_t<typename Scalar::value_type>> {
  using Real                 = typename Scalar::value_type;
  static constexpr int parts = 2;
};

template <class Scalar>
using CSRCReal = typename CSRCScalarTraits<Scalar>::Real;

template <class Scalar>
inline constexpr int CSRCParts = CSRCScalarTraits<Scalar>::parts;

/* One part of a scalar: 0 real, 1 imaginary */
template <class Scalar>
__device__ __forceinline__ CSRCReal<Scalar> CSRCGetPart(const Scalar &s, int part)
{
  if constexpr (CSRCParts<Scalar> == 1) return s;
  else return part ? s.imag() : s.real();
}

/* A scalar from parts stored stride apart */
template <class Scalar>
__device__ __forceinline__ Scalar CSRCFromParts(const CSRCReal<Scalar> *parts, int stride)
{
  if constexpr (CSRCParts<Scalar> == 1) return parts[0];
  else return Scalar(parts[0], parts[stride]);
}

/* a b, or conj(a) b. The complex product is the plain formula, without special treatment of infinities and NaN. */
template <bool conjugate, class Scalar>
__device__ __forceinline__ Scalar CSRCProduct(const Scalar &a, const Scalar &b)
{
  if constexpr (CSRCParts<Scalar> == 1) return a * b;
  else {
    const CSRCReal<Scalar> re = a.real(), im = conjugate ? -a.imag() : a.imag();

    return Scalar(re * b.real() - im * b.imag(), re * b.imag() + im * b.real());
  }
}

/*
  *address += s in global memory; the parts of a complex number are added one by one, each of them atomically. This uses the
  instruction that returns nothing. Where the compiler does not see that the old value is unused, it would generate the
  instruction that returns it, which takes 1.5 times as long.
*/
__device__ __forceinline__ void CSRCReduce(double *address, double s)
{
  asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "d"(s));
}
__device__ __forceinline__ void CSRCReduce(float *address, float s)
{
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "f"(s));
}
template <class Scalar>
__device__ __forceinline__ void CSRCAtomicAdd(Scalar *address, const Scalar &s)
{
  CSRCReal<Scalar> *parts = reinterpret_cast<CSRCReal<Scalar> *>(address);

#pragma unroll
  for (int part = 0; part < CSRCParts<Scalar>; part++) CSRCReduce(parts + part, CSRCGetPart(s, part));
}

/* Applies `of` to each part of a scalar and makes a scalar of the results */
template <class Scalar, class Of>
__device__ __forceinline__ Scalar CSRCByParts(const Scalar &s, const Of &of)
{
  CSRCReal<Scalar> parts[CSRCParts<Scalar>];

#pragma unroll
  for (int part = 0; part < CSRCParts<Scalar>; part++) parts[part] = of(CSRCGetPart(s, part));
  return CSRCFromParts<Scalar>(parts, 1);
}

/* The scalar of a given lane, or of the lane `distance` above or below this one; called by all lanes of a warp */
template <class Scalar>
__device__ __forceinline__ Scalar CSRCShuffle(const Scalar &s, int lane)
{
  return CSRCByParts(s, [&](CSRCReal<Scalar> part) { return __shfl_sync(0xffffffffu, part, lane); });
}
template <class Scalar>
__device__ __forceinline__ Scalar CSRCShuffleDown(const Scalar &s, int distance)
{
  return CSRCByParts(s, [&](CSRCReal<Scalar> part) { return __shfl_down_sync(0xffffffffu, part, distance); });
}
template <class Scalar>
__device__ __forceinline__ Scalar CSRCShuffleUp(const Scalar &s, int distance)
{
  return CSRCByParts(s, [&](CSRCReal<Scalar> part) { return __shfl_up_sync(0xffffffffu, part, distance); });
}
