// SPDX-License-Identifier: MIT
// A text on its way to tokens: its characters, each with the characters of the original text that it stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// A character of a normalized text and the characters of the original text that it stands for (code points, end excluded).
struct NormalizedChar {
  char32_t character;
  std::uint32_t begin, end;
  bool operator==(const NormalizedChar&) const = default;
};
/// A text, or a part of one, on its way to tokens.
using NormalizedText = std::vector<NormalizedChar>;

/// Decodes UTF-8; the first character has the place `first`. Errors: places exceed 32 bits.
NormalizedText to_characters(std::string_view text, std::uint32_t first = 0);

/// A character of a changed text. `change` says what it replaces: 0: the next character of the old text; -n: the next one and n more that
/// are removed; 1: none, it is inserted.
struct ChangedChar {
  char32_t character;
  std::int32_t change;
};

/// Replaces the characters of `text` from the place `from` on. A character that replaces others stands for what the first of them stood
/// for, an inserted one for what the old character before it stood for. This is the arithmetic of PyPI tokenizers (transform), which
/// counts characters and does not ask which came from which.
void apply_changes(NormalizedText& text, std::size_t from, const std::vector<ChangedChar>& changes);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE NormalizedText to_characters(std::string_view text, std::uint32_t first) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max() - first)
    fail("to_characters", "a text of ", text.size(), " bytes is too long; split it");
  NormalizedText out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++first) {
    const Decoded next = decode_utf8(text, i);
    i += next.bytes;
    out.push_back({next.character, first, first + 1});
  }
  return out;
}

LEXFORMER_INLINE void apply_changes(NormalizedText& text, std::size_t from, const std::vector<ChangedChar>& changes) {
  const NormalizedText old(text.begin() + static_cast<std::ptrdiff_t>(from), text.end());
  text.resize(from);
  text.reserve(from + changes.size());
  std::size_t next = 0;
  for (const ChangedChar& c : changes) {
    const std::size_t source = c.change > 0 && next > 0 ? next - 1 : next;
    if (source >= old.size()) fail("apply_changes", "the changes replace more characters than the ", old.size(), " of the text");
    text.push_back({c.character, old[source].begin, old[source].end});
    if (c.change <= 0) next += 1 + static_cast<std::size_t>(-c.change);
  }
}

}  // namespace lexformer
#endif
