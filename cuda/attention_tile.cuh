// SPDX-License-Identifier: MIT
// What the fused attention kernels share. A thread block works on square tiles of one (sequence, head): rows are queries i, columns keys j.
// Scores and probabilities exist for one tile at a time, in shared memory; nothing of size heads x n x n is ever stored.
#pragma once

#include "attention_score.cuh"

// Loops over a thread's cells, whose numbers must lie in registers.
#if defined(__CUDACC__)
#define LEXFORMER_UNROLL _Pragma("unroll")
#else
#define LEXFORMER_UNROLL
#endif

namespace lexformer::cuda {

/// Threads of a block lie in a square of 16 x 16; each has the cells (y + 16 u, x + 16 w) of a tile.
inline constexpr unsigned attention_side = 16, attention_threads = attention_side * attention_side;

/// One (sequence, head), seen by a thread block. `size`: rows and columns of a tile, 16 or 32.
template <class T, unsigned size>
struct AttentionTile : AttentionHead<T> {
  using Base = AttentionHead<T>;
  using A = accumulate_t<T>;
  using Base::a, Base::d, Base::first, Base::h, Base::n, Base::Base;
  static constexpr unsigned side = attention_side, cells = size / side, row_stride = size + 1;

  static __device__ unsigned x() { return threadIdx.x % side; }
  static __device__ unsigned y() { return threadIdx.x / side; }

  /// Numbers in a tile of vectors, one of vectors has d of them; the rows are one further apart, for the banks of shared memory.
  static LEXFORMER_HD std::size_t vectors(std::size_t head_size) { return size * (head_size + 1); }
  static constexpr std::size_t square = size * row_stride;

  /// Calls f(row, c) for the thread's numbers of a tile of vectors: a warp has a row.
  template <class F>
  __device__ void each_element(F&& f) const {
    for (std::size_t row = threadIdx.x / 32; row < size; row += attention_threads / 32)
      for (std::size_t c = threadIdx.x % 32; c < d; c += 32) f(row, c);
  }
  /// to = the vectors begin ... of this head, zeros behind the end of the sequence; null: zeros. `part`: 0 = q, 1 = k, 2 = v.
  __device__ void load_part(unsigned part, std::size_t begin, A* to) const { load(a.qkv + part * a.width, 3 * a.width, begin, to); }
  __device__ void load(const T* from, std::size_t stride, std::size_t begin, A* to) const {
    each_element([&](std::size_t row, std::size_t c) {
      to[row * (d + 1) + c] = from != nullptr && begin + row < n ? static_cast<A>(from[(first + begin + row) * stride + h * d + c]) : A{0};
    });
  }

  /// products[u][w] = <row y + 16 u of p, row x + 16 w of q>
  __device__ void multiply(const A* p, const A* q, A (&products)[cells][cells]) const {
    for (auto& row : products)
      for (A& cell : row) cell = A{0};
    for (std::size_t c = 0; c < d; ++c) {
      A left[cells], right[cells];
      LEXFORMER_UNROLL
      for (unsigned u = 0; u < cells; ++u) {
        left[u] = p[(y() + side * u) * (d + 1) + c];
        right[u] = q[(x() + side * u) * (d + 1) + c];
      }
      LEXFORMER_UNROLL
      for (unsigned u = 0; u < cells; ++u) {
        LEXFORMER_UNROLL
        for (unsigned w = 0; w < cells; ++w) products[u][w] += left[u] * right[w];
      }
    }
  }

  /// Calls f(u, w, i, j) for the thread's cells of the tile at (i0, j0) that lie in the sequence.
  template <class F>
  __device__ void each_cell(std::size_t i0, std::size_t j0, F&& f) const {
    LEXFORMER_UNROLL
    for (unsigned u = 0; u < cells; ++u) {
      LEXFORMER_UNROLL
      for (unsigned w = 0; w < cells; ++w) {
        const std::size_t i = i0 + y() + side * u, j = j0 + x() + side * w;
        if (i < n && j < n) f(u, w, i, j);
      }
    }
  }
  /// sums[row][c] = keep[row] sums[row][c] + factor * sum_j square(row, j) vectors[j][c], or with the square turned over its diagonal;
  /// keep = null: 1.
  template <bool transposed>
  __device__ void add_product(const A* squares, const A* vectors, A factor, const A* keep, A* sums) const {
    each_element([&](std::size_t row, std::size_t c) {
      A sum{0};
      for (unsigned j = 0; j < size; ++j)
        sum += squares[transposed ? j * row_stride + row : row * row_stride + j] * vectors[j * (d + 1) + c];
      A& to = sums[row * (d + 1) + c];
      to = (keep != nullptr ? keep[row] * to : to) + factor * sum;
    });
  }
  /// to[(first + begin + row) * stride + h d + c] = sums[row][c] * factor(row)
  template <class F>
  __device__ void store(const A* sums, std::size_t begin, std::size_t stride, T* to, F&& factor) const {
    each_element([&](std::size_t row, std::size_t c) {
      if (begin + row < n) to[(first + begin + row) * stride + h * d + c] = static_cast<T>(sums[row * (d + 1) + c] * factor(row));
    });
  }
};

}  // namespace lexformer::cuda
