// SPDX-License-Identifier: MIT
// The calibration of a model's scores: fitted on validation data, kept as JSON, and judged on data that it was not fitted to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/io/json_value.hpp"
#include "lexformer/metrics/calibration.hpp"

namespace lexformer {

/// platt: two numbers, for a few hundred examples; isotonic: a rising step function, for a thousand or more.
enum class CalibrationKind { platt, isotonic };
template <>
inline constexpr Named<CalibrationKind> names_of<CalibrationKind>[] = {{"platt", CalibrationKind::platt},
                                                                       {"isotonic", CalibrationKind::isotonic}};

/// ln(p / (1 - p)), p limited to [1e-12, 1 - 1e-12].
double log_odds(double probability);

/// Maps a score to a probability. Neither kind changes the order of two scores (isotonic may make them equal), unless Platt's slope is
/// negative: then the scores fall where the labels rise.
struct Calibration {
  CalibrationKind kind = CalibrationKind::platt;
  bool odds = true;  // platt reads log_odds(score), which is the difference of two logits; false: the score itself
  PlattScaling platt{};
  IsotonicCalibration isotonic{};

  double operator()(double score) const;
  bool operator==(const Calibration&) const = default;
};

/// Fits by fit_platt() or fit_isotonic(). Platt scaling takes the log odds of the scores if all of them are in [0, 1]. Errors: theirs.
Calibration fit_calibration(CalibrationKind kind, std::span<const double> scores, std::span<const std::int32_t> labels);

/// The fold of each example, from 0 on. The folds have equal shares of both classes, as far as they can, and depend on the seed alone.
/// There are fewer folds than asked for if there are fewer examples. Errors: fewer than 2 folds or 2 examples; a label that is not 0 or 1.
std::vector<std::size_t> stratified_folds(std::span<const std::int32_t> labels, std::size_t folds = 5, std::uint64_t seed = 1);

namespace detail {
/// The values of some rows.
template <class T>
std::vector<std::remove_const_t<T>> values_of(std::span<T> values, std::span<const std::size_t> rows) {
  std::vector<std::remove_const_t<T>> out;
  for (const std::size_t i : rows) out.push_back(values[i]);
  return out;
}
}  // namespace detail

/// For each example predict(i), where predict = fit(rows) was fitted to the examples of the other folds. It estimates the
/// result on new data; the fitted examples overstate it. Errors: as stratified_folds().
template <class Fit>
std::vector<double> cross_fitted(std::span<const std::int32_t> labels, Fit&& fit, std::size_t folds = 5, std::uint64_t seed = 1) {
  const auto fold_of = stratified_folds(labels, folds, seed);
  std::vector<double> out(labels.size());
  for (std::size_t fold = 0; fold < std::min(folds, labels.size()); ++fold) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (fold_of[i] != fold) rows.push_back(i);
    const auto predict = fit(std::span<const std::size_t>(rows));
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (fold_of[i] == fold) out[i] = predict(i);
  }
  return out;
}

/// The same for the probabilities of a calibration: isotonic regression nearly interpolates the examples that it is fitted to. Errors: also
/// as fit_calibration().
std::vector<double> cross_fitted(CalibrationKind kind, std::span<const double> scores, std::span<const std::int32_t> labels,
                                 std::size_t folds = 5, std::uint64_t seed = 1);

/// Brier score: the mean of (probability - label)^2; 0 is perfect, 0.25 is what the constant 0.5 has (Brier 1950, for two classes halved).
double brier_score(std::span<const double> probabilities, std::span<const std::int32_t> labels);

/// The least threshold with this precision. Errors (file): there is none; the message says what there is. name: of the labelled pairs.
double precise_threshold(const std::string& name, std::span<const double> scores, std::span<const std::int32_t> labels, double precision);

/// Whether all scores are from 0 to 1.
bool are_probabilities(std::span<const double> scores);

/// "NAME: 450 pairs; calibration error 3.1 % before, 1.2 % after platt (cross-fitted)".
std::string calibration_summary(CalibrationKind kind, const std::string& name, std::span<const double> scores,
                                std::span<const std::int32_t> labels);

/// {"kind": "platt", "odds": true, "slope": x, "offset": x} or {"kind": "isotonic", "scores": [...], "probabilities": [...]}.
Json to_json(const Calibration& calibration);
/// Errors (file): keys that are missing or of another type; corners that do not rise, or are not as many in both lists.
Calibration parse_calibration(const Json& json, const std::string& where);
/// The same from a text, such as CrossEncoder::calibration. Errors also: the text is not JSON.
Calibration parse_calibration(const std::string& text, const std::string& where);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <cmath>

#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/metrics/metrics.hpp"

