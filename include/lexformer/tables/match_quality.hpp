// SPDX-License-Identifier: MIT
// Precision and recall of the decisions on all pairs, estimated from the probabilities of all pairs and the labels of a few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// A share from 0 to 1 (the median of its distribution), and the interval that holds it with a probability of 95 %.
struct Estimate {
  double value = 0, low = 0, high = 0;
};
/// "93.1 % [88.0, 96.5]".
std::string to_text(const Estimate& estimate);

struct QualityEstimate {
  Estimate precision, recall, f1;  // of the decisions on all pairs that were counted
  double matches = 0;              // expected among these pairs
  std::size_t labels = 0;          // that the estimate used
};

/// a_0 + a_1 min(z, 0) + a_2 max(z, 0).
double corrected_logit(std::span<const double> a, double z);

/// How labelled pairs relate probabilities to matches: logit p' = corrected_logit(a, z) with z = logit p, where a has the
/// normal prior (0, 1, 1) with the deviations (1, 0.4, 0.5). The posterior also holds if the pairs were drawn by p, as suggest_labels()
/// draws them; it does not hold for pairs that were chosen because they look easy or hard.
///
/// The probability of the label of a pair depends on nothing but p. So all pairs count, and not the labelled ones alone: 50 to 200 labels
/// determine three numbers.
class MatchQuality {
 public:
  /// Counts a pair.
  void add(double probability, bool match);
  /// Gives the label of a pair that was counted, once.
  void add_label(double probability, bool match, bool label);

  std::size_t labels() const { return labelled_.size(); }
  /// Draws `draws` weights a from the posterior (logistic_posterior()), and for each the number of matches among the other pairs. Without
  /// labels it is the prior's estimate. Errors: no pair was counted; a label of a pair that was not, or two labels of one pair; 0 draws.
  QualityEstimate estimate(std::size_t draws = 2000, std::uint64_t seed = 1) const;
  /// Whether the labels agree with the probabilities at the most probable a: among the labelled matches and the other labelled pairs, the
  /// number of labels 1 is at most three deviations from the expected one. If not, the estimate means nothing.
  bool fits() const;
  /// The most probable a.
  std::vector<double> weights() const;

 private:
  struct Cell {  // pairs with nearly the same z
    double count = 0, sum = 0;
  };
  struct Labelled {
    double z;
    bool match, label;
  };
  static std::size_t cell(double z);
  /// The number of matches among the pairs of these cells, for one draw of a; normal: a number of the standard normal distribution.
  static double drawn_matches(const std::vector<Cell>& cells, std::span<const double> a, double normal);

  std::vector<Cell> cells_[2];  // of other pairs, of matches
  std::vector<Labelled> labelled_;
};

/// The threshold whose expected F1 is the largest if these are the probabilities of all pairs: 2 sum_{s >= t} p / (count of s >= t + sum
/// p). The highest one of equal ones, midway between two scores. Errors: no scores; another number of probabilities.
double expected_f1_threshold(std::span<const double> scores, std::span<const double> probabilities);
/// The least threshold with this expected precision; nothing if there is none.
std::optional<double> expected_precision_threshold(std::span<const double> scores, std::span<const double> probabilities, double precision);
/// The highest threshold with this expected recall.
std::optional<double> expected_recall_threshold(std::span<const double> scores, std::span<const double> probabilities, double recall);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>

#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/metrics/logistic.hpp"
#include "lexformer/metrics/logistic_posterior.hpp"
#include "lexformer/metrics/metrics.hpp"
#include "lexformer/metrics/score_calibration.hpp"

namespace lexformer {

LEXFORMER_INLINE std::string to_text(const Estimate& e) {
  return cat(percent(e.value), std::fixed, std::setprecision(1), " [", 100 * e.low, ", ", 100 * e.high, "]");
}

LEXFORMER_INLINE double corrected_logit(std::span<const double> a, double z) {
  return a[0] + a[1] * std::min(z, 0.0) + a[2] * std::max(z, 0.0);
}

namespace detail {

inline constexpr double largest_logit = 13.8, logit_width = 0.05;
inline double quality_logit(double p) { return std::clamp(log_odds(p), -largest_logit, largest_logit); }
inline std::vector<double> quality_features(double z) { return {1, std::min(z, 0.0), std::max(z, 0.0)}; }
inline NormalPrior quality_prior() { return {{0, 1, 1}, {1.0, 0.4, 0.5}}; }

/// The value with this share of the weight below it; sorts.
inline double weighted_quantile(std::vector<std::pair<double, double>>& values, double share) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const auto& [value, weight] : values)
    if ((sum += weight) >= share) return value;
  return values.back().first;
}

}  // namespace detail

LEXFORMER_INLINE std::size_t MatchQuality::cell(double z) {
  return static_cast<std::size_t>((z + detail::largest_logit) / detail::logit_width);
}

LEXFORMER_INLINE void MatchQuality::add(double probability, bool match) {
  const double z = detail::quality_logit(probability);
  auto& cells = cells_[match ? 1 : 0];
  if (cells.empty()) cells.resize(cell(detail::largest_logit) + 1);
  ++cells[cell(z)].count;
  cells[cell(z)].sum += z;
}

LEXFORMER_INLINE void MatchQuality::add_label(double probability, bool match, bool label) {
  labelled_.push_back({detail::quality_logit(probability), match, label});
}

namespace detail {
inline std::vector<WeightedExample> quality_examples(const auto& labelled) {
  std::vector<WeightedExample> examples;
  for (const auto& pair : labelled) examples.push_back({quality_features(pair.z), pair.label ? 1.0 : 0.0, 1});
  return examples;
}
}  // namespace detail

LEXFORMER_INLINE std::vector<double> MatchQuality::weights() const {
  return logistic_posterior(detail::quality_examples(labelled_), detail::quality_prior()).mode;
}

