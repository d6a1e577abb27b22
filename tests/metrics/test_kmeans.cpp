// SPDX-License-Identifier: MIT
#include "lexformer/metrics/kmeans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// `count` rows of d numbers around each of `groups` distant points.
Tensor<float> groups_of(std::size_t groups, std::size_t count, std::size_t d, double spread) {
  RandomStream random(7, random_site::user);
  std::vector<float> values;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t length = 1 + g / d;
    for (std::size_t i = 0; i < count * d; ++i)
      values.push_back(static_cast<float>((i % d == g % d ? static_cast<double>(length) : 0.0) + spread * random.normal()));
  }
  return Tensor<float>::from(values, {groups * count, d});
}

/// The smallest inertia of any split of the rows into at most `clusters` parts.
double least_inertia(const Tensor<float>& rows, std::size_t clusters) {
  const std::size_t n = rows.dim(0), d = rows.dim(1);
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> part(n);
  for (;;) {
    double inertia = 0;
    for (std::size_t c = 0; c < clusters; ++c)
      for (std::size_t j = 0; j < d; ++j) {
        double sum = 0, squares = 0, count = 0;
        for (std::size_t i = 0; i < n; ++i)
          if (part[i] == c) {
            const double x = static_cast<double>(rows.at(i, j));
            sum += x;
            squares += x * x;
            ++count;
          }
        if (count > 0) inertia += squares - sum * sum / count;
      }
    least = std::min(least, inertia);
    std::size_t i = 0;
    while (i < n && ++part[i] == clusters) part[i++] = 0;
    if (i == n) return least;
  }
}

}  // namespace

TEST_CASE("kmeans: groups that are far apart are found; the categories are the groups") {
  const auto rows = groups_of(7, 20, 5, 0.02);
  std::vector<std::int32_t> categories;
  for (std::int32_t i = 0; i < 140; ++i) categories.push_back(i / 20);
  const auto starts = kmeans(rows, {.clusters = 7, .starts = 10, .seed = 1});
  CHECK(starts.size() == 10);
  const auto& best = best_start(starts);
  CHECK(purity(best.cluster, categories) == 1);
  CHECK(std::set<std::int32_t>(best.cluster.begin(), best.cluster.end()).size() == 7);
  CHECK(best.inertia == doctest::Approx(140 * 5 * 0.02 * 0.02).epsilon(0.2));
  for (const auto& start : starts) CHECK(start.inertia >= best.inertia);
}

TEST_CASE("kmeans: the best of many starts is the best split of all") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    RandomStream random(seed, random_site::user);
    std::vector<float> values(20);
    for (auto& v : values) v = static_cast<float>(random.normal());
    const auto rows = Tensor<float>::from(values, {10, 2});
    CHECK(best_start(kmeans(rows, {.clusters = 3, .starts = 100})).inertia == doctest::Approx(least_inertia(rows, 3)).epsilon(1e-9));
  }
}

TEST_CASE("kmeans: each row is in the cluster of the nearest mean") {
  const auto rows = groups_of(4, 30, 11, 0.5);  // 11 numbers: eight lanes and a rest
  for (const auto& start : kmeans(rows, {.clusters = 6, .starts = 3})) {
    std::vector<std::vector<double>> means(6, std::vector<double>(11));
    std::vector<double> counts(6);
    for (std::size_t i = 0; i < 120; ++i) {
      const auto c = static_cast<std::size_t>(start.cluster[i]);
      ++counts[c];
      for (std::size_t j = 0; j < 11; ++j) means[c][j] += static_cast<double>(rows.at(i, j));
    }
    double inertia = 0;
    for (std::size_t i = 0; i < 120; ++i) {
      std::vector<double> distances(6);
      for (std::size_t c = 0; c < 6; ++c)
        for (std::size_t j = 0; j < 11; ++j) {
          const double difference = static_cast<double>(rows.at(i, j)) - means[c][j] / counts[c];
          distances[c] += difference * difference;
        }
      const double own = distances[static_cast<std::size_t>(start.cluster[i])];
      CHECK(own == doctest::Approx(*std::min_element(distances.begin(), distances.end())));
      inertia += own;
    }
    CHECK(start.inertia == doctest::Approx(inertia));
  }
}

TEST_CASE("kmeans: the same for any number of threads; another seed, other starts") {
  const auto rows = groups_of(9, 40, 3, 0.6);
  const auto flat = [&](std::uint64_t seed) {
    std::vector<double> all;
    for (const auto& start : kmeans(rows, {.clusters = 9, .starts = 5, .seed = seed})) {
      all.push_back(start.inertia);
      all.insert(all.end(), start.cluster.begin(), start.cluster.end());
    }
    return all;
  };
  set_threads(1);
  const auto one = flat(1);
  set_threads(3);
  CHECK(flat(1) == one);
  set_threads(0);
  CHECK(flat(2) != one);
}

TEST_CASE("kmeans: equal rows, as many clusters as rows, one cluster") {
  const auto equal = Tensor<float>::from(std::vector<float>{2, 1, 2, 1, 2, 1}, {3, 2});
  CHECK(best_start(kmeans(equal, {.clusters = 3})).inertia == 0);  // clusters without rows
  const auto distinct = Tensor<float>::from(std::vector<float>{0, 5, 1}, {3, 1});
  CHECK(best_start(kmeans(distinct, {.clusters = 3})).inertia == 0);
  CHECK(best_start(kmeans(distinct, {.clusters = 1})).inertia == doctest::Approx(14));  // mean 2
}

TEST_CASE("purity: the most frequent label of each cluster") {
  const std::vector<std::int32_t> clusters{0, 0, 0, 1, 1, 4, 4}, categories{2, 2, 9, 2, 0, 1, 1};
  CHECK(purity(clusters, categories) == doctest::Approx(5.0 / 7));
  CHECK(purity(categories, categories) == 1);
  CHECK(purity(std::vector<std::int32_t>(7, 0), categories) == doctest::Approx(3.0 / 7));
}

TEST_CASE("kmeans and purity: what is refused") {
  const Tensor<float> rows(Shape{3, 2});
  const std::vector<std::int32_t> two{0, 1}, three{0, 1, 2}, none;
  CHECK(error_message([&] { kmeans(rows, {.clusters = 4}); }).find("4 clusters of 3 rows") != std::string::npos);
  CHECK(error_message([&] { kmeans(rows, {.clusters = 0}); }).find("0 clusters of 3 rows") != std::string::npos);
  CHECK(error_message([&] { kmeans(rows, {.clusters = 1, .starts = 0}); }).find("0 starts") != std::string::npos);
  CHECK(error_message([&] { kmeans(Tensor<float>(Shape{3}), {}); }).find("expected (rows, dimension)") != std::string::npos);
  CHECK(error_message([&] { kmeans(Tensor<float>(Shape{0, 2}), {}); }).find("expected (rows, dimension)") != std::string::npos);
  Tensor<float> wide(Shape{3, 2});
  wide.mutable_data()[3] = std::numeric_limits<float>::infinity();
  CHECK(error_message([&] { kmeans(wide, {.clusters = 2}); }).find("a number is not finite") != std::string::npos);
  CHECK(error_message([&] { best_start({}); }).find("no starts") != std::string::npos);
  CHECK(error_message([&] { purity(two, three); }).find("2 rows with clusters, 3 with labels") != std::string::npos);
  CHECK(error_message([&] { purity(none, none); }).find("at least 1") != std::string::npos);
}
