// SPDX-License-Identifier: MIT
// Metrics. All are numbers from 0 to 1 (correlations -1 to 1), and 0 where the definition divides by zero. Classes are 0-based.
// Scores that are not finite are an error, because comparisons with NaN would silently count them as negative.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"

namespace lexformer {

/// "98.1 %" for 0.981.
std::string percent(double share, int digits = 1);

namespace detail {

double ratio(std::size_t part, std::size_t whole);

void check_metric_input(const char* where, std::span<const double> values, std::size_t count);

void check_binary(const char* where, std::span<const double> scores, std::span<const std::int32_t> labels);

/// Calls body(value, next lower value or value itself, true positives, predicted positives) once per distinct score, in descending order;
/// examples with at least that score count as predicted positive.
template <class Body>
void for_each_cut(std::span<const double> scores, std::span<const std::int32_t> labels, Body&& body) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::size_t true_positives = 0;
  for (std::size_t i = 0; i < order.size();) {
    const double value = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == value; ++i) true_positives += static_cast<std::size_t>(labels[order[i]]);
    body(value, i < order.size() ? scores[order[i]] : value, true_positives, i);
  }
}

/// The threshold of a cut of for_each_cut(): midway between `score` and the next lower one, or `score` if no number is between them; just
/// below the lowest score.
inline double threshold_below(double score, double next) {
  if (next == score) return std::nextafter(score, -std::numeric_limits<double>::infinity());
  const double middle = std::midpoint(next, score);  // rounds to one of the two if they are adjacent floating-point numbers
  return middle > next ? middle : score;
}

}  // namespace detail

/// The decision of every command and metric: a score that equals the threshold is a match.
constexpr bool is_match(double score, double threshold) { return score >= threshold; }

/// The threshold on the probability of class 1 that decides as argmax does: more than one half, since a tie is class 0.
inline constexpr double argmax_threshold = 0.5 + 0x1p-53;

/// The four counts of a two-class decision; class 1 is positive.
struct BinaryCounts {
  std::size_t true_positive = 0, false_positive = 0, true_negative = 0, false_negative = 0;

  /// Counts one example.
  void add(bool predicted, bool positive) {
    ++(positive ? predicted ? true_positive : false_negative : predicted ? false_positive : true_negative);
  }
  double precision() const { return detail::ratio(true_positive, true_positive + false_positive); }
  double recall() const { return detail::ratio(true_positive, true_positive + false_negative); }
  double accuracy() const;
  /// F1 = 2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall.
  double f1() const { return detail::ratio(2 * true_positive, 2 * true_positive + false_positive + false_negative); }
};

/// Counts is_match(score, threshold) as positive.
BinaryCounts count_binary(std::span<const double> scores, std::span<const std::int32_t> labels, double threshold);

/// Average precision: the sum over the distinct scores, in descending order, of (gain in recall) * precision. No interpolation; equal
/// scores enter together (scikit-learn's average_precision_score). 0 if there is no positive example.
double average_precision(std::span<const double> scores, std::span<const std::int32_t> labels);

struct BestThreshold {
  double threshold = 0.0;  // of is_match()
  double f1 = 0.0;
};

/// Finds the threshold with the best F1, and the highest one of several. Equal scores are never separated, so a constant predictor gets
/// the F1 of predicting everything positive. The threshold is midway between two adjacent distinct scores; just below the lowest score if
/// all are positive; just above the highest score if none is (no threshold gives an F1 above 0, as there is no positive example).
/// Choose it on validation data: on the data it was chosen on, the F1 is too optimistic.
BestThreshold best_f1_threshold(std::span<const double> scores, std::span<const std::int32_t> labels);

/// The metrics of a two-class model at one threshold.
struct BinaryReport {
  double f1 = 0, precision = 0, recall = 0, accuracy = 0, average_precision = 0, threshold = 0;
};

BinaryReport binary_report(std::span<const double> scores, std::span<const std::int32_t> labels, double threshold);

/// The counts of a decision among k classes. The matrix is sparse, because k may be large.
struct ConfusionMatrix {
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> count;  // of (label, prediction), nonzero counts only
  std::vector<std::size_t> occurrences;                              // per class, as label plus as prediction
  std::size_t total = 0;

  double accuracy() const;
  /// F1 of a class against all others.
  double f1(std::size_t c) const;
  /// Mean F1 over the classes that occur among labels or predictions.
  double macro_f1() const;
};

ConfusionMatrix confusion_matrix(std::span<const std::int32_t> predictions, std::span<const std::int32_t> labels, std::size_t classes);

/// The class with the highest logit in each row of (B, classes); the first of equal ones.
std::vector<std::int32_t> argmax_rows(std::span<const double> logits, std::size_t classes);

