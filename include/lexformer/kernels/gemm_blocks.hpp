// SPDX-License-Identifier: MIT
// The matrix product by tiles, after Goto & van de Geijn (2008), "Anatomy of High-Performance Matrix Multiplication": a tile of C stays in
// registers, a panel of op(B) in the L1 cache, a block of rows of op(A) in the L2 cache. op(B) is packed once for all threads. A is read
// in place, or packed if it is stored transposed (its columns would map to few cache sets).
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/instructions.hpp"

namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME {

/// The number of rows of A in a block, whose part of A stays in the L2 cache: whole tiles.
inline std::size_t rows_of_block(std::size_t m, std::size_t rows) {
  return std::clamp<std::size_t>((m / 8 + rows - 1) / rows, 96 / rows, 192 / rows) * rows;
}

/// Calls body(begin, end, first, last) for blocks of rows and ranges of `panels` panels, in parallel. If the blocks of rows are few, the
/// panels are shared out, too, into about eight parts in total.
template <class Body>
void for_blocks(std::size_t m, std::size_t rows, std::size_t panels, std::size_t multiplications, Body&& body) {
  const std::size_t block = rows_of_block(m, rows), blocks = (m + block - 1) / block;
  if (blocks == 0 || panels == 0) return;
  const std::size_t parts = multiplications < (std::size_t{1} << 20) ? 1 : std::clamp<std::size_t>(8 / blocks, 1, panels);
  const std::size_t of_part = (panels + parts - 1) / parts;
  parallel_for(blocks * parts, 1, [&](std::size_t unit, std::size_t) {
    const std::size_t begin = unit / parts * block, first = unit % parts * of_part;
    body(begin, std::min(m, begin + block), first, std::min(panels, first + of_part));
  });
}

/// Calls body with the template argument r = 0 ... R - 1. Sums stay in registers only if every index is a constant and all of it is
/// inlined.
template <std::size_t R, class Body>
[[gnu::always_inline]] inline void for_rows(Body&& body) {
  [&]<std::size_t... r>(std::index_sequence<r...>) __attribute__((always_inline)) { (body.template operator()<r>(), ...); }
  (std::make_index_sequence<R>{});
}

/// Calls body with the template argument `count`, which is from 1 to R.
template <std::size_t R, class Body>
void with_rows(std::size_t count, Body&& body) {
  if (count == R)
    body.template operator()<R>();
  else if constexpr (R > 1)
    with_rows<R - 1>(count, body);
}

/// Tile: GemmTile or AmxGemmTile.
template <class Tile>
struct BlockedGemm {
  using In = typename Tile::In;
  using T = typename Tile::T;
  static constexpr std::size_t rows = Tile::rows, columns = Tile::columns, depth = Tile::depth;

  /// k, filled with zeros up to whole steps of the tile.
  static constexpr std::size_t whole(std::size_t k) { return (k + Tile::step - 1) / Tile::step * Tile::step; }

  /// gemm_rounded (gemm.hpp): k is not cut, so that the sums of a tile are complete before they are rounded.
  static bool rounded_product(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const In* a,
                              std::size_t lda, const In* b, std::size_t ldb, In* c, std::size_t ldc, const T* bias) {
    if (k == 0 || k > depth) return false;
    product_to(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, T{0}, c, ldc, bias);
    return true;
  }
  /// The whole product (gemm.hpp).
  static void product(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const In* a, std::size_t lda,
                      const In* b, std::size_t ldb, T beta, T* c, std::size_t ldc, const T* bias) {
    if (k == 0) {
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) c[i * ldc + j] = bias != nullptr ? bias[j] : beta == T{0} ? T{0} : beta * c[i * ldc + j];
      return;
    }
    product_to(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, bias);
  }

 private:
  template <class C>
  static void product_to(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const In* a, std::size_t lda,
                         const In* b, std::size_t ldb, T beta, C* c, std::size_t ldc, const T* bias) {
    // Split k into equal parts of at most the depth of a panel, and n into parts, so that a very wide B (a vocabulary) is packed in parts.
    const std::size_t parts = (k + depth - 1) / depth, part = whole((k + parts - 1) / parts);
    const std::size_t panels = (n + columns - 1) / columns, most = std::max<std::size_t>(1, (std::size_t{1} << 22) / (k * columns));
    for (std::size_t first = 0; first < panels; first += most) {
      const std::size_t count = std::min(most, panels - first);
      b_buffer.resize(std::max(b_buffer.size(), count * columns * whole(k)));
      In* const packed = b_buffer.data();
      const auto panel = [=](std::size_t j, std::size_t p, std::size_t d) { return packed + count * columns * p + j * columns * whole(d); };
      const auto width = [=](std::size_t j) { return std::min(columns, n - (first + j) * columns); };
      parallel_for(count, 8, [&](std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; ++j)
          for (std::size_t p = 0; p < k; p += part) {
            const std::size_t d = std::min(part, k - p), at = (first + j) * columns;
            In* to = panel(j, p, d);
            if (width(j) < columns) std::fill_n(to, whole(d) * columns, In{});
            Tile::pack_b(trans_b, width(j), d, trans_b ? b + at * ldb + p : b + p * ldb + at, ldb, to);
          }
      });
      for_blocks(m, rows, count, m * n * k, [&](std::size_t begin, std::size_t end, std::size_t j_begin, std::size_t j_end) {
        T edge[rows * columns];
        Tile tile;
        const bool packs_a = trans_a || k % Tile::step != 0;
        if (packs_a) a_buffer.resize(std::max(a_buffer.size(), (end - begin + rows) * part));
        In* const packed_a = a_buffer.data();
        for (std::size_t p = 0; p < k; p += part) {
          const std::size_t d = std::min(part, k - p);
          for (std::size_t i = begin; packs_a && i < end; i += rows) {
            In* const panel_a = packed_a + (i - begin) * whole(d);
            Tile::pack_a(trans_a, std::min(rows, end - i), d, trans_a ? a + p * lda + i : a + i * lda + p, lda, panel_a);
          }
          for (std::size_t j = j_begin; j < j_end; ++j)
            for (std::size_t i = begin; i < end; i += rows) {
              const std::size_t r = std::min(rows, end - i), w = width(j), column = (first + j) * columns;
              C* const to = c + i * ldc + column;
              // The first part of k adds the bias or beta C, the others add C. Incomplete tiles are computed in `edge`.
              const bool from_bias = p == 0 && bias != nullptr, complete = w == columns && std::is_same_v<C, T>;
              const T factor = p == 0 && !from_bias ? beta : T{1};
              const T* before = from_bias ? bias + column : nullptr;
              std::size_t ldd = 0;
              T* y = edge;
              std::size_t ldy = columns;
              if constexpr (std::is_same_v<C, T>) {
                if (!from_bias) before = to, ldd = ldc;
                if (complete) y = to, ldy = ldc;
              }
              if (!complete && factor != T{0}) {
                for (std::size_t q = 0; q < r; ++q) std::copy_n(before + q * ldd, w, edge + q * columns);
                before = edge;
                ldd = columns;
              }
              if (packs_a)
                tile.multiply(true, r, whole(d), packed_a + (i - begin) * whole(d), whole(d), panel(j, p, d), alpha, factor, before, ldd, y,
                              ldy);
              else
                tile.multiply(false, r, d, a + i * lda + p, lda, panel(j, p, d), alpha, factor, before, ldd, y, ldy);
              if (!complete)
                for (std::size_t q = 0; q < r; ++q)
                  std::transform(edge + q * columns, edge + q * columns + w, to + q * ldc, [](T x) { return static_cast<C>(x); });
            }
        }
      });
    }
  }

  static thread_local inline std::vector<In> a_buffer, b_buffer;  // reused between calls
};

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
