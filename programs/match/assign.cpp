// SPDX-License-Identifier: MIT
// Makes the pairs that match wrote consistent: one partner for each record, or clusters of records.
#include <iomanip>
#include <limits>

#include <lexformer/core/hash.hpp>
#include <lexformer/tables/assignment.hpp>

#include <lexformer/data/row_writer.hpp>

#include "cli/scored_pairs.hpp"

namespace lx = lexformer;

namespace {

/// The ids of one side, numbered as they come.
class Ids {
 public:
  std::size_t number(const std::string& id) {
    const auto [place, added] = places_.emplace(id, names_.size());
    if (added) names_.push_back(id);
    return place->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::unordered_map<std::string, std::size_t, lx::SeededHash> places_;
  std::vector<std::string> names_;
};

class Assign final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.inputs("pairs", files_, "files with the columns left_id, right_id and score: .csv, .tsv, .jsonl")
        .positional()
        .required()
        .shown_as("F.csv");
    v.output("out", out_, "file to write, .csv").required().shown_as("F.csv");
    v.flag("one_to_one", one_to_one_, "write the pairs with the largest sum of scores in which no record occurs twice");
    v.flag("clusters", clusters_, "write the cluster of each record; pairs connect their records").excludes("one_to_one");
    v.number("threshold", threshold_, lx::bounds::any,
             "least score of a pair that counts (default: the decision of match, in the column match)");
    v.size("max_size", max_size_, 0, "with --clusters: most records of a cluster; the weakest pairs are left out. 0 = no limit")
        .needs("clusters");
    v.flag("one_table", one_table_, "with --clusters: left and right ids come from one table (match with one table)").needs("clusters");
  }
  int run() override {
    if (!one_to_one_ && !clusters_) lx::fail_usage("command line", "nothing to do; give --one-to-one or --clusters");
    if (program::output_format(out_) != lx::TableFormat::csv) lx::fail_usage("--out", out_, " must end in .csv");
    Ids left, right_ids;
    Ids& right = one_table_ ? left : right_ids;
    std::vector<lx::ScoredPair> pairs;
    program::read_scored_pairs(files_, threshold_, true, false, "--threshold", nullptr,
                               [&](const lx::PairRow& pair, double score, bool match, std::optional<double>) {
                                 const std::size_t l = left.number(pair.left), r = right.number(pair.right);
                                 if (match) pairs.push_back({l, r, score});
                               });
    program::StringWriter text;
    text << std::setprecision(9);
    std::size_t count = 0;
    if (one_to_one_) {
      text << "left_id,right_id,score,match\n";
      for (const std::size_t i : lx::one_to_one(pairs)) {
        text << lx::csv_field(left.names()[pairs[i].left]) << ',' << lx::csv_field(right.names()[pairs[i].right]) << ',' << pairs[i].score
             << ",1\n";
        ++count;
      }
    } else {
      const std::size_t lefts = left.names().size(), rows = lefts + right_ids.names().size();
      if (!one_table_)
        for (auto& p : pairs) p.right += lefts;
      const auto cluster = lx::clusters(pairs, rows, {.cut = -std::numeric_limits<double>::infinity(), .max_size = max_size_});
      text << (one_table_ ? "id,cluster\n" : "table,id,cluster\n");
      for (std::size_t i = 0; i < rows; ++i) {
        if (!one_table_) text << (i < lefts ? "left," : "right,");
        text << lx::csv_field(i < lefts ? left.names()[i] : right_ids.names()[i - lefts]) << ',' << cluster[i] + 1 << '\n';
        count = std::max(count, cluster[i] + 1);
      }
    }
    lx::write_file_atomic(out_, text.str());
    std::cerr << out_ << ": " << (one_to_one_ ? program::counted(count, "pair", "pairs") : program::counted(count, "cluster", "clusters"))
              << " of " << program::counted(pairs.size(), "matching pair", "matching pairs") << "\n";
    return 0;
  }

 private:
  std::vector<std::string> files_;
  std::string out_;
  bool one_to_one_ = false, clusters_ = false, one_table_ = false;
  std::optional<double> threshold_;
  std::size_t max_size_ = 0;
};

const program::Registered<Assign> registered{
    "assign", program::Group::match, "gives each record one partner, or forms clusters",
    "Reads pairs with scores, as match writes them, and writes the pairs of an assignment in which each record has at most one partner, or "
    "the clusters of the records. The parts of a run in shards are given together."};

}  // namespace
