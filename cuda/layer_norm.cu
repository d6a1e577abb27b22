// SPDX-License-Identifier: MIT
// Layer normalization with residual and dropout. A row belongs to a warp or a block (device.cuh).
#include <cmath>

#include "device.cuh"
#include "instances.hpp"
#include "lexformer/kernels/cuda.hpp"

namespace lexformer {
namespace cuda {
namespace {

template <class Team, class T>
__global__ void layer_norm_kernel(std::size_t rows, std::size_t n, accumulate_t<T> eps, Dropout<accumulate_t<T>> dropout,
                                  Dropout<accumulate_t<T>> output_dropout, const T* x, const T* residual, const T* gamma, const T* beta,
                                  T* xhat, accumulate_t<T>* rstd, T* y) {
  using A = accumulate_t<T>;
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    T* h = xhat + r * n;
    A sum{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      A z = x[r * n + j];
      if (dropout.active) z *= dropout(r * n + j);
      if (residual != nullptr) z += residual[r * n + j];
      h[j] = static_cast<T>(z);
      sum += static_cast<A>(h[j]);
    }
    const A mean = Team::sum(sum) / static_cast<A>(n);
    A squares{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) squares += (h[j] - mean) * (h[j] - mean);
    const A inverse = A{1} / std::sqrt(Team::sum(squares) / static_cast<A>(n) + eps);
    if (threadIdx.x == 0) rstd[r] = inverse;
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      const A normed = (h[j] - mean) * inverse;
      h[j] = static_cast<T>(normed);
      const T value = static_cast<T>(normed * gamma[j] + beta[j]);
      y[r * n + j] = output_dropout.active ? static_cast<T>(output_dropout(r * n + j) * value) : value;
    }
  }
}

// Backward in one launch. A block takes a chunk of rows. It first sums dy xhat and dy over them for each column, and then computes dz and
// dx, while the rows are in the caches. Blocks form groups: the last block of a group adds the sums of the group, and the last of these
// blocks those of the groups. (One block would take longer to add all of them than the rest of the work takes.) The order is fixed.

inline constexpr unsigned group = 32;             // blocks
inline constexpr std::size_t most_blocks = 1024;  // = group * group
inline constexpr std::size_t least_rows = 8;      // of a block

/// For each block 2 n sums: those of dgamma and of dbeta.
template <class A>
struct GradientSums {
  A* of_block;
  unsigned* finished;  // counters: of the groups, and of each group

