// SPDX-License-Identifier: MIT
// The product of linear_bfloat16.hpp by AMX (amx_tile.hpp), AVX-512 BF16 or AVX-512 F. panel_product.hpp has the loops over tiles.
#pragma once

#include "lexformer/kernels/products/instructions.hpp"

#if LEXFORMER_LEVEL >= 3
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/kernels/products/bfloat16_weights.hpp"
#include "lexformer/kernels/products/gemm_tile.hpp"
#include "lexformer/kernels/products/panel_product.hpp"

namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME {

#if LEXFORMER_LEVEL >= 6
using Bfloat16Tile = AmxTile<bfloat16>;
#elif LEXFORMER_LEVEL >= 5
struct Bfloat16Tile {
  static constexpr std::size_t rows = GemmTile<bfloat16>::rows, step = GemmTile<bfloat16>::step;

  /// sums (R, 32) over `pairs` pairs of k. Row r of x begins at x[r ldx]; w is a packed panel of Bfloat16Weights.
  template <std::size_t R>
  static void multiply(std::size_t pairs, const bfloat16* x, std::size_t ldx, const bfloat16* w, float* sums) {
    GemmTile<bfloat16>::multiply<R, false>(pairs, x, ldx, w, 1, 0, nullptr, 0, sums, 32);
  }
};
#else
/// By products of float: x is widened before, the weights in registers.
struct Bfloat16Tile {
  static constexpr std::size_t rows = 12, step = 2;  // 24 sums, 4 vectors of weights, 1 of x and the mask fit into 32 registers
  using Words [[gnu::vector_size(64)]] = std::uint32_t;

  static Words words(const bfloat16* from) {
    Words w;
    std::memcpy(&w, from, sizeof w);
    return w;
  }
  template <std::size_t R>
  static void multiply(std::size_t pairs, const float* x, std::size_t ldx, const bfloat16* w, float* sums) {
    __m512 sum[R][2] = {};
    for (; pairs > 0; --pairs, x += 2, w += 64) {
      const Words w0 = words(w), w1 = words(w + 32);
      const auto even0 = __m512(w0 << 16), even1 = __m512(w1 << 16), odd0 = __m512(w0 & 0xffff0000u), odd1 = __m512(w1 & 0xffff0000u);
      for_rows<R>([&]<std::size_t r>() __attribute__((always_inline)) {
        sum[r][0] = multiply_add(x[r * ldx], even0, sum[r][0]);
        sum[r][1] = multiply_add(x[r * ldx], even1, sum[r][1]);
      });
      for_rows<R>([&]<std::size_t r>() __attribute__((always_inline)) {
        sum[r][0] = multiply_add(x[r * ldx + 1], odd0, sum[r][0]);
        sum[r][1] = multiply_add(x[r * ldx + 1], odd1, sum[r][1]);
      });
    }
    for_rows<R>([&]<std::size_t r>() __attribute__((always_inline)) {
      _mm512_storeu_ps(sums + r * 32, sum[r][0]);
      _mm512_storeu_ps(sums + r * 32 + 16, sum[r][1]);
    });
  }
};
#endif

/// Rounds two vectors of float to bfloat16, and writes the numbers whose bit is set in `mask`.
#if LEXFORMER_LEVEL >= 5
inline void store_rounded(__m512 low, __m512 high, std::uint32_t mask, bfloat16* to) {
  const __m512bh both = _mm512_cvtne2ps_pbh(high, low);
  __m512i bits;
  std::memcpy(&bits, &both, sizeof bits);
  _mm512_mask_storeu_epi16(to, mask, bits);
}
#else
inline void store_rounded(__m512 low, __m512 high, std::uint32_t mask, bfloat16* to) {
  for (const __m512& x : {low, high}) {
    // To the nearest bfloat16, of two equally near ones to the even one.
    const auto bits = Bfloat16Tile::Words(x), near = bits + ((bits >> 16) & 1u) + 0x7fffu;
    const auto is_nan = Bfloat16Tile::Words(x != x);  // all bits of such numbers
    const auto rounded = ((is_nan & (bits | 0x400000u)) | (~is_nan & near)) >> 16;
    _mm512_mask_cvtepi32_storeu_epi16(to, static_cast<__mmask16>(mask), __m512i(rounded));
    mask >>= 16;
    to += 16;
  }
}
#endif

struct Bfloat16Product {
  static void linear(std::size_t m, const bfloat16* x, const Bfloat16Weights& w, bfloat16* y, bool gelu) {
    const std::size_t ldx = w.inputs_packed();
    const Factor* const rows = factors(m, x, w.inputs(), ldx);
    constexpr std::size_t panel = Bfloat16Weights::panel;
    const std::size_t ldy = w.outputs();
    for_tiles<Bfloat16Tile, float>(m, rows, ldx, w, [&](std::size_t i, std::size_t count, std::size_t j, const float* sums) {
      const std::size_t at = j * panel;
      if (gelu)
        store<true>(count, sums, w.biases() + at, std::min(panel, ldy - at), y + i * ldy + at, ldy);
      else
        store<false>(count, sums, w.biases() + at, std::min(panel, ldy - at), y + i * ldy + at, ldy);
    });
  }

  /// y = f(sums + bias), rounded: `width` of the 32 columns.
  template <bool Gelu>
  static void store(std::size_t count, const float* sums, const float* bias, std::size_t width, bfloat16* y, std::size_t ldy) {
    const __m512 b0 = _mm512_loadu_ps(bias), b1 = _mm512_loadu_ps(bias + 16);
    const auto columns = static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1);
    for (std::size_t r = 0; r < count; ++r, sums += 32, y += ldy) {
      __m512 low = _mm512_add_ps(_mm512_loadu_ps(sums), b0), high = _mm512_add_ps(_mm512_loadu_ps(sums + 16), b1);
      if constexpr (Gelu) low = short_gelu(low), high = short_gelu(high);
      store_rounded(low, high, columns, y);
    }
  }

  /// Both layers, with twice as many rows in a block as in 8 bits, since the inner values are floats there.
  static void feed_forward(std::size_t m, const bfloat16* x, const Bfloat16Weights& w1, const Bfloat16Weights& w2, bfloat16* y) {
    const std::size_t width = w1.outputs();
    for_feed_forward<Bfloat16Tile>(m, 192, [&](std::size_t begin, std::size_t end) {
      hidden.resize(std::max(hidden.size(), (end - begin) * width));
      bfloat16* const h = hidden.data();
      linear(end - begin, x + begin * w1.inputs(), w1, h, true);
      linear(end - begin, h, w2, y + begin * w2.outputs(), false);
    });
  }

 private:
  using Factor = std::conditional_t<LEXFORMER_LEVEL >= 5, bfloat16, float>;

  /// The rows of x as the tiles read them, filled with zeros up to ldx.
  static const Factor* factors(std::size_t m, const bfloat16* x, std::size_t k, std::size_t ldx) {
#if LEXFORMER_LEVEL >= 5
    if (k == ldx) return x;
#endif
    filled.resize(std::max(filled.size(), m * ldx));
    Factor* const to = filled.data();
    parallel_for(m, row_block(ldx), [=](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        Factor* const row = to + i * ldx;
        for (std::size_t p = 0; p < k; ++p) row[p] = static_cast<Factor>(x[i * k + p]);
        std::fill_n(row + k, ldx - k, Factor(0.0f));
      }
    });
    return to;
  }
  static thread_local inline std::vector<Factor> filled;  // reused between calls
  static thread_local inline std::vector<bfloat16> hidden;
};

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
#endif
