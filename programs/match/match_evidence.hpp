// SPDX-License-Identifier: MIT
// What the search for candidates says of a pair: how similar the two records are, and how far they stand out among their candidates. It is
// the score of `match` without a model; with one, it is combined with the model's score, and decides the clear pairs (cascade).
#pragma once

#include <cstdint>
#include <lexformer/tables/blocking.hpp>
#include <lexformer/tables/candidate_leads.hpp>
#include <lexformer/tables/cascade.hpp>
#include <optional>
#include <unordered_map>

#include "cli/program.hpp"

namespace program {

/// Candidates and their evidence, which depends on all candidates of both records, so it is taken before they are divided into shards.
struct Evidence {
  std::vector<lx::Candidate> candidates;
  std::vector<float> leads;
  bool one_table;

  Evidence(std::vector<lx::Candidate> all, bool one)
      : candidates(std::move(all)), leads(lx::candidate_leads(candidates, one)), one_table(one) {}

  lx::CheapEvidence of(std::size_t i) const { return {static_cast<double>(candidates[i].score), static_cast<double>(leads[i])}; }
  /// The score without a model. Two tables: s / (s + o) with the cosine s and the largest cosine o of the other candidates of either
  /// record, so 1/2 or more if neither has a more similar one. One table: s, since a record may have several duplicates.
  double similarity(std::size_t i) const {
    const auto e = of(i);
    return one_table || e.score <= 0 ? e.score : e.score / (e.score + (e.score - e.lead));
  }
  /// The number of each pair of records among the candidates; nothing if it is no candidate.
  std::vector<std::optional<std::size_t>> find(const std::vector<std::pair<std::size_t, std::size_t>>& pairs) const {
    const auto key = [&](std::size_t left, std::size_t right) {
      if (one_table && left > right) std::swap(left, right);
      return static_cast<std::uint64_t>(left) << 32 | right;
    };
    std::unordered_map<std::uint64_t, std::optional<std::size_t>> numbers;
    for (const auto& [left, right] : pairs) numbers[key(left, right)];
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (const auto asked = numbers.find(key(candidates[i].left, candidates[i].right)); asked != numbers.end()) asked->second = i;
    std::vector<std::optional<std::size_t>> out;
    for (const auto& [left, right] : pairs) out.push_back(numbers.at(key(left, right)));
    return out;
  }
  template <class Keep>
  void keep_if(Keep&& keep) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (keep(candidates[i])) {
        candidates[kept] = candidates[i];
        leads[kept++] = leads[i];
      }
    candidates.resize(kept);
    leads.resize(kept);
  }
};

}  // namespace program
