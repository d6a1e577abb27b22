// SPDX-License-Identifier: MIT
// Elementwise kernels and sums of all elements.
#include "elementwise.cuh"

#include "lexformer/kernels/instances.hpp"
#include "reduce.cuh"

namespace lexformer {
namespace cuda {
namespace {

template <class A>
struct Affine {
  A scale, offset;
  __device__ A operator()(A x) const { return scale * x + offset; }
};
template <class A>
struct ScaleBy {
  const A* factor;
  __device__ A operator()(A x) const { return *factor * x; }
};

template <class T, class A>
__global__ void fill_quotient_kernel(std::size_t n, const A* value, A divisor, T* y) {
  const T quotient = static_cast<T>(*value / divisor);
  for (std::size_t i = first_element(); i < n; i += element_step()) y[i] = quotient;
}

template <class T, class To>
__global__ void cast_kernel(std::size_t n, const T* x, To* y) {
  for (std::size_t i = first_element(); i < n; i += element_step()) y[i] = static_cast<To>(static_cast<accumulate_t<T>>(x[i]));
}

template <class T>
__global__ void gelu_with_grad_kernel(std::size_t n, std::size_t packs, T* x_to_y, T* dy_to_dx) {
  using A = accumulate_t<T>;
  constexpr std::size_t size = Pack<T>::size;
  for (std::size_t i = first_element(); i < packs; i += element_step()) {
    const Pack<T> x = load_pack<size>(x_to_y + i * size), dy = load_pack<size>(dy_to_dx + i * size);
    A y[size], dx[size];
    LEXFORMER_UNROLL
    for (std::size_t k = 0; k < size; ++k) {
      const auto both = scalar::gelu_with_grad(static_cast<A>(dy.at[k]), static_cast<A>(x.at[k]));
      y[k] = both.y;
      dx[k] = both.dx;
    }
    store_pack(rounded<T>(y), x_to_y + i * size);
    store_pack(rounded<T>(dx), dy_to_dx + i * size);
  }
  for (std::size_t i = packs * size + first_element(); i < n; i += element_step()) {
    const auto both = scalar::gelu_with_grad(static_cast<A>(dy_to_dx[i]), static_cast<A>(x_to_y[i]));
    x_to_y[i] = static_cast<T>(both.y);
    dy_to_dx[i] = static_cast<T>(both.dx);
  }
}

/// A pack has the eight elements that share one counter of the generator.
template <class T>
__global__ void dropout_kernel(std::size_t n, std::size_t packs, Dropout<accumulate_t<T>> dropout, const T* x, T* y) {
  for (std::size_t i = first_element() * 8; i < packs * 8; i += element_step() * 8)
    store_pack(dropped(dropout, i, load_pack<8>(x + i)), y + i);
  for (std::size_t i = packs * 8 + first_element(); i < n; i += element_step()) y[i] = static_cast<T>(dropout(i) * x[i]);
}

/// found[0] = 1 if an element is not finite. All threads that write it write the same value.
template <class T>
__global__ void not_finite_kernel(std::size_t n, const T* x, std::int32_t* found) {
  for (std::size_t i = first_element(); i < n; i += element_step())
    if (!(x[i] - x[i] == 0)) *found = 1;
}

/// The general case of sum_to: the axes that are kept (the axes of the result, in order) and summed, with their strides in x.
struct SumTo {
  std::size_t kept = 0, summed = 0;
  std::size_t kept_dims[Shape::max_rank] = {}, kept_strides[Shape::max_rank] = {};
  std::size_t summed_dims[Shape::max_rank] = {}, summed_strides[Shape::max_rank] = {};
};

__device__ inline std::size_t offset_of(std::size_t index, std::size_t axes, const std::size_t* dims, const std::size_t* strides) {
  std::size_t offset = 0;
  for (std::size_t axis = axes; axis-- > 0;) {
    offset += index % dims[axis] * strides[axis];
    index /= dims[axis];
  }
  return offset;
}

/// A row is one element of the result; its columns are the summed elements.
template <class Team, class T>
__global__ void sum_to_kernel(std::size_t size, std::size_t count, SumTo plan, const T* x, T* y) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < size; r += row_step()) {
    const T* from = x + offset_of(r, plan.kept, plan.kept_dims, plan.kept_strides);
    A total{};
    for (std::size_t i = threadIdx.x; i < count; i += Team::threads)
      total += static_cast<A>(from[offset_of(i, plan.summed, plan.summed_dims, plan.summed_strides)]);
    total = Team::sum(total);
    if (threadIdx.x == 0) y[r] = static_cast<T>(total);
  }
}

}  // namespace
}  // namespace cuda

