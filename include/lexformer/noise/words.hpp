// SPDX-License-Identifier: MIT
// Shared by the sources of noise: words at whitespace, their punctuation, their case.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Replaces each word of at least `min_chars` characters by edit(word), with probability `share`, one random number for each such word.
/// Words are separated by whitespace, which stays as it is, as do all bytes of the other words.
std::string edit_words(std::string_view text, double share, std::size_t min_chars, RandomStream& random,
                       const std::function<std::string(const std::string&)>& edit);

/// A word without the punctuation around it: "(don't)," is "(", "don't" and "),". Of punctuation alone, `core` is empty.
struct WordParts {
  std::string_view before, core, after;
};
WordParts word_parts(std::string_view word);

bool is_capital(char32_t c);

/// A text in capitals, each character by to_upper().
std::string upper_case(std::string_view text);

/// `text` in the case of `like`: all capitals if `like` has two capitals or more and no small letter; with a first capital if `like` has
/// one; else as it is.
std::string in_case_of(std::string_view text, std::string_view like);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE std::string edit_words(std::string_view text, double share, std::size_t min_chars, RandomStream& random,
                                        const std::function<std::string(const std::string&)>& edit) {
  std::string out;
  std::size_t begin = 0, characters = 0;  // of the current word
  const auto end_word = [&](std::size_t end) {
    const std::string word(text.substr(begin, end - begin));
    const bool changed = characters > 0 && characters >= min_chars && random.uniform() < share;
    out += changed ? edit(word) : word;
    characters = 0;
  };
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode_utf8(text, i);
    if (is_whitespace(next.character)) {
      end_word(i);
      out.append(text, i, next.bytes);
      begin = i + next.bytes;
    } else {
      ++characters;
    }
    i += next.bytes;
  }
  end_word(text.size());
  return out;
}

LEXFORMER_INLINE WordParts word_parts(std::string_view word) {
  std::size_t begin = word.size(), end = word.size();
  for (std::size_t i = 0; i < word.size();) {
    const Decoded next = decode_utf8(word, i);
    i += next.bytes;
    if (is_punctuation(next.character)) continue;
    if (begin == word.size()) begin = i - next.bytes;
    end = i;
  }
  return {word.substr(0, begin), word.substr(begin, end - begin), word.substr(end)};
}

LEXFORMER_INLINE bool is_capital(char32_t c) { return to_lower(c) != c; }

LEXFORMER_INLINE std::string upper_case(std::string_view text) {
  std::u32string characters = to_utf32(text);
  for (char32_t& c : characters) c = to_upper(c);
  return to_utf8(characters);
}

LEXFORMER_INLINE std::string in_case_of(std::string_view text, std::string_view like) {
  std::size_t capitals = 0, small = 0;
  const std::u32string letters = to_utf32(like);
  for (const char32_t c : letters) {
    if (is_capital(c)) ++capitals;
    if (to_upper(c) != c) ++small;
  }
  if (capitals > 1 && small == 0) return upper_case(text);
  std::u32string out = to_utf32(text);
  if (!out.empty() && !letters.empty() && is_capital(letters.front())) out.front() = to_upper(out.front());
  return to_utf8(out);
}

}  // namespace lexformer
#endif
