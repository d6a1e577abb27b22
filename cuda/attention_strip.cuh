// SPDX-License-Identifier: MIT
// Attention in bfloat16 with scores in registers. A warp owns a strip of 16 queries (in parts of the backward pass 16 keys) of one
// (sequence, head). The vectors of the other side are in shared memory, in panels of at most 128 if the sequence is longer; warps share
// nothing else. attention_tile.cuh has the kernels for other types and sizes of heads, and for the gradients of relative terms.
#pragma once

#include <algorithm>

#include "attention_score.cuh"
#include "attention_tile.cuh"
#include "tensor_core.cuh"

namespace lexformer::cuda {

/// The parts of a score besides the product: none, one lookup, or all that the view has.
enum class StripTerms { none, lookup, all };
inline StripTerms strip_terms(const AttentionView<bfloat16>& view) {
  const bool others = view.relatives > 0 || view.position_bias != nullptr || view.pair_bias != nullptr || view.gate != nullptr;
  if (others || view.lookups > 1) return StripTerms::all;
  return view.lookups == 0 ? StripTerms::none : StripTerms::lookup;
}

/// How kernels divide a sequence: into blocks of warps, each of which owns a strip. A panel has as many vectors as a block has rows.
struct StripBlocks {
  unsigned warps, count;

  explicit StripBlocks(std::size_t longest, unsigned most_warps = attention_warps) {
    const auto strips = std::max(static_cast<unsigned>((longest + 15) / 16), 1u);
    count = (strips + most_warps - 1) / most_warps;
    warps = (strips + count - 1) / count;
  }
  unsigned rows() const { return 16 * warps; }
};

/// Words of the dropout bits of a strip of 16 queries and n keys. The bits begin inside a byte and are read two words at a time.
LEXFORMER_HD inline std::size_t bit_words(std::size_t n) { return n / 2 + 3; }
/// The most keys of a block, and the words of the dropout bits of one query and these keys.
inline constexpr unsigned most_keys = 16 * attention_warps, row_words = (most_keys + 7) / 32 + 1;

/// Elements of a square in shared memory: of the codes of a single lookup, or of P or dS.
LEXFORMER_HD inline unsigned square_stride(unsigned rows) { return rows + 8; }  // eight consecutive rows are in different banks
LEXFORMER_HD inline std::size_t square_size(unsigned rows) { return std::size_t{rows} * square_stride(rows); }

/// Shared memory of a block of each kernel, in bytes.
struct StripBytes {
  std::size_t forward, grad, query_grad, key_grad;

  /// warps: of the kernel whose blocks own a (sequence, head).
  StripBytes(const AttentionView<bfloat16>& view, std::size_t longest, std::size_t warps, const StripBlocks& blocks,
             const StripBlocks& key_blocks) {
    const auto rows = static_cast<unsigned>((longest + 15) / 16 * 16);
    const std::size_t vector = (view.head_size + 8) * sizeof(bfloat16);
    const std::size_t tables = view.table_size() * sizeof(float);
    const auto bits = [&](std::size_t strips) { return view.dropout.active ? strips * bit_words(longest) * sizeof(unsigned) : 0; };
    const auto codes = [&](unsigned queries) {
      return strip_terms(view) == StripTerms::lookup ? square_size(queries) * sizeof(bfloat16) : 0;
    };
    forward = 2 * blocks.rows() * vector + codes(blocks.rows()) + tables + bits(blocks.warps);
    grad = 2 * (rows * vector + square_size(rows) * sizeof(bfloat16)) + (1 + 2 * warps) * tables + bits(warps);
    query_grad = forward + 2 * blocks.warps * tables;
    key_grad = key_blocks.rows() * (2 * vector + 2 * sizeof(float) + (view.dropout.active ? row_words * sizeof(unsigned) : 0)) +
               codes(key_blocks.rows()) + tables;
  }
};

/// A warp's part of one (sequence, head). With g and t as in Fragment, a lane holds the elements (g + 8 (e / 2), 8 c + t + e % 2) of a
/// strip as sums[c][e], e = 0 ... 3.
template <unsigned head_size, StripTerms terms>
struct AttentionStrip : AttentionHead<bfloat16> {
  using Base = AttentionHead<bfloat16>;
  static constexpr unsigned size = 16, d = head_size, steps = d / 16, tiles = d / 8;
  using Cells = float[2][4];                 // of 16 queries and 16 keys, laid out as sums for d = 16
  static constexpr unsigned stride = d + 8;  // of vectors in shared memory: eight rows in a row are in different banks
  static constexpr float log2e = std::numbers::log2e_v<float>;
  const unsigned length, lane, warp, warps, group, pair_column;
  const float scale2;  // scores are in base 2: log2(e) times the definition's

