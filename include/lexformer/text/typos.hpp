// SPDX-License-Identifier: MIT
// Typo augmentation as used to train and test LEA (Almagro et al. 2023, section 4.1.1) and to test LOVE (Chen et al. 2022): pure functions
// of text, options and random numbers. The description in LEA's paper and the authors' released test files differ, so there are two modes:
//   released  one operation per text; ceil(word_share * tokens) words of at least 3 characters, drawn without replacement; in each,
//             max(1, ceil(char_share * length)) characters. This is what the authors' Python package nlpaug does.
//   printed   each word of more than 3 characters with probability word_share; one operation per word, on one character.
// Words are split as in nlpaug: runs of \w; every other non-whitespace character is a token, too. The rest of the text is unchanged.
//   love      each word of at least 4 characters with probability word_share; one edit per word, all four of word_edit.hpp equally likely.
//             Words are separated by whitespace. LOVE's released SST2 files with typos are made in this way.
//   ocr       each word with probability word_share; one confusion of characters that look alike (ocr_edit.hpp), as optical character
//             recognition makes them. Words are separated by whitespace; one without a character that is confused stays.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/ocr_edit.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/text/word_edit.hpp"

namespace lexformer {

enum class TypoMode { released, printed, love, ocr };

/// insert      inserts a random letter or digit before a character
/// remove      deletes the character
/// substitute  replaces it by a random letter or digit
/// swap        swaps it with an adjacent character; the positions of capitals do not change: Sony -> Osny
/// keyboard    replaces it by a neighboring key, with or without shift
enum class TypoOp { insert, remove, substitute, swap, keyboard };

template <>
inline constexpr auto names_of<TypoMode> = std::to_array<Named<TypoMode>>(
    {{"released", TypoMode::released}, {"printed", TypoMode::printed}, {"love", TypoMode::love}, {"ocr", TypoMode::ocr}});
template <>
inline constexpr auto names_of<TypoOp> = std::to_array<Named<TypoOp>>({{"insert", TypoOp::insert},
                                                                       {"delete", TypoOp::remove},
                                                                       {"substitute", TypoOp::substitute},
                                                                       {"swap", TypoOp::swap},
                                                                       {"keyboard", TypoOp::keyboard}});

struct TypoOptions {
  TypoMode mode = TypoMode::released;
  double word_share = 0.2;
  double char_share = 0.1;  // mode released only
  unsigned min_chars = 0;   // shorter words are not changed; 0 = the mode's: 3 (released), 4 (printed, love; least of love), 1 (ocr)
  // not of the modes love and ocr:
  std::vector<TypoOp> ops{TypoOp::insert, TypoOp::remove, TypoOp::substitute, TypoOp::swap, TypoOp::keyboard};
  bool respace = false;  // nlpaug's spacing: tokens separated by spaces, no space before . , : ; ? ! % and inside brackets
};

/// Describes the options for logs: everything that determines the result except the random numbers.
std::string describe(const TypoOptions& options);

/// The random stream of one example in one epoch. The typos do not depend on order, batch or thread.
RandomStream typo_stream(std::uint64_t seed, std::uint32_t epoch, std::uint32_t example);

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

/// Applies op at `count` characters of a non-empty word. The result may equal the word, e.g. if two equal characters are swapped.
std::u32string add_typo(std::u32string word, TypoOp op, std::size_t count, RandomStream& random);

/// Joins tokens with spaces, then removes spaces by nlpaug's rules (one left-to-right pass per rule, without overlapping matches).
std::string respaced(const std::vector<std::string>& tokens);

/// Modes love and ocr.
std::string add_typos_to_words(std::string_view text, const TypoOptions& options, RandomStream& random);

}  // namespace detail

/// Adds typos to a text. A pure function of text, options and random stream.
/// Errors: a share is not in [0, 1]; there are no operations; `respace` with mode love or ocr.
std::string add_typos(std::string_view text, const TypoOptions& options, RandomStream& random);

/// Adds typos to both texts of a pair; operations and words are drawn for each text.
std::pair<std::string, std::string> add_typos_to_pair(std::string_view left, std::string_view right, const TypoOptions& options,
                                                      RandomStream& random);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE std::string describe(const TypoOptions& options) {
  std::string ops;
  for (TypoOp op : options.ops) ops += cat(ops.empty() ? "" : ",", name_of(op));
  return cat(name_of(options.mode), " word_share=", options.word_share, " char_share=", options.char_share,
             " min_chars=", options.min_chars, " ops=", ops, " respace=", options.respace ? 1 : 0);
}

