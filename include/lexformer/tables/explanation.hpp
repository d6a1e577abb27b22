// SPDX-License-Identifier: MIT
// The words of two records that a model compares.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/models/scorer.hpp"
#include "lexformer/text/word_pairs.hpp"

namespace lexformer {

struct ExplainedWords {
  WordPair words;
  std::optional<double> attention{};
};

/// How a model with LEA compares words; for one without, LEA's defaults.
LexicalOptions lexical_options(const TransformerConfig& config);

/// The different words that LEA sees as the most similar (word_pairs()), at most `most`.
std::vector<ExplainedWords> similar_words(const Scorer& model, const std::string& left, const std::string& right, std::size_t most);

/// The pairs of a word a of the left and a word b of the right text with the largest s(a, b) w(a, b), at most `most`, in descending order,
/// each token in one pair at most: s is the similarity, at least 0.5; w the attention P between both, the mean over all layers and heads,
///   w(a, b) = 1/2 (1/|a| sum_{i in a, j in b} P_ij + 1/|b| sum_{i in a, j in b} P_ji).
/// Words that both texts have are pairs as well; words that truncation cut off are not. Takes a forward pass.
std::vector<ExplainedWords> attended_words(const Scorer& model, const std::string& left, const std::string& right, std::size_t most);

/// "sonny~sony; 16gb~16-gb".
std::string to_text(const std::vector<ExplainedWords>& pairs);

/// [{"left": "sonny", "right": "sony", "similarity": 0.8}], numbers with four digits.
std::string to_json_text(const std::vector<ExplainedWords>& pairs);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <iomanip>
#include <utility>

#include "lexformer/attention/lea_options.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE LexicalOptions lexical_options(const TransformerConfig& config) {
  LexicalOptions options;
  for (const auto& term : config.attention) {
    if (term.name != "lea") continue;
    const auto lea = term.get<LeaOptions>();
    options.similarity = lea.lexical.similarity;
    options.words = lea.lexical.words;
  }
  return options;
}

LEXFORMER_INLINE std::vector<ExplainedWords> similar_words(const Scorer& model, const std::string& left, const std::string& right,
                                                           std::size_t most) {
  std::vector<ExplainedWords> shown;
  for (auto& pair : word_pairs(model.encode(left, right), lexical_options(model.config()), most)) shown.push_back({std::move(pair)});
  return shown;
}

LEXFORMER_INLINE std::vector<ExplainedWords> attended_words(const Scorer& model, const std::string& left, const std::string& right,
                                                            std::size_t most) {
  const auto encoding = model.encode(left, right);
  const auto attention = model.mean_attention(encoding);
  const std::size_t n = encoding.size();
  const auto between = [&](const TextWord& a, const TextWord& b) {
    double there = 0, back = 0;
    for (const std::size_t i : a.tokens)
      for (const std::size_t j : b.tokens) {
        there += attention[i * n + j];
        back += attention[j * n + i];
      }
    return (there / static_cast<double>(a.tokens.size()) + back / static_cast<double>(b.tokens.size())) / 2;
  };
  std::vector<ExplainedWords> shown;
  for (const auto& pair : weighted_word_pairs(encoding, lexical_options(model.config()), most, between))
    shown.push_back({pair, pair.weight});
  return shown;
}

LEXFORMER_INLINE std::string to_text(const std::vector<ExplainedWords>& pairs) {
  std::string text;
  for (const auto& pair : pairs) text += cat(text.empty() ? "" : "; ", pair.words.left, "~", pair.words.right);
  return text;
}

LEXFORMER_INLINE std::string to_json_text(const std::vector<ExplainedWords>& pairs) {
  std::string text = "[";
  for (const auto& pair : pairs) {
    text += cat(std::setprecision(4), text.size() == 1 ? "" : ",", "{\"left\":", Json(pair.words.left).dump(),
                ",\"right\":", Json(pair.words.right).dump(), ",\"similarity\":", pair.words.similarity);
    if (pair.attention) text += cat(std::setprecision(4), ",\"attention\":", *pair.attention);
    text += '}';
  }
  return text + "]";
}

}  // namespace lexformer
#endif