  __device__ AttentionStrip(const AttentionView<bfloat16>& view)
      : Base(view, blockIdx.y, blockIdx.x),
        length(static_cast<unsigned>(n)),
        lane(threadIdx.x % 32),
        warp(threadIdx.x / 32),
        warps(blockDim.x / 32),
        group(lane / 4),
        pair_column(2 * (lane % 4)),
        scale2(a.scale * log2e) {}

  __device__ void load_score_tables(float* to) const { Base::load_tables(to, terms == StripTerms::lookup ? log2e : 1.0f); }

  /// Begins to copy `rows` vectors of this head from `begin` on to shared memory, zeros after the end of the sequence.
  __device__ void stage(const bfloat16* from, std::size_t from_stride, unsigned begin, unsigned rows, bfloat16* to) const {
    constexpr unsigned chunks = d / 8;
    for (unsigned e = threadIdx.x; e < rows * chunks; e += blockDim.x) {
      const unsigned row = e / chunks, c = e % chunks * 8;
      const bool used = begin + row < length;
      copy_async(from + (first + (used ? begin + row : 0)) * from_stride + h * d + c, to + row * stride + c, used ? 16 : 0);
    }
  }
  /// The number of vectors in the panel that begins at `begin`, with the zeros that complete the last strip.
  __device__ unsigned panel_rows(unsigned begin, unsigned panel) const {
    const unsigned rest = (length - begin + size - 1) / size * size;
    return rest < panel ? rest : panel;
  }
  /// Queries or keys begin ... end - 1; begin is a multiple of 16.
  struct Range {
    unsigned begin, end;

