// SPDX-License-Identifier: MIT
// Pairs of similar words of two texts, as LEA sees them. A lexical model can recognise such words despite a typo.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/encoding.hpp"
#include "lexformer/text/lexical.hpp"

namespace lexformer {

/// A distinct word of one of two texts.
struct TextWord {
  std::u32string_view text;           // in Encoding::characters: normalized by the tokenizer, as LexicalOptions::words takes it
  std::vector<std::size_t> tokens{};  // of all its occurrences
};

struct WordPair {
  std::string left, right;  // normalized by the tokenizer
  double similarity = 0;
  double weight = 1;  // of weighted_word_pairs()
};

/// The pairs of a word of the left and a word of the right text that differ, with the largest similarities (LexicalOptions::similarity, of
/// at least `least`), at most `most`, in descending order; of equal ones the earlier words first. Each token is in one pair at most, and a
/// word that both texts have is in none. With LexicalWords::both, a pair shows the words that have the larger similarity. Words without a
/// letter or a digit are left out, and those that truncation cut off. Words are compared and shown by without_punctuation(). Levels are
/// not applied.
std::vector<WordPair> word_pairs(const Encoding& encoding, const LexicalOptions& options, std::size_t most, double least = 0.5);

/// The same by the largest products of similarity and weight(left, right); `least` bounds the similarity. Here equal words are also
/// pairs, with the similarity 1.
std::vector<WordPair> weighted_word_pairs(const Encoding& encoding, const LexicalOptions& options, std::size_t most,
                                          const std::function<double(const TextWord& left, const TextWord& right)>& weight,
                                          double least = 0.5);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <set>

#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {

/// The distinct words of a text with a letter or a digit. whole: space-separated words, with their punctuation.
LEXFORMER_INLINE std::vector<TextWord> distinct_words(const Encoding& encoding, std::uint8_t type, bool whole) {
  std::vector<TextWord> words;
  for (const Word& word : encoding.words) {
    const auto text = without_punctuation(whole ? encoding.whole_text(word) : encoding.text(word));
    if (word.type != type || std::none_of(text.begin(), text.end(), is_word_character)) continue;
    auto known = std::find_if(words.begin(), words.end(), [&](const TextWord& w) { return w.text == text; });
    if (known == words.end()) known = words.insert(words.end(), {text});
    for (std::size_t t = word.first; t < word.last; ++t) known->tokens.push_back(t);
  }
  return words;
}

/// Removes the words that both texts have. Case does not make a word another one.
LEXFORMER_INLINE void leave_out_common(std::vector<TextWord>& lefts, std::vector<TextWord>& rights) {
  const auto lower = [](const TextWord& word) {
    std::u32string text(word.text);
    for (char32_t& c : text) c = to_lower(c);
    return text;
  };
  std::set<std::u32string> left, right;
  for (const auto& word : lefts) left.insert(lower(word));
  for (const auto& word : rights) right.insert(lower(word));
  std::erase_if(lefts, [&](const TextWord& word) { return right.contains(lower(word)); });
  std::erase_if(rights, [&](const TextWord& word) { return left.contains(lower(word)); });
}

/// weight: null for pairs of different words, all with the weight 1.
LEXFORMER_INLINE std::vector<WordPair> choose_word_pairs(const Encoding& encoding, const LexicalOptions& options, std::size_t most,
                                                         double least,
                                                         const std::function<double(const TextWord&, const TextWord&)>* weight) {
  struct Found {
    TextWord left, right;
    double similarity, weight;
  };
  std::vector<Found> found;
  for (const bool whole : {false, true}) {
    if (options.words == (whole ? LexicalWords::tokenizer : LexicalWords::whitespace)) continue;
    auto lefts = distinct_words(encoding, 0, whole), rights = distinct_words(encoding, 1, whole);
    if (weight == nullptr) leave_out_common(lefts, rights);
    for (const auto& a : lefts)
      for (const auto& b : rights) {
        if (const double s = a.text == b.text ? 1 : similarity(options.similarity, a.text, b.text); s >= least)
          found.push_back({a, b, s, weight == nullptr ? 1 : (*weight)(a, b)});
      }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.similarity * a.weight > b.similarity * b.weight; });
  // A space-separated word and a part of it have tokens in common.
  const auto meet = [](const TextWord& a, const TextWord& b) {
    return std::find_first_of(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end()) != a.tokens.end();
  };
  std::vector<const Found*> chosen;
  std::vector<WordPair> out;
  for (const Found& pair : found) {
    if (out.size() == most) break;
    if (std::any_of(chosen.begin(), chosen.end(), [&](const Found* c) { return meet(c->left, pair.left) || meet(c->right, pair.right); }))
      continue;
    chosen.push_back(&pair);
    out.push_back({to_utf8(pair.left.text), to_utf8(pair.right.text), pair.similarity, pair.weight});
  }
  return out;
}

}  // namespace detail

LEXFORMER_INLINE std::vector<WordPair> word_pairs(const Encoding& encoding, const LexicalOptions& options, std::size_t most, double least) {
  return detail::choose_word_pairs(encoding, options, most, least, nullptr);
}

LEXFORMER_INLINE std::vector<WordPair> weighted_word_pairs(const Encoding& encoding, const LexicalOptions& options, std::size_t most,
                                                           const std::function<double(const TextWord&, const TextWord&)>& weight,
                                                           double least) {
  return detail::choose_word_pairs(encoding, options, most, least, &weight);
}

}  // namespace lexformer
#endif
