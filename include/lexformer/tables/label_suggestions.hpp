// SPDX-License-Identifier: MIT
// Active learning: which pairs of records are worth labelling by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/tables/assignment.hpp"
#include "lexformer/tables/text_vectors.hpp"

namespace lexformer {

/// uncertainty  pairs near the threshold that differ from each other: for a model that is to be trained further
/// spread       one pair of each of `count` equally wide intervals of the score, so that matches are found among the many other pairs:
///              for a first set of labels, without a model
/// random       each pair with the same probability: the labels are a sample, so they also serve for validation
enum class SuggestBy { uncertainty, spread, random };
template <>
inline constexpr Named<SuggestBy> names_of<SuggestBy>[] = {
    {"uncertainty", SuggestBy::uncertainty}, {"spread", SuggestBy::spread}, {"random", SuggestBy::random}};

struct SuggestOptions {
  SuggestBy by = SuggestBy::uncertainty;
  std::size_t count = 50;
  double threshold = 0.5;  // uncertainty: scores of at least this are matches; scores are probabilities
  std::uint64_t seed = 1;
};

/// How little a score in [0, 1] says about the decision: 1 at the threshold, 0 at 0 and 1, linear between them. Scores outside of [0, 1]
/// have 0.
double uncertainty(double score, double threshold);

/// The places in `pairs` of min(count, pairs) different pairs, in the order in which they are to be labelled.
///
/// uncertainty: of the 10 * count most uncertain pairs (of equal ones the earlier), each one is drawn with a probability proportional to
/// u d^2: u its uncertainty(), d its distance to the nearest pair that is already drawn. This is the seeding of k-means++ (Arthur and
/// Vassilvitskii 2007) with the weights u; BADGE (Ash et al. 2020) draws batches in the same way. The distance of two pairs is
/// 1 - the largest cosine of a text of the one and a text of the other, so two pairs that share a record have the distance 0.
/// Pairs that have no weight left are drawn last, in the order of their uncertainty.
///
/// `texts`: the vectors of all records, the left ones first; `right` is where the right ones begin (0: one table).
/// The draws depend on nothing but the arguments. Errors: a score is not finite; a threshold outside of (0, 1).
std::vector<std::size_t> suggest_labels(std::span<const ScoredPair> pairs, const TextVectors& texts, std::size_t right,
                                        const SuggestOptions& options = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <numeric>

#include "lexformer/core/random.hpp"

namespace lexformer {

LEXFORMER_INLINE double uncertainty(double score, double threshold) {
  if (score <= 0 || score >= 1) return 0;
  return score < threshold ? score / threshold : (1 - score) / (1 - threshold);
}

namespace detail {

inline std::vector<std::size_t> suggest_uncertain(std::span<const ScoredPair> pairs, const TextVectors& texts, std::size_t right,
                                                  const SuggestOptions& options, RandomStream& random) {
  const auto weight = [&](std::size_t i) { return uncertainty(pairs[i].score, options.threshold); };
  std::vector<std::size_t> pool(pairs.size()), drawn;
  std::iota(pool.begin(), pool.end(), std::size_t{0});
  std::stable_sort(pool.begin(), pool.end(), [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  pool.resize(std::min(pool.size(), 10 * options.count));
  std::vector<double> distance(pool.size(), 1);
  while (drawn.size() < std::min(options.count, pool.size())) {
    const auto mass = [&](std::size_t i) { return weight(pool[i]) * distance[i] * distance[i]; };
    double sum = 0;
    for (std::size_t i = 0; i < pool.size(); ++i) sum += mass(i);
    std::size_t next = pool.size();
    double rest = random.uniform() * sum;
    for (std::size_t i = 0; i < pool.size(); ++i) {
      if (mass(i) <= 0) continue;
      next = i;  // rounding may leave a rest behind the last one
      rest -= mass(i);
      if (rest < 0) break;
    }
    if (next == pool.size()) break;
    const ScoredPair& chosen = pairs[pool[next]];
    drawn.push_back(pool[next]);
    distance[next] = 0;
    for (std::size_t i = 0; i < pool.size(); ++i) {
      if (distance[i] <= 0) continue;
      const ScoredPair& p = pairs[pool[i]];
      float most = 0;
      for (const std::size_t a : {p.left, right + p.right})
        for (const std::size_t b : {chosen.left, right + chosen.right}) most = a == b ? 1 : std::max(most, texts.cosine(a, b));
      distance[i] = std::min(distance[i], std::max(0.0, 1.0 - static_cast<double>(most)));
    }
  }
  for (const std::size_t i : pool)
    if (drawn.size() < options.count && std::find(drawn.begin(), drawn.end(), i) == drawn.end()) drawn.push_back(i);
  return drawn;
}

/// One pair of each interval, drawn; then of those that are left, until there are enough.
inline std::vector<std::size_t> suggest_spread(std::span<const ScoredPair> pairs, std::size_t count, RandomStream& random) {
  const auto by_score = [](const ScoredPair& a, const ScoredPair& b) { return a.score < b.score; };
  const auto [least, most] = std::minmax_element(pairs.begin(), pairs.end(), by_score);
  const double low = least->score, width = (most->score - low) / static_cast<double>(count);
  std::vector<std::vector<std::size_t>> intervals(count);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double place = width > 0 ? (pairs[i].score - low) / width : 0;
    intervals[std::min(count - 1, static_cast<std::size_t>(place))].push_back(i);
  }
  for (auto& interval : intervals) random.shuffle(interval);
  std::vector<std::size_t> drawn;
  for (std::size_t round = 0; drawn.size() < std::min(count, pairs.size()); ++round)
    for (std::size_t i = count; i-- > 0 && drawn.size() < count;)  // the most similar pairs first: matches are rare
      if (round < intervals[i].size()) drawn.push_back(intervals[i][round]);
  return drawn;
}

}  // namespace detail

LEXFORMER_INLINE std::vector<std::size_t> suggest_labels(std::span<const ScoredPair> pairs, const TextVectors& texts, std::size_t right,
                                                         const SuggestOptions& options) {
  detail::check_scores("suggest_labels", pairs);
  if (!(options.threshold > 0 && options.threshold < 1))
    fail_usage("suggest_labels", "the threshold is ", options.threshold, ", expected a number between 0 and 1");
  if (pairs.empty() || options.count == 0) return {};
  RandomStream random(options.seed, 0);
  switch (options.by) {
    case SuggestBy::uncertainty:
      return detail::suggest_uncertain(pairs, texts, right, options, random);
    case SuggestBy::spread:
      return detail::suggest_spread(pairs, options.count, random);
    case SuggestBy::random:
      break;
  }
  std::vector<std::size_t> all(pairs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  random.shuffle(all);
  all.resize(std::min(all.size(), options.count));
  return all;
}

}  // namespace lexformer
#endif
