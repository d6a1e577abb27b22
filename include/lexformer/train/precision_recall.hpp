// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/train/metrics.hpp"

namespace lexformer {

struct PrecisionRecall {
  double score = 0;  // scores of at least this are positive
  double precision = 0, recall = 0;
};

/// Computes precision and recall at every distinct score in descending order, so recall rises. average_precision() is the sum of
/// precision times gain in recall over these points.
std::vector<PrecisionRecall> precision_recall_curve(std::span<const double> scores, std::span<const std::int32_t> labels);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

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