double mean_squared_error(std::span<const double> a, std::span<const double> b);

/// Pearson's correlation: covariance / (deviation of a * deviation of b); 0 if a or b is constant.
double pearson(std::span<const double> a, std::span<const double> b);

/// Ranks from 1; equal values share their mean rank.
std::vector<double> average_ranks(std::span<const double> values);

/// Spearman's correlation: Pearson's correlation of the ranks.
double spearman(std::span<const double> a, std::span<const double> b);

struct MeanDeviation {
  double mean = 0.0, deviation = 0.0;
};

/// Mean and sample standard deviation (divisor n - 1; 0 for a single value), e.g. over seeds.
MeanDeviation mean_and_deviation(std::span<const double> values);

struct PrecisionRecall {
  double score = 0;  // scores of at least this are positive
  double precision = 0, recall = 0;
};

/// Computes precision and recall at every distinct score in descending order, so recall rises. average_precision() is the sum of
/// precision times gain in recall over these points.
std::vector<PrecisionRecall> precision_recall_curve(std::span<const double> scores, std::span<const std::int32_t> labels);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <map>
#include <numeric>

namespace lexformer {

LEXFORMER_INLINE std::string percent(double share, int digits) { return cat(std::fixed, std::setprecision(digits), 100 * share, " %"); }

LEXFORMER_INLINE double BinaryCounts::accuracy() const {
  return detail::ratio(true_positive + true_negative, true_positive + false_positive + true_negative + false_negative);
}

LEXFORMER_INLINE double ConfusionMatrix::accuracy() const {
  std::size_t right = 0;
  for (const auto& [cell, n] : count) right += cell.first == cell.second ? n : 0;
  return detail::ratio(right, total);
}

LEXFORMER_INLINE double ConfusionMatrix::f1(std::size_t c) const {
  const auto right = count.find({c, c});
  return detail::ratio(right == count.end() ? 0 : 2 * right->second, occurrences[c]);
}

LEXFORMER_INLINE double ConfusionMatrix::macro_f1() const {
  double sum = 0.0;
  std::size_t present = 0;
  for (std::size_t c = 0; c < occurrences.size(); ++c) {
    if (occurrences[c] == 0) continue;
    sum += f1(c);
    ++present;
  }
  return present == 0 ? 0.0 : sum / static_cast<double>(present);
}

namespace detail {
LEXFORMER_INLINE double ratio(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}
LEXFORMER_INLINE void check_metric_input(const char* where, std::span<const double> values, std::size_t count) {
  if (values.empty()) fail(where, "there are no examples");
  if (values.size() != count) fail(where, values.size(), " values for ", count, " labels");
  for (std::size_t i = 0; i < count; ++i)
    if (!std::isfinite(values[i])) fail_numeric(where, "the value of example ", i, " is ", values[i], ", expected a finite number");
}
LEXFORMER_INLINE void check_binary(const char* where, std::span<const double> scores, std::span<const std::int32_t> labels) {
  check_metric_input(where, scores, labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] != 0 && labels[i] != 1) fail(where, "the label of example ", i, " is ", labels[i], ", expected 0 or 1");
}
}  // namespace detail

LEXFORMER_INLINE BinaryCounts count_binary(std::span<const double> scores, std::span<const std::int32_t> labels, double threshold) {
  detail::check_binary("count_binary", scores, labels);
  BinaryCounts counts;
  for (std::size_t i = 0; i < scores.size(); ++i) counts.add(is_match(scores[i], threshold), labels[i] == 1);
  return counts;
}

LEXFORMER_INLINE double average_precision(std::span<const double> scores, std::span<const std::int32_t> labels) {
  detail::check_binary("average_precision", scores, labels);
  const auto positives = static_cast<std::size_t>(std::count(labels.begin(), labels.end(), 1));
  double sum = 0.0;
  std::size_t before = 0;
  detail::for_each_cut(scores, labels, [&](double, double, std::size_t true_positives, std::size_t predicted) {
    sum += detail::ratio(true_positives - before, positives) * detail::ratio(true_positives, predicted);
    before = true_positives;
  });
  return sum;
}

LEXFORMER_INLINE BestThreshold best_f1_threshold(std::span<const double> scores, std::span<const std::int32_t> labels) {
  detail::check_binary("best_f1_threshold", scores, labels);
  const auto positives = static_cast<std::size_t>(std::count(labels.begin(), labels.end(), 1));
  BestThreshold best{std::nextafter(*std::max_element(scores.begin(), scores.end()), std::numeric_limits<double>::infinity()), 0.0};
  detail::for_each_cut(scores, labels, [&](double score, double next, std::size_t true_positives, std::size_t predicted) {
    const double f1 = detail::ratio(2 * true_positives, predicted + positives);
    if (f1 <= best.f1) return;
    best = {detail::threshold_below(score, next), f1};
  });
  return best;
}

