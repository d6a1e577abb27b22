// SPDX-License-Identifier: MIT
// What the attention kernels share. A thread block works on square tiles of one (sequence, head): rows are queries i, columns keys j.
// Scores and probabilities exist for one tile at a time, in shared memory; nothing of size heads x n x n is ever stored.
#pragma once

#include "device.cuh"
#include "lexformer/kernels/interface.hpp"
#include "lexformer/kernels/scalar.hpp"

// Loops over a thread's cells, whose numbers must lie in registers.
#if defined(__CUDACC__)
#define LEXFORMER_UNROLL _Pragma("unroll")
#else
#define LEXFORMER_UNROLL
#endif

namespace lexformer::cuda {

/// AttentionArgs for kernels: plain numbers and pointers of the device.
template <class T>
struct AttentionView {
  using A = accumulate_t<T>;
  static constexpr unsigned most = 4;  // lookups, and relatives
  struct Lookup {
    const T* table;             // (H, R)
    std::size_t levels;         // R
    const std::uint16_t* code;  // (P)
  };
  struct Relative {
    bool key_side;
    std::size_t rows;            // R
    const std::int32_t* middle;  // middle[i - j] = row of the table
    const A* products;           // (N, H, R): scale <q_i, table_r>, or of k_j
  };
  std::size_t heads, width, head_size, tokens, pairs, bias_length;
  const std::size_t *token_begin, *pair_begin;
  A scale;
  const T* qkv;
  unsigned lookups, relatives;
  Lookup lookup[most];
  Relative relative[most];
  const T *position_bias, *gate;
  Dropout<A> dropout;
  const std::int32_t* map_row;
  bool absolute;

  explicit AttentionView(const AttentionArgs<T>& args)
      : heads(args.heads),
        width(args.width),
        head_size(args.width / args.heads),
        tokens(args.tokens),
        pairs(args.pairs),
        bias_length(args.bias_length),
        token_begin(args.token_begin),
        pair_begin(args.pair_begin),
        scale(args.scale),
        qkv(args.qkv),
        lookups(static_cast<unsigned>(args.lookups.size())),
        relatives(static_cast<unsigned>(args.relatives.size())),
        lookup{},
        relative{},
        position_bias(args.position_bias),
        gate(args.gate),
        dropout(args.dropout),
        map_row(args.map_row),
        absolute(args.absolute) {
    if (lookups > most || relatives > most) fail("attention", "more than ", most, " lookups or relative terms on a GPU");
    for (unsigned t = 0; t < lookups; ++t) lookup[t] = {args.lookups[t].table, args.lookups[t].levels, args.lookups[t].code};
    for (unsigned t = 0; t < relatives; ++t) {
      const auto& r = args.relatives[t];
      relative[t] = {r.key_side, r.rows, r.bucket + args.longest - 1, nullptr};
    }
  }
  /// Numbers of all lookup tables of a head.
  LEXFORMER_HD std::size_t table_size() const {
    std::size_t size = 0;
    for (unsigned t = 0; t < lookups; ++t) size += lookup[t].levels;
    return size;
  }
};

/// The gradients of context and maps, and what of the forward pass backward needs.
template <class T>
struct AttentionGradView {
  const accumulate_t<T>*log_sum, *delta;  // (N, H): log sum_j exp S_ij, and sum_j P_ij dP_ij
  const T *dcontext, *dmaps;
};

/// Threads of a block lie in a square of 16 x 16; each has the cells (y + 16 u, x + 16 w) of a tile.
inline constexpr unsigned attention_side = 16, attention_threads = attention_side * attention_side;

/// One (sequence, head), seen by a thread block. `size`: rows and columns of a tile, 16 or 32.
template <class T, unsigned size>
struct AttentionTile {
  using A = accumulate_t<T>;
  static constexpr unsigned side = attention_side, cells = size / side, row_stride = size + 1;

  const AttentionView<T>& a;
  std::size_t s, h, n, first, pair, d;

  __device__ AttentionTile(const AttentionView<T>& view, std::size_t sequence, std::size_t head)
      : a(view),
        s(sequence),
        h(head),
        n(view.token_begin[s + 1] - view.token_begin[s]),
        first(view.token_begin[s]),
        pair(view.pair_begin[s]),
        d(view.head_size) {}

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
  /// The tables of this head's lookups. Where only probabilities are wanted, the first number is taken off all, which softmax does not see:
  /// code 0, the most frequent one, adds nothing.
  __device__ void load_tables(A* to) const {
    for (unsigned t = 0; t < a.lookups; ++t) {
      const auto& l = a.lookup[t];
      const T* const from = l.table + h * l.levels;
      for (std::size_t c = threadIdx.x; c < l.levels; c += attention_threads)
        to[c] = a.absolute ? static_cast<A>(from[c]) : static_cast<A>(from[c]) - from[0];
      to += l.levels;
    }
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

  /// The score of (i, j) from <q_i, k_j>; `ungated` = what the gate multiplies.
  __device__ A score(std::size_t i, std::size_t j, A product, const A* tables, A& ungated) const {
    A value = a.scale * product;
    const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(j);
    for (unsigned t = 0; t < a.relatives; ++t) {
      const auto& r = a.relative[t];
      value += r.products[((first + (r.key_side ? j : i)) * a.heads + h) * r.rows + static_cast<std::size_t>(r.middle[distance])];
    }
    ungated = value;
    if (a.gate != nullptr) value *= a.gate[pair + i * n + j];
    for (unsigned t = 0; t < a.lookups; ++t) {
      value += tables[a.lookup[t].code[pair + i * n + j]];
      tables += a.lookup[t].levels;
    }
    if (a.position_bias != nullptr) value += a.position_bias[(h * a.bias_length + i) * a.bias_length + j];
    return value;
  }

  __device__ A dropout(std::size_t i, std::size_t j) const { return a.dropout.active ? a.dropout(h * a.pairs + pair + i * n + j) : A{1}; }
  /// Where this head's map begins in `maps`, or null.
  template <class P>
  __device__ P* map(P* maps) const {
    if (maps == nullptr || a.map_row == nullptr || a.map_row[h] < 0) return nullptr;
    return maps + static_cast<std::size_t>(a.map_row[h]) * a.pairs + pair;
  }

  /// What backward knows of a cell: P, the factor of dropout, and dS, the gradient of the score behind gate and lookups.
  struct Cell {
    A probability, kept, dscore, ungated;
  };
  /// The cell (i, j) from <q_i, k_j> and <dcontext_i, v_j>. With `delta` = null dscore is dP instead.
  __device__ Cell cell(std::size_t i, std::size_t j, A product, A dproduct, const A* tables, const AttentionGradView<T>& g) const {
    Cell out;
    const A value = score(i, j, product, tables, out.ungated);
    const std::size_t row = (first + i) * a.heads + h;
    out.probability = scalar::exp(value - g.log_sum[row]);
    out.kept = dropout(i, j);
    const T* const dmap = map(g.dmaps);
    const A from_map = dmap != nullptr ? static_cast<A>(dmap[i * n + j]) : A{0};
    const A dprobability = out.kept * dproduct + (a.absolute ? A{0} : from_map);
    if (g.delta == nullptr)
      out.dscore = dprobability;
    else
      out.dscore = out.probability * (dprobability - g.delta[row]) + (a.absolute ? from_map : A{0});
    return out;
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
