// SPDX-License-Identifier: MIT
// bfloat16: the upper 16 bits of a float, with 8 bits of precision. Tensors are stored in it; arithmetic is in float, except for matrix
// products on processors that multiply bfloat16 and sum in float (kernels/products/gemm.hpp).
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "lexformer/core/device.hpp"

namespace lexformer {

/// A bfloat16 number. Converts to float implicitly (exact); back only explicitly, since that rounds: static_cast<bfloat16>(x).
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  /// Rounds to nearest, ties to even. Overflow gives infinity; NaN stays NaN.
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

/// The compute type for values stored as T: sums, means, variances, losses, statistics and factors. float for bfloat16, else T.
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

/// Whether T is a storage type only, i.e. not its own compute type.
template <class T>
inline constexpr bool is_storage = !std::is_same_v<T, accumulate_t<T>>;

}  // namespace lexformer
