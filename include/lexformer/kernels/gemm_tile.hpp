// SPDX-License-Identifier: MIT
// The matrix product in vector registers, after Goto & van de Geijn (2008), "Anatomy of High-Performance Matrix Multiplication":
// a tile of C stays in registers, a panel of op(B) in the first cache, a block of rows of op(A) in the second. op(B) is packed once
// for all threads; A is read in place, or packed where it is stored transposed (its columns would fall into few cache sets).
// Written with the compilers' vector types: one source for AVX2 and AVX-512, float and double.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "lexformer/core/parallel.hpp"

namespace lexformer {
namespace detail {

template <class T>
struct GemmTile {
#if defined(__AVX512F__)
  static constexpr std::size_t bytes = 64, rows = 14;  // 28 sums, 2 of B and 1 of A in 32 registers
#else
  static constexpr std::size_t bytes = 32, rows = 6;  // 12 sums, 2 of B and 1 of A in 16 registers
#endif
  static constexpr std::size_t lanes = bytes / sizeof(T), columns = 2 * lanes;
  static constexpr std::size_t depth = 1536 / sizeof(T);  // of a panel: 24 or 48 KiB
  using Vector [[gnu::vector_size(bytes)]] = T;

  /// C (R, columns) = alpha A B + beta C. A: element (r, p) at a[r lda + p], or at a[p rows + r] when it is packed; B: a panel (k,
  /// columns).
  template <std::size_t R, bool Packed>
  static void multiply(std::size_t k, const T* a, std::size_t lda, const T* b, T alpha, T beta, T* c, std::size_t ldc) {
    // Folds, not loops: the sums are in registers only if every index is a constant.
    const auto for_rows = [](auto&& body) {
      [&]<std::size_t... r>(std::index_sequence<r...>) { (body.template operator()<r>(), ...); }
      (std::make_index_sequence<R>{});
    };
    Vector sum[R][2] = {};
    for (std::size_t p = 0; p < k; ++p) {
      Vector b0, b1;
      std::memcpy(&b0, b + p * columns, bytes);
      std::memcpy(&b1, b + p * columns + lanes, bytes);
      for_rows([&]<std::size_t r>() {
        const T x = a[Packed ? p * rows + r : r * lda + p];
        sum[r][0] += x * b0;
        sum[r][1] += x * b1;
      });
    }
    for_rows([&]<std::size_t r>() {
      T* to = c + r * ldc;
      for (std::size_t v = 0; v < 2; ++v) {
        Vector y = alpha * sum[r][v];
        if (beta != T{0}) {
          Vector before;
          std::memcpy(&before, to + v * lanes, bytes);
          y += beta * before;
        }
        std::memcpy(to + v * lanes, &y, bytes);
      }
    });
  }

  /// The same for any number of rows up to `rows`.
  template <bool Packed, std::size_t R = rows>
  static void multiply_rows(std::size_t count, std::size_t k, const T* a, std::size_t lda, const T* b, T alpha, T beta, T* c,
                            std::size_t ldc) {
    if (count == R)
      multiply<R, Packed>(k, a, lda, b, alpha, beta, c, ldc);
    else if constexpr (R > 1)
      multiply_rows<Packed, R - 1>(count, k, a, lda, b, alpha, beta, c, ldc);
  }

