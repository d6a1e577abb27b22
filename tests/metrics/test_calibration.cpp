// SPDX-License-Identifier: MIT
#include "lexformer/metrics/calibration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "lexformer/core/random.hpp"
#include "lexformer/metrics/metrics.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

struct Scored {
  std::vector<double> scores;
  std::vector<std::int32_t> labels;
};

/// Scores on a grid, so that some are equal, with labels that follow p(s) = 1 / (1 + exp(-(2 s - 1))).
Scored scored(std::size_t n, std::uint64_t seed) {
  RandomStream random(seed, random_site::user);
  Scored out;
  for (std::size_t i = 0; i < n; ++i) {
    out.scores.push_back(std::round(16 * random.normal()) / 16);
    out.labels.push_back(random.uniform() < 1 / (1 + std::exp(1 - 2 * out.scores.back())) ? 1 : 0);
  }
  return out;
}

}  // namespace

TEST_CASE("fit_platt: the gradient of the cross-entropy to Platt's targets is 0") {
  for (const double unit : {1.0, 1e-6, 1e5}) {
    auto data = scored(300, 1);
    for (double& s : data.scores) s = unit * (s + 40);
    const auto f = fit_platt(data.scores, data.labels);
    const auto positives = static_cast<double>(std::count(data.labels.begin(), data.labels.end(), 1));
    double slope = 0, offset = 0;
    for (std::size_t i = 0; i < 300; ++i) {
      const double d = f(data.scores[i]) - (data.labels[i] == 1 ? (positives + 1) / (positives + 2) : 1 / (300 - positives + 2));
      slope += d * (data.scores[i] / unit - 40);
      offset += d;
    }
    CHECK(std::abs(slope) < 1e-6);
    CHECK(std::abs(offset) < 1e-6);
    CHECK(f.slope * unit == doctest::Approx(2).epsilon(0.2));
  }
}

TEST_CASE("fit_platt: separable classes, equal scores, a falling relation, one class") {
  const std::vector<double> scores{-2, -1, 1, 2};
  const auto separable = fit_platt(scores, std::vector<std::int32_t>{0, 0, 1, 1});
  CHECK(std::isfinite(separable.slope));
  CHECK(separable(-1) < 0.5);
  CHECK(separable(1) > 0.5);
  CHECK(separable(1e300) == 1);
  CHECK(separable(-1e300) == 0);
  CHECK(fit_platt(scores, std::vector<std::int32_t>{1, 1, 0, 0}).slope == doctest::Approx(-separable.slope));
  const auto constant = fit_platt(std::vector<double>{3, 3, 3}, std::vector<std::int32_t>{1, 0, 1});
  CHECK(constant.slope == 0);
  CHECK(constant(3) == doctest::Approx((2 * 0.75 + 1.0 / 3) / 3));  // the mean of the targets
  CHECK(fit_platt(scores, std::vector<std::int32_t>{1, 1, 1, 1})(0) == doctest::Approx(5.0 / 6));
}

TEST_CASE("fit_isotonic: against the min-max formula") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto data = scored(40, seed);
    const auto f = fit_isotonic(data.scores, data.labels);
    CHECK(std::is_sorted(f.scores.begin(), f.scores.end()));
    CHECK(std::is_sorted(f.probabilities.begin(), f.probabilities.end()));
    // max over a <= s of min over b >= s of the mean label of the scores from a to b
    for (const double s : data.scores) {
      double largest = 0;
      for (const double a : data.scores) {
        if (a > s) continue;
        double smallest = 1;
        for (const double b : data.scores) {
          if (b < s) continue;
          double sum = 0, count = 0;
          for (std::size_t i = 0; i < 40; ++i)
            if (data.scores[i] >= a && data.scores[i] <= b) sum += data.labels[i], ++count;
          smallest = std::min(smallest, sum / count);
        }
        largest = std::max(largest, smallest);
      }
      CHECK(f(s) == doctest::Approx(largest));
    }
  }
}

