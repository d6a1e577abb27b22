// SPDX-License-Identifier: MIT
#include "lexformer/metrics/logistic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "lexformer/core/random.hpp"
#include "lexformer/metrics/calibration.hpp"
#include "lexformer/metrics/metrics.hpp"
#include "lexformer/metrics/score_calibration.hpp"
#include "lexformer/tables/combined_score.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// Three features of very different units; the third says nothing. Labels follow p = logistic(2 x_1 - x_2 - 1) of the first two in their
/// own units.
struct LogisticData {
  std::vector<double> features;
  std::vector<std::int32_t> labels;

  LogisticData(std::size_t n, std::uint64_t seed) {
    RandomStream random(seed, random_site::user);
    for (std::size_t i = 0; i < n; ++i) {
      const double a = random.normal(), b = random.normal();
      features.insert(features.end(), {1e4 * a + 7, 1e-3 * b, random.normal()});
      labels.push_back(random.uniform() < logistic(2 * a - b - 1) ? 1 : 0);
    }
  }
  std::span<const double> row(std::size_t i) const { return std::span(features).subspan(3 * i, 3); }
};

}  // namespace

TEST_CASE("fit_logistic: the gradient of cross-entropy and penalty is 0") {
  const LogisticData data(500, 3);
  const std::size_t n = data.labels.size();
  for (const double penalty : {0.0, 1.0, 50.0}) {
    const auto f = fit_logistic(data.features, data.labels, penalty);
    const auto positives = static_cast<double>(std::count(data.labels.begin(), data.labels.end(), 1));
    double offset = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      std::vector<double> column;
      for (std::size_t i = 0; i < n; ++i) column.push_back(data.row(i)[j]);
      const auto [mean, unit] = mean_and_deviation(column);
      double gradient = penalty * f.weights[j] * unit;
      offset = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double target = data.labels[i] == 1 ? (positives + 1) / (positives + 2) : 1 / (static_cast<double>(n) - positives + 2);
        const double error = f(data.row(i)) - target;
        gradient += error * (column[i] - mean) / unit;
        offset += error;
      }
      CHECK(std::abs(gradient) < 1e-8);
    }
    CHECK(std::abs(offset) < 1e-8);
    if (penalty == 0) {
      CHECK(1e4 * f.weights[0] == doctest::Approx(2).epsilon(0.2));
      CHECK(1e-3 * f.weights[1] == doctest::Approx(-1).epsilon(0.2));
      CHECK(std::abs(f.weights[2]) < 0.3);
    }
  }
}

TEST_CASE("fit_logistic: one feature is Platt scaling; equal, constant and separating features") {
  const LogisticData data(200, 4);
  std::vector<double> first, twice, constant;
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    first.push_back(data.row(i)[0]);
    twice.insert(twice.end(), 2, data.row(i)[0]);
    constant.insert(constant.end(), {data.row(i)[0], 0.1});  // 0.1: the mean of many is not 0.1
  }
  const auto one = fit_logistic(first, data.labels);
  const auto platt = fit_platt(first, data.labels);
  CHECK(one.weights.at(0) == platt.slope);
  CHECK(one.offset == platt.offset);
  const auto equal = fit_logistic(twice, data.labels);
  CHECK(equal.weights[0] == doctest::Approx(equal.weights[1]).epsilon(1e-3));
  CHECK(equal.weights[0] + equal.weights[1] == doctest::Approx(one.weights[0]).epsilon(1e-6));
  const auto with_constant = fit_logistic(constant, data.labels);
  CHECK(with_constant.weights[0] == doctest::Approx(one.weights[0]).epsilon(1e-9));
  CHECK(with_constant.weights[1] == 0);

  const std::vector<double> x{-2, -1, 1, 2};
  const auto separating = fit_logistic(x, std::vector<std::int32_t>{0, 0, 1, 1});
  CHECK(std::isfinite(separating.weights[0]));
  CHECK(separating(std::vector<double>{1e300}) == 1);
  CHECK(separating(std::vector<double>{-1e300}) == 0);
  CHECK(logistic(0) == 0.5);
}

