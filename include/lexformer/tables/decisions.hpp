// SPDX-License-Identifier: MIT
// How pairs of records are decided: the threshold, the calibration, the combined score and the cascade, chosen on labelled pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/metrics/score_calibration.hpp"
#include "lexformer/tables/cascade.hpp"
#include "lexformer/tables/combined_score.hpp"
#include "lexformer/tables/evidence.hpp"
#include "lexformer/tables/labelled_pairs.hpp"
#include "lexformer/tables/match_quality.hpp"
#include "lexformer/tables/similarity_curve.hpp"

namespace lexformer {

/// One of threshold, min_precision and min_recall at most.
struct DecisionOptions {
  std::optional<double> threshold{};                   // the least score of a match; without labelled pairs: `usual`
  std::optional<double> min_precision{};               // the least threshold with this precision on the labelled pairs
  std::optional<double> min_recall{};                  // the highest threshold with this recall on them
  std::optional<double> usual{};                       // the threshold if nothing chooses one; default: the model's, else 0.5
  std::optional<Calibration> calibration{};            // without labelled pairs
  CalibrationKind calibrate = CalibrationKind::platt;  // with labelled pairs: the kind that is fitted
  bool cascade = true;                                 // with labelled pairs and a model: clear pairs are decided without it
  bool model_alone = false;  // with labelled pairs: the model's score and threshold decide, without evidence and cascade
};

/// What is known of a pair after it was decided.
struct PairDecision {
  double score = 0;                     // which is compared with the threshold
  std::optional<double> model{};        // the model's score, if `score` combines it with evidence
  std::optional<double> probability{};  // calibrated
  bool match = false;
  bool by_cascade = false;  // without the model
};

struct Decisions {
  double threshold = 0.5;
  std::optional<CombinedScore> combined{};
  std::optional<Calibration> calibration{};
  std::optional<SimilarityCurve> curve{};  // the calibration of similarities, without a model
  std::optional<Cascade> cascade{};

  bool gives_probabilities() const { return calibration || curve; }
  /// The calibrated probability of a score; nothing without a calibration.
  std::optional<double> probability(double score) const;
  /// score: the model's, or the similarity if there is none. match = is_match(score, threshold).
  PairDecision of(double score, const CheapEvidence& evidence) const;
  /// What the cascade decides; nothing for a pair that needs the model.
  std::optional<PairDecision> without_model(const CheapEvidence& evidence) const;
};
Json to_json(const Decisions& decisions);
/// Reads what to_json() wrote. Errors (file): something else.
Decisions parse_decisions(const Json& json, const std::string& where);

/// Below this number of matches what is chosen by them is rough, and there is no cascade.
inline constexpr std::size_t few_matches = 30;

/// The labelled pairs that are candidates, since no other pair can be found, and their scores.
struct ValidationPairs {
  std::string name;
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> sampled;  // whether the pair is known to be of a sample
  std::size_t selected = 0;           // pairs that are known to be of none
  std::vector<std::size_t> numbers;   // in Evidence
  std::vector<CheapEvidence> evidence;
  std::vector<double> scores{};  // of the model, or the similarity without one; set by the caller
  std::size_t lost = 0;          // matches that are not candidates

