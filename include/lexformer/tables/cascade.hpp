// SPDX-License-Identifier: MIT
// A cascade: a cheap score decides the clear pairs, and only the others are given to a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/metrics/calibration.hpp"

namespace lexformer {

/// What the search for candidates knows of a pair.
struct CheapEvidence {
  double score = 0;  // similarity of the two texts
  double lead = 0;   // score minus the largest score of the other candidates of either text
};

/// Decides by p = Platt scaling of (score + weight lead): no match if p < low, match if p >= high, else it is not decided.
struct Cascade {
  double weight = 0;
  PlattScaling scaling;
  double low = 0, high = 2;  // these decide nothing

  double probability(const CheapEvidence& pair) const { return scaling(pair.score + weight * pair.lead); }
  std::optional<bool> decide(const CheapEvidence& pair) const {
    const double p = probability(pair);
    return p < low ? std::optional(false) : p >= high ? std::optional(true) : std::nullopt;
  }
};

/// Counts of the decisions on labelled pairs: of the model alone, and with the cascade before it.
struct CascadeOutcome {
  std::size_t pairs = 0, decided = 0, matches = 0;
  std::size_t model_found = 0, model_wrong = 0;  // true and false positives of the model alone
  std::size_t found = 0, wrong = 0;              // with the cascade

  double decided_share() const;
  double lost_recall() const;     // recall of the model alone minus recall with the cascade
  double lost_precision() const;  // the same of the precision
};

/// Chooses weight (0, 1/2, 1, 2 or 4) by average precision, then the scaling, then the limits on the same labelled pairs:
/// low: the highest limit below which at most `loss` of all matches lie that the model finds;
/// high: the lowest limit, from the top down, with which the precision of the whole falls by at most `loss`.
/// So recall falls by at most `loss` on these pairs; on others it may fall by more: with m matches and none lost, the loss is below 3 / m
/// with 95 % confidence. Limits are midway between two probabilities. A cheap score that does not rise with the labels decides nothing.
/// found: whether the model finds each pair to be a match. Errors: no pair; lists of different lengths; a label that is not 0 or 1; a
/// number that is not finite.
Cascade fit_cascade(std::span<const CheapEvidence> pairs, std::span<const std::uint8_t> found, std::span<const std::int32_t> labels,
                    double loss = 0.001);

CascadeOutcome outcome(const Cascade& cascade, std::span<const CheapEvidence> pairs, std::span<const std::uint8_t> found,
                       std::span<const std::int32_t> labels);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

#include "lexformer/core/error.hpp"
#include "lexformer/metrics/metrics.hpp"

namespace lexformer {

LEXFORMER_INLINE double CascadeOutcome::decided_share() const { return detail::ratio(decided, pairs); }
LEXFORMER_INLINE double CascadeOutcome::lost_recall() const { return detail::ratio(model_found, matches) - detail::ratio(found, matches); }
LEXFORMER_INLINE double CascadeOutcome::lost_precision() const {
  return detail::ratio(model_found, model_found + model_wrong) - detail::ratio(found, found + wrong);
}

LEXFORMER_INLINE CascadeOutcome outcome(const Cascade& cascade, std::span<const CheapEvidence> pairs, std::span<const std::uint8_t> found,
                                        std::span<const std::int32_t> labels) {
  if (pairs.size() != labels.size() || found.size() != labels.size())
    fail("cascade", "there are ", pairs.size(), " pairs, ", found.size(), " decisions and ", labels.size(), " labels; expected as many");
  CascadeOutcome out;
  out.pairs = pairs.size();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto cheap = cascade.decide(pairs[i]);
    const bool model = found[i] != 0, match = cheap.value_or(model), label = labels[i] == 1;
    if (cheap) ++out.decided;
    if (label) ++out.matches;
    if (model) ++(label ? out.model_found : out.model_wrong);
    if (match) ++(label ? out.found : out.wrong);
  }
  return out;
}

LEXFORMER_INLINE Cascade fit_cascade(std::span<const CheapEvidence> pairs, std::span<const std::uint8_t> found,
                                     std::span<const std::int32_t> labels, double loss) {
  const std::size_t n = pairs.size();
  Cascade cascade;
  const CascadeOutcome alone = outcome(cascade, pairs, found, labels);
  std::vector<double> cheap(n), p(n);
  double best = -1;
  for (const double weight : {0.0, 0.5, 1.0, 2.0, 4.0}) {
    for (std::size_t i = 0; i < n; ++i) cheap[i] = pairs[i].score + weight * pairs[i].lead;
    if (const double precision = average_precision(cheap, labels); precision > best) {
      best = precision;
      cascade.weight = weight;
    }
  }
  for (std::size_t i = 0; i < n; ++i) cheap[i] = pairs[i].score + cascade.weight * pairs[i].lead;
  cascade.scaling = fit_platt(cheap, labels);
  if (!(cascade.scaling.slope > 0)) return cascade;
  for (std::size_t i = 0; i < n; ++i) p[i] = cascade.probability(pairs[i]);
  std::vector<std::size_t> order(n);  // by ascending p
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });

  const double bound = loss * static_cast<double>(alone.matches);
  std::size_t lost = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = order[k];
    if (labels[i] == 1 && found[i] != 0) ++lost;
    if (static_cast<double>(lost) > bound) break;
    if (k + 1 < n && p[order[k + 1]] > p[i]) cascade.low = detail::threshold_below(p[order[k + 1]], p[i]);
  }
  CascadeOutcome whole = outcome(cascade, pairs, found, labels);
  for (std::size_t k = n; k-- > 0;) {
    const std::size_t i = order[k];
    if (found[i] == 0) ++(labels[i] == 1 ? whole.found : whole.wrong);  // the cascade now says that it is a match
    if (k > 0 && p[order[k - 1]] == p[i]) continue;
    const double high = detail::threshold_below(p[i], k == 0 ? p[i] : p[order[k - 1]]);
    if (high < cascade.low || whole.lost_precision() > loss + 1e-12) break;
    cascade.high = high;
  }
  return cascade;
}

}  // namespace lexformer
#endif
