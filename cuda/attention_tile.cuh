// SPDX-License-Identifier: MIT
// Shared by the fused attention kernels. A thread block processes square tiles of one (sequence, head): rows are queries i, columns keys j.
// Scores and probabilities exist for one tile at a time, in shared memory; nothing of size heads x n x n is stored.
#pragma once

#include "attention_score.cuh"

namespace lexformer::cuda {

inline constexpr unsigned attention_threads = 256, attention_warps = attention_threads / 32;

/// Calls f(row, c) for the thread's elements of the `rows` vectors of a tile; one warp per row.
template <class F>
__device__ void each_of_vectors(unsigned rows, std::size_t d, F&& f) {
  for (std::size_t row = threadIdx.x / 32; row < rows; row += attention_warps)
    for (std::size_t c = threadIdx.x % 32; c < d; c += 32) f(row, c);
}

/// to[place] += the sum of the values of all lanes with that place, in order. Called by all lanes of a warp; `used` = whether the lane
/// takes part. The value of a lane is at values[lane * stride], in memory that the whole warp can read.
template <class A>
__device__ void add_by_place(unsigned place, bool used, const A* values, std::size_t stride, A* to) {
  __syncwarp();  // the additions of the last call are visible
  const unsigned users = __ballot_sync(all_lanes, used), lane = threadIdx.x % 32;
  const unsigned same = __match_any_sync(all_lanes, place) & users;
  if (!used || (same & ((1u << lane) - 1)) != 0) return;  // the first lane with this place adds
  A sum{0};
  for (unsigned rest = same; rest != 0; rest &= rest - 1) sum += values[static_cast<unsigned>(__ffs(rest) - 1) * stride];
  to[place] += sum;
}

/// Products of a tile computed by each thread separately. A block is a square of 16 x 16 threads; a thread has the cells
/// (row(u), column(w)) of a tile of `size` x `size`, 16 or 32.
template <class A, unsigned tile_size>
struct ScalarProducts {
  using Stored = A;  // type of q, k, v and dcontext in shared memory
  static constexpr unsigned size = tile_size, side = 16, cells = size / side;
  static constexpr unsigned row_stride = size + 1;  // of a square
  /// Stride between vectors: one more than d, to avoid bank conflicts in shared memory.
  static LEXFORMER_HD std::size_t stride(std::size_t d) { return d + 1; }

  static __device__ unsigned row(unsigned u) { return threadIdx.x / side + side * u; }
  static __device__ unsigned column(unsigned w) { return threadIdx.x % side + side * w; }

  /// to[row] = from[row] for the first `rows` vectors of the tile, then zeros.
  template <class T>
  static __device__ void load(std::size_t d, std::size_t rows, const T* from, std::size_t from_stride, A* to) {
    each_of_vectors(size, d, [&](std::size_t row, std::size_t c) {
      to[row * stride(d) + c] = row < rows ? static_cast<A>(from[row * from_stride + c]) : A{0};
    });
  }

  /// products[u][w] = <row row(u) of p, row column(w) of q>
  static __device__ void multiply(std::size_t d, const A* p, const A* q, A (&products)[cells][cells]) {
    for (auto& row : products)
      for (A& cell : row) cell = A{0};
    for (std::size_t c = 0; c < d; ++c) {
      A left[cells], right[cells];
      LEXFORMER_UNROLL
      for (unsigned u = 0; u < cells; ++u) {
        left[u] = p[row(u) * stride(d) + c];
        right[u] = q[column(u) * stride(d) + c];
      }
      LEXFORMER_UNROLL
      for (unsigned u = 0; u < cells; ++u) {
        LEXFORMER_UNROLL
        for (unsigned w = 0; w < cells; ++w) products[u][w] += left[u] * right[w];
      }
    }
  }

  /// sums[row][c] = keep[row] sums[row][c] + factor * sum_j square(row, j) vectors[j][c], or with the square transposed.
  /// keep = null means 1. The row stride of sums is d + 1.
  template <bool transposed>
  static __device__ void add_product(std::size_t d, const A* squares, const A* vectors, A factor, const A* keep, A* sums) {
    each_of_vectors(size, d, [&](std::size_t row, std::size_t c) {
      A sum{0};
      for (unsigned j = 0; j < size; ++j)
        sum += squares[transposed ? j * row_stride + row : row * row_stride + j] * vectors[j * stride(d) + c];
      A& to = sums[row * (d + 1) + c];
      to = (keep != nullptr ? keep[row] * to : to) + factor * sum;
    });
  }
};

/// One (sequence, head), processed by a thread block.
template <class T, class Products>
struct AttentionTile : AttentionHead<T>, Products {
  using Base = AttentionHead<T>;
  using A = accumulate_t<T>;
  using Stored = typename Products::Stored;
  using Base::a, Base::d, Base::first, Base::h, Base::n, Base::Base;
  using Products::cells, Products::row, Products::row_stride, Products::size, Products::stride;

  // Number of elements of a tile of vectors, of sums of vectors, of a square.
  static LEXFORMER_HD std::size_t vectors(std::size_t head_size) { return size * stride(head_size); }
  static LEXFORMER_HD std::size_t sums(std::size_t head_size) { return size * (head_size + 1); }
  static constexpr std::size_t square = size * row_stride;

  /// Loads the vectors of this head from `begin` on, zeros after the end of the sequence; only zeros if `from` is null.
  /// part: 0 = q, 1 = k, 2 = v.
  __device__ void load_part(unsigned part, std::size_t begin, Stored* to) const { load(a.qkv + part * a.width, 3 * a.width, begin, to); }
  __device__ void load(const T* from, std::size_t from_stride, std::size_t begin, Stored* to) const {
    if (from == nullptr || begin >= n)
      Products::load(d, 0, a.qkv, from_stride, to);
    else
      Products::load(d, n - begin, from + (first + begin) * from_stride + h * d, from_stride, to);
  }
  __device__ void zero_sums(A* sums_of_vectors) const {
    for (std::size_t e = threadIdx.x; e < sums(d); e += attention_threads) sums_of_vectors[e] = A{0};
  }

  /// products[u][w] = <row row(u) of p, row column(w) of q>
  __device__ void multiply(const Stored* p, const Stored* q, A (&products)[cells][cells]) const { Products::multiply(d, p, q, products); }
  template <bool transposed>
  __device__ void add_product(const A* squares, const Stored* vectors_of_tile, A factor, const A* keep, A* to) const {
    Products::template add_product<transposed>(d, squares, vectors_of_tile, factor, keep, to);
  }

  /// Calls f(u, w, i, j) for the thread's cells of the tile at (i0, j0) that are inside the sequence.
  template <class F>
  __device__ void each_cell(std::size_t i0, std::size_t j0, F&& f) const {
    LEXFORMER_UNROLL
    for (unsigned u = 0; u < cells; ++u) {
      LEXFORMER_UNROLL
      for (unsigned w = 0; w < cells; ++w) {
        const std::size_t i = i0 + row(u), j = j0 + Products::column(w);
        if (i < n && j < n) f(u, w, i, j);
      }
    }
  }
  /// to[(first + begin + row) * to_stride + h d + c] = sums[row][c] * factor(row)
  template <class F>
  __device__ void store(const A* sums_of_vectors, std::size_t begin, std::size_t to_stride, T* to, F&& factor) const {
    each_of_vectors(size, d, [&](std::size_t r, std::size_t c) {
      if (begin + r < n) to[(first + begin + r) * to_stride + h * d + c] = static_cast<T>(sums_of_vectors[r * (d + 1) + c] * factor(r));
    });
  }
};

}  // namespace lexformer::cuda
