// SPDX-License-Identifier: MIT
#include "lexformer/tables/assignment.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "lexformer/core/random.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// The largest sum of scores over all one-to-one subsets of pairs[from ...], by enumeration.
double best_sum(std::span<const ScoredPair> pairs, std::size_t from, std::set<std::size_t>& lefts, std::set<std::size_t>& rights) {
  if (from == pairs.size()) return 0;
  const auto& p = pairs[from];
  double best = best_sum(pairs, from + 1, lefts, rights);
  if (lefts.count(p.left) == 0 && rights.count(p.right) == 0) {
    lefts.insert(p.left);
    rights.insert(p.right);
    best = std::max(best, p.score + best_sum(pairs, from + 1, lefts, rights));
    lefts.erase(p.left);
    rights.erase(p.right);
  }
  return best;
}

double sum_of(std::span<const ScoredPair> pairs, std::span<const std::size_t> chosen) {
  std::set<std::size_t> lefts, rights;
  double sum = 0;
  for (const std::size_t i : chosen) {
    CHECK(lefts.insert(pairs[i].left).second);
    CHECK(rights.insert(pairs[i].right).second);
    CHECK(pairs[i].score > 0);
    sum += pairs[i].score;
  }
  return sum;
}

}  // namespace

TEST_CASE("one_to_one: the best pairs one by one are not the best assignment") {
  const std::vector<ScoredPair> pairs{{0, 0, 0.9}, {0, 1, 0.8}, {1, 0, 0.8}, {1, 1, 0.1}};
  CHECK(one_to_one(pairs) == std::vector<std::size_t>{1, 2});
  CHECK(one_to_one({}).empty());
  CHECK(one_to_one(std::vector<ScoredPair>{{3, 5, -1}, {2, 2, 0}}).empty());
  CHECK(one_to_one(std::vector<ScoredPair>{{7, 9, 0.1}, {7, 9, 0.3}}) == std::vector<std::size_t>{1});
}

TEST_CASE("one_to_one: a left row may have to stay alone") {
  // Together 1.0 by the second row alone; 0.9 if the first takes the only right row.
  CHECK(one_to_one(std::vector<ScoredPair>{{0, 0, 0.9}, {1, 0, 1.0}}) == std::vector<std::size_t>{1});
  // 0-0 and 1-1 (1.3) beat 0-1 alone (1.2), though 0-1 is the largest.
  CHECK(one_to_one(std::vector<ScoredPair>{{0, 1, 1.2}, {0, 0, 0.6}, {1, 1, 0.7}}) == std::vector<std::size_t>{1, 2});
}

TEST_CASE("one_to_one: against enumeration, with many equal scores and with real ones") {
  RandomStream random(3, random_site::user);
  for (int round = 0; round < 400; ++round) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random.uniform() * static_cast<double>(n)); };
    const std::size_t rows = 1 + below(6), count = below(13);
    std::vector<ScoredPair> pairs;
    for (std::size_t i = 0; i < count; ++i) {
      const double score = round % 2 == 0 ? static_cast<double>(below(5)) - 1 : random.uniform() - 0.1;
      pairs.push_back({below(rows), below(rows), score});
    }
    std::set<std::size_t> lefts, rights;
    CHECK(sum_of(pairs, one_to_one(pairs)) == doctest::Approx(best_sum(pairs, 0, lefts, rights)));
  }
}

TEST_CASE("one_to_one: a long path moves every row, and large inputs end") {
  // Row i likes right row i (1.0) a little more than i + 1 (0.9); the last row has right row 0 alone, worth moving all others.
  const std::size_t n = 2000;
  std::vector<ScoredPair> pairs;
  for (std::size_t i = 0; i < n; ++i) {
    pairs.push_back({i, i, 1.0});
    pairs.push_back({i, i + 1, 1.0 - 1e-4});
  }
  pairs.push_back({n, 0, 1.0});
  const auto chosen = one_to_one(pairs);
  CHECK(chosen.size() == n + 1);
  CHECK(sum_of(pairs, chosen) == doctest::Approx(static_cast<double>(n) * (1.0 - 1e-4) + 1.0));
}

