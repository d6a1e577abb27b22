// SPDX-License-Identifier: MIT
// Precision, recall and F1 of the matches that match or assign wrote, on labelled pairs.
#include <algorithm>
#include <array>
#include <iomanip>
#include <lexformer/io/json.hpp>
#include <lexformer/metrics/bootstrap.hpp>
#include <lexformer/metrics/metrics.hpp>
#include <lexformer/tables/labelled_pairs.hpp>
#include <lexformer/tables/match_quality.hpp>
#include <map>
#include <utility>

#include "cli/scored_pairs.hpp"

namespace lx = lexformer;

namespace {

/// The decision on a pair, and its probability, if the file has it.
struct Found {
  bool match = false;
  std::optional<double> probability{};
};
using FoundPairs = std::map<std::pair<std::string, std::string>, Found>;

/// The decisions on the pairs of one file.
struct Decided {
  std::string path;
  std::vector<std::uint8_t> match, label;
  std::size_t absent = 0;                        // labelled matches that no file has, with any score
  std::size_t selected = 0;                      // pairs that are known to be no sample
  bool fits = true;                              // the labels of the sample agree with the probabilities
  std::size_t missing = 0;                       // pairs of a sample that the files do not have, or have without a probability
  std::vector<std::pair<Found, bool>> sample{};  // pairs of a sample that the files have, and their labels

  /// Whether the labels tell something of all pairs.
  bool estimates() const { return !sample.empty() && missing == 0 && fits; }
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
    FoundPairs found;
    program::read_scored_pairs(files_, threshold_, true, true, "--threshold", nullptr,
                               [&](const lx::PairRow& pair, double, bool match, std::optional<double> probability) {
                                 Found& one = found[lx::pair_key(pair.left, pair.right, one_table_)];
                                 one = {one.match || match, probability};
                               });
    const auto matches =
        static_cast<std::size_t>(std::count_if(found.begin(), found.end(), [](const auto& pair) { return pair.second.match; }));
    std::vector<Decided> all;
    std::size_t width = 5;
    for (const auto& path : pairs_) {
      all.push_back(read(path, found));
      width = std::max(width, path.size());
    }
    program::StringWriter text;
    text << program::counted(matches, "match", "matches") << " of " << program::counted(found.size(), "pair", "pairs") << "\n"
         << std::left << std::setw(static_cast<int>(width) + 2) << "pairs" << std::right << std::setw(8) << "labelled" << std::setw(9)
         << "matches" << std::setw(8) << "absent"
         << "  precision, %          recall, %             F1, %\n"
         << std::fixed << std::setprecision(1);
    lx::Json json = {{"matches", matches}, {"pairs", found.size()}, {"files", lx::Json::array()}};
    for (const Decided& d : all) {
      const auto c = d.counts();
      const auto figures = this->figures(d, found);
      lx::Json entry = {{"file", d.path},        {"labelled", d.label.size()},    {"matches", c.true_positive + c.false_negative},
                        {"absent", d.absent},    {"precision", figures[0].value}, {"recall", figures[1].value},
                        {"f1", figures[2].value}};
      if (d.estimates()) entry["estimated"] = true;
      text << std::left << std::setw(static_cast<int>(width) + 2) << d.path << std::right << std::setw(8) << d.label.size() << std::setw(9)
           << c.true_positive + c.false_negative << std::setw(8) << d.absent;
      for (const auto& [value, low, high] : figures) {
        text << "  " << std::setw(5) << 100 * value << " [" << std::setw(5) << 100 * low << ", " << std::setw(5) << 100 * high << "]";
        entry["intervals"].push_back({low, high});
      }
      text << '\n';
      json["files"].push_back(entry);
    }
    for (const Decided& d : all) explain(d, found.size());
    std::cout << text.str();
    if (!output_.empty()) lx::write_file_atomic(output_, json.dump(2) + "\n");
    return 0;
  }

