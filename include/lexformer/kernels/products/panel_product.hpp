// SPDX-License-Identifier: MIT
// Shared by linear layers with packed weights (gemm_int8_tile.hpp, linear_bfloat16_tile.hpp): panels of 32 outputs, loops over tiles,
// GELU. Blocks as in gemm_blocks.hpp, but k is not cut: the sums of a tile stay in registers, and the panel of weights streams from the
// caches.
#pragma once

#include "lexformer/kernels/products/instructions.hpp"

#if LEXFORMER_LEVEL >= 1
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/products/amx_tile.hpp"
#include "lexformer/kernels/products/gemm_blocks.hpp"

namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME {

/// Computes tiles one after the other, and calls store(i, count, j, sums) for each, or for parts of it: in add(), in a later add(), or in
/// finish(), which is called last.
template <class Tile, class Sum, class Store>
class TileLoop {
 public:
  explicit TileLoop(Store& store) : store_(store) {}
  /// The sums of the rows i ... i + count - 1, at x, and of panel j.
  template <class In, class B>
  void add(std::size_t i, std::size_t count, std::size_t j, std::size_t steps, const In* x, std::size_t ldx, const B* panel) {
    with_rows<Tile::rows>(count, [&]<std::size_t R>() { Tile::template multiply<R>(steps, x, ldx, panel, sums_); });
    store_(i, count, j, sums_);
  }
  void finish() {}

 private:
  Store& store_;
  alignas(64) Sum sums_[Tile::rows * 32];
};
#if LEXFORMER_LEVEL >= 6
/// While AMX computes the sums of a tile, vectors store the sums of the tile before, a few rows in each step.
template <class Number, class Sum, class Store>
class TileLoop<AmxTile<Number>, Sum, Store> {
 public:
  explicit TileLoop(Store& store) : store_(store) {}
  template <class In, class B>
  void add(std::size_t i, std::size_t count, std::size_t j, std::size_t steps, const In* x, std::size_t ldx, const B* panel) {
    const std::size_t share = (count_ + steps - 1) / steps, next = 1 - current_;
    std::size_t done = 0;
    tile_.multiply(
        count, steps, x, ldx, panel, sums_[next], [&](std::size_t) __attribute__((always_inline)) {
          const std::size_t now = std::min(share, count_ - done);
          if (now > 0) store_(i_ + done, now, j_, sums_[current_] + 32 * done);
          done += now;
        });
    i_ = i, count_ = count, j_ = j, current_ = next;
  }
  void finish() {
    if (count_ > 0) store_(i_, count_, j_, sums_[current_]);
  }

 private:
  Store& store_;
  AmxTile<Number> tile_{};
  std::size_t i_ = 0, count_ = 0, j_ = 0, current_ = 0;
  alignas(64) Sum sums_[2][32 * 32];
};
#endif

/// Calls store(i, count, j, sums) for tiles of rows, or parts of them, and panels, with the sums (count, 32) of the rows i ... i + count -
/// 1 and the outputs 32 j ... 32 j + 31: each is sum_p x(row, p) w(output, p). In parallel. Rows of x are filled with zeros up to whole
/// steps of the tile.
template <class Tile, class Sum, class In, class Weights, class Store>
void for_tiles(std::size_t m, const In* x, std::size_t ldx, const Weights& w, Store&& store) {
  constexpr std::size_t rows = Tile::rows;
  const std::size_t steps = w.inputs_packed() / Tile::step;
  const std::size_t chunk = std::max<std::size_t>(1, (std::size_t{1} << 18) / w.panel_bytes());
  for_blocks(m, rows, w.panels(), m * w.outputs() * w.inputs(), [&](std::size_t begin, std::size_t end, std::size_t j, std::size_t last) {
    TileLoop<Tile, Sum, std::remove_reference_t<Store>> tiles(store);
    // A few panels at a time, which stay in the L2 cache, while a tile of rows stays in the L1 cache and is written side by side.
    for (; j < last; j += chunk)
      for (std::size_t i = begin; i < end; i += rows)
        for (std::size_t p = j; p < std::min(last, j + chunk); ++p)
          tiles.add(i, std::min(rows, end - i), p, steps, x + i * ldx, ldx, w.packed(p));
    tiles.finish();
  });
}

/// Calls both(begin, end) for blocks of about `wanted` rows, whose inner values stay in the L2 cache between the two layers of a
/// feed-forward block, in parallel. Few rows are one block: then the layers share out their panels.
template <class Tile, class Both>
void for_feed_forward(std::size_t m, std::size_t wanted, Both&& both) {
  const std::size_t block = (wanted + Tile::rows - 1) / Tile::rows * Tile::rows;
  if (m < 4 * block)
    both(0, m);
  else
    parallel_for(m, block, both);
}

// a b + c, rounded once
inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
#if LEXFORMER_LEVEL >= 1
inline __m256 fused(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
#endif
#if LEXFORMER_LEVEL >= 3
inline __m512 fused(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
#endif

/// x Phi(x) with an absolute error < 2.5e-6, far below a step of 8 or 16 bits, at a third of the operations of scalar::Gelu:
/// Phi(x) = 1/2 + c P(c^2), c = x limited to [-5, 5], P a weighted least-squares fit in 2 c^2 / 25 - 1 with Phi(5) = 1; 0 below -5.
/// V: float, or a vector of them.
template <class V>
[[gnu::always_inline]] inline V short_gelu(V x) {
  const V zero = {}, low = x < zero - 5.0f ? zero - 5.0f : x, c = low > zero + 5.0f ? zero + 5.0f : low;
  const V t = fused(c * c, zero + 0.08f, zero - 1.0f);
  V p = zero + 8.824934958e-04f;
  for (const float a : {-1.928094506e-03f, 1.148326312e-03f, -1.984482259e-03f, 6.818295355e-03f, -1.171808782e-02f, 1.629398055e-02f,
                        -2.308320838e-02f, 3.144813428e-02f, -4.046695236e-02f, 5.152126220e-02f, -7.029543248e-02f, 1.413637656e-01f})
    p = fused(p, t, zero + a);
  const V y = x * V(fused(c, p, zero + 0.5f));
  return x < zero - 5.0f ? zero : y;
}

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
