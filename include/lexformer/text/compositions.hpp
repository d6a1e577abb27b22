// SPDX-License-Identifier: MIT
// Unicode's normalization forms NFD, NFKD, NFC and NFKC, with the characters of Unicode 9.0, as in PyPI tokenizers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/normalized_text.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

enum class UnicodeForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

/// The character that NFC makes of two, 0 if it leaves them.
char32_t compose(char32_t first, char32_t second);

/// Whether StripAccents removes the character: categories Mn, Mc and Me.
bool is_combining_mark(char32_t c);

/// Brings a text into a normalization form. Takes linear time, apart from the sorting of long runs of combining characters.
void normalize_unicode(NormalizedText& text, UnicodeForm form);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/text/normalization_table.hpp"

namespace lexformer {

LEXFORMER_INLINE bool is_combining_mark(char32_t c) {
  return c >= 0x300 && detail::find_range(unicode_table::combining_marks, c) != nullptr;
}

namespace detail {

/// Calls put(part) for each character of the full compatibility decomposition of c.
template <class Put>
void decompose_compatible(char32_t c, Put&& put) {
  if (const auto* entry = find_range(unicode_table::compatible_characters, c)) return put(entry->to + (c - entry->first));
  const auto& texts = unicode_table::compatible_texts;
  const auto it = std::lower_bound(std::begin(texts), std::end(texts), c,
                                   [](const unicode_table::CompatibleText& entry, char32_t x) { return entry.from < x; });
  if (it == std::end(texts) || it->from != c) return decompose(c, put);
  for (const char32_t part : it->to) put(part);
}

struct DecomposedChar {
  char32_t character;
  std::int32_t change;  // 0: the first part of a character, 1: a later one
  std::uint8_t combining_class;
};

/// The full decomposition of text[from ...], in canonical order.
inline std::vector<DecomposedChar> decompose_text(const NormalizedText& text, std::size_t from, bool compatible) {
  std::vector<DecomposedChar> parts;
  parts.reserve(text.size() - from + 16);
  std::size_t marks = 0;  // where the last run of combining characters begins
  const auto sort_marks = [&] {
    if (parts.size() - marks > 1)
      std::stable_sort(parts.begin() + static_cast<std::ptrdiff_t>(marks), parts.end(),
                       [](const DecomposedChar& a, const DecomposedChar& b) { return a.combining_class < b.combining_class; });
  };
  for (std::size_t i = from; i < text.size(); ++i) {
    std::int32_t change = 0;
    const auto put = [&](char32_t part) {
      const std::uint8_t order = combining_class(part);
      if (order == 0) sort_marks();
      parts.push_back({part, std::exchange(change, 1), order});
      if (order == 0) marks = parts.size();
    };
    if (compatible)
      decompose_compatible(text[i].character, put);
    else
      decompose(text[i].character, put);
  }
  sort_marks();
  return parts;
}

/// Composes decomposed characters: a starter takes each later one with which it composes and from which no other of the same or a higher
/// class separates it. A composed character replaces all characters that its parts replaced.
inline std::vector<ChangedChar> compose_parts(const std::vector<DecomposedChar>& parts) {
  std::vector<ChangedChar> out;
  out.reserve(parts.size());
  std::size_t starter = parts.size();  // the place of the last starter in `out`; parts.size(): none yet
  int last_class = -1;                 // the class of the last character after the starter that was not composed; -1: none
  for (const DecomposedChar& part : parts) {
    const bool reachable = starter < parts.size() && (last_class < 0 || last_class < part.combining_class);
    const char32_t both = reachable ? compose(out[starter].character, part.character) : U'\0';
    if (both != 0) {
      out[starter] = {both, out[starter].change + part.change - 1};
      continue;
    }
    if (part.combining_class == 0) starter = out.size();
    last_class = part.combining_class == 0 ? -1 : part.combining_class;
    out.push_back({part.character, part.change});
  }
  return out;
}

}  // namespace detail

LEXFORMER_INLINE char32_t compose(char32_t first, char32_t second) {
  if (second < 0x300) return 0;
  if (first >= 0x1100 && first < 0x1113 && second >= 0x1161 && second < 0x1176)  // Hangul: leading consonant and vowel
    return 0xAC00 + ((first - 0x1100) * 21 + (second - 0x1161)) * 28;
  if (first >= 0xAC00 && first < 0xAC00 + 11172 && (first - 0xAC00) % 28 == 0 && second > 0x11A7 && second < 0x11A7 + 28)
    return first + (second - 0x11A7);
  using Entry = unicode_table::Decomposition;
  static const std::vector<Entry> table = [] {
    std::vector<Entry> entries;
    for (const Entry& entry : unicode_table::decompositions)
      if (entry.second != 0 && detail::find_range(unicode_table::never_composed, entry.from) == nullptr) entries.push_back(entry);
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return std::pair(a.second, a.first) < std::pair(b.second, b.first); });
    return entries;
  }();
  const auto it = std::lower_bound(table.begin(), table.end(), std::pair(second, first),
                                   [](const Entry& entry, const auto& pair) { return std::pair(entry.second, entry.first) < pair; });
  return it != table.end() && it->first == first && it->second == second ? it->from : U'\0';
}

LEXFORMER_INLINE void normalize_unicode(NormalizedText& text, UnicodeForm form) {
  const bool compatible = form == UnicodeForm::nfkc || form == UnicodeForm::nfkd;
  const bool composed = form == UnicodeForm::nfc || form == UnicodeForm::nfkc;
  const auto may_change = [&](const NormalizedChar& c) {
    if (form == UnicodeForm::nfc) return c.character >= 0x300 && detail::find_range(unicode_table::nfc_unstable, c.character) != nullptr;
    return c.character >= (compatible ? 0xA0 : 0xC0);
  };
  const auto changed = std::find_if(text.begin(), text.end(), may_change);
  if (changed == text.end()) return;
  // The character before may compose with the first that can change.
  const auto from = static_cast<std::size_t>(changed - text.begin()) - (changed == text.begin() ? 0 : 1);
  const auto parts = detail::decompose_text(text, from, compatible);
  if (composed) return apply_changes(text, from, detail::compose_parts(parts));
  std::vector<ChangedChar> changes;
  changes.reserve(parts.size());
  for (const auto& part : parts) changes.push_back({part.character, part.change});
  apply_changes(text, from, changes);
}

}  // namespace lexformer
#endif
