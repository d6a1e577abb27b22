// SPDX-License-Identifier: MIT
// Noise in text: typos as used to train and test LEA (Almagro et al. 2023, section 4.1.1) and to test LOVE (Chen et al. 2022), and other
// sources of noise. Pure functions of text, options and random numbers.
//
// The description in LEA's paper and the authors' released test files differ, so there are two modes:
//   released  one operation per text; ceil(word_share * tokens) words of at least 3 characters, drawn without replacement; in each,
//             max(1, ceil(char_share * length)) characters. This is what the authors' Python package nlpaug does.
//   printed   each word of more than 3 characters with probability word_share; one operation per word, on one character.
// Their words are split as in nlpaug: runs of \w; every other non-whitespace character is also a token. The rest of the text is unchanged.
//
// In all other modes words are separated by whitespace, each is changed with probability word_share, and one that cannot be changed stays:
//   love           words of at least 4 characters; one edit per word, all four of word_edit.hpp equally likely. LOVE's released SST2 files
//                  with typos are made in this way
//   ocr            one confusion of characters that look alike (ocr_edit.hpp), as optical character recognition makes them
//   keyboard       one letter or digit becomes the character of a neighbouring key (noise_keyboard.hpp)
//   homophones     a word that sounds alike (noise_homophones.hpp)
//   misspellings   a misspelling of the list `misspellings` (noise_misspellings.hpp)
//   spaces         the space after the word is dropped, or one is put into the word (noise_spaces.hpp)
//   abbreviations  a common abbreviation, or the word without its vowels (noise_abbreviations.hpp)
//   units          another format of a number and its unit; the share is of the numbers (noise_units.hpp)
//   casing         capitals, small letters, a first capital or random case (noise_casing.hpp)
//   lookalikes     one letter becomes a letter of another alphabet with the same shape (noise_lookalikes.hpp)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/noise/abbreviations.hpp"
#include "lexformer/noise/casing.hpp"
#include "lexformer/noise/homophones.hpp"
#include "lexformer/noise/keyboard.hpp"
#include "lexformer/noise/lookalikes.hpp"
#include "lexformer/noise/misspellings.hpp"
#include "lexformer/noise/ocr_edit.hpp"
#include "lexformer/noise/spaces.hpp"
#include "lexformer/noise/typo_ops.hpp"
#include "lexformer/noise/units.hpp"
#include "lexformer/noise/word_edit.hpp"
#include "lexformer/noise/words.hpp"
#include "lexformer/text/column_marks.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

enum class TypoMode { released, printed, love, ocr, keyboard, homophones, misspellings, spaces, abbreviations, units, casing, lookalikes };

template <>
inline constexpr Named<TypoMode> names_of<TypoMode>[] = {{"released", TypoMode::released},
                                                         {"printed", TypoMode::printed},
                                                         {"love", TypoMode::love},
                                                         {"ocr", TypoMode::ocr},
                                                         {"keyboard", TypoMode::keyboard},
                                                         {"homophones", TypoMode::homophones},
                                                         {"misspellings", TypoMode::misspellings},
                                                         {"spaces", TypoMode::spaces},
                                                         {"abbreviations", TypoMode::abbreviations},
                                                         {"units", TypoMode::units},
                                                         {"casing", TypoMode::casing},
                                                         {"lookalikes", TypoMode::lookalikes}};

struct TypoOptions {
  TypoMode mode = TypoMode::released;
  double word_share = 0.2;
  double char_share = 0.1;  // mode released only
  unsigned min_chars = 0;  // shorter words are not changed; 0 = the mode's: 3 (released), 4 (printed, love; least of love), 1; not of units
  // of the modes released and printed:
  std::vector<TypoOp> ops{TypoOp::insert, TypoOp::remove, TypoOp::substitute, TypoOp::swap, TypoOp::keyboard};
  bool respace = false;  // nlpaug's spacing: tokens separated by spaces, no space before . , : ; ? ! % and inside brackets
  std::shared_ptr<const MisspellingTable> misspellings{};  // of mode misspellings
};

/// Describes the options for logs: everything that determines the result except the random numbers.
std::string describe(const TypoOptions& options);

/// The random stream of one example in one epoch. The typos do not depend on order, batch or thread.
RandomStream typo_stream(std::uint64_t seed, std::uint32_t epoch, std::uint32_t example);

namespace detail {

inline constexpr std::string_view mark_sign = "\xEE\x80\x80";  // U+E000, which no mode changes; stands for a mark

/// Typos in the values of a record's text.
std::string add_typos_to_values(std::string_view text, const std::vector<ColumnMark>& marks, const TypoOptions& options,
                                RandomStream& random);

/// All modes but released and printed.
std::string add_typos_to_words(std::string_view text, const TypoOptions& options, RandomStream& random);

}  // namespace detail

