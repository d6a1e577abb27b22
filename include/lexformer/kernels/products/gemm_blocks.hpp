// SPDX-License-Identifier: MIT
// The matrix product by tiles, after Goto & van de Geijn (2008), "Anatomy of High-Performance Matrix Multiplication": a tile of C stays in
// registers, a panel of op(B) in the L1 cache, a block of rows of op(A) in the L2 cache. op(B) is packed once for all threads. A is read
// in place, or packed if it is stored transposed (its columns would map to few cache sets).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/products/feed_forward_args.hpp"
#include "lexformer/kernels/products/instructions.hpp"

namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME {

/// The number of rows of A in a block, whose part of A stays in the L2 cache: whole tiles.
inline std::size_t rows_of_block(std::size_t m, std::size_t rows) {
  return std::clamp<std::size_t>((m / 8 + rows - 1) / rows, 96 / rows, 192 / rows) * rows;
}

/// Calls body(begin, end, first, last) for blocks of rows and ranges of `panels` panels, in parallel. If the blocks of rows are few, the
/// panels are also shared out, into about eight parts in total.
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

/// Tile: GemmTile, WideTile or AmxGemmTile. A and B are packed as Tile::Packed.
template <class Tile>
struct BlockedGemm {
  using In = typename Tile::In;
  using T = typename Tile::T;
  using Packed = typename Tile::Packed;
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

  /// A feed-forward block (gemm.hpp). The inner values of a block of rows stay in a cache.
  static bool feed_forward(const FeedForward<T>& f) requires std::is_same_v<In, T> {
    const std::size_t block = rows_of_block(f.rows, rows);
    const bool small = f.rows < 8 * (96 / rows * rows) || f.in == 0 || f.inner == 0;
    if (small || std::max(f.in, f.out) * f.inner > most_packed || block * f.inner > most_packed / 4) return false;
    const Panels w1 = pack(true, f.in, f.w1, f.in, 0, f.inner, b_buffer);
    const Panels w2 = pack(true, f.inner, f.w2, f.inner, 0, f.out, second_buffer);
    parallel_for(f.rows, block, [&](std::size_t begin, std::size_t end) {
      const std::size_t count = end - begin;
      T* const h = room(hidden, count * f.inner);
      multiply(w1, 0, count, 0, w1.count, false, T{1}, f.x + begin * f.in, f.in, T{0}, h, f.inner, f.b1);
      f.activation(count * f.inner, h);
      multiply(w2, 0, count, 0, w2.count, false, T{1}, h, f.inner, T{0}, f.y + begin * f.out, f.out, f.b2);
    });
    return true;
  }

 private:
  static constexpr std::size_t most_packed = std::size_t{1} << 22;  // elements of one matrix that are packed at a time

  /// Columns of op(B), packed: for each part of k, of d elements, `count` panels (whole(d), columns). Columns that the last panel lacks are
  /// zeros.
  struct Panels {
    std::size_t k, part, first, last, count;
    Packed* packed;
    Packed* at(std::size_t j, std::size_t p, std::size_t d) const { return packed + count * columns * p + j * columns * whole(d); }
    std::size_t column(std::size_t j) const { return first + j * columns; }
    std::size_t width(std::size_t j) const { return std::min(columns, last - column(j)); }
  };

  /// Packs the columns first ... last - 1, in parallel. k is split into equal parts of at most the depth of a panel.
  static Panels pack(bool trans_b, std::size_t k, const In* b, std::size_t ldb, std::size_t first, std::size_t last,
                     std::vector<Packed>& buffer) {
    const std::size_t parts = (k + depth - 1) / depth, count = (last - first + columns - 1) / columns;
    const Panels panels{k, whole((k + parts - 1) / parts), first, last, count, room(buffer, count * columns * whole(k))};
    parallel_for(count, 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j)
        for (std::size_t p = 0; p < k; p += panels.part) {
          const std::size_t d = std::min(panels.part, k - p), at = panels.column(j);
          Packed* const to = panels.at(j, p, d);
          if (panels.width(j) < columns) std::fill_n(to, whole(d) * columns, Packed{});
          Tile::pack_b(trans_b, panels.width(j), d, trans_b ? b + at * ldb + p : b + p * ldb + at, ldb, to);
        }
    });
    return panels;
  }

  /// The rows begin ... end - 1 of C in the panels j_begin ... j_end - 1.
  template <class C>
  static void multiply(const Panels& b, std::size_t begin, std::size_t end, std::size_t j_begin, std::size_t j_end, bool trans_a, T alpha,
                       const In* a, std::size_t lda, T beta, C* c, std::size_t ldc, const T* bias) {
    T edge[rows * columns];
    Tile tile;
    const bool packs_a = trans_a || b.k % Tile::step != 0 || !std::is_same_v<In, Packed>;
    Packed* const packed_a = packs_a ? room(a_buffer, (end - begin + rows) * b.part) : nullptr;
    for (std::size_t p = 0; p < b.k; p += b.part) {
      const std::size_t d = std::min(b.part, b.k - p);
      for (std::size_t i = begin; packs_a && i < end; i += rows) {
        Packed* const panel_a = packed_a + (i - begin) * whole(d);
        Tile::pack_a(trans_a, std::min(rows, end - i), d, trans_a ? a + p * lda + i : a + i * lda + p, lda, panel_a);
      }
      for (std::size_t j = j_begin; j < j_end; ++j)
        for (std::size_t i = begin; i < end; i += rows) {
          const std::size_t r = std::min(rows, end - i), w = b.width(j), column = b.column(j);
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
            tile.multiply(true, r, whole(d), packed_a + (i - begin) * whole(d), whole(d), b.at(j, p, d), alpha, factor, before, ldd, y,
                          ldy);
          else if constexpr (std::is_same_v<In, Packed>)
            tile.multiply(false, r, d, a + i * lda + p, lda, b.at(j, p, d), alpha, factor, before, ldd, y, ldy);
          if (!complete)
            for (std::size_t q = 0; q < r; ++q)
              std::transform(edge + q * columns, edge + q * columns + w, to + q * ldc, [](T x) { return static_cast<C>(x); });
        }
    }
  }

  template <class C>
  static void product_to(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, T alpha, const In* a, std::size_t lda,
                         const In* b, std::size_t ldb, T beta, C* c, std::size_t ldc, const T* bias) {
    // A very wide B (a vocabulary) is packed in parts.
    const std::size_t most = std::max<std::size_t>(1, most_packed / (k * columns)) * columns;
    for (std::size_t first = 0; first < n; first += most) {
      const Panels panels = pack(trans_b, k, b, ldb, first, std::min(n, first + most), b_buffer);
      for_blocks(m, rows, panels.count, m * n * k, [&](std::size_t begin, std::size_t end, std::size_t j_begin, std::size_t j_end) {
        multiply(panels, begin, end, j_begin, j_end, trans_a, alpha, a, lda, beta, c, ldc, bias);
      });
    }
  }

  /// `count` elements of a buffer, which grows if needed, aligned to a cache line.
  static Packed* room(std::vector<Packed>& buffer, std::size_t count) {
    constexpr std::size_t line = 64 / sizeof(Packed);
    buffer.resize(std::max(buffer.size(), count + line - 1));
    const std::size_t past = reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 / sizeof(Packed);
    return buffer.data() + (line - past) % line;
  }

  static thread_local inline std::vector<Packed> a_buffer, b_buffer, second_buffer, hidden;  // reused between calls
};

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
