// SPDX-License-Identifier: MIT
// The lines that `match` writes.
#pragma once

#include <iomanip>
#include <lexformer/io/json.hpp>

#include <functional>

#include "match/match_options.hpp"
#include "match/match_words.hpp"

namespace program {

/// What is known of a candidate when it is written.
struct DecidedPair {
  double score = 0;                     // which is compared with the threshold
  std::optional<double> model{};        // the model's score, if `score` combines it with other evidence
  std::optional<double> probability{};  // calibrated
  bool match = false;
  bool by_cascade = false;
};

/// Writes the pairs of one left record.
class MatchWriter {
 public:
  using Words = std::function<std::vector<ShownWords>(const std::string&, const std::string&)>;
  /// combined: tell the model's score, too; calibrated: all pairs have a probability; cascade: tell who decided. words: of --words, for two
  /// texts.
  MatchWriter(const MatchOptions& o, const lx::RecordPairs& records, bool combined, bool calibrated, bool cascade, Words words)
      : o_(o),
        records_(records),
        combined_(combined),
        calibrated_(calibrated),
        cascade_(cascade),
        words_(std::move(words)),
        csv_(output_format(o.out) == lx::TableFormat::csv) {}

  std::string header() const {
    if (!csv_) return "";
    return lx::cat("left_id,right_id,score", combined_ ? ",model" : "", calibrated_ ? ",probability" : "", ",match", cascade_ ? ",by" : "",
                   o_.words > 0 ? ",words" : "", o_.text ? ",left,right" : "", "\n");
  }
  /// Appends the lines, the likeliest pair first. Returns the number of matches.
  std::size_t write(std::ostream& out, std::span<const lx::Candidate> candidates, const std::vector<DecidedPair>& pairs) const {
    std::vector<std::size_t> order(candidates.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const auto likely = [&](std::size_t i) { return std::pair(pairs[i].probability.value_or(pairs[i].score), pairs[i].score); };
      return likely(a) > likely(b);
    });
    if (o_.top > 0) order.resize(std::min(order.size(), o_.top));
    std::size_t matches = 0;
    for (const std::size_t i : order) {
      if (pairs[i].match) ++matches;
      if (pairs[i].match || !o_.matches_only) line(out, candidates[i], pairs[i]);
    }
    return matches;
  }

 private:
  void line(std::ostream& out, const lx::Candidate& c, const DecidedPair& pair) const {
    const auto &a = records_.left().records[c.left].id, &b = records_.right().records[c.right].id;
    const auto &left = records_.left_texts()[c.left], &right = records_.right_texts()[c.right];
    const char* by = pair.by_cascade ? "cascade" : "model";
    out << std::setprecision(9);
    if (csv_) {
      out << csv_field(a) << ',' << csv_field(b) << ',' << pair.score;
      if (combined_) out << ',';
      if (pair.model) out << *pair.model;
      if (calibrated_) out << ',' << *pair.probability;
      out << ',' << (pair.match ? 1 : 0);
      if (cascade_) out << ',' << by;
      if (o_.words > 0) out << ',' << csv_field(words_text(words_(left, right)));
      if (o_.text) out << ',' << csv_field(left) << ',' << csv_field(right);
    } else {
      out << "{\"left_id\":" << lx::Json(a).dump() << ",\"right_id\":" << lx::Json(b).dump() << ",\"score\":" << pair.score;
      if (pair.model) out << ",\"model\":" << *pair.model;
      if (calibrated_) out << ",\"probability\":" << *pair.probability;
      out << ",\"match\":" << (pair.match ? "true" : "false");
      if (cascade_) out << ",\"by\":\"" << by << '"';
      if (o_.words > 0) out << ",\"words\":" << words_json(words_(left, right));
      if (o_.text) out << ",\"left\":" << lx::Json(left).dump() << ",\"right\":" << lx::Json(right).dump();
      out << '}';
    }
    out << '\n';
  }

  const MatchOptions& o_;
  const lx::RecordPairs& records_;
  bool combined_, calibrated_, cascade_;
  Words words_;
  bool csv_;
};

}  // namespace program
