// SPDX-License-Identifier: MIT
// Writes tables as .csv (RFC 4180).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lexformer/core/error.hpp"

namespace lexformer {

/// A value as a field of a .csv: in quotes if it contains a comma, a quote or a line break, or begins or ends with a space.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos && !text.starts_with(' ') && !text.ends_with(' ')) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

/// A table of texts as .csv.
class Csv {
 public:
  explicit Csv(const std::vector<std::string>& header) : columns_(header.size()) { row(header); }
  void row(const std::vector<std::string>& fields) {
    if (fields.size() != columns_) fail("Csv", fields.size(), " fields in a table of ", columns_, " columns");
    for (std::size_t i = 0; i < fields.size(); ++i) text_ += (i > 0 ? "," : "") + csv_field(fields[i]);
    text_ += '\n';
  }
  const std::string& str() const { return text_; }

 private:
  std::size_t columns_;
  std::string text_;
};

}  // namespace lexformer
