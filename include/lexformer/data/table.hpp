// SPDX-License-Identifier: MIT
// Tables of labelled pairs of texts, or of single texts: .tsv (split at tabs, no quoting, because a title may begin with a quote), .csv
// (RFC 4180), .jsonl (one object per line). Rows are read one by one, so the input may be a pipe. Blank lines are skipped.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/data/known_columns.hpp"
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
  std::vector<std::string> kept{};         // values of the columns in TableOptions::keep, then keep_optional
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
  /// Left text, right text and, with labels, label; each is a column name (unquoted_name()) or a column number from 1. With texts = 1: text
  /// and label. Empty: the columns `left`, `right`, `label` of .jsonl or of a header that has them, or a tool's (known_columns()),
  /// else the first columns. With texts = 1, these names are `text` (or `sentence`) and `label`.
  std::vector<std::string> columns{};
  /// automatic: there is a header if a column is given by name, or if the first row contains `left` and `right`, or the names of a tool
  /// (texts = 1: `text` or `sentence`, and `label` if labels are read). A first row that looks like another header is an error, because it
  /// could also be data.
  TableHeader header = TableHeader::automatic;
  bool labels = true;  // false: the columns of the texts suffice
  /// Columns whose values are kept unchanged, such as ids; by name or number, as in `columns`. A name implies a header.
  std::vector<std::string> keep{};
  /// Columns whose values are kept where the table has them, behind the columns of `keep`; else their values are empty. By name.
  std::vector<std::string> keep_optional{};
  std::string keep_advice{};                // appended to the error if the last of these columns is missing
  std::size_t texts = 2;                    // of a row: 2, a pair; 1: PairRow::right stays empty
  std::string columns_setting = "columns";  // what messages call the setting `columns`
  /// The rows hold pairs of ids. The usual names of the columns are then also `ltable_id`, `rtable_id` or `left_id`, `right_id`, and the
  /// columns may be separated by spaces. Messages name no settings, since these are for tables of texts.
  bool ids = false;
  /// The rows hold pairs of ids, which are replaced by these texts.
  std::shared_ptr<const IdTexts> records{};
  Delimiter delimiter = Delimiter::automatic;
  /// Rows with one of these labels are skipped.
  std::vector<std::string> skip_labels{};
  std::string label_advice{};  // follows the names of the labels in the error about another one
  /// The rows may be judgements of TREC: query 0 document relevance.
  bool judgements = false;
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
  bool next_row(PairRow& row);
  bool next_json(PairRow& row);

  /// Sets the places of the columns; returns true if the current row is a header.
  bool find_columns();
  /// Whether columns are given by name.
  bool named() const;
  /// Whether a first row with these fields has the columns that are read.
  Fit fits(const Fields& fields, char separator) const;
  /// The place of a column that is given by name or number. what: for the message that it is missing.
  std::size_t place(const std::string& given, const std::string& what, const std::string& advice = "") const;

  /// Whether the current row names columns: distinct words of ASCII letters, digits and '_', each of which contains '_' or is one of the
  /// usual names, e.g. `name_a`, `id`, `sentence1`.
  bool looks_like_header() const;
  /// "no columns 'left' and 'right'"
  const char* no_usual() const;

  /// The columns that are read: the texts, and the label.
  std::size_t needed() const { return options_.texts + (options_.labels ? 1 : 0); }
  PairColumns known(const std::vector<std::string>& names) const {
    return known_columns(names, options_.texts, options_.ids, options_.labels);
  }
  /// The advice if this column to keep is missing.
  std::string keep_advice(const std::string& column) const { return column == options_.keep.back() ? options_.keep_advice : ""; }
  /// Replaces the ids of a row by the texts of their records.
  void put_texts(PairRow& row) const;

  TableOptions options_;
  std::vector<std::size_t> left_, right_, kept_places_;  // the columns of each
  std::vector<std::optional<std::size_t>> optional_places_;
  std::size_t label_place_ = 0;
  std::vector<std::string> kept_names_;
  std::size_t width_ = 0;  // columns of the first row
  std::size_t least_ = 0;  // columns that a row must have, if others behind them may be missing or be added
};

/// All rows of a file.
struct PairTable {
  std::string path;
  std::vector<PairRow> rows;
  std::vector<std::string> kept_names{};  // of PairRow::kept
  std::string label_advice{};             // TableOptions::label_advice
};

