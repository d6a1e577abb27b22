// SPDX-License-Identifier: MIT
// Tables of labelled pairs of texts, or of single texts: .tsv (split at tabs, no quoting, because a title may begin with a quote), .csv
// (RFC 4180), .jsonl (one object per line). Rows are read one by one, so the input may be a pipe.
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/data/row_reader.hpp"
#include "lexformer/io/json_value.hpp"

namespace lexformer {

enum class TableHeader { automatic, yes, no };
template <>
inline constexpr Named<TableHeader> names_of<TableHeader>[] = {
    {"auto", TableHeader::automatic}, {"yes", TableHeader::yes}, {"no", TableHeader::no}};

struct PairRow {
  std::string left, right, label;
  std::size_t line = 0, label_column = 0;  // first line of the row, and column of its label, from 1; column 0: no label, or .jsonl
  std::vector<std::string> kept{};         // values of the columns in TableOptions::keep, in that order
  std::string left_id{}, right_id{};       // with TableOptions::records
};

/// The texts that ids stand for, such as the texts of records (tables/record_texts.hpp).
class IdTexts {
 public:
  virtual ~IdTexts() = default;
  /// Replaces the ids in `left` and `right` by their texts; they become left_id and right_id. Errors (file): an id is unknown. `where`
  /// begins the message, `advice` ends it.
  virtual void put_texts(PairRow& row, const std::string& where, const std::string& advice) const = 0;
  /// How the texts are made, in the form in which the file of a model keeps it.
  virtual Json description() const = 0;
};

struct TableOptions {
  /// Left text, right text and, with labels, label; each is a column name or a column number from 1. With texts = 1: text and label.
  /// Empty: the columns `left`, `right`, `label` of .jsonl or of a header that has them, else the first columns. With texts = 1, these
  /// names are `text` (or `sentence`) and `label`.
  std::vector<std::string> columns{};
  /// automatic: there is a header if a column is given by name, or if the first row contains `left` and `right` (texts = 1: `text` or
  /// `sentence`, and `label` if labels are read). A first row that looks like another header is an error, because it could also be data.
  TableHeader header = TableHeader::automatic;
  bool labels = true;  // false: the columns of the texts suffice
  /// Columns whose values are kept unchanged, such as ids; by name or number, as in `columns`. A name implies a header.
  std::vector<std::string> keep{};
  std::string keep_advice{};  // appended to the error if the last of these columns is missing
  std::size_t texts = 2;      // of a row: 2, a pair; 1: PairRow::right stays empty
  /// The rows hold pairs of ids. The usual names of the columns are then also `ltable_id`, `rtable_id` or `left_id`, `right_id`.
  bool ids = false;
  /// The rows hold pairs of ids, which are replaced by these texts.
  std::shared_ptr<const IdTexts> records{};
};

/// Reads pairs, or single texts, one at a time. Every error message contains the file, the line and, if there is one, the column.
class PairReader : private RowReader {
 public:
  /// `where` names the input in messages; the stream must outlive the reader.
  PairReader(std::istream& in, std::string where, TableFormat format, TableOptions options = {});

  /// Reads the next row; returns false at the end of the input. Errors: an invalid row; the input cannot be read.
  bool next(PairRow& row);

  /// The names of the kept columns, valid after the first row: from the header, or as they were given.
  const std::vector<std::string>& kept_names() const { return kept_names_; }

 private:
  /// Sets places_; returns true if the current row is a header.
  bool find_columns();

  /// Whether the current row names columns: distinct words of ASCII letters, digits and '_', each of which contains '_' or is one of the
  /// usual names, e.g. `name_a`, `id`, `sentence1`.
  bool looks_like_header() const;
  std::string& field(std::size_t i) { return fields_[places_[i]]; }

  /// The columns that are read: the texts, and the label.
  std::size_t needed() const { return options_.texts + (options_.labels ? 1 : 0); }
  /// The usual names of texts and label, if `has` tells which names there are.
  std::vector<std::string> usual_names(const std::function<bool(const char*)>& has) const;

