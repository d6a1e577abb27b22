// SPDX-License-Identifier: MIT
// The lines that `match` writes.
#pragma once

#include <iomanip>
#include <lexformer/data/row_writer.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/tables/explanation.hpp>

#include "match/match_options.hpp"

namespace program {

/// Writes the pairs of one left record.
class MatchWriter {
 public:
  MatchWriter(const MatchFlags& o, const lx::RecordPairs& records, const lx::Decisions& decisions, const lx::Scorer* model)
      : o_(o), records_(records), decisions_(decisions), model_(model), csv_(output_format(o.out) == lx::TableFormat::csv) {}

  std::string header() const {
    if (!csv_) return "";
    return lx::cat("left_id,right_id,score", decisions_.combined ? ",model" : "", decisions_.gives_probabilities() ? ",probability" : "",
                   ",match", decisions_.cascade ? ",by" : "", o_.words > 0 ? ",words" : "", o_.text ? ",left,right" : "", "\n");
  }
  /// Appends the lines. Returns the number of matches.
  std::size_t write(std::ostream& out, const std::vector<lx::Match>& pairs) const {
    std::size_t matches = 0;
    for (const lx::Match& pair : pairs) {
      if (pair.match) ++matches;
      if (pair.match || !o_.matches_only) line(out, pair);
    }
    return matches;
  }

 private:
  std::vector<lx::ExplainedWords> words(const std::string& left, const std::string& right) const {
    return o_.words_by == WordsBy::attention ? lx::attended_words(*model_, left, right, o_.words)
                                             : lx::similar_words(*model_, left, right, o_.words);
  }
  void line(std::ostream& out, const lx::Match& pair) const {
    const auto &a = records_.left().records[pair.left].id, &b = records_.right().records[pair.right].id;
    const auto &left = records_.left_texts()[pair.left], &right = records_.right_texts()[pair.right];
    const char* by = pair.by_cascade ? "cascade" : "model";
    out << std::setprecision(9);
    if (csv_) {
      out << lx::csv_field(a) << ',' << lx::csv_field(b) << ',' << pair.score;
      if (decisions_.combined) out << ',';
      if (pair.model) out << *pair.model;
      if (decisions_.gives_probabilities()) out << ',' << *pair.probability;
      out << ',' << (pair.match ? 1 : 0);
      if (decisions_.cascade) out << ',' << by;
      if (o_.words > 0) out << ',' << lx::csv_field(lx::to_text(words(left, right)));
      if (o_.text) out << ',' << lx::csv_field(left) << ',' << lx::csv_field(right);
    } else {
      out << "{\"left_id\":" << lx::Json(a).dump() << ",\"right_id\":" << lx::Json(b).dump() << ",\"score\":" << pair.score;
      if (pair.model) out << ",\"model\":" << *pair.model;
      if (decisions_.gives_probabilities()) out << ",\"probability\":" << *pair.probability;
      out << ",\"match\":" << (pair.match ? "true" : "false");
      if (decisions_.cascade) out << ",\"by\":\"" << by << '"';
      if (o_.words > 0) out << ",\"words\":" << lx::to_json_text(words(left, right));
      if (o_.text) out << ",\"left\":" << lx::Json(left).dump() << ",\"right\":" << lx::Json(right).dump();
      out << '}';
    }
    out << '\n';
  }

  const MatchFlags& o_;
  const lx::RecordPairs& records_;
  const lx::Decisions& decisions_;
  const lx::Scorer* model_;
  bool csv_;
};

}  // namespace program
