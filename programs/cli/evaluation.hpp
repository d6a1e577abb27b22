// SPDX-License-Identifier: MIT
// The table of metrics that programs print.
#pragma once

#include <iomanip>

#include "cli/program.hpp"

namespace program {

/// Prints one line for each row and one column for each of the main metrics, in percent.
inline void print_table(std::ostream& out, const std::vector<std::pair<std::string, lx::Evaluation>>& rows) {
  if (rows.empty()) return;
  std::size_t width = 8;
  for (const auto& [name, e] : rows) width = std::max(width, name.size() + 2);
  const auto columns = lx::main_metrics(rows[0].second);
  const auto column_width = [](const std::string& key) { return static_cast<int>(std::max<std::size_t>(9, key.size() + 2)); };
  out << std::left << std::setw(static_cast<int>(width)) << "";
  for (const auto& key : columns) out << std::right << std::setw(column_width(key)) << key;
  out << '\n';
  for (const auto& [name, e] : rows) {
    out << std::left << std::setw(static_cast<int>(width)) << name << std::right << std::fixed << std::setprecision(1);
    for (const auto& key : columns) out << std::setw(column_width(key)) << lx::in_percent(key, e.value(key));
    out << std::defaultfloat << '\n';
  }
}

}  // namespace program
