// SPDX-License-Identifier: MIT
// Tables of records: a row is an id and named columns. tables/record_texts.hpp makes texts of them.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/data/row_reader.hpp"

namespace lexformer {

struct Record {
  std::string id;
  std::vector<std::string> values{};  // in the order of RecordReader::columns()
  std::size_t line = 0;               // first line of the row, from 1
};

/// Reads records one at a time. The first row of a .tsv or .csv names the columns; one without a name is called by its number. The columns
/// of .jsonl are the keys met so far; a value is a text, a number as it was written, true, false or null (empty), or nested.
/// Blank lines are skipped.
class RecordReader : private RowReader {
 public:
  /// `id`: the column of the ids. `where` names the input in messages; the stream must outlive the reader.
  RecordReader(std::istream& in, std::string where, TableFormat format, std::string id = "id", Delimiter delimiter = Delimiter::automatic);

  /// Reads the next record; returns false at the end of the input. Errors: there is no column of ids; a column occurs twice; an id is
  /// empty or was there before; an invalid row; the input cannot be read.
  bool next(Record& record);

  /// All columns but the id, valid after the first record. Later records of .jsonl may add some.
  const std::vector<std::string>& columns() const { return columns_; }

  /// Columns of .jsonl with arrays or objects, which are read as their JSON: the names, each with its first place, as "line 3: 'tags' is
  /// array".
  const std::vector<std::pair<std::string, std::string>>& nested() const { return nested_; }

 private:
  static constexpr std::size_t most_empty = std::size_t{1} << 20;  // values beyond 16 for each byte of .jsonl

  void read_header();
  void read_object(Record& record);

