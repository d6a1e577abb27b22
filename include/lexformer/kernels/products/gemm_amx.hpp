// SPDX-License-Identifier: MIT
// A tile of the matrix product of bfloat16 (gemm_blocks.hpp) by AMX. Panels of B as in Bfloat16Weights; packed panels of A are row-major.
#pragma once

#include "lexformer/kernels/products/instructions.hpp"

#if LEXFORMER_LEVEL >= 6
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/kernels/products/amx_tile.hpp"
#include "lexformer/kernels/products/gemm_blocks.hpp"
#include "lexformer/kernels/products/transpose16.hpp"

namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME {

class AmxGemmTile {
 public:
  using In = bfloat16;
  using Packed = In;
  using T = float;
  static constexpr std::size_t rows = 32, columns = 32, step = 32, depth = 4096;  // a panel of B streams from the L2 cache

  /// To (rows, whole steps of k), row-major, filled with zeros; rows from `count` on are not written.
  static void pack_a(bool trans, std::size_t count, std::size_t k, const bfloat16* a, std::size_t lda, bfloat16* to) {
    const std::size_t whole = (k + step - 1) / step * step;
    if (!trans) {
      for (std::size_t r = 0; r < count; ++r) std::fill_n(std::copy_n(a + r * lda, k, to + r * whole), whole - k, bfloat16::from_bits(0));
      return;
    }
    for (std::size_t p = 0; p < whole; p += 32)
      for (std::size_t first = 0; first < count; first += 16) {  // 16 rows of 16 pairs
        __m512i pairs[16];
        load_pairs(a + first, lda, p, k, std::min<std::size_t>(16, count - first), pairs);
        transpose16(pairs);
        for (std::size_t r = 0; r < std::min<std::size_t>(16, count - first); ++r)
          _mm512_storeu_si512(to + (first + r) * whole + p, pairs[r]);
      }
  }
  /// To a panel (whole steps of k / 2, 32, 2), filled with zeros.
  static void pack_b(bool trans, std::size_t width, std::size_t k, const bfloat16* b, std::size_t ldb, bfloat16* to) {
    for (std::size_t p = 0; p < k; p += 32)
      for (std::size_t first = 0; first < width; first += 16) {
        const std::size_t count = std::min<std::size_t>(16, width - first);
        __m512i pairs[16];
        if (trans) {
          const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << std::min<std::size_t>(32, k - p)) - 1);
          for (std::size_t c = 0; c < 16; ++c) pairs[c] = _mm512_maskz_loadu_epi16(c < count ? mask : 0, b + (first + c) * ldb + p);
          transpose16(pairs);
        } else {
          load_pairs(b + first, ldb, p, k, count, pairs);
        }
        for (std::size_t i = 0; i < 16; ++i) _mm512_storeu_si512(to + (p + 2 * i) * columns + 2 * first, pairs[i]);
      }
  }

  void multiply(bool, std::size_t count, std::size_t k, const bfloat16* a, std::size_t lda, const bfloat16* b, float alpha, float beta,
                const float* d, std::size_t ldd, float* c, std::size_t ldc) {
    alignas(64) float sums[rows * columns];
    tile_.multiply(count, k / step, a, lda, b, sums, [](std::size_t) {});
    const __m512 factor = _mm512_set1_ps(alpha), factor_d = _mm512_set1_ps(beta);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t j = 0; j < columns; j += 16) {
        const __m512 before = beta == 0 ? _mm512_setzero_ps() : _mm512_mul_ps(factor_d, _mm512_loadu_ps(d + r * ldd + j));
        _mm512_storeu_ps(c + r * ldc + j, _mm512_fmadd_ps(factor, _mm512_loadu_ps(sums + r * columns + j), before));
      }
  }

 private:
  /// pairs[i] = (x(p + 2 i, j), x(p + 2 i + 1, j)) for j < count, with x(q, j) = x[q ldx + j], or 0 from q = k on.
  static void load_pairs(const bfloat16* x, std::size_t ldx, std::size_t p, std::size_t k, std::size_t count, __m512i (&pairs)[16]) {
    static constexpr auto alternate = [] {
      std::array<std::uint16_t, 32> order{};
      for (std::size_t i = 0; i < 32; ++i) order[i] = static_cast<std::uint16_t>(i / 2 + 32 * (i % 2));
      return order;
    }();
    const __m512i order = _mm512_loadu_si512(alternate.data());
    const auto mask = static_cast<std::uint32_t>((1u << count) - 1);
    for (std::size_t i = 0; i < 16; ++i) {
      const std::size_t q = p + 2 * i;
      const __m512i first = _mm512_maskz_loadu_epi16(q < k ? mask : 0, x + q * ldx);
      const __m512i second = _mm512_maskz_loadu_epi16(q + 1 < k ? mask : 0, x + (q + 1) * ldx);
      pairs[i] = _mm512_permutex2var_epi16(first, order, second);
    }
  }

  AmxTile<bfloat16> tile_;
};

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
#endif
