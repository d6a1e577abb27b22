// SPDX-License-Identifier: MIT
// How `match` decides: the threshold and the calibration, from labelled validation pairs, from a file, or from the model.
#pragma once

#include <iomanip>
#include <lexformer/io/config.hpp>
#include <lexformer/io/json.hpp>

#include <lexformer/train/combined_score.hpp>

#include "calibration_file.hpp"
#include "match_writer.hpp"
#include "validation_pairs.hpp"

namespace program {

struct Decisions {
  double threshold = 0.5;
  std::optional<lx::CombinedScore> combined{};
  std::optional<lx::Calibration> calibration{};
  std::optional<lx::Cascade> cascade{};

  /// score: the model's, or the similarity if there is no model.
  DecidedPair of(double score, const lx::CheapEvidence& evidence) const {
    DecidedPair pair;
    pair.score = score;
    if (combined) {
      pair.model = score;
      pair.score = (*combined)(score, evidence);
    }
    if (calibration) pair.probability = (*calibration)(pair.score);
    pair.match = pair.score >= threshold;
    return pair;
  }
  /// Of a pair that the cascade decides. The cheap score's probability is its score, too.
  static DecidedPair of_cascade(double probability, bool match) {
    return {.score = probability, .probability = probability, .match = match, .by_cascade = true};
  }
  /// All that decides, for the settings of a run that can be resumed.
  lx::Json json() const {
    lx::Json out = {{"threshold", threshold}, {"calibration", calibration ? lx::to_json(*calibration) : lx::Json()}};
    if (combined) out["combined"] = {combined->regression.weights, combined->regression.offset};
    if (cascade) out["cascade"] = {cascade->weight, cascade->scaling.slope, cascade->scaling.offset, cascade->low, cascade->high};
    return out;
  }
};

/// The threshold with the wanted precision or recall. Errors (file): there is none.
inline double wanted_threshold(const DecisionOptions& o, const ValidationPairs& pairs) {
  if (o.recall) {
    const auto here = static_cast<double>(pairs.matches()), all = here + static_cast<double>(pairs.lost);
    if (*o.recall * all > here)
      lx::fail_file(pairs.name, "only ", percent(here / all), " of the matches are candidates; more --candidates find more of them");
    return *lx::threshold_for_recall(pairs.scores, pairs.labels, *o.recall * all / here);
  }
  return precise_threshold(pairs.name, pairs.scores, pairs.labels, *o.precision);
}

/// Combines the model's scores with the evidence of the candidate search. Notes what that gains.
template <class Note>
lx::CombinedScore combine(ValidationPairs& valid, const Evidence& evidence, Note&& note) {
  const auto pairs = valid.evidence_in(evidence);
  auto combined = lx::fit_combined_score(valid.scores, pairs, valid.labels);
  const double alone = lx::best_f1_threshold(valid.scores, valid.labels).f1;
  for (std::size_t i = 0; i < pairs.size(); ++i) valid.scores[i] = combined(valid.scores[i], pairs[i]);
  note(lx::cat("score: the model's combined with the evidence of the candidate search; best F1 on ", valid.name, ": ",
               percent(lx::best_f1_threshold(valid.scores, valid.labels).f1), ", of the model alone ", percent(alone)));
  return combined;
}

/// usual: the threshold if neither options nor labelled pairs choose one. valid: scored pairs, or null without --validation. evidence: that
/// is combined with the model's scores, or null. Notes what was reached.
template <class Note>
Decisions decide(const DecisionOptions& o, double usual, ValidationPairs* valid, const Evidence* evidence, Note&& note) {
  Decisions d;
  if (valid != nullptr) {
    if (evidence != nullptr) d.combined = combine(*valid, *evidence, note);
    if (!o.model_alone) usual = lx::best_f1_threshold(valid->scores, valid->labels).threshold;
    d.calibration = lx::fit_calibration(o.kind, valid->scores, valid->labels);
    note(calibration_summary(o.kind, valid->name, valid->scores, valid->labels));
  } else if (!o.calibration.empty()) {
    auto saved = CalibrationFile::load(o.calibration);
    d.calibration = std::move(saved.calibration);
    usual = saved.threshold.value_or(usual);
  }
  d.threshold = o.precision || o.recall ? wanted_threshold(o, *valid) : o.threshold ? *o.threshold : usual;
  if (valid != nullptr) {
    const auto c = valid->counts(d.threshold);
    note(lx::cat(valid->name, ": ", percent(c.precision()), " precision and ", percent(c.recall()), " recall at threshold ", d.threshold));
  }
  return d;
}

}  // namespace program
