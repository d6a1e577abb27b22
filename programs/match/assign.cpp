// SPDX-License-Identifier: MIT
// Makes the pairs that match wrote consistent: one partner for each record, or clusters of records.
#include <algorithm>
#include <iomanip>
#include <limits>

#include <lexformer/core/hash.hpp>
#include <lexformer/tables/assignment.hpp>

#include <lexformer/data/row_writer.hpp>

#include "cli/scored_pairs.hpp"
#include "match/cluster_numbers.hpp"

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
    v.output("out", out_, "file to write, .csv").required().shown_as("F.csv").writes({".numbers.json"});
    v.flag("one_to_one", one_to_one_, "write the pairs with the largest sum of scores in which no record occurs twice");
    v.flag("clusters", clusters_, "write the cluster of each record; pairs connect their records").excludes("one_to_one");
    v.number("threshold", threshold_, lx::bounds::any,
             "least score of a pair that counts (default: the decision of match, in the column match)");
    v.size("max_size", max_size_, 0, "with --clusters: most records of a cluster; the weakest pairs are left out. 0 = no limit")
        .needs("clusters");
    v.flag("one_table", one_table_, "with --clusters: left and right ids come from one table (match with one table)").needs("clusters");
    v.input("update", update_,
            "with --clusters: the clusters of an earlier run, whose numbers stay: a cluster keeps the number that most of its records had, "
            "and "
            "new ones continue after the largest")
        .needs("clusters")
        .shown_as("OLD.csv");
    v.output("changes", changes_, "with --update: write the records whose number is another one; .csv").needs("update").shown_as("F.csv");
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
      count = write_clusters(text, pairs, left.names(), right_ids.names());
    }
    lx::write_file_atomic(out_, text.str());
    std::cerr << out_ << ": " << (one_to_one_ ? program::counted(count, "pair", "pairs") : program::counted(count, "cluster", "clusters"))
              << " of " << program::counted(pairs.size(), "matching pair", "matching pairs") << said_ << "\n";
    return 0;
  }

 private:
  /// The clusters of the records of both tables, or of one: then `rights` is empty. Returns their number.
  std::size_t write_clusters(program::StringWriter& text, std::vector<lx::ScoredPair>& pairs, const std::vector<std::string>& lefts,
                             const std::vector<std::string>& rights) {
    std::vector<program::ClusteredRecord> records;
    for (const auto& id : lefts) records.emplace_back(one_table_ ? "" : "left", id);
    for (const auto& id : rights) records.emplace_back("right", id);
    if (!one_table_)
      for (auto& p : pairs) p.right += lefts.size();
    auto cluster = lx::clusters(pairs, records.size(), {.cut = -std::numeric_limits<double>::infinity(), .max_size = max_size_});
    const std::size_t count = cluster.empty() ? 0 : *std::max_element(cluster.begin(), cluster.end()) + 1;
    if (update_.empty()) {
      for (std::size_t& number : cluster) ++number;
    } else {
      program::ClusterNumbers numbers(update_, one_table_);
      cluster = numbers.of(records, cluster);
      said_ = numbers.changes(records, cluster, changes_);
      numbers.save(out_);
    }
    text << (one_table_ ? "id,cluster\n" : "table,id,cluster\n");
    for (std::size_t i = 0; i < records.size(); ++i)
      text << records[i].first << (one_table_ ? "" : ",") << lx::csv_field(records[i].second) << ',' << cluster[i] << '\n';
    return count;
  }

  std::vector<std::string> files_;
  std::string out_, update_, changes_, said_;
  bool one_to_one_ = false, clusters_ = false, one_table_ = false;
  std::optional<double> threshold_;
  std::size_t max_size_ = 0;
};

const program::Registered<Assign> registered{
    "assign", program::Group::match, "gives each record one partner, or forms clusters",
    "Reads pairs with scores, as match writes them, and writes the pairs of an assignment in which each record has at most one partner, or "
    "the clusters of the records. The parts of a run in shards are given together."};

}  // namespace