LEXFORMER_INLINE RandomStream typo_stream(std::uint64_t seed, std::uint32_t epoch, std::uint32_t example) {
  return RandomStream(seed, random_site::typos + epoch % 0x1000000u, example);
}

namespace detail {
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
LEXFORMER_INLINE std::u32string add_typo(std::u32string word, TypoOp op, std::size_t count, RandomStream& random) {
  const auto places = draw(count, word.size(), random);
  for (auto it = places.rbegin(); it != places.rend(); ++it) {  // backwards, so that earlier positions stay valid
    const std::size_t i = *it;
    if (op == TypoOp::insert) word.insert(i, 1, letter_or_digit(random));
    if (op == TypoOp::remove) word.erase(i, 1);
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
LEXFORMER_INLINE std::string add_typos_to_words(std::string_view text, const TypoOptions& options, RandomStream& random) {
  if (options.respace)
    fail_usage("typos", "respace follows the tokens of the modes released and printed; mode ", name_of(options.mode), " has others");
  constexpr WordEdit edits[] = {WordEdit::keyboard, WordEdit::insert, WordEdit::swap, WordEdit::drop};
  const bool ocr = options.mode == TypoMode::ocr;
  std::string out;
  std::size_t begin = 0, characters = 0;  // of the current word
  const auto end_word = [&](std::size_t end) {
    const std::string word(text.substr(begin, end - begin));
    const bool changed = characters >= std::max(options.min_chars, ocr ? 1u : 4u) && random.uniform() < options.word_share;
    if (!changed)
      out += word;
    else
      out += ocr ? ocr_edit(word, random) : edit_word(word, edits[random.below(4)], false, random);
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
}  // namespace detail

LEXFORMER_INLINE std::string add_typos(std::string_view text, const TypoOptions& options, RandomStream& random) {
  const auto is_share = [](double x) { return x >= 0.0 && x <= 1.0; };
  if (!is_share(options.word_share) || !is_share(options.char_share))
    fail_usage("typos", "word_share is ", options.word_share, ", char_share ", options.char_share, "; expected values in [0, 1]");
  if (options.ops.empty()) fail_usage("typos", "ops is empty; give at least one operation");
  if (options.mode == TypoMode::love || options.mode == TypoMode::ocr) return detail::add_typos_to_words(text, options, random);
  const bool released = options.mode == TypoMode::released;
  const unsigned min_chars = options.min_chars > 0 ? options.min_chars : released ? 3 : 4;
  const auto draw_op = [&] { return options.ops[static_cast<std::size_t>(random.below(options.ops.size()))]; };
  // In floating point, 0.07 * 100 is slightly above 7 and must not be rounded up to 8.
  const auto share_of = [](double share, std::size_t n) {
    return static_cast<std::size_t>(std::ceil(share * static_cast<double>(n) - 1e-9));
  };

  const auto tokens = detail::typo_tokens(text);
  std::vector<std::string> words;
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    words.emplace_back(text.substr(tokens[i].begin, tokens[i].end - tokens[i].begin));
    if (tokens[i].length >= min_chars && is_word_character(decode_utf8(words[i], 0).character)) candidates.push_back(i);
  }
  const auto edit = [&](std::size_t i, TypoOp op, std::size_t count) {
    words[i] = to_utf8(detail::add_typo(to_utf32(words[i]), op, count, random));
  };
  if (released) {
    const TypoOp op = draw_op();
    const std::size_t count = options.word_share == 0.0 ? 0 : std::max<std::size_t>(1, share_of(options.word_share, tokens.size()));
    for (std::size_t k : detail::draw(count, candidates.size(), random)) {
      const std::size_t i = candidates[k];
      edit(i, op, std::max<std::size_t>(1, share_of(options.char_share, tokens[i].length)));
    }
  } else {
    for (std::size_t i : candidates)
      if (random.uniform() < options.word_share) edit(i, draw_op(), 1);
  }

  if (options.respace) return detail::respaced(words);
  std::string out;
  std::size_t done = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    out.append(text, done, tokens[i].begin - done);
    out += words[i];
    done = tokens[i].end;
  }
  return out.append(text, done);
}

LEXFORMER_INLINE std::pair<std::string, std::string> add_typos_to_pair(std::string_view left, std::string_view right,
                                                                       const TypoOptions& options, RandomStream& random) {
  std::string first = add_typos(left, options, random);
  return {std::move(first), add_typos(right, options, random)};
}

}  // namespace lexformer
#endif
