// SPDX-License-Identifier: MIT
// How `match` decides: the threshold and the calibration, from labelled validation pairs, from a file, or from the model.
#pragma once

#include <iomanip>
#include <lexformer/io/config.hpp>
#include <lexformer/io/json.hpp>

#include <lexformer/train/cascade.hpp>

#include "calibration_file.hpp"
#include "match_writer.hpp"

namespace program {

/// Labelled pairs of records, and their scores.
struct ValidationPairs {
  std::string name;  // the files
  std::vector<std::pair<std::size_t, std::size_t>> places;
  std::vector<lx::PairExample> examples;
  std::vector<std::int32_t> labels;
  std::vector<double> scores;
  std::size_t lost = 0;  // matches that are not among these pairs, because they are no candidates

  /// label_names: of the model; empty: 0 and 1.
  static ValidationPairs read(const std::vector<std::string>& files, const std::shared_ptr<const lx::RecordPairs>& records,
                              std::vector<std::string> label_names) {
    if (label_names.size() != 2) label_names = {"0", "1"};
    ValidationPairs out;
    for (const auto& file : files) {
      out.name += (out.name.empty() ? "" : ", ") + file;
      lx::TableOptions table;
      table.records = records;
      const auto rows = lx::read_pairs(file, table);
      for (const auto& row : rows.rows)
        out.places.emplace_back(records->left_place(row.left_id, file), records->right_place(row.right_id, file));
      for (auto& example : lx::class_examples(rows, label_names)) {
        out.labels.push_back(example.label);
        out.examples.push_back(std::move(example));
      }
    }
    if (out.matches() == 0 || out.matches() == out.labels.size())
      lx::fail_file(out.name, "all ", out.labels.size(), " pairs have the same label; validation needs matches and other pairs");
    return out;
  }
  std::size_t matches() const { return static_cast<std::size_t>(std::count(labels.begin(), labels.end(), 1)); }
  /// Of the scores from the threshold on.
  lx::BinaryCounts counts(double threshold) const {
    lx::BinaryCounts c;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const bool match = scores[i] >= threshold;
      ++(labels[i] == 1 ? match ? c.true_positive : c.false_negative : match ? c.false_positive : c.true_negative);
    }
    c.false_negative += lost;
    return c;
  }
};

struct Decisions {
  double threshold = 0.5;
  std::optional<lx::Calibration> calibration;
  std::optional<lx::Cascade> cascade{};

  DecidedPair of(double score) const {
    DecidedPair pair{score, {}, score >= threshold};
    if (calibration) pair.probability = (*calibration)(score);
    return pair;
  }
  /// Of a pair that the cascade decides. The cheap score's probability is its score, too.
  static DecidedPair of_cascade(double probability, bool match) { return {probability, probability, match, true}; }
  /// All that decides, for the settings of a run that can be resumed.
  lx::Json json() const {
    lx::Json out = {{"threshold", threshold}, {"calibration", calibration ? lx::to_json(*calibration) : lx::Json()}};
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

/// usual: the threshold if the options name none. valid: scored pairs, or nullptr without --validation. Notes what was reached.
template <class Note>
Decisions decide(const DecisionOptions& o, double usual, const ValidationPairs* valid, Note&& note) {
  Decisions d;
  if (valid != nullptr) {
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
