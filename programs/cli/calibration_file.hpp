// SPDX-License-Identifier: MIT
// Calibrations as the programs state, save and load them.
#pragma once

#include <iomanip>
#include <lexformer/io/config.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/metrics/metrics.hpp>
#include <lexformer/metrics/score_calibration.hpp>
#include <optional>

#include "cli/program.hpp"

namespace program {

/// "98.1 %".
inline std::string percent(double share, int digits = 1) {
  StringWriter out;
  out << std::fixed << std::setprecision(digits) << 100 * share << " %";
  return out.str();
}

/// {"calibration": {...}, "threshold": x}; the threshold may be missing.
struct CalibrationFile {
  lx::Calibration calibration;
  std::optional<double> threshold;

  static CalibrationFile load(const std::string& path) {
    const lx::Json json = lx::parse_json(lx::read_file(path), path);
    if (!json.is_object() || !json.contains("calibration"))
      lx::fail_file(path, "has no key 'calibration'; evaluate --calibration writes it");
    CalibrationFile out{lx::parse_calibration(json["calibration"], path + ": calibration"), {}};
    if (json.contains("threshold")) out.threshold = lx::get_number(json, "threshold", -1e300, 1e300, path);
    return out;
  }
  void save(const std::string& path) const {
    lx::Json json = {{"calibration", lx::to_json(calibration)}};
    if (threshold) json["threshold"] = *threshold;
    lx::write_file_atomic(path, json.dump(2) + "\n");
  }
};

/// The least threshold with this precision. Errors (file): there is none; the message says what there is. name: of the labelled pairs.
inline double precise_threshold(const std::string& name, std::span<const double> scores, std::span<const std::int32_t> labels,
                                double precision) {
  if (const auto threshold = lx::threshold_for_precision(scores, labels, precision)) return *threshold;
  lx::PrecisionRecall best;
  for (const auto& point : lx::precision_recall_curve(scores, labels))
    if (point.precision >= best.precision) best = point;
  lx::fail_file(name, "no threshold has ", percent(precision), " precision on these ", labels.size(), " pairs; the largest is ",
                percent(best.precision), ", with ", percent(best.recall), " recall");
}

/// Probabilities that `calibration` gives the scores.
inline std::vector<double> calibrated(const lx::Calibration& calibration, std::span<const double> scores) {
  std::vector<double> out;
  for (const double s : scores) out.push_back(calibration(s));
  return out;
}

inline bool are_probabilities(std::span<const double> scores) {
  return std::all_of(scores.begin(), scores.end(), [](double s) { return s >= 0 && s <= 1; });
}

/// "F: calibration error 3.1 % before, 1.2 % after platt (cross-fitted)".
inline std::string calibration_summary(lx::CalibrationKind kind, const std::string& name, std::span<const double> scores,
                                       std::span<const std::int32_t> labels) {
  const auto fitted = lx::cross_fitted(kind, scores, labels);
  const std::string before = are_probabilities(scores) ? percent(lx::calibration_error(scores, labels)) + " before, " : "";
  return lx::cat(name, ": ", labels.size(), " pairs; calibration error ", before, percent(lx::calibration_error(fitted, labels)), " after ",
                 lx::name_of(kind), " (cross-fitted)");
}

}  // namespace program
