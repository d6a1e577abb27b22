// SPDX-License-Identifier: MIT
// Logistic regression of a few features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// p(x) = 1 / (1 + exp(-(w . x + offset))).
struct LogisticRegression {
  std::vector<double> weights;
  double offset = 0;

  /// w . x + offset. Errors: another number of features than of weights.
  double logit(std::span<const double> x) const;
  double operator()(std::span<const double> x) const;
};

/// 1 / (1 + exp(-x)) without overflow.
double logistic(double x);

/// Minimises the cross-entropy to Platt's smoothed targets, (P + 1) / (P + 2) for the P positives and 1 / (N + 2) for the N negatives, plus
/// penalty / 2 |w'|^2, by Newton's method; w' are the weights of the standardized features (mean 0, deviation 1), so their units do not
/// matter. The targets keep the fit finite where the features separate the classes. A constant feature has the weight 0. features: (labels,
/// features a label), row by row. Errors: no example; another number of values; a label that is not 0 or 1; a value that is not finite.
LogisticRegression fit_logistic(std::span<const double> features, std::span<const std::int32_t> labels, double penalty = 0);

namespace detail {
/// log(1 + exp(x)) without overflow.
double softplus(double x);
/// Solves A x = b for a symmetric positive definite A (n, n) by Cholesky's decomposition, whose factor L is then the lower triangle of a.
/// Returns whether A is one.
bool solve_positive(std::vector<double>& a, std::vector<double>& b);
double sum_of_magnitudes(const std::vector<double>& v);
}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <utility>

#include "lexformer/core/error.hpp"
#include "lexformer/metrics/metrics.hpp"

namespace lexformer {

LEXFORMER_INLINE double detail::softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

LEXFORMER_INLINE bool detail::solve_positive(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i == j && !(sum > 0)) return false;
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return true;
}

LEXFORMER_INLINE double detail::sum_of_magnitudes(const std::vector<double>& v) {
  double sum = 0;
  for (const double value : v) sum += std::abs(value);
  return sum;
}

