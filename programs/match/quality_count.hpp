// SPDX-License-Identifier: MIT
// Precision and recall of a run of `match`, estimated while its pairs are written.
#pragma once

#include <lexformer/core/hash.hpp>
#include <lexformer/metrics/metrics.hpp>
#include <lexformer/tables/matcher.hpp>
#include <unordered_map>

#include "cli/program.hpp"

namespace program {

/// Counts all pairs of a run; the labels of a sample among them.
class QualityCount {
 public:
  /// labelled: null without labels.
  QualityCount(const lx::LabelledPairs* labelled, const lx::Decisions& decisions, bool one_table) : one_table_(one_table) {
    if (decisions.curve) curve_ = decisions.curve->without_labels();
    if (labelled == nullptr) return;
    name_ = labelled->name;
    for (std::size_t i = 0; i < labelled->labels.size(); ++i)
      if (labelled->is_sampled(i)) labels_[key(labelled->places[i].first, labelled->places[i].second)] = labelled->labels[i] == 1;
  }
  /// Adds pairs, which must have probabilities.
  void add(const std::vector<lx::Match>& pairs) {
    for (const lx::Match& pair : pairs) {
      const double p = curve_ ? (*curve_)(pair.score) : *pair.probability;
      quality_.add(p, pair.match);
      if (const auto known = labels_.find(key(pair.left, pair.right)); known != labels_.end())
        quality_.add_label(p, pair.match, known->second);
      ++pairs_;
    }
  }
  /// Whether the labels agree with the probabilities.
  bool fits() const { return quality_.fits(); }
  /// Nothing if no pair was added, or the labels do not fit.
  std::optional<lx::QualityEstimate> estimate() const { return pairs_ == 0 || !fits() ? std::nullopt : std::optional(quality_.estimate()); }
  /// "precision 93.4 % [88.0, 96.9], recall ... of the matches among the candidates, by 100 labels ...".
  std::string text(const lx::QualityEstimate& estimate) const {
    const auto shares = [&](const auto& text_of) {
      return lx::cat("precision ", text_of(estimate.precision), ", recall ", text_of(estimate.recall),
                     " of the matches among the candidates");
    };
    if (quality_.labels() == 0)
      return lx::cat("a guess without labels: ", shares([](const lx::Estimate& e) { return lx::percent(e.value, 0); }),
                     "; `lexformer suggest` asks for the labels that make it an estimate");
    return lx::cat(shares([](const lx::Estimate& e) { return lx::to_text(e); }), ", by ", counted(quality_.labels(), "label", "labels"),
                   " of a sample (", name_, ")");
  }

 private:
  std::uint64_t key(std::size_t left, std::size_t right) const { return lx::detail::pair_number(left, right, one_table_); }

  bool one_table_;
  std::string name_;
  std::unordered_map<std::uint64_t, bool, lx::SeededHash> labels_;
  std::optional<lx::SimilarityCurve> curve_;
  lx::MatchQuality quality_;
  std::size_t pairs_ = 0;
};

}  // namespace program
