// SPDX-License-Identifier: MIT
#include "lexformer/metrics/logistic_posterior.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "lexformer/core/random.hpp"
#include "lexformer/metrics/logistic.hpp"
#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

std::vector<WeightedExample> random_examples(std::size_t count, RandomStream& random) {
  std::vector<WeightedExample> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({{1, random.normal(), random.normal()}, random.uniform(), 0.5 + random.uniform()});
  return out;
}

/// The loss as the header defines it.
double loss(const std::vector<WeightedExample>& examples, const NormalPrior& prior, const std::vector<double>& w) {
  double sum = 0;
  for (const auto& e : examples) {
    const double z = std::inner_product(w.begin(), w.end(), e.features.begin(), 0.0);
    sum += e.count * (std::log1p(std::exp(z)) - e.positive * z);
  }
  for (std::size_t j = 0; j < w.size(); ++j) sum += std::pow(w[j] - prior.mean[j], 2) / (2 * std::pow(prior.deviation[j], 2));
  return sum;
}

double weighted_mean(const LogisticPosterior& posterior, double (*f)(double)) {
  double sum = 0;
  for (std::size_t d = 0; d < posterior.draws.size(); ++d) sum += posterior.importance[d] * f(posterior.draws[d][0]);
  return sum;
}

}  // namespace

TEST_CASE("logistic_posterior: the mode has the least loss") {
  RandomStream random(3, 0);
  const NormalPrior prior{{0.5, -1, 2}, {0.7, 2, 0.3}};
  const auto examples = random_examples(40, random);
  const auto mode = logistic_posterior(examples, prior).mode;
  const double least = loss(examples, prior, mode);
  for (std::size_t j = 0; j < 3; ++j)
    for (const double step : {-1e-3, 1e-3}) {
      auto other = mode;
      other[j] += step;
      CHECK(loss(examples, prior, other) > least);
    }
}

TEST_CASE("law: a count of three is three examples") {
  const NormalPrior prior{{0, 1}, {1, 1}};
  const std::vector<WeightedExample> one{{{1, 0.5}, 1, 3}, {{1, -2}, 0, 1}};
  const std::vector<WeightedExample> three{{{1, 0.5}, 1, 1}, {{1, 0.5}, 1, 1}, {{1, 0.5}, 1, 1}, {{1, -2}, 0, 1}};
  const auto a = logistic_posterior(one, prior).mode, b = logistic_posterior(three, prior).mode;
  for (std::size_t j = 0; j < 2; ++j) CHECK(a[j] == doctest::Approx(b[j]).epsilon(1e-9));
}

TEST_CASE("logistic_posterior: without examples the draws are the prior's") {
  const NormalPrior prior{{2}, {0.5}};
  const auto posterior = logistic_posterior({}, prior, 4000);
  CHECK(posterior.mode[0] == doctest::Approx(2));
  CHECK(weighted_mean(posterior, [](double w) { return w; }) == doctest::Approx(2).epsilon(0.02));
  CHECK(weighted_mean(posterior, [](double w) { return (w - 2) * (w - 2); }) == doctest::Approx(0.25).epsilon(0.06));
  for (const double weight : posterior.importance) CHECK(weight == doctest::Approx(1.0 / 4000));
}

TEST_CASE("logistic_posterior: mean and variance of one weight agree with numeric integration") {
  const NormalPrior prior{{0}, {2}};
  const std::vector<WeightedExample> examples{{{1}, 1, 4}, {{1}, 0, 1}};  // skewed: four of five
  double mass = 0, mean = 0, square = 0;
  for (int i = -12000; i <= 12000; ++i) {
    const double w = i / 1000.0;
    const double density = std::exp(-loss(examples, prior, {w}));
    mass += density;
    mean += density * w;
    square += density * w * w;
  }
  mean /= mass;
  const double variance = square / mass - mean * mean;
  const auto posterior = logistic_posterior(examples, prior, 20000);
  const double drawn = weighted_mean(posterior, [](double w) { return w; });
  CHECK(drawn == doctest::Approx(mean).epsilon(0.03));
  CHECK(weighted_mean(posterior, [](double w) { return w * w; }) - drawn * drawn == doctest::Approx(variance).epsilon(0.05));
  CHECK(logistic_posterior(examples, prior, 50).draws == logistic_posterior(examples, prior, 50).draws);
}

TEST_CASE("logistic_posterior: what it refuses") {
  const NormalPrior prior{{0, 1}, {1, 1}};
  const auto refused = [](const std::vector<WeightedExample>& examples, const NormalPrior& p) {
    return error_message([&] { logistic_posterior(examples, p); });
  };
  CHECK(refused({{{1}, 1, 1}}, prior).find("1 features, expected 2") != std::string::npos);
  CHECK(refused({{{1, 1}, 1.5, 1}}, prior).find("a share is 1.5") != std::string::npos);
  CHECK(refused({{{1, 1}, 1, 0}}, prior).find("a count is 0") != std::string::npos);
  CHECK(refused({}, {{0}, {0}}).find("a deviation is 0") != std::string::npos);
  CHECK(refused({}, {{0}, {1, 1}}).find("1 means and 2 deviations") != std::string::npos);
}
