// SPDX-License-Identifier: MIT
// The probability of a match without labels, from what the search for candidates found in two tables.
//
// A record without a partner still has a most similar candidate: a stranger. What strangers look like is seen when the best candidate of
// each record is left out. So of the pairs in which both records are each other's best, as many are strangers' as records without a partner
// would give, and the rest are matches.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/tables/evidence.hpp"
#include "lexformer/tables/match_quality.hpp"

namespace lexformer {

/// The probability of a match by the similarity s = c / (c + o) (Evidence::similarity()), with x = ln(s / (1 - s)):
///   z = w_0 + w_1 [x >= 0] + w_2 min(x, 0) + w_3 max(x, 0),   p = logistic(corrected_logit(a, z)).
/// w comes from the candidates, a from labelled pairs (0, 1, 1 without them). No p falls where s rises.
struct SimilarityCurve {
  std::array<double, 4> weights{-0.5, 1, 10, 5};
  std::array<double, 3> labelled{0, 1, 1};

  double operator()(double similarity) const;
  /// The curve by the candidates alone: to judge decisions by labels, these may not have been used before.
  SimilarityCurve without_labels() const { return {weights}; }
};
Json to_json(const SimilarityCurve& curve);

/// Of each record with two candidates or more, the similarity that its second best candidate has if the best one is left out:
/// c / (c + o), where o is the largest cosine of the other candidates of either record. A record with fewer candidates has 0.
/// left: of the left records, else of the right ones. Two tables.
std::vector<double> similarities_of_strangers(const Evidence& evidence, bool left);

/// Fits the weights w to the candidates of two tables; nothing for one table. Without candidates they are the default.
///
/// With n records in a table that have a candidate, m pairs with x >= 0, and q of the n records whose similarity_of_strangers() has x >= 0:
///   matches found  f(x) = m(x) - u q(x) / n - lost(-x) / 2,   u = n - f - lost: the records without a partner,
///   matches lost   lost(x) = d exp(x / 0.1), x < 0,           d: the density of f for x in [0, 0.16].
/// A match is lost if one of its records has a better candidate; half of these better pairs have x >= 0. The table with fewer matches
/// decides. Where most records have no partner, their second best candidate is less like a stranger than their best one, so the matches are
/// overestimated (Abt-Buy with a fifth of the partners: precision 88 % instead of 78 %). The share of matches in each interval of x is then
/// fitted by the logistic form, with a normal prior around SimilarityCurve's default, of deviation 1. The scale 0.1 and the prior were
/// chosen on Abt-Buy, DBLP-ACM, Walmart-Amazon and Amazon-Google (docs/results/tables.md).
std::optional<SimilarityCurve> fit_similarity_curve(const Evidence& evidence);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <limits>

#include "lexformer/io/json.hpp"
#include "lexformer/metrics/logistic.hpp"
#include "lexformer/metrics/logistic_posterior.hpp"

namespace lexformer {

namespace detail {

/// x = ln(s / (1 - s)), limited: a record whose only candidate is this one has s = 1, whatever the cosine.
inline double similarity_logit(double s) { return std::clamp(std::log(std::max(s, 1e-9) / std::max(1 - s, 1e-9)), -6.0, 2.2); }

inline std::vector<double> curve_features(double x) { return {1, x >= 0 ? 1.0 : 0.0, std::min(x, 0.0), std::max(x, 0.0)}; }

/// The best three candidates of a text.
struct BestThree {
  struct Entry {
    float score = 0;
    std::uint32_t partner = 0;
  } best[3];
  std::size_t count = 0;

  void add(float score, std::uint32_t partner) {
    count = std::min<std::size_t>(count + 1, 3);
    Entry entry{score, partner};
    for (Entry& e : best)
      if (entry.score > e.score) std::swap(e, entry);
  }
  /// The largest score of another partner.
  float without(std::uint32_t partner) const { return count > 0 && best[0].partner == partner ? best[1].score : best[0].score; }
};

/// How many pairs have an x in [begin, end), and the mean of these x.
struct CurveInterval {
  double begin, end;
  std::size_t count = 0;
  double sum = 0;
};

/// Fifty intervals of equal width for x < 0, twenty of equal counts for x >= 0.
inline std::vector<CurveInterval> curve_intervals(const std::vector<double>& x) {
  std::vector<double> ends, above;
  for (const double value : x)
    if (value >= 0) above.push_back(value);
  std::sort(above.begin(), above.end());
  for (int k = 1; k <= 50; ++k) ends.push_back(-2.5 + 0.05 * k);
  ends.back() = 0;
  for (std::size_t k = 1; k < 20 && !above.empty(); ++k) ends.push_back(above[k * above.size() / 20]);
  ends.push_back(std::numeric_limits<double>::infinity());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<CurveInterval> intervals;
  for (std::size_t k = 0; k < ends.size(); ++k)
    intervals.push_back({k == 0 ? -std::numeric_limits<double>::infinity() : ends[k - 1], ends[k]});
  for (const double value : x) {
    CurveInterval& in = intervals[static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), value) - ends.begin())];
    ++in.count;
    in.sum += value;
  }
  return intervals;
}

