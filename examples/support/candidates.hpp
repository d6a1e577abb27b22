// SPDX-License-Identifier: MIT
// Candidates of two tables of records, or within one: the options, the search, and its quality.
#pragma once

#include <optional>
#include <unordered_set>

#include "records.hpp"

namespace program {

class CandidateFlags {
 public:
  /// top: the name of the option for the candidates of a record.
  void add_to(CLI::App& app, const std::string& top) {
    add_choice(
        app, "--blocking", options_.blocking,
        "which pairs are candidates; ngrams: similar character n-grams, which survives typos; tokens: words and model numbers, whatever "
        "their punctuation; all: those of both; none: every pair");
    app.add_option(top, options_.top, "candidates of each record of either table")->check(positive())->capture_default_str();
    app.add_option("--ngram", options_.n, "characters of an n-gram")->check(positive())->capture_default_str();
  }
  const lx::BlockingOptions& options() const { return options_; }
  lx::BlockingOptions& options() { return options_; }

  /// The search for candidates among texts of the records, which must outlive it.
  lx::CandidateSearch search(std::span<const std::string> left, std::span<const std::string> right, bool one_table) const {
    return one_table ? lx::CandidateSearch(left, options_) : lx::CandidateSearch(left, right, options_);
  }

 private:
  lx::BlockingOptions options_;
};

/// The texts that candidates are found by: the values alone, without budgets, which are for the model's limited length.
inline std::pair<std::vector<std::string>, std::vector<std::string>> blocking_texts(const lx::RecordPairs& records) {
  lx::RecordTextOptions plain;
  plain.columns = records.options().columns;
  plain.normalize_numbers = records.options().normalize_numbers;
  return {lx::record_texts(records.left(), plain, false),
          records.one_table() ? std::vector<std::string>() : lx::record_texts(records.right(), plain, true)};
}

/// How many of the labelled matches are among the candidates. A match is a pair with the label 1; a pair given twice counts once.
inline lx::BlockingQuality blocking_quality(const std::vector<std::string>& files, const std::shared_ptr<const lx::RecordPairs>& records,
                                            std::span<const lx::Candidate> candidates, double pairs) {
  const bool one = records->one_table();
  const auto key = [&](std::size_t left, std::size_t right) {
    if (one && left > right) std::swap(left, right);
    return static_cast<std::uint64_t>(left) << 32 | right;
  };
  std::unordered_set<std::uint64_t> found, matches;
  for (const auto& c : candidates) found.insert(key(c.left, c.right));
  for (const auto& file : files) {
    lx::TableOptions table;
    table.records = records;
    const auto labelled = lx::read_pairs(file, table);
    const auto labels = lx::class_labels(labelled);
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] == 1)
        matches.insert(key(records->left_place(labelled.rows[i].left_id, file), records->right_place(labelled.rows[i].right_id, file)));
  }
  lx::BlockingQuality quality;
  quality.matches = matches.size();
  quality.found = static_cast<std::size_t>(std::count_if(matches.begin(), matches.end(), [&](auto m) { return found.contains(m); }));
  quality.candidates = candidates.size();
  quality.pairs = pairs;
  return quality;
}

/// A value as a field of a .csv, quoted if needed.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos && !text.starts_with(' ') && !text.ends_with(' ')) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

/// The formats that are written: .csv and .jsonl.
inline lx::TableFormat output_format(const std::string& out) {
  if (out.ends_with(".csv")) return lx::TableFormat::csv;
  if (out.ends_with(".jsonl")) return lx::TableFormat::jsonl;
  lx::fail_usage("--out", out, ": the ending says no format that is written; .csv and .jsonl are");
}

}  // namespace program
