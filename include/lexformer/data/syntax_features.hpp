// SPDX-License-Identifier: MIT
// The masks of Syntax-BERT (Bai et al. 2021, "Syntax-BERT: Improving Pre-trained Transformers with Syntax Trees") from dependency trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/dependency_features.hpp"

namespace lexformer {

/// The number of masks:  2 depth + 3.  At most 16, the bits of a code.
constexpr std::size_t syntax_masks(std::size_t depth) { return 2 * depth + 3; }
inline constexpr std::size_t max_syntax_depth = 6;

/// Makes the masks of each pair of tokens as codes, in batch order, under a name in Batch::features. Bit k of the code of (i, j) is set if
/// mask k lets the query i see the key j:
///   0 ... depth - 1          the word of j is the ancestor of the word of i at distance 1 ... depth
///   depth ... 2 depth - 1    it is the descendant at this distance
///   2 depth                  the words are siblings: different words with the same head
///   2 depth + 1              the tokens have different type ids
///   2 depth + 2              all pairs
/// The pieces of a word have the relations of their word, and none among themselves. Tokens without a word ([CLS], [SEP]) have none.
/// A query that a mask lets see no key sees all keys under this mask. That is the limit of adding the same large negative number to all of
/// its scores, without its rounding errors.
/// The codes have no levels. Errors: depth is 0 or above max_syntax_depth; when called: a text has no tree (kind usage).
FeatureMaker syntax_feature(std::shared_ptr<const DependencyTable> trees, std::size_t depth, std::string name = "syntax");

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

namespace detail {
/// Bits 0 ... 2 depth of each pair of words of a text, row-major.
inline std::vector<std::uint16_t> tree_relations(const DependencyTrees& text, std::size_t depth) {
  const std::size_t n = text.words.size();
  std::vector<std::uint16_t> relations(n * n, 0);
  const auto add = [&](std::size_t query, std::size_t key, std::size_t mask) {
    relations[query * n + key] = static_cast<std::uint16_t>(relations[query * n + key] | (1u << mask));
  };
  for (std::size_t i = 0; i < n; ++i) {
    std::int32_t above = text.words[i].head;
    for (std::size_t distance = 1; distance <= depth && above >= 0; ++distance) {
      const auto j = static_cast<std::size_t>(above);
      add(i, j, distance - 1);
      add(j, i, depth + distance - 1);
      above = text.words[j].head;
    }
    for (std::size_t j = 0; j < n; ++j)
      if (i != j && text.words[i].head >= 0 && text.words[i].head == text.words[j].head) add(i, j, 2 * depth);
  }
  return relations;
}
}  // namespace detail

LEXFORMER_INLINE FeatureMaker syntax_feature(std::shared_ptr<const DependencyTable> trees, std::size_t depth, std::string name) {
  if (depth == 0 || depth > max_syntax_depth) fail_usage(name, "the depth must be 1 to ", max_syntax_depth, ", got ", depth);
  return [=, name = std::move(name)](std::span<const Encoding> encodings, Batch& batch) {
    std::vector<std::uint16_t> codes(batch.offsets.pairs());
    parallel_for(encodings.size(), 1, [&](std::size_t s, std::size_t) {
      const Encoding& e = encodings[s];
      const TokenWords tokens = token_words(e, *trees, name);
      std::vector<std::vector<std::uint16_t>> relations;
      for (const DependencyTrees* text : tokens.texts) relations.push_back(detail::tree_relations(*text, depth));
      const unsigned cross = 1u << (2 * depth + 1), full = cross << 1, all = (full << 1) - 1;
      const std::size_t n = e.size();
      for (std::size_t i = 0; i < n; ++i) {
        std::uint16_t* row = codes.data() + batch.offsets.pair_begin(s) + i * n;
        const std::uint8_t type = e.type_ids[i];
        unsigned seen = 0;
        for (std::size_t j = 0; j < n; ++j) {
          unsigned code = full;
          if (e.type_ids[j] != type)
            code |= cross;
          else if (tokens.words[i] >= 0 && tokens.words[j] >= 0)
            code |= relations[type][static_cast<std::size_t>(tokens.words[i]) * tokens.texts[type]->words.size() +
                                    static_cast<std::size_t>(tokens.words[j])];
          row[j] = static_cast<std::uint16_t>(code);
          seen |= code;
        }
        for (std::size_t j = 0; j < n; ++j) row[j] = static_cast<std::uint16_t>(row[j] | (all & ~seen));
      }
    });
    batch.features[name] = {Per::pair, Codes{std::move(codes), {}}};
  };
}

}  // namespace lexformer
#endif
