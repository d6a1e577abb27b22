// SPDX-License-Identifier: MIT
#include "lexformer/metrics/ranks.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "lexformer/core/random.hpp"
#include "lexformer/words/vectors.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

TEST_CASE("neighbor_ranks: by cosine, of equal ones the lower row first, zeros have no rank") {
  const auto rows = Tensor<float>::from({1, 0, 9, 9, 0, 1, 2, 2}, {4, 2});
  const auto queries = Tensor<float>::from({2, 1, 0.1f, 3, 5, 5, 5, 5, 0, 0}, {5, 2});
  // Cosines of (2, 1): .89, .95, .45, .95; of (5, 5): .71, 1, .71, 1.
  const std::vector<std::size_t> targets{0, 0, 1, 3, 0};
  CHECK(neighbor_ranks(queries, rows, targets) == std::vector<std::size_t>{3, 4, 1, 2, std::numeric_limits<std::size_t>::max()});
  const auto refused = [&](const std::vector<std::size_t>& bad, const Tensor<float>& vectors, const std::string& part) {
    expect_error(
        ErrorKind::failure, [&] { neighbor_ranks(queries, vectors, bad); }, part);
  };
  refused({0, 0, 1, 3, 4}, rows, "neighbor_ranks: row 4 of 4");
  refused({0, 0, 1, 3}, rows, "neighbor_ranks: 5 queries, but 4 targets");
  refused(targets, Tensor<float>({4, 3}), "neighbor_ranks: the queries have 2 numbers, the rows 3");
}

TEST_CASE("neighbor_ranks: more queries than a block, against WordVectors::nearest") {
  const std::size_t count = 300, all = 50, d = 7;
  RandomStream random(1, random_site::user);
  Tensor<float> queries({count, d}), rows({all, d});
  for (float& x : queries.mutable_span()) x = static_cast<float>(random.normal());
  for (float& x : rows.mutable_span()) x = static_cast<float>(random.normal());
  std::vector<std::string> words;
  std::vector<std::size_t> targets;
  for (std::size_t i = 0; i < all; ++i) words.push_back(cat("w", i));
  for (std::size_t i = 0; i < count; ++i) targets.push_back(7 * i % all);
  const WordVectors vectors(words, rows);
  const auto ranks = neighbor_ranks(queries, rows, targets);
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(ranks[i] <= all);
    CHECK(vectors.nearest(queries.span().subspan(i * d, d), all)[ranks[i] - 1].row == targets[i]);
  }
}