  std::string id_;
  std::vector<std::string> columns_;
  std::unordered_map<std::string, std::size_t, SeededHash> lines_, keys_;  // line of each id; place of each key of .jsonl
  std::vector<std::pair<std::string, std::string>> nested_;
  std::size_t width_ = 0, id_place_ = 0;  // of a row with a header
  std::size_t objects_ = 0, bytes_ = 0;   // read of .jsonl
};

/// All records of a file. Every record has a value for every column.
struct RecordTable {
  std::string path;
  std::vector<std::string> columns;
  std::vector<Record> records;
  std::unordered_map<std::string, std::size_t, SeededHash> places{};  // of each id in `records`
  std::vector<std::pair<std::string, std::string>> nested{};          // RecordReader::nested(): these columns give no texts
  std::string id = "id";                                              // the column of the ids
};

/// Reads a file whose extension gives its format, or a pipe (table_format()). Errors: as RecordReader; a table without records or
/// columns.
RecordTable read_records(const std::string& path, const std::string& id = "id", Delimiter delimiter = Delimiter::automatic);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "lexformer/data/json_row.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/text/nearest_name.hpp"

namespace lexformer {

LEXFORMER_INLINE RecordReader::RecordReader(std::istream& in, std::string where, TableFormat format, std::string id, Delimiter delimiter)
    : RowReader(in, std::move(where), format, delimiter), id_(unquoted_name(id)) {}

LEXFORMER_INLINE bool RecordReader::next(Record& record) try {
  if (!read_filled()) return false;
  if (format_ == TableFormat::jsonl) {
    read_object(record);
  } else {
    if (width_ == 0) {
      read_header();
      if (!read_filled()) return false;
    }
    if (fields_.size() != width_)
      fail_file(here(), "the row has ", RowReader::columns(fields_.size()), ", expected ", width_, " as in the header",
                other_width(width_));
    record.id = std::move(fields_[id_place_]);
    record.values.clear();
    for (std::size_t i = 0; i < width_; ++i)
      if (i != id_place_) record.values.push_back(std::move(fields_[i]));
  }
  record.line = line_;
  if (record.id.empty()) fail_file(here(), "the id (column ", in_quotes(id_), ") is empty");
  if (const auto [first, added] = lines_.emplace(record.id, line_); !added)
    fail_file(here(), "the id ", in_quotes(record.id), " is also in line ", first->second, "; ids must differ");
  return true;
} catch (const std::ios_base::failure&) {
  fail_file(where_, "cannot be read to its end");
}

LEXFORMER_INLINE void RecordReader::read_header() {
  find_separator([&](const Fields& fields, char) {
    const bool found = std::any_of(fields.begin(), fields.end(), [&](const std::string& field) { return without_spaces(field) == id_; });
    return found ? Fit::by_names : Fit::no;
  });
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    fields_[i] = without_spaces(fields_[i]);
    if (fields_[i].empty()) fields_[i] = cat(i + 1);
  }
  width_ = fields_.size();
  for (std::size_t i = 0; i < width_; ++i)
    if (std::find(fields_.begin(), fields_.begin() + static_cast<std::ptrdiff_t>(i), fields_[i]) !=
        fields_.begin() + static_cast<std::ptrdiff_t>(i))
      fail_file(here(), "two columns are called ", in_quotes(fields_[i]));
  id_place_ = static_cast<std::size_t>(std::find(fields_.begin(), fields_.end(), id_) - fields_.begin());
  if (id_place_ == width_) {
    std::string advice = width_ == 1 ? other_separator() : "";
    if (advice.empty()) advice = did_you_mean(id_, fields_) + "; `id` names it";
    fail_file(here(), "there is no column ", in_quotes(id_), " (the ids) among ", in_quotes(join(fields_)), advice);
  }
  for (std::size_t i = 0; i < width_; ++i)
    if (i != id_place_) columns_.push_back(fields_[i]);
}

LEXFORMER_INLINE void RecordReader::read_object(Record& record) {
  JsonRow object = parse_json_row(text_, here(), max_row);
  record.id.clear();
  record.values.assign(columns_.size(), "");
  for (auto& [key, value] : object) {
    if (value.is_structured()) {
      const std::string what = cat("line ", line_, ": ", in_quotes(key), " is ", value.type);
      if (key == id_) fail_file(where_, what, ", expected a text or a number");
      if (std::none_of(nested_.begin(), nested_.end(), [&name = key](const auto& column) { return column.first == name; }))
        nested_.emplace_back(key, what);
    }
    std::string& text = value.text;
    if (key == id_) {
      record.id = std::move(text);
      continue;
    }
    const auto [place, added] = keys_.emplace(key, columns_.size());
    if (added) {
      if (columns_.size() == max_columns) fail_file(here(), "has more than ", max_columns, " columns");
      columns_.push_back(key);
      record.values.emplace_back();
    }
    record.values[place->second] = std::move(text);
  }
  // Every record gets a value for every column: few bytes could ask for gigabytes.
  ++objects_;
  bytes_ += text_.size();
  if (objects_ * columns_.size() > most_empty + 16 * bytes_)
    fail_file(here(), columns_.size(), " columns of ", objects_, " records are nearly all empty; write only the columns that are compared");
  if (!object.contains(id_))
    fail_file(here(), "there is no key ", in_quotes(id_), " (the id)", did_you_mean(id_, keys_of(object)), "; `id` names it");
}

LEXFORMER_INLINE RecordTable read_records(const std::string& path, const std::string& id, Delimiter delimiter) {
  if (is_folder(path)) fail_file(path, "is a folder, expected a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_file(path, "cannot be opened: ", detail::system_message(errno));
  RecordTable table{path, {}, {}};
  RecordReader reader(in, path, table_format(path, in), id, delimiter);
  for (Record record; reader.next(record);) {
    table.places.emplace(record.id, table.records.size());
    table.records.push_back(record);
  }
  table.columns = reader.columns();
  table.nested = reader.nested();
  table.id = unquoted_name(id);
  if (table.records.empty()) fail_file(path, "the table has no records", empty_pipe(path));
  if (table.columns.empty()) fail_file(path, "the records have ids and nothing else");
  for (Record& record : table.records) record.values.resize(table.columns.size());  // columns that came later
  return table;
}

}  // namespace lexformer
#endif
