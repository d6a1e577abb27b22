// SPDX-License-Identifier: MIT
// One score from a model's score and from what the search for candidates knows of a pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/metrics/logistic.hpp"
#include "lexformer/tables/cascade.hpp"

namespace lexformer {

/// p = logistic regression of (m, similarity, lead). A model reads one pair at a time; the lead tells how far a pair stands out among the
/// other candidates of both records.
struct CombinedScore {
  bool odds = true;  // m = log_odds(score of the model), which is a probability; false: m = the score
  LogisticRegression regression{{0, 0, 0}, 0};

  double operator()(double model, const CheapEvidence& pair) const;
};

/// Fits by fit_logistic() with the penalty 1, which matters only with few labels. Errors: as fit_logistic(); lists of different
/// lengths.
CombinedScore fit_combined_score(bool odds, std::span<const double> model, std::span<const CheapEvidence> pairs,
                                 std::span<const std::int32_t> labels);

/// The combined score of each pair by a fit to the other folds (cross_fitted()). Errors: also as cross_fitted().
std::vector<double> cross_fitted_scores(bool odds, std::span<const double> model, std::span<const CheapEvidence> pairs,
                                        std::span<const std::int32_t> labels, std::size_t folds = 5, std::uint64_t seed = 1);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <array>

#include "lexformer/core/error.hpp"
#include "lexformer/metrics/score_calibration.hpp"

namespace lexformer {

namespace detail {
inline std::array<double, 3> combined_features(bool odds, double model, const CheapEvidence& pair) {
  return {odds ? log_odds(model) : model, pair.score, pair.lead};
}
inline void check_combined(const char* where, std::span<const double> model, std::span<const CheapEvidence> pairs,
                           std::span<const std::int32_t> labels) {
  if (model.size() != labels.size() || pairs.size() != labels.size())
    fail(where, "there are ", model.size(), " scores, ", pairs.size(), " pairs and ", labels.size(), " labels; expected as many");
}
}  // namespace detail

LEXFORMER_INLINE double CombinedScore::operator()(double model, const CheapEvidence& pair) const {
  return regression(detail::combined_features(odds, model, pair));
}

LEXFORMER_INLINE CombinedScore fit_combined_score(bool odds, std::span<const double> model, std::span<const CheapEvidence> pairs,
                                                  std::span<const std::int32_t> labels) {
  detail::check_combined("fit_combined_score", model, pairs, labels);
  std::vector<double> features;
  features.reserve(3 * labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto x = detail::combined_features(odds, model[i], pairs[i]);
    features.insert(features.end(), x.begin(), x.end());
  }
  return {odds, fit_logistic(features, labels, 1)};
}

LEXFORMER_INLINE std::vector<double> cross_fitted_scores(bool odds, std::span<const double> model, std::span<const CheapEvidence> pairs,
                                                         std::span<const std::int32_t> labels, std::size_t folds, std::uint64_t seed) {
  detail::check_combined("cross_fitted_scores", model, pairs, labels);  // before rows are taken
  const auto fit = [&](std::span<const std::size_t> rows) {
    return [=, f = fit_combined_score(odds, detail::values_of(model, rows), detail::values_of(pairs, rows),
                                      detail::values_of(labels, rows))](std::size_t i) { return f(model[i], pairs[i]); };
  };
  return cross_fitted(labels, fit, folds, seed);
}

}  // namespace lexformer
#endif