TEST_CASE("clusters: transitive closure at a cut") {
  const std::vector<ScoredPair> pairs{{4, 1, 0.9}, {1, 2, 0.5}, {0, 3, 0.4}, {2, 2, 1.0}};
  CHECK(clusters(pairs, 6, {.cut = 0.5}) == std::vector<std::size_t>{0, 1, 1, 2, 1, 3});
  CHECK(clusters(pairs, 6, {.cut = 0.4}) == std::vector<std::size_t>{0, 1, 1, 0, 1, 2});
  CHECK(clusters(pairs, 6, {.cut = 2.0}) == std::vector<std::size_t>{0, 1, 2, 3, 4, 5});
  CHECK(clusters({}, 0).empty());
}

TEST_CASE("clusters: of a cluster that is too large the weakest pair is left out") {
  const std::vector<ScoredPair> chain{{0, 1, 0.9}, {1, 2, 0.6}, {2, 3, 0.8}};
  CHECK(clusters(chain, 4, {.cut = 0.5, .max_size = 3}) == std::vector<std::size_t>{0, 0, 1, 1});
  CHECK(clusters(chain, 4, {.cut = 0.5, .max_size = 4}) == std::vector<std::size_t>{0, 0, 0, 0});
  CHECK(clusters(chain, 4, {.cut = 0.5, .max_size = 1}) == std::vector<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("assignment: bad input") {
  const std::vector<ScoredPair> nan{{0, 0, 1}, {0, 1, std::nan("")}};
  CHECK(error_message([&] { one_to_one(nan); }) == "one_to_one: the score of pair 1 is nan; scores must be finite");
  CHECK(error_message([&] { clusters(nan, 2); }) == "clusters: the score of pair 1 is nan; scores must be finite");
  CHECK(error_message([&] { clusters(std::vector<ScoredPair>{{0, 4, 1}}, 4); }) == "clusters: pair 0 has row 4 of 4");
}

TEST_CASE("lasting_numbers: most rows in common, then the smaller number, then the earlier row; new ones continue") {
  using Earlier = std::vector<std::optional<std::size_t>>;
  using Numbers = std::vector<std::size_t>;
  const auto none = std::nullopt;
  CHECK(lasting_numbers(Numbers{0, 0, 1, 2}, Earlier{7, 7, 3, none}, 10) == Numbers{7, 7, 3, 10});
  // Split: the larger part keeps the number; of equal parts the one with the earlier row.
  CHECK(lasting_numbers(Numbers{0, 1, 1}, Earlier{4, 4, 4}, 5) == Numbers{5, 4, 4});
  CHECK(lasting_numbers(Numbers{0, 1}, Earlier{4, 4}, 5) == Numbers{4, 5});
  // Joined: the number of the one with the most rows; of equal ones the smaller number.
  CHECK(lasting_numbers(Numbers{0, 0, 0}, Earlier{2, 9, 9}, 10) == Numbers{9, 9, 9});
  CHECK(lasting_numbers(Numbers{0, 0}, Earlier{9, 2}, 10) == Numbers{2, 2});
  // A part that another cluster took in leaves its number to the rest.
  CHECK(lasting_numbers(Numbers{0, 0, 0, 0, 0, 1}, Earlier{1, 1, 2, 2, 2, 1}, 3) == Numbers{2, 2, 2, 2, 2, 1});
  CHECK(lasting_numbers(Numbers{5, 3}, Earlier{none, none}, 1) == Numbers{1, 2});
  CHECK(lasting_numbers(Numbers{}, Earlier{}, 1).empty());
  CHECK_THROWS_AS(lasting_numbers(Numbers{0}, Earlier{}, 1), Error);
  CHECK_THROWS_AS(lasting_numbers(Numbers{0}, Earlier{3}, 3), Error);
}