  /// Stores in block `begin` the sums of the blocks begin, begin + step, ... up to `end`.
  __device__ void add(unsigned begin, unsigned end, unsigned step, std::size_t n) const {
    for (std::size_t j = threadIdx.y * blockDim.x + threadIdx.x; j < 2 * n; j += block_threads) {
      A total{};
      for (unsigned b = begin; b < end; b += step) total += __ldcg(of_block + b * 2 * n + j);
      of_block[begin * 2 * n + j] = total;
    }
  }
  /// Whether this block has all sums, at of_block: each of them in the thread that add() gives it to.
  __device__ bool finish(std::size_t n) const {
    const unsigned first = blockIdx.x / group * group, end = first + group < gridDim.x ? first + group : gridDim.x;
    if (!last_block(finished + 1 + blockIdx.x / group, end - first)) return false;
    add(first, end, 1, n);
    if (!last_block(finished, (gridDim.x + group - 1) / group)) return false;
    add(0, gridDim.x, group, n);
    return true;
  }
};

template <class Team, class T>
__global__ void layer_norm_grad_kernel(std::size_t rows, std::size_t n, std::size_t chunk, Dropout<accumulate_t<T>> dropout,
                                       Dropout<accumulate_t<T>> output_dropout, const T* dy, const T* gamma, const T* xhat,
                                       const accumulate_t<T>* rstd, T* dz, T* dx, GradientSums<accumulate_t<T>> sums, T* dgamma, T* dbeta) {
  using A = accumulate_t<T>;
  const std::size_t begin = blockIdx.x * chunk, end = begin + chunk < rows ? begin + chunk : rows;
  const auto gradient = [&](std::size_t i) {
    return static_cast<A>(output_dropout.active ? static_cast<T>(output_dropout(i) * dy[i]) : dy[i]);
  };
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  A* const of_block = sums.of_block + blockIdx.x * 2 * n;
  for (std::size_t j = thread; j < n; j += block_threads) {
    A dg{}, db{};
    for (std::size_t r = begin; r < end; ++r) {
      const A g = gradient(r * n + j);
      dg += g * xhat[r * n + j];
      db += g;
    }
    of_block[j] = dg;
    of_block[n + j] = db;
  }
  for (std::size_t r = begin + threadIdx.y; r < end; r += blockDim.y) {
    const T* const h = xhat + r * n;
    A sum{}, dot{};
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      const A scaled = gradient(r * n + j) * gamma[j];
      sum += scaled;
      dot += scaled * h[j];
    }
    sum = Team::sum(sum) / static_cast<A>(n);
    dot = Team::sum(dot) / static_cast<A>(n);
    for (std::size_t j = threadIdx.x; j < n; j += Team::threads) {
      const T d = static_cast<T>(rstd[r] * (gradient(r * n + j) * gamma[j] - sum - h[j] * dot));
      dz[r * n + j] = d;
      if (dropout.active) dx[r * n + j] = static_cast<T>(dropout(r * n + j) * d);
    }
  }
  if (!sums.finish(n)) return;
  for (std::size_t j = thread; j < 2 * n; j += block_threads) (j < n ? dgamma : dbeta - n)[j] = static_cast<T>(sums.of_block[j]);
}

}  // namespace
}  // namespace cuda

template <class T>
void RowKernels<Cuda>::layer_norm(std::size_t rows, std::size_t n, accumulate_t<T> eps, const DropoutMask& mask,
                                  const DropoutMask& output_mask, const T* x, const T* residual, const T* gamma, const T* beta, T* xhat,
                                  accumulate_t<T>* rstd, T* y) {
  using namespace cuda;
  using Mask = Dropout<accumulate_t<T>>;
  LEXFORMER_LAUNCH_TEAMS(layer_norm_kernel, T, rows, n, rows, n, eps, Mask(mask), Mask(output_mask), x, residual, gamma, beta, xhat, rstd,
                         y);
}
template <class T>
void RowKernels<Cuda>::layer_norm_grad(std::size_t rows, std::size_t n, const DropoutMask& mask, const DropoutMask& output_mask,
                                       const T* dy, const T* gamma, const T* xhat, const accumulate_t<T>* rstd, T* dz, T* dx, T* dgamma,
                                       T* dbeta) {
  using namespace cuda;
  using A = accumulate_t<T>;
  const std::size_t chunk = std::max(least_rows, (rows + most_blocks - 1) / most_blocks);
  const std::size_t blocks = std::max<std::size_t>((rows + chunk - 1) / chunk, 1);
  const Temporary<A> of_block(blocks * 2 * n);
  const GradientSums<A> sums{of_block.data(), finished_counters(1 + group)};
  const bool warps = n <= 1024;
  launch(warps ? LEXFORMER_KERNEL(layer_norm_grad_kernel<Warp, T>) : LEXFORMER_KERNEL(layer_norm_grad_kernel<Block, T>),
         dim3(static_cast<unsigned>(blocks)), warps ? dim3(Warp::threads, block_threads / Warp::threads) : dim3(Block::threads), 0, rows, n,
         chunk, Dropout<A>(mask), Dropout<A>(output_mask), dy, gamma, xhat, rstd, dz, dx, sums, dgamma, dbeta);
}

LEXFORMER_LAYER_NORM_INSTANCES(float)
LEXFORMER_LAYER_NORM_INSTANCES(double)
LEXFORMER_LAYER_NORM_INSTANCES(bfloat16)

}  // namespace lexformer
