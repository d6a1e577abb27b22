// SPDX-License-Identifier: MIT
// bfloat16: the upper half of a float, 8 bits of which are precision. A type to store numbers in; arithmetic is in float.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "lexformer/core/device.hpp"

namespace lexformer {

/// A number becomes a float by itself, exactly; the way back rounds, so it is written out: static_cast<bfloat16>(x).
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  /// Rounds to the nearest, ties to even; what is too large becomes infinity. NaN stays NaN.
  LEXFORMER_HD explicit constexpr bfloat16(float value) : bits(0) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const bool nan = (all & 0x7FFFFFFFu) > 0x7F800000u;
    bits = static_cast<std::uint16_t>(nan ? all >> 16 | 0x40u : (all + 0x7FFFu + (all >> 16 & 1u)) >> 16);
  }
  template <class Number>
  requires std::is_arithmetic_v<Number> LEXFORMER_HD explicit constexpr bfloat16(Number value) : bfloat16(static_cast<float>(value)) {}
  LEXFORMER_HD constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

  LEXFORMER_HD static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 x{0.0f};
    x.bits = bits;
    return x;
  }
};

/// The type of every sum, mean, variance and loss over values of type T, of statistics and of factors: float for bfloat16.
template <class T>
struct accumulate {
  using type = T;
};
template <>
struct accumulate<bfloat16> {
  using type = float;
};
template <class T>
using accumulate_t = typename accumulate<T>::type;

/// Whether T is a type to store in and not one to calculate with.
template <class T>
inline constexpr bool is_storage = !std::is_same_v<T, accumulate_t<T>>;

}  // namespace lexformer
