// SPDX-License-Identifier: MIT
// A gate for each pair of tokens from the similarities of the words of two texts.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/features.hpp"

namespace lexformer {

/// Computes the similarity of each word of `left` with each of `right` -> (left, right), row-major. It is called by several threads.
using WordSimilarities = std::function<std::vector<double>(std::span<const std::string> left, std::span<const std::string> right)>;

/// Makes a gate for each pair of tokens, in batch order, under a name in Batch::features: a real number per pair,
///   gate[p, q] = gate[q, p] = similarity of the words of p and q   for a token p of the first text and a token q of the second,
///   1 otherwise.
/// The words are the tokenizer's, in its normalization (Encoding::text). Errors: `similarities` returns another number of values.
FeatureMaker word_gate(WordSimilarities similarities, std::string name);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE FeatureMaker word_gate(WordSimilarities similarities, std::string name) {
  return [similarities = std::move(similarities), name = std::move(name)](std::span<const Encoding> encodings, Batch& batch) {
    std::vector<double> gates(batch.offsets.pairs(), 1);
    parallel_for(encodings.size(), 1, [&](std::size_t s, std::size_t) {
      const Encoding& e = encodings[s];
      std::vector<const Word*> of_type[2];
      std::vector<std::string> texts[2];
      for (const Word& word : e.words) {
        of_type[word.type].push_back(&word);
        texts[word.type].push_back(to_utf8(e.text(word)));
      }
      if (texts[0].empty() || texts[1].empty()) return;
      const auto values = similarities(texts[0], texts[1]);
      if (values.size() != texts[0].size() * texts[1].size())
        fail(name, "got ", values.size(), " similarities of ", texts[0].size(), " and ", texts[1].size(), " words");
      const std::size_t n = e.size();
      double* gate = gates.data() + batch.offsets.pair_begin(s);
      auto value = values.begin();
      for (const Word* a : of_type[0])
        for (const Word* b : of_type[1]) {
          for (std::size_t p = a->first; p < a->last; ++p)
            for (std::size_t q = b->first; q < b->last; ++q) gate[p * n + q] = gate[q * n + p] = *value;
          ++value;
        }
    });
    batch.features[name] = {Per::pair, std::move(gates)};
  };
}

}  // namespace lexformer
#endif
