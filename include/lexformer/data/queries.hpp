// SPDX-License-Identifier: MIT
// Pairs of a query (the left text) and a document (the right text), as data for ranking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/examples.hpp"

namespace lexformer {

/// The number of each example's query, from 0 in order of appearance; equal left texts are one query.
std::vector<std::size_t> query_numbers(std::span<const PairExample> examples);

/// Adds `count` negatives for each relevant example (label 1, or a target above 0), behind all examples: its query and the right text of
/// another example, drawn by the seed, with label and target 0. A text that is a document of the query already, relevant or not, is never
/// drawn; a query for which all texts are its documents gets fewer. Negatives of one query differ.
std::vector<PairExample> with_negatives(std::vector<PairExample> examples, std::size_t count, std::uint64_t seed);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lexformer/core/hash.hpp"
#include "lexformer/core/random.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<std::size_t> query_numbers(std::span<const PairExample> examples) {
  std::unordered_map<std::string_view, std::size_t, SeededHash> known;
  std::vector<std::size_t> numbers;
  for (const PairExample& e : examples) numbers.push_back(known.emplace(e.left, known.size()).first->second);
  return numbers;
}

LEXFORMER_INLINE std::vector<PairExample> with_negatives(std::vector<PairExample> examples, std::size_t count, std::uint64_t seed) {
  const auto query = query_numbers(examples);
  std::unordered_map<std::string_view, std::size_t, SeededHash> places;  // of the distinct documents
  std::vector<std::size_t> first;                                        // an example with each
  std::vector<std::set<std::size_t>> of_query(examples.size());
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto [at, added] = places.emplace(examples[i].right, first.size());
    if (added) first.push_back(i);
    of_query[query[i]].insert(at->second);
  }
  std::vector<PairExample> negatives;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (examples[i].label != 1 && !(examples[i].target > 0)) continue;
    RandomStream random(seed, random_site::negatives, static_cast<std::uint32_t>(i));
    auto& taken = of_query[query[i]];
    for (std::size_t k = 0; k < count && taken.size() < first.size(); ++k) {
      std::size_t drawn;
      do drawn = static_cast<std::size_t>(random.below(first.size()));
      while (!taken.insert(drawn).second);
      negatives.push_back({examples[i].left, examples[first[drawn]].right, 0, 0.0f, {}});
    }
  }
  examples.insert(examples.end(), negatives.begin(), negatives.end());
  return examples;
}

}  // namespace lexformer
#endif