  /// Errors (file): the candidates have one label.
  ValidationPairs(const LabelledPairs& pairs, const Evidence& all);
  std::size_t matches() const;
};

/// Called with each thing worth telling.
using Note = std::function<void(const std::string& text)>;

namespace detail {
inline void tell(const Note& note, const std::string& text) {
  if (note) note(text);
}
}  // namespace detail

/// Chooses the decisions. valid: labelled pairs with scores, or null. combine: combine the model's score with the evidence; odds: these
/// scores are probabilities. usual: the threshold if neither options nor labelled pairs choose one. Notes what was reached.
/// Errors (file): no threshold has the wanted precision or recall.
Decisions choose_decisions(const DecisionOptions& options, double usual, const ValidationPairs* valid, bool combine, bool odds,
                           const Note& note = {});

/// Decides by the similarity of two tables, with probabilities: curve, fitted to all candidates, and by the pairs of `valid` that are a
/// sample, if there are any. Then the threshold has the largest expected F1, or the wanted precision or recall; without them it is the
/// one of the options, or 0.5. Options for calibration are not used. Notes how the threshold was chosen.
/// Errors (file): no threshold has the wanted precision.
Decisions decide_by_curve(const DecisionOptions& options, SimilarityCurve curve, const ValidationPairs* valid, const Evidence& evidence,
                          const Note& note = {});

/// The cascade that keeps the decisions on the labelled pairs (fit_cascade()), or none if these have few matches or it would decide
/// nothing. Notes what it does for the candidates.
std::optional<Cascade> choose_cascade(const ValidationPairs& valid, const Evidence& evidence, const Decisions& decisions,
                                      const Note& note = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>

#include "lexformer/core/error.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/metrics/metrics.hpp"

namespace lexformer {

LEXFORMER_INLINE std::optional<double> Decisions::probability(double score) const {
  if (curve) return (*curve)(score);
  return calibration ? std::optional((*calibration)(score)) : std::nullopt;
}

LEXFORMER_INLINE PairDecision Decisions::of(double score, const CheapEvidence& evidence) const {
  PairDecision pair;
  pair.score = score;
  if (combined) {
    pair.model = score;
    pair.score = (*combined)(score, evidence);
  }
  pair.probability = probability(pair.score);
  pair.match = is_match(pair.score, threshold);
  return pair;
}

LEXFORMER_INLINE std::optional<PairDecision> Decisions::without_model(const CheapEvidence& evidence) const {
  const auto clear = cascade ? cascade->decide(evidence) : std::nullopt;
  if (!clear) return std::nullopt;
  const double p = cascade->probability(evidence);  // the score, as well
  return PairDecision{.score = p, .probability = p, .match = *clear, .by_cascade = true};
}

LEXFORMER_INLINE Json to_json(const Decisions& d) {
  Json out = {{"threshold", d.threshold}, {"calibration", d.calibration ? to_json(*d.calibration) : Json()}};
  if (d.curve) out["curve"] = to_json(*d.curve);
  if (d.combined) out["combined"] = {d.combined->odds, d.combined->regression.weights, d.combined->regression.offset};
  if (d.cascade) out["cascade"] = {d.cascade->weight, d.cascade->scaling.slope, d.cascade->scaling.offset, d.cascade->low, d.cascade->high};
  return out;
}

LEXFORMER_INLINE Decisions parse_decisions(const Json& json, const std::string& where) {
  return read_json(where, [&] {
    Decisions d;
    d.threshold = json.at("threshold").get<double>();
    if (!json.at("calibration").is_null()) d.calibration = parse_calibration(json["calibration"], where);
    if (json.contains("curve"))
      d.curve = {json["curve"].at(0).get<std::array<double, 4>>(), json["curve"].at(1).get<std::array<double, 3>>()};
    if (json.contains("combined")) {
      const auto weights = json["combined"].at(1).get<std::array<double, 3>>();
      d.combined = {json["combined"].at(0).get<bool>(), {{weights.begin(), weights.end()}, json["combined"].at(2).get<double>()}};
    }
    if (json.contains("cascade")) {
      const auto c = json["cascade"].get<std::array<double, 5>>();
      d.cascade = {c[0], {c[1], c[2]}, c[3], c[4]};
    }
    return d;
  });
}

LEXFORMER_INLINE ValidationPairs::ValidationPairs(const LabelledPairs& pairs, const Evidence& all) : name(pairs.name) {
  const std::size_t count = pairs.labels.size();
  const auto found = all.find(pairs.places);
  for (std::size_t i = 0; i < count; ++i) {
    if (found[i]) {
      numbers.push_back(*found[i]);
      labels.push_back(pairs.labels[i]);
      sampled.push_back(pairs.is_sampled(i) ? 1 : 0);
      selected += std::size_t{pairs.is_selected(i)};
      evidence.push_back(all.of(*found[i]));
    } else if (pairs.labels[i] == 1) {
      ++lost;
    }
  }
  if (matches() == 0 || matches() == labels.size())
    fail_file(name, "of ", count, " pairs ", labels.size(), " are candidates, with ", matches(),
              " matches; validation needs matches and other pairs among the candidates: label some of them, or raise the number of "
              "candidates");
}

LEXFORMER_INLINE std::size_t ValidationPairs::matches() const {
  return static_cast<std::size_t>(std::count(labels.begin(), labels.end(), 1));
}

namespace detail {

/// The threshold with the wanted precision or recall. Errors (file): there is none.
LEXFORMER_INLINE double wanted_threshold(const DecisionOptions& o, const ValidationPairs& pairs, std::span<const double> scores) {
  if (!o.min_recall) return precise_threshold(pairs.name, scores, pairs.labels, *o.min_precision);
  const auto here = static_cast<double>(pairs.matches()), all = here + static_cast<double>(pairs.lost);
  if (*o.min_recall * all > here)
    fail_file(pairs.name, "only ", percent(here / all), " of the matches are candidates; more candidates of a record find more of them");
  return *threshold_for_recall(scores, pairs.labels, *o.min_recall * all / here);
}

/// The decisions on the labelled pairs. A match that is not a candidate is missed.
LEXFORMER_INLINE BinaryCounts counts_at(const ValidationPairs& pairs, std::span<const double> scores, double threshold) {
  BinaryCounts c;
  for (std::size_t i = 0; i < scores.size(); ++i) c.add(is_match(scores[i], threshold), pairs.labels[i] == 1);
  c.false_negative += pairs.lost;
  return c;
}

/// "F: 97.9 % precision and 91.3 % recall at threshold 0.55".
LEXFORMER_INLINE std::string reached(const ValidationPairs& pairs, std::span<const double> scores, double threshold) {
  const BinaryCounts c = counts_at(pairs, scores, threshold);
  return cat(pairs.name, ": ", percent(c.precision()), " precision and ", percent(c.recall()), " recall at threshold ", threshold);
}

/// Tells how many labelled matches the search has lost; effect: what follows, before "it as missed".
inline void tell_lost(const ValidationPairs& valid, const char* effect, const Note& note) {
  if (valid.lost > 0)
    tell(note,
         cat(valid.name, ": ", valid.lost, " of ", valid.matches() + valid.lost, " labelled matches ",
             valid.lost == 1 ? "is not a candidate" : "are not candidates", effect, valid.lost == 1 ? "it as missed" : "them as missed"));
}

}  // namespace detail

LEXFORMER_INLINE Decisions choose_decisions(const DecisionOptions& o, double usual, const ValidationPairs* valid, bool combine, bool odds,
                                            const Note& note) {
  const auto tell = [&](const std::string& text) { detail::tell(note, text); };
  Decisions d;
  if (valid == nullptr) {
    d.calibration = o.calibration;
    d.threshold = o.threshold.value_or(o.usual.value_or(usual));
    return d;
  }
  if (valid->matches() < few_matches)
    tell(cat(valid->name, ": only ", valid->matches(), valid->matches() == 1 ? " match" : " matches",
             " among the candidates: threshold and probabilities are rough; label more, a hundred matches if possible"));
  detail::tell_lost(*valid, "; recall and F1 count ", note);
  const bool sampled = std::count(valid->sampled.begin(), valid->sampled.end(), 1) > 0;
  const bool judges = valid->selected == 0 && !sampled;  // of a sample, hard pairs are more frequent
  auto scores = valid->scores;
  if (combine) {
    d.combined = fit_combined_score(odds, valid->scores, valid->evidence, valid->labels);
    // Thresholds and calibration are chosen by scores as they are to be expected on new pairs.
    scores = cross_fitted_scores(odds, valid->scores, valid->evidence, valid->labels);
    const auto best_f1 = [&](std::span<const double> of) {
      return percent(detail::counts_at(*valid, of, best_f1_threshold(of, valid->labels).threshold).f1());
    };
    if (judges)
      tell(cat(valid->name, ": best F1 ", best_f1(scores), " with the evidence of the candidate search (cross-fitted), ",
               best_f1(valid->scores), " by the model alone"));
  }
  if (!o.model_alone) usual = best_f1_threshold(scores, valid->labels).threshold;
  d.calibration = fit_calibration(o.calibrate, scores, valid->labels);
  if (d.calibration->kind == CalibrationKind::platt && d.calibration->platt.slope < 0) {
    tell(cat(valid->name, ": the scores fall where the labels rise, so all pairs have nearly the same probability"));
    d.calibration = fit_calibration(CalibrationKind::isotonic, scores, valid->labels);  // which does not fall
  }
  if (judges) tell(calibration_summary(o.calibrate, valid->name, scores, valid->labels));
  d.threshold = o.min_precision || o.min_recall ? detail::wanted_threshold(o, *valid, scores) : o.threshold.value_or(usual);
  if (valid->selected > 0)
    tell(cat(valid->name, ": ", valid->selected,
             " pairs were chosen by their score or seen in training, so precision and recall on them say nothing of "
             "the candidates"));
  else if (judges)
    tell(detail::reached(*valid, scores, d.threshold));
  return d;
}

LEXFORMER_INLINE Decisions decide_by_curve(const DecisionOptions& o, SimilarityCurve curve, const ValidationPairs* valid,
                                           const Evidence& evidence, const Note& note) {
  Decisions d;
  if (valid == nullptr) {
    d.threshold = o.threshold.value_or(o.usual.value_or(0.5));
    d.curve = curve;
    return d;
  }
  detail::tell_lost(*valid, "; the estimate of recall does not count ", note);
  MatchQuality quality;
  for (std::size_t i = 0; i < valid->labels.size(); ++i) {
    if (valid->sampled[i] == 0) continue;
    quality.add_label(curve(evidence.similarity(valid->numbers[i])), false, valid->labels[i] == 1);
  }
  const auto weights = quality.weights();
  std::copy(weights.begin(), weights.end(), curve.labelled.begin());
  for (std::size_t j = 1; j < 3; ++j) curve.labelled[j] = std::max(curve.labelled[j], 0.0);
  d.curve = curve;
  std::vector<double> scores, probabilities;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    scores.push_back(evidence.similarity(i));
    probabilities.push_back(curve(scores.back()));
  }
  if (o.min_precision) {
    const auto threshold = expected_precision_threshold(scores, probabilities, *o.min_precision);
    if (!threshold) fail_file(valid->name, "no threshold has an expected precision of ", percent(*o.min_precision), " on the candidates");
    d.threshold = *threshold;
  } else if (o.min_recall) {
    d.threshold = expected_recall_threshold(scores, probabilities, *o.min_recall).value();
  } else {
    d.threshold = o.threshold.value_or(expected_f1_threshold(scores, probabilities));
  }
  const std::size_t others = valid->labels.size() - quality.labels();
  detail::tell(note, cat(valid->name, ": threshold ", d.threshold, ", by ", quality.labels(), quality.labels() == 1 ? " label" : " labels",
                         " of a sample and all ", evidence.size(), " candidates",
                         others == 0 ? "" : cat("; ", others, " labels are not used, since it is not known that they are of a sample")));
  return d;
}

LEXFORMER_INLINE std::optional<Cascade> choose_cascade(const ValidationPairs& valid, const Evidence& evidence, const Decisions& decisions,
                                                       const Note& note) {
  const auto tell = [&](const std::string& text) { detail::tell(note, text); };
  if (!decisions.combined && !are_probabilities(valid.scores)) {
    tell("no cascade: the model's scores are no probabilities");
    return std::nullopt;
  }
  // With m matches and none of them lost, 3 / m bounds the recall that is lost on new pairs: below 30 that says next to nothing.
  if (valid.matches() < few_matches) {
    tell(cat("no cascade: it needs ", few_matches, " validation matches, which bound the recall that it may lose; there ",
             valid.matches() == 1 ? "is 1" : cat("are ", valid.matches()), ", so the model scores all ", evidence.size(), " candidates"));
    return std::nullopt;
  }
  std::vector<std::uint8_t> found;
  for (std::size_t i = 0; i < valid.evidence.size(); ++i) found.push_back(decisions.of(valid.scores[i], valid.evidence[i]).match ? 1 : 0);
  const auto cascade = fit_cascade(valid.evidence, found, valid.labels);
  const auto on_valid = outcome(cascade, valid.evidence, found, valid.labels);
  if (on_valid.decided == 0) {
    tell("no cascade: it would decide no validation pair");
    return std::nullopt;
  }
  std::size_t decided = 0;
  for (std::size_t i = 0; i < evidence.size(); ++i)
    if (cascade.decide(evidence.of(i))) ++decided;
  const auto points = [](double share) { return cat(std::fixed, std::setprecision(1), 100 * std::abs(share)); };
  const auto change = [&](double lost) { return cat(lost > -0.0005 ? "falls by " : "rises by ", points(lost)); };
  tell(cat("cascade: decides ", percent(static_cast<double>(decided) / static_cast<double>(evidence.size())), " of the candidates; of ",
           found.size(), " validation pairs with ", valid.matches(), " matches ", percent(on_valid.decided_share()), ", where recall ",
           change(on_valid.lost_recall()), " and precision ", change(on_valid.lost_precision()), " points",
           on_valid.found < on_valid.model_found
               ? ""
               : cat("; on new pairs recall may fall by up to ", points(3 / static_cast<double>(valid.matches())), " (95 % confidence)")));
  return cascade;
}

}  // namespace lexformer
#endif
