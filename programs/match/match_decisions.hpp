// SPDX-License-Identifier: MIT
// How `match` decides: the threshold and the calibration, from labelled validation pairs, from a file, or from the model.
#pragma once

#include <lexformer/io/json.hpp>
#include <lexformer/tables/combined_score.hpp>

#include "cli/calibration_file.hpp"
#include "match/match_writer.hpp"
#include "match/validation_pairs.hpp"

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
    if (combined) out["combined"] = {combined->odds, combined->regression.weights, combined->regression.offset};
    if (cascade) out["cascade"] = {cascade->weight, cascade->scaling.slope, cascade->scaling.offset, cascade->low, cascade->high};
    return out;
  }
};

/// The threshold with the wanted precision or recall. Errors (file): there is none.
inline double wanted_threshold(const DecisionOptions& o, const ValidationPairs& pairs, std::span<const double> scores) {
  if (o.recall) {
    const auto here = static_cast<double>(pairs.matches()), all = here + static_cast<double>(pairs.lost);
    if (*o.recall * all > here)
      lx::fail_file(pairs.name, "only ", percent(here / all), " of the matches are candidates; more --candidates find more of them");
    return *lx::threshold_for_recall(scores, pairs.labels, *o.recall * all / here);
  }
  return precise_threshold(pairs.name, scores, pairs.labels, *o.precision);
}

/// "F: 97.9 % precision and 91.3 % recall at threshold 0.55".
inline std::string reached(const ValidationPairs& pairs, std::span<const double> scores, double threshold) {
  lx::BinaryCounts c;
  for (std::size_t i = 0; i < scores.size(); ++i) c.add(scores[i] >= threshold, pairs.labels[i] == 1);
  c.false_negative += pairs.lost;
  return lx::cat(pairs.name, ": ", percent(c.precision()), " precision and ", percent(c.recall()), " recall at threshold ", threshold);
}

/// usual: the threshold if neither options nor labelled pairs choose one. valid: scored pairs, or null without --validation. evidence: to
/// be combined with the model's scores, or null; odds: these are probabilities. Notes what was reached.
template <class Note>
Decisions decide(const DecisionOptions& o, double usual, const ValidationPairs* valid, const Evidence* evidence, bool odds, Note&& note) {
  Decisions d;
  if (valid == nullptr) {
    if (o.saved) d.calibration = o.saved->calibration;
    d.threshold = o.threshold ? *o.threshold : o.saved ? o.saved->threshold.value_or(usual) : usual;
    return d;
  }
  if (valid->matches() < few_matches)
    note(lx::cat(valid->name, ": only ", counted(valid->matches(), "match", "matches"),
                 " among the candidates: threshold and probabilities are rough; label more, a hundred matches if possible"));
  auto scores = valid->scores;
  if (evidence != nullptr) {
    const auto pairs = valid->evidence_in(*evidence);
    d.combined = lx::fit_combined_score(odds, valid->scores, pairs, valid->labels);
    // Thresholds and calibration are chosen by scores as they are to be expected on new pairs.
    scores = lx::cross_fitted_scores(odds, valid->scores, pairs, valid->labels);
    const auto best_f1 = [&](std::span<const double> of) { return percent(lx::best_f1_threshold(of, valid->labels).f1); };
    note(lx::cat(valid->name, ": best F1 ", best_f1(scores), " with the evidence of the candidate search (cross-fitted), ",
                 best_f1(valid->scores), " by the model alone"));
  }
  if (!o.model_alone) usual = lx::best_f1_threshold(scores, valid->labels).threshold;
  d.calibration = lx::fit_calibration(o.kind, scores, valid->labels);
  note(calibration_summary(o.kind, valid->name, scores, valid->labels));
  d.threshold = o.precision || o.recall ? wanted_threshold(o, *valid, scores) : o.threshold.value_or(usual);
  note(reached(*valid, scores, d.threshold));
  return d;
}

}  // namespace program
