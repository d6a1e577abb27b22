// SPDX-License-Identifier: MIT
// Pairs of records with scores, as match and candidates write them.
#pragma once

#include <cerrno>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <system_error>

#include <lexformer/metrics/metrics.hpp>
#include <lexformer/tables/record_texts.hpp>

#include "cli/program.hpp"

namespace program {

/// Reads files with the columns left_id, right_id and score, and calls row(pair, score, match, probability) for each row. match:
/// whether the score reaches the threshold; without one the column match says it, if `matches`. probability: the value of the column
/// probability, which is read if `probabilities` and the file has it. instead: the options that messages name if the column match is
/// missing. records: as TableOptions::records.
template <class F>
void read_scored_pairs(const std::vector<std::string>& files, std::optional<double> threshold, bool matches, bool probabilities,
                       const char* instead, const std::shared_ptr<const lx::RecordPairs>& records, F&& row) {
  lx::TableOptions table;
  table.records = records;
  table.ids = true;
  if (!records) table.columns = {"left_id", "right_id"};
  table.keep = {"score"};
  if (matches && !threshold) {
    table.keep.emplace_back("match");
    table.keep_advice = lx::cat("; give ", instead);
  }
  if (probabilities) table.keep_optional = {"probability"};
  table.labels = false;
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    if (!in) lx::fail_file(path, "cannot be opened: ", std::generic_category().message(errno));
    const lx::TableFormat format = lx::table_format(path, in);
    // Without a pair, a .jsonl is empty; the others have a header.
    if (format != lx::TableFormat::jsonl && in.peek() == std::ifstream::traits_type::eof())
      lx::fail_file(path, "is empty, expected a header with left_id, right_id and score", lx::empty_pipe(path));
    lx::PairReader reader(in, path, format, table);
    for (lx::PairRow pair; reader.next(pair);) {
      const auto here = [&] { return lx::cat(path, ": line ", pair.line); };
      const auto number = [&](const char* column, const std::string& text, double least, double most, const char* expected) {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
          lx::fail_file(here(), column, " is ", lx::in_quotes(text), ", expected ", expected);
        return value;
      };
      constexpr double largest = std::numeric_limits<double>::max();
      const double score = number("score", pair.kept[0], -largest, largest, "a number");
      std::optional<double> probability;
      if (probabilities && !pair.kept.back().empty()) probability = number("probability", pair.kept.back(), 0, 1, "a number from 0 to 1");
      bool match = threshold && lx::is_match(score, *threshold);
      if (matches && !threshold) {
        const auto value = lx::find_label(pair.kept[1], {"0", "1"});
        if (!value) lx::fail_file(here(), "match is ", lx::in_quotes(pair.kept[1]), ", expected 0 or 1");
        match = *value == 1;
      }
      row(pair, score, match, probability);
    }
  }
}

}  // namespace program
