// SPDX-License-Identifier: MIT
// The words that `match --words N --words-by attention` shows: similar or equal words that attend to each other.
#pragma once

#include "cli/trained_model.hpp"
#include "match/match_words.hpp"

namespace program {

/// The pairs of a word a of the left and a word b of the right text with the largest s(a, b) w(a, b), at most `most`, in descending order,
/// each token in one pair at most: s is the similarity, at least 0.5; w the attention P between both, the mean over all layers and heads,
///   w(a, b) = 1/2 (1/|a| sum_{i in a, j in b} P_ij + 1/|b| sum_{i in a, j in b} P_ji).
/// Words that both texts have are shown, too; words that truncation cut off are not.
inline std::vector<ShownWords> attended_words(const lx::Scorer& model, const std::string& left, const std::string& right,
                                              const lx::LexicalOptions& options, std::size_t most) {
  const auto encoding = model.encode(left, right);
  const auto attention = model.mean_attention(encoding);
  const std::size_t n = encoding.size();
  const auto between = [&](const lx::TextWord& a, const lx::TextWord& b) {
    double there = 0, back = 0;
    for (const std::size_t i : a.tokens)
      for (const std::size_t j : b.tokens) {
        there += attention[i * n + j];
        back += attention[j * n + i];
      }
    return (there / static_cast<double>(a.tokens.size()) + back / static_cast<double>(b.tokens.size())) / 2;
  };
  std::vector<ShownWords> shown;
  for (const auto& pair : lx::weighted_word_pairs(encoding, options, most, between)) shown.push_back({pair, pair.weight});
  return shown;
}

}  // namespace program
