// SPDX-License-Identifier: MIT
// The rows of a table, one by one: .tsv is split at tabs, without quoting, because a text may begin with a quote; .csv by RFC 4180; .jsonl
// has one object per line. The input may be a pipe.
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"

namespace lexformer {

enum class TableFormat { tsv, csv, jsonl };
template <>
inline constexpr Named<TableFormat> names_of<TableFormat>[] = {
    {"tsv", TableFormat::tsv}, {"csv", TableFormat::csv}, {"jsonl", TableFormat::jsonl}};

/// What separates the columns of a row. automatic: the tabs of .tsv or the commas of .csv, unless the first row says another. Any other:
/// fields may be quoted, as in .csv. space: any number of spaces or tabs, and no quotes.
enum class Delimiter : char { automatic = 0, comma = ',', semicolon = ';', bar = '|', tab = '\t', space = ' ' };
template <>
inline constexpr Named<Delimiter> names_of<Delimiter>[] = {
    {"auto", Delimiter::automatic}, {"comma", Delimiter::comma}, {"semicolon", Delimiter::semicolon},
    {"bar", Delimiter::bar},        {"tab", Delimiter::tab},     {"space", Delimiter::space}};

/// The format of a file by its extension, in upper or lower case: .tsv and .txt, .csv, .jsonl.
TableFormat table_format(const std::string& path);

/// The same for an open file. For a pipe, as <(command) in a shell, the first byte tells it: { begins .jsonl, anything else .csv.
TableFormat table_format(const std::string& path, std::istream& in);

/// The advice for a table without rows: nothing came from a pipe; empty if it is a file.
std::string empty_pipe(const std::string& path);

/// A text without the spaces around it.
std::string_view without_spaces(std::string_view text);

/// A column as an option names it: in double quotes it may hold commas and equals signs; "" is a quote, as in .csv.
std::string unquoted_name(std::string_view given);

/// Reads lines and splits them into fields. The base of the readers of pairs (data/table.hpp) and of records (tables/records.hpp).
class RowReader {
 protected:
  using Fields = std::vector<std::string>;

  /// `where` names the input in messages; the stream must outlive the reader.
  RowReader(std::istream& in, std::string where, TableFormat format, Delimiter delimiter = Delimiter::automatic);

  static constexpr std::size_t max_row = 16u << 20, max_columns = 10000;  // bytes of a row, columns

  std::string here() const { return cat(where_, ": line ", line_); }

  /// Reads one line without its end (LF, CRLF or CR CR LF); returns false at the end of the input. Checks length, zero bytes and UTF-8.
  bool read_line(std::string& line);

  /// "1 column", "2 columns"
  static std::string columns(std::size_t count) { return cat(count, count == 1 ? " column" : " columns"); }

  /// The advice for a row that has too few columns because another character separates them.
  std::string other_separator() const;

  /// The advice for a row of another number of columns.
  std::string other_width(std::size_t expected) const;

  /// Reads one row into fields_. A first line `sep=;`, which Excel reads and others write for it, is not a row; it tells the separator.
  bool read_row();

  /// The same without blank lines. A line of .jsonl is left in text_.
  bool read_filled();

  /// Whether a first row with these fields has the columns that are read: by their names, which leave no doubt, or by their number.
  enum class Fit { no, by_number, by_names };
  /// Splits the first row anew by another separator, if its fields fit better then. Tabs of a .tsv are split without quotes if that fits.
  /// spaces: also by spaces.
  void find_separator(const std::function<Fit(const Fields& fields, char separator)>& fits, bool spaces = false);

  std::istream* in_;
  std::string where_;
  TableFormat format_;
  char separator_;
  bool quotes_, found_, begun_ = false;   // fields may be quoted; the separator is not the format's; a row was read
  bool offers_delimiter_ = true;          // advice names the setting `delimiter`
  std::string text_;                      // the last line
  Fields fields_;                         // of the last row
  std::size_t line_ = 0, last_line_ = 0;  // the first line of the last row, and the last line that was read

 private:
  void add_field();
  /// If the first row begins with a field in quotes, the character after it is the separator.
  void see_separator();
  /// Splits text_ into fields_. one_line: returns false, instead of reading on or failing, if a quoted field has no end in this line.
  bool split(bool one_line = false);
  bool split_quoted(bool one_line);
  /// The end of a quoted field whose text begins at `at`: the place of the separator, or the end of the line; npos: false of split().
  std::size_t read_quoted(std::size_t at, bool one_line);
  [[noreturn]] void refuse_bytes(const std::string& line, std::size_t invalid, std::size_t zero) const;

