// SPDX-License-Identifier: MIT
// A second implementation of the similarities, by definition and without regard to speed. Only for short words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/text/similarity.hpp"

namespace reference {

/// The counts of one alignment, i.e. a choice of characters of a and b that share a column, in word order.
struct Alignment {
  int equal = 0, different = 0;
  int left_out = 0;          // characters of both words without a partner
  int left_out_between = 0;  // those between the first and the last column
};

/// Calls use(alignment) for every choice of k characters of a and k of b as columns, for every k.
template <class Use>
void all_alignments(std::u32string_view a, std::u32string_view b, Use&& use) {
  const auto subsets = [](std::size_t n) {  // all subsets of positions, each in order
    std::vector<std::vector<std::size_t>> sets(std::size_t{1} << n);
    for (std::size_t mask = 0; mask < sets.size(); ++mask)
      for (std::size_t i = 0; i < n; ++i)
        if ((mask >> i) & 1) sets[mask].push_back(i);
    return sets;
  };
  const auto columns_a = subsets(a.size()), columns_b = subsets(b.size());
  for (std::size_t x = 0; x < std::size_t{1} << a.size(); ++x)
    for (std::size_t y = 0; y < std::size_t{1} << b.size(); ++y) {
      if (__builtin_popcountll(x) != __builtin_popcountll(y)) continue;
      const auto &i = columns_a[x], &j = columns_b[y];
      const std::size_t k = i.size();
      Alignment alignment;
      for (std::size_t n = 0; n < k; ++n) ++(a[i[n]] == b[j[n]] ? alignment.equal : alignment.different);
      alignment.left_out = static_cast<int>(a.size() + b.size() - 2 * k);
      if (k > 0) alignment.left_out_between = static_cast<int>(i.back() - i.front() + j.back() - j.front() + 2 - 2 * k);
      use(alignment);
    }
}

inline double jaccard_ngrams(std::u32string_view a, std::u32string_view b, std::size_t n) {
  if (a.empty() != b.empty()) return 0;
  if (a.empty()) return 1;
  std::set<std::vector<int>> left, all;
  const auto collect = [n](std::u32string_view word, std::set<std::vector<int>>& runs) {
    std::vector<int> marked{-1};
    for (char32_t c : word) marked.push_back(static_cast<int>(c));
    marked.push_back(-2);
    for (auto i = marked.begin(); marked.end() - i >= static_cast<std::ptrdiff_t>(n); ++i)
      runs.emplace(i, i + static_cast<std::ptrdiff_t>(n));
  };
  collect(a, left);
  collect(a, all);
  std::set<std::vector<int>> right;
  collect(b, right);
  collect(b, all);
  double common = 0;
  for (const auto& run : left) common += static_cast<double>(right.count(run));
  return common / static_cast<double>(all.size());
}

inline double jaro_winkler(std::u32string_view a, std::u32string_view b) {
  if (a.empty() && b.empty()) return 1;
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size()), reach = std::max(std::max(n, m) / 2 - 1, 0);
  std::set<int> free_a, free_b;
  for (int i = 0; i < n; ++i) free_a.insert(i);
  for (int j = 0; j < m; ++j) free_b.insert(j);
  for (int i = 0; i < n; ++i)
    for (int j : free_b)
      if (std::abs(i - j) <= reach && a[static_cast<std::size_t>(i)] == b[static_cast<std::size_t>(j)]) {
        free_a.erase(i);
        free_b.erase(j);
        break;
      }
  std::vector<char32_t> pairs_a, pairs_b;
  for (int i = 0; i < n; ++i)
    if (free_a.count(i) == 0) pairs_a.push_back(a[static_cast<std::size_t>(i)]);
  for (int j = 0; j < m; ++j)
    if (free_b.count(j) == 0) pairs_b.push_back(b[static_cast<std::size_t>(j)]);
  if (pairs_a.empty()) return 0;
  int wrong = 0;
  for (std::size_t k = 0; k < pairs_a.size(); ++k) wrong += pairs_a[k] != pairs_b[k];
  const double c = static_cast<double>(pairs_a.size());
  const double jaro = (c / n + c / m + (c - wrong / 2) / c) / 3;
  const auto shorter = static_cast<std::ptrdiff_t>(std::min({a.size(), b.size(), std::size_t{4}}));
  const auto digit = std::find_if(a.begin(), a.begin() + shorter, [](char32_t x) { return x >= '0' && x <= '9'; });
  const auto p = std::mismatch(a.begin(), digit, b.begin()).first - a.begin();
  return jaro > 0.7 ? jaro + static_cast<double>(p) / 10 * (1 - jaro) : jaro;
}

inline double jaccard(std::u32string_view a, std::u32string_view b) {
  const std::set<char32_t> x(a.begin(), a.end()), y(b.begin(), b.end());
  std::set<char32_t> both, any = x;
  for (char32_t c : y) (x.count(c) == 1 ? both : any).insert(c);
  return any.empty() ? 1 : static_cast<double>(both.size()) / static_cast<double>(any.size());
}

/// levenshtein, lcs, smith_waterman and smith_waterman_raw of a pair: the best over all alignments.
struct AlignmentSimilarities {
  double levenshtein, lcs, smith_waterman, smith_waterman_raw;
};
inline AlignmentSimilarities alignment_similarities(std::u32string_view a, std::u32string_view b) {
  int distance = static_cast<int>(a.size() + b.size()), common = 0, score = 0;
  all_alignments(a, b, [&](const Alignment& x) {
    distance = std::min(distance, x.different + x.left_out);
    if (x.different == 0) common = std::max(common, x.equal);
    score = std::max(score, 2 * x.equal - x.different - x.left_out_between);
  });
  const double longer = static_cast<double>(std::max(a.size(), b.size())), shorter = static_cast<double>(std::min(a.size(), b.size()));
  if (longer == 0) return {1, 1, 1, 0};
  return {1 - distance / longer, common / longer, shorter == 0 ? 0 : score / (2 * shorter), static_cast<double>(score)};
}

}  // namespace reference
