// SPDX-License-Identifier: MIT
// Precision, recall and F1 of the matches that match or assign wrote, on labelled pairs.
#include <iomanip>
#include <lexformer/io/json.hpp>
#include <lexformer/metrics/bootstrap.hpp>
#include <lexformer/metrics/metrics.hpp>
#include <lexformer/tables/labelled_pairs.hpp>
#include <set>

#include "cli/scored_pairs.hpp"

namespace lx = lexformer;

namespace {

/// The decisions on the pairs of one file.
struct Decided {
  std::string path;
  std::vector<std::uint8_t> match, label;
  std::size_t absent = 0;  // labelled matches that no file has, with any score

  lx::BinaryCounts counts() const {
    lx::BinaryCounts c;
    for (std::size_t i = 0; i < match.size(); ++i) c.add(match[i] == 1, label[i] == 1);
    return c;
  }
  /// Intervals of precision, recall and F1 over the pairs.
  std::vector<lx::Interval> intervals(const lx::BootstrapOptions& options) const {
    return lx::bootstrap_intervals(match.size(), options, [&](std::span<const std::size_t> rows) {
      lx::BinaryCounts c;
      for (const std::size_t i : rows) c.add(match[i] == 1, label[i] == 1);
      return std::vector<double>{c.precision(), c.recall(), c.f1()};
    });
  }
};

class EvaluateMatches final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.inputs("matches", files_, "files with the columns left_id, right_id, score and match: .csv, .tsv, .jsonl")
        .positional()
        .required()
        .shown_as("F.csv");
    v.inputs("pairs", pairs_, "files of pairs of ids with the label 1 (match) or 0, each judged on its own").required().shown_as("F.csv");
    program::visit_skip_label(v, skip_labels_);
    v.number("threshold", threshold_, lx::bounds::any, "least score of a match (default: the decision in the column match)");
    v.flag("one_table", one_table_, "both ids come from one table, so their order does not matter");
    v.size("resamples", bootstrap_.resamples, 1, 1000000, "resamples of the bootstrap over the labelled pairs, for the intervals of 95 %");
    v.output("output", output_, "also write the results as JSON").shown_as("F.json");
  }
  int run() override {
    std::set<std::pair<std::string, std::string>> found, matched;
    program::read_scored_pairs(files_, threshold_, true, "--threshold", nullptr, [&](const lx::PairRow& pair, double, bool match) {
      const auto key = lx::pair_key(pair.left, pair.right, one_table_);
      found.insert(key);
      if (match) matched.insert(key);
    });
    std::vector<Decided> all;
    std::size_t width = 5;
    for (const auto& path : pairs_) {
      const auto table = lx::read_pairs(path, {.ids = true, .skip_labels = skip_labels_});
      const auto labels = lx::class_labels(table);
      Decided& decided = all.emplace_back();
      decided.path = path;
      width = std::max(width, path.size());
      lx::GivenLabels given(one_table_);
      for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto& row = table.rows[i];
        const auto key = lx::pair_key(row.left, row.right, one_table_);
        given.add(row.left, row.right, labels[i] == 1 ? "1" : "0", path, row.line);
        decided.match.push_back(matched.contains(key) ? 1 : 0);
        decided.label.push_back(static_cast<std::uint8_t>(labels[i]));
        if (labels[i] == 1 && !found.contains(key)) ++decided.absent;
      }
    }
    program::StringWriter text;
    text << program::counted(matched.size(), "match", "matches") << " of " << program::counted(found.size(), "pair", "pairs") << "\n"
         << std::left << std::setw(static_cast<int>(width) + 2) << "pairs" << std::right << std::setw(8) << "labelled" << std::setw(9)
         << "matches" << std::setw(8) << "absent"
         << "  precision, %          recall, %             F1, %\n"
         << std::fixed << std::setprecision(1);
    lx::Json json = {{"matches", matched.size()}, {"pairs", found.size()}, {"files", lx::Json::array()}};
    for (const Decided& d : all) {
      const auto c = d.counts();
      const auto intervals = d.intervals(bootstrap_);
      const double values[] = {c.precision(), c.recall(), c.f1()};
      lx::Json entry = {{"file", d.path},     {"labelled", d.label.size()}, {"matches", c.true_positive + c.false_negative},
                        {"absent", d.absent}, {"precision", c.precision()}, {"recall", c.recall()},
                        {"f1", c.f1()}};
      text << std::left << std::setw(static_cast<int>(width) + 2) << d.path << std::right << std::setw(8) << d.label.size() << std::setw(9)
           << c.true_positive + c.false_negative << std::setw(8) << d.absent;
      for (std::size_t k = 0; k < 3; ++k) {
        const auto [low, high] = intervals[k];
        text << "  " << std::setw(5) << 100 * values[k] << " [" << std::setw(5) << 100 * low << ", " << std::setw(5) << 100 * high << "]";
        entry["intervals"].push_back({low, high});
      }
      text << '\n';
      json["files"].push_back(entry);
    }
    std::cout << text.str();
    if (!output_.empty()) lx::write_file_atomic(output_, json.dump(2) + "\n");
    return 0;
  }

 private:
  std::vector<std::string> files_, pairs_, skip_labels_;
  std::optional<double> threshold_;
  std::string output_;
  bool one_table_ = false;
  lx::BootstrapOptions bootstrap_;
};

const program::Registered<EvaluateMatches> registered{
    "evaluate_matches", program::Group::match, "precision, recall and F1 of matches on labelled pairs",
    "Precision, recall and F1 of the matches that match or assign wrote, on labelled pairs of ids. A labelled pair that the files do not "
    "have is not a match. The parts of a run in shards are given together."};

}  // namespace
