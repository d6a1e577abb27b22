// SPDX-License-Identifier: MIT
// Logistic regression of a few features with a normal prior on its weights, for few labels: how sure a fit is, not only where it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// What is believed of the weights before any label is seen: independent normal distributions.
struct NormalPrior {
  std::vector<double> mean, deviation;
};

/// Examples of equal features: `count` of them, of which the share `positive` has the label 1.
struct WeightedExample {
  std::vector<double> features;
  double positive = 0, count = 1;
};

/// The posterior of the weights w of p(x) = logistic(w . x).
struct LogisticPosterior {
  std::vector<double> mode;                // the most probable weights
  std::vector<std::vector<double>> draws;  // weights, drawn from the normal distribution that touches the posterior at its mode
  std::vector<double> importance;          // of each draw: posterior density / density of that distribution; their sum is 1
};

/// The mode minimises
///   sum_i count_i (softplus(w . x_i) - positive_i w . x_i) + sum_j (w_j - mean_j)^2 / (2 deviation_j^2)
/// by Newton's method; the draws have the inverse of the Hessian there as their covariance (Laplace's approximation, corrected by
/// importance sampling; Gelman et al., Bayesian Data Analysis 2013, sections 10.4 and 13.3). Depends on nothing but the arguments.
/// Errors: features of another size than the prior; a share outside of [0, 1]; a count or a deviation that is not above 0.
LogisticPosterior logistic_posterior(std::span<const WeightedExample> examples, const NormalPrior& prior, std::size_t draws = 0,
                                     std::uint64_t seed = 1);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/metrics/logistic.hpp"

namespace lexformer {

namespace detail {

/// The negative logarithm of the posterior's density, up to a constant.
inline double posterior_loss(std::span<const WeightedExample> examples, const NormalPrior& prior, const std::vector<double>& w) {
  double sum = 0;
  for (std::size_t j = 0; j < w.size(); ++j) sum += std::pow((w[j] - prior.mean[j]) / prior.deviation[j], 2) / 2;
  for (const auto& e : examples) {
    const double z = std::inner_product(w.begin(), w.end(), e.features.begin(), 0.0);
    sum += e.count * (softplus(z) - e.positive * z);
  }
  return sum;
}

/// Its Hessian (row by row) and its negative gradient at w.
inline std::pair<std::vector<double>, std::vector<double>> posterior_slope(std::span<const WeightedExample> examples,
                                                                           const NormalPrior& prior, const std::vector<double>& w) {
  const std::size_t n = w.size();
  std::vector<double> hessian(n * n), descent(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double precision = 1 / (prior.deviation[j] * prior.deviation[j]);
    hessian[j * n + j] = precision;
    descent[j] = precision * (prior.mean[j] - w[j]);
  }
  for (const auto& e : examples) {
    const double p = logistic(std::inner_product(w.begin(), w.end(), e.features.begin(), 0.0));
    for (std::size_t j = 0; j < n; ++j) {
      descent[j] += e.count * (e.positive - p) * e.features[j];
      for (std::size_t k = 0; k < n; ++k) hessian[j * n + k] += e.count * p * (1 - p) * e.features[j] * e.features[k];
    }
  }
  return {std::move(hessian), std::move(descent)};
}

inline void check_posterior(std::span<const WeightedExample> examples, const NormalPrior& prior) {
  const std::size_t n = prior.mean.size();
  if (prior.deviation.size() != n) fail("logistic_posterior", n, " means and ", prior.deviation.size(), " deviations");
  for (const double deviation : prior.deviation)
    if (!(deviation > 0)) fail("logistic_posterior", "a deviation is ", deviation, ", expected a number above 0");
  for (const auto& e : examples) {
    if (e.features.size() != n) fail("logistic_posterior", e.features.size(), " features, expected ", n);
    if (!(e.positive >= 0 && e.positive <= 1)) fail("logistic_posterior", "a share is ", e.positive, ", expected one from 0 to 1");
    if (!(e.count > 0)) fail("logistic_posterior", "a count is ", e.count, ", expected a number above 0");
  }
}

}  // namespace detail

LEXFORMER_INLINE LogisticPosterior logistic_posterior(std::span<const WeightedExample> examples, const NormalPrior& prior,
                                                      std::size_t draws, std::uint64_t seed) {
  detail::check_posterior(examples, prior);
  const std::size_t n = prior.mean.size();
  const auto loss = [&](const std::vector<double>& w) { return detail::posterior_loss(examples, prior, w); };
  LogisticPosterior out{prior.mean, {}, {}};
  std::vector<double>& w = out.mode;
  std::vector<double> factor;  // L, with the Hessian L L^T, once solve_positive() was called
  for (int iteration = 0; iteration < 100; ++iteration) {
    auto [hessian, step] = detail::posterior_slope(examples, prior, w);
    if (!detail::solve_positive(hessian, step)) fail_numeric("logistic_posterior", "the Hessian is not positive");
    factor = std::move(hessian);
    const double value = loss(w), length = detail::sum_of_magnitudes(step);
    const bool near = length < 1e-9 * (1 + detail::sum_of_magnitudes(w));
    if (near) break;
    std::vector<double> next(n);
    double share = 2;
    do {
      share /= 2;
      for (std::size_t j = 0; j < n; ++j) next[j] = w[j] + share * step[j];
    } while (!(loss(next) <= value) && share > 1e-9);
    if (!(loss(next) <= value)) break;  // rounding alone is left
    w = std::move(next);
  }
  RandomStream random(seed, 0);
  const double at_mode = loss(w);
  for (std::size_t d = 0; d < draws; ++d) {
    std::vector<double> x(n);
    double squares = 0;
    for (double& value : x) {
      value = random.normal();
      squares += value * value;
    }
    for (std::size_t i = n; i-- > 0;) {  // solves L^T x = the normal numbers
      for (std::size_t k = i + 1; k < n; ++k) x[i] -= factor[k * n + i] * x[k];
      x[i] /= factor[i * n + i];
    }
    for (std::size_t j = 0; j < n; ++j) x[j] += w[j];
    out.importance.push_back(std::exp(std::clamp(squares / 2 - (loss(x) - at_mode), -700.0, 700.0)));
    out.draws.push_back(std::move(x));
  }
  const double sum = std::accumulate(out.importance.begin(), out.importance.end(), 0.0);
  for (double& weight : out.importance) weight /= sum;
  return out;
}

}  // namespace lexformer
#endif