    /// The part in the panel that begins at `panel_begin`.
    __device__ Range within(unsigned panel_begin, unsigned panel) const {
      const unsigned panel_end = panel_begin + panel;
      return {begin > panel_begin ? begin : panel_begin, end < panel_end ? end : panel_end};
    }
  };
  /// AttentionHead::keys_of() and queries_of() of a strip or block; none after the end of the sequence.
  __device__ Range keys_of(unsigned i0, unsigned count) const {
    if (!a.limited || i0 >= length) return {0, i0 < length ? length : 0};
    return range(Base::keys_of(i0, count, size));
  }
  __device__ Range queries_of(unsigned j0, unsigned count) const {
    if (!a.limited || j0 >= length) return {0, j0 < length ? length : 0};
    return range(Base::queries_of(j0, count, size));
  }
  static __device__ Range range(const AttentionRange& r) { return {static_cast<unsigned>(r.begin), static_cast<unsigned>(r.end)}; }
  /// Calls use(begin) for each panel of the range. stage(begin) begins to copy it; the first one's copies have begun.
  template <class Stage, class Use>
  __device__ void each_panel(const Range& all, unsigned panel, const Stage& stage, const Use& use) const {
    unsigned begin = all.begin;
    LEXFORMER_NO_UNROLL
    while (true) {
      wait_for_copies();
      __syncthreads();
      use(begin);
      begin += panel;
      if (begin >= all.end) return;
      __syncthreads();  // all warps have read the panel
      stage(begin);
    }
  }
  /// Loads 16 vectors of this head as left matrices of products, zeros after the end of the sequence.
  __device__ void load_left(const bfloat16* from, std::size_t from_stride, unsigned i0, unsigned (&left)[steps][4]) const {
    LEXFORMER_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned i = i0 + group + 8 * half;
      const bool used = i < length;
      const bfloat16* const row = from + (first + (used ? i : 0)) * from_stride + h * d + pair_column;
      LEXFORMER_UNROLL
      for (unsigned step = 0; step < steps; ++step) {
        left[step][half] = used ? load_word(row + 16 * step) : 0;
        left[step][2 + half] = used ? load_word(row + 16 * step + 8) : 0;
      }
    }
  }
  /// Writes the strip times `factor` as the vectors i0 ... i0 + 15 of this head.
  __device__ void store(const float (&sums)[tiles][4], float factor, unsigned i0, std::size_t to_stride, bfloat16* to) const {
    const float factors[2] = {factor, factor};
    store(sums, factors, i0, to_stride, to);
  }
  __device__ void store(const float (&sums)[tiles][4], const float (&factors)[2], unsigned i0, std::size_t to_stride, bfloat16* to) const {
    LEXFORMER_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned i = i0 + group + 8 * half;
      if (i >= length) continue;
      bfloat16* const row = to + (first + i) * to_stride + h * d + pair_column;
      LEXFORMER_UNROLL
      for (unsigned c = 0; c < tiles; ++c) {
        const unsigned word = pack(sums[c][2 * half] * factors[half], sums[c][2 * half + 1] * factors[half]);
        copy_words<4>(&word, row + 8 * c);
      }
    }
  }

  /// Where the lane's row of four 8 x 8 matrices lies that form a square of 16: [0 1; 2 3] of `matrix`, or [0 2; 1 3] if `down`.
  static __device__ const bfloat16* square(const bfloat16* matrix, unsigned matrix_stride, bool down) {
    const unsigned m = threadIdx.x % 32 / 8, row = threadIdx.x % 8;
    const unsigned low = m % 2 * 8, high = m / 2 * 8;
    return matrix + (row + (down ? low : high)) * matrix_stride + (down ? high : low);
  }
  /// products (16 x 16) = left vectors^T, for 16 vectors in shared memory.
  static __device__ void multiply(const unsigned (&left)[steps][4], const bfloat16* vectors, Cells& products) {
    LEXFORMER_UNROLL
    for (unsigned e = 0; e < 4; ++e) products[0][e] = products[1][e] = 0;
    LEXFORMER_UNROLL
    for (unsigned step = 0; step < steps; ++step) {
      unsigned right[4];
      load_matrices<false>(square(vectors + 16 * step, stride, false), right);
      multiply_add(left[step], {right[0], right[1]}, products[0]);
      multiply_add(left[step], {right[2], right[3]}, products[1]);
    }
  }
  /// sums (16 x d) += left vectors, for 16 vectors in shared memory.
  static __device__ void add_product(const unsigned (&left)[4], const bfloat16* vectors, float (&sums)[tiles][4]) {
    LEXFORMER_UNROLL
    for (unsigned c = 0; c < tiles; c += 2) {
      unsigned right[4];
      load_matrices<true>(square(vectors + 8 * c, stride, true), right);
      multiply_add(left, {right[0], right[1]}, sums[c]);
      multiply_add(left, {right[2], right[3]}, sums[c + 1]);
    }
  }
  /// The left matrix of add_product: the cells, rounded.
  static __device__ void round(const Cells& cells, unsigned (&left)[4]) {
    LEXFORMER_UNROLL
    for (unsigned e = 0; e < 4; ++e) left[e] = pack(cells[e / 2][e % 2 * 2], cells[e / 2][e % 2 * 2 + 1]);
  }

  /// The query and the key of a cell. The rows of a strip are queries; if `transposed`, keys.
  struct Place {
    unsigned i, j;
  };
  template <bool transposed = false>
  __device__ Place place(unsigned i0, unsigned j0, unsigned c, unsigned e) const {
    const unsigned row = group + e / 2 * 8, column = pair_column + 8 * c + e % 2;
    return transposed ? Place{i0 + column, j0 + row} : Place{i0 + row, j0 + column};
  }
  /// The elements of a square of codes for a block with so many rows.
  static __device__ std::size_t codes_size(unsigned rows) { return terms == StripTerms::lookup ? square_size(rows) : 0; }
  /// Where the codes of a query begin in its row of the square. Rows are copied in aligned chunks of eight codes.
  __device__ unsigned code_begin(unsigned i) const { return (static_cast<unsigned>(pair) + i * length) % 8; }
  /// Begins to copy the codes of the queries from i0 and the keys from j0 on to shared memory, as the bits of bfloat16 for load_matrices().
  /// i0, rows, j0 and columns are multiples of 16. After the end of the sequence there are zeros or codes of other cells, which are also in
  /// the table; score() replaces what they give.
  __device__ void stage_codes(unsigned i0, unsigned rows, unsigned j0, unsigned columns, unsigned to_stride, bfloat16* to) const {
    if constexpr (terms == StripTerms::lookup) {
      const unsigned chunks = columns / 8 + 1;
      for (unsigned e = threadIdx.x; e < rows * chunks; e += blockDim.x) {
        const unsigned row = e / chunks, c = e % chunks * 8, i = i0 + row, begin = code_begin(i);
        const std::size_t first_code = pair + std::size_t{i} * length + j0 - begin + c;
        const bool used = i < length && j0 + c < length + begin;
        const std::size_t codes = used ? a.pairs - first_code : 0;
        copy_async(a.lookup[0].code + (used ? first_code : 0), to + row * to_stride + c, codes < 8 ? codes * sizeof(std::uint16_t) : 16);
      }
    }
  }
  /// The codes of the lane's cells of 16 x 16, two in a word.
  struct Codes {
    unsigned words[4];
    __device__ unsigned operator()(unsigned c, unsigned e) const { return words[2 * c + e / 2] >> 16 * (e % 2) & 0xFFFFu; }
  };
  /// Loads the codes of 16 x 16 cells from the square. `from`: its row of query i0, at the column of the first key.
  template <bool transposed = false>
  __device__ Codes load_codes(unsigned i0, const bfloat16* from, unsigned from_stride) const {
    Codes codes{};
    if constexpr (terms == StripTerms::lookup) {
      if (length % 8 == 0 && pair % 8 == 0) {  // so all rows begin with their first code
        load_matrices<transposed>(square(from, from_stride, !transposed), codes.words);
        return codes;
      }
      LEXFORMER_UNROLL
      for (unsigned c = 0; c < 2; ++c) {
        LEXFORMER_UNROLL
        for (unsigned e = 0; e < 4; ++e) {
          const auto [i, j] = place<transposed>(0, 0, c, e);
          codes.words[2 * c + e / 2] |= unsigned{from[i * from_stride + code_begin(i0 + i) + j].bits} << 16 * (e % 2);
        }
      }
    }
    return codes;
  }
  /// Whether all queries from i0 on see all keys from j0 on, 16 of each.
  __device__ bool all_seen(unsigned i0, unsigned j0) const {
    const AttentionReach& r = a.reach;
    return (!r.causal || j0 + size <= i0 + 1) &&
           (r.distance == 0 || (i0 + size <= j0 + r.distance + 1 && j0 + size <= i0 + r.distance + 1));
  }
  /// Replaces products by scores in base 2; -inf for keys that are not seen or after the end of the sequence.
  template <bool transposed = false>
  __device__ void score(unsigned i0, unsigned j0, const Codes& codes, const float* tables, Cells& cells) const {
    LEXFORMER_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      LEXFORMER_UNROLL
      for (unsigned e = 0; e < 4; ++e) {
        if constexpr (terms == StripTerms::none) {
          cells[c][e] *= scale2;
        } else if constexpr (terms == StripTerms::lookup) {
          cells[c][e] = cells[c][e] * scale2 + tables[codes(c, e)];
        } else {
          const auto [i, j] = place<transposed>(i0, j0, c, e);
          float ungated;
          if (i < length && j < length) cells[c][e] = log2e * Base::score(i, j, cells[c][e], tables, ungated);
        }
      }
    }
    if (j0 + size <= length && (!a.limited || all_seen(i0, j0))) return;
    LEXFORMER_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      LEXFORMER_UNROLL
      for (unsigned e = 0; e < 4; ++e) {
        const auto [i, j] = place<transposed>(i0, j0, c, e);
        if (j >= length || !this->sees(i, j)) cells[c][e] = -std::numeric_limits<float>::infinity();
      }
    }
  }

  /// Eight dropout decisions of one call of the generator, as bits.
  __device__ unsigned char draw_eight(std::uint64_t block) const {
    const auto words = a.dropout.key.bits(block);
    unsigned kept = 0;
    LEXFORMER_UNROLL
    for (unsigned e = 0; e < 8; ++e) kept |= unsigned{(words[e / 2] >> 16 * (e % 2) & 0xFFFFu) >= a.dropout.limit} << e;
    return static_cast<unsigned char>(kept);
  }
  /// Draws the decisions of the strip for all keys, one query after the other.
  __device__ void draw(unsigned i0, unsigned* bits) const {
    const std::uint64_t begin = h * a.pairs + pair + i0 * length;
    const unsigned rows = length - i0 < size ? length - i0 : size, blocks = (static_cast<unsigned>(begin % 8) + rows * length + 7) / 8;
    auto* const bytes = reinterpret_cast<unsigned char*>(bits);
    __syncwarp();  // all lanes have read the bits of the last strip
    for (unsigned block = lane; block < blocks; block += 32) bytes[block] = draw_eight(begin / 8 + block);
    __syncwarp();
  }
  /// 32 bits from `offset` on.
  static __device__ unsigned bits_from(const unsigned* bits, unsigned offset) {
    const unsigned* const word = bits + offset / 32;
    return static_cast<unsigned>((std::uint64_t{word[1]} << 32 | word[0]) >> offset % 32);
  }
  /// For row g + 8 half, in bits 8 c + e: whether the cells of the lane are kept, from column j0 on.
  __device__ unsigned kept(unsigned i0, unsigned j0, unsigned half, const unsigned* bits) const {
    const auto offset = static_cast<unsigned>(h * a.pairs + pair + i0 * length) % 8 + (group + 8 * half) * length + j0;
    return bits_from(bits, offset) >> pair_column;
  }
  /// Sets the cells that dropout drops to 0.
  __device__ void drop(unsigned i0, unsigned j0, const unsigned* bits, Cells& cells) const {
    LEXFORMER_UNROLL
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned mask = kept(i0, j0, half, bits);
      LEXFORMER_UNROLL
      for (unsigned c = 0; c < 2; ++c) {
        LEXFORMER_UNROLL
        for (unsigned e = 0; e < 2; ++e) cells[c][2 * half + e] = (mask >> (8 * c + e) & 1u) != 0 ? cells[c][2 * half + e] : 0.0f;
      }
    }
  }

  /// Draws the decisions for `rows` queries and the keys of the block, which begin at `block`.
  __device__ void draw_columns(unsigned i0, unsigned rows, unsigned block, unsigned* bits) const {
    constexpr unsigned most = (most_keys + 7) / 8 + 1;  // calls of the generator for a query
    const unsigned keys = length - block < size * warps ? length - block : size * warps;
    for (unsigned e = threadIdx.x; e < rows * most; e += blockDim.x) {
      const unsigned row = e / most, call = e % most;
      const std::uint64_t begin = h * a.pairs + pair + (i0 + row) * length + block;
      if (call * 8 < static_cast<unsigned>(begin % 8) + keys)
        reinterpret_cast<unsigned char*>(bits + row * row_words)[call] = draw_eight(begin / 8 + call);
    }
  }
  /// Whether a cell whose row is a key is kept. `row`: of query i0 in the panel. The block's first key is a multiple of 8.
  __device__ bool kept_of_column(unsigned i0, unsigned row, unsigned c, unsigned e, const unsigned* bits) const {
    const unsigned column = place<true>(0, 0, c, e).i;
    const unsigned offset = (static_cast<unsigned>(h * a.pairs + pair) + (i0 + column) * length) % 8 + warp * size;
    return (bits_from(bits + (row + column) * row_words, offset) >> (group + e / 2 * 8) & 1u) != 0;
  }

  /// Reductions over the four lanes that share a row.
  static __device__ float row_sum(float value) {
    value += __shfl_xor_sync(all_lanes, value, 1);
    return value + __shfl_xor_sync(all_lanes, value, 2);
  }
  static __device__ float row_max(float value) {
    value = std::fmax(value, __shfl_xor_sync(all_lanes, value, 1));
    return std::fmax(value, __shfl_xor_sync(all_lanes, value, 2));
  }
};

}  // namespace lexformer::cuda
