// SPDX-License-Identifier: MIT
// Shared by the kernels: assignment of work to threads, reductions over a warp or a block, dropout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "launch.cuh"
#include "lexformer/core/bfloat16.hpp"
#include "lexformer/kernels/dropout_mask.hpp"

namespace lexformer::cuda {

/// A loop over n elements: for (i = first_element(); i < n; i += element_step()).
__device__ inline std::size_t first_element() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::size_t element_step() { return std::size_t{gridDim.x} * blockDim.x; }

/// A loop over rows: the threads with the same threadIdx.y process one row.
__device__ inline std::size_t first_row() { return std::size_t{blockIdx.x} * blockDim.y + threadIdx.y; }
__device__ inline std::size_t row_step() { return std::size_t{gridDim.x} * blockDim.y; }

/// The launch configuration of such a kernel for rows of n elements, if the threads of a row do not communicate.
struct RowLaunch {
  dim3 grid, block;
  RowLaunch(std::size_t rows, std::size_t n) {
    unsigned x = 32;
    while (x < n && x < block_threads) x *= 2;
    block = dim3(x, block_threads / x);
    grid = dim3(n == 0 ? 0 : blocks_for(rows, block.y));
  }
};

inline constexpr unsigned all_lanes = 0xFFFFFFFFu;

/// The team of threads that processes a row: a warp (a block has several, each with its own row) ...
struct Warp {
  static constexpr unsigned threads = 32, rows = 4;
  /// Sum over the team; all threads get the result.
  template <class A>
  static __device__ A sum(A value) {
    for (int bits = 16; bits > 0; bits /= 2) value += __shfl_xor_sync(all_lanes, value, bits);
    return value;
  }
  /// Maximum over the team; all threads get the result. May ignore NaN.
  template <class A>
  static __device__ A max(A value) {
    for (int bits = 16; bits > 0; bits /= 2) {
      const A other = __shfl_xor_sync(all_lanes, value, bits);
      value = value > other ? value : other;
    }
    return value;
  }
};
/// ... or a whole block.
struct Block {
  static constexpr unsigned threads = block_threads, rows = 1;
  template <class A>
  static __device__ A sum(A value) {
    constexpr unsigned warps = threads / 32;
    __shared__ A partial[warps];
    value = Warp::sum(value);
    __syncthreads();  // all threads have read the partial results of the last call
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    A total = partial[0];
    for (unsigned w = 1; w < warps; ++w) total += partial[w];
    return total;
  }
  template <class A>
  static __device__ A max(A value) {
    constexpr unsigned warps = threads / 32;
    __shared__ A partial[warps];
    value = Warp::max(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    A best = partial[0];
    for (unsigned w = 1; w < warps; ++w) best = best > partial[w] ? best : partial[w];
    return best;
  }
};

/// Whether this block is the last of `blocks` blocks that call it with the same counter. Then it sees what they stored before, if it reads
/// with __ldcg (not from the L1 cache). The counter is 0 before and after the kernel. Called by all threads of a block.
__device__ inline bool last_block(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    last = atomicAdd(counter, 1u) == blocks - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

/// Maximum of n elements; all threads of the team get the result.
template <class Team, class T>
__device__ accumulate_t<T> row_max(std::size_t n, const T* x) {
  auto top = -std::numeric_limits<accumulate_t<T>>::infinity();
  for (std::size_t j = threadIdx.x; j < n; j += Team::threads) top = top > x[j] ? top : static_cast<accumulate_t<T>>(x[j]);
  return Team::max(top);
}

/// Launches the kernel with warps for short rows, and the one with blocks for long rows.
template <class... Parameters, class... Arguments>
void launch_teams(std::size_t rows, std::size_t n, const NamedKernel<Parameters...>& by_warp, const NamedKernel<Parameters...>& by_block,
                  const Arguments&... arguments) {
  if (n <= 1024)
    launch(by_warp, dim3(blocks_for(rows, Warp::rows)), dim3(Warp::threads, Warp::rows), 0, arguments...);
  else
    launch(by_block, dim3(blocks_for(rows, Block::rows)), dim3(Block::threads, Block::rows), 0, arguments...);
}
#define LEXFORMER_LAUNCH_TEAMS(kernel, T, rows, n, ...) \
  launch_teams(rows, n, LEXFORMER_KERNEL(kernel<Warp, T>), LEXFORMER_KERNEL(kernel<Block, T>), __VA_ARGS__)

/// DropoutMask for kernels: the same values as its fill().
template <class T>
struct Dropout {
  RandomKey key;
  std::uint32_t limit;
  T keep;
  bool active;

  explicit Dropout(const DropoutMask& mask)
      : key(mask.key), limit(mask.threshold()), keep(T{1} / (T{1} - static_cast<T>(limit) / T{65536})), active(mask.active()) {}

  /// The mask of an element: 0 or 1 / (1 - p).
  __device__ T operator()(std::uint64_t element) const { return decide(key.bits16(element)); }
  __device__ T decide(std::uint32_t bits16) const { return bits16 >= limit ? keep : T{0}; }
};

}  // namespace lexformer::cuda