  /// `width` <= W vectors of length k, element p of vector j at from[j step + p] or (Rows) at from[p step + j], as a panel (k, W); what
  /// is missing stays as it is.
  template <std::size_t W, bool Rows>
  static void pack(std::size_t width, std::size_t k, const T* from, std::size_t step, T* to) {
    const auto copy = [&](auto w) {
      for (std::size_t p = 0; p < k; ++p)
        for (std::size_t j = 0; j < w; ++j) to[p * W + j] = from[Rows ? p * step + j : j * step + p];
    };
    if (width == W)
      copy(std::integral_constant<std::size_t, W>{});  // unrolled
    else
      copy(width);
  }
};

}  // namespace detail

/// What it computes: gemm.hpp.
template <class T>
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const T* a, std::size_t lda, const T* b,
          std::size_t ldb, T beta, T* c, std::size_t ldc) {
  using Tile = detail::GemmTile<T>;
  constexpr std::size_t rows = Tile::rows, columns = Tile::columns;
  if (k == 0) {
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) c[i * ldc + j] = beta == T{0} ? T{0} : beta * c[i * ldc + j];
    return;
  }
  static thread_local std::vector<T> b_buffer, a_buffer;  // kept from call to call
  // Equal parts of k, each at the most a panel deep; equal parts of n, so that a very wide B (a vocabulary) is packed piece by piece.
  const std::size_t parts = (k + Tile::depth - 1) / Tile::depth, depth = (k + parts - 1) / parts;
  const std::size_t panels = (n + columns - 1) / columns, most = std::max<std::size_t>(1, (std::size_t{1} << 22) / (k * columns));
  for (std::size_t first = 0; first < panels; first += most) {
    const std::size_t count = std::min(most, panels - first);
    b_buffer.resize(std::max(b_buffer.size(), count * columns * k));
    T* const packed = b_buffer.data();
    const auto panel = [=](std::size_t j, std::size_t p, std::size_t d) { return packed + count * columns * p + j * columns * d; };
    const auto width = [=](std::size_t j) { return std::min(columns, n - (first + j) * columns); };
    parallel_for(count, 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j)
        for (std::size_t p = 0; p < k; p += depth) {
          const std::size_t d = std::min(depth, k - p), at = (first + j) * columns;
          T* to = panel(j, p, d);
          if (width(j) < columns) std::fill_n(to, d * columns, T{0});
          if (trans_b)
            Tile::template pack<columns, false>(width(j), d, b + at * ldb + p, ldb, to);
          else
            Tile::template pack<columns, true>(width(j), d, b + p * ldb + at, ldb, to);
        }
    });
    // About eight blocks: enough for threads, and A's part stays in the second cache.
    const std::size_t block = std::clamp<std::size_t>((m / 8 + rows - 1) / rows, 96 / rows, 192 / rows) * rows;
    parallel_for(m, block, [&](std::size_t begin, std::size_t end) {
      T edge[rows * columns];
      if (trans_a) a_buffer.resize(std::max(a_buffer.size(), (block + rows) * depth));
      for (std::size_t p = 0; p < k; p += depth) {
        const std::size_t d = std::min(depth, k - p);
        const T factor = p == 0 ? beta : T{1};
        if (trans_a)
          for (std::size_t i = begin; i < end; i += rows)
            Tile::template pack<rows, true>(std::min(rows, end - i), d, a + p * lda + i, lda, a_buffer.data() + (i - begin) * d);
        for (std::size_t j = 0; j < count; ++j)
          for (std::size_t i = begin; i < end; i += rows) {
            const std::size_t r = std::min(rows, end - i), w = width(j);
            T* const to = c + i * ldc + (first + j) * columns;
            const bool whole = w == columns;
            if (!whole && factor != T{0})
              for (std::size_t q = 0; q < r; ++q) std::copy_n(to + q * ldc, w, edge + q * columns);
            T* const y = whole ? to : edge;
            const std::size_t ldy = whole ? ldc : columns;
            if (trans_a)
              Tile::template multiply_rows<true>(r, d, a_buffer.data() + (i - begin) * d, rows, panel(j, p, d), alpha, factor, y, ldy);
            else
              Tile::template multiply_rows<false>(r, d, a + i * lda + p, lda, panel(j, p, d), alpha, factor, y, ldy);
            if (!whole)
              for (std::size_t q = 0; q < r; ++q) std::copy_n(edge + q * columns, w, to + q * ldc);
          }
      }
    });
  }
}

}  // namespace lexformer
