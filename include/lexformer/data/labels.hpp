// SPDX-License-Identifier: MIT
// The labels of a table as classes or numbers, as programs write them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/known_columns.hpp"
#include "lexformer/data/table.hpp"

namespace lexformer {

/// The place of a label in `names`. Spaces around it do not count; if it is none of the names, 1.0 is 1, and true, True and TRUE are 1,
/// false is 0, as other programs write them. Where the names are words, a number is the place. Nothing: it is none of them.
std::optional<std::size_t> find_label(std::string_view label, const std::vector<std::string>& names);

/// The class of each row: the index of its label in `names`, by find_label().
std::vector<std::size_t> class_labels(const PairTable& table, const std::vector<std::string>& names = {"0", "1"});

/// The label of each row as a number that fits a float (regression).
std::vector<double> number_labels(const PairTable& table);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <charconv>
#include <cmath>

#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {
LEXFORMER_INLINE std::string label_place(const PairTable& table, const PairRow& row) {
  return cat(table.path, ": line ", row.line, row.label_column == 0 ? "" : cat(", column ", row.label_column));
}
}  // namespace detail

LEXFORMER_INLINE std::optional<std::size_t> find_label(std::string_view label, const std::vector<std::string>& names) {
  const auto place = [&](std::string_view text) -> std::optional<std::size_t> {
    const auto it = std::find(names.begin(), names.end(), text);
    return it == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(it - names.begin()));
  };
  if (const auto exact = place(label)) return exact;
  label = without_spaces(label);
  if (const auto exact = place(label)) return exact;
  if (label == "true" || label == "True" || label == "TRUE") return place("1");
  if (label == "false" || label == "False" || label == "FALSE") return place("0");
  const std::size_t point = std::min(label.find('.'), label.size());
  const bool whole = point > 0 && point + 1 < label.size() && label.substr(0, point).find_first_not_of("0123456789") == label.npos &&
                     label.substr(point + 1).find_first_not_of('0') == label.npos;
  if (whole) label = label.substr(0, point);
  if (const auto found = place(label)) return found;
  const bool words =
      std::none_of(names.begin(), names.end(), [](const std::string& n) { return !n.empty() && n[0] >= '0' && n[0] <= '9'; });
  for (std::size_t c = 0; words && c < names.size(); ++c)
    if (label == std::to_string(c)) return c;
  return std::nullopt;
}

namespace detail {
/// The end of the message about a label that is none.
LEXFORMER_INLINE std::string label_advice(const PairRow& row) {
  const std::string label(without_spaces(row.label)), lower = lower_case(label);
  const bool missing = label.empty() || lower == "nan" || lower == "null" || lower == "none" || lower == "na" || lower == "<na>";
  const bool quoted = label.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") != label.npos;
  return cat(missing ? "; the row has no label: " : "; ", "`skip_label` ", label.empty() || quoted ? "'" + label + "'" : label,
             " leaves such rows out");
}
}  // namespace detail

LEXFORMER_INLINE std::vector<std::size_t> class_labels(const PairTable& table, const std::vector<std::string>& names) {
  detail::check_different(names, {}, "labels");
  std::vector<std::size_t> classes;
  for (const PairRow& row : table.rows) {
    const auto found = find_label(row.label, names);
    if (!found)
      fail_file(detail::label_place(table, row), "unknown label ", in_quotes(row.label), "; the labels are ", join(names),
                table.label_advice, detail::label_advice(row));
    classes.push_back(*found);
  }
  return classes;
}

LEXFORMER_INLINE std::vector<double> number_labels(const PairTable& table) {
  std::vector<double> numbers;
  for (const PairRow& row : table.rows) {
    double x = 0;
    const std::string_view label = without_spaces(row.label);
    const char* end = label.data() + label.size();
    const auto got = std::from_chars(label.data(), end, x);
    if (const auto boolean = find_label(label, {"0", "1"}))
      x = static_cast<double>(*boolean);
    else if (got.ec != std::errc() || got.ptr != end || !std::isfinite(static_cast<float>(x)))
      fail_file(detail::label_place(table, row), "the label ", in_quotes(row.label), " is not a number, or too large for a float",
                detail::label_advice(row));
    numbers.push_back(x);
  }
  return numbers;
}

}  // namespace lexformer
#endif
