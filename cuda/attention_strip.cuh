// SPDX-License-Identifier: MIT
// Attention in bfloat16 with scores in registers. A thread block owns one (sequence, head), with the vectors of the whole sequence in
// shared memory; a warp owns a strip of 16 queries (in one part of the backward pass 16 keys), so nothing but that memory is shared by
// warps. For sequences whose vectors fit; attention_tile.cuh has the kernels for all others, for other types and for the gradients of
// relative terms.
#pragma once

#include "attention_score.cuh"
#include "attention_tile.cuh"
#include "tensor_core.cuh"

namespace lexformer::cuda {

/// What a score contains besides the product: nothing, one lookup, or whatever the view has.
enum class StripTerms { none, lookup, all };

/// Shared memory of a block, in bytes; `longest`, `warps`: of the launch.
struct StripBytes {
  std::size_t forward, grad;

  StripBytes(const AttentionView<bfloat16>& view, std::size_t longest, std::size_t warps) {
    const std::size_t rows = (longest + 15) / 16 * 16, d = view.head_size;
    const std::size_t tables = view.table_size() * sizeof(float),
                      bits = view.dropout.active ? warps * bit_words(longest) * sizeof(unsigned) : 0;
    forward = 2 * rows * (d + 8) * sizeof(bfloat16) + tables + bits;
    grad = 2 * rows * (d + 8 + rows + 8) * sizeof(bfloat16) + (1 + 2 * warps) * tables + bits;
  }
  /// Words of the dropout bits of a strip, which begin inside a byte and are read two words at a time.
  static LEXFORMER_HD std::size_t bit_words(std::size_t n) { return n / 2 + 3; }
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
  const float scale2;  // scores are in base 2: log2(e) times those of the definition

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

  /// Begins to copy `rows` vectors of this head to shared memory, zeros after the end of the sequence.
  __device__ void stage(const bfloat16* from, std::size_t from_stride, unsigned rows, bfloat16* to) const {
    constexpr unsigned chunks = d / 8;
    for (unsigned e = threadIdx.x; e < rows * chunks; e += blockDim.x) {
      const unsigned row = e / chunks, c = e % chunks * 8;
      const bool used = row < length;
      copy_async(from + (first + (used ? row : 0)) * from_stride + h * d + c, to + row * stride + c, used);
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

  /// Loads the codes of the strip's cells from column j0 on; any codes outside of the sequence.
  __device__ void load_codes(unsigned i0, unsigned j0, unsigned (&codes)[2][4]) const {
    if constexpr (terms == StripTerms::lookup) {
      const auto load = [&](auto inside) {
        LEXFORMER_UNROLL
        for (unsigned half = 0; half < 2; ++half) {
          const unsigned i = i0 + group + 8 * half;
          const std::uint16_t* const row = a.lookup[0].code + pair + (i < length ? i : 0) * length + j0 + pair_column;
          LEXFORMER_UNROLL
          for (unsigned c = 0; c < 2; ++c) {
            LEXFORMER_UNROLL
            for (unsigned e = 0; e < 2; ++e)
              codes[c][2 * half + e] = inside.value || j0 + pair_column + 8 * c + e < length ? row[8 * c + e] : 0u;
          }
        }
      };
      if (j0 + size <= length)
        load(std::true_type());
      else
        load(std::false_type());
    }
  }
  /// Replaces products by scores in base 2; -inf after the end of the sequence.
  __device__ void score(unsigned i0, unsigned j0, const unsigned (&codes)[2][4], const float* tables, Cells& cells) const {
    LEXFORMER_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      LEXFORMER_UNROLL
      for (unsigned e = 0; e < 4; ++e) {
        if constexpr (terms == StripTerms::none) {
          cells[c][e] *= scale2;
        } else if constexpr (terms == StripTerms::lookup) {
          cells[c][e] = cells[c][e] * scale2 + tables[codes[c][e]];
        } else {
          const unsigned i = i0 + group + e / 2 * 8, j = j0 + pair_column + 8 * c + e % 2;
          float ungated;
          if (i < length && j < length) cells[c][e] = log2e * Base::score(i, j, cells[c][e], tables, ungated);
        }
      }
    }
    if (j0 + size <= length) return;
    LEXFORMER_UNROLL
    for (unsigned c = 0; c < 2; ++c) {
      LEXFORMER_UNROLL
      for (unsigned e = 0; e < 4; ++e)
        if (j0 + pair_column + 8 * c + e % 2 >= length) cells[c][e] = -std::numeric_limits<float>::infinity();
    }
  }

  /// Draws the dropout decisions of the strip as bits: eight for each call of the generator.
  __device__ void draw(unsigned i0, unsigned* bits) const {
    const std::uint64_t begin = h * a.pairs + pair + i0 * length;
    const unsigned rows = length - i0 < size ? length - i0 : size, blocks = (static_cast<unsigned>(begin % 8) + rows * length + 7) / 8;
    auto* const bytes = reinterpret_cast<unsigned char*>(bits);
    __syncwarp();  // all lanes have read the bits of the last strip
    for (unsigned block = lane; block < blocks; block += 32) {
      const auto words = a.dropout.key.bits(begin / 8 + block);
      unsigned kept = 0;
      LEXFORMER_UNROLL
      for (unsigned e = 0; e < 8; ++e) kept |= unsigned{(words[e / 2] >> 16 * (e % 2) & 0xFFFFu) >= a.dropout.limit} << e;
      bytes[block] = static_cast<unsigned char>(kept);
    }
    __syncwarp();
  }
  /// For row g + 8 half, in bits 8 c + e: whether the cells of the lane are kept, from column j0 on.
  __device__ unsigned kept(unsigned i0, unsigned j0, unsigned half, const unsigned* bits) const {
    const auto offset = static_cast<unsigned>(h * a.pairs + pair + i0 * length) % 8 + (group + 8 * half) * length + j0;
    const unsigned* const word = bits + offset / 32;
    return static_cast<unsigned>((std::uint64_t{word[1]} << 32 | word[0]) >> offset % 32) >> pair_column;
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
