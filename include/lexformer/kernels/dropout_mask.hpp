// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"

namespace lexformer {

/// Dropout with probability p by the counter-based generator: element e is kept if its 16-bit random number is >= round(p 2^16), at most
/// 65535, so that 1 / (1 - p) is finite.
struct DropoutMask {
  float p = 0;
  RandomKey key{};

  bool active() const {
    if (!(p >= 0 && p < 1)) fail("dropout", "p must be in [0, 1), got ", p);
    return p > 0;
  }
  LEXFORMER_HD std::uint32_t threshold() const {
    return std::min(static_cast<std::uint32_t>(std::lround(p * 65536.0f)), std::uint32_t{65535});
  }

  /// Writes 0 or 1 / (1 - p) for the elements begin .. begin + count - 1.
  template <class T>
  void fill(std::uint64_t begin, std::size_t count, T* out) const {
    const std::uint32_t limit = threshold();
    const T keep = T{1} / (T{1} - static_cast<T>(limit) / T{65536});
    // Eight counters per iteration (64 decisions) in plain arrays, so that the compiler vectorizes the loops.
    constexpr std::size_t width = 8, span = 8 * width;
    std::uint64_t c[4][width];
    T decided[span];
    const std::uint64_t end = begin + count;
    for (std::uint64_t base = begin / span * span; base < end; base += span) {
      for (std::size_t l = 0; l < width; ++l) {
        const std::uint64_t block = base / 8 + l;
        c[0][l] = block & 0xFFFFFFFFu;
        c[1][l] = block >> 32;
        c[2][l] = key.step;
        c[3][l] = key.site;
      }
      Philox::rounds(c, {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
      for (std::size_t l = 0; l < width; ++l) {
        for (std::size_t w = 0; w < 4; ++w) {
          decided[8 * l + 2 * w] = static_cast<std::uint32_t>(c[w][l] & 0xFFFFu) >= limit ? keep : T{0};
          decided[8 * l + 2 * w + 1] = static_cast<std::uint32_t>(c[w][l] >> 16) >= limit ? keep : T{0};
        }
      }
      const std::uint64_t from = std::max(base, begin), to = std::min(base + span, end);
      for (std::uint64_t e = from; e < to; ++e) out[e - begin] = decided[e - base];
    }
  }
};

}  // namespace lexformer
