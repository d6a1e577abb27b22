// SPDX-License-Identifier: MIT
// The tokens and words of a text or a pair, as a tokenizer gives them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// A word as split by the tokenizer: a run without whitespace and punctuation, one punctuation character, one Chinese ideograph, or a
/// special token in the text, e.g. [MASK]. Encoding::text and Encoding::whole_text return its characters.
struct Word {
  std::uint32_t begin, end;              // characters (code points) in the input text, end excluded
  std::uint32_t first, last;             // tokens, last excluded; at least one
  std::uint32_t text_begin, text_end;    // its own text in Encoding::characters
  std::uint32_t whole_begin, whole_end;  // the text of the whole space-separated word
  std::uint8_t type;                     // index of the input text: 0 or 1
  std::uint16_t pieces = 1;              // number of pieces, also of those that truncation or keep_whole() removed
};

/// The tokens and words of a text or a pair. ids, type_ids, word_ids, offsets and text_ids have one value per token.
struct Encoding {
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> type_ids;                            // the model's token types; of BERT the same as text_ids
  std::vector<std::int32_t> word_ids;                            // index of the token's word, from 0 in each text; -1: none, as of [CLS]
  std::vector<std::pair<std::uint32_t, std::uint32_t>> offsets;  // begin and end in characters (code points) of the original text

  std::vector<std::uint8_t> text_ids{};  // 0: the first text and the special tokens around it, also of a second copy; 1: the others
  std::vector<std::string> texts{};      // the input: 1 or 2 texts
  std::vector<Word> words{};             // in the order of their tokens; without words that lost all tokens to truncation
  std::u32string characters{};           // the normalized texts of the words, concatenated

  std::size_t size() const { return ids.size(); }

  /// The normalized text of a word: lower case and without accents for an uncased tokenizer. Complete even if the word is unknown or
  /// lost tokens to truncation.
  std::u32string_view text(const Word& word) const {
    return std::u32string_view(characters).substr(word.text_begin, word.text_end - word.text_begin);
  }
  /// The normalized text of the space-separated word that contains a word, with punctuation: `dht-fs5` for each of dht, - and fs5.
  /// A Chinese ideograph and a special token in the text are whole words.
  std::u32string_view whole_text(const Word& word) const {
    return std::u32string_view(characters).substr(word.whole_begin, word.whole_end - word.whole_begin);
  }
  /// The word of a token; null for the added special tokens.
  const Word* word_of(std::size_t token) const {
    const auto next = std::upper_bound(words.begin(), words.end(), token, [](std::size_t t, const Word& word) { return t < word.first; });
    return next == words.begin() || token >= std::prev(next)->last ? nullptr : &*std::prev(next);
  }
};

namespace detail {

/// Appends a token. text_ids and type_ids are filled when all tokens are known.
inline void add_token(Encoding& out, std::int32_t id, std::int32_t word, std::uint32_t begin, std::uint32_t end) {
  out.ids.push_back(id);
  out.word_ids.push_back(word);
  out.offsets.emplace_back(begin, end);
}

/// Removes the tokens begin .. end - 1, the last ones of a text, and the words that have no other tokens.
void erase_tokens(Encoding& out, std::size_t begin, std::size_t end);

/// Appends the tokens begin .. end - 1, a whole text, and its words once more. Words of both copies share their characters.
void repeat_tokens(Encoding& out, std::size_t begin, std::size_t end);

}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer::detail {

LEXFORMER_INLINE void erase_tokens(Encoding& out, std::size_t begin, std::size_t end) {
  if (begin == end) return;
  const auto cut = [](auto& list, std::size_t from, std::size_t to) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(from), list.begin() + static_cast<std::ptrdiff_t>(to));
    list.shrink_to_fit();
  };
  cut(out.ids, begin, end);
  cut(out.word_ids, begin, end);
  cut(out.offsets, begin, end);
  const auto word_at = [&](std::size_t token) {
    const auto at = std::find_if(out.words.begin(), out.words.end(), [&](const Word& word) { return word.first >= token; });
    return static_cast<std::size_t>(at - out.words.begin());
  };
  const std::size_t first = word_at(begin), last = word_at(end);
  if (first > 0) out.words[first - 1].last = std::min(out.words[first - 1].last, static_cast<std::uint32_t>(begin));
  const std::uint32_t from = first == 0 ? 0 : out.words[first - 1].whole_end;
  const auto to = last == out.words.size() ? static_cast<std::uint32_t>(out.characters.size()) : out.words[last].text_begin;
  const auto tokens = static_cast<std::uint32_t>(end - begin);
  for (std::size_t i = last; i < out.words.size(); ++i) {
    Word& word = out.words[i];
    for (auto* token : {&word.first, &word.last}) *token -= tokens;
    for (auto* place : {&word.text_begin, &word.text_end, &word.whole_begin, &word.whole_end}) *place -= to - from;
  }
  cut(out.characters, from, to);
  cut(out.words, first, last);
}

LEXFORMER_INLINE void repeat_tokens(Encoding& out, std::size_t begin, std::size_t end) {
  const auto shift = static_cast<std::uint32_t>(out.size() - begin);
  for (std::size_t t = begin; t < end; ++t) add_token(out, out.ids[t], out.word_ids[t], out.offsets[t].first, out.offsets[t].second);
  for (std::size_t i = 0, words = out.words.size(); i < words; ++i) {
    if (out.words[i].first < begin || out.words[i].last > end) continue;
    Word word = out.words[i];
    word.first += shift;
    word.last += shift;
    out.words.push_back(word);
  }
}

}  // namespace lexformer::detail
#endif
