// SPDX-License-Identifier: MIT
// One score from a model's score and from what the search for candidates knows of a pair.
#pragma once

#include <cstdint>
#include <span>

#include "lexformer/core/compiled.hpp"
#include "lexformer/train/cascade.hpp"
#include "lexformer/train/logistic.hpp"

namespace lexformer {

/// p = logistic regression of (m, similarity, lead); m: log_odds(score) of the model, or its score if that is no probability.
/// A model reads one pair at a time; the lead tells how far a pair stands out among the other candidates of both records.
struct CombinedScore {
  bool odds = true;
  LogisticRegression regression{{0, 0, 0}, 0};

  double operator()(double model, const CheapEvidence& pair) const;
};

/// Fits by fit_logistic() with the penalty 1, which matters with few labels alone. Errors: theirs; lists of different lengths.
CombinedScore fit_combined_score(std::span<const double> model, std::span<const CheapEvidence> pairs, std::span<const std::int32_t> labels);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <array>
#include <vector>

#include "lexformer/core/error.hpp"
#include "lexformer/train/score_calibration.hpp"

namespace lexformer {

namespace detail {
inline std::array<double, 3> combined_features(bool odds, double model, const CheapEvidence& pair) {
  return {odds ? log_odds(model) : model, pair.score, pair.lead};
}
}  // namespace detail

LEXFORMER_INLINE double CombinedScore::operator()(double model, const CheapEvidence& pair) const {
  return regression(detail::combined_features(odds, model, pair));
}

LEXFORMER_INLINE CombinedScore fit_combined_score(std::span<const double> model, std::span<const CheapEvidence> pairs,
                                                  std::span<const std::int32_t> labels) {
  if (model.size() != labels.size() || pairs.size() != labels.size())
    fail("fit_combined_score", "there are ", model.size(), " scores, ", pairs.size(), " pairs and ", labels.size(),
         " labels; expected as many");
  CombinedScore out;
  out.odds = std::all_of(model.begin(), model.end(), [](double s) { return s >= 0 && s <= 1; });
  std::vector<double> features;
  features.reserve(3 * labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto x = detail::combined_features(out.odds, model[i], pairs[i]);
    features.insert(features.end(), x.begin(), x.end());
  }
  out.regression = fit_logistic(features, labels, 1);
  return out;
}

}  // namespace lexformer
#endif
