// SPDX-License-Identifier: MIT
#include "lexformer/core/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace lexformer;

TEST_CASE("Philox4x32-10: the known answers of its authors (Random123, kat_vectors)") {
  static_assert(Philox::generate({0, 0, 0, 0}, {0, 0}) == Philox::Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(Philox::generate({ones, ones, ones, ones}, {ones, ones}) == Philox::Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(Philox::generate({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Philox::Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("RandomKey: the layout of counter and key, and of the eight 16-bit numbers of a counter") {
  const RandomKey key{0x299f31d0a4093822, 0x13198a2e, 0x03707344};
  CHECK(key.bits(0x85a308d3243f6a88) == Philox::Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  const RandomKey zero;
  const std::uint32_t expected[] = {0xe8d5, 0x6627, 0xc58d, 0xe169, 0xac4c, 0xbc57, 0xdbd8, 0x9b00};
  for (std::uint64_t e = 0; e < 8; ++e) CHECK(zero.bits16(e) == expected[e]);
  CHECK(zero.bits16(8) == (zero.bits(1)[0] & 0xffff));
  CHECK(zero.bits16((std::uint64_t{1} << 40) + 3) == zero.bits(std::uint64_t{1} << 37)[1] >> 16);
}

TEST_CASE("RandomStream: one word after the other, and other numbers for another seed, site or step") {
  RandomStream stream(5, 6, 7);
  const RandomKey key{5, 7, 6};
  for (std::uint64_t block = 0; block < 3; ++block)
    for (std::size_t i = 0; i < 4; ++i) CHECK(stream.next() == key.bits(block)[i]);
  std::set<std::uint32_t> first;
  for (const RandomKey& k : {RandomKey{1, 0, 0}, RandomKey{0, 1, 0}, RandomKey{0, 0, 1}, RandomKey{std::uint64_t{1} << 32, 0, 0}})
    first.insert(RandomStream(k).next());
  CHECK(first.size() == 4);
}

TEST_CASE("RandomStream: uniform() is in [0, 1), with the moments and the spread of a uniform number") {
  RandomStream random(1, random_site::user);
  constexpr int n = 20000, cells = 10;
  double sum = 0, squares = 0;
  int count[cells] = {};
  for (int i = 0; i < n; ++i) {
    const double x = random.uniform();
    REQUIRE((x >= 0.0 && x < 1.0));
    sum += x;
    squares += x * x;
    ++count[static_cast<int>(x * cells)];
  }
  // Four standard errors each.
  CHECK(std::abs(sum / n - 0.5) < 4 * 0.2887 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1.0 / 3) < 4 * 0.298 / std::sqrt(n));
  for (const int c : count) CHECK(std::abs(c - n / cells) < 4 * std::sqrt(n * 0.09));
}

TEST_CASE("RandomStream: normal() has the moments of a standard normal number") {
  RandomStream random(2, random_site::user);
  constexpr int n = 20000;
  double moment[5] = {};
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    double power = 1;
    for (int k = 1; k <= 4; ++k) moment[k] += (power *= x) / n;
  }
  CHECK(std::abs(moment[1]) < 4 * std::sqrt(1.0 / n));
  CHECK(std::abs(moment[2] - 1) < 4 * std::sqrt(2.0 / n));
  CHECK(std::abs(moment[3]) < 4 * std::sqrt(15.0 / n));
  CHECK(std::abs(moment[4] - 3) < 4 * std::sqrt(96.0 / n));
}

TEST_CASE("RandomStream: below(n) gives each of the n numbers alike") {
  RandomStream random(3, random_site::user);
  for (const std::uint64_t n : {1u, 2u, 3u, 5u, 7u, 10u}) {
    std::vector<int> count(n);
    for (std::uint64_t i = 0; i < 2000 * n; ++i) {
      const auto x = random.below(n);
      REQUIRE(x < n);
      ++count[x];
    }
    for (const int c : count) CHECK(std::abs(c - 2000) < 4 * std::sqrt(2000.0));
  }
  // 2^64 % (3 * 2^62) = 2^62: without rejection, the lower third of the range would be twice as frequent.
  const std::uint64_t third = std::uint64_t{1} << 62;
  int low = 0;
  for (int i = 0; i < 9000; ++i) low += random.below(3 * third) < third;
  CHECK(std::abs(low - 3000) < 4 * std::sqrt(2000.0));
  CHECK(random.below(~std::uint64_t{0}) < ~std::uint64_t{0});
}

TEST_CASE("RandomStream: shuffle() makes a permutation, each order alike") {
  RandomStream random(4, random_site::shuffle);
  std::vector<int> many(1000), sorted(1000);
  std::iota(sorted.begin(), sorted.end(), 0);
  many = sorted;
  random.shuffle(many);
  CHECK(many != sorted);
  CHECK(std::is_permutation(many.begin(), many.end(), sorted.begin()));
  std::vector<int> count(64);
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> three{0, 1, 2};
    random.shuffle(three);
    ++count[static_cast<std::size_t>(16 * three[0] + 4 * three[1] + three[2])];
  }
  int orders = 0;
  for (const int c : count) {
    if (c == 0) continue;
    ++orders;
    CHECK(std::abs(c - 1000) < 4 * std::sqrt(1000.0));
  }
  CHECK(orders == 6);
  // n elements take n - 1 draws: the numbers that a stream returns afterwards are part of the contract of a seed.
  RandomStream shuffled(5, random_site::shuffle), drawn(5, random_site::shuffle);
  std::vector<int> five(5);
  shuffled.shuffle(five);
  for (const std::uint64_t n : {5u, 4u, 3u, 2u}) drawn.below(n);
  CHECK(shuffled.next() == drawn.next());
  std::vector<int> none, one{7};
  random.shuffle(none);
  random.shuffle(one);
  CHECK(one == std::vector<int>{7});
}
