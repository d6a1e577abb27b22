// SPDX-License-Identifier: MIT
// The input of LOVE (Chen et al. 2022, section 4.1 and Figure A1; words/love.hpp): the letters and the pieces of one word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/text/vocabulary.hpp"

namespace lexformer {

/// The units of a word: letters and pieces, letters alone, or pieces alone.
enum class UnitMode { mixed, characters, pieces };

template <>
inline constexpr Named<UnitMode> names_of<UnitMode>[] = {
    {"mixed", UnitMode::mixed}, {"characters", UnitMode::characters}, {"pieces", UnitMode::pieces}};

struct WordUnitOptions {
  UnitMode mode = UnitMode::mixed;
  std::size_t buckets = 0;  // 0: one table row per token; else the tokens that are not special share this many rows (Table A1, hashing)

  void visit(OptionVisitor& v) {
    v.choice("mode", mode, "units of a word");
    v.size("buckets", buckets, 0, Vocabulary::max_size, "rows that all tokens but the special ones share, by hashing; 0 = a row for each");
  }
};

/// Converts a word to the rows of LOVE's unit table. All methods are const and thread-safe.
///
///     mixed       [CLS] letters [SUB] pieces [SEP]
///     characters  [CLS] letters [SEP]
///     pieces      [CLS] pieces [SEP]
///
/// BERT's tokenizer normalizes the word first: lower case, no accents, no control characters; whitespace, punctuation and Chinese
/// ideographs split it, and each part has its own pieces. The letters are the normalized characters of all parts. The released code takes
/// the letters of the raw word instead, where upper case and accents are [UNK]; lower-case ASCII gives the same units.
///
/// Letters and pieces share one table: the letter a and the piece a are the same row. A letter that the vocabulary lacks is [UNK]; so is a
/// part without pieces. A word of more than max_characters letters is [CLS] [UNK] [SEP] in each mode; the released code keeps its letters,
/// but the cost of attention is quadratic. A word without letters (empty, whitespace, only invalid UTF-8) is also [CLS] [UNK] [SEP].
/// Invalid UTF-8 is removed, as in Tokenizer; a program that reads words from a file checks them with find_invalid_utf8.
class WordUnits {
 public:
  static constexpr std::size_t max_characters = 100;
  static constexpr std::size_t max_units = 2 * max_characters + 3;  // no word has more

  /// `where` is the file of the vocabulary, for the message of an error.
  /// Errors (file): the vocabulary lacks [PAD], [UNK], [CLS], [SEP] or [SUB].
  explicit WordUnits(Vocabulary vocabulary, WordUnitOptions options = {}, const std::string& where = "vocabulary");

  /// The table rows of a word's units; at least 3, at most max_units.
  std::vector<std::int32_t> ids(std::string_view word) const;

  /// The same units as tokens of the vocabulary, e.g. [CLS] a b [SUB] ab [SEP].
  std::vector<std::string> tokens(std::string_view word) const;

  /// Number of rows of the table: the size of the vocabulary, or 5 + buckets.
  std::size_t size() const { return rows_.empty() ? vocabulary().size() : special_count + options_.buckets; }
  /// The row of [PAD], which LOVE initializes with zeros.
  std::int32_t pad_id() const { return row(pad_); }

  const Vocabulary& vocabulary() const { return tokenizer_.vocabulary(); }
  const WordUnitOptions& options() const { return options_; }

 private:
  static constexpr std::array<std::string_view, 5> special{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]"};
  static constexpr std::size_t special_count = special.size();

  static Vocabulary checked(Vocabulary vocabulary, const std::string& where);

  /// The tokens of a word's units, as ids of the vocabulary.
  std::vector<std::int32_t> vocabulary_ids(std::string_view word) const;

  std::int32_t row(std::int32_t id) const { return rows_.empty() ? id : rows_[static_cast<std::size_t>(id)]; }

  Tokenizer tokenizer_;
  WordUnitOptions options_;
  std::int32_t pad_, sub_;
  std::vector<std::int32_t> rows_;  // rows_[id]: row of a token; empty without buckets
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE Vocabulary WordUnits::checked(Vocabulary vocabulary, const std::string& where) {
  for (const std::string_view token : special)
    if (!vocabulary.id(token))
      fail_file(where, "the vocabulary (", vocabulary.size(), " tokens) has no ", in_quotes(token), "; expected ", join(special),
                "; tools/make_love_vocab.py makes a vocabulary for LOVE from a BERT model's vocabulary");
  return vocabulary;
}

LEXFORMER_INLINE WordUnits::WordUnits(Vocabulary vocabulary, WordUnitOptions options, const std::string& where)
    : tokenizer_(checked(std::move(vocabulary), where), TokenizerOptions{.max_word_chars = max_characters, .match_special_tokens = false}),
      options_(options),
      pad_(*this->vocabulary().id("[PAD]")),
      sub_(*this->vocabulary().id("[SUB]")) {
  if (options_.buckets == 0) return;
  // The rows of the special tokens come first. The others share rows by their number modulo buckets, as in the released code, up to the
  // order of the rows: no row has two tokens more than another, and frequent tokens, which come first in BERT's order, have different rows.
  if (options_.buckets > Vocabulary::max_size)
    fail_usage("WordUnits", "buckets is ", options_.buckets, ", expected at most ", Vocabulary::max_size);
  rows_.assign(this->vocabulary().size(), -1);
  for (std::size_t i = 0; i < special_count; ++i)
    rows_[static_cast<std::size_t>(*this->vocabulary().id(special[i]))] = static_cast<std::int32_t>(i);
  std::size_t others = 0;
  for (std::int32_t& row : rows_)
    if (row < 0) row = static_cast<std::int32_t>(special_count + others++ % options_.buckets);
}

LEXFORMER_INLINE std::vector<std::int32_t> WordUnits::vocabulary_ids(std::string_view word) const {
  const Encoding encoding = tokenizer_.encode(word, std::numeric_limits<std::size_t>::max());
  std::vector<std::int32_t> out{tokenizer_.cls_id()};
  if (encoding.characters.empty() || encoding.characters.size() > max_characters) {
    out.push_back(tokenizer_.unk_id());
  } else {
    out.reserve(max_units);
    std::string letter;
    if (options_.mode != UnitMode::pieces)
      for (const char32_t c : encoding.characters) {
        letter.clear();
        append_utf8(letter, c);
        out.push_back(vocabulary().id(letter).value_or(tokenizer_.unk_id()));
      }
    if (options_.mode == UnitMode::mixed) out.push_back(sub_);
    if (options_.mode != UnitMode::characters) out.insert(out.end(), encoding.ids.begin() + 1, encoding.ids.end() - 1);
  }
  out.push_back(tokenizer_.sep_id());
  return out;
}

LEXFORMER_INLINE std::vector<std::int32_t> WordUnits::ids(std::string_view word) const {
  std::vector<std::int32_t> out = vocabulary_ids(word);
  for (std::int32_t& id : out) id = row(id);
  return out;
}

LEXFORMER_INLINE std::vector<std::string> WordUnits::tokens(std::string_view word) const {
  std::vector<std::string> out;
  for (const std::int32_t id : vocabulary_ids(word)) out.push_back(vocabulary().token(id));
  return out;
}

}  // namespace lexformer
#endif
