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

/// Probabilities that `calibration` gives the scores.
inline std::vector<double> calibrated(const lx::Calibration& calibration, std::span<const double> scores) {
  std::vector<double> out;
  for (const double s : scores) out.push_back(calibration(s));
  return out;
}

}  // namespace program
