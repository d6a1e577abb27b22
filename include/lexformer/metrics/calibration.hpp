// SPDX-License-Identifier: MIT
// Calibration: probabilities that are right as often as they say, from scores and labels of validation data; and thresholds for a wanted
// precision or recall.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// Platt scaling (Platt 1999): p(s) = 1 / (1 + exp(-(slope s + offset))).
struct PlattScaling {
  double slope = 1, offset = 0;

  double operator()(double score) const;
  bool operator==(const PlattScaling&) const = default;
};

/// Logistic regression of the score to Platt's smoothed targets, without a penalty (fit_logistic()). The slope may be negative; it is 0 if
/// all scores are equal. Errors: no example; a label that is not 0 or 1; a score that is not finite.
PlattScaling fit_platt(std::span<const double> scores, std::span<const std::int32_t> labels);

/// Isotonic regression (Zadrozny and Elkan 2002): the rising step function with the least squared error to the labels. Between the last
/// score of a step and the first of the next it is interpolated linearly, outside it is constant (as in scikit-learn).
struct IsotonicCalibration {
  std::vector<double> scores, probabilities;  // corners of the function in ascending order of the scores

  double operator()(double score) const;
  bool operator==(const IsotonicCalibration&) const = default;
};

/// Pool adjacent violators; equal scores are one point with their mean label. Errors as fit_platt().
IsotonicCalibration fit_isotonic(std::span<const double> scores, std::span<const std::int32_t> labels);

/// The examples whose probability is in one of equally wide intervals.
struct CalibrationBin {
  double probability = 0;  // mean of the probabilities
  double positives = 0;    // share of the examples with label 1
  std::size_t count = 0;
};

/// The intervals [i / bins, (i + 1) / bins), the last with 1, that have examples; points of a reliability diagram. Errors: a probability
/// outside of [0, 1]; no example.
std::vector<CalibrationBin> calibration_bins(std::span<const double> probabilities, std::span<const std::int32_t> labels,
                                             std::size_t bins = 10);

/// Expected calibration error: sum of count |positives - probability| over the bins, divided by the number of examples (Guo et al. 2017,
/// eq. 5).
double calibration_error(std::span<const double> probabilities, std::span<const std::int32_t> labels, std::size_t bins = 10);

/// The threshold with the largest recall whose precision is at least `precision`, if there is one (is_match). It is
/// midway between two distinct scores, as best_f1_threshold(). On other data the precision varies around the wanted one.
std::optional<double> threshold_for_precision(std::span<const double> scores, std::span<const std::int32_t> labels, double precision);

/// The highest threshold whose recall is at least `recall`. Empty if no label is 1.
std::optional<double> threshold_for_recall(std::span<const double> scores, std::span<const std::int32_t> labels, double recall);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>

#include "lexformer/core/error.hpp"
#include "lexformer/metrics/logistic.hpp"
#include "lexformer/metrics/metrics.hpp"

