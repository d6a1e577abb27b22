// SPDX-License-Identifier: MIT
// Chooses the candidate pairs that are worth labelling by hand.
#include <algorithm>
#include <iomanip>
#include <set>

#include <lexformer/data/row_writer.hpp>
#include <lexformer/metrics/metrics.hpp>
#include <lexformer/tables/label_suggestions.hpp>
#include <lexformer/tables/record_search.hpp>

#include "cli/records.hpp"
#include "cli/scored_pairs.hpp"

namespace lx = lexformer;

namespace {

class Suggest final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.inputs("pairs", files_, "files with the columns left_id, right_id and score: .csv, .tsv, .jsonl")
        .positional()
        .required()
        .shown_as("F.csv");
    flags_.visit_with_columns(v, columns_);
    v.output("out", out_, "file to write: left_id, right_id, score, chosen (as --by) and weight (how many pairs it stands for), .csv")
        .required()
        .shown_as("F.csv");
    v.size("count", options_.count, 1, "number of pairs");
    v.choice("by", options_.by,
             "sample: by chance, pairs that are hard to tell more often, for validation and for a first set of labels; it needs the column "
             "probability; uncertainty: pairs near the threshold that differ from each other, to train a model further; spread: from all "
             "ranges of the score; random: each pair with the same probability");
    v.number("threshold", threshold_, lx::bounds::any,
             "with --by uncertainty: least score of a match (default: the one that fits the column match best)");
    v.inputs("labelled", labelled_, "labelled pairs of ids, which are not suggested again").shown_as("F.csv");
    v.size("seed", options_.seed, 0, "random seed");
    visit_threads(v);
  }
  int run() override {
    if (program::output_format(out_) != lx::TableFormat::csv) lx::fail_usage("--out", out_, " must end in .csv");
    if (threshold_ && !(*threshold_ > 0 && *threshold_ < 1))
      lx::fail_usage("--threshold", "is ", *threshold_, ", expected a number between 0 and 1");
    if (!flags_.used()) lx::fail_usage("--left", "must be given: suggestions compare the records");
    const bool by_uncertainty = options_.by == lx::SuggestBy::uncertainty;
    const auto records = flags_.load(columns_);
    const auto key = [&](const lx::PairRow& pair, const std::string& where) {
      std::size_t left = records->left_place(pair.left_id, where), right = records->right_place(pair.right_id, where);
      if (records->one_table() && left > right) std::swap(left, right);
      return std::pair(left, right);
    };
    std::set<std::pair<std::size_t, std::size_t>> known;
    for (const auto& path : labelled_) {
      lx::TableOptions table;
      table.records = records;
      for (const auto& row : lx::read_pairs(path, table).rows) known.insert(key(row, path));
    }
    std::vector<lx::ScoredPair> pairs;  // that are not labelled
    std::vector<double> probabilities;  // and theirs, if the file has them
    std::vector<std::uint8_t> matches;
    std::vector<double> scores;  // of all pairs, with the decisions of match
    std::vector<std::int32_t> decisions;
    const bool by_sample = options_.by == lx::SuggestBy::sample;
    const char* const instead = by_sample ? "--by spread or --by random" : "--threshold, or --by spread";
    for (const auto& path : files_)
      program::read_scored_pairs(
          {path}, threshold_, by_uncertainty || by_sample, by_sample, instead, records,
          [&](const lx::PairRow& pair, double score, bool match, std::optional<double> probability) {
            if (by_sample && !probability)
              lx::fail_file(lx::cat(path, ": line ", pair.line),
                            "there is no probability, which --by sample needs; match writes it for two tables, and with --validation; else "
                            "take --by spread or --by random");
            scores.push_back(score);
            decisions.push_back(match ? 1 : 0);
            const auto [left, right] = key(pair, path);
            if (!known.emplace(left, right).second) return;
            pairs.push_back({left, right, score});
            probabilities.push_back(probability.value_or(0));
            matches.push_back(match ? 1 : 0);
          });
    if (pairs.empty()) lx::fail_file(files_[0], "holds no pair that is not labelled");
    // The decisions of a cascade do not follow the scores alone, so no threshold may separate them.
    if (by_uncertainty) {
      const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
      if (*least < 0 || *most > 1)
        lx::fail_usage("--by", "uncertainty needs probabilities, but the scores go from ", *least, " to ", *most,
                       "; take --by spread, or scores of match --validation");
      options_.threshold = threshold_ ? *threshold_ : std::clamp(lx::best_f1_threshold(scores, decisions).threshold, 1e-6, 1 - 1e-6);
    }
    const auto chosen = by_sample ? lx::sample_pairs(probabilities, matches, options_.count, options_.seed) : choose(*records, pairs);
    program::StringWriter text;
    text << "left_id,right_id,score,chosen,weight\n" << std::setprecision(9);
    for (const auto& [i, weight] : chosen) {
      text << lx::csv_field(records->left().records[pairs[i].left].id) << ',' << lx::csv_field(records->right().records[pairs[i].right].id)
           << ',' << pairs[i].score << ',' << lx::name_of(options_.by) << ',';
      if (lx::is_sample(options_.by)) text << weight;
      text << '\n';
    }
    lx::write_file_atomic(out_, text.str());
    std::cerr << out_ << ": " << chosen.size() << " of " << program::counted(scores.size(), "pair", "pairs") << " to label, by "
              << lx::name_of(options_.by);
    if (by_uncertainty) std::cerr << " at threshold " << options_.threshold;
    std::cerr << '\n';
    return 0;
  }

 private:
  /// By the texts of the records or by chance; then each pair stands for equally many.
  std::vector<lx::DrawnPair> choose(const lx::RecordPairs& records, const std::vector<lx::ScoredPair>& pairs) const {
    const auto texts = lx::search_texts(records);
    const lx::TextVectors vectors(texts.first, texts.second, lx::TextFeatures{});
    const auto places = lx::suggest_labels(pairs, vectors, records.one_table() ? 0 : texts.first.size(), options_);
    std::vector<lx::DrawnPair> chosen;
    for (const std::size_t place : places)
      chosen.push_back({place, static_cast<double>(pairs.size()) / static_cast<double>(places.size())});
    return chosen;
  }

  program::RecordFlags flags_;
  std::vector<std::string> files_, columns_, labelled_;
  std::string out_;
  lx::SuggestOptions options_{.by = lx::SuggestBy::sample};
  std::optional<double> threshold_;
};

const program::Registered<Suggest> registered{
    "suggest", program::Group::match, "chooses the pairs that are worth labelling",
    "Reads candidate pairs with scores, as match or candidates write them, and writes those that are worth labelling by hand: with label, "
    "for train_matcher."};

}  // namespace
