// SPDX-License-Identifier: MIT
// Extended grapheme clusters (UAX #29, with the conjuncts of Indic scripts): what a reader takes for one character.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

enum class GraphemeClass : std::uint8_t;  // text/grapheme_table.hpp
GraphemeClass grapheme_class(char32_t c);

/// Finds where grapheme clusters begin. Takes a text character by character.
class GraphemeBreaks {
 public:
  /// Whether a cluster begins with the next character, c. The first character of a text begins one.
  bool begins(char32_t c);

 private:
  GraphemeClass before_{1};  // control
  char32_t last_ = 0;
  bool odd_regional_ = false;  // an odd number of regional indicators comes before
  int pictograph_ = 0;         // 1: a pictograph and extending characters come before; 2: and a joiner
  int conjunct_ = 0;           // 1: a consonant and extending characters come before; 2: one of them a linker
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/text/grapheme_table.hpp"

namespace lexformer {
namespace detail {

inline bool is_grapheme_extend(GraphemeClass c) {
  return c == GraphemeClass::extend || c == GraphemeClass::linker || c == GraphemeClass::extend_only;
}

/// Rules GB6, GB7 and GB8: the parts of a Hangul syllable.
inline bool joins_hangul(GraphemeClass before, GraphemeClass after) {
  using enum GraphemeClass;
  if (before == leading) return after == leading || after == vowel || after == lv || after == lvt;
  if (before == lv || before == vowel) return after == vowel || after == trailing;
  return (before == lvt || before == trailing) && after == trailing;
}

}  // namespace detail

LEXFORMER_INLINE GraphemeClass grapheme_class(char32_t c) {
  if (c >= 0x20 && c < 0x7F) return GraphemeClass::other;
  if (c >= 0xAF && c < 0x483) return c >= 0x300 && c < 0x370 ? GraphemeClass::extend : GraphemeClass::other;  // Latin, Greek, Cyrillic
  if (c >= 0x3400 && c < 0xA000) return GraphemeClass::other;                                                 // Chinese
  if (c >= 0xAC00 && c < 0xAC00 + 11172) return (c - 0xAC00) % 28 == 0 ? GraphemeClass::lv : GraphemeClass::lvt;
  const auto* entry = detail::find_range(unicode_table::grapheme_classes, c);
  return entry == nullptr ? GraphemeClass::other : entry->grapheme_class;
}

LEXFORMER_INLINE bool GraphemeBreaks::begins(char32_t c) {
  using enum GraphemeClass;
  const GraphemeClass now = grapheme_class(c);
  const bool regional = c >= 0x1F1E6 && c <= 0x1F1FF, extends = detail::is_grapheme_extend(now);
  bool joined = false;
  if (before_ == control || now == control)
    joined = last_ == '\r' && c == '\n';
  else
    joined = extends || now == joiner || now == spacing_mark || before_ == prepend || detail::joins_hangul(before_, now) ||
             (now == consonant && conjunct_ == 2) || (now == pictograph && pictograph_ == 2) || (regional && odd_regional_);

  odd_regional_ = regional && !odd_regional_;
  pictograph_ = now == pictograph || (extends && pictograph_ == 1) ? 1 : now == joiner && pictograph_ == 1 ? 2 : 0;
  if (now == consonant)
    conjunct_ = 1;
  else if (now == linker && conjunct_ != 0)
    conjunct_ = 2;
  else if (now != extend && now != joiner)
    conjunct_ = 0;
  before_ = now;
  last_ = c;
  return !joined;
}

}  // namespace lexformer
#endif