LEXFORMER_INLINE double logistic(double x) {
  const double e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

LEXFORMER_INLINE double LogisticRegression::logit(std::span<const double> x) const {
  if (x.size() != weights.size()) fail("LogisticRegression", "got ", x.size(), " features, expected ", weights.size());
  double sum = offset;
  for (std::size_t j = 0; j < x.size(); ++j) sum += weights[j] * x[j];
  return sum;
}

LEXFORMER_INLINE double LogisticRegression::operator()(std::span<const double> x) const { return logistic(logit(x)); }

namespace detail {
/// Features with mean 0 and deviation 1, and a last column of ones for the offset: n rows of size = d + 1 values.
struct StandardFeatures {
  std::size_t n, d, size;
  std::vector<double> x, mean, unit;

  StandardFeatures(std::span<const double> features, std::span<const std::int32_t> labels)
      : n(labels.size()), d(features.size() / n), size(d + 1), x(n * size, 1.0), mean(d), unit(d) {
    for (std::size_t j = 0; j < d; ++j) {
      std::vector<double> column(n);
      for (std::size_t i = 0; i < n; ++i) column[i] = features[i * d + j];
      check_binary("fit_logistic", column, labels);
      const auto [least, most] = std::minmax_element(column.begin(), column.end());
      if (*least == *most) {  // their mean is not exact
        mean[j] = *least;
        unit[j] = 1;
      } else {
        const auto statistics = mean_and_deviation(column);
        mean[j] = statistics.mean;
        unit[j] = statistics.deviation;
      }
      for (std::size_t i = 0; i < n; ++i) x[i * size + j] = (column[i] - mean[j]) / unit[j];
    }
  }

  double logit(const std::vector<double>& w, std::size_t i) const {
    double z = 0;
    for (std::size_t j = 0; j < size; ++j) z += w[j] * x[i * size + j];
    return z;
  }
};

/// The penalised loss of w: penalty / 2 |w|^2 (without the offset) + sum_i softplus(z_i) - target_i z_i.
inline double logistic_loss(const StandardFeatures& f, const std::vector<double>& target, double penalty, const std::vector<double>& w) {
  double sum = 0;
  for (std::size_t j = 0; j < f.d; ++j) sum += penalty / 2 * w[j] * w[j];
  for (std::size_t i = 0; i < f.n; ++i) {
    const double z = f.logit(w, i);
    sum += softplus(z) - target[i] * z;
  }
  return sum;
}

/// The Newton step at w: the inverse Hessian times the negative gradient; empty if the Hessian is not positive.
inline std::vector<double> newton_step(const StandardFeatures& f, const std::vector<double>& target, double penalty,
                                       const std::vector<double>& w) {
  const std::size_t size = f.size;
  std::vector<double> step(size), hessian(size * size);
  for (std::size_t j = 0; j < size; ++j) {
    if (j < f.d) step[j] = -penalty * w[j];
    hessian[j * size + j] = (j < f.d ? penalty : 0) + 1e-12 * static_cast<double>(f.n);  // equal features share their weight
  }
  for (std::size_t i = 0; i < f.n; ++i) {
    const double p = logistic(f.logit(w, i)), error = p - target[i], curvature = p * (1 - p);
    const double* row = f.x.data() + i * size;
    for (std::size_t j = 0; j < size; ++j) {
      step[j] -= error * row[j];
      for (std::size_t k = 0; k <= j; ++k) hessian[j * size + k] += curvature * row[j] * row[k];
    }
  }
  if (!solve_positive(hessian, step)) step.clear();
  return step;
}

}  // namespace detail

LEXFORMER_INLINE LogisticRegression fit_logistic(std::span<const double> features, std::span<const std::int32_t> labels, double penalty) {
  if (labels.empty() || features.empty() || features.size() % labels.size() != 0)
    fail("fit_logistic", "got ", features.size(), " values of features for ", labels.size(), " labels, expected as many for each label");
  const detail::StandardFeatures f(features, labels);
  const auto positives = static_cast<double>(std::count(labels.begin(), labels.end(), 1)), negatives = static_cast<double>(f.n) - positives;
  std::vector<double> target;
  for (const std::int32_t label : labels) target.push_back(label == 1 ? (positives + 1) / (positives + 2) : 1 / (negatives + 2));
  const auto loss = [&](const std::vector<double>& w) { return detail::logistic_loss(f, target, penalty, w); };
  const auto length = detail::sum_of_magnitudes;

  std::vector<double> w(f.size);
  w[f.d] = std::log((positives + 1) / (negatives + 1));
  double value = loss(w);
  for (int iteration = 0; iteration < 100; ++iteration) {
    const auto step = detail::newton_step(f, target, penalty, w);
    if (step.empty()) break;
    // Near the minimum the loss is flat: rounding hides whether it falls, but the whole step is right.
    const bool near = length(step) < 1e-6 * (1 + length(w));
    std::vector<double> next = w;
    double share = 2, next_value = value;
    for (int halvings = 0; halvings == 0 || (!near && halvings < 34 && !(next_value <= value)); ++halvings) {
      share /= 2;
      for (std::size_t j = 0; j < f.size; ++j) next[j] = w[j] + share * step[j];
      next_value = loss(next);
    }
    if (!near && !(next_value <= value)) break;
    const bool still = share * length(step) < 1e-12 * (1 + length(next));
    w = std::move(next);
    value = next_value;
    if (still) break;
  }
  LogisticRegression out{std::vector<double>(f.d), w[f.d]};
  for (std::size_t j = 0; j < f.d; ++j) {
    out.weights[j] = w[j] / f.unit[j];
    out.offset -= out.weights[j] * f.mean[j];
  }
  return out;
}

}  // namespace lexformer
#endif
