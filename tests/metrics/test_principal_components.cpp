// SPDX-License-Identifier: MIT
#include "lexformer/metrics/principal_components.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "lexformer/core/random.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

TEST_CASE("principal_components: points of a plane keep their distances, directions are sorted and uncorrelated") {
  const std::size_t n = 30, d = 12;
  RandomStream random(4, random_site::user);
  std::vector<double> first(d), second(d);
  for (std::size_t j = 0; j < d; ++j) first[j] = random.normal(), second[j] = 0.3 * random.normal();
  Tensor<float> rows({n, d});
  for (std::size_t i = 0; i < n; ++i) {
    const double a = random.normal(), b = random.normal();
    for (std::size_t j = 0; j < d; ++j) rows.mutable_data()[i * d + j] = static_cast<float>(5 + a * first[j] + b * second[j]);
  }
  const auto pca = principal_components(rows, 3);
  REQUIRE(pca.coordinates.shape() == Shape{n, 3});
  CHECK(pca.variance[0] + pca.variance[1] == doctest::Approx(1));
  CHECK(pca.variance[0] > pca.variance[1]);
  CHECK(pca.variance[2] < 1e-9);
  double mixed = 0, sum = 0, largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    mixed += pca.coordinates.at(i, 0) * pca.coordinates.at(i, 1);
    sum += pca.coordinates.at(i, 0);
    if (std::abs(pca.coordinates.at(i, 0)) > std::abs(largest)) largest = pca.coordinates.at(i, 0);
    for (std::size_t k = 0; k < n; ++k) {
      double squares = 0;
      for (std::size_t j = 0; j < d; ++j) squares += std::pow(static_cast<double>(rows.at(i, j)) - static_cast<double>(rows.at(k, j)), 2);
      const double distance =
          std::hypot(pca.coordinates.at(i, 0) - pca.coordinates.at(k, 0), pca.coordinates.at(i, 1) - pca.coordinates.at(k, 1));
      CHECK(distance == doctest::Approx(std::sqrt(squares)).epsilon(1e-5));
    }
  }
  CHECK(std::abs(mixed) < 1e-5);
  CHECK(std::abs(sum) < 1e-5);
  CHECK(largest > 0);
}

TEST_CASE("principal_components: known values, equal rows, bad input") {
  const auto square = principal_components(Tensor<float>::from({3, 1, -3, 1, 0, 0, 0, 2}, {4, 2}), 2);
  CHECK(square.coordinates.at(0, 0) == doctest::Approx(3));
  CHECK(square.coordinates.at(1, 0) == doctest::Approx(-3));
  CHECK(std::abs(square.coordinates.at(2, 1)) == doctest::Approx(1));
  CHECK(square.variance[0] == doctest::Approx(0.9));
  const auto equal = principal_components(Tensor<float>::from({1, 2, 1, 2}, {2, 2}), 2);
  CHECK(equal.variance == std::vector<double>{0, 0});
  CHECK(equal.coordinates.at(1, 1) == 0);
  CHECK(error_message([] {
          principal_components(Tensor<float>({2, 3}), 3);
        }) == "principal_components: 3 components of 2 rows; there are at most as many as rows");
  CHECK(error_message([] {
          principal_components(Tensor<float>::from({1, 2, 3, INFINITY}, {2, 2}), 1);
        }) == "principal_components: row 0 is not finite");
}
