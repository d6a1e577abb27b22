// SPDX-License-Identifier: MIT
#include "lexformer/core/bfloat16.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "lexformer/core/random.hpp"

using namespace lexformer;

namespace {

/// The value of a bit pattern by definition: sign, 8 bits of exponent (bias 127), 7 bits of fraction.
double by_definition(std::uint16_t bits) {
  const int exponent = bits >> 7 & 0xFF, fraction = bits & 0x7F;
  const double size = exponent == 0      ? std::ldexp(fraction, -133)
                      : exponent != 0xFF ? std::ldexp(128 + fraction, exponent - 134)
                      : fraction == 0    ? std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::quiet_NaN();
  return bits >> 15 != 0 ? -size : size;
}

}  // namespace

TEST_CASE("bfloat16: every pattern is the number of its definition, and comes back from it") {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const float value = bfloat16::from_bits(bits);
    if (std::isnan(by_definition(bits))) {
      REQUIRE(std::isnan(value));
      REQUIRE(bfloat16(value).bits == (bits | 0x40u));  // NaN stays NaN and becomes quiet
    } else {
      REQUIRE(static_cast<double>(value) == by_definition(bits));
      REQUIRE(std::signbit(value) == (bits >> 15 != 0));
      REQUIRE(bfloat16(value).bits == bits);
    }
  }
}

TEST_CASE("bfloat16: a float becomes the nearest, of two that are as near the even one") {
  // Values next to each number and next to each midpoint of two numbers.
  for (std::uint32_t pattern = 0; pattern < 0x7F80; ++pattern) {
    const auto below = static_cast<std::uint16_t>(pattern), above = static_cast<std::uint16_t>(pattern + 1);
    const std::uint16_t even = (below & 1u) != 0 ? above : below;
    const std::uint32_t first = pattern << 16;
    const struct {
      std::uint32_t of_float;
      std::uint16_t expected;
    } cases[] = {{first + 1, below}, {first + 0x7FFF, below}, {first + 0x8000, even}, {first + 0x8001, above}, {first + 0xFFFF, above}};
    for (const auto& [bits, expected] : cases) {
      REQUIRE(bfloat16(std::bit_cast<float>(bits)).bits == expected);
      REQUIRE(bfloat16(std::bit_cast<float>(bits | 0x80000000u)).bits == (expected | 0x8000u));
    }
  }
  CHECK(float{bfloat16(std::numeric_limits<float>::max())} == std::numeric_limits<float>::infinity());

  RandomStream random(7, 1);
  for (int i = 0; i < 10000; ++i) {
    const auto x = static_cast<float>(std::ldexp(random.uniform() - 0.5, static_cast<int>(random.below(200)) - 100));
    const bfloat16 y(x);
    const double error = std::abs(static_cast<double>(float{y}) - static_cast<double>(x));
    for (const int step : {-1, 1}) {
      const double other = by_definition(static_cast<std::uint16_t>(y.bits + step));
      REQUIRE(error <= std::abs(other - static_cast<double>(x)));
    }
  }
}

TEST_CASE("bfloat16: other numbers go through float; it is a type to store, whose sums are float") {
  CHECK(bfloat16(3).bits == 0x4040);
  CHECK(bfloat16(-0.15625).bits == 0xBE20);
  CHECK(float{bfloat16(std::uint64_t{1} << 40)} == 0x1p40f);
  CHECK(is_storage<bfloat16>);
  CHECK_FALSE(is_storage<float>);
  CHECK(std::is_same_v<accumulate_t<bfloat16>, float>);
  CHECK(std::is_same_v<accumulate_t<double>, double>);
}