/// Reads a file whose extension gives its format, or a pipe (table_format()). Errors: as PairReader; a table without rows.
PairTable read_pairs(const std::string& path, TableOptions options = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "lexformer/data/json_row.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/text/nearest_name.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE PairReader::PairReader(std::istream& in, std::string where, TableFormat format, TableOptions options)
    : RowReader(in, std::move(where), format, options.delimiter), options_(std::move(options)) {
  if (options_.texts < 1 || options_.texts > 2) fail_usage(where_, "rows have 1 or 2 texts, not ", options_.texts);
  if (options_.records) options_.ids = true;
  offers_delimiter_ = !options_.ids;
  if (options_.ids && options_.texts != 2) fail_usage(where_, "pairs of ids are of two texts, not ", options_.texts);
  const std::size_t given = options_.columns.size(), all = options_.texts + 1;
  // Without labels, the label's column may be named, so that the same options work for training and for scoring.
  if (given != 0 && given != all && (given != options_.texts || options_.labels))
    fail_usage(where_, given, given == 1 ? " column is named" : " columns are named", ", expected ", needed(), " (",
               options_.texts == 1 ? "text" : "left, right", options_.labels ? ", label)" : ")");
  for (auto* list : {&options_.columns, &options_.keep})
    for (auto& name : *list) name = unquoted_name(name);
  if (format_ == TableFormat::jsonl) detail::check_different(options_.columns, {}, "columns");  // of tables find_columns() does it
  kept_names_ = options_.keep;
  kept_names_.insert(kept_names_.end(), options_.keep_optional.begin(), options_.keep_optional.end());
}

LEXFORMER_INLINE bool PairReader::next(PairRow& row) try {
  do {
    if (!(format_ == TableFormat::jsonl ? next_json(row) : next_row(row))) return false;
  } while (options_.labels &&
           std::find(options_.skip_labels.begin(), options_.skip_labels.end(), without_spaces(row.label)) != options_.skip_labels.end());
  put_texts(row);
  return true;
} catch (const std::ios_base::failure&) {
  fail_file(where_, "cannot be read to its end");
}

namespace detail {
/// Adds the value of another column to a text, after a space if both have characters.
inline void append_value(std::string& text, const std::string& value) {
  if (!text.empty() && !value.empty()) text += ' ';
  text += value;
}
}  // namespace detail

LEXFORMER_INLINE bool PairReader::next_row(PairRow& row) {
  // If a row is a single text, a blank line is an empty text.
  const auto read = [&] { return needed() == 1 && options_.keep.empty() && width_ <= 1 ? read_row() : read_filled(); };
  if (!read()) return false;
  if (width_ == 0 && find_columns() && !read()) return false;
  if (fields_.size() != width_ && (least_ == 0 || fields_.size() < least_))
    fail_file(here(), "the row has ", columns(fields_.size()), ", expected ", width_, " as in the rows above", other_width(width_));
  const auto joined = [&](const std::vector<std::size_t>& places) {
    std::string text;
    for (const std::size_t at : places) detail::append_value(text, fields_[at]);
    return text;
  };
  row.line = line_;
  row.label_column = options_.labels ? label_place_ + 1 : 0;
  row.left = joined(left_);
  row.right = options_.texts == 2 ? joined(right_) : "";
  row.label = options_.labels ? fields_[label_place_] : "";
  row.kept.clear();
  for (const std::size_t place : kept_places_) row.kept.push_back(fields_[place]);
  for (const auto& at : optional_places_) row.kept.push_back(at ? fields_[*at] : std::string());
  return true;
}

namespace detail {
/// Whether a column is given by its number.
inline bool is_column_number(const std::string& given) { return given.find_first_not_of("0123456789") == given.npos; }
}  // namespace detail

LEXFORMER_INLINE bool PairReader::named() const {
  const auto has_names = [](const std::vector<std::string>& list) {
    return !std::all_of(list.begin(), list.end(), detail::is_column_number);
  };
  return has_names(options_.columns) || has_names(options_.keep);
}

LEXFORMER_INLINE const char* PairReader::no_usual() const {
  if (needed() == 1) return "no column 'text'";
  return options_.texts == 1 ? "no columns 'text' and 'label'" : "no columns 'left' and 'right'";
}

LEXFORMER_INLINE RowReader::Fit PairReader::fits(const Fields& fields, char separator) const {
  std::vector<std::string> names;
  for (const auto& field : fields) names.emplace_back(without_spaces(field));
  std::size_t most = options_.columns.empty() ? needed() : 0;  // number of a column
  bool all = true;
  const auto look = [&](const std::string& given) {
    if (detail::is_column_number(given))
      most = std::max<std::size_t>(most, static_cast<std::size_t>(std::atol(given.c_str())));
    else
      all = all && std::find(names.begin(), names.end(), given) != names.end();
  };
  for (std::size_t i = 0; i < std::min(needed(), options_.columns.size()); ++i) look(options_.columns[i]);
  for (const auto& given : options_.keep) look(given);
  if (!all) return Fit::no;
  const bool has_usual = !known(names).left.empty(), header = options_.header != TableHeader::no && (named() || has_usual);
  if (header && (has_usual || !options_.columns.empty())) return most <= fields.size() ? Fit::by_names : Fit::no;
  // Without names, the separator of the format stays where it gives enough columns; only tabs and, between ids, spaces take its place.
  const bool own = separator == (format_ == TableFormat::tsv ? '\t' : ',');
  return (own || separator == '\t' || separator == ' ') && most > 1 && most <= fields.size() ? Fit::by_number : Fit::no;
}

LEXFORMER_INLINE std::size_t PairReader::place(const std::string& given, const std::string& what, const std::string& advice) const {
  std::size_t at = 0;  // keeps this value, which is refused below, if the number is too large
  if (detail::is_column_number(given)) {
    std::from_chars(given.data(), given.data() + given.size(), at);
    if (at - 1 >= width_)
      fail_file(here(), "the table has ", RowReader::columns(width_), "; column ", at, " (", what, ") is missing",
                what == "to keep" ? "" : other_separator());
    return at - 1;
  }
  const auto found = std::find(fields_.begin(), fields_.end(), given);
  if (found == fields_.end())
    fail_file(here(), "there is no column ", in_quotes(given), " among ", in_quotes(join(fields_)), did_you_mean(given, fields_), advice,
              width_ == 1 ? other_separator() : "");
  if (std::find(found + 1, fields_.end(), given) != fields_.end())
    fail_file(here(), "two columns are called ", in_quotes(given), "; rename one of them, or give the columns by their numbers");
  return static_cast<std::size_t>(found - fields_.begin());
}

LEXFORMER_INLINE bool PairReader::find_columns() {
  find_separator([&](const Fields& fields, char separator) { return fits(fields, separator); }, options_.ids);
  width_ = fields_.size();
  const Fields row = fields_;
  for (auto& name : fields_) name = without_spaces(name);
  const PairColumns usual = known(fields_);
  const bool has_usual = !usual.left.empty();
  bool header = options_.header == TableHeader::yes;
  if (options_.header == TableHeader::automatic) header = named() || has_usual;
  if (named() && !header) fail_usage(where_, "columns are given by name, but the table has no header");

  const std::vector<std::string>& columns = options_.columns;
  if (columns.empty() && named() && options_.header == TableHeader::automatic && !has_usual)
    fail_usage(where_, "a column to keep is given by its name, but the table has ", no_usual(),
               options_.ids ? "; call them ltable_id and rtable_id" : "; name the columns, too", width_ == 1 ? other_separator() : "");
  const std::string what[] = {options_.texts == 1 ? "text" : "left", options_.texts == 1 ? "label" : "right", "label"};
  const auto places = [&](std::size_t i, const std::vector<std::string>& names) {
    std::vector<std::size_t> out;
    if (!columns.empty()) return std::vector{place(columns[i], what[i])};
    if (!header || !has_usual) return std::vector{place(cat(i + 1), what[i])};  // the first columns
    for (const auto& name : names) out.push_back(place(name, what[i]));
    return out;
  };
  if (options_.judgements && !header && columns.empty() && width_ == 4 && (separator_ == '\t' || separator_ == ' ') &&
      (fields_[1] == "0" || fields_[1] == "Q0"))
    options_.columns = {"1", "3", "4"};
  left_ = places(0, usual.left);
  if (options_.texts == 2) right_ = places(1, usual.right);
  if (options_.labels) label_place_ = places(options_.texts, {usual.label})[0];
  for (const auto& given : options_.keep) {
    kept_places_.push_back(place(given, "to keep", keep_advice(given)));
    if (header) kept_names_[kept_places_.size() - 1] = fields_[kept_places_.back()];
  }
  for (const auto& name : options_.keep_optional)
    optional_places_.push_back(header && std::find(fields_.begin(), fields_.end(), name) != fields_.end()
                                   ? std::make_optional(place(name, "to keep"))
                                   : std::nullopt);
  std::vector<std::size_t> chosen = left_;
  if (options_.texts == 2) chosen.insert(chosen.end(), right_.begin(), right_.end());
  if (options_.labels) chosen.push_back(label_place_);
  if (!columns.empty()) detail::check_different(columns, chosen, "columns");
  if (!header && columns.empty() && options_.header == TableHeader::automatic && looks_like_header())
    fail_file(
        here(), in_quotes(join(fields_)), " looks like a header, but has ", no_usual(), "; ",
        options_.ids
            ? std::string("call the columns ltable_id, rtable_id and label; if this row is a pair, write a row of these names above it")
            : cat("name the columns of ", options_.texts == 1 ? "text" : "left and right text", options_.labels ? " and label" : "", " (`",
                  options_.columns_setting, "` NAME", needed() > 1 ? ",NAME" : "", needed() > 2 ? ",NAME" : "",
                  "), or say `header` yes to take the first ones, `header` no if this row is a ", options_.texts == 1 ? "text" : "pair"));
  // Without a header, tables of tabs may have more columns in some rows than in others.
  if (!header && !quotes_ && !columns.empty()) {
    least_ = 1 + std::max(left_[0], options_.texts == 2 ? right_[0] : 0);
    if (options_.labels) least_ = std::max(least_, label_place_ + 1);
    for (const std::size_t kept : kept_places_) least_ = std::max(least_, kept + 1);
  }
  if (!header) fields_ = row;
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
  if (!read_filled()) return false;
  row.line = line_;
  row.label_column = 0;
  const JsonRow object = parse_json_row(text_, here(), max_row);
  const auto find = [&](const std::string& key, const std::string& advice = {}) -> const JsonField& {
    const auto it = object.find(key);
    if (it == object.end()) fail_file(here(), "there is no key ", in_quotes(key), advice);
    return it->second;
  };
  const auto text = [&](const std::string& key, bool also_number, bool also_boolean) {
    const JsonField& value = find(key);
    using Kind = JsonField::Kind;
    if (value.kind != Kind::text && value.kind != Kind::null && !(also_number && value.kind == Kind::number) &&
        !(also_boolean && value.kind == Kind::boolean))
      fail_file(here(), in_quotes(key), " is ", value.type, ", expected a text");
    return value.text;
  };
  PairColumns usual;
  if (options_.columns.empty()) usual = known(keys_of(object));
  if (usual.left.empty())
    usual = {{options_.texts == 2                                       ? "left"
              : object.contains("sentence") && !object.contains("text") ? "sentence"
                                                                        : "text"},
             {"right"},
             "label"};
  if (!options_.columns.empty()) usual = {{options_.columns[0]}, {options_.columns[options_.texts - 1]}, options_.columns.back()};
  const auto joined = [&](const std::vector<std::string>& keys) {
    std::string all;
    for (const auto& key : keys) detail::append_value(all, text(key, options_.ids || keys.size() > 1, keys.size() > 1));
    return all;
  };
  row.left = joined(usual.left);
  row.right = options_.texts == 2 ? joined(usual.right) : "";
  row.label = options_.labels ? text(usual.label, true, true) : "";
  row.kept.clear();
  for (const auto& key : options_.keep) row.kept.push_back(find(key, keep_advice(key)).text);
  for (const auto& key : options_.keep_optional) row.kept.push_back(object.contains(key) ? find(key).text : std::string());
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
  PairTable table{path, {}, {}, options.label_advice};
  PairReader reader(in, path, table_format(path, in), std::move(options));
  for (PairRow row; reader.next(row);) table.rows.push_back(row);
  table.kept_names = reader.kept_names();
  if (table.rows.empty()) fail_file(path, "the table has no rows", empty_pipe(path));
  return table;
}

}  // namespace lexformer
#endif
