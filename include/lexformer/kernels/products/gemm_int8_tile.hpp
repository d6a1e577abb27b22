// SPDX-License-Identifier: MIT
// The product of gemm_int8.hpp at each level of instructions. Unsigned activations times signed weights, four neighbours in k at a time:
//   AVX-512 VNNI, AVX-VNNI   vpdpbusd: four products added to a 32-bit sum, without saturation
//   AMX                      tdpbusd: the same for 16 x 16 sums and 64 neighbours in k (amx_tile.hpp)
//   AVX2                     vpmaddubsw: two products added to a 16-bit sum, which saturates at 32767. So activations are 128 less, x =
//                            u - 128, and the product is |x| (q sign(x)): two of them are at most 2 * 128 * 127 = 32512
//   else                     plain C++
// panel_product.hpp has the loops over tiles.
#pragma once

#include "lexformer/kernels/products/instructions.hpp"

#if LEXFORMER_LEVEL >= 1
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/products/int8_weights.hpp"
#include "lexformer/kernels/products/panel_product.hpp"

namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME {

// Int8Tile::multiply computes the sums of a tile, c (R, 32) = sum_p (u(r, p) - shift) q(j, p). Row r of u begins at u[r ldu] and holds the
// bytes of u - shift; q is a packed panel of Int8Weights.
#if LEXFORMER_LEVEL == 0
struct Int8Tile {
  static constexpr std::int32_t shift = 0;
  using Floats = float;
  using Whole = std::int32_t;
  static constexpr std::size_t bytes = 4;
  static Floats floats(Whole n) { return static_cast<float>(n); }
  static constexpr std::size_t rows = 4, step = 4;

  template <std::size_t R>
  static void multiply(std::size_t groups, const std::uint8_t* u, std::size_t ldu, const std::int8_t* q, std::int32_t* c) {
    std::fill_n(c, R * 32, 0);
    for (std::size_t g = 0; g < groups; ++g, q += 128)
      for (std::size_t r = 0; r < R; ++r) {
        const std::uint8_t* const x = u + r * ldu + 4 * g;
        for (std::size_t j = 0; j < 32; ++j)
          c[r * 32 + j] += x[0] * q[4 * j] + x[1] * q[4 * j + 1] + x[2] * q[4 * j + 2] + x[3] * q[4 * j + 3];
      }
  }
};

#else
inline int four_bytes(const std::uint8_t* u) {
  int x;
  std::memcpy(&x, u, sizeof x);
  return x;
}
/// Vectors of a size. The sizes are no parameters, since g++ 12 ignores the attribute if only the size is one.
struct Int8Vectors256 {
  static constexpr std::size_t bytes = 32;
  using Floats [[gnu::vector_size(32)]] = float;
  using Whole [[gnu::vector_size(32)]] = std::int32_t;
  using Bytes [[gnu::vector_size(8)]] = std::uint8_t;
  static Floats floats(Whole n) { return __builtin_convertvector(n, Floats); }
  /// x, rounded to the nearest integer, half-way to the even one, + n, limited to 0 ... 255.
  static Bytes integers(Floats x, int n) {
    const __m256i y = _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(n));
    const __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
    const auto eight = _mm_cvtsi128_si64(_mm_packus_epi16(half, half));  // g++ 12 would convert numbers to bytes one by one
    Bytes b;
    std::memcpy(&b, &eight, sizeof b);
    return b;
  }
};
/// op over all lanes; its operands are __m128.
template <class Op>
float across(__m256 x, Op op) {
  __m128 y = op(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = op(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(op(y, _mm_shuffle_ps(y, y, 1)));
}

#if LEXFORMER_LEVEL == 1 || LEXFORMER_LEVEL == 3
struct Int8Tile : Int8Vectors256 {
  static constexpr std::int32_t shift = 128;
  static constexpr std::size_t rows = 3, step = 4;

  template <std::size_t R>
  static void multiply(std::size_t groups, const std::uint8_t* u, std::size_t ldu, const std::int8_t* q, std::int32_t* c) {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum[R][4] = {};  // vector v: the columns 8 v ... 8 v + 7
    for (; groups > 0; --groups, u += 4, q += 128)
      for_rows<R>([&]<std::size_t r>() __attribute__((always_inline)) {
        const __m256i x = _mm256_set1_epi32(four_bytes(u + r * ldu)), size = _mm256_abs_epi8(x);
        for_rows<4>([&]<std::size_t v>() __attribute__((always_inline)) {
          const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + 32 * v));
          const __m256i pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(w, x));
          sum[r][v] = _mm256_add_epi32(sum[r][v], _mm256_madd_epi16(pairs, ones));
        });
      });
    for (std::size_t r = 0; r < R; ++r)
      for (std::size_t v = 0; v < 4; ++v) _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + r * 32 + 8 * v), sum[r][v]);
  }
};
#elif LEXFORMER_LEVEL == 2
struct Int8Tile : Int8Vectors256 {
  static constexpr std::int32_t shift = 0;
  static constexpr std::size_t rows = 6, step = 4;

