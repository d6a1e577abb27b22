// SPDX-License-Identifier: MIT
// Layer normalization of rows of 8, 16, ... up to 1024 elements (512 in double). A warp keeps its row in registers, in packs of eight
// elements: those share one counter of dropout's generator. Pack p of a lane begins at column (32 p + lane) 8. All loads of a row are
// issued before the first of them is used.
#pragma once

#include <cmath>
#include <type_traits>

#include "packs.cuh"

namespace lexformer::cuda {

template <class T>
using RowPack = Pack<T, 8>;
template <class T>
inline constexpr unsigned most_row_packs = sizeof(T) == 8 ? 2 : 4;

/// Calls body(p, j) for the packs of a lane, which begin at columns j.
template <unsigned packs, class Body>
__device__ void each_pack(unsigned n, const Body& body) {
  LEXFORMER_UNROLL
  for (unsigned p = 0; p < packs; ++p) {
    const unsigned j = (p * Warp::threads + threadIdx.x) * 8;
    if (j < n) body(p, j);
  }
}

template <class T, unsigned packs>
__global__ void layer_norm_packs_kernel(std::size_t rows, unsigned n, accumulate_t<T> eps, Dropout<accumulate_t<T>> dropout,
                                        Dropout<accumulate_t<T>> output_dropout, const T* x, const T* residual, const T* gamma,
                                        const T* beta, T* xhat, accumulate_t<T>* rstd, T* y) {
  using A = accumulate_t<T>;
  RowPack<T> scale[packs] = {}, offset[packs] = {};  // lanes after the end of the row have no packs
  each_pack<packs>(n, [&](unsigned p, unsigned j) {
    scale[p] = load_pack<8>(gamma + j);
    offset[p] = load_pack<8>(beta + j);
  });
  for (std::size_t r = first_row(); r < rows; r += row_step()) {
    const std::size_t row = r * n;
    RowPack<T> h[packs] = {}, added[packs] = {};
    each_pack<packs>(n, [&](unsigned p, unsigned j) {
      h[p] = load_pack<8>(x + row + j);
      if (residual != nullptr) added[p] = load_pack<8>(residual + row + j);
    });
    A sum{};
    each_pack<packs>(n, [&](unsigned p, unsigned j) {
      A values[8];
      LEXFORMER_UNROLL
      for (unsigned k = 0; k < 8; ++k) values[k] = static_cast<A>(h[p].at[k]);
      if (dropout.active) drop(dropout, row + j, values);
      if (residual != nullptr) {
        LEXFORMER_UNROLL
        for (unsigned k = 0; k < 8; ++k) values[k] += static_cast<A>(added[p].at[k]);
      }
      h[p] = rounded<T>(values);
      LEXFORMER_UNROLL
      for (unsigned k = 0; k < 8; ++k) sum += static_cast<A>(h[p].at[k]);
    });
    const A mean = Warp::sum(sum) / static_cast<A>(n);
    A squares{};
    each_pack<packs>(n, [&](unsigned p, unsigned) {
      LEXFORMER_UNROLL
      for (unsigned k = 0; k < 8; ++k) squares += (h[p].at[k] - mean) * (h[p].at[k] - mean);
    });
    const A inverse = A{1} / std::sqrt(Warp::sum(squares) / static_cast<A>(n) + eps);
    if (threadIdx.x == 0) rstd[r] = inverse;
    each_pack<packs>(n, [&](unsigned p, unsigned j) {
      A normed[8], values[8];
      LEXFORMER_UNROLL
      for (unsigned k = 0; k < 8; ++k) {
        normed[k] = (h[p].at[k] - mean) * inverse;
        values[k] = normed[k] * scale[p].at[k] + offset[p].at[k];
      }
      store_pack(rounded<T>(normed), xhat + row + j);
      const RowPack<T> result = rounded<T>(values);
      store_pack(output_dropout.active ? dropped(output_dropout, row + j, result) : result, y + row + j);
    });
  }
}

// Backward in one launch. A block takes a chunk of rows, and sums dy xhat and dy over them for each column. Blocks form groups: the last
// block of a group adds the sums of the group, and the last of these blocks the sums of the groups. (One block would take longer to add all
// of them than the rest of the work takes.) The order is fixed.

inline constexpr unsigned sums_group = 16;  // blocks

/// For each block 2 n sums: for dgamma and for dbeta.
template <class A>
struct LayerNormSums {
  A* of_block;
  unsigned* finished;  // counters: of the groups, and of each group

