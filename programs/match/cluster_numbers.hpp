// SPDX-License-Identifier: MIT
// Numbers of clusters that stay from one run of `assign` to the next (lexformer::lasting_numbers()), and the list of what has changed.
#pragma once

#include <algorithm>
#include <fstream>
#include <lexformer/data/row_writer.hpp>
#include <lexformer/data/table.hpp>
#include <lexformer/io/config.hpp>
#include <lexformer/io/json.hpp>
#include <lexformer/tables/assignment.hpp>
#include <map>
#include <set>

#include "cli/program.hpp"

namespace program {

/// A record in a file of clusters: "left", "right", or "" if there is one table; its id.
using ClusteredRecord = std::pair<std::string, std::string>;

class ClusterNumbers {
 public:
  /// Reads the clusters of an earlier run. Errors (file): a number is not 1 or more; a record is there twice; a file of two tables where
  /// there is one, or the reverse.
  ClusterNumbers(const std::string& path, bool one_table) : path_(path), one_table_(one_table) {
    lx::TableOptions table;
    table.texts = one_table ? 1 : 2;
    table.columns = one_table ? std::vector<std::string>{"id"} : std::vector<std::string>{"table", "id"};
    table.keep = {"cluster"};
    table.labels = false;
    std::ifstream in(path, std::ios::binary);
    if (!in) lx::fail_file(path, "cannot be opened");
    lx::PairReader reader(in, path, lx::table_format(path), table);
    for (lx::PairRow row; reader.next(row);) {
      const auto number = whole_number(row.kept[0]);
      const auto here = [&] { return lx::cat(path, ": line ", row.line); };
      if (number.value_or(0) == 0 || *number > most)
        lx::fail_file(here(), "cluster is ", lx::in_quotes(row.kept[0]), ", expected a whole number from 1");
      ClusteredRecord record{one_table ? "" : row.left, one_table ? row.left : row.right};
      const std::string id = record.second;
      if (!earlier_.emplace(std::move(record), *number).second)
        lx::fail_file(here(), "the record ", lx::in_quotes(id), " is there twice",
                      one_table ? "; are these clusters of two tables, without --one-table?" : "");
      largest_ = std::max(largest_, *number);
    }
    if (const std::string file = numbers_file(path); lx::path_exists(file))
      largest_ = std::max(largest_, lx::get_size(lx::parse_json(lx::read_file(file), file), "largest", 0, most, file));
  }

  /// The lasting numbers of the records' clusters (lx::clusters()).
  std::vector<std::size_t> of(const std::vector<ClusteredRecord>& records, const std::vector<std::size_t>& clusters) {
    std::vector<std::optional<std::size_t>> earlier;
    for (const auto& record : records) {
      const auto found = earlier_.find(record);
      earlier.push_back(found == earlier_.end() ? std::nullopt : std::optional(found->second));
    }
    auto numbers = lx::lasting_numbers(clusters, earlier, largest_ + 1);
    for (const std::size_t number : numbers) largest_ = std::max(largest_, number);
    return numbers;
  }

  /// Keeps the largest number beside the clusters, so that the number of a cluster that is gone is not given again.
  void save(const std::string& out) const { lx::write_file_atomic(numbers_file(out), lx::Json{{"largest", largest_}}.dump(2) + "\n"); }

  /// Writes the records whose number is another one, if there is a file for it. Returns what has changed, as words.
  std::string changes(const std::vector<ClusteredRecord>& records, const std::vector<std::size_t>& numbers, const std::string& file) const {
    StringWriter list;
    list << (one_table_ ? "" : "table,") << "id,old,new\n";
    std::set<std::size_t> before, now(numbers.begin(), numbers.end());
    for (const auto& [record, number] : earlier_) before.insert(number);
    std::size_t changed = 0;
    const auto line = [&](const ClusteredRecord& record, std::optional<std::size_t> old_number, std::optional<std::size_t> new_number) {
      if (old_number == new_number) return;
      ++changed;
      if (!one_table_) list << record.first << ',';
      list << lx::csv_field(record.second) << ',' << (old_number ? lx::cat(*old_number) : "") << ','
           << (new_number ? lx::cat(*new_number) : "") << '\n';
    };
    const std::set<ClusteredRecord> known(records.begin(), records.end());
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto found = earlier_.find(records[i]);
      line(records[i], found == earlier_.end() ? std::nullopt : std::optional(found->second), numbers[i]);
    }
    for (const auto& [record, number] : earlier_)
      if (!known.contains(record)) line(record, number, std::nullopt);
    if (!file.empty()) lx::write_file_atomic(file, list.str());
    const auto without = [](const std::set<std::size_t>& some, const std::set<std::size_t>& others) {
      return std::count_if(some.begin(), some.end(), [&](std::size_t number) { return !others.contains(number); });
    };
    return lx::cat("; since ", path_, ": numbers new ", without(now, before), ", gone ", without(before, now),
                   "; records with another number ", changed);
  }

  static std::string numbers_file(const std::string& path) { return path + ".numbers.json"; }

 private:
  static constexpr std::size_t most = std::size_t{1} << 53;

  std::string path_;
  bool one_table_;
  std::map<ClusteredRecord, std::size_t> earlier_;
  std::size_t largest_ = 0;
};

}  // namespace program