namespace lexformer {

LEXFORMER_INLINE double log_odds(double probability) {
  const double p = std::clamp(probability, 1e-12, 1 - 1e-12);
  return std::log(p / (1 - p));
}

LEXFORMER_INLINE double Calibration::operator()(double score) const {
  if (kind == CalibrationKind::isotonic) return isotonic(score);
  return platt(odds ? log_odds(score) : score);
}

LEXFORMER_INLINE Calibration fit_calibration(CalibrationKind kind, std::span<const double> scores, std::span<const std::int32_t> labels) {
  Calibration out;
  out.kind = kind;
  if (kind == CalibrationKind::isotonic) {
    out.isotonic = fit_isotonic(scores, labels);
    return out;
  }
  out.odds = are_probabilities(scores);
  std::vector<double> x(scores.begin(), scores.end());
  if (out.odds) std::transform(x.begin(), x.end(), x.begin(), log_odds);
  out.platt = fit_platt(x, labels);
  return out;
}

LEXFORMER_INLINE std::vector<std::size_t> stratified_folds(std::span<const std::int32_t> labels, std::size_t folds, std::uint64_t seed) {
  const std::size_t n = labels.size();
  if (n < 2) fail("stratified_folds", n, n == 1 ? " example" : " examples", ", expected at least 2");
  if (folds < 2) fail("stratified_folds", "the number of folds is ", folds, ", expected at least 2");
  detail::check_binary("stratified_folds", std::vector<double>(n), labels);
  std::vector<std::size_t> order(n), out(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  RandomStream(seed, random_site::shuffle).shuffle(order);
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return labels[i] == 1; });
  for (std::size_t k = 0; k < n; ++k) out[order[k]] = k % std::min(folds, n);
  return out;
}

LEXFORMER_INLINE std::vector<double> cross_fitted(CalibrationKind kind, std::span<const double> scores,
                                                  std::span<const std::int32_t> labels, std::size_t folds, std::uint64_t seed) {
  detail::check_binary("cross_fitted", scores, labels);
  const auto fit = [&](std::span<const std::size_t> rows) {
    return [scores, calibration = fit_calibration(kind, detail::values_of(scores, rows), detail::values_of(labels, rows))](std::size_t i) {
      return calibration(scores[i]);
    };
  };
  return cross_fitted(labels, fit, folds, seed);
}

LEXFORMER_INLINE double brier_score(std::span<const double> probabilities, std::span<const std::int32_t> labels) {
  detail::check_binary("brier_score", probabilities, labels);
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) sum += (probabilities[i] - labels[i]) * (probabilities[i] - labels[i]);
  return sum / static_cast<double>(labels.size());
}

LEXFORMER_INLINE double precise_threshold(const std::string& name, std::span<const double> scores, std::span<const std::int32_t> labels,
                                          double precision) {
  if (const auto threshold = threshold_for_precision(scores, labels, precision)) return *threshold;
  PrecisionRecall best;
  for (const auto& point : precision_recall_curve(scores, labels))
    if (point.precision >= best.precision) best = point;
  fail_file(name, "no threshold has ", percent(precision), " precision on these ", labels.size(), " pairs; the largest is ",
            percent(best.precision), ", with ", percent(best.recall), " recall");
}

LEXFORMER_INLINE bool are_probabilities(std::span<const double> scores) {
  return std::all_of(scores.begin(), scores.end(), [](double s) { return s >= 0 && s <= 1; });
}

LEXFORMER_INLINE std::string calibration_summary(CalibrationKind kind, const std::string& name, std::span<const double> scores,
                                                 std::span<const std::int32_t> labels) {
  const auto fitted = cross_fitted(kind, scores, labels);
  const std::string before = are_probabilities(scores) ? percent(calibration_error(scores, labels)) + " before, " : "";
  return cat(name, ": ", labels.size(), " pairs; calibration error ", before, percent(calibration_error(fitted, labels)), " after ",
             name_of(kind), " (cross-fitted)");
}

LEXFORMER_INLINE Json to_json(const Calibration& c) {
  Json json = Json::object();
  json["kind"] = name_of(c.kind);
  if (c.kind == CalibrationKind::isotonic) {
    json["scores"] = c.isotonic.scores;
    json["probabilities"] = c.isotonic.probabilities;
  } else {
    json["odds"] = c.odds;
    json["slope"] = c.platt.slope;
    json["offset"] = c.platt.offset;
  }
  return json;
}

LEXFORMER_INLINE Calibration parse_calibration(const Json& json, const std::string& where) {
  Calibration c;
  c.kind = get_name<CalibrationKind>(json, "kind", where);
  if (c.kind == CalibrationKind::platt) {
    c.odds = get_bool(json, "odds", where);
    c.platt.slope = get_number(json, "slope", -1e300, 1e300, where);
    c.platt.offset = get_number(json, "offset", -1e300, 1e300, where);
    return c;
  }
  const auto corners = [&](const char* key, double least, double most) {
    const Json& list = *detail::find_value(json, key, true, where);
    std::vector<double> values;
    if (!list.is_array() || list.empty())
      fail_file(where, in_quotes(key), " is ", list.is_array() ? "empty" : detail::shown(list), ", expected a list of numbers");
    for (const Json& value : list) {
      if (!value.is_number() || value.get<double>() < least || value.get<double>() > most)
        fail_file(where, in_quotes(key), " has ", detail::shown(value), ", expected numbers from ", least, " to ", most);
      values.push_back(value.get<double>());
    }
    if (!std::is_sorted(values.begin(), values.end())) fail_file(where, in_quotes(key), " falls, expected ascending numbers");
    return values;
  };
  c.isotonic.scores = corners("scores", -1e300, 1e300);
  c.isotonic.probabilities = corners("probabilities", 0, 1);
  if (c.isotonic.scores.size() != c.isotonic.probabilities.size())
    fail_file(where, "there are ", c.isotonic.scores.size(), " scores and ", c.isotonic.probabilities.size(), " probabilities");
  if (std::adjacent_find(c.isotonic.scores.begin(), c.isotonic.scores.end()) != c.isotonic.scores.end())
    fail_file(where, "'scores' has a number twice");
  return c;
}
LEXFORMER_INLINE Calibration parse_calibration(const std::string& text, const std::string& where) {
  return parse_calibration(parse_json(text, where), where);
}

}  // namespace lexformer
#endif
