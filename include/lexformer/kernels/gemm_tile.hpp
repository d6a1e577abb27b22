// SPDX-License-Identifier: MIT
// The matrix product in vector registers, after Goto & van de Geijn (2008), "Anatomy of High-Performance Matrix Multiplication":
// a tile of C stays in registers, a panel of op(B) in the L1 cache, a block of rows of op(A) in the L2 cache. op(B) is packed once for
// all threads. A is read in place, or packed if it is stored transposed (its columns would map to few cache sets).
// One source for AVX2 and AVX-512, float, double and bfloat16, with the compilers' vector types and an overload of multiply_add for each.
// AVX-512 BF16 multiplies pairs of bfloat16 and sums in float; there, k counts in pairs.
#pragma once

#include "lexformer/kernels/instructions.hpp"

#if LEXFORMER_LEVEL >= 1
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/bfloat16.hpp"
#include "lexformer/core/parallel.hpp"

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
template <class In>
struct GemmTile {
  using T = accumulate_t<In>;
  static constexpr std::size_t bytes = vector_bytes;
  // Elements of k that one instruction multiplies. NOLINTNEXTLINE(bugprone-sizeof-expression): 1 where In is T
  static constexpr std::size_t group = sizeof(T) / sizeof(In);
  using Group = std::conditional_t<group == 1, In, std::uint32_t>;
  // 12 (AVX2) or 28 (AVX-512) sums, 2 vectors of B and 1 of A fit into 16 or 32 registers.
  static constexpr std::size_t rows = bytes == 64 ? 14 : 6, lanes = bytes / sizeof(T), columns = 2 * lanes;
  static constexpr std::size_t depth = 1536 / sizeof(In);  // of a panel: 24 KiB (AVX2) or 48 KiB (AVX-512), half in double
  using Vector [[gnu::vector_size(bytes)]] = T;

  static constexpr std::size_t whole_groups(std::size_t k) { return (k + group - 1) / group * group; }

