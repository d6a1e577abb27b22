// SPDX-License-Identifier: MIT
// Active learning: which pairs of records are worth labelling by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/tables/assignment.hpp"
#include "lexformer/tables/labelled_pairs.hpp"
#include "lexformer/tables/text_vectors.hpp"

namespace lexformer {

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
/// spread, random: as SuggestBy says. `sample` needs probabilities: sample_pairs().
///
/// `texts`: the vectors of all records, the left ones first; `right` is where the right ones begin (0: one table).
/// The draws depend on nothing but the arguments. Errors: a score is not finite; a threshold outside of (0, 1); `sample`.
std::vector<std::size_t> suggest_labels(std::span<const ScoredPair> pairs, const TextVectors& texts, std::size_t right,
                                        const SuggestOptions& options = {});

struct DrawnPair {
  std::size_t place;  // in the list of pairs
  double weight;      // 1 / the probability with which it was drawn: as many pairs it stands for
};

/// Draws `count` of the pairs with these probabilities of a match and decisions, half of them among the matches, half among the others, a
/// pair with the probability ~ sqrt(p (1 - p)): Neyman's allocation for an expected number of matches (Cochran 1977, section 5.5). Both
/// halves are drawn systematically in the order of p, so the sample spreads over all probabilities. Fewer if there are not so many. In a
/// random order, so that the first labels are a sample as well. Depends on nothing but the arguments. Errors: sizes that differ; a
/// probability outside of [0, 1].
std::vector<DrawnPair> sample_pairs(std::span<const double> probabilities, std::span<const std::uint8_t> matches, std::size_t count,
                                    std::uint64_t seed = 1);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
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
                                                         const SuggestOptions& given) {
  SuggestOptions options = given;
  options.count = std::min(options.count, pairs.size());
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
    case SuggestBy::sample:
      fail_usage("suggest_labels", "`sample` needs probabilities: sample_pairs()");
    case SuggestBy::random:
      break;
  }
  std::vector<std::size_t> all(pairs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  random.shuffle(all);
  all.resize(std::min(all.size(), options.count));
  return all;
}

namespace detail {

/// Draws `count` of these places, systematically in their order, with probabilities ~ deviation; a place whose probability would exceed 1
/// is drawn for sure.
inline void draw_systematically(const std::vector<std::size_t>& places, std::span<const double> deviation, std::size_t count,
                                RandomStream& random, std::vector<DrawnPair>& drawn) {
  std::vector<std::uint8_t> sure(places.size());
  double wanted = static_cast<double>(count), sum = 0;
  for (const std::size_t place : places) sum += deviation[place];
  for (bool changed = true; changed && wanted > 0;) {
    changed = false;
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (sure[k] != 0 || deviation[places[k]] * wanted < sum) continue;
      sure[k] = 1;
      sum -= deviation[places[k]];
      --wanted;
      changed = true;
      drawn.push_back({places[k], 1});
    }
  }
  if (!(wanted >= 1) || !(sum > 0)) return;
  double next = random.uniform(), passed = 0;
  for (std::size_t k = 0; k < places.size(); ++k) {
    if (sure[k] != 0) continue;
    const double share = deviation[places[k]] * wanted / sum;
    passed += share;
    if (passed <= next) continue;
    drawn.push_back({places[k], 1 / share});
    ++next;
  }
}

}  // namespace detail

LEXFORMER_INLINE std::vector<DrawnPair> sample_pairs(std::span<const double> probabilities, std::span<const std::uint8_t> matches,
                                                     std::size_t count, std::uint64_t seed) {
  if (matches.size() != probabilities.size())
    fail("sample_pairs", probabilities.size(), " probabilities and ", matches.size(), " decisions");
  std::vector<double> deviation;
  std::vector<std::size_t> places[2];
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const double p = probabilities[i];
    if (!(p >= 0 && p <= 1)) fail_usage("sample_pairs", "a probability is ", p, ", expected a number from 0 to 1");
    deviation.push_back(std::sqrt(std::max(p * (1 - p), 4e-6)));  // no pair is sure beforehand
    places[matches[i] != 0 ? 1 : 0].push_back(i);
  }
  RandomStream random(seed, 0);
  std::size_t of_matches = std::min((count + 1) / 2, places[1].size());
  const std::size_t of_others = std::min(count - of_matches, places[0].size());
  of_matches = std::min(count - of_others, places[1].size());
  std::vector<DrawnPair> drawn;
  for (const std::size_t match : {1u, 0u}) {
    auto& list = places[match];
    std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
    detail::draw_systematically(list, deviation, match == 1 ? of_matches : of_others, random, drawn);
  }
  random.shuffle(drawn);
  return drawn;
}

}  // namespace lexformer
#endif
