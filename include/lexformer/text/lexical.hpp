// SPDX-License-Identifier: MIT
// The lexical input of LEA's attention: a code for each token pair, and a similarity (level) for each code.
// Almagro et al. 2023, section 3.2: s_ij = similarity of the words of tokens i and j if they belong to different texts, else 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/text/similarity.hpp"

namespace lexformer {

struct Encoding;  // text/encoding.hpp

/// The words that are compared for the similarity of two tokens.
/// tokenizer: the words as the tokenizer splits them (as in the paper); dht-fs5 is three words.
/// whitespace: the space-separated words that contain the tokens, with punctuation: Jaccard(dht-fs5, dhtfs5) = 6/7.
/// both: the larger of the two similarities.
/// All are normalized by the tokenizer: lower case and without accents for an uncased model.
enum class LexicalWords { tokenizer, whitespace, both };

template <>
inline constexpr Named<LexicalWords> names_of<LexicalWords>[] = {
    {"tokenizer", LexicalWords::tokenizer}, {"whitespace", LexicalWords::whitespace}, {"both", LexicalWords::both}};

struct LexicalOptions {
  Similarity similarity = Similarity::jaccard;
  LexicalWords words = LexicalWords::tokenizer;
  unsigned levels = 0;          // 0: exact values; n >= 2: rounded to n equally spaced levels in [0, 1], ties to the lower level
  bool self_attention = false;  // also compare words of the same text
  bool same_column = false;     // of the words of records' texts, compare only words of columns with the same name (column_marks.hpp)
};

/// The similarities of one example: s(i, j) = level[code[i * size + j]]. Levels are ascending, level[0] = 0; code is symmetric.
struct LexicalMatrix {
  std::size_t size = 0;
  std::vector<std::uint16_t> code;
  std::vector<double> level{0.0};
};

namespace detail {
inline constexpr std::size_t max_lexical_levels = 65536;  // codes have 16 bits

/// Errors (usage): a number of levels that LexicalOptions cannot have.
inline void check_levels(std::size_t levels, const std::string& where) {
  if (levels == 1 || levels > max_lexical_levels)
    fail_usage(where, "`levels` is ", levels, ", expected 0 (exact) or 2 to ", max_lexical_levels);
}

std::uint16_t lexical_code(const std::vector<double>& level, double value);

/// Sorts the levels and removes duplicates. Errors: more than max_lexical_levels.
void sort_levels(std::vector<double>& level);
}  // namespace detail

/// Computes the similarities of all token pairs of one tokenized text or pair. All tokens of a word share its similarities. s = 0 if a
/// token has no word ([CLS], [SEP]) and, unless self_attention, within one text; with same_column also for the words of `COL name VAL` and
/// for words of different columns (a text without marks is one column without a name). Unknown words and words cut by truncation are
/// compared by their full text. Similarities above 1 (smith_waterman_raw) are kept when exact and clipped to 1 when levels are set.
/// Errors: levels is 1 or more than 65,536; more than 65,536 distinct similarities.
LexicalMatrix lexical_matrix(const Encoding& encoding, const LexicalOptions& options);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/text/column_marks.hpp"
#include "lexformer/text/encoding.hpp"

namespace lexformer {

namespace detail {
LEXFORMER_INLINE std::uint16_t lexical_code(const std::vector<double>& level, double value) {
  return static_cast<std::uint16_t>(std::lower_bound(level.begin(), level.end(), value) - level.begin());
}
LEXFORMER_INLINE void sort_levels(std::vector<double>& level) {
  std::sort(level.begin(), level.end());
  level.erase(std::unique(level.begin(), level.end()), level.end());
  if (level.size() > max_lexical_levels)
    fail("lexical levels", level.size(), " distinct similarities do not fit into 16-bit codes; set LexicalOptions.levels, e.g. to 50");
}

/// The compared texts of a word: its own, its space-separated word's, or both.
struct LexicalKey {
  std::u32string_view text, whole;
  bool operator==(const LexicalKey&) const = default;
};

inline double lexical_similarity(const LexicalKey& a, const LexicalKey& b, const LexicalOptions& options) {
  double s = 0.0;
  if (options.words != LexicalWords::whitespace) s = similarity(options.similarity, a.text, b.text);
  if (options.words != LexicalWords::tokenizer) s = std::max(s, similarity(options.similarity, a.whole, b.whole));
  return s;
}

/// The distinct keys of the words, and the key of each word. There are few, so a linear search is enough.
struct LexicalKeys {
  std::vector<LexicalKey> keys;
  std::vector<std::size_t> of_word;
  LexicalKeys(const Encoding& encoding, const LexicalOptions& options) {
    for (const Word& word : encoding.words) {
      LexicalKey key;
      if (options.words != LexicalWords::whitespace) key.text = encoding.text(word);
      if (options.words != LexicalWords::tokenizer) key.whole = encoding.whole_text(word);
      const auto known = std::find(keys.begin(), keys.end(), key);
      of_word.push_back(static_cast<std::size_t>(known - keys.begin()));
      if (known == keys.end()) keys.push_back(key);
    }
  }
};

inline constexpr std::size_t no_column = static_cast<std::size_t>(-1);  // of the words of a mark

/// The number of the column `COL name VAL` of each word. Columns with one name have one number, in both texts.
inline std::vector<std::size_t> columns_of_words(const Encoding& encoding) {
  const std::vector<Word>& words = encoding.words;
  std::vector<std::size_t> column_of(words.size());
  std::vector<std::string> names{""};
  for (std::size_t w = 0; w < words.size();) {  // a text, or its second copy
    const std::uint8_t type = words[w].type;
    std::size_t column = 0;
    const auto marks = column_marks(encoding.texts[type]);
    auto mark = marks.begin();
    for (; w < words.size() && words[w].type == type; ++w) {
      for (; mark != marks.end() && words[w].begin >= mark->end_character; ++mark) {
        column = static_cast<std::size_t>(std::find(names.begin(), names.end(), mark->name) - names.begin());
        if (column == names.size()) names.push_back(mark->name);
      }
      column_of[w] = mark != marks.end() && words[w].begin >= mark->first_character ? no_column : column;
    }
  }
  return column_of;
}
}  // namespace detail

LEXFORMER_INLINE LexicalMatrix lexical_matrix(const Encoding& encoding, const LexicalOptions& options) {
  detail::check_levels(options.levels, "lexical_matrix");
  const auto [keys, key_of] = detail::LexicalKeys(encoding, options);
  const std::vector<Word>& words = encoding.words;
  // Without same_column all words are of one column.
  const auto column_of = options.same_column ? detail::columns_of_words(encoding) : std::vector<std::size_t>(words.size());

  // One value per pair of distinct words; -1 = not compared. Equal similarities have equal bits, so they share a level.
  std::vector<double> values(keys.size() * keys.size(), -1.0);
  const unsigned steps = options.levels == 0 ? 0 : options.levels - 1;
  const auto meet = [&](std::size_t a, std::size_t b) {
    return (options.self_attention || words[a].type != words[b].type) && column_of[a] == column_of[b] && column_of[a] != detail::no_column;
  };
  LexicalMatrix out;
  for (unsigned k = 1; k <= steps; ++k) out.level.push_back(static_cast<double>(k) / steps);
  for (std::size_t a = 0; a < words.size(); ++a)
    for (std::size_t b = 0; b < words.size(); ++b) {
      double& value = values[key_of[a] * keys.size() + key_of[b]];
      if (value >= 0.0 || !meet(a, b)) continue;
      double s = detail::lexical_similarity(keys[key_of[a]], keys[key_of[b]], options);
      // Ties go to the lower level. The 1e-9 ensures that even if the compiler fuses product and difference (FMA).
      if (steps > 0)
        s = out.level[static_cast<std::size_t>(std::ceil(std::min(s, 1.0) * steps - 0.5 - 1e-9))];
      else
        out.level.push_back(s);
      value = values[key_of[b] * keys.size() + key_of[a]] = s;
    }
  detail::sort_levels(out.level);

  std::vector<std::uint16_t> codes;  // of the values
  for (const double value : values) codes.push_back(value >= 0.0 ? detail::lexical_code(out.level, value) : std::uint16_t{0});
  out.size = encoding.size();
  out.code.assign(out.size * out.size, 0);
  for (std::size_t a = 0; a < words.size(); ++a) {
    std::uint16_t* const row = out.code.data() + words[a].first * out.size;
    for (std::size_t b = 0; b < words.size(); ++b)
      if (meet(a, b)) std::fill(row + words[b].first, row + words[b].last, codes[key_of[a] * keys.size() + key_of[b]]);
    for (std::size_t i = words[a].first + 1; i < words[a].last; ++i) std::copy_n(row, out.size, out.code.data() + i * out.size);
  }
  return out;
}

}  // namespace lexformer
#endif
