// SPDX-License-Identifier: MIT
// Pairs of records with scores, as match and candidates write them.
#pragma once

#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>

#include <lexformer/data/table.hpp>

#include "program.hpp"

namespace program {

/// Reads files with the columns left_id, right_id and score, and calls row(pair, score, match) for each row. match: whether the score
/// reaches the threshold; without one the column match says it. records: as TableOptions::records.
template <class F>
void read_scored_pairs(const std::vector<std::string>& files, std::optional<double> threshold, bool matches,
                       const std::shared_ptr<const lx::RecordPairs>& records, F&& row) {
  lx::TableOptions table;
  table.records = records;
  if (!records) table.columns = {"left_id", "right_id"};
  table.keep = {"score"};
  if (matches && !threshold) table.keep.emplace_back("match");
  table.labels = false;
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    if (!in) lx::fail_file(path, "cannot be read");
    lx::PairReader reader(in, path, lx::table_format(path, in), table);
    std::size_t count = 0;
    for (lx::PairRow pair; reader.next(pair);) {
      ++count;
      const std::string& text = pair.kept[0];
      double score = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), score);
      if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(score))
        lx::fail_file(lx::cat(path, ": pair ", count), "score is ", lx::in_quotes(text), ", expected a number");
      const bool match = threshold ? score >= *threshold : matches && (pair.kept[1] == "1" || pair.kept[1] == "true");
      row(pair, score, match);
    }
  }
}

}  // namespace program
