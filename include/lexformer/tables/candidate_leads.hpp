// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/tables/blocking.hpp"

namespace lexformer {

/// How far each candidate stands out: its score minus the largest score of the other candidates of its left or its right text (0 if there
/// are none). Negative: one of the texts has a better candidate. The scores of `none` are 0, and so are the leads.
/// one_list: left and right places are of the same list.
std::vector<float> candidate_leads(std::span<const Candidate> candidates, bool one_list);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

namespace lexformer {

LEXFORMER_INLINE std::vector<float> candidate_leads(std::span<const Candidate> candidates, bool one_list) {
  std::size_t lefts = 0, rights = 0;
  for (const auto& c : candidates) {
    lefts = std::max<std::size_t>(lefts, std::size_t{c.left} + 1);
    rights = std::max<std::size_t>(rights, std::size_t{c.right} + 1);
  }
  struct Best {  // the two largest scores of a text
    float first = 0, second = 0;
    void add(float score) {
      second = std::max(second, std::min(first, score));
      first = std::max(first, score);
    }
    float without(float score) const { return score == first ? second : first; }
  };
  const std::size_t shift = one_list ? 0 : lefts;
  std::vector<Best> best(one_list ? std::max(lefts, rights) : lefts + rights);
  for (const auto& c : candidates) {
    best[c.left].add(c.score);
    best[shift + c.right].add(c.score);
  }
  std::vector<float> leads;
  leads.reserve(candidates.size());
  for (const auto& c : candidates)
    leads.push_back(c.score - std::max(best[c.left].without(c.score), best[shift + c.right].without(c.score)));
  return leads;
}

}  // namespace lexformer
#endif
