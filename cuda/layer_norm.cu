// SPDX-License-Identifier: MIT
// Layer normalization with residual and dropout. These kernels are for rows of any length, which belong to a warp or a block (device.cuh);
// layer_norm_packs.cuh has those for the usual lengths.
#include "layer_norm_packs.cuh"

#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/instances.hpp"

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

/// First sums dy xhat and dy over the rows of the chunk for each column, and then computes dz and dx, while the rows are in the caches.
template <class Team, class T>
__global__ void layer_norm_grad_kernel(std::size_t rows, std::size_t n, std::size_t chunk, Dropout<accumulate_t<T>> dropout,
                                       Dropout<accumulate_t<T>> output_dropout, const T* dy, const T* gamma, const T* xhat,
                                       const accumulate_t<T>* rstd, T* dz, T* dx, LayerNormSums<accumulate_t<T>> sums, T* dgamma,
                                       T* dbeta) {
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
  sums.finish(n, dgamma, dbeta);
}

}  // namespace
}  // namespace cuda

template <>
template <class T>
void RowKernels<Cuda>::layer_norm(std::size_t rows, std::size_t n, accumulate_t<T> eps, const DropoutMask& mask,
                                  const DropoutMask& output_mask, const T* x, const T* residual, const T* gamma, const T* beta, T* xhat,
                                  accumulate_t<T>* rstd, T* y) {
  using namespace cuda;
  using Mask = Dropout<accumulate_t<T>>;
  const auto launch_packs = [&](auto packs) {
    launch(LEXFORMER_KERNEL((layer_norm_packs_kernel<T, packs.value>)), dim3(blocks_for(rows, Warp::rows)), dim3(Warp::threads, Warp::rows),
           0, rows, static_cast<unsigned>(n), eps, Mask(mask), Mask(output_mask), x, residual, gamma, beta, xhat, rstd, y);
  };
  if (!with_packs<T>(n, launch_packs, x, residual, gamma, beta, xhat, y))
    LEXFORMER_LAUNCH_TEAMS(layer_norm_kernel, T, rows, n, rows, n, eps, Mask(mask), Mask(output_mask), x, residual, gamma, beta, xhat, rstd,
                           y);
}
template <>
template <class T>
void RowKernels<Cuda>::layer_norm_grad(std::size_t rows, std::size_t n, const DropoutMask& mask, const DropoutMask& output_mask,
                                       const T* dy, const T* gamma, const T* xhat, const accumulate_t<T>* rstd, T* dz, T* dx, T* dgamma,
                                       T* dbeta) {
  using namespace cuda;
  using A = accumulate_t<T>;
  const Dropout<A> dropout(mask), output_dropout(output_mask);
  const std::size_t chunk = LayerNormSums<A>::rows_of_block(rows), blocks = std::max<std::size_t>((rows + chunk - 1) / chunk, 1);
  const Temporary<A> of_block(blocks * 2 * n);
  const LayerNormSums<A> sums{of_block.data(), finished_counters(1 + sums_group)};
  const auto grid = dim3(static_cast<unsigned>(blocks)), warps = dim3(Warp::threads, block_threads / Warp::threads);
  const auto launch_packs = [&](auto packs) {
    launch(LEXFORMER_KERNEL((layer_norm_grad_packs_kernel<T, packs.value>)), grid, warps, 0, rows, static_cast<unsigned>(n), chunk, dropout,
           output_dropout, dy, gamma, xhat, rstd, dz, dx, sums, dgamma, dbeta);
  };
  if (with_packs<T>(n, launch_packs, dy, gamma, xhat, dz, dx)) return;
  const bool by_warp = n <= 1024;
  launch(by_warp ? LEXFORMER_KERNEL(layer_norm_grad_kernel<Warp, T>) : LEXFORMER_KERNEL(layer_norm_grad_kernel<Block, T>), grid,
         by_warp ? warps : dim3(Block::threads), 0, rows, n, chunk, dropout, output_dropout, dy, gamma, xhat, rstd, dz, dx, sums, dgamma,
         dbeta);
}

LEXFORMER_LAYER_NORM_INSTANCES(, Cuda, float)
LEXFORMER_LAYER_NORM_INSTANCES(, Cuda, double)
LEXFORMER_LAYER_NORM_INSTANCES(, Cuda, bfloat16)

}  // namespace lexformer
