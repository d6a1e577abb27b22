// SPDX-License-Identifier: MIT
#include "lexformer/words/love_lists.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/ops/nearest.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

using WordLists = std::vector<std::vector<std::uint32_t>>;

TEST_CASE("nearest rows by cosine: equal to all pairs by definition, whatever the lengths and the number of threads") {
  const std::size_t rows = 600, d = 6;
  RandomStream random(2, random_site::user);
  std::vector<float> values;
  for (std::size_t e = 0; e < rows * d; ++e) values.push_back(static_cast<float>(random.normal()));
  for (std::size_t j = 0; j < d; ++j) {
    values[3 * d + j] = 4 * values[j];  // the same direction
    values[5 * d + j] = 0;
  }
  const auto vectors = Tensor<float>::from(values, {rows, d});
  const auto cosine = [&](std::size_t a, std::size_t b) {
    double dot = 0, aa = 0, bb = 0;
    for (std::size_t j = 0; j < d; ++j) {
      const auto x = static_cast<double>(values[a * d + j]), y = static_cast<double>(values[b * d + j]);
      dot += x * y;
      aa += x * x;
      bb += y * y;
    }
    return aa == 0 || bb == 0 ? 0.0 : dot / std::sqrt(aa * bb);
  };
  const auto all = nearest_rows(vectors, 5, 0.6);
  std::size_t found = 0;
  for (std::size_t w = 0; w < rows; ++w) {
    std::vector<std::pair<double, std::uint32_t>> expected;
    for (std::size_t other = 0; other < rows; ++other)
      if (other != w && cosine(w, other) >= 0.6) expected.emplace_back(-cosine(w, other), static_cast<std::uint32_t>(other));
    std::sort(expected.begin(), expected.end());
    REQUIRE(all[w].size() == std::min<std::size_t>(5, expected.size()));
    for (std::size_t k = 0; k < all[w].size(); ++k) CHECK(cosine(w, all[w][k]) == doctest::Approx(-expected[k].first).epsilon(1e-6));
    found += all[w].size();
  }
  CHECK(found > 1000);
  CHECK(all[0][0] == 3);
  CHECK(all[5].empty());
  CHECK(std::none_of(all.begin(), all.end(), [](const auto& list) { return std::find(list.begin(), list.end(), 5u) != list.end(); }));
  for (const int threads : {1, 3}) {
    set_threads(threads);
    CHECK(nearest_rows(vectors, 5, 0.6) == all);
    set_threads(0);
  }
  CHECK(nearest_rows(Tensor<float>({0, 3}), 5, 0.6).empty());
  expect_error(
      ErrorKind::failure, [] { nearest_rows(Tensor<float>::zeros({3}), 5, 0.6); }, "needs a matrix of vectors, got (3,)");
}

TEST_CASE("hard negatives: near in spelling, neither synonyms nor near in meaning") {
  const auto vectors = Tensor<float>::from({1, 0, 2, 0.1f, 0, 3, 1, 1, 0, 0}, {5, 2});
  const std::vector<std::vector<NearWord>> near{{{1, 0.9f}, {3, 0.8f}, {2, 0.8f}, {4, 0.75f}}, {}, {{3, 0.8f}, {0, 0.8f}}, {}, {}};
  // Cosines of word 0: 1.00 with 1, 0.71 with 3, 0 with 2 and with the row of zeros.
  CHECK(hard_negatives(near, WordLists(5), vectors, 0.4) == WordLists{{2, 4}, {}, {0}, {}, {}});
  CHECK(hard_negatives(near, WordLists(5), vectors, 0.8) == WordLists{{3, 2, 4}, {}, {3, 0}, {}, {}});
  CHECK(hard_negatives(near, WordLists{{2}, {}, {}, {}, {}}, vectors, 0.8) == WordLists{{3, 4}, {}, {3, 0}, {}, {}});
  expect_error(
      ErrorKind::failure, [&] { hard_negatives(near, WordLists(4), vectors, 0.4); }, "5 and 4 lists for 5 vectors");
}
