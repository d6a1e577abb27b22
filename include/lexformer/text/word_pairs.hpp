// SPDX-License-Identifier: MIT
// The different words of two texts that LEA sees as alike: what a lexical model can have recognised despite a typo.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/lexical.hpp"
#include "lexformer/text/wordpiece.hpp"

namespace lexformer {

struct WordPair {
  std::string left, right;  // normalized by the tokenizer, as LexicalOptions::words takes them
  double similarity = 0;
};

/// The pairs of a word of the left and a word of the right text that differ, with the largest similarities (LexicalOptions::similarity, of
/// at least `least`), at most `most`, in descending order; of equal ones the earlier words first. Each word is in one pair at most, and a
/// word that both texts have is in none. With LexicalWords::both, a pair shows the words that have the larger similarity. Words without a
/// letter or a digit are left out. Levels are not applied.
std::vector<WordPair> word_pairs(const Encoding& encoding, const LexicalOptions& options, std::size_t most, double least = 0.5);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <string_view>

#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<WordPair> word_pairs(const Encoding& encoding, const LexicalOptions& options, std::size_t most, double least) {
  // The distinct words of each text; those that both have are dropped.
  const auto words_of = [&](std::uint8_t type, bool whole) {
    std::vector<std::u32string_view> words;
    for (const Word& word : encoding.words) {
      const auto text = whole ? encoding.whole_text(word) : encoding.text(word);
      if (word.type == type && std::any_of(text.begin(), text.end(), is_word_character) &&
          std::find(words.begin(), words.end(), text) == words.end())
        words.push_back(text);
    }
    return words;
  };
  struct Found {
    std::u32string_view left, right;
    double similarity;
  };
  std::vector<Found> found;
  for (const bool whole : {false, true}) {
    if (options.words == (whole ? LexicalWords::tokenizer : LexicalWords::whitespace)) continue;
    const auto left = words_of(0, whole), right = words_of(1, whole);
    const auto has = [](const auto& words, std::u32string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
    for (const auto a : left)
      for (const auto b : right)
        if (!has(right, a) && !has(left, b))
          if (const double s = similarity(options.similarity, a, b); s >= least) found.push_back({a, b, s});
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.similarity > b.similarity; });
  // A word is used once, also as a part of a space-separated word or as the whole of one.
  const auto meet = [](std::u32string_view a, std::u32string_view b) { return a.find(b) != a.npos || b.find(a) != b.npos; };
  std::vector<Found> chosen;
  for (const Found& pair : found) {
    if (chosen.size() == most) break;
    if (std::none_of(chosen.begin(), chosen.end(), [&](const Found& c) { return meet(c.left, pair.left) || meet(c.right, pair.right); }))
      chosen.push_back(pair);
  }
  std::vector<WordPair> out;
  for (const Found& pair : chosen) out.push_back({to_utf8(pair.left), to_utf8(pair.right), pair.similarity});
  return out;
}

}  // namespace lexformer
#endif
