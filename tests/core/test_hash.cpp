// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lexformer/core/hash.hpp"

using namespace lexformer;

TEST_CASE("siphash13: the values of CPython 3.11 with the key 0") {
  std::string high;
  for (int c = 128; c < 160; ++c) high += static_cast<char>(c);
  CHECK(detail::siphash13("a", 0, 0) == 0x407448d2b89b1813u);
  CHECK(detail::siphash13("abcdefg", 0, 0) == 0x6db12aae9070f506u);
  CHECK(detail::siphash13("abcdefgh", 0, 0) == 0x3f7b849c0b8e35eau);
  CHECK(detail::siphash13("abcdefgh ijklmno", 0, 0) == 0xf07284810e94e82cu);
  CHECK(detail::siphash13(high, 0, 0) == 0x1c9d61039846809bu);
  CHECK(detail::siphash13("a", 1, 0) != detail::siphash13("a", 0, 0));
  CHECK(detail::siphash13("a", 0, 1) != detail::siphash13("a", 0, 0));
}

TEST_CASE("SeededHash: multiples of the number of buckets share no bucket") {
  constexpr std::uint64_t buckets = 20753;
  std::unordered_map<std::uint64_t, int, SeededHash> map(buckets);
  for (std::uint64_t k = 0; k < 5000; ++k) map[k * map.bucket_count()] = 1;
  std::size_t most = 0;
  for (std::size_t b = 0; b < map.bucket_count(); ++b) most = std::max(most, map.bucket_size(b));
  CHECK(map.size() == 5000);
  CHECK(most < 20);
}

TEST_CASE("SeededHash: a bijection of integers") {
  std::unordered_set<std::size_t> seen;
  for (std::uint64_t k = 0; k < 1000; ++k) seen.insert(SeededHash()(k << 40 | k));
  CHECK(seen.size() == 1000);
}