LEXFORMER_INLINE BinaryReport binary_report(std::span<const double> scores, std::span<const std::int32_t> labels, double threshold) {
  const BinaryCounts c = count_binary(scores, labels, threshold);
  return {c.f1(), c.precision(), c.recall(), c.accuracy(), average_precision(scores, labels), threshold};
}

LEXFORMER_INLINE ConfusionMatrix confusion_matrix(std::span<const std::int32_t> predictions, std::span<const std::int32_t> labels,
                                                  std::size_t classes) {
  if (predictions.size() != labels.size()) fail("confusion_matrix", predictions.size(), " predictions for ", labels.size(), " labels");
  if (labels.empty()) fail("confusion_matrix", "there are no examples");
  ConfusionMatrix matrix{{}, std::vector<std::size_t>(classes), labels.size()};
  const auto checked = [&](std::int32_t c, const char* what, std::size_t i) {
    if (c < 0 || static_cast<std::size_t>(c) >= classes)
      fail("confusion_matrix", what, " ", c, " of example ", i, " is none of the ", classes, " classes");
    return static_cast<std::size_t>(c);
  };
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::pair cell(checked(labels[i], "label", i), checked(predictions[i], "prediction", i));
    ++matrix.count[cell];
    ++matrix.occurrences[cell.first];
    ++matrix.occurrences[cell.second];
  }
  return matrix;
}

LEXFORMER_INLINE std::vector<std::int32_t> argmax_rows(std::span<const double> logits, std::size_t classes) {
  if (classes == 0 || logits.size() % classes != 0) fail("argmax_rows", logits.size(), " logits are no rows of ", classes);
  std::vector<std::int32_t> best;
  for (std::size_t row = 0; row < logits.size(); row += classes) {
    const auto values = logits.subspan(row, classes);
    detail::check_metric_input("argmax_rows", values, classes);
    best.push_back(static_cast<std::int32_t>(std::max_element(values.begin(), values.end()) - values.begin()));
  }
  return best;
}

LEXFORMER_INLINE double mean_squared_error(std::span<const double> a, std::span<const double> b) {
  detail::check_metric_input("mean_squared_error", a, b.size());
  detail::check_metric_input("mean_squared_error", b, a.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

LEXFORMER_INLINE double pearson(std::span<const double> a, std::span<const double> b) {
  detail::check_metric_input("pearson", a, b.size());
  detail::check_metric_input("pearson", b, a.size());
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n, mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double aa = 0.0, bb = 0.0, ab = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
    ab += (a[i] - mean_a) * (b[i] - mean_b);
  }
  const auto constant = [](std::span<const double> x) { return std::all_of(x.begin(), x.end(), [&](double v) { return v == x[0]; }); };
  if (constant(a) || constant(b) || aa == 0.0 || bb == 0.0) return 0.0;
  return std::clamp(ab / std::sqrt(aa) / std::sqrt(bb), -1.0, 1.0);
}

LEXFORMER_INLINE std::vector<double> average_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i) ranks[order[i]] = 0.5 * static_cast<double>(first + 1 + last);
  }
  return ranks;
}

LEXFORMER_INLINE double spearman(std::span<const double> a, std::span<const double> b) {
  detail::check_metric_input("spearman", a, b.size());
  detail::check_metric_input("spearman", b, a.size());
  return pearson(average_ranks(a), average_ranks(b));
}

LEXFORMER_INLINE MeanDeviation mean_and_deviation(std::span<const double> values) {
  detail::check_metric_input("mean_and_deviation", values, values.size());
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0;
  for (double v : values) squares += (v - mean) * (v - mean);
  return {mean, values.size() == 1 ? 0.0 : std::sqrt(squares / (n - 1.0))};
}

LEXFORMER_INLINE std::vector<PrecisionRecall> precision_recall_curve(std::span<const double> scores, std::span<const std::int32_t> labels) {
  detail::check_binary("precision_recall_curve", scores, labels);
  const auto positives = static_cast<std::size_t>(std::count(labels.begin(), labels.end(), 1));
  std::vector<PrecisionRecall> curve;
  detail::for_each_cut(scores, labels, [&](double score, double, std::size_t true_positives, std::size_t predicted) {
    curve.push_back({score, detail::ratio(true_positives, predicted), detail::ratio(true_positives, positives)});
  });
  return curve;
}

}  // namespace lexformer
#endif
