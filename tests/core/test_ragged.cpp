// SPDX-License-Identifier: MIT
#include "lexformer/core/ragged.hpp"

#include <doctest/doctest.h>

#include "../support/error_message.hpp"

using namespace lexformer;

TEST_CASE("Offsets: sequences one after the other, and their blocks of token pairs") {
  const auto o = Offsets::from_lengths(std::vector<std::size_t>{3, 1, 5});
  CHECK(o.sequences() == 3);
  CHECK(o.tokens() == 9);
  CHECK(o.pairs() == 9 + 1 + 25);
  CHECK(o.longest() == 5);
  const std::size_t begin[] = {0, 3, 4, 9}, pair_begin[] = {0, 9, 10, 35}, length[] = {3, 1, 5};
  for (std::size_t s = 0; s <= 3; ++s) {
    CHECK(o.begin(s) == begin[s]);
    CHECK(o.pair_begin(s) == pair_begin[s]);
    if (s < 3) CHECK(o.length(s) == length[s]);
  }
}

TEST_CASE("Offsets: no sequence at all, and an empty one") {
  for (const auto& o : {Offsets(), Offsets::from_lengths({})}) {
    CHECK(o.sequences() == 0);
    CHECK(o.tokens() == 0);
    CHECK(o.pairs() == 0);
    CHECK(o.longest() == 0);
  }
  CHECK(test::error_message([] {
          Offsets::from_lengths(std::vector<std::size_t>{2, 0});
        }) == "Offsets: sequence 1 is empty; a sequence has at least one token");
}

TEST_CASE("Offsets: a number of token pairs that does not fit into 64 bits") {
  constexpr std::size_t n = std::size_t{1} << 32;
  CHECK(test::error_message([] { Offsets::from_lengths(std::vector<std::size_t>{2 * n}); }) ==
        "Offsets: sequence 0 has 8589934592 tokens: the number of token pairs overflows");
  CHECK(test::error_message([] {
          Offsets::from_lengths(std::vector<std::size_t>{n - 1, n});
        }) == "Offsets: sequence 1 has 4294967296 tokens: the number of token pairs overflows");
  CHECK(Offsets::from_lengths(std::vector<std::size_t>{n - 1, 1}).pairs() == (n - 1) * (n - 1) + 1);
}
