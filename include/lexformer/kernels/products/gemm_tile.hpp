// SPDX-License-Identifier: MIT
// A tile of the matrix product (gemm_blocks.hpp) in vector registers. One source for AVX2 and AVX-512, float, double and bfloat16, with the
// compilers' vector types and an overload of multiply_add for each. AVX-512 BF16 multiplies pairs of bfloat16 and sums in float; there, k
// counts in pairs.
#pragma once

#include "lexformer/kernels/products/instructions.hpp"

#if LEXFORMER_LEVEL >= 1
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/kernels/products/gemm_blocks.hpp"
#include "lexformer/kernels/products/transpose16.hpp"

namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME {

// a b + c, rounded once. An intrinsic rather than an expression, since it is up to the compiler whether an expression is fused.
#if LEXFORMER_LEVEL >= 3
inline constexpr std::size_t vector_bytes = 64;
inline __m512 multiply_add(float a, __m512 b, __m512 c) { return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c); }
inline __m512d multiply_add(double a, __m512d b, __m512d c) { return _mm512_fmadd_pd(_mm512_set1_pd(a), b, c); }
#if LEXFORMER_LEVEL >= 5
/// c + a_0 b_0 + a_1 b_1 for pairs of bfloat16: `a` holds one, `b` 16 of them.
inline __m512 multiply_add(std::uint32_t a, __m512 b, __m512 c) {
  const __m512i pair = _mm512_set1_epi32(static_cast<int>(a));
  __m512bh x, y;
  std::memcpy(&x, &pair, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  return _mm512_dpbf16_ps(c, x, y);
}
#endif
#else
inline constexpr std::size_t vector_bytes = 32;
inline __m256 multiply_add(float a, __m256 b, __m256 c) { return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c); }
inline __m256d multiply_add(double a, __m256d b, __m256d c) { return _mm256_fmadd_pd(_mm256_set1_pd(a), b, c); }
#endif

/// A and B of type In, C of its compute type T.
template <class Number>
struct GemmTile {
  using In = Number;
  using Packed = In;
  using T = accumulate_t<In>;
  static constexpr std::size_t bytes = vector_bytes;
  // Elements of k that one instruction multiplies. NOLINTNEXTLINE(bugprone-sizeof-expression): 1 where In is T
  static constexpr std::size_t group = sizeof(T) / sizeof(In), step = group;
  using Group = std::conditional_t<group == 1, In, std::uint32_t>;
  // 12 (AVX2) or 28 (AVX-512) sums, 2 vectors of B and 1 of A fit into 16 or 32 registers.
  static constexpr std::size_t rows = bytes == 64 ? 14 : 6, lanes = bytes / sizeof(T), columns = 2 * lanes;
  static constexpr std::size_t depth = 1536 / sizeof(In);  // of a panel: 24 KiB (AVX2) or 48 KiB (AVX-512), half in double
  using Vector [[gnu::vector_size(bytes)]] = T;

  /// Computes a tile: C (R, columns) = alpha A B + beta D, with k = groups * group. Element (r, p) of A is at a[r lda + p], or A is a
  /// packed panel (k, rows); B is a packed panel (k, columns). beta = 0 does not read D.
  template <std::size_t R, bool Packed>
  static void multiply(std::size_t groups, const In* a, std::size_t lda, const In* b, T alpha, T beta, const T* d, std::size_t ldd, T* c,
                       std::size_t ldc) {
    Vector sum[R][2] = {};
// Unrolled, since loop overhead takes issue slots that hyperthreads share.
#pragma GCC unroll 4
    for (; groups > 0; --groups, a += (Packed ? rows : 1) * group, b += columns * group) {
      Vector b0, b1;
      std::memcpy(&b0, b, bytes);
      std::memcpy(&b1, b + lanes * group, bytes);
      for_rows<R>([&]<std::size_t r>() __attribute__((always_inline)) {
        Group x;
        std::memcpy(&x, a + r * (Packed ? group : lda), sizeof x);
        sum[r][0] = multiply_add(x, b0, sum[r][0]);
        sum[r][1] = multiply_add(x, b1, sum[r][1]);
      });
    }
    for_rows<R>([&]<std::size_t r>() __attribute__((always_inline)) {
      for (std::size_t v = 0; v < 2; ++v) {
        Vector y = {};
        if (beta != T{0}) {
          std::memcpy(&y, d + r * ldd + v * lanes, bytes);
          y *= beta;
        }
        y = multiply_add(alpha, sum[r][v], y);
        std::memcpy(c + r * ldc + v * lanes, &y, bytes);
      }
    });
  }

