// SPDX-License-Identifier: MIT
// The rows of a table, one by one: .tsv is split at tabs, without quoting, because a text may begin with a quote; .csv by RFC 4180; .jsonl
// has one object per line. The input may be a pipe.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"

namespace lexformer {

enum class TableFormat { tsv, csv, jsonl };
template <>
inline constexpr Named<TableFormat> names_of<TableFormat>[] = {
    {"tsv", TableFormat::tsv}, {"csv", TableFormat::csv}, {"jsonl", TableFormat::jsonl}};

/// The format of a file by its extension, in upper or lower case: .tsv and .txt, .csv, .jsonl.
TableFormat table_format(const std::string& path);

/// The same for an open file. For a pipe, as <(command) in a shell, the first byte tells it: { begins .jsonl, anything else .csv.
TableFormat table_format(const std::string& path, std::istream& in);

/// Reads lines and splits them into fields. The base of the readers of pairs (data/table.hpp) and of records (tables/records.hpp).
class RowReader {
 protected:
  /// `where` names the input in messages; the stream must outlive the reader.
  RowReader(std::istream& in, std::string where, TableFormat format) : in_(&in), where_(std::move(where)), format_(format) {}

  static constexpr std::size_t max_row = 16u << 20, max_columns = 10000;  // bytes of a row, columns

  std::string here() const { return cat(where_, ": line ", line_); }

  /// Reads one line without its end (LF or CRLF); returns false at the end of the input. Checks length, zero bytes and UTF-8.
  bool read_line(std::string& line);

  /// "1 column", "2 columns"
  static std::string columns(std::size_t count) { return cat(count, count == 1 ? " column" : " columns"); }

  /// The advice for a row that has too few columns because another character separates them. option: there is the option --format.
  std::string other_separator(bool option) const;

  void add_field();

  /// Reads one row into fields_. A first line `sep=,` of a .csv, which Excel reads and others write for it, is not a row.
  bool read_row();

  /// Splits a row by RFC 4180: commas separate fields; in a quoted field "" is a quote, and commas and line ends (read as LF) are text.
  void read_csv_fields();

  std::istream* in_;
  std::string where_;
  TableFormat format_;
  std::string text_;                      // the last line
  std::vector<std::string> fields_;       // of the last row
  std::size_t line_ = 0, last_line_ = 0;  // the first line of the last row, and the last line that was read
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE TableFormat table_format(const std::string& path) {
  const std::string name = lower_case(path);
  if (name.ends_with(".tsv") || name.ends_with(".txt")) return TableFormat::tsv;
  if (name.ends_with(".csv")) return TableFormat::csv;
  if (name.ends_with(".jsonl")) return TableFormat::jsonl;
  fail_usage(path, "the ending says no table format; .tsv, .csv and .jsonl are known");
}

LEXFORMER_INLINE TableFormat table_format(const std::string& path, std::istream& in) {
  std::error_code error;
  if (std::filesystem::status(path, error).type() != std::filesystem::file_type::fifo) return table_format(path);
  return in.peek() == '{' ? TableFormat::jsonl : TableFormat::csv;
}

LEXFORMER_INLINE bool RowReader::read_line(std::string& line) {
  line.clear();
  std::streambuf* buffer = in_->rdbuf();
  int c = buffer->sbumpc();
  if (c == std::char_traits<char>::eof()) return false;
  ++last_line_;
  for (; c != '\n' && c != std::char_traits<char>::eof(); c = buffer->sbumpc()) {
    if (line.size() == max_row) fail_file(cat(where_, ": line ", last_line_), "is longer than ", max_row, " bytes");
    line += static_cast<char>(c);
  }
  if (line.ends_with('\r')) line.pop_back();
  if (last_line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // byte order mark
  const std::size_t invalid = find_invalid_utf8(line), zero = line.find('\0');
  if (const std::size_t first = std::min(invalid, zero); first != line.npos) {
    const std::string here = cat(where_, ": line ", last_line_);
    if (last_line_ == 1 && line.starts_with("\x1F\x8B")) fail_file(here, "is compressed by gzip; unpack it: gunzip");
    if (last_line_ == 1 && (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")))
      fail_file(here, "is UTF-16, expected UTF-8; convert it: iconv -f utf-16 -t utf-8");
    if (zero < invalid) fail_file(here, "byte ", first + 1, " is zero, as in UTF-16 or binary files; expected text in UTF-8");
    fail_file(here, "byte ", first + 1, " is not UTF-8; convert it, if it is Latin-1 (Excel, Windows): iconv -f cp1252 -t utf-8");
  }
  return true;
}

LEXFORMER_INLINE std::string RowReader::other_separator(bool option) const {
  const auto has = [&](char c) { return text_.find(c) != std::string::npos; };
  const auto ask = [&](const std::string& other) {
    return cat(": is it a .", other, option ? cat(" (--format ", other, ")?") : cat("? then its name ends in .", other));
  };
  if (format_ == TableFormat::csv && has('\t')) return "; this row has tabs" + ask("tsv");
  if (format_ == TableFormat::tsv && has(',')) return "; this row has commas" + ask("csv");
  if (format_ != TableFormat::jsonl && has(';'))
    return cat("; this row has ';', but the columns of a .", name_of(format_), " are separated by ",
               format_ == TableFormat::csv ? "commas" : "tabs");
  return "";
}

LEXFORMER_INLINE void RowReader::add_field() {
  if (fields_.size() == max_columns) fail_file(here(), "has more than ", max_columns, " columns");
  fields_.emplace_back();
}

LEXFORMER_INLINE bool RowReader::read_row() {
  if (!read_line(text_)) return false;
  if (format_ == TableFormat::csv && last_line_ == 1 && text_ == "sep=," && !read_line(text_)) return false;
  line_ = last_line_;
  fields_.assign(1, "");
  if (format_ == TableFormat::csv) {
    read_csv_fields();
    return true;
  }
  for (const char c : text_)
    if (c == '\t') {
      add_field();
    } else {
      fields_.back() += c;
    }
  return true;
}

LEXFORMER_INLINE void RowReader::read_csv_fields() {
  enum { start, plain, quoted, closed } state = start;
  std::size_t bytes = 0;
  for (;;) {
    for (const char c : text_) {
      std::string& field = fields_.back();
      if (state == quoted) {
        if (c == '"') {
          state = closed;
        } else {
          field += c;
        }
      } else if (c == ',') {
        add_field();
        state = start;
      } else if (c == '"' && state == start) {
        state = quoted;
      } else if (c == '"' && state == closed) {
        field += c;
        state = quoted;
      } else if (c == '"' || state == closed) {
        fail_file(here(), "column ", fields_.size(),
                  ": a quote in the middle of a field; quote the whole field and double the quotes in it");
      } else {
        field += c;
        state = plain;
      }
    }
    if (state != quoted) return;
    fields_.back() += '\n';
    if ((bytes += text_.size() + 1) > max_row)
      fail_file(here(), "column ", fields_.size(), ": the quoted field is longer than ", max_row, " bytes");
    if (!read_line(text_)) fail_file(here(), "column ", fields_.size(), ": the quote is never closed");
  }
}

}  // namespace lexformer
#endif