namespace lexformer {

LEXFORMER_INLINE double PlattScaling::operator()(double score) const { return logistic(slope * score + offset); }

LEXFORMER_INLINE PlattScaling fit_platt(std::span<const double> scores, std::span<const std::int32_t> labels) {
  detail::check_binary("fit_platt", scores, labels);
  const auto f = fit_logistic(scores, labels);
  return {f.weights[0], f.offset};
}

LEXFORMER_INLINE double IsotonicCalibration::operator()(double score) const {
  const auto after = std::upper_bound(scores.begin(), scores.end(), score);
  if (after == scores.begin()) return probabilities.front();
  const auto i = static_cast<std::size_t>(after - scores.begin()) - 1;
  if (i + 1 == scores.size()) return probabilities.back();
  const double share = (score - scores[i]) / (scores[i + 1] - scores[i]);
  return probabilities[i] + share * (probabilities[i + 1] - probabilities[i]);
}

LEXFORMER_INLINE IsotonicCalibration fit_isotonic(std::span<const double> scores, std::span<const std::int32_t> labels) {
  detail::check_binary("fit_isotonic", scores, labels);
  struct Step {
    double first, last, positives, count;
    double mean() const { return positives / count; }
  };
  std::vector<Step> steps;  // by descending score, so the means must fall
  double positives = 0, count = 0;
  detail::for_each_cut(scores, labels, [&](double score, double, std::size_t true_positives, std::size_t predicted) {
    const auto tp = static_cast<double>(true_positives), all = static_cast<double>(predicted);
    steps.push_back({score, score, tp - positives, all - count});
    positives = tp;
    count = all;
    while (steps.size() > 1 && steps[steps.size() - 2].mean() <= steps.back().mean()) {
      const Step lower = steps.back();
      steps.pop_back();
      Step& step = steps.back();
      step = {lower.first, step.last, step.positives + lower.positives, step.count + lower.count};
    }
  });
  IsotonicCalibration f;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    f.scores.push_back(step->first);
    f.probabilities.push_back(step->mean());
    if (step->last == step->first) continue;
    f.scores.push_back(step->last);
    f.probabilities.push_back(step->mean());
  }
  return f;
}

LEXFORMER_INLINE std::vector<CalibrationBin> calibration_bins(std::span<const double> probabilities, std::span<const std::int32_t> labels,
                                                              std::size_t bins) {
  detail::check_binary("calibration_bins", probabilities, labels);
  if (bins == 0) fail("calibration_bins", "the number of bins is 0, expected at least 1");
  std::vector<CalibrationBin> all(bins), out;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double p = probabilities[i];
    if (p < 0 || p > 1) fail_numeric("calibration_bins", "the value of example ", i, " is ", p, ", expected a probability from 0 to 1");
    auto& bin = all[std::min(bins - 1, static_cast<std::size_t>(p * static_cast<double>(bins)))];
    bin.probability += p;
    bin.positives += labels[i];
    ++bin.count;
  }
  for (auto& bin : all) {
    if (bin.count == 0) continue;
    bin.probability /= static_cast<double>(bin.count);
    bin.positives /= static_cast<double>(bin.count);
    out.push_back(bin);
  }
  return out;
}

LEXFORMER_INLINE double calibration_error(std::span<const double> probabilities, std::span<const std::int32_t> labels, std::size_t bins) {
  double sum = 0;
  for (const auto& bin : calibration_bins(probabilities, labels, bins))
    sum += static_cast<double>(bin.count) * std::abs(bin.positives - bin.probability);
  return sum / static_cast<double>(labels.size());
}

namespace detail {

/// Of the cuts where keep(precision, recall) holds, the highest with the largest recall, or simply the highest.
template <class Keep>
std::optional<double> find_threshold(std::span<const double> scores, std::span<const std::int32_t> labels, bool largest_recall,
                                     Keep&& keep) {
  const auto positives = static_cast<std::size_t>(std::count(labels.begin(), labels.end(), 1));
  std::optional<double> found;
  std::size_t best = 0;  // true positives
  for_each_cut(scores, labels, [&](double score, double next, std::size_t true_positives, std::size_t predicted) {
    if (true_positives <= best || (found && !largest_recall)) return;
    if (!keep(ratio(true_positives, predicted), ratio(true_positives, positives))) return;
    found = threshold_below(score, next);
    best = true_positives;
  });
  return found;
}

}  // namespace detail

LEXFORMER_INLINE std::optional<double> threshold_for_precision(std::span<const double> scores, std::span<const std::int32_t> labels,
                                                               double precision) {
  detail::check_binary("threshold_for_precision", scores, labels);
  return detail::find_threshold(scores, labels, true, [&](double p, double) { return p >= precision; });
}

LEXFORMER_INLINE std::optional<double> threshold_for_recall(std::span<const double> scores, std::span<const std::int32_t> labels,
                                                            double recall) {
  detail::check_binary("threshold_for_recall", scores, labels);
  return detail::find_threshold(scores, labels, false, [&](double, double r) { return r >= recall; });
}

}  // namespace lexformer
#endif