  /// Packs `width` <= W vectors of length k into a panel (k / group, W, group); the last group is filled with zeros. Element p of vector j
  /// is at from[j stride + p], or (Rows) at from[p stride + j]. Columns from `width` on are not written.
  template <std::size_t W, bool Rows>
  static void pack(std::size_t width, std::size_t k, const In* from, std::size_t stride, In* to) {
    const auto element = [&](std::size_t j, std::size_t p) __attribute__((always_inline)) {
      return from[Rows ? p * stride + j : j * stride + p];
    };
    std::size_t begin = 0;
#if LEXFORMER_LEVEL >= 3
    if constexpr (!Rows && W % 16 == 0 && group * sizeof(In) == 4) {
      // 16 groups of 16 vectors at a time, transposed in registers.
      const std::size_t end = width == W ? k / (16 * group) * (16 * group) : 0;
      for (; begin < end; begin += 16 * group)
        for (std::size_t j = 0; j < W; j += 16) {
          __m512i groups[16];
          for (std::size_t i = 0; i < 16; ++i) groups[i] = _mm512_loadu_si512(from + (j + i) * stride + begin);
          transpose16(groups);
          for (std::size_t i = 0; i < 16; ++i) _mm512_storeu_si512(to + begin * W + (i * W + j) * group, groups[i]);
        }
    }
#endif
    const auto copy = [&](auto w) __attribute__((always_inline)) {
      std::size_t p = begin;
      for (; p + group <= k; p += group)
        for (std::size_t j = 0; j < w; ++j) {
          if constexpr (group == 1) {
            to[p * W + j] = element(j, p);
          } else {
            const std::uint32_t pair = element(j, p).bits | std::uint32_t{element(j, p + 1).bits} << 16;
            std::memcpy(to + p * W + j * group, &pair, sizeof pair);
          }
        }
      if (group == 1 || p == k) return;
      std::fill_n(to + p * W, w * group, In{});
      for (std::size_t j = 0; j < w; ++j) to[p * W + j * group] = element(j, p);
    };
    if (width == W)
      copy(std::integral_constant<std::size_t, W>{});  // unrolled
    else
      copy(width);
  }

  static void pack_a(bool trans, std::size_t count, std::size_t k, const In* a, std::size_t lda, In* to) {
    (trans ? pack<rows, true> : pack<rows, false>)(count, k, a, lda, to);
  }
  static void pack_b(bool trans, std::size_t width, std::size_t k, const In* b, std::size_t ldb, In* to) {
    (trans ? pack<columns, false> : pack<columns, true>)(width, k, b, ldb, to);
  }

  /// C (count, columns) = alpha A B + beta D with A packed or in place; see the other function.
  void multiply(bool packed, std::size_t count, std::size_t k, const In* a, std::size_t lda, const In* b, T alpha, T beta, const T* d,
                std::size_t ldd, T* c, std::size_t ldc) {
    kernels[packed][count - 1](k / group, a, lda, b, alpha, beta, d, ldd, c, ldc);
  }

 private:
  // A table, since arguments captured by a lambda for each tile cost 5 % of a product.
  using Kernel = void (*)(std::size_t, const In*, std::size_t, const In*, T, T, const T*, std::size_t, T*, std::size_t);
  template <bool Packed, std::size_t... r>
  static constexpr std::array<Kernel, rows> of_counts(std::index_sequence<r...>) {
    return {multiply<r + 1, Packed>...};
  }
  static constexpr std::array<std::array<Kernel, rows>, 2> kernels{of_counts<false>(std::make_index_sequence<rows>{}),
                                                                   of_counts<true>(std::make_index_sequence<rows>{})};
};

/// GemmTile<float> for A and B of bfloat16, which are widened when they are packed.
struct WideTile {
  using In = bfloat16;
  using Packed = float;
  using T = float;
  using Tile = GemmTile<float>;
  static constexpr std::size_t step = Tile::step, rows = Tile::rows, columns = Tile::columns, depth = Tile::depth;

  static void pack_a(bool trans, std::size_t count, std::size_t k, const In* a, std::size_t lda, float* to) {
    const std::size_t width = trans ? count : k;
    Tile::pack_a(trans, count, k, widened(trans ? k : count, width, a, lda), width, to);
  }
  static void pack_b(bool trans, std::size_t width, std::size_t k, const In* b, std::size_t ldb, float* to) {
    const std::size_t length = trans ? k : width;
    Tile::pack_b(trans, width, k, widened(trans ? width : k, length, b, ldb), length, to);
  }
  void multiply(bool packed, std::size_t count, std::size_t k, const float* a, std::size_t lda, const float* b, float alpha, float beta,
                const float* d, std::size_t ldd, float* c, std::size_t ldc) {
    tile_.multiply(packed, count, k, a, lda, b, alpha, beta, d, ldd, c, ldc);
  }

 private:
  static const float* widened(std::size_t count, std::size_t width, const In* x, std::size_t stride) {
    wide.resize(std::max(wide.size(), count * width));
    float* const to = wide.data();
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t p = 0; p < width; ++p) to[i * width + p] = static_cast<float>(x[i * stride + p]);
    return to;
  }
  static thread_local inline std::vector<float> wide;  // reused between calls
  Tile tile_{};
};

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
#endif
