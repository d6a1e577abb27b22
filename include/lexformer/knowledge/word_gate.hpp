// SPDX-License-Identifier: MIT
// A gate for each pair of tokens from a number for each pair of words of two texts, e.g. their similarity.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/features.hpp"

namespace lexformer {

/// The words of an encoding's tokens, and a number for each pair of words of both texts.
struct WordPairs {
  std::vector<std::int32_t> words{};  // (n): the index of the token's word among the words of its text; -1: none
  std::vector<double> values{};       // (left, right), row-major; empty: there is one text alone
  std::size_t right = 0;
};

/// Makes a gate for each pair of tokens, in batch order, under a name in Batch::features: a real number per pair,
///   gate[p, q] = gate[q, p] = values[i, j]   for a token p of word i of the first text and a token q of word j of the second,
///   1 otherwise.
/// `pairs` is called by several threads.
FeatureMaker pair_gate(std::function<WordPairs(const Encoding&)> pairs, std::string name);

/// Computes the similarity of each word of `left` with each of `right` -> (left, right), row-major. It is called by several threads.
using WordSimilarities = std::function<std::vector<double>(std::span<const std::string> left, std::span<const std::string> right)>;

/// Makes the gate whose values are the similarities of the tokenizer's words, in its normalization (Encoding::text). Errors: `similarities`
/// returns another number of values.
FeatureMaker word_gate(WordSimilarities similarities, std::string name);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cstddef>
#include <utility>

#include "lexformer/core/parallel.hpp"
#include "lexformer/text/encoding.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE FeatureMaker pair_gate(std::function<WordPairs(const Encoding&)> pairs, std::string name) {
  return [pairs = std::move(pairs), name = std::move(name)](std::span<const Encoding> encodings, Batch& batch) {
    std::vector<double> gates(batch.offsets.pairs(), 1);
    parallel_for(encodings.size(), 1, [&](std::size_t s, std::size_t) {
      const Encoding& e = encodings[s];
      const WordPairs found = pairs(e);
      if (found.values.empty()) return;
      const std::size_t n = e.size();
      double* gate = gates.data() + batch.offsets.pair_begin(s);
      for (std::size_t p = 0; p < n; ++p)
        for (std::size_t q = p + 1; q < n; ++q) {
          if (found.words[p] < 0 || found.words[q] < 0 || e.text_ids[p] == e.text_ids[q]) continue;
          const auto [left, right] = e.text_ids[p] < e.text_ids[q] ? std::pair{p, q} : std::pair{q, p};  // a left text may be repeated
          gate[p * n + q] = gate[q * n + p] =
              found.values[static_cast<std::size_t>(found.words[left]) * found.right + static_cast<std::size_t>(found.words[right])];
        }
    });
    batch.features[name] = {Per::pair, std::move(gates)};
  };
}

LEXFORMER_INLINE FeatureMaker word_gate(WordSimilarities similarities, std::string name) {
  const auto pairs = [similarities = std::move(similarities), name](const Encoding& e) -> WordPairs {
    WordPairs found;
    found.words.assign(e.size(), -1);
    std::vector<std::string> texts[2];
    for (const Word& word : e.words) {
      std::fill(found.words.begin() + static_cast<std::ptrdiff_t>(word.first), found.words.begin() + static_cast<std::ptrdiff_t>(word.last),
                static_cast<std::int32_t>(texts[word.type].size()));
      texts[word.type].push_back(to_utf8(e.text(word)));
    }
    if (texts[0].empty() || texts[1].empty()) return {};
    found.values = similarities(texts[0], texts[1]);
    found.right = texts[1].size();
    if (found.values.size() != texts[0].size() * found.right)
      fail(name, "got ", found.values.size(), " similarities of ", texts[0].size(), " and ", found.right, " words");
    return found;
  };
  return pair_gate(pairs, std::move(name));
}

}  // namespace lexformer
#endif
