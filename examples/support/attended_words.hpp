// SPDX-License-Identifier: MIT
// The words that `match --words N --words-by attention` shows: similar or equal words that attend to each other.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "match_words.hpp"

namespace program {

/// A distinct word of one of the two texts, and the tokens of all its occurrences.
struct AttendingWord {
  std::u32string_view text;
  std::vector<std::size_t> tokens{};
};

/// whole: space-separated words, with their punctuation. Words without a letter or a digit are left out.
inline std::vector<AttendingWord> attending_words(const lx::Encoding& e, std::uint8_t type, bool whole) {
  std::vector<AttendingWord> words;
  for (const lx::Word& word : e.words) {
    const auto text = whole ? e.whole_text(word) : e.text(word);
    if (word.type != type || std::none_of(text.begin(), text.end(), lx::is_word_character)) continue;
    auto known = std::find_if(words.begin(), words.end(), [&](const AttendingWord& w) { return w.text == text; });
    if (known == words.end()) known = words.insert(words.end(), {text});
    for (std::size_t t = word.first; t < word.last; ++t) known->tokens.push_back(t);
  }
  return words;
}

/// The attention probabilities P (n, n), row-major: the mean over all layers and heads.
template <class T, class Dev>
std::vector<double> mean_attention(const lx::CrossEncoder<T, Dev>& model, const lx::Encoding& encoding) {
  const lx::NoGrad no_grad;
  const auto layers = model(model.batch(std::span(&encoding, 1)), {}, {.attentions = lx::Attentions::probabilities}).encoder.attentions;
  std::vector<double> mean;
  for (const auto& layer : layers) {
    const auto heads = lx::cast<float>(layer).value().template to<lx::Cpu>();  // (heads, n n)
    mean.resize(heads.dim(1));
    const double share = 1 / static_cast<double>(layers.size() * heads.dim(0));
    for (std::size_t h = 0; h < heads.dim(0); ++h)
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * static_cast<double>(heads.at(h, i));
  }
  return mean;
}

/// The pairs of a word a of the left and a word b of the right text with the largest s(a, b) w(a, b), at most `most`, in descending order,
/// each token in one pair at most: s is the similarity, at least 0.5; w the attention between both,
///   w(a, b) = 1/2 (1/|a| sum_{i in a, j in b} P_ij + 1/|b| sum_{i in a, j in b} P_ji).
/// Words that both texts have are shown, too; words that truncation cut off are not.
template <class T, class Dev>
std::vector<ShownWords> attended_words(const lx::CrossEncoder<T, Dev>& model, const std::string& left, const std::string& right,
                                       const lx::LexicalOptions& options, std::size_t most) {
  const auto encoding = model.encode(left, right);
  const auto attention = mean_attention(model, encoding);
  const std::size_t n = encoding.size();
  const auto between = [&](const AttendingWord& a, const AttendingWord& b) {
    double there = 0, back = 0;
    for (const std::size_t i : a.tokens)
      for (const std::size_t j : b.tokens) {
        there += attention[i * n + j];
        back += attention[j * n + i];
      }
    return (there / static_cast<double>(a.tokens.size()) + back / static_cast<double>(b.tokens.size())) / 2;
  };
  struct Found {
    AttendingWord left, right;
    double similarity, attention;
  };
  std::vector<Found> found;
  for (const bool whole : {false, true}) {
    if (options.words == (whole ? lx::LexicalWords::tokenizer : lx::LexicalWords::whitespace)) continue;
    const auto lefts = attending_words(encoding, 0, whole), rights = attending_words(encoding, 1, whole);
    for (const auto& a : lefts)
      for (const auto& b : rights)
        if (const double s = a.text == b.text ? 1 : lx::similarity(options.similarity, a.text, b.text); s >= 0.5)
          found.push_back({a, b, s, between(a, b)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.similarity * a.attention > b.similarity * b.attention; });
  // A word is used once, also as a part of a space-separated word or as the whole of one.
  const auto meet = [](const AttendingWord& a, const AttendingWord& b) {
    return std::find_first_of(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end()) != a.tokens.end();
  };
  std::vector<Found> chosen;
  for (const Found& pair : found)
    if (chosen.size() < most &&
        std::none_of(chosen.begin(), chosen.end(), [&](const Found& c) { return meet(c.left, pair.left) || meet(c.right, pair.right); }))
      chosen.push_back(pair);
  std::vector<ShownWords> shown;
  for (const Found& c : chosen) shown.push_back({lx::to_utf8(c.left.text), lx::to_utf8(c.right.text), c.similarity, c.attention});
  return shown;
}

}  // namespace program