  bool next_json(PairRow& row);
  /// The advice if this column to keep is missing.
  std::string keep_advice(const std::string& column) const { return column == options_.keep.back() ? options_.keep_advice : ""; }
  /// Replaces the ids of a row by the texts of their records.
  void put_texts(PairRow& row) const;

  TableOptions options_;
  std::vector<std::size_t> places_;  // of the texts and the label in the fields
  std::vector<std::size_t> kept_places_;
  std::vector<std::string> kept_names_;
  std::size_t width_ = 0;  // columns of the first row
};

/// All rows of a file.
struct PairTable {
  std::string path;
  std::vector<PairRow> rows;
  std::vector<std::string> kept_names{};  // of PairRow::kept
};

/// Reads a file whose extension gives its format, or a pipe (table_format()). Errors: as PairReader; a table without rows.
PairTable read_pairs(const std::string& path, TableOptions options = {});

/// The class of each row: the index of its label in `names`, or the number that is its label
/// where the names are words.
std::vector<std::size_t> class_labels(const PairTable& table, const std::vector<std::string>& names = {"0", "1"});

/// The label of each row as a number that fits a float (regression).
std::vector<double> number_labels(const PairTable& table);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <span>
#include <string_view>

#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/text/nearest_name.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE PairReader::PairReader(std::istream& in, std::string where, TableFormat format, TableOptions options)
    : RowReader(in, std::move(where), format), options_(std::move(options)) {
  if (options_.texts < 1 || options_.texts > 2) fail_usage(where_, "rows have 1 or 2 texts, not ", options_.texts);
  if (options_.records) options_.ids = true;
  if (options_.ids && options_.texts != 2) fail_usage(where_, "pairs of ids are of two texts, not ", options_.texts);
  const std::size_t given = options_.columns.size(), all = options_.texts + 1;
  // Without labels, the label's column may be named, so that the same options work for training and for scoring.
  if (given != 0 && given != all && (given != options_.texts || options_.labels))
    fail_usage(where_, given, given == 1 ? " column is named" : " columns are named", ", expected ", needed(), " (",
               options_.texts == 1 ? "text" : "left, right", options_.labels ? ", label)" : ")");
  kept_names_ = options_.keep;
}

LEXFORMER_INLINE bool PairReader::next(PairRow& row) try {
  if (format_ == TableFormat::jsonl) return next_json(row);
  if (!read_row()) return false;
  if (width_ == 0) {
    width_ = fields_.size();
    if (find_columns() && !read_row()) return false;
  }
  if (fields_.size() != width_) fail_file(here(), "the row has ", columns(fields_.size()), ", expected ", width_, " as in the rows above");
  row.line = line_;
  row.label_column = options_.labels ? places_[options_.texts] + 1 : 0;
  row.left = field(0);
  row.right = options_.texts == 2 ? field(1) : "";
  row.label = options_.labels ? field(options_.texts) : "";
  row.kept.clear();
  for (const std::size_t place : kept_places_) row.kept.push_back(fields_[place]);
  put_texts(row);
  return true;
} catch (const std::ios_base::failure&) {
  fail_file(where_, "cannot be read to its end");
}

LEXFORMER_INLINE std::vector<std::string> PairReader::usual_names(const std::function<bool(const char*)>& has) const {
  if (options_.ids && has("ltable_id") && has("rtable_id")) return {"ltable_id", "rtable_id", "label"};
  if (options_.ids && has("left_id") && has("right_id")) return {"left_id", "right_id", "label"};
  if (options_.texts == 2) return {"left", "right", "label"};
  return {!has("text") && has("sentence") ? "sentence" : "text", "label"};
}

LEXFORMER_INLINE bool PairReader::find_columns() {
  const auto place = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(fields_.begin(), fields_.end(), name) - fields_.begin());
  };
  const auto is_number = [](const std::string& s) { return s.find_first_not_of("0123456789") == s.npos; };
  const auto has_names = [&](const std::vector<std::string>& list) { return !std::all_of(list.begin(), list.end(), is_number); };
  const bool named = has_names(options_.columns) || has_names(options_.keep);
  const auto has = [&](const std::string& name) { return place(name) < width_; };
  const auto usual = usual_names(has);
  const bool has_usual = has(usual[0]) && (needed() == 1 || has(usual[1]));  // all but the label of a pair
  const std::string no_usual = needed() == 1         ? "no column 'text'"
                               : options_.texts == 1 ? "no columns 'text' and 'label'"
                                                     : "no columns 'left' and 'right'";
  bool header = options_.header == TableHeader::yes;
  if (options_.header == TableHeader::automatic) header = named || has_usual;
  if (named && !header) fail_usage(where_, "columns are given by name, but the table has no header");

  std::vector<std::string> columns = options_.columns;
  if (columns.empty() && named && options_.header == TableHeader::automatic && !has_usual)
    fail_usage(where_, "a column to keep is given by its name, but the table has ", no_usual, "; name the columns, too");
  // If the header has no usual names, the first columns are used.
  if (columns.empty() && header && has_usual) columns = usual;
  const auto find = [&](const std::string& given, const std::string& advice = {}) {
    std::size_t at = 0;  // keeps this value, which is refused below, if the number is too large
    if (is_number(given)) {
      std::from_chars(given.data(), given.data() + given.size(), at);
      return at - 1;
    }
    at = place(given);
    if (at == width_)
      fail_file(here(), "there is no column ", in_quotes(given), " among ", in_quotes(join(fields_)), did_you_mean(given, fields_), advice);
    return at;
  };
  for (std::size_t i = 0; i < needed(); ++i) {
    const std::size_t at = columns.empty() ? i : find(columns[i]);
    if (at >= width_)
      fail_file(here(), "the table has ", RowReader::columns(width_), "; column ", at + 1, " (", usual[i], ") is missing",
                other_separator(true));
    places_.push_back(at);
  }
  for (const auto& given : options_.keep) {
    const std::size_t at = find(given, keep_advice(given));
    if (at >= width_) fail_file(here(), "the table has ", RowReader::columns(width_), "; column ", at + 1, " (to keep) is missing");
    kept_places_.push_back(at);
    if (header) kept_names_[kept_places_.size() - 1] = fields_[at];
  }
  if (!header && options_.columns.empty() && options_.header == TableHeader::automatic && looks_like_header())
    fail_file(here(), in_quotes(join(fields_)), " looks like a header, but has ", no_usual, "; ",
              options_.ids ? std::string("call the columns ltable_id, rtable_id and label")
                           : cat("name the columns (--columns ", join(std::span(fields_).first(needed()), ","), ")"),
              ", or say --header yes to take the first ones, --header no if this row is a ", options_.texts == 1 ? "text" : "pair");
  return header;
}

