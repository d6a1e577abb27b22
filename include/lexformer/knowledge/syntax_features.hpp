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
#include "lexformer/knowledge/dependency_features.hpp"

namespace lexformer {

/// The number of masks that hide anything; one more hides nothing.  2 depth + 2
constexpr std::size_t syntax_masks(std::size_t depth) { return 2 * depth + 2; }
inline constexpr std::size_t max_syntax_depth = 7;  // a code has 16 bits

/// Makes the masks of each pair of tokens as codes, in batch order, under a name in Batch::features. Bit k of the code of (i, j) is set if
/// mask k hides the key j from the query i. The masks show:
///   0 ... depth - 1          the ancestor at distance 1 ... depth: the keys of the word that is this ancestor of the query's word
///   depth ... 2 depth - 1    the descendants at distance 1 ... depth
///   2 depth                  the siblings: other words with the same head
///   2 depth + 1              the tokens with the other type id
/// The pieces of a word have the relations of their word, and none among themselves. Tokens without a word ([CLS], [SEP]) have none.
/// A mask that would hide all keys from a query hides none. To add one large negative number to all scores of a row has the same effect,
/// but rounding errors.
/// The codes have no levels. Errors (usage): depth is 0 or above max_syntax_depth; when called: a text has no tree.
FeatureMaker syntax_feature(std::shared_ptr<const DependencyTable> trees, std::size_t depth, std::string name = "syntax");

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/core/parallel.hpp"
#include "lexformer/text/encoding.hpp"

namespace lexformer {

namespace detail {
/// The masks 0 ... 2 depth that show word j to word i, as bits, row-major.
inline std::vector<unsigned> tree_relations(const DependencyTrees& text, std::size_t depth) {
  const std::size_t n = text.words.size();
  std::vector<unsigned> relations(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    std::int32_t above = text.words[i].head;
    for (std::size_t distance = 1; distance <= depth && above >= 0; ++distance) {
      const auto j = static_cast<std::size_t>(above);
      relations[i * n + j] |= 1u << (distance - 1);
      relations[j * n + i] |= 1u << (depth + distance - 1);
      above = text.words[j].head;
    }
    for (std::size_t j = 0; j < n; ++j)
      if (i != j && text.words[i].head >= 0 && text.words[i].head == text.words[j].head) relations[i * n + j] |= 1u << (2 * depth);
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
      std::vector<std::vector<unsigned>> relations;
      for (const DependencyTrees* text : tokens.texts) relations.push_back(detail::tree_relations(*text, depth));
      const unsigned cross = 1u << (2 * depth + 1);
      const std::size_t n = e.size();
      std::vector<unsigned> shown(n);  // of a row
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t type = e.text_ids[i];
        unsigned shows_any = 0;
        for (std::size_t j = 0; j < n; ++j) {
          shown[j] = 0;
          if (e.text_ids[j] != type)
            shown[j] = cross;
          else if (tokens.words[i] >= 0 && tokens.words[j] >= 0)
            shown[j] = relations[type][static_cast<std::size_t>(tokens.words[i]) * tokens.texts[type]->words.size() +
                                       static_cast<std::size_t>(tokens.words[j])];
          shows_any |= shown[j];
        }
        std::uint16_t* row = codes.data() + batch.offsets.pair_begin(s) + i * n;
        for (std::size_t j = 0; j < n; ++j) row[j] = static_cast<std::uint16_t>(shows_any & ~shown[j]);
      }
    });
    batch.features[name] = {Per::pair, Codes{std::move(codes), {}}};
  };
}

}  // namespace lexformer
#endif
