// SPDX-License-Identifier: MIT
// The transpose of a square of 32-bit numbers in AVX-512 registers.
#pragma once

#include "lexformer/kernels/products/instructions.hpp"

#if LEXFORMER_LEVEL >= 3
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME {

/// Transposes 16 x 16 numbers of 32 bits: in step s = 1, 2, 4, 8, blocks of s x s change places.
inline void transpose16(__m512i (&v)[16]) {
#pragma GCC unroll 4
  for (std::size_t s = 1; s < 16; s *= 2) {
    alignas(64) std::int32_t low[16], high[16];  // numbers from 16 on are of the second vector
    for (std::size_t l = 0; l < 16; ++l) {
      low[l] = static_cast<std::int32_t>((l & s) != 0 ? 16 + l - s : l);
      high[l] = static_cast<std::int32_t>((l & s) != 0 ? 16 + l : l + s);
    }
    const __m512i to_low = _mm512_load_si512(low), to_high = _mm512_load_si512(high);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) {
      if ((i & s) != 0) continue;
      const __m512i a = v[i], b = v[i + s];
      v[i] = _mm512_permutex2var_epi32(a, to_low, b);
      v[i + s] = _mm512_permutex2var_epi32(a, to_high, b);
    }
  }
}

}  // namespace lexformer::detail::inline LEXFORMER_LEVEL_NAME
#endif
