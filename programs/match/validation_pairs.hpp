// SPDX-License-Identifier: MIT
// The labelled pairs by which `match` chooses thresholds, calibration and cascade.
#pragma once

#include <algorithm>
#include <lexformer/data/examples.hpp>

#include "cli/given_labels.hpp"
#include "match/match_evidence.hpp"

namespace program {

/// Below this number of matches what is chosen by them is rough, and there is no cascade.
inline constexpr std::size_t few_matches = 30;

/// Labelled pairs of records; after keep_candidates() those that are candidates, since no other can be found.
struct ValidationPairs {
  std::string name;                                         // the files
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of all pairs
  std::vector<std::int32_t> labels;
  std::vector<std::size_t> candidates;  // the number of each pair in Evidence
  std::vector<double> scores;           // of the model, or the similarity without one
  std::size_t lost = 0;                 // matches that are no candidates

  /// label_names: of the model; empty: 0 and 1. Errors (file): all labels are equal; a pair has two different ones.
  static ValidationPairs read(const std::vector<std::string>& files, const std::shared_ptr<const lx::RecordPairs>& records,
                              std::vector<std::string> label_names) {
    if (label_names.size() != 2) label_names = {"0", "1"};
    ValidationPairs out;
    GivenLabels given(records->one_table());
    for (const auto& file : files) {
      out.name += (out.name.empty() ? "" : ", ") + file;
      lx::TableOptions table;
      table.records = records;
      const auto rows = lx::read_pairs(file, table);
      for (const auto& row : rows.rows) {
        given.add(row.left_id, row.right_id, row.label, file, row.line);
        out.places.emplace_back(records->left_place(row.left_id, file), records->right_place(row.right_id, file));
      }
      for (const std::size_t label : lx::class_labels(rows, label_names)) out.labels.push_back(static_cast<std::int32_t>(label));
    }
    if (out.matches() == 0 || out.matches() == out.labels.size())
      lx::fail_file(
          out.name,
          out.labels.size() == 1 ? "the only pair has one label" : lx::cat("all ", out.labels.size(), " pairs have the same label"),
          "; validation needs matches and other pairs");
    return out;
  }
  /// Errors (file): all candidates have one label.
  void keep_candidates(const Evidence& evidence) {
    const auto numbers = evidence.find(places);
    std::vector<std::int32_t> kept;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i]) {
        candidates.push_back(*numbers[i]);
        kept.push_back(labels[i]);
      } else if (labels[i] == 1) {
        ++lost;
      }
    }
    labels = std::move(kept);
    if (matches() == 0 || matches() == labels.size())
      lx::fail_file(name, "of ", places.size(), " pairs ", labels.size(), " are candidates, with ", matches(),
                    " matches; validation needs matches and other pairs among the candidates: label some of them, or raise --candidates");
  }
  std::vector<lx::CheapEvidence> evidence_in(const Evidence& evidence) const {
    std::vector<lx::CheapEvidence> out;
    for (const std::size_t number : candidates) out.push_back(evidence.of(number));
    return out;
  }
  std::size_t matches() const { return static_cast<std::size_t>(std::count(labels.begin(), labels.end(), 1)); }
};

}  // namespace program