/// The matches among the candidates, by fit_similarity_curve()'s equations.
struct MatchCounts {
  static constexpr double scale = 0.1, near = 0.16;
  double found, records, alone = 0, density = 0;  // matches with x >= 0; records; those without a partner; d
  std::vector<double> strangers{};                // the x of strangers with x >= 0, sorted

  MatchCounts(const std::vector<double>& x, const std::vector<double>& similarities) : found(0), records(0) {
    records = static_cast<double>(similarities.size());
    for (const double s : similarities)
      if (s >= 0.5) strangers.push_back(similarity_logit(s));
    std::sort(strangers.begin(), strangers.end());
    double pairs = 0, pairs_near = 0;
    for (const double value : x) {
      pairs += value >= 0 ? 1 : 0;
      pairs_near += value >= 0 && value < near ? 1 : 0;
    }
    const double share = static_cast<double>(strangers.size()) / records;
    found = share < 1 ? std::max(0.0, (pairs - records * share) / (1 - share)) : 0;
    for (int round = 0; round < 5; ++round) {
      const double lost = density * scale;
      alone = std::max(0.0, records - found - lost);
      density = std::max(0.0, pairs_near - wrong(0, near)) / near;
      found = std::max(0.0, pairs - wrong(0, std::numeric_limits<double>::infinity()));
    }
  }
  /// The matches that are lost, with x in [begin, end), which are below 0.
  double lost(double begin, double end) const { return density * scale * (std::exp(end / scale) - std::exp(begin / scale)); }
  /// The wrong pairs with x in [begin, end), which are 0 or above.
  double wrong(double begin, double end) const {
    const auto first = std::lower_bound(strangers.begin(), strangers.end(), begin);
    const auto last = std::lower_bound(first, strangers.end(), end);
    return alone * static_cast<double>(last - first) / records + lost(-end, -begin) / 2;
  }
};

}  // namespace detail

LEXFORMER_INLINE double SimilarityCurve::operator()(double similarity) const {
  const auto x = detail::curve_features(detail::similarity_logit(similarity));
  double z = 0;
  for (std::size_t j = 0; j < x.size(); ++j) z += weights[j] * x[j];
  return logistic(std::clamp(corrected_logit(labelled, z), -13.0, 13.0));
}

LEXFORMER_INLINE Json to_json(const SimilarityCurve& curve) { return {curve.weights, curve.labelled}; }

LEXFORMER_INLINE std::vector<double> similarities_of_strangers(const Evidence& evidence, bool left) {
  std::vector<detail::BestThree> own, other;
  const auto put = [](std::vector<detail::BestThree>& best, std::uint32_t text, float score, std::uint32_t partner) {
    if (best.size() <= text) best.resize(std::size_t{text} + 1);
    best[text].add(score, partner);
  };
  for (const Candidate& c : evidence.candidates) {
    put(left ? own : other, c.left, c.score, c.right);
    put(left ? other : own, c.right, c.score, c.left);
  }
  std::vector<double> out;
  for (std::uint32_t i = 0; i < own.size(); ++i) {
    if (own[i].count == 0) continue;
    const auto [score, partner] = own[i].best[1];
    const float rival = std::max(own[i].best[2].score, own[i].count < 2 ? 0 : other[partner].without(i));
    out.push_back(score > 0 ? static_cast<double>(score) / static_cast<double>(score + rival) : 0);
  }
  return out;
}

LEXFORMER_INLINE std::optional<SimilarityCurve> fit_similarity_curve(const Evidence& evidence) {
  if (evidence.one_table) return std::nullopt;
  if (evidence.size() == 0) return SimilarityCurve();
  std::vector<double> x;
  for (std::size_t i = 0; i < evidence.size(); ++i) x.push_back(detail::similarity_logit(evidence.similarity(i)));
  const detail::MatchCounts left(x, similarities_of_strangers(evidence, true)), right(x, similarities_of_strangers(evidence, false));
  const detail::MatchCounts& counts = left.found <= right.found ? left : right;
  std::vector<WeightedExample> examples;
  for (const auto& in : detail::curve_intervals(x)) {
    if (in.count == 0) continue;
    const auto pairs = static_cast<double>(in.count);
    const double matches = in.begin >= 0 ? pairs - counts.wrong(in.begin, in.end) : counts.lost(in.begin, in.end);
    examples.push_back({detail::curve_features(in.sum / pairs), std::clamp(matches / pairs, 1e-4, 0.999), pairs});
  }
  SimilarityCurve curve;
  const NormalPrior prior{{curve.weights.begin(), curve.weights.end()}, std::vector<double>(4, 1.0)};
  const auto mode = logistic_posterior(examples, prior).mode;
  std::copy(mode.begin(), mode.end(), curve.weights.begin());
  for (std::size_t j = 1; j < 4; ++j) curve.weights[j] = std::max(curve.weights[j], 0.0);  // so that p does not fall
  return curve;
}

}  // namespace lexformer
#endif
