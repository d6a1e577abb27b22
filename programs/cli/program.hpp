// SPDX-License-Identifier: MIT
// Shared by the commands: tables, signals.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <csignal>
#include <optional>
#include <sstream>
#include <string>

#include "cli/compute.hpp"

namespace program {

/// A string stream. Throws std::bad_alloc where a plain std::ostringstream would continue with a part missing.
struct StringWriter : std::ostringstream {
  StringWriter() { exceptions(std::ios::badbit); }
};

/// "1 match", "2 matches".
inline std::string counted(std::size_t count, const char* one, const char* many) { return lx::cat(count, " ", count == 1 ? one : many); }

/// A number without a sign, or nothing.
inline std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Progress on standard error. log_seconds: between lines where it is not a terminal.
inline lx::ProgressOptions progress_options(lx::ProgressMode mode, double log_seconds) {
  lx::ProgressOptions options{.mode = mode, .is_terminal = isatty(2) != 0, .log_seconds = log_seconds};
  winsize size{};
  if (options.is_terminal && ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) options.columns = size.ws_col;
  return options;
}

/// The formats that are written: .csv and .jsonl.
inline lx::TableFormat output_format(const std::string& out) {
  const std::string name = lx::lower_case(out);
  if (name.ends_with(".csv")) return lx::TableFormat::csv;
  if (name.ends_with(".jsonl")) return lx::TableFormat::jsonl;
  lx::fail_usage("--out", out, ": the ending says no format that is written; .csv and .jsonl are");
}

/// Set by SIGINT and SIGTERM. A training loop checks it after each step, saves and exits with 130.
inline volatile std::sig_atomic_t interrupted = 0;

inline void catch_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

inline void visit_delimiter(OptionVisitor& v, lx::Delimiter& delimiter) {
  v.choice("delimiter", delimiter,
           "character between the columns of .csv and .tsv; fields may then be quoted as in .csv, also in .tsv; auto: the commas of .csv, "
           "the tabs of .tsv, or what the first row shows")
      .identity(false);
}

inline lx::Option& visit_skip_label(OptionVisitor& v, std::vector<std::string>& labels) {
  return v.list("skip_label", labels, "leave out rows with this label, e.g. SNLI's -; one or more").shown_as("LABEL").identity(false);
}

inline lx::Option& visit_header(OptionVisitor& v, lx::TableHeader& header) {
  return v.choice("header", header, "whether tables have a header row").identity(false);
}

/// The options for tables as other programs write them.
inline void visit_dialect(OptionVisitor& v, lx::TableOptions& table) {
  visit_delimiter(v, table.delimiter);
  visit_skip_label(v, table.skip_labels);
}

/// The options for reading tables: columns and header. texts: of a row; 0: as many as the model reads.
inline void visit_table(OptionVisitor& v, lx::TableOptions& table, std::size_t texts = 0) {
  const std::string columns = texts == 1   ? "columns of text and label"
                              : texts == 2 ? "columns of left text, right text and label"
                                           : "columns of left text, right text and label; of text and label for a model of single texts";
  const std::string records = texts == 1 ? "" : "; with --left, the columns of the records: NAME or LEFT=RIGHT (default: all but the id)";
  v.list("columns", table.columns, columns + ": names, or numbers from 1; a name with a comma in double quotes" + records)
      .split_at(',')
      .identity(false);
  visit_header(v, table.header);
  visit_dialect(v, table);
}

}  // namespace program