  bool beyond_ascii_ = false;  // a line had valid UTF-8 beyond ASCII
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "lexformer/data/lines.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE TableFormat table_format(const std::string& path) {
  const std::string name = lower_case(path);
  if (name.ends_with(".tsv") || name.ends_with(".txt")) return TableFormat::tsv;
  if (name.ends_with(".csv")) return TableFormat::csv;
  if (name.ends_with(".jsonl")) return TableFormat::jsonl;
  fail_usage(path, "the ending says no table format; .tsv, .csv and .jsonl are known");
}

namespace detail {
/// Whether a line has a CR outside of quotes.
LEXFORMER_INLINE bool has_line_end(std::string_view line, bool quotes) {
  bool quoted = false;
  for (const char c : line) {
    quoted = (quotes && c == '"') != quoted;
    if (c == '\r' && !quoted) return true;
  }
  return false;
}

inline bool is_pipe(const std::string& path) {
  std::error_code error;
  return std::filesystem::status(path, error).type() == std::filesystem::file_type::fifo;
}
}  // namespace detail

LEXFORMER_INLINE std::string empty_pipe(const std::string& path) {
  return detail::is_pipe(path) ? "; did the command that writes into this pipe fail?" : "";
}

LEXFORMER_INLINE TableFormat table_format(const std::string& path, std::istream& in) {
  if (!detail::is_pipe(path)) return table_format(path);
  return in.peek() == '{' ? TableFormat::jsonl : TableFormat::csv;
}

LEXFORMER_INLINE std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

LEXFORMER_INLINE std::string unquoted_name(std::string_view given) {
  given = without_spaces(given);
  if (given.size() < 2 || !given.starts_with('"') || !given.ends_with('"')) return std::string(given);
  std::string name;
  for (std::size_t i = 1; i + 1 < given.size(); ++i) {
    name += given[i];
    if (given[i] == '"' && given[i + 1] == '"' && i + 2 < given.size()) ++i;
  }
  return name;
}

LEXFORMER_INLINE RowReader::RowReader(std::istream& in, std::string where, TableFormat format, Delimiter delimiter)
    : in_(&in), where_(std::move(where)), format_(format), found_(delimiter != Delimiter::automatic) {
  if (found_ && format == TableFormat::jsonl) fail_usage("delimiter", where_, " is .jsonl, whose lines have no columns to separate");
  separator_ = found_ ? static_cast<char>(delimiter) : format == TableFormat::tsv ? '\t' : ',';
  quotes_ = found_ ? delimiter != Delimiter::space : format == TableFormat::csv;
}

LEXFORMER_INLINE bool RowReader::read_line(std::string& line) {
  line.clear();
  char block[1u << 12];
  bool any = false, more = true;
  while (more) {
    in_->getline(block, sizeof block);  // a whole block without a line end sets failbit
    if (in_->bad()) fail_file(where_, "cannot be read to its end");
    auto bytes = static_cast<std::size_t>(in_->gcount());
    if (bytes == 0) break;
    any = true;
    more = in_->fail();
    if (more) in_->clear();
    if (!more && !in_->eof()) --bytes;  // the line end
    if (line.size() + bytes > max_row) fail_file(cat(where_, ": line ", last_line_ + 1), "is longer than ", max_row, " bytes");
    line.append(block, bytes);
  }
  if (!any) return false;
  ++last_line_;
  const bool only = last_line_ == 1 && in_->eof();
  while (line.ends_with('\r')) line.pop_back();  // CR CR LF: what has CRLF was written in the text mode of Windows
  if (only && format_ != TableFormat::jsonl && detail::has_line_end(line, quotes_))
    fail_file(where_, "has lines that end with CR alone; convert it: tr '\\r' '\\n'");
  if (last_line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // byte order mark
  unsigned char bits = 0;
  for (const char c : line) bits |= static_cast<unsigned char>(c);
  const std::size_t invalid = bits < 0x80 ? line.npos : find_invalid_utf8(line), zero = line.find('\0');
  if (std::min(invalid, zero) != line.npos) refuse_bytes(line, invalid, zero);
  beyond_ascii_ = beyond_ascii_ || bits >= 0x80;
  return true;
}

LEXFORMER_INLINE void RowReader::refuse_bytes(const std::string& line, std::size_t invalid, std::size_t zero) const {
  const std::string here = cat(where_, ": line ", last_line_);
  if (last_line_ == 1 && line.starts_with("\x1F\x8B")) fail_file(here, "is compressed by gzip; unpack it: gunzip");
  if (last_line_ == 1 && (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")))
    fail_file(here, "is UTF-16, expected UTF-8; convert it: iconv -f utf-16 -t utf-8");
  const std::size_t first = std::min(invalid, zero);
  if (zero < invalid) fail_file(here, "byte ", first + 1, " is zero, as in UTF-16 or binary files; expected text in UTF-8");
  const auto beyond = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if (beyond_ascii_ || std::any_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(first), beyond))
    fail_file(here, "byte ", first + 1,
              " is not UTF-8, but text before it is: the file mixes encodings; convert the lines that are Latin-1: ",
              R"(perl -MEncode -pe '$t = $_; $_ = encode("utf-8", decode("cp1252", $_)) unless eval { decode("utf-8", $t, 1); 1 }')");
  fail_file(here, "byte ", first + 1, " is not UTF-8; convert it, if it is Latin-1 (Excel, Windows): iconv -f cp1252 -t utf-8");
}

LEXFORMER_INLINE std::string RowReader::other_separator() const {
  if (format_ == TableFormat::jsonl) return "";
  for (const auto& [c, name, given] : {std::tuple('\t', "tabs", Delimiter::tab), std::tuple(';', "';'", Delimiter::semicolon),
                                       std::tuple('|', "'|'", Delimiter::bar), std::tuple(',', "commas", Delimiter::comma)}) {
    if (c == separator_ || text_.find(c) == std::string::npos) continue;
    return cat("; this row has ", name, ": if they separate the columns, ",
               offers_delimiter_ ? cat("give `delimiter` ", name_of(given), ", or ") : "",
               "write a first line sep=", c == '\t' ? "TAB" : std::string(1, c));
  }
  return "";
}

LEXFORMER_INLINE std::string RowReader::other_width(std::size_t expected) const {
  if (fields_.size() == 1 && expected > 1) return other_separator();
  const bool opens = std::any_of(fields_.begin(), fields_.end(), [](const std::string& field) { return field.starts_with('"'); });
  if (!quotes_ && separator_ == '\t' && opens)
    return cat("; a field begins with a quote: if quotes surround the texts, as in .csv, ",
               offers_delimiter_ ? "give `delimiter` tab, or " : "", "write a first line sep=TAB (with a tab)");
  if (quotes_ && fields_.size() > expected)
    return cat("; a text with '", separator_ == '\t' ? "\\t" : std::string(1, separator_), "' needs quotes around it");
  return "";
}

LEXFORMER_INLINE void RowReader::add_field() {
  if (fields_.size() == max_columns) fail_file(here(), "has more than ", max_columns, " columns");
  fields_.emplace_back();
}

LEXFORMER_INLINE bool RowReader::read_row() {
  if (!read_line(text_)) return false;
  if (last_line_ == 1 && format_ != TableFormat::jsonl) {
    std::string_view first = text_;
    if (first.starts_with('"') && first.ends_with('"') && first.size() == 7) first = first.substr(1, 5);
    if (first.size() == 5 && first.starts_with("sep=") && std::string_view(",;|\t").find(first[4]) != first.npos) {
      if (!found_) separator_ = first[4];
      quotes_ = found_ = true;
      if (!read_line(text_)) return false;
    }
  }
  line_ = last_line_;
  if (!begun_) see_separator();
  split();
  return true;
}

LEXFORMER_INLINE void RowReader::see_separator() {
  const std::size_t begin = text_.find_first_not_of(' ');
  begun_ = begin != text_.npos;
  if (!begun_ || found_ || !quotes_ || text_[begin] != '"') return;
  std::size_t end = text_.find('"', begin + 1);
  while (end != text_.npos && text_.compare(end, 2, R"("")") == 0) end = text_.find('"', end + 2);
  const std::size_t after = end == text_.npos ? end : text_.find_first_not_of(' ', end + 1);
  if (after == text_.npos || std::string_view(";|\t").find(text_[after]) == std::string_view::npos) return;
  separator_ = text_[after];
  found_ = true;
}

LEXFORMER_INLINE bool RowReader::read_filled() {
  do {
    if (format_ == TableFormat::jsonl ? !read_line(text_) : !read_row()) return false;
  } while (text_.find_first_not_of(' ') == text_.npos);
  if (format_ == TableFormat::jsonl) line_ = last_line_;
  return true;
}

LEXFORMER_INLINE void RowReader::find_separator(const std::function<Fit(const Fields& fields, char separator)>& fits, bool spaces) {
  if (found_ || line_ != last_line_) return;
  std::pair best(separator_, quotes_);
  Fit fit = fits(fields_, separator_);
  const auto own = best;
  const bool quoted_tabs = format_ == TableFormat::csv;
  for (const auto& other : {std::pair('\t', quoted_tabs), std::pair('\t', !quoted_tabs), std::pair(';', true), std::pair('|', true),
                            std::pair(',', true), std::pair(' ', false)}) {
    if (fit == Fit::by_names || other == own || (other.first == ' ' && !spaces)) continue;
    std::tie(separator_, quotes_) = other;
    if (!split(true) || fields_.size() < 2) continue;
    if (const Fit found = fits(fields_, separator_); found > fit) {
      fit = found;
      best = other;
    }
  }
  found_ = best != own;
  std::tie(separator_, quotes_) = best;
  split();
}

LEXFORMER_INLINE bool RowReader::split(bool one_line) {
  if (separator_ == ' ') {
    const auto words = detail::split_fields(text_);
    if (words.size() > max_columns) fail_file(here(), "has more than ", max_columns, " columns");
    fields_.assign(words.begin(), words.end());
    if (words.empty()) fields_.assign(1, "");
    return true;
  }
  fields_.assign(1, "");
  if (quotes_) return split_quoted(one_line);
  for (std::size_t begin = 0;; add_field()) {
    const std::size_t end = std::min(text_.find(separator_, begin), text_.size());
    fields_.back().assign(text_, begin, end - begin);
    if (end == text_.size()) return true;
    begin = end + 1;
  }
}

/// Splits a row by RFC 4180: in a quoted field "" is a quote, and separators and line ends (read as LF) are text. Spaces around a quoted
/// field are left out; quotes in another field are text.
LEXFORMER_INLINE bool RowReader::split_quoted(bool one_line) {
  for (std::size_t begin = 0;; add_field()) {
    const std::size_t first = text_.find_first_not_of(' ', begin);
    std::size_t end = text_.npos;
    if (first != text_.npos && text_[first] == '"') {
      // After spaces, a quote opens a field only if this line has its end.
      end = read_quoted(first + 1, one_line || first > begin);
      if (end == text_.npos && first == begin) return false;
    }
    if (end == text_.npos) {
      end = std::min(text_.find(separator_, begin), text_.size());
      fields_.back().assign(text_, begin, end - begin);
    }
    if (end == text_.size()) return true;
    begin = end + 1;
  }
}

LEXFORMER_INLINE std::size_t RowReader::read_quoted(std::size_t at, bool one_line) {
  std::string& field = fields_.back();
  field.clear();
  bool escaped = false;
  for (std::size_t bytes = 0;;) {
    const std::size_t quote = text_.find('"', at);
    field.append(text_, at, quote - at);
    if (quote == text_.npos) {
      if (one_line) return quote;
      field += '\n';
      if ((bytes += text_.size() + 1) > max_row)
        fail_file(here(), "column ", fields_.size(), ": the quoted field is longer than ", max_row, " bytes");
      if (!read_line(text_)) {
        fail_file(here(), "column ", fields_.size(), ": the quote is never closed",
                  escaped ? R"(; a backslash escapes nothing in a .csv: sed 's/\\"/""/g')" : "");
      }
      at = 0;
      continue;
    }
    escaped = escaped || (quote > 0 && text_[quote - 1] == '\\');
    at = quote + 1;
    if (at < text_.size() && text_[at] == '"') {
      field += '"';
      ++at;
      continue;
    }
    const std::size_t after = std::min(text_.find_first_not_of(' ', at), text_.size());
    if (after == text_.size() || text_[after] == separator_) return after;
    if (one_line) return text_.npos;
    fail_file(here(), "column ", fields_.size(), ": text after the end of a quoted field; ",
              escaped ? R"(a backslash escapes nothing in a .csv, a quote is doubled: sed 's/\\"/""/g')"
                      : "double the quotes within it, or leave out the quotes around it");
  }
}

}  // namespace lexformer
#endif