  template <std::size_t R>
  static void multiply(std::size_t groups, const std::uint8_t* u, std::size_t ldu, const std::int8_t* q, std::int32_t* c) {
    for (std::size_t half = 0; half < 2; ++half) {
      __m256i sum[R][2] = {};
      const std::int8_t* b = q + 64 * half;
      const std::uint8_t* x = u;
#pragma GCC unroll 4
      for (std::size_t g = 0; g < groups; ++g, b += 128, x += 4) {
        const __m256i w0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)),
                      w1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 32));
        for_rows<R>([&]<std::size_t r>() __attribute__((always_inline)) {
          const __m256i a = _mm256_set1_epi32(four_bytes(x + r * ldu));
          sum[r][0] = _mm256_dpbusd_avx_epi32(sum[r][0], a, w0);
          sum[r][1] = _mm256_dpbusd_avx_epi32(sum[r][1], a, w1);
        });
      }
      for (std::size_t r = 0; r < R; ++r)
        for (std::size_t v = 0; v < 2; ++v) _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + r * 32 + 16 * half + 8 * v), sum[r][v]);
    }
  }
};
#else
struct Int8Vectors512 {
  static constexpr std::size_t bytes = 64;
  using Floats [[gnu::vector_size(64)]] = float;
  using Whole [[gnu::vector_size(64)]] = std::int32_t;
  using Bytes [[gnu::vector_size(16)]] = std::uint8_t;
  static Floats floats(Whole n) { return __builtin_convertvector(n, Floats); }
  static Bytes integers(Floats x, int n) {
    const __m512i y = _mm512_maskz_cvtps_epi32(0xFFFF, x);  // g++ 12 warns of the plain one
    Whole z;
    std::memcpy(&z, &y, sizeof z);
    z += n;
    z = z < 0 ? Whole{} : z;
    z = z > 255 ? Whole{} + 255 : z;
    return __builtin_convertvector(z, Bytes);
  }
};
template <class Op>
float across(__m512 x, Op op) {
  __m256 half[2];
  std::memcpy(half, &x, sizeof x);
  const __m128 low = op(_mm256_castps256_ps128(half[0]), _mm256_castps256_ps128(half[1]));
  return across(_mm256_set_m128(op(_mm256_extractf128_ps(half[0], 1), _mm256_extractf128_ps(half[1], 1)), low), op);
}

struct Int8Tile : Int8Vectors512 {
  static constexpr std::int32_t shift = 0;
  static constexpr std::size_t rows = 14, step = 4;  // 28 sums, 2 vectors of weights and 1 of activations

  template <std::size_t R>
  static void multiply(std::size_t groups, const std::uint8_t* u, std::size_t ldu, const std::int8_t* q, std::int32_t* c) {
    __m512i sum[R][2] = {};
#pragma GCC unroll 4
    for (; groups > 0; --groups, u += 4, q += 128) {
      const __m512i w0 = _mm512_loadu_si512(q), w1 = _mm512_loadu_si512(q + 64);
      for_rows<R>([&]<std::size_t r>() __attribute__((always_inline)) {
        const __m512i x = _mm512_set1_epi32(four_bytes(u + r * ldu));
        sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], x, w0);
        sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], x, w1);
      });
    }
    for_rows<R>([&]<std::size_t r>() __attribute__((always_inline)) {
      _mm512_storeu_si512(c + r * 32, sum[r][0]);
      _mm512_storeu_si512(c + r * 32 + 16, sum[r][1]);
    });
  }
};
#endif
#endif

/// How a row of activations is rounded: x is about scale (u - zero); in memory both u and zero are Int8Tile::shift less.
struct Int8Row {
  float scale;
  std::int32_t zero;
};

/// The step of a row with values from `low` <= 0 to `high` >= 0; `sound` is NaN if one of them is not finite, else 0. The second number is
/// the reciprocal of the step.
inline std::pair<Int8Row, float> int8_step(float low, float high, float sound) {
  const float range = high - low + sound;
  if (!(range <= std::numeric_limits<float>::max())) return {{std::numeric_limits<float>::quiet_NaN(), 0}, 0.0f};
  if (range < 1e-30f) return {{0.0f, 0}, 0.0f};
  const float inverse = 255.0f / range;
  return {{range / 255.0f, static_cast<std::int32_t>(std::nearbyint(-low * inverse))}, inverse};
}

/// The whole layer (gemm_int8.hpp).
struct Int8Product {
#if LEXFORMER_LEVEL >= 6
  using Tile = AmxTile<std::uint8_t>;
#else
  using Tile = Int8Tile;
#endif
  using Vectors = Int8Tile;
  static constexpr std::size_t panel = Int8Weights::panel;

