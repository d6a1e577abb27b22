// SPDX-License-Identifier: MIT
// The products of a tile by tensor cores: bfloat16 inputs, float results.
#pragma once

#include "attention_tile.cuh"
#include "packs.cuh"
#include "tensor_core.cuh"

namespace lexformer::cuda {

/// Tiles of 32 x 32; each warp of a block has the scores of 16 queries x 8 keys. Vectors are stored in shared memory as bfloat16;
/// probabilities and gradients of scores are rounded when they enter a product. Interface: ScalarProducts.
struct TensorProducts {
  using Stored = bfloat16;
  static constexpr unsigned size = 32, cells = 2, row_stride = size + 1;
  /// A multiple of 16 elements for the products, plus 8, so that the rows that a warp reads at once are in different banks.
  static LEXFORMER_HD std::size_t stride(std::size_t d) { return inner(d) + 8; }

  static __device__ unsigned row(unsigned u) { return first_row() + Fragment::group() + 8 * u; }
  static __device__ unsigned column(unsigned w) { return first_column() + 2 * Fragment::pair() + w; }

  static __device__ void load(std::size_t d, std::size_t rows, const bfloat16* from, std::size_t from_stride, bfloat16* to) {
    const auto chunks = static_cast<unsigned>(inner(d) / 8);
    const bool whole = d % 8 == 0 && from_stride % 8 == 0 && aligned_to<Pack<bfloat16>>(from);
    for (unsigned e = threadIdx.x; e < size * chunks; e += attention_threads) {
      const unsigned at_row = e / chunks, c = e % chunks * 8;
      bfloat16* const target = to + at_row * stride(d) + c;
      if (whole && at_row < rows && c < d) {
        copy_words<16>(from + at_row * from_stride + c, target);
      } else {
        for (std::size_t i = 0; i < 8; ++i)
          target[i] = at_row < rows && c + i < d ? from[at_row * from_stride + c + i] : bfloat16::from_bits(0);
      }
    }
  }

  static __device__ void multiply(std::size_t d, const bfloat16* p, const bfloat16* q, float (&products)[cells][cells]) {
    const std::size_t s = stride(d), t = 2 * Fragment::pair();
    const bfloat16* const left = p + row(0) * s + t;
    const bfloat16* const right = q + (first_column() + Fragment::group()) * s + t;
    float sums[4] = {};
    for (std::size_t k = 0; k < inner(d); k += 16)
      multiply_add({load_word(left + k), load_word(left + 8 * s + k), load_word(left + k + 8), load_word(left + 8 * s + k + 8)},
                   {load_word(right + k), load_word(right + k + 8)}, sums);
    LEXFORMER_UNROLL
    for (unsigned e = 0; e < 4; ++e) products[e / 2][e % 2] = sums[e];
  }

  /// A warp computes 16 rows and every fourth group of 8 columns.
  template <bool transposed>
  static __device__ void add_product(std::size_t d, const float* squares, const bfloat16* vectors, float factor, const float* keep,
                                     float* sums) {
    const unsigned warp = threadIdx.x / 32, g = Fragment::group(), t = 2 * Fragment::pair(), top = warp % 2 * 16 + g;
    const auto two = [&](unsigned i, unsigned j) {
      return transposed ? pack(squares[j * row_stride + i], squares[(j + 1) * row_stride + i])
                        : pack(squares[i * row_stride + j], squares[i * row_stride + j + 1]);
    };
    unsigned left[size / 16][4];
    LEXFORMER_UNROLL
    for (unsigned step = 0; step < size / 16; ++step) {
      LEXFORMER_UNROLL
      for (unsigned e = 0; e < 4; ++e) left[step][e] = two(top + e % 2 * 8, step * 16 + t + e / 2 * 8);
    }
    for (std::size_t c0 = warp / 2 * 8; c0 < d; c0 += 32) {
      float part[4] = {};
      LEXFORMER_UNROLL
      for (unsigned step = 0; step < size / 16; ++step) {
        const bfloat16* const from = vectors + (step * 16 + t) * stride(d) + c0 + g;
        const auto below = [&](unsigned j) { return pack(from[j * stride(d)], from[(j + 1) * stride(d)]); };
        multiply_add(left[step], {below(0), below(8)}, part);
      }
      LEXFORMER_UNROLL
      for (unsigned e = 0; e < 4; ++e) {
        const std::size_t at_row = top + e / 2 * 8, c = c0 + t + e % 2;
        if (c >= d) continue;
        float& to = sums[at_row * (d + 1) + c];
        to = (keep != nullptr ? keep[at_row] * to : to) + factor * part[e];
      }
    }
  }

 private:
  static LEXFORMER_HD std::size_t inner(std::size_t d) { return (d + 15) / 16 * 16; }
  static __device__ unsigned first_row() { return threadIdx.x / 128 * 16; }
  static __device__ unsigned first_column() { return threadIdx.x / 32 % 4 * 8; }
};

}  // namespace lexformer::cuda