  /// A multiple of the warps of a block, such that there are at most sums_group groups.
  static std::size_t rows_of_block(std::size_t rows) {
    constexpr std::size_t warps = block_threads / Warp::threads, most_rows = warps * sums_group * sums_group;
    return warps * std::max<std::size_t>((rows + most_rows - 1) / most_rows, 1);
  }
  /// store(j, the sum of the blocks begin, begin + step, ... up to `end`) for each column j.
  template <class Store>
  __device__ void add(unsigned begin, unsigned end, unsigned step, std::size_t n, const Store& store) const {
    constexpr unsigned columns = 3, together = 8;  // a thread has 24 loads in flight
    for (std::size_t first = threadIdx.y * blockDim.x + threadIdx.x; first < 2 * n; first += columns * block_threads) {
      A total[columns] = {};
      LEXFORMER_NO_UNROLL
      for (unsigned part = begin; part < end; part += together * step) {
        LEXFORMER_UNROLL
        for (unsigned k = 0; k < together; ++k) {
          const unsigned b = part + k * step;
          const A* const sums = of_block + (b < end ? b : begin) * 2 * n;
          LEXFORMER_UNROLL
          for (unsigned c = 0; c < columns; ++c) {
            const std::size_t j = first + c * block_threads;
            const A value = __ldcg(sums + (j < 2 * n ? j : first));  // no branches, which would keep the loads apart
            total[c] += b < end ? value : A{};
          }
        }
      }
      LEXFORMER_UNROLL
      for (unsigned c = 0; c < columns; ++c)
        if (first + c * block_threads < 2 * n) store(first + c * block_threads, total[c]);
    }
  }
  /// Called by all blocks when their sums are stored.
  template <class T>
  __device__ void finish(std::size_t n, T* dgamma, T* dbeta) const {
    const unsigned first = blockIdx.x / sums_group * sums_group, end = first + sums_group < gridDim.x ? first + sums_group : gridDim.x;
    if (!last_block(finished + 1 + blockIdx.x / sums_group, end - first)) return;
    add(first, end, 1, n, [&](std::size_t j, A sum) { of_block[first * 2 * n + j] = sum; });
    if (!last_block(finished, (gridDim.x + sums_group - 1) / sums_group)) return;
    add(0, gridDim.x, sums_group, n, [&](std::size_t j, A sum) { (j < n ? dgamma + j : dbeta + (j - n))[0] = static_cast<T>(sum); });
  }
};

template <class T, unsigned packs>
__global__ void __launch_bounds__(block_threads, packs * sizeof(accumulate_t<T>) <= 8 ? 2 : 1)  // blocks of a multiprocessor
    layer_norm_grad_packs_kernel(std::size_t rows, unsigned n, std::size_t chunk, Dropout<accumulate_t<T>> dropout,
                                 Dropout<accumulate_t<T>> output_dropout, const T* dy, const T* gamma, const T* xhat,
                                 const accumulate_t<T>* rstd, T* dz, T* dx, LayerNormSums<accumulate_t<T>> sums, T* dgamma, T* dbeta) {
  using A = accumulate_t<T>;
  constexpr unsigned warps = block_threads / Warp::threads;
  const std::size_t begin = blockIdx.x * chunk, end = begin + chunk < rows ? begin + chunk : rows;
  A dg[packs][8] = {}, db[packs][8] = {};  // of the rows of this warp
  RowPack<T> scale[packs] = {};
  each_pack<packs>(n, [&](unsigned p, unsigned j) { scale[p] = load_pack<8>(gamma + j); });
  LEXFORMER_NO_UNROLL
  for (std::size_t r = begin + threadIdx.y; r < end; r += warps) {
    const std::size_t row = r * n;
    const A inverse = rstd[r];
    RowPack<T> g[packs] = {}, h[packs] = {};
    each_pack<packs>(n, [&](unsigned p, unsigned j) {
      g[p] = load_pack<8>(dy + row + j);
      h[p] = load_pack<8>(xhat + row + j);
    });
    A sum{}, dot{};
    each_pack<packs>(n, [&](unsigned p, unsigned j) {
      if (output_dropout.active) g[p] = dropped(output_dropout, row + j, g[p]);
      LEXFORMER_UNROLL
      for (unsigned k = 0; k < 8; ++k) {
        const A gradient = static_cast<A>(g[p].at[k]), scaled = gradient * scale[p].at[k];
        dg[p][k] += gradient * h[p].at[k];
        db[p][k] += gradient;
        sum += scaled;
        dot += scaled * h[p].at[k];
      }
    });
    sum = Warp::sum(sum) / static_cast<A>(n);
    dot = Warp::sum(dot) / static_cast<A>(n);
    each_pack<packs>(n, [&](unsigned p, unsigned j) {
      A values[8];
      LEXFORMER_UNROLL
      for (unsigned k = 0; k < 8; ++k) values[k] = inverse * (g[p].at[k] * scale[p].at[k] - sum - h[p].at[k] * dot);
      const RowPack<T> d = rounded<T>(values);
      store_pack(d, dz + row + j);
      if (dropout.active) store_pack(dropped(dropout, row + j, d), dx + row + j);
    });
  }

  __shared__ RowPack<A> of_warps[warps][packs * Warp::threads];
  const auto add_warps = [&](const A(&of_warp)[packs][8], A* to) {
    each_pack<packs>(n, [&](unsigned p, unsigned j) { of_warps[threadIdx.y][j / 8] = rounded<A>(of_warp[p]); });
    __syncthreads();
    for (unsigned j = threadIdx.y * Warp::threads + threadIdx.x; j < n; j += block_threads) {
      A total{};
      LEXFORMER_UNROLL
      for (unsigned w = 0; w < warps; ++w) total += of_warps[w][j / 8].at[j % 8];
      to[j] = total;
    }
  };
  A* const of_block = sums.of_block + std::size_t{blockIdx.x} * 2 * n;
  add_warps(dg, of_block);
  __syncthreads();  // the sums of dgamma have been read
  add_warps(db, of_block + n);
  sums.finish(n, dgamma, dbeta);
}

/// Calls run(std::integral_constant<unsigned, packs>) if the rows can be processed by the kernels above; returns whether it did.
template <class T, class Run, class... Pointers>
bool with_packs(std::size_t n, const Run& run, const Pointers*... pointers) {
  const std::size_t packs = (n + 255) / 256;
  if (n % 8 != 0 || packs == 0 || packs > most_row_packs<T> || !(... && aligned_to<RowPack<T>>(pointers))) return false;
  if (packs == 1) run(std::integral_constant<unsigned, 1>{});
  if (packs == 2) run(std::integral_constant<unsigned, 2>{});
  if constexpr (most_row_packs<T> == 4) {
    if (packs == 3) run(std::integral_constant<unsigned, 3>{});
    if (packs == 4) run(std::integral_constant<unsigned, 4>{});
  }
  return true;
}

}  // namespace lexformer::cuda
