// SPDX-License-Identifier: MIT
// The sum of values(0) .. values(n - 1): each block sums a chunk, and the last one adds the sums of the chunks. The order depends only on
// n, so that every GPU gives the same bits.
#pragma once

#include "device.cuh"

namespace lexformer::cuda {

inline constexpr std::size_t most_partials = 1024;

/// Called by all blocks with their sums, which are stored in partial: *out = result(sum of all), by the last block.
template <class A, class Result, class To>
__device__ void finish_sum(A sum_of_block, A* partial, unsigned* finished, const Result& result, To* out) {
  if (threadIdx.x == 0) partial[blockIdx.x] = sum_of_block;
  if (!last_block(finished, gridDim.x)) return;
  A total{};
  for (std::size_t i = threadIdx.x; i < gridDim.x; i += Block::threads) total += __ldcg(partial + i);
  total = Block::sum(total);
  if (threadIdx.x == 0) *out = static_cast<To>(result(total));
}

/// A block sums `chunk` values.
template <class A, class Values, class Result, class To>
__global__ void sum_kernel(std::size_t n, std::size_t chunk, Values values, A* partial, unsigned* finished, Result result, To* out) {
  const std::size_t begin = blockIdx.x * chunk, end = begin + chunk < n ? begin + chunk : n;
  A total{};
  for (std::size_t i = begin + threadIdx.x; i < end; i += Block::threads) total += values(i);
  finish_sum(Block::sum(total), partial, finished, result, out);
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
  const std::size_t chunk = std::max<std::size_t>(4096, (n + most_partials - 1) / most_partials);
  const std::size_t chunks = std::max<std::size_t>((n + chunk - 1) / chunk, 1);
  const Temporary<A> partial(chunks);
  launch(LEXFORMER_KERNEL((sum_kernel<A, Values, Quotient<A>, To>)), dim3(static_cast<unsigned>(chunks)), dim3(Block::threads), 0, n, chunk,
         values, partial.data(), finished_counters(1), Quotient<A>{divisor}, out);
}

}  // namespace lexformer::cuda
