// SPDX-License-Identifier: MIT
#include "lexformer/core/indices.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "../support/far_device.hpp"
#include "lexformer/core/ragged.hpp"

using namespace lexformer;

TEST_CASE_TEMPLATE("a list of indices knows its smallest and its largest, on any device", Dev, Cpu, Far) {
  const Indices<std::int32_t, Dev> list{4, -2, 7, 0};
  CHECK(list.size() == 4);
  CHECK(list.min() == -2);
  CHECK(list.max() == 7);
  CHECK(list.to_vector() == std::vector<std::int32_t>{4, -2, 7, 0});
  CHECK_FALSE(list.within(8));
  const auto copy = list;
  CHECK(copy.data() == list.data());

  const Indices<std::uint16_t, Dev> codes(std::vector<std::uint16_t>{3, 65535, 1});
  CHECK(codes.min() == 1);
  CHECK_FALSE(codes.within(65535));
  CHECK(codes.within(65536));

  const Indices<std::size_t, Dev> none;
  CHECK(none.empty());
  CHECK(none.data() == nullptr);
  CHECK(none.within(0));
  CHECK(none.to_vector().empty());
  CHECK(Indices<std::int32_t, Dev>(std::vector<std::int32_t>{}).empty());
}

TEST_CASE("offsets go to a device once, for all copies") {
  const auto offsets = Offsets::from_lengths(std::vector<std::size_t>{3, 1, 2});
  const auto copy = offsets;
  const auto there = offsets.on<Far>(), again = copy.on<Far>();
  CHECK(there.token.data() == again.token.data());
  CHECK(there.token.to_vector() == std::vector<std::size_t>{0, 3, 4, 6});
  CHECK(there.pair.to_vector() == std::vector<std::size_t>{0, 9, 10, 14});
  CHECK(offsets.on<Cpu>().pair.to_vector() == there.pair.to_vector());  // those of Far are still valid
  CHECK(there.pair.max() == offsets.pairs());
}
