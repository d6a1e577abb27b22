// SPDX-License-Identifier: MIT
// Chooses the candidate pairs that are worth labelling by hand.
#include <iomanip>
#include <limits>
#include <set>

#include <lexformer/data/label_suggestions.hpp>

#include "support/candidates.hpp"
#include "support/scored_pairs.hpp"

namespace lx = lexformer;

namespace {

struct Pairs {
  std::vector<lx::ScoredPair> rows;
  double least_match = std::numeric_limits<double>::infinity(), largest_other = -std::numeric_limits<double>::infinity();

  /// Midway between the matches and the other pairs.
  double threshold(const std::string& path) const {
    if (!std::isfinite(least_match)) return largest_other;
    if (!std::isfinite(largest_other)) return least_match;
    if (least_match < largest_other)
      lx::fail_file(path, "a match has the score ", least_match, ", another pair ", largest_other,
                    ", so there is no threshold; give --threshold");
    return (least_match + largest_other) / 2;
  }
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Reads candidate pairs with scores, as match or candidates write them, and writes those that are worth labelling by hand: with "
      "label, for train_matcher.",
      "suggest");
  program::RecordFlags flags;
  std::vector<std::string> files, columns, labelled;
  std::string out;
  lx::SuggestOptions options;
  std::optional<double> threshold;
  app.add_option("pairs", files, "files with the columns left_id, right_id and score: .csv, .tsv, .jsonl")->required()->type_name("F.csv");
  flags.add_to(app);
  program::add_record_columns(app, columns);
  app.add_option("--out", out, "file to write: left_id, right_id and score, .csv")->required()->type_name("F.csv");
  app.add_option("--count", options.count, "number of pairs")->check(program::positive())->capture_default_str();
  program::add_choice(
      app, "--by", options.by,
      "uncertainty: pairs near the threshold that differ from each other; spread: from all ranges of the score, for a first "
      "set of labels; random: a sample, also for validation");
  app.add_option("--threshold", threshold,
                 "with --by uncertainty: least score of a match (default: between the matches and the others, by the column match)");
  app.add_option("--labelled", labelled, "labelled pairs of ids, which are not suggested again")->type_name("F.csv");
  app.add_option("--seed", options.seed, "random seed")->capture_default_str();
  program::add_threads(app);
  return program::run(app, argc, argv, [&] {
    for (const auto* inputs : {&files, &labelled}) program::keep_inputs("--out", out, *inputs);
    program::keep_inputs("--out", out, flags.files());
    if (program::output_format(out) != lx::TableFormat::csv) lx::fail_usage("--out", out, " must end in .csv");
    if (!flags.used()) lx::fail_usage("--left", "must be given: suggestions compare the records");
    const bool by_uncertainty = options.by == lx::SuggestBy::uncertainty;
    const auto records = flags.load(columns, "");
    const auto key = [&](const lx::PairRow& pair, const std::string& where) {
      std::size_t left = records->left_place(pair.left_id, where), right = records->right_place(pair.right_id, where);
      if (records->one_table() && left > right) std::swap(left, right);
      return std::pair(left, right);
    };
    std::set<std::pair<std::size_t, std::size_t>> known;
    for (const auto& path : labelled) {
      lx::TableOptions table;
      table.records = records;
      for (const auto& row : lx::read_pairs(path, table).rows) known.insert(key(row, path));
    }
    Pairs pairs;
    std::size_t all = 0;
    program::read_scored_pairs(files, threshold, by_uncertainty, records, [&](const lx::PairRow& pair, double score, bool match) {
      ++all;
      if (match)
        pairs.least_match = std::min(pairs.least_match, score);
      else
        pairs.largest_other = std::max(pairs.largest_other, score);
      const auto [left, right] = key(pair, files[0]);
      if (known.emplace(left, right).second) pairs.rows.push_back({left, right, score});
    });
    if (pairs.rows.empty()) lx::fail_file(files[0], "holds no pair that is not labelled");
    if (by_uncertainty) options.threshold = threshold ? *threshold : pairs.threshold(files[0]);
    const auto texts = program::blocking_texts(*records);
    const lx::TextVectors vectors(texts.first, texts.second, lx::TextFeatures{});
    const auto chosen = lx::suggest_labels(pairs.rows, vectors, records->one_table() ? 0 : texts.first.size(), options);
    program::StringWriter text;
    text << "left_id,right_id,score\n" << std::setprecision(9);
    for (const std::size_t i : chosen)
      text << program::csv_field(records->left().records[pairs.rows[i].left].id) << ','
           << program::csv_field(records->right().records[pairs.rows[i].right].id) << ',' << pairs.rows[i].score << '\n';
    lx::write_file_atomic(out, text.str());
    std::cerr << out << ": " << chosen.size() << " of " << all << " pairs to label, by " << lx::name_of(options.by);
    if (by_uncertainty) std::cerr << " at threshold " << options.threshold;
    std::cerr << '\n';
    return 0;
  });
}
