// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "lexformer/text/normalized_text.hpp"

namespace normalized {

/// A normalized text and its offsets: "fi [0 1, 0 1]".
inline std::string spell(const lexformer::NormalizedText& text) {
  std::string characters, offsets;
  for (const lexformer::NormalizedChar& c : text) {
    lexformer::append_utf8(characters, c.character);
    offsets += (offsets.empty() ? "" : ", ") + std::to_string(c.begin) + ' ' + std::to_string(c.end);
  }
  return characters + " [" + offsets + ']';
}

}  // namespace normalized