TEST_CASE("fit_isotonic: interpolates between steps, constant outside") {
  const auto f = fit_isotonic(std::vector<double>{0, 1, 2, 4}, std::vector<std::int32_t>{0, 1, 0, 1});
  CHECK(f.scores == std::vector<double>{0, 1, 2, 4});
  CHECK(f.probabilities == std::vector<double>{0, 0.5, 0.5, 1});
  CHECK(f(-5) == 0);
  CHECK(f(0.5) == 0.25);
  CHECK(f(1.7) == 0.5);
  CHECK(f(3) == 0.75);
  CHECK(f(9) == 1);
}

TEST_CASE("calibration_error: over bins") {
  const std::vector<double> p{0.05, 0.15, 0.95, 1.0, 0.85};
  const std::vector<std::int32_t> labels{0, 1, 1, 1, 0};
  const auto bins = calibration_bins(p, labels);
  REQUIRE(bins.size() == 4);
  CHECK(bins[3].probability == doctest::Approx(0.975));
  CHECK(bins[3].positives == 1);
  CHECK(bins[3].count == 2);
  CHECK(calibration_error(p, labels) == doctest::Approx((0.05 + 0.85 + 0.05 + 0.85) / 5));
  CHECK(calibration_error(p, labels, 1) == doctest::Approx(0));
}

TEST_CASE("calibration: fitted probabilities of new scores are calibrated") {
  const auto train = scored(4000, 5), test = scored(4000, 6);
  const auto platt = fit_platt(train.scores, train.labels);
  const auto isotonic = fit_isotonic(train.scores, train.labels);
  std::vector<double> raw, a, b;
  for (const double s : test.scores) {
    raw.push_back(1 / (1 + std::exp(-s)));
    a.push_back(platt(s));
    b.push_back(isotonic(s));
  }
  CHECK(calibration_error(raw, test.labels) > 0.1);
  CHECK(calibration_error(a, test.labels) < 0.03);
  CHECK(calibration_error(b, test.labels) < 0.03);
}

TEST_CASE("thresholds for a precision and a recall: against all cuts") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto data = scored(25, seed);
    for (const double wanted : {0.0, 0.5, 0.7, 0.9, 1.0}) {
      double best_recall = -1, best_threshold = 0, highest = -1e9;
      for (const double s : data.scores) {
        const double threshold = s - 1e-3;
        const auto counts = count_binary(data.scores, data.labels, threshold);
        if (counts.recall() >= wanted && counts.recall() > 0) highest = std::max(highest, threshold);
        if (counts.precision() < wanted || counts.recall() == 0) continue;
        if (counts.recall() > best_recall || (counts.recall() == best_recall && threshold > best_threshold))
          best_recall = counts.recall(), best_threshold = threshold;
      }
      const auto precise = threshold_for_precision(data.scores, data.labels, wanted);
      REQUIRE(precise.has_value() == (best_recall >= 0));
      if (precise) {
        const auto counts = count_binary(data.scores, data.labels, *precise);
        CHECK(counts.precision() >= wanted);
        CHECK(counts.recall() == best_recall);
        CHECK(*precise < best_threshold + 1e-3);
      }
      const auto complete = threshold_for_recall(data.scores, data.labels, wanted);
      REQUIRE(complete.has_value());
      const auto above = [&](double t) { return std::count_if(data.scores.begin(), data.scores.end(), [&](double s) { return s > t; }); };
      CHECK(above(*complete) == above(highest));
    }
  }
  CHECK(!threshold_for_recall(std::vector<double>{1, 2}, std::vector<std::int32_t>{0, 0}, 0.5));
  CHECK(!threshold_for_precision(std::vector<double>{1, 2}, std::vector<std::int32_t>{1, 0}, 0.9));
}

TEST_CASE("calibration: bad input") {
  const std::vector<double> scores{0.5, 2};
  const std::vector<std::int32_t> labels{0, 1}, wrong{0, 2};
  CHECK(error_message([&] { fit_platt(scores, wrong); }) == "fit_platt: the label of example 1 is 2, expected 0 or 1");
  CHECK(error_message([&] { fit_isotonic({}, {}); }) == "fit_isotonic: there are no examples");
  CHECK(error_message([&] { calibration_bins(scores, labels); }) ==
        "calibration_bins: the value of example 1 is 2, expected a probability from 0 to 1");
  CHECK(error_message([&] {
          calibration_error(std::vector<double>{0, 1}, labels, 0);
        }) == "calibration_bins: the number of bins is 0, expected at least 1");
}