 private:
  Decided read(const std::string& path, const FoundPairs& found) const {
    const auto table = lx::read_pairs(path, {.keep_optional = {lx::choice_columns[0]}, .ids = true, .skip_labels = skip_labels_});
    const auto labels = lx::class_labels(table);
    Decided decided;
    decided.path = path;
    lx::GivenLabels given(one_table_);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto& row = table.rows[i];
      const auto pair = found.find(lx::pair_key(row.left, row.right, one_table_));
      const bool is_new = given.add(row.left, row.right, labels[i] == 1 ? "1" : "0", path, row.line);
      decided.match.push_back(pair != found.end() && pair->second.match ? 1 : 0);
      decided.label.push_back(static_cast<std::uint8_t>(labels[i]));
      if (labels[i] == 1 && pair == found.end()) ++decided.absent;
      const auto chosen = lx::parse_choice(row.kept[0], lx::cat(path, ": line ", row.line));
      if (chosen && !lx::is_sample(*chosen)) ++decided.selected;
      if (!is_new || !chosen || !lx::is_sample(*chosen)) continue;
      if (pair != found.end() && pair->second.probability)
        decided.sample.emplace_back(pair->second, labels[i] == 1);
      else
        ++decided.missing;
    }
    lx::MatchQuality quality;
    for (const auto& [pair, label] : decided.sample) quality.add_label(*pair.probability, pair.match, label);
    decided.fits = quality.fits();
    return decided;
  }
  /// Precision, recall and F1: of all pairs of the files, if some of the labels are a sample of them; else on the labelled pairs.
  std::array<lx::Estimate, 3> figures(const Decided& d, const FoundPairs& found) const {
    if (d.estimates()) {
      lx::MatchQuality quality;
      for (const auto& [key, pair] : found)
        if (pair.probability) quality.add(*pair.probability, pair.match);
      for (const auto& [pair, label] : d.sample) quality.add_label(*pair.probability, pair.match, label);
      const auto estimate = quality.estimate();
      return {estimate.precision, estimate.recall, estimate.f1};
    }
    const auto c = d.counts();
    const auto intervals = d.intervals(bootstrap_);
    const double values[] = {c.precision(), c.recall(), c.f1()};
    std::array<lx::Estimate, 3> out;
    for (std::size_t k = 0; k < 3; ++k) out[k] = {values[k], intervals[k].low, intervals[k].high};
    return out;
  }
  static void explain(const Decided& d, std::size_t pairs) {
    if (d.estimates())
      std::cerr << d.path << ": estimated for all " << pairs << " pairs, by " << program::counted(d.sample.size(), "label", "labels")
                << " of a sample\n";
    else if (d.missing > 0)
      std::cerr
          << d.path << ": the files do not have " << program::counted(d.missing, "pair", "pairs")
          << " of the sample with a probability (as after --top, --matches-only or assign), so these figures are of the labelled pairs "
             "alone, among which hard pairs are more frequent\n";
    else if (!d.fits)
      std::cerr << d.path
                << ": the probabilities do not fit the labels of the sample, so these figures are of the labelled pairs alone, among which "
                   "hard pairs are more frequent\n";
    else if (d.selected > 0)
      std::cerr << d.path << ": " << program::counted(d.selected, "pair was", "pairs were")
                << " chosen by the score, not by chance, so these figures say nothing of other pairs\n";
  }

  std::vector<std::string> files_, pairs_, skip_labels_;
  std::optional<double> threshold_;
  std::string output_;
  bool one_table_ = false;
  lx::BootstrapOptions bootstrap_;
};

const program::Registered<EvaluateMatches> registered{
    "evaluate_matches", program::Group::match, "precision, recall and F1 of matches on labelled pairs",
    "Precision, recall and F1 of the matches that match or assign wrote, on labelled pairs of ids. A labelled pair that the files do not "
    "have is not a match; the column absent counts the matches among them. The parts of a run in shards are given together."};

}  // namespace
