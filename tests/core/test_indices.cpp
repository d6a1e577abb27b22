// SPDX-License-Identifier: MIT
#include "lexformer/core/indices.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

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

TEST_CASE("offsets with lists on the device leave the original as it was") {
  const auto offsets = Offsets::from_lengths(std::vector<std::size_t>{3, 1, 2});
  const DeviceOffsets<Far> lists{{0, 3, 4, 6}, {0, 9, 10, 14}};
  const auto there = offsets.with_device_lists(lists);
  CHECK(there.on<Far>().token.data() == lists.token.data());
  CHECK(there.on<Far>().pair.data() == lists.pair.data());
  CHECK(offsets.on<Far>().token.data() != lists.token.data());
  CHECK(there.tokens() == 6);
  CHECK(there.pairs() == 14);
  CHECK(there.longest() == 3);
}

TEST_CASE_TEMPLATE("several lists go to a device in one copy", Dev, Cpu, Far) {
  const std::vector<std::uint16_t> codes{7, 3, 65535};
  const std::vector<std::int32_t> ids{-5, 2};
  const std::vector<std::size_t> begins{0, 3, 9};
  const std::vector<float> values{0.5f};
  Indices<std::uint16_t, Dev> device_codes, none;
  Indices<std::int32_t, Dev> device_ids;
  Indices<std::size_t, Dev> device_begins;
  Tensor<float, Dev> device_values;
  ListUpload<Dev> lists;
  lists.add(std::span(codes), device_codes);
  lists.add(std::span<const std::uint16_t>(), none);
  lists.add(std::span(ids), device_ids);
  lists.add(std::span(begins), device_begins);
  lists.add(std::span(values), device_values);
  CHECK(device_ids.empty());
  lists.run();
  CHECK(device_codes.to_vector() == codes);
  CHECK(device_codes.max() == 65535);
  CHECK(device_codes.min() == 3);
  CHECK(none.empty());
  CHECK(device_ids.to_vector() == ids);
  CHECK(device_ids.min() == -5);
  CHECK(device_begins.to_vector() == begins);
  CHECK(device_values.to_vector() == values);
  CHECK(device_values.shape() == Shape{1});
}
