// SPDX-License-Identifier: MIT
// UTF-8 and the character classes of the BERT tokenizer. The classes equal PyPI `tokenizers` (see tools/make_unicode_table.py),
// not of the newest Unicode, since token ids must match those a checkpoint was trained with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/unicode_table.hpp"

namespace lexformer {

inline constexpr char32_t replacement_character = 0xFFFD;

/// A decoded character and the number of bytes it occupies.
struct Decoded {
  char32_t character;
  std::size_t bytes;
};

/// Decodes the character that starts at text[position] (position < text.size()). Invalid UTF-8 (stray or missing continuation bytes,
/// overlong forms, surrogates, beyond U+10FFFF) gives one U+FFFD per maximal valid prefix of a character, as Unicode recommends
/// (section 3.9, "substitution of maximal subparts"). Never reads past the end; always consumes at least one byte.
Decoded decode_utf8(std::string_view text, std::size_t position);

/// Appends one character as UTF-8. Invalid ones (surrogates, beyond U+10FFFF) become U+FFFD.
template <class Bytes>
void append_utf8(Bytes& out, char32_t c) {
  const auto put = [&](char32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = replacement_character;
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | (c >> 6));
  } else {
    if (c < 0x10000) {
      put(0xE0 | (c >> 12));
    } else {
      put(0xF0 | (c >> 18));
      put(0x80 | ((c >> 12) & 0x3F));
    }
    put(0x80 | ((c >> 6) & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

std::u32string to_utf32(std::string_view text);

std::string to_utf8(std::u32string_view text);

/// The index of the first byte that is not part of a valid character; npos: there is none.
std::size_t find_invalid_utf8(std::string_view text);

namespace detail {

/// The entry of a sorted table of ranges that contains c, or null.
template <class Entry, std::size_t n>
const Entry* find_range(const Entry (&table)[n], char32_t c) {
  const auto it = std::upper_bound(std::begin(table), std::end(table), c, [](char32_t x, const Entry& e) { return x < e.first; });
  if (it == std::begin(table)) return nullptr;
  return c <= std::prev(it)->last ? std::prev(it) : nullptr;
}

}  // namespace detail

/// Unicode's White_Space property.
inline bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}
/// Whether clean_text removes the character: control, format and private-use characters, U+FFFD. TAB, LF and CR count as whitespace.
inline bool is_dropped(char32_t c) {
  if (c < 0x7F) return c < 0x20 && c != '\t' && c != '\n' && c != '\r';
  return detail::find_range(unicode_table::dropped, c) != nullptr;
}
/// Whether the character is punctuation, a word of its own: all ASCII punctuation (including $ and +) and the Unicode categories P*.
inline bool is_punctuation(char32_t c) {
  if (c < 0x80) return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return detail::find_range(unicode_table::punctuation, c) != nullptr;
}
/// Whether the character is a Chinese ideograph (not Hangul, not Kana).
inline bool is_chinese(char32_t c) { return c >= 0x3400 && detail::find_range(unicode_table::chinese, c) != nullptr; }
/// Whether strip_accents removes the character (category Mn).
inline bool is_nonspacing_mark(char32_t c) { return c >= 0x300 && detail::find_range(unicode_table::nonspacing_marks, c) != nullptr; }
/// Whether the character matches `\w` of regular expressions: a letter, a number or the underscore.
inline bool is_word_character(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  return detail::find_range(unicode_table::alphanumeric, c) != nullptr;
}

/// A word without the punctuation of sentences, the quotes and the brackets around it: `cm,` is cm, but c++, 5% and -5 stay. A word of
/// nothing else stays as well.
std::u32string_view without_punctuation(std::u32string_view word);

/// Whether a token with AddedToken::single_word is not found beside the character. In the library tokenizers this is `\w`, other than in
/// Python: it has all marks and connectors, and no fractions.
inline bool joins_words(char32_t c) {
  return c < 0x80 ? is_word_character(c) : detail::find_range(unicode_table::regex_word, c) != nullptr;
}

std::uint8_t combining_class(char32_t c);

/// The lowercase of c, else c itself. The mapping is one to one and context-free (no final sigma). Only U+0130 (capital I with a dot) has
/// two lowercase characters, i and U+0307; this function returns i.
char32_t to_lower(char32_t c);

/// A text with each character in lower case.
std::string lower_case(std::string_view text);

/// The first uppercase character that to_lower maps to c, else c itself.
char32_t to_upper(char32_t c);

/// Calls put(part) for each character of the full canonical decomposition of c (c itself if it has none), before canonical ordering.
template <class Put>
void decompose(char32_t c, Put&& put) {
  if (c < 0xC0) return put(c);
  if (c >= 0xAC00 && c < 0xAC00 + 11172) {  // Hangul syllable: leading consonant, vowel, optional trailing consonant
    const char32_t index = c - 0xAC00;
    put(0x1100 + index / 588);
    put(0x1161 + index % 588 / 28);
    if (index % 28 != 0) put(0x11A7 + index % 28);
    return;
  }
  const auto& table = unicode_table::decompositions;
  const auto it = std::lower_bound(std::begin(table), std::end(table), c,
                                   [](const unicode_table::Decomposition& entry, char32_t x) { return entry.from < x; });
  if (it == std::end(table) || it->from != c) return put(c);
  decompose(it->first, put);  // at most four levels
  if (it->second != 0) decompose(it->second, put);
}

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE Decoded decode_utf8(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[position + i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {replacement_character, 1};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Only the first continuation byte has a narrower range: it excludes overlong forms, surrogates and values beyond U+10FFFF.
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t character = length == 2 ? lead & 0x1F : length == 3 ? lead & 0x0F : lead & 0x07;
  for (std::size_t i = 1; i < length; ++i) {
    if (position + i == text.size() || byte(i) < low || byte(i) > high) return {replacement_character, i};
    character = (character << 6) | (byte(i) & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {character, length};
}

LEXFORMER_INLINE std::u32string to_utf32(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode_utf8(text, i);
    out.push_back(next.character);
    i += next.bytes;
  }
  return out;
}

LEXFORMER_INLINE std::string to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char32_t c : text) append_utf8(out, c);
  return out;
}

LEXFORMER_INLINE std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode_utf8(text, i);
    if (next.character == replacement_character && text.substr(i, 3) != "\xEF\xBF\xBD") return i;
    i += next.bytes;
  }
  return text.npos;
}

LEXFORMER_INLINE std::string lower_case(std::string_view text) {
  std::u32string characters = to_utf32(text);
  for (char32_t& c : characters) c = to_lower(c);
  return to_utf8(characters);
}

LEXFORMER_INLINE std::u32string_view without_punctuation(std::u32string_view word) {
  static constexpr std::u32string_view around = U".,;:!?\"'()[]{}\u2026\u00AB\u00BB\u2018\u2019\u201A\u201C\u201D\u201E\u3001\u3002";
  const std::size_t first = word.find_first_not_of(around);
  return first == word.npos ? word : word.substr(first, word.find_last_not_of(around) + 1 - first);
}

LEXFORMER_INLINE std::uint8_t combining_class(char32_t c) {
  if (c < 0x300) return 0;
  const auto* entry = detail::find_range(unicode_table::combining_classes, c);
  return entry == nullptr ? std::uint8_t{0} : entry->combining_class;
}

LEXFORMER_INLINE char32_t to_lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (c == 0x130) return 'i';
  const auto* entry = detail::find_range(unicode_table::lowercase, c);
  if (entry == nullptr || (c - entry->first) % entry->step != 0) return c;
  return static_cast<char32_t>(static_cast<std::int32_t>(c) + entry->delta);
}

LEXFORMER_INLINE char32_t to_upper(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  for (const auto& entry : unicode_table::lowercase) {
    const auto capital = static_cast<char32_t>(static_cast<std::int32_t>(c) - entry.delta);
    if (capital >= entry.first && capital <= entry.last && (capital - entry.first) % entry.step == 0) return capital;
  }
  return c;
}

}  // namespace lexformer
#endif
