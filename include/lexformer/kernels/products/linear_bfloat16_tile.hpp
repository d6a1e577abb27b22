// SPDX-License-Identifier: MIT
// The product of linear_bfloat16.hpp by AMX (amx_tile.hpp) or AVX-512 BF16. panel_product.hpp has the loops over tiles.
#pragma once

#include "lexformer/kernels/products/instructions.hpp"

#if LEXFORMER_LEVEL >= 5
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/kernels/products/bfloat16_weights.hpp"
#include "lexformer/kernels/products/gemm_tile.hpp"
#include "lexformer/kernels/products/panel_product.hpp"

namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME {

#if LEXFORMER_LEVEL >= 6
using Bfloat16Tile = AmxTile<bfloat16>;
#else
struct Bfloat16Tile {
  static constexpr std::size_t rows = GemmTile<bfloat16>::rows, step = GemmTile<bfloat16>::step;

  /// sums (R, 32) over `pairs` pairs of k. Row r of x begins at x[r ldx]; w is a packed panel of Bfloat16Weights.
  template <std::size_t R>
  static void multiply(std::size_t pairs, const bfloat16* x, std::size_t ldx, const bfloat16* w, float* sums) {
    GemmTile<bfloat16>::multiply<R, false>(pairs, x, ldx, w, 1, 0, nullptr, 0, sums, 32);
  }
};
#endif

struct Bfloat16Product {
  static void linear(std::size_t m, const bfloat16* x, const Bfloat16Weights& w, bfloat16* y, bool gelu) {
    const std::size_t k = w.inputs(), ldx = w.inputs_packed();
    if (k != ldx) {  // rows filled with zeros
      filled.resize(std::max(filled.size(), m * ldx));
      for (std::size_t i = 0; i < m; ++i) std::fill_n(std::copy_n(x + i * k, k, filled.data() + i * ldx), ldx - k, bfloat16::from_bits(0));
      x = filled.data();
    }
    constexpr std::size_t panel = Bfloat16Weights::panel;
    const std::size_t ldy = w.outputs();
    for_tiles<Bfloat16Tile, float>(m, x, ldx, w, [&](std::size_t i, std::size_t count, std::size_t j, const float* sums) {
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
      const __m512bh rounded = _mm512_cvtne2ps_pbh(high, low);
      __m512i bits;
      std::memcpy(&bits, &rounded, sizeof bits);
      _mm512_mask_storeu_epi16(y, columns, bits);
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
  static thread_local inline std::vector<bfloat16> filled, hidden;  // reused between calls
};

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
#endif