TEST_CASE("fit_combined_score: better than the model alone where the evidence tells more") {
  RandomStream random(5, random_site::user);
  std::vector<double> scores;
  std::vector<CheapEvidence> pairs;
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < 2000; ++i) {
    const double match = random.uniform() < 0.3 ? 1 : 0;
    labels.push_back(static_cast<std::int32_t>(match));
    scores.push_back(logistic(2 * match - 1 + random.normal()));
    pairs.push_back({0.5 + 0.1 * random.normal(), 0.2 * match - 0.1 + 0.1 * random.normal()});
  }
  const auto f = fit_combined_score(true, scores, pairs, labels);
  CHECK(f.regression.weights[0] > 0);
  CHECK(f.regression.weights[2] > 0);
  std::vector<double> combined;
  for (std::size_t i = 0; i < scores.size(); ++i) combined.push_back(f(scores[i], pairs[i]));
  CHECK(average_precision(combined, labels) > average_precision(scores, labels) + 0.05);
  CHECK(calibration_error(combined, labels) < 0.03);

  // cross-fitted: each by a fit without its fold, so nearly as good, but never the same
  const auto crossed = cross_fitted_scores(true, scores, pairs, labels);
  CHECK(average_precision(crossed, labels) == doctest::Approx(average_precision(combined, labels)).epsilon(0.01));
  const auto folds = stratified_folds(labels);
  std::vector<double> others;
  std::vector<CheapEvidence> their_pairs;
  std::vector<std::int32_t> their_labels;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (folds[i] != 3) {
      others.push_back(scores[i]);
      their_pairs.push_back(pairs[i]);
      their_labels.push_back(labels[i]);
    }
  const auto without = fit_combined_score(true, others, their_pairs, their_labels);
  for (std::size_t i = 0; i < labels.size(); ++i) CHECK((folds[i] == 3) == (crossed[i] == without(scores[i], pairs[i])));

  // numbers that are no probabilities
  for (double& s : scores) s = std::log(s / (1 - s)) * 10;
  const auto numbers = fit_combined_score(false, scores, pairs, labels);
  CHECK(numbers.regression.weights[0] * 10 == doctest::Approx(f.regression.weights[0]).epsilon(1e-6));
  // no evidence
  for (auto& pair : pairs) pair = {};
  const auto none = fit_combined_score(false, scores, pairs, labels);
  CHECK(none.regression.weights[1] == 0);
  CHECK(none.regression.weights[2] == 0);
}

TEST_CASE("fit_logistic: errors say what is wrong") {
  const std::vector<double> x{1, 2, 3};
  CHECK(error_message([&] {
          fit_logistic(x, std::vector<std::int32_t>{0, 1});
        }) == "fit_logistic: got 3 values of features for 2 labels, expected as many for each label");
  CHECK(error_message([&] {
          fit_logistic(x, std::vector<std::int32_t>{0, 1, 2});
        }) == "fit_logistic: the label of example 2 is 2, expected 0 or 1");
  CHECK(error_message([&] {
          fit_logistic(std::vector<double>{1, std::nan("")}, std::vector<std::int32_t>{0, 1});
        }).find("fit_logistic") == 0);
  const auto f = fit_logistic(x, std::vector<std::int32_t>{0, 1, 0});
  CHECK(error_message([&] { f.logit(std::vector<double>{1, 2}); }) == "LogisticRegression: got 2 features, expected 1");
  CHECK(error_message([&] {
          fit_combined_score(false, x, std::vector<CheapEvidence>(2), std::vector<std::int32_t>{0, 1, 0});
        }) == "fit_combined_score: there are 3 scores, 2 pairs and 3 labels; expected as many");
  CHECK(error_message([&] {
          cross_fitted_scores(false, x, std::vector<CheapEvidence>(2), std::vector<std::int32_t>{0, 1, 0});
        }) == "cross_fitted_scores: there are 3 scores, 2 pairs and 3 labels; expected as many");
}
