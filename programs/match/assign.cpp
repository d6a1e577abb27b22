// SPDX-License-Identifier: MIT
// Makes the pairs that match wrote consistent: one partner for each record, or clusters of records.
#include <iomanip>
#include <limits>

#include <lexformer/data/assignment.hpp>

#include "cli/scored_pairs.hpp"
#include "match/candidates.hpp"

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
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> names_;
};

int run_assign(int argc, char** argv) {
  CLI::App app(
      "Reads pairs with scores, as match writes them, and writes the pairs of an assignment in which each record has at most one partner, "
      "or the clusters of the records. The parts of a run in shards are given together.",
      "assign");
  std::vector<std::string> files;
  std::string out;
  bool one_to_one = false, find_clusters = false, one_table = false;
  std::optional<double> threshold;
  std::size_t max_size = 0;
  app.add_option("pairs", files, "files with the columns left_id, right_id and score: .csv, .tsv, .jsonl")->required()->type_name("F.csv");
  app.add_option("--out", out, "file to write, .csv")->required()->type_name("F.csv");
  auto* one = app.add_flag("--one-to-one", one_to_one, "write the pairs with the largest sum of scores in which no record occurs twice");
  auto* clusters =
      app.add_flag("--clusters", find_clusters, "write the cluster of each record; pairs connect their records")->excludes(one);
  app.add_option("--threshold", threshold, "least score of a pair that counts (default: the decision of match, in the column match)")
      ->check(program::finite());
  app.add_option("--max-size", max_size, "with --clusters: most records of a cluster; the weakest pairs are left out. 0 = no limit")
      ->capture_default_str()
      ->needs(clusters);
  app.add_flag("--one-table", one_table, "with --clusters: left and right ids are those of one table (match with one table)")
      ->needs(clusters);
  return program::run(app, argc, argv, [&] {
    if (!one_to_one && !find_clusters) lx::fail_usage("command line", "nothing to do; give --one-to-one or --clusters");
    program::keep_inputs("--out", out, files);
    if (program::output_format(out) != lx::TableFormat::csv) lx::fail_usage("--out", out, " must end in .csv");
    program::check_folder(out);
    Ids left, right_ids;
    Ids& right = one_table ? left : right_ids;
    std::vector<lx::ScoredPair> pairs;
    program::read_scored_pairs(files, threshold, true, "--threshold", nullptr, [&](const lx::PairRow& pair, double score, bool match) {
      const std::size_t l = left.number(pair.left), r = right.number(pair.right);
      if (match) pairs.push_back({l, r, score});
    });
    program::StringWriter text;
    text << std::setprecision(9);
    std::size_t count = 0;
    if (one_to_one) {
      text << "left_id,right_id,score,match\n";
      for (const std::size_t i : lx::one_to_one(pairs)) {
        text << program::csv_field(left.names()[pairs[i].left]) << ',' << program::csv_field(right.names()[pairs[i].right]) << ','
             << pairs[i].score << ",1\n";
        ++count;
      }
    } else {
      const std::size_t lefts = left.names().size(), rows = lefts + right_ids.names().size();
      if (!one_table)
        for (auto& p : pairs) p.right += lefts;
      const auto cluster = lx::clusters(pairs, rows, {.cut = -std::numeric_limits<double>::infinity(), .max_size = max_size});
      text << (one_table ? "id,cluster\n" : "table,id,cluster\n");
      for (std::size_t i = 0; i < rows; ++i) {
        if (!one_table) text << (i < lefts ? "left," : "right,");
        text << program::csv_field(i < lefts ? left.names()[i] : right_ids.names()[i - lefts]) << ',' << cluster[i] + 1 << '\n';
        count = std::max(count, cluster[i] + 1);
      }
    }
    lx::write_file_atomic(out, text.str());
    std::cerr << out << ": " << (one_to_one ? program::counted(count, "pair", "pairs") : program::counted(count, "cluster", "clusters"))
              << " of " << program::counted(pairs.size(), "matching pair", "matching pairs") << "\n";
    return 0;
  });
}

const program::Command command{"assign", program::Group::match, "gives each record one partner, or forms clusters", run_assign};

}  // namespace