  /// Computes a tile: C (R, columns) = alpha A B + beta D, with k = groups * group. Element (r, p) of A is at a[r lda + p], or A is a
  /// packed panel (k, rows); B is a packed panel (k, columns). beta = 0 does not read D.
  template <std::size_t R, bool Packed>
  static void multiply(std::size_t groups, const In* a, std::size_t lda, const In* b, T alpha, T beta, const T* d, std::size_t ldd, T* c,
                       std::size_t ldc) {
    // Folds instead of loops: the sums stay in registers only if every index is a constant and all of it is inlined.
    const auto for_rows = [](auto&& body) __attribute__((always_inline)) {
      [&]<std::size_t... r>(std::index_sequence<r...>) __attribute__((always_inline)) { (body.template operator()<r>(), ...); }
      (std::make_index_sequence<R>{});
    };
    Vector sum[R][2] = {};
// Unrolled, since loop overhead takes issue slots that hyperthreads share.
#pragma GCC unroll 4
    for (; groups > 0; --groups, a += (Packed ? rows : 1) * group, b += columns * group) {
      Vector b0, b1;
      std::memcpy(&b0, b, bytes);
      std::memcpy(&b1, b + lanes * group, bytes);
      for_rows([&]<std::size_t r>() __attribute__((always_inline)) {
        Group x;
        std::memcpy(&x, a + r * (Packed ? group : lda), sizeof x);
        sum[r][0] = multiply_add(x, b0, sum[r][0]);
        sum[r][1] = multiply_add(x, b1, sum[r][1]);
      });
    }
    for_rows([&]<std::size_t r>() __attribute__((always_inline)) {
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

  /// multiply() for any number of rows up to `rows`.
  template <bool Packed, std::size_t R = rows, class... Rest>
  static void multiply_rows(std::size_t count, Rest... rest) {
    if (count == R)
      multiply<R, Packed>(rest...);
    else if constexpr (R > 1)
      multiply_rows<Packed, R - 1>(count, rest...);
  }

  /// Packs `width` <= W vectors of length k into a panel (k / group, W, group); the last group is filled with zeros. Element p of vector j
  /// is at from[j step + p], or (Rows) at from[p step + j]. Columns from `width` on are not written.
  template <std::size_t W, bool Rows>
  static void pack(std::size_t width, std::size_t k, const In* from, std::size_t step, In* to) {
    const auto element = [&](std::size_t j, std::size_t p) __attribute__((always_inline)) {
      return from[Rows ? p * step + j : j * step + p];
    };
    const auto copy = [&](auto w) __attribute__((always_inline)) {
      std::size_t p = 0;
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

  /// The whole product (gemm.hpp).
  static void product(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const In* a, std::size_t lda,
                      const In* b, std::size_t ldb, T beta, T* c, std::size_t ldc, const T* bias) {
    if (k == 0) {
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) c[i * ldc + j] = bias != nullptr ? bias[j] : beta == T{0} ? T{0} : beta * c[i * ldc + j];
      return;
    }
    // Split k into equal parts of at most the depth of a panel, and n into parts, so that a very wide B (a vocabulary) is packed in parts.
    const std::size_t parts = (k + depth - 1) / depth, part = whole_groups((k + parts - 1) / parts);
    const std::size_t panels = (n + columns - 1) / columns, most = std::max<std::size_t>(1, (std::size_t{1} << 22) / (k * columns));
    for (std::size_t first = 0; first < panels; first += most) {
      const std::size_t count = std::min(most, panels - first);
      b_buffer.resize(std::max(b_buffer.size(), count * columns * whole_groups(k)));
      In* const packed = b_buffer.data();
      const auto panel = [=](std::size_t j, std::size_t p, std::size_t d) {
        return packed + count * columns * p + j * columns * whole_groups(d);
      };
      const auto width = [=](std::size_t j) { return std::min(columns, n - (first + j) * columns); };
      parallel_for(count, 8, [&](std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; ++j)
          for (std::size_t p = 0; p < k; p += part) {
            const std::size_t d = std::min(part, k - p), at = (first + j) * columns;
            In* to = panel(j, p, d);
            if (width(j) < columns) std::fill_n(to, whole_groups(d) * columns, In{});
            if (trans_b)
              pack<columns, false>(width(j), d, b + at * ldb + p, ldb, to);
            else
              pack<columns, true>(width(j), d, b + p * ldb + at, ldb, to);
          }
      });
      // Blocks of rows whose part of A stays in the L2 cache. If they are few, columns are split, too, into about eight blocks in total.
      const std::size_t block = std::clamp<std::size_t>((m / 8 + rows - 1) / rows, 96 / rows, 192 / rows) * rows,
                        blocks = (m + block - 1) / block;
      const std::size_t groups = m * n * k < (std::size_t{1} << 20) ? 1 : std::clamp<std::size_t>(8 / blocks, 1, count);
      const std::size_t of_group = (count + groups - 1) / groups;
      parallel_for(blocks * groups, 1, [&](std::size_t unit, std::size_t) {
        const std::size_t begin = unit / groups * block, end = std::min(m, begin + block);
        const std::size_t j_begin = unit % groups * of_group, j_end = std::min(count, j_begin + of_group);
        T edge[rows * columns];
        const bool packs_a = trans_a || k % group != 0;
        if (packs_a) a_buffer.resize(std::max(a_buffer.size(), (block + rows) * part));
        In* const packed_a = a_buffer.data();
        for (std::size_t p = 0; p < k; p += part) {
          const std::size_t d = std::min(part, k - p);
          for (std::size_t i = begin; packs_a && i < end; i += rows) {
            In* const panel_a = packed_a + (i - begin) * whole_groups(d);
            if (trans_a)
              pack<rows, true>(std::min(rows, end - i), d, a + p * lda + i, lda, panel_a);
            else
              pack<rows, false>(std::min(rows, end - i), d, a + i * lda + p, lda, panel_a);
          }
          for (std::size_t j = j_begin; j < j_end; ++j)
            for (std::size_t i = begin; i < end; i += rows) {
              const std::size_t r = std::min(rows, end - i), w = width(j), column = (first + j) * columns;
              T* const to = c + i * ldc + column;
              // The first part of k adds the bias or beta C, the others add C. Incomplete tiles are computed in `edge`.
              const bool from_bias = p == 0 && bias != nullptr, whole = w == columns;
              const T factor = p == 0 && !from_bias ? beta : T{1};
              const T* before = from_bias ? bias + column : to;
              std::size_t ldd = from_bias ? 0 : ldc;
              if (!whole && factor != T{0}) {
                for (std::size_t q = 0; q < r; ++q) std::copy_n(before + q * ldd, w, edge + q * columns);
                before = edge;
                ldd = columns;
              }
              T* const y = whole ? to : edge;
              const std::size_t ldy = whole ? ldc : columns;
              if (packs_a)
                multiply_rows<true>(r, whole_groups(d) / group, packed_a + (i - begin) * whole_groups(d), rows, panel(j, p, d), alpha,
                                    factor, before, ldd, y, ldy);
              else
                multiply_rows<false>(r, d / group, a + i * lda + p, lda, panel(j, p, d), alpha, factor, before, ldd, y, ldy);
              if (!whole)
                for (std::size_t q = 0; q < r; ++q) std::copy_n(edge + q * columns, w, to + q * ldc);
            }
        }
      });
    }
  }

 private:
  static thread_local inline std::vector<In> a_buffer, b_buffer;  // reused between calls
};

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
#endif
