// SPDX-License-Identifier: MIT
// The common parts of model cards.
#pragma once

#include <iomanip>
#include <lexformer/io/json.hpp>

#include "cli/program.hpp"

namespace program {

/// A string as a cell of a Markdown table.
inline std::string table_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

/// The main metrics of evaluations as a Markdown table, in percent, without the end of its last line.
inline std::string metric_table(const std::vector<std::pair<std::string, lx::Evaluation>>& rows) {
  StringWriter out;
  const auto columns = lx::main_metrics(rows[0].second);
  out << "|  |";
  for (const auto& key : columns) out << " " << key << " |";
  out << "\n| --- |";
  for (std::size_t i = 0; i < columns.size(); ++i) out << " --- |";
  out << std::fixed << std::setprecision(1);
  for (const auto& [name, e] : rows) {
    out << "\n| " << table_cell(name) << " |";
    for (const auto& key : columns) out << " " << lx::in_percent(key, e.value(key)) << " |";
  }
  return out.str();
}

/// An argument quoted for a shell.
inline std::string shell_word(const std::string& text) {
  if (!text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%") == text.npos)
    return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

/// The settings of a run that differ from the defaults, except those listed elsewhere in the card.
inline std::string changed_settings(const lx::Json& settings, const lx::Json& defaults, const std::vector<std::string>& elsewhere) {
  std::string out = "\n## Settings that differ from the defaults\n\n";
  const lx::Json before = defaults.flatten(), now = settings.flatten();
  for (const auto& [key, value] : now.items()) {
    const std::string first = key.substr(1, key.find('/', 1) - 1);
    if (std::find(elsewhere.begin(), elsewhere.end(), first) != elsewhere.end()) continue;
    if (before.contains(key) && before[key] == value) continue;
    out += lx::cat("- ", key.substr(1), ": ", value.dump());
    if (before.contains(key)) out += lx::cat(" (default ", before[key].dump(), ")");
    out += "\n";
  }
  return out;
}

inline std::string how_it_was_made(const std::string& command) {
  return lx::cat("\n## Command\n\n```sh\n", command, "\n```\n\nBuilt with compiler ", __VERSION__,
                 "; matrix products: ", lx::name_of(lx::instructions()), ".\n");
}

}  // namespace program