LEXFORMER_INLINE bool PairReader::looks_like_header() const {
  static const std::vector<std::string> usual = {
      "brand",    "category",   "class", "description",  "doc",      "document",   "entity",  "gold",    "id",    "idx",
      "index",    "label",      "left",  "manufacturer", "match",    "name",       "passage", "premise", "price", "query",
      "question", "hypothesis", "right", "score",        "sentence", "similarity", "target",  "text",    "title"};
  for (const auto& word : fields_) {
    const auto end = word.find_last_not_of("0123456789");
    std::string base = word.substr(0, end == word.npos ? 0 : end + 1);
    for (char& c : base)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool plain = base.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == base.npos && !base.empty() && base[0] >= 'a';
    const bool named = base.find('_') != base.npos || std::find(usual.begin(), usual.end(), base) != usual.end();
    if (!plain || !named || std::count(fields_.begin(), fields_.end(), word) != 1) return false;
  }
  return true;
}

LEXFORMER_INLINE bool PairReader::next_json(PairRow& row) {
  if (!read_line(text_)) return false;
  line_ = row.line = last_line_;
  row.label_column = 0;
  const Json object = parse_json(text_, here(), {.depth = 32, .bytes = max_row});
  if (!object.is_object()) fail_file(here(), "expected a JSON object, found ", object.type_name());
  const auto keys = options_.columns.empty() ? usual_names([&](const char* name) { return object.contains(name); }) : options_.columns;
  const auto value = [&](std::size_t i) -> const Json& {
    const std::string& key = keys[i];
    const auto it = object.find(key);
    if (it == object.end()) fail_file(here(), "there is no key ", in_quotes(key));
    if (!it->is_string() && !((i == options_.texts || options_.ids) && it->is_number()))
      fail_file(here(), in_quotes(key), " is ", it->type_name(), ", expected a text");
    return *it;
  };
  const auto text = [&](const Json& of) { return of.is_string() ? of.get<std::string>() : of.dump(); };
  row.left = text(value(0));
  row.right = options_.texts == 2 ? text(value(1)) : "";
  row.label = options_.labels ? text(value(options_.texts)) : "";
  row.kept.clear();
  for (const auto& key : options_.keep) {
    const auto it = object.find(key);
    if (it == object.end()) fail_file(here(), "there is no key ", in_quotes(key), keep_advice(key));
    row.kept.push_back(it->is_null() ? "" : text(*it));
  }
  put_texts(row);
  return true;
}

