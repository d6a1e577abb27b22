// SPDX-License-Identifier: MIT
// Lists of other words for LOVE's training: synonyms and hard negatives, from the vectors and the spellings of the words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/words/near_words.hpp"

namespace lexformer {

/// LOVE's hard negatives: words that are spelled alike and mean something else. For each word: the words of `near` (near_words()) that are
/// not among its synonyms and whose vectors have a cosine of at most `most_cosine`, in the order of `near`. Errors: the lists and vectors
/// have different numbers of words.
std::vector<std::vector<std::uint32_t>> hard_negatives(const std::vector<std::vector<NearWord>>& near,
                                                       const std::vector<std::vector<std::uint32_t>>& synonyms,
                                                       const Tensor<float>& vectors, double most_cosine);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

#include "lexformer/core/parallel.hpp"
#include "lexformer/ops/nearest.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<std::vector<std::uint32_t>> hard_negatives(const std::vector<std::vector<NearWord>>& near,
                                                                        const std::vector<std::vector<std::uint32_t>>& synonyms,
                                                                        const Tensor<float>& vectors, double most_cosine) {
  const auto unit = detail::unit_rows(vectors, "hard_negatives");
  const std::size_t d = unit.dim(1);
  if (near.size() != unit.dim(0) || synonyms.size() != unit.dim(0))
    fail("hard_negatives", near.size(), " and ", synonyms.size(), " lists for ", unit.dim(0), " vectors");
  std::vector<std::vector<std::uint32_t>> lists(near.size());
  parallel_for(near.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin; w < end; ++w)
      for (const NearWord& other : near[w]) {
        const float *const a = unit.data() + w * d, *const b = unit.data() + other.index * d;
        double cosine = 0;
        for (std::size_t j = 0; j < d; ++j) cosine += static_cast<double>(a[j]) * static_cast<double>(b[j]);
        const bool synonym = std::find(synonyms[w].begin(), synonyms[w].end(), other.index) != synonyms[w].end();
        if (!synonym && cosine <= most_cosine) lists[w].push_back(other.index);
      }
  });
  return lists;
}

}  // namespace lexformer
#endif
