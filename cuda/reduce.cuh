// SPDX-License-Identifier: MIT
// The sum of values(0) .. values(n - 1) in two stages. The order depends only on n, so that every GPU gives the same bits.
#pragma once

#include "device.cuh"

namespace lexformer::cuda {

inline constexpr std::size_t most_partials = 1024;

/// partial[b] = the sum of `chunk` values of block b.
template <class A, class Values>
__global__ void partial_sum_kernel(std::size_t n, std::size_t chunk, Values values, A* partial) {
  const std::size_t begin = blockIdx.x * chunk, end = begin + chunk < n ? begin + chunk : n;
  A total{};
  for (std::size_t i = begin + threadIdx.x; i < end; i += Block::threads) total += values(i);
  total = Block::sum(total);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

/// out[0] = result(sum of the partial sums); one block.
template <class A, class Result, class To>
__global__ void finish_sum_kernel(std::size_t partials, const A* partial, Result result, To* out) {
  A total{};
  for (std::size_t i = threadIdx.x; i < partials; i += Block::threads) total += partial[i];
  total = Block::sum(total);
  if (threadIdx.x == 0) *out = static_cast<To>(result(total));
}

/// The result of sum_values from the sum.
template <class A>
struct Quotient {
  A divisor;
  __device__ A operator()(A total) const { return total / divisor; }
};

/// The elements of an array, as input of sum_values.
template <class A, class T>
struct Plain {
  const T* x;
  __device__ A operator()(std::size_t i) const { return static_cast<A>(x[i]); }
};

/// out[0] = (values(0) + ... + values(n - 1)) / divisor, summed in type A.
template <class A, class Values, class To>
void sum_values(std::size_t n, const Values& values, A divisor, To* out) {
  const std::size_t chunk = std::max<std::size_t>(4096, (n + most_partials - 1) / most_partials), partials = (n + chunk - 1) / chunk;
  const Temporary<A> partial(partials);
  launch(LEXFORMER_KERNEL(partial_sum_kernel<A, Values>), dim3(static_cast<unsigned>(partials)), dim3(Block::threads), 0, n, chunk, values,
         partial.data());
  launch(LEXFORMER_KERNEL((finish_sum_kernel<A, Quotient<A>, To>)), dim3(1), dim3(Block::threads), 0, partials, partial.data(),
         Quotient<A>{divisor}, out);
}

}  // namespace lexformer::cuda
