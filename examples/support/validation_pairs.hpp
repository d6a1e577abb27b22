// SPDX-License-Identifier: MIT
// The labelled pairs by which `match` chooses thresholds, calibration and cascade.
#pragma once

#include <algorithm>
#include <lexformer/train/metrics.hpp>

#include "match_evidence.hpp"

namespace program {

/// Labelled pairs of records that are candidates (after keep_candidates()), and their scores.
struct ValidationPairs {
  std::string name;  // the files
  std::vector<std::pair<std::size_t, std::size_t>> places;
  std::vector<lx::PairExample> examples;
  std::vector<std::int32_t> labels;
  std::vector<std::size_t> candidates;  // number of each pair in Evidence
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
  /// Drops the other pairs, which cannot be found. Errors (file): all that are left have one label.
  void keep_candidates(const Evidence& evidence) {
    const auto numbers = evidence.find(places);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!numbers[i]) {
        if (labels[i] == 1) ++lost;
        continue;
      }
      const std::size_t kept = candidates.size();
      places[kept] = places[i];
      labels[kept] = labels[i];
      examples[kept] = examples[i];
      candidates.push_back(*numbers[i]);
    }
    places.resize(candidates.size());
    labels.resize(candidates.size());
    examples.resize(candidates.size());
    if (matches() == 0 || matches() == labels.size())
      lx::fail_file(name, "the ", labels.size(),
                    " pairs that are candidates have the same label; validation needs matches and other pairs");
  }
  std::vector<lx::CheapEvidence> evidence_in(const Evidence& evidence) const {
    std::vector<lx::CheapEvidence> out;
    for (const std::size_t number : candidates) out.push_back(evidence.of(number));
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

}  // namespace program
