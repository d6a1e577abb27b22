// SPDX-License-Identifier: MIT
// float16 as bit patterns: a format of weight files that is not used for computation. The other 16-bit format: core/bfloat16.hpp.
#pragma once

#include <bit>
#include <cstdint>

namespace lexformer {

/// Converts IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits.
inline float from_float16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, fraction = bits & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
  if (exponent == 0) return (sign != 0 ? -0x1p-24f : 0x1p-24f) * static_cast<float>(fraction);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

/// Rounds to the nearest binary16, ties to even. Values that are too large become infinity; NaN stays NaN.
inline std::uint16_t to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // from 65520
  if (magnitude < 0x38800000u) {                                                    // below 2^-14: multiples of 2^-24
    // Adding 0.5 leaves the multiples of 2^-24 in the fraction, rounded by the processor to nearest even.
    const auto shifted = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f);
    return static_cast<std::uint16_t>(sign | (shifted - std::bit_cast<std::uint32_t>(0.5f)));
  }
  const std::uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

}  // namespace lexformer