LEXFORMER_INLINE void PairReader::put_texts(PairRow& row) const {
  if (!options_.records) return;
  const bool first = line_ == 1 && format_ != TableFormat::jsonl;  // it was not taken for a header
  const std::string advice = first ? "; a header has the names ltable_id, rtable_id, label" : "";
  options_.records->put_texts(row, here(), advice);
}

LEXFORMER_INLINE PairTable read_pairs(const std::string& path, TableOptions options) {
  if (is_folder(path)) fail_file(path, "is a folder, expected a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_file(path, "cannot be opened: ", detail::system_message(errno));
  PairTable table{path, {}};
  PairReader reader(in, path, table_format(path, in), std::move(options));
  for (PairRow row; reader.next(row);) table.rows.push_back(row);
  table.kept_names = reader.kept_names();
  if (table.rows.empty()) fail_file(path, "the table has no rows");
  return table;
}

namespace detail {
LEXFORMER_INLINE std::string label_place(const PairTable& table, const PairRow& row) {
  return cat(table.path, ": line ", row.line, row.label_column == 0 ? "" : cat(", column ", row.label_column));
}
}  // namespace detail

LEXFORMER_INLINE std::vector<std::size_t> class_labels(const PairTable& table, const std::vector<std::string>& names) {
  const bool words =
      std::none_of(names.begin(), names.end(), [](const std::string& n) { return !n.empty() && n[0] >= '0' && n[0] <= '9'; });
  std::vector<std::size_t> classes;
  for (const PairRow& row : table.rows) {
    auto it = std::find(names.begin(), names.end(), row.label);
    for (std::size_t c = 0; it == names.end() && words && c < names.size(); ++c)
      if (row.label == std::to_string(c)) it = names.begin() + static_cast<std::ptrdiff_t>(c);
    if (it == names.end())
      fail_file(detail::label_place(table, row), "unknown label ", in_quotes(row.label), "; the labels are ", join(names));
    classes.push_back(static_cast<std::size_t>(it - names.begin()));
  }
  return classes;
}

LEXFORMER_INLINE std::vector<double> number_labels(const PairTable& table) {
  std::vector<double> numbers;
  for (const PairRow& row : table.rows) {
    double x = 0;
    const char* end = row.label.data() + row.label.size();
    if (const auto got = std::from_chars(row.label.data(), end, x);
        got.ec != std::errc() || got.ptr != end || !std::isfinite(static_cast<float>(x)))
      fail_file(detail::label_place(table, row), "the label ", in_quotes(row.label), " is not a number, or too large for a float");
    numbers.push_back(x);
  }
  return numbers;
}

}  // namespace lexformer
#endif
