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

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <utility>

#include "lexformer/core/error.hpp"
#include "lexformer/metrics/metrics.hpp"

namespace lexformer {

namespace detail {

/// log(1 + exp(x)) without overflow.
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// Solves A x = b for a symmetric positive definite A (n, n) by Cholesky's decomposition. Returns whether A is one.
inline bool solve_positive(std::vector<double>& a, std::vector<double>& b) {
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

}  // namespace detail

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

LEXFORMER_INLINE LogisticRegression fit_logistic(std::span<const double> features, std::span<const std::int32_t> labels, double penalty) {
  const std::size_t n = labels.size();
  if (n == 0 || features.empty() || features.size() % n != 0)
    fail("fit_logistic", "got ", features.size(), " values of features for ", n, " labels, expected as many for each label");
  const std::size_t d = features.size() / n, size = d + 1;  // the offset is the last
  std::vector<double> x(n * size, 1.0), mean(d), unit(d);
  for (std::size_t j = 0; j < d; ++j) {
    std::vector<double> column(n);
    for (std::size_t i = 0; i < n; ++i) column[i] = features[i * d + j];
    detail::check_binary("fit_logistic", column, labels);
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
  const auto positives = static_cast<double>(std::count(labels.begin(), labels.end(), 1)), negatives = static_cast<double>(n) - positives;
  const double high = (positives + 1) / (positives + 2), low = 1 / (negatives + 2);
  const auto target = [&](std::size_t i) { return labels[i] == 1 ? high : low; };
  const auto logit = [&](const std::vector<double>& w, std::size_t i) {
    double z = 0;
    for (std::size_t j = 0; j < size; ++j) z += w[j] * x[i * size + j];
    return z;
  };
  const auto loss = [&](const std::vector<double>& w) {
    double sum = 0;
    for (std::size_t j = 0; j < d; ++j) sum += penalty / 2 * w[j] * w[j];
    for (std::size_t i = 0; i < n; ++i) {
      const double z = logit(w, i);
      sum += detail::softplus(z) - target(i) * z;
    }
    return sum;
  };
  const auto length = [](const std::vector<double>& v) {
    double sum = 0;
    for (const double value : v) sum += std::abs(value);
    return sum;
  };

  std::vector<double> w(size);
  w[d] = std::log((positives + 1) / (negatives + 1));
  double value = loss(w);
  for (int iteration = 0; iteration < 100; ++iteration) {
    std::vector<double> step(size), hessian(size * size);
    for (std::size_t j = 0; j < size; ++j) {
      if (j < d) step[j] = -penalty * w[j];
      hessian[j * size + j] = (j < d ? penalty : 0) + 1e-12 * static_cast<double>(n);  // equal features share their weight
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double p = logistic(logit(w, i)), error = p - target(i), curvature = p * (1 - p);
      const double* row = x.data() + i * size;
      for (std::size_t j = 0; j < size; ++j) {
        step[j] -= error * row[j];
        for (std::size_t k = 0; k <= j; ++k) hessian[j * size + k] += curvature * row[j] * row[k];
      }
    }
    if (!detail::solve_positive(hessian, step)) break;
    // Near the minimum the loss is flat: rounding hides whether it falls, but the whole step is right.
    const bool near = length(step) < 1e-6 * (1 + length(w));
    std::vector<double> next = w;
    double share = 2, next_value = value;
    for (int halvings = 0; halvings == 0 || (!near && halvings < 34 && !(next_value <= value)); ++halvings) {
      share /= 2;
      for (std::size_t j = 0; j < size; ++j) next[j] = w[j] + share * step[j];
      next_value = loss(next);
    }
    if (!near && !(next_value <= value)) break;
    const bool still = share * length(step) < 1e-12 * (1 + length(next));
    w = std::move(next);
    value = next_value;
    if (still) break;
  }
  LogisticRegression out{std::vector<double>(d), w[d]};
  for (std::size_t j = 0; j < d; ++j) {
    out.weights[j] = w[j] / unit[j];
    out.offset -= out.weights[j] * mean[j];
  }
  return out;
}

}  // namespace lexformer
#endif