/// Adds typos to a text. A pure function of text, options and random stream. The words `COL name VAL` of a record's text
/// (column_marks.hpp) stay as they are and count as one word of punctuation.
/// Errors: a share is not in [0, 1]; there are no operations; `respace` with a mode other than released and printed; mode misspellings
/// without a list.
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
             " min_chars=", options.min_chars, " ops=", ops, " respace=", options.respace ? 1 : 0,
             options.misspellings ? " misspellings=" + options.misspellings->source : "");
}

LEXFORMER_INLINE RandomStream typo_stream(std::uint64_t seed, std::uint32_t epoch, std::uint32_t example) {
  return RandomStream(seed, random_site::typos + epoch % 0x1000000u, example);
}

namespace detail {
LEXFORMER_INLINE std::string add_typos_to_values(std::string_view text, const std::vector<ColumnMark>& marks, const TypoOptions& options,
                                                 RandomStream& random) {
  std::string signs;  // the text with mark_sign for each mark
  std::size_t done = 0;
  for (const ColumnMark& mark : marks) {
    signs.append(text, done, mark.begin - done).append(mark_sign);
    done = mark.end;
  }
  signs = add_typos(signs.append(text, done), options, random);
  std::string out;
  done = 0;
  for (const ColumnMark& mark : marks) {
    const std::size_t at = signs.find(mark_sign, done), next = at + mark_sign.size();
    out.append(signs, done, at - done);
    if (!out.empty() && out.back() != ' ') out += ' ';  // noise may have dropped the space
    out.append(text, mark.begin, mark.end - mark.begin);
    if (next < signs.size() && signs[next] != ' ') out += ' ';
    done = next;
  }
  return out.append(signs, done);
}

LEXFORMER_INLINE std::string add_typos_to_words(std::string_view text, const TypoOptions& options, RandomStream& random) {
  if (options.respace)
    fail_usage("typos", "respace follows the tokens of the modes released and printed; mode ", name_of(options.mode), " has others");
  const auto each_word = [&](std::size_t least, const std::function<std::string(const std::string&)>& edit) {
    return edit_words(text, options.word_share, std::max<std::size_t>(options.min_chars, least), random, edit);
  };
  const auto by = [&](std::string (*noise)(const std::string&, RandomStream&)) {
    return each_word(1, [&](const std::string& word) { return noise(word, random); });
  };
  constexpr WordEdit edits[] = {WordEdit::keyboard, WordEdit::insert, WordEdit::swap, WordEdit::drop};
  switch (options.mode) {
    case TypoMode::released:
    case TypoMode::printed:
      break;  // add_typos() itself
    case TypoMode::love:
      return each_word(4, [&](const std::string& word) { return edit_word(word, edits[random.below(4)], false, random); });
    case TypoMode::ocr:
      return by(ocr_edit);
    case TypoMode::keyboard:
      return by(keyboard_noise);
    case TypoMode::homophones:
      return by(homophone_noise);
    case TypoMode::misspellings:
      if (!options.misspellings) fail_usage("typos", "mode misspellings needs a list of them: `misspellings`");
      return each_word(1, [&](const std::string& word) { return misspelling_noise(word, *options.misspellings, random); });
    case TypoMode::spaces:
      return space_noise(text, options.word_share, options.min_chars, random);
    case TypoMode::abbreviations:
      return by(abbreviation_noise);
    case TypoMode::units:
      return unit_noise(text, options.word_share, random);
    case TypoMode::casing:
      return by(casing_noise);
    case TypoMode::lookalikes:
      return by(lookalike_noise);
  }
  fail("typos", "mode ", name_of(options.mode), " does not change single words");
}
}  // namespace detail

LEXFORMER_INLINE std::string add_typos(std::string_view text, const TypoOptions& options, RandomStream& random) {
  const auto is_share = [](double x) { return x >= 0.0 && x <= 1.0; };
  if (!is_share(options.word_share) || !is_share(options.char_share))
    fail_usage("typos", "word_share is ", options.word_share, ", char_share ", options.char_share, "; expected values in [0, 1]");
  if (options.ops.empty()) fail_usage("typos", "ops is empty; give at least one operation");
  if (const auto marks = column_marks(text); !marks.empty() && text.find(detail::mark_sign) == text.npos)
    return detail::add_typos_to_values(text, marks, options, random);
  if (options.mode != TypoMode::released && options.mode != TypoMode::printed) return detail::add_typos_to_words(text, options, random);
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