LEXFORMER_INLINE bool MatchQuality::fits() const {
  const auto a = weights();
  double expected[2] = {0, 0}, variance[2] = {0, 0}, seen[2] = {0, 0};
  for (const auto& pair : labelled_) {
    const std::size_t k = pair.match ? 1 : 0;
    const double p = logistic(corrected_logit(a, pair.z));
    expected[k] += p;
    variance[k] += p * (1 - p);
    seen[k] += pair.label ? 1 : 0;
  }
  const auto near = [&](std::size_t k) { return std::abs(seen[k] - expected[k]) <= 3 * std::sqrt(variance[k]) + 0.5; };
  return near(0) && near(1);
}

LEXFORMER_INLINE double MatchQuality::drawn_matches(const std::vector<Cell>& cells, std::span<const double> a, double normal) {
  double expected = 0, variance = 0;
  for (const Cell& c : cells) {
    if (!(c.count > 0)) continue;
    const double z = c.sum / c.count, p = logistic(corrected_logit(a, z));
    expected += c.count * p;
    variance += c.count * p * (1 - p);
  }
  return expected + normal * std::sqrt(variance);
}

namespace detail {
/// The median and the interval of weighted values.
inline Estimate weighted_estimate(std::vector<std::pair<double, double>> values) {
  Estimate e;
  e.value = weighted_quantile(values, 0.5);
  e.low = weighted_quantile(values, 0.025);
  e.high = weighted_quantile(values, 0.975);
  return e;
}
}  // namespace detail

LEXFORMER_INLINE QualityEstimate MatchQuality::estimate(std::size_t draws, std::uint64_t seed) const {
  if (cells_[0].empty() && cells_[1].empty()) fail("MatchQuality", "no pair was counted");
  if (draws == 0) fail("MatchQuality", "0 draws, expected 1 or more");
  std::vector<Cell> rest[2] = {cells_[0], cells_[1]};  // the pairs without a label
  double known[2] = {0, 0}, pairs[2] = {0, 0};         // labelled matches, and all pairs, by decision
  for (const std::size_t match : {0u, 1u})
    for (const Cell& c : rest[match]) pairs[match] += c.count;
  for (const auto& pair : labelled_) {
    auto& cells = rest[pair.match ? 1 : 0];
    if (cells.empty() || cells[cell(pair.z)].count < 1)
      fail("MatchQuality", "a label is of a pair that was not counted, or it is repeated");
    Cell& c = cells[cell(pair.z)];
    --c.count;
    c.sum -= pair.z;
    known[pair.match ? 1 : 0] += pair.label ? 1 : 0;
  }
  const auto posterior = logistic_posterior(detail::quality_examples(labelled_), detail::quality_prior(), draws, seed);
  RandomStream random(seed, 1);
  std::vector<std::pair<double, double>> precision, recall, f1;
  QualityEstimate out;
  out.labels = labelled_.size();
  for (std::size_t d = 0; d < draws; ++d) {
    double matches[2];  // missed and found
    for (const std::size_t k : {0u, 1u})
      matches[k] = std::clamp(known[k] + drawn_matches(rest[k], posterior.draws[d], random.normal()), known[k], pairs[k]);
    const double all = matches[0] + matches[1], weight = posterior.importance[d];
    precision.emplace_back(pairs[1] > 0 ? matches[1] / pairs[1] : 0, weight);
    recall.emplace_back(all > 0 ? matches[1] / all : 0, weight);
    f1.emplace_back(all > 0 ? 2 * matches[1] / (all + pairs[1]) : 0, weight);
    out.matches += weight * all;
  }
  out.precision = detail::weighted_estimate(std::move(precision));
  out.recall = detail::weighted_estimate(std::move(recall));
  out.f1 = detail::weighted_estimate(std::move(f1));
  return out;
}

namespace detail {

/// Calls cut(threshold, sum of p above it, pairs above it, sum of all p) for each distinct score, the highest first.
template <class F>
void each_expected_cut(std::span<const double> scores, std::span<const double> p, F&& cut) {
  check_metric_input("expected threshold", scores, p.size());
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  double all = 0;  // in this order, so that the last cut has the same sum
  for (const std::size_t i : order) all += p[i];
  double sum = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    sum += p[order[k]];
    const double score = scores[order[k]], next = k + 1 < order.size() ? scores[order[k + 1]] : score;
    if (score != next || k + 1 == order.size()) cut(threshold_below(score, next), sum, static_cast<double>(k + 1), all);
  }
}

}  // namespace detail

LEXFORMER_INLINE double expected_f1_threshold(std::span<const double> scores, std::span<const double> probabilities) {
  double best = -1, threshold = 0;
  detail::each_expected_cut(scores, probabilities, [&](double t, double sum, double count, double all) {
    const double f1 = 2 * sum / (count + all);
    if (f1 > best) {
      best = f1;
      threshold = t;
    }
  });
  return threshold;
}

LEXFORMER_INLINE std::optional<double> expected_precision_threshold(std::span<const double> scores, std::span<const double> probabilities,
                                                                    double precision) {
  std::optional<double> threshold;
  detail::each_expected_cut(scores, probabilities, [&](double t, double sum, double count, double) {
    if (sum >= precision * count) threshold = t;
  });
  return threshold;
}

LEXFORMER_INLINE std::optional<double> expected_recall_threshold(std::span<const double> scores, std::span<const double> probabilities,
                                                                 double recall) {
  std::optional<double> threshold;
  detail::each_expected_cut(scores, probabilities, [&](double t, double sum, double, double all) {
    if (!threshold && sum >= recall * all) threshold = t;
  });
  return threshold;
}

}  // namespace lexformer
#endif
