// SPDX-License-Identifier: MIT
// Chooses the candidate pairs that are worth labelling by hand.
#include <algorithm>
#include <iomanip>
#include <set>

#include <lexformer/data/label_suggestions.hpp>
#include <lexformer/train/metrics.hpp>

#include "cli/scored_pairs.hpp"
#include "match/candidates.hpp"

namespace lx = lexformer;

namespace {

int run_suggest(int argc, char** argv) {
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
                 "with --by uncertainty: least score of a match (default: the one that fits the column match best)")
      ->check(program::finite());
  app.add_option("--labelled", labelled, "labelled pairs of ids, which are not suggested again")->type_name("F.csv");
  app.add_option("--seed", options.seed, "random seed")->capture_default_str();
  program::add_threads(app);
  return program::run(app, argc, argv, [&] {
    for (const auto* inputs : {&files, &labelled}) program::keep_inputs("--out", out, *inputs);
    program::keep_inputs("--out", out, flags.files());
    if (program::output_format(out) != lx::TableFormat::csv) lx::fail_usage("--out", out, " must end in .csv");
    program::check_folder(out);
    if (threshold && !(*threshold > 0 && *threshold < 1))
      lx::fail_usage("--threshold", "is ", *threshold, ", expected a number between 0 and 1");
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
    std::vector<lx::ScoredPair> pairs;  // that are not labelled
    std::vector<double> scores;         // of all pairs, with the decisions of match
    std::vector<std::int32_t> decisions;
    program::read_scored_pairs(files, threshold, by_uncertainty, "--threshold, or --by spread", records,
                               [&](const lx::PairRow& pair, double score, bool match) {
                                 scores.push_back(score);
                                 decisions.push_back(match ? 1 : 0);
                                 const auto [left, right] = key(pair, files[0]);
                                 if (known.emplace(left, right).second) pairs.push_back({left, right, score});
                               });
    if (pairs.empty()) lx::fail_file(files[0], "holds no pair that is not labelled");
    // The decisions of a cascade do not follow the scores alone, so no threshold may separate them.
    if (by_uncertainty) {
      const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
      if (*least < 0 || *most > 1)
        lx::fail_usage("--by", "uncertainty needs probabilities, but the scores go from ", *least, " to ", *most,
                       "; take --by spread, or scores of match --validation");
      options.threshold = threshold ? *threshold : std::clamp(lx::best_f1_threshold(scores, decisions).threshold, 1e-6, 1 - 1e-6);
    }
    const auto texts = program::blocking_texts(*records);
    const lx::TextVectors vectors(texts.first, texts.second, lx::TextFeatures{});
    const auto chosen = lx::suggest_labels(pairs, vectors, records->one_table() ? 0 : texts.first.size(), options);
    program::StringWriter text;
    text << "left_id,right_id,score\n" << std::setprecision(9);
    for (const std::size_t i : chosen)
      text << program::csv_field(records->left().records[pairs[i].left].id) << ','
           << program::csv_field(records->right().records[pairs[i].right].id) << ',' << pairs[i].score << '\n';
    lx::write_file_atomic(out, text.str());
    std::cerr << out << ": " << chosen.size() << " of " << program::counted(scores.size(), "pair", "pairs") << " to label, by "
              << lx::name_of(options.by);
    if (by_uncertainty) std::cerr << " at threshold " << options.threshold;
    std::cerr << '\n';
    return 0;
  });
}

const program::Command command{"suggest", program::Group::match, "chooses the pairs that are worth labelling", run_suggest};

}  // namespace
