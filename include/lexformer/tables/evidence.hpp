// SPDX-License-Identifier: MIT
// What the search for candidates says of a pair: how similar the two records are, and how far they stand out among their candidates. This
// is the score without a model; with one, it is combined with the model's score (combined_score.hpp) and decides clear pairs (cascade.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/tables/blocking.hpp"
#include "lexformer/tables/cascade.hpp"

namespace lexformer {

/// How far each candidate stands out: its score minus the largest score of the other candidates of its left or its right text (0 if there
/// are none). Negative: one of the texts has a better candidate. The scores of `none` are 0, and so are the leads.
/// one_list: left and right places are of the same list.
std::vector<float> candidate_leads(std::span<const Candidate> candidates, bool one_list);

/// Candidates and their leads (candidate_leads()), which depend on all candidates of both records.
struct Evidence {
  std::vector<Candidate> candidates;
  std::vector<float> leads;
  bool one_table;

  Evidence(std::vector<Candidate> all, bool one);

  std::size_t size() const { return candidates.size(); }
  CheapEvidence of(std::size_t i) const { return {static_cast<double>(candidates[i].score), static_cast<double>(leads[i])}; }
  /// The score without a model. Two tables: s / (s + o) with the cosine s and the largest cosine o of the other candidates of either
  /// record, so 1/2 or more if neither has a more similar one. One table: s, since a record may have several duplicates.
  double similarity(std::size_t i) const;
  /// The number of each pair of records among the candidates; nothing for a pair that is not a candidate.
  std::vector<std::optional<std::size_t>> find(std::span<const std::pair<std::size_t, std::size_t>> pairs) const;
  /// Drops candidates; the others keep their leads.
  void keep_if(const std::function<bool(const Candidate&)>& keep);
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "lexformer/core/hash.hpp"

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

LEXFORMER_INLINE Evidence::Evidence(std::vector<Candidate> all, bool one)
    : candidates(std::move(all)), leads(candidate_leads(candidates, one)), one_table(one) {}

LEXFORMER_INLINE double Evidence::similarity(std::size_t i) const {
  const auto e = of(i);
  return one_table || e.score <= 0 ? e.score : e.score / (e.score + (e.score - e.lead));
}

LEXFORMER_INLINE std::vector<std::optional<std::size_t>> Evidence::find(std::span<const std::pair<std::size_t, std::size_t>> pairs) const {
  const auto key = [&](std::size_t left, std::size_t right) { return detail::pair_number(left, right, one_table); };
  std::unordered_map<std::uint64_t, std::optional<std::size_t>, SeededHash> numbers;
  for (const auto& [left, right] : pairs) numbers[key(left, right)];
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (const auto asked = numbers.find(key(candidates[i].left, candidates[i].right)); asked != numbers.end()) asked->second = i;
  std::vector<std::optional<std::size_t>> out;
  for (const auto& [left, right] : pairs) out.push_back(numbers.at(key(left, right)));
  return out;
}

LEXFORMER_INLINE void Evidence::keep_if(const std::function<bool(const Candidate&)>& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (keep(candidates[i])) {
      candidates[kept] = candidates[i];
      leads[kept++] = leads[i];
    }
  candidates.resize(kept);
  leads.resize(kept);
}

}  // namespace lexformer
#endif
