// SPDX-License-Identifier: MIT
// The tokens and operations of the typo modes released and printed (typos.hpp), as PyPI's nlpaug has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/noise/word_edit.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// insert      inserts a random letter or digit before a character
/// remove      deletes the character
/// substitute  replaces it by a random letter or digit
/// swap        swaps it with an adjacent character; the positions of capitals do not change: Sony -> Osny
/// keyboard    replaces it by a neighboring key, with or without shift
enum class TypoOp { insert, remove, substitute, swap, keyboard };

template <>
inline constexpr Named<TypoOp> names_of<TypoOp>[] = {{"insert", TypoOp::insert},
                                                     {"delete", TypoOp::remove},
                                                     {"substitute", TypoOp::substitute},
                                                     {"swap", TypoOp::swap},
                                                     {"keyboard", TypoOp::keyboard}};

namespace detail {

struct TypoToken {
  std::size_t begin, end;  // bytes
  std::size_t length;      // characters
};

/// Splits into nlpaug's tokens: runs of \w, and every other character except whitespace.
std::vector<TypoToken> typo_tokens(std::string_view text);

/// Draws `count` distinct integers in 0 .. n-1, ascending.
std::vector<std::size_t> draw(std::size_t count, std::size_t n, RandomStream& random);

char32_t letter_or_digit(RandomStream& random);

void swap_keeping_case(char32_t& a, char32_t& b);

/// Applies op at `count` characters of a non-empty word, a std::u32string. The result may equal the word, e.g. if two equal characters are
/// swapped.
template <class Word>
Word add_typo(Word word, TypoOp op, std::size_t count, RandomStream& random) {
  const auto places = draw(count, word.size(), random);
  if (op == TypoOp::insert || op == TypoOp::remove) {  // builds the word anew from its end, since each move of a long tail costs time
    Word reversed;
    std::size_t end = word.size();
    for (auto it = places.rbegin(); it != places.rend(); ++it) {
      const std::size_t keep = op == TypoOp::insert ? *it : *it + 1;
      while (end > keep) reversed += word[--end];
      if (op == TypoOp::insert) reversed += letter_or_digit(random);
      end = *it;
    }
    while (end > 0) reversed += word[--end];
    return {reversed.rbegin(), reversed.rend()};
  }
  for (auto it = places.rbegin(); it != places.rend(); ++it) {  // backwards, so that earlier positions stay valid
    const std::size_t i = *it;
    if (op == TypoOp::substitute) word[i] = letter_or_digit(random);
    if (op == TypoOp::swap && word.size() > 1) {
      const bool right = i == 0 || (i + 1 < word.size() && random.below(2) == 1);
      swap_keeping_case(word[i], word[right ? i + 1 : i - 1]);
    }
    if (op == TypoOp::keyboard) {
      const std::string keys = keyboard_neighbours(word[i]);
      if (!keys.empty()) word[i] = static_cast<unsigned char>(keys[static_cast<std::size_t>(random.below(keys.size()))]);
    }
  }
  return word;
}

/// Joins tokens with spaces, then removes spaces by nlpaug's rules (one left-to-right pass per rule, without overlapping matches).
std::string respaced(const std::vector<std::string>& tokens);

}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer::detail {

LEXFORMER_INLINE std::vector<TypoToken> typo_tokens(std::string_view text) {
  std::vector<TypoToken> tokens;
  bool in_word = false;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded next = decode_utf8(text, i);
    const bool word = is_word_character(next.character);
    if (word && in_word) {
      tokens.back().end += next.bytes;
      ++tokens.back().length;
    } else if (!is_whitespace(next.character)) {
      tokens.push_back({i, i + next.bytes, 1});
    }
    in_word = word;
    i += next.bytes;
  }
  return tokens;
}
LEXFORMER_INLINE std::vector<std::size_t> draw(std::size_t count, std::size_t n, RandomStream& random) {
  std::vector<std::size_t> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = i;
  count = std::min(count, n);
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + static_cast<std::size_t>(random.below(n - i))]);
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}
LEXFORMER_INLINE char32_t letter_or_digit(RandomStream& random) {
  static constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  return static_cast<unsigned char>(alphabet[static_cast<std::size_t>(random.below(alphabet.size()))]);
}
LEXFORMER_INLINE void swap_keeping_case(char32_t& a, char32_t& b) {
  const bool a_capital = to_lower(a) != a, b_capital = to_lower(b) != b;
  std::swap(a, b);
  if (a_capital == b_capital) return;
  a = a_capital ? to_upper(a) : to_lower(a);
  b = b_capital ? to_upper(b) : to_lower(b);
}
LEXFORMER_INLINE std::string respaced(const std::vector<std::string>& tokens) {
  const auto is = [](std::string_view set, char c) { return set.find(c) != std::string_view::npos; };
  std::string text;
  for (const std::string& token : tokens) text += (text.empty() ? "" : " ") + token;

  static constexpr std::string_view closing = ".,:;?!%";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {  // "word , next": a space, a run of closing punctuation, then a space or a quote
    std::size_t end = i + 1;
    while (text[i] == ' ' && end < text.size() && is(closing, text[end])) ++end;
    if (end == i + 1 || end == text.size() || !is(" '\"`", text[end])) {
      out += text[i++];
      continue;
    }
    out.append(text, i + 1, end - i);  // with the character after the run
    i = end + 1;
  }
  const std::size_t before_end = out.find_last_not_of(closing);  // the same at the end of the text
  if (before_end != std::string::npos && before_end + 1 < out.size() && out[before_end] == ' ') out.erase(before_end, 1);

  for (const bool opening : {true, false}) {
    text.swap(out);
    out.clear();
    for (std::size_t i = 0; i < text.size();) {
      const bool bracket = i + 2 < text.size() && text[i] == ' ' && text[i + 2] == ' ' && is(opening ? "[({<" : "])}>", text[i + 1]);
      if (!bracket) {
        out += text[i++];
        continue;
      }
      out += opening ? std::string{' ', text[i + 1]} : std::string{text[i + 1], ' '};
      i += 3;
    }
  }
  const std::size_t first = out.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : out.substr(first, out.find_last_not_of(' ') + 1 - first);
}

}  // namespace lexformer::detail
#endif