  /// Rounds a row of k activations to u - shift, filled with zeros up to `filled`.
  static Int8Row quantize(std::size_t k, const float* x, std::size_t filled, std::uint8_t* u) {
    std::fill(u + k, u + filled, std::uint8_t{0});
    float low = 0, high = 0, sound = 0;
    std::size_t p = 0;
#if LEXFORMER_LEVEL >= 1
    using Vector = Vectors::Floats;
    constexpr std::size_t lanes = Vectors::bytes / 4;
    Vector l[2] = {}, h[2] = {}, s[2] = {};  // two of each, since one would wait for itself
    for (; p + 2 * lanes <= k; p += 2 * lanes)
      for (std::size_t v = 0; v < 2; ++v) {
        Vector y;
        std::memcpy(&y, x + p + v * lanes, sizeof y);
        l[v] = y < l[v] ? y : l[v];
        h[v] = y > h[v] ? y : h[v];
        s[v] += y * 0.0f;
      }
    low = across(l[0] < l[1] ? l[0] : l[1], [](__m128 a, __m128 b) { return _mm_min_ps(a, b); });
    high = across(h[0] > h[1] ? h[0] : h[1], [](__m128 a, __m128 b) { return _mm_max_ps(a, b); });
    sound = across(s[0] + s[1], [](__m128 a, __m128 b) { return _mm_add_ps(a, b); });
#endif
    for (; p < k; ++p) {
      low = std::min(low, x[p]);
      high = std::max(high, x[p]);
      sound += x[p] * 0.0f;
    }
    auto [row, inverse] = int8_step(low, high, sound);
    if (inverse == 0) {
      std::fill_n(u, k, std::uint8_t{0});
      return row;
    }
    p = 0;
#if LEXFORMER_LEVEL >= 1
    using Bytes = Vectors::Bytes;
    for (; p + lanes <= k; p += lanes) {
      Vector y;
      std::memcpy(&y, x + p, sizeof y);
      const Bytes b = Vectors::integers(y * inverse, row.zero) - static_cast<std::uint8_t>(Vectors::shift);
      std::memcpy(u + p, &b, sizeof b);
    }
#endif
    for (; p < k; ++p)
      u[p] = static_cast<std::uint8_t>(std::clamp(static_cast<std::int32_t>(std::nearbyint(x[p] * inverse)) + row.zero, 0, 255) -
                                       Vectors::shift);
    row.zero -= Vectors::shift;
    return row;
  }

  /// y = f(s_i t_j (sum - z_i sum of q) + b_j) for the 32 outputs of a panel.
  template <bool Gelu>
  static void dequantize(const Int8Row& row, const std::int32_t* sums, const std::int32_t* of_q, const float* t, const float* b, float* y) {
    using Vector = Vectors::Floats;
    using Whole = Vectors::Whole;
    for (std::size_t j = 0; j < panel; j += Vectors::bytes / 4) {
      Whole n, q;
      Vector scale, bias;
      std::memcpy(&n, sums + j, sizeof n);
      std::memcpy(&q, of_q + j, sizeof q);
      std::memcpy(&scale, t + j, sizeof scale);
      std::memcpy(&bias, b + j, sizeof bias);
      Vector z = fused(Vectors::floats(n - q * row.zero) * row.scale, scale, bias);
      if constexpr (Gelu) z = short_gelu(z);
      std::memcpy(y + j, &z, sizeof z);
    }
  }

  static void linear(std::size_t m, const float* x, std::size_t ldx, const Int8Weights& w, float* y, std::size_t ldy, bool gelu) {
    const std::size_t k = w.inputs(), ldu = w.inputs_packed();
    activations.resize(std::max(activations.size(), m * ldu));
    steps.resize(std::max(steps.size(), m));
    std::uint8_t* const u = activations.data();
    Int8Row* const step = steps.data();
    parallel_for(m, std::max<std::size_t>(1, 16384 / std::max<std::size_t>(1, k)), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) step[i] = quantize(k, x + i * ldx, ldu, u + i * ldu);
    });
    for_tiles<Tile, std::int32_t>(m, u, ldu, w, [&](std::size_t i, std::size_t count, std::size_t j, const std::int32_t* sums) {
      const std::size_t at = j * panel, width = std::min(panel, w.outputs() - at);
      for (std::size_t r = 0; r < count; ++r) {
        float* const to = y + (i + r) * ldy + at;
        alignas(64) float edge[panel];
        float* const values = width == panel ? to : edge;
        (gelu ? dequantize<true> : dequantize<false>)(step[i + r], sums + r * panel, w.sums() + at, w.scales() + at, w.biases() + at,
                                                      values);
        if (width != panel) std::copy_n(edge, width, to);
      }
    });
  }

  /// Both layers of a feed-forward block.
  static void feed_forward(std::size_t m, const float* x, const Int8Weights& w1, const Int8Weights& w2, float* y) {
    const std::size_t width = w1.outputs();
    for_feed_forward<Tile>(m, 96, [&](std::size_t begin, std::size_t end) {
      hidden.resize(std::max(hidden.size(), (end - begin) * width));
      float* const h = hidden.data();
      linear(end - begin, x + begin * w1.inputs(), w1.inputs(), w1, h, width, true);
      linear(end - begin, h, width, w2, y + begin * w2.outputs(), w2.outputs(), false);
    });
  }

 private:
  static thread_local inline std::vector<float> hidden;
  static thread_local inline std::vector<std::uint8_t> activations;  // reused between calls
  static thread_local inline std::vector<Int8Row> steps;
};

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
