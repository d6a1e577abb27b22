// SPDX-License-Identifier: MIT
// What is chosen on validation data for the scores of a model, in the metadata of its file (docs/format.md).
#pragma once

#include <optional>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/metrics/score_calibration.hpp"

namespace lexformer {

/// The threshold and the calibration that a file holds. Errors (file): what it holds is none.
std::optional<double> stored_threshold(const ModelFile& file);
std::optional<Calibration> stored_calibration(const ModelFile& file);

/// Errors (numeric): the threshold is not finite.
void write_score_metadata(const std::optional<double>& threshold, const std::optional<Calibration>& calibration, ModelFile& file);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <cmath>
#include <string>

#include "lexformer/io/json.hpp"
#include "lexformer/models/head_names.hpp"

namespace lexformer {

LEXFORMER_INLINE std::optional<double> stored_threshold(const ModelFile& file) {
  const std::string key(detail::threshold_key), text = file.text(key);
  if (text.empty()) return std::nullopt;
  const Json value = parse_json(text, file.path + ": " + key);
  if (!value.is_number()) fail_file(file.path, key, " is ", in_quotes(text), ", expected a number");
  return value.get<double>();
}

LEXFORMER_INLINE std::optional<Calibration> stored_calibration(const ModelFile& file) {
  const std::string key(detail::calibration_key), text = file.text(key);
  if (text.empty()) return std::nullopt;
  return parse_calibration(text, file.path + ": " + key);
}

LEXFORMER_INLINE void write_score_metadata(const std::optional<double>& threshold, const std::optional<Calibration>& calibration,
                                           ModelFile& file) {
  if (threshold) {
    if (!std::isfinite(*threshold)) fail_numeric(file.path, "the threshold is ", *threshold);
    file.metadata[std::string(detail::threshold_key)] = dump_json(*threshold, file.path);
  }
  if (calibration) file.metadata[std::string(detail::calibration_key)] = dump_json(to_json(*calibration), file.path);
}

}  // namespace lexformer
#endif
