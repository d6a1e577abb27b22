// SPDX-License-Identifier: MIT
// Single texts from a file: a line each, or a column of a table.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/program.hpp"
#include "lexformer/core/hash.hpp"

namespace program {

struct Texts {
  std::string path;
  std::vector<std::string> ids, texts;  // without a column of ids: their numbers, from 1

  /// The place of an id. Errors (file): there is none; `where` begins the message.
  std::size_t place(const std::string& id, const std::string& where) const {
    const auto found = places.find(id);
    if (found == places.end())
      lx::fail_file(where, "the id ", lx::in_quotes(id), " is not in ", path, ", which has ", ids.size(), " ids, as ",
                    lx::in_quotes(ids.front()));
    return found->second;
  }
  std::unordered_map<std::string, std::size_t, lx::SeededHash> places{};
};

/// Reads texts: the lines of a .txt, or `column` (default: the column `text`, else the first) of a .csv, .tsv or .jsonl, with `id` as the
/// column of their ids. table: delimiter, header and columns_setting. Errors (file): there are none; an id is empty or given twice.
inline Texts read_texts(const std::string& path, const std::string& column, const std::string& id, lx::TableOptions table) {
  Texts all{path, {}, {}};
  std::ifstream in(path, std::ios::binary);
  if (!in) lx::fail_file(path, "cannot be opened");
  if (lx::lower_case(path).ends_with(".txt")) {
    if (!column.empty() || !id.empty()) lx::fail_usage(path, "has no columns; each line is a text, and its number the id");
    lx::StreamLines lines(in);
    for (std::string line; lines.next(line);) all.texts.push_back(line);
    if (in.bad()) lx::fail_file(path, "cannot be read");
  } else {
    table.labels = false;
    table.texts = 1;
    if (!column.empty()) table.columns = {column};
    if (!id.empty()) table.keep = {id};
    lx::PairReader reader(in, path, lx::table_format(path, in), table);
    for (lx::PairRow row; reader.next(row);) {
      all.texts.push_back(row.left);
      if (!id.empty()) all.ids.push_back(row.kept.at(0));
      if (!id.empty() && all.ids.back().empty())
        lx::fail_file(lx::cat(path, ": line ", row.line), "the id in column ", lx::in_quotes(id), " is empty");
    }
  }
  if (all.texts.empty()) lx::fail_file(path, "has no texts", lx::empty_pipe(path));
  for (std::size_t i = 0; i < all.texts.size(); ++i) {
    if (id.empty()) all.ids.push_back(std::to_string(i + 1));
    if (!all.places.emplace(all.ids[i], i).second) lx::fail_file(path, "the id ", lx::in_quotes(all.ids[i]), " is given twice");
  }
  return all;
}

}  // namespace program