template <>
template <class T>
void ElementwiseKernels<Cuda>::sum_to(const Broadcast& plan, std::size_t size, const T* x, T* y) {
  using namespace cuda;
  SumTo to;
  std::size_t stride = plan.last() * plan.rows(), count = 1;
  bool kept_last = true, summed_last = true;  // whether the kept (summed) axes are the last ones
  for (std::size_t axis = 0; axis < plan.rank; ++axis) {
    const std::size_t dim = plan.dims[axis];
    if (dim == 1) continue;
    stride = dim == 0 ? 0 : stride / dim;
    if (plan.stride_b[axis] == 0) {
      kept_last = kept_last && to.kept == 0;
      to.summed_dims[to.summed] = dim;
      to.summed_strides[to.summed++] = stride;
      count *= dim;
    } else {
      summed_last = summed_last && to.summed == 0;
      to.kept_dims[to.kept] = dim;
      to.kept_strides[to.kept++] = stride;
    }
  }
  if (count == 0) return Memory<Cuda>::zero(y, size * sizeof(T));
  if (size == 1) return sum_values(count, Plain<accumulate_t<T>, T>{x}, accumulate_t<T>{1}, y);
  if (kept_last) return RowKernels<Cuda>::column_sum(count, size, x, size, y);
  if (summed_last) return RowKernels<Cuda>::row_sum(size, count, x, y);
  LEXFORMER_LAUNCH_TEAMS(sum_to_kernel, T, size, count, size, count, to, x, y);
}

template <>
template <class T>
void ElementwiseKernels<Cuda>::gelu_with_grad(std::size_t n, T* x_to_y, T* dy_to_dx) {
  using namespace cuda;
  const std::size_t packs = packs_of<T>(n, x_to_y, dy_to_dx), work = packs > 0 ? packs : n;
  launch(LEXFORMER_KERNEL(gelu_with_grad_kernel<T>), dim3(blocks_for(work, block_threads)), dim3(block_threads), 0, n, packs, x_to_y,
         dy_to_dx);
}
template <>
template <class T>
void ElementwiseKernels<Cuda>::affine(std::size_t n, accumulate_t<T> scale, const T* x, accumulate_t<T> offset, T* y) {
  cuda::map_with(cuda::Affine<accumulate_t<T>>{scale, offset}, n, x, y);
}
template <>
template <class T>
void ElementwiseKernels<Cuda>::scale_by(std::size_t n, const accumulate_t<T>* factor, const T* x, T* y) {
  cuda::map_with(cuda::ScaleBy<accumulate_t<T>>{factor}, n, x, y);
}
template <>
template <class T>
void ElementwiseKernels<Cuda>::add_to(std::size_t n, const T* x, T* y) {
  map<scalar::Add>(n, static_cast<const T*>(y), x, y);
}

template <>
template <class T>
void ElementwiseKernels<Cuda>::fill_quotient(std::size_t n, const accumulate_t<T>* value, accumulate_t<T> divisor, T* y) {
  using namespace cuda;
  launch(LEXFORMER_KERNEL(fill_quotient_kernel<T, accumulate_t<T>>), dim3(blocks_for(n, block_threads)), dim3(block_threads), 0, n, value,
         divisor, y);
}

template <>
template <class T, class To>
void ElementwiseKernels<Cuda>::cast(std::size_t n, const T* x, To* y) {
  using namespace cuda;
  launch(LEXFORMER_KERNEL(cast_kernel<T, To>), dim3(blocks_for(n, block_threads)), dim3(block_threads), 0, n, x, y);
}

template <>
template <class T>
void ElementwiseKernels<Cuda>::dropout(std::size_t n, const DropoutMask& mask, const T* x, T* y) {
  using namespace cuda;
  const std::size_t packs = packs_of<T, 8>(n, x, y), work = packs > 0 ? packs : n;
  launch(LEXFORMER_KERNEL(dropout_kernel<T>), dim3(blocks_for(work, block_threads)), dim3(block_threads), 0, n, packs,
         Dropout<accumulate_t<T>>(mask), x, y);
}

template <>
template <class T>
bool ElementwiseKernels<Cuda>::all_finite(std::size_t n, const T* x) {
  using namespace cuda;
  const Temporary<std::int32_t> found(1);
  Memory<Cuda>::zero(found.data(), sizeof(std::int32_t));
  launch(LEXFORMER_KERNEL(not_finite_kernel<T>), dim3(blocks_for(n, block_threads)), dim3(block_threads), 0, n, x, found.data());
  std::int32_t answer = 0;
  Memory<Cuda>::download(&answer, found.data(), sizeof(answer));
  return answer == 0;
}

template <>
template <class T>
void ElementwiseKernels<Cuda>::sum(std::size_t n, const T* x, accumulate_t<T>* out) {
  using A = accumulate_t<T>;
  cuda::sum_values(n, cuda::Plain<A, T>{x}, A{1}, out);
}
template <>
template <class T>
void ElementwiseKernels<Cuda>::mean(std::size_t n, const T* x, accumulate_t<T>* out) {
  using A = accumulate_t<T>;
  cuda::sum_values(n, cuda::Plain<A, T>{x}, static_cast<A>(n), out);
}

LEXFORMER_ELEMENTWISE_INSTANCES(, Cuda, float)
LEXFORMER_ELEMENTWISE_INSTANCES(, Cuda, double)
LEXFORMER_ELEMENTWISE_INSTANCES(, Cuda, bfloat16)
LEXFORMER_CAST_INSTANCES(, Cuda)

}  // namespace lexformer
