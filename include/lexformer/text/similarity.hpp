// SPDX-License-Identifier: MIT
// Word similarity measures: the five evaluated for LEA (Almagro et al. 2023, section 3.2), and character n-grams.
// All are symmetric. All but smith_waterman_raw are in [0, 1]: 1 for equal words and two empty ones, 0 if exactly one is empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/names.hpp"

namespace lexformer {

enum class Similarity { jaccard, levenshtein, lcs, jaro_winkler, smith_waterman, smith_waterman_raw, jaccard_bigrams, jaccard_trigrams };

template <>
inline constexpr Named<Similarity> names_of<Similarity>[] = {{"jaccard", Similarity::jaccard},
                                                             {"levenshtein", Similarity::levenshtein},
                                                             {"lcs", Similarity::lcs},
                                                             {"jaro_winkler", Similarity::jaro_winkler},
                                                             {"smith_waterman", Similarity::smith_waterman},
                                                             {"smith_waterman_raw", Similarity::smith_waterman_raw},
                                                             {"jaccard_bigrams", Similarity::jaccard_bigrams},
                                                             {"jaccard_trigrams", Similarity::jaccard_trigrams}};

/// Jaccard similarity |A & B| / |A | B| of the sets of characters.   black, blk: {b,l,k} of {b,l,a,c,k} = 3/5 = 0.6.
/// Ignores order and repetition: listen, silent = 1.
double jaccard(std::u32string_view a, std::u32string_view b);

/// Jaccard similarity |A & B| / |A | B| of the sets of character n-grams. Words are enclosed in boundary marks < and >, so order,
/// prefix and suffix matter.   black, blk, n = 2: {<b, bl, k>} of {<b, bl, la, ac, ck, k>, lk} = 3/7 = 0.4286; n = 3: 1/7.
double jaccard_ngrams(std::u32string_view a, std::u32string_view b, std::size_t n);

/// Levenshtein distance: the minimum number of insertions, deletions and substitutions that turn a into b; `most` if it is larger.
std::size_t edit_distance(std::u32string_view a, std::u32string_view b, std::size_t most = std::u32string_view::npos);

/// Normalized Levenshtein similarity 1 - d / max(|a|, |b|), d = edit_distance(a, b).
/// screen, sbreen: 1 - 1/6 = 0.8333.
double levenshtein(std::u32string_view a, std::u32string_view b);

/// Length of the longest common subsequence / max(|a|, |b|).   black, blk: b l k = 3/5 = 0.6.
double lcs(std::u32string_view a, std::u32string_view b);

/// Jaro-Winkler similarity: J + p (1 - J) / 10 if J > 0.7, else J;   J = (m/|a| + m/|b| + (m - t)/m) / 3, 0 if m = 0.
/// m = number of matches: each character of the shorter word matches the first equal, unmatched one of the other word within
/// max(|a|, |b|)/2 - 1 positions; t = half the number of positions at which the two sequences of matched characters differ, rounded down;
/// p = length of the common prefix, at most 4, ending before the first digit (as Winkler's strcmp95 and the Python package jaro-winkler).
/// martha, marhta: m = 6, t = 1, J = (1 + 1 + 5/6)/3 = 0.9444, p = 3: 0.9611.
double jaro_winkler(std::u32string_view a, std::u32string_view b);

/// Smith-Waterman score: the maximum over local alignments, with match 2, mismatch -1 and gap -1 per character. Not normalized: 2 |a| for
/// equal words.   black, blk: b l - - k = 2 + 2 - 1 - 1 + 2 = 4.
double smith_waterman_raw(std::u32string_view a, std::u32string_view b);

/// Normalized score smith_waterman_raw / (2 min(|a|, |b|)): 1 if one word contains the other.   black, blk: 4/6 = 0.6667.
double smith_waterman(std::u32string_view a, std::u32string_view b);

/// The number of leading characters of a word that are compared. Most measures take time proportional to the product of the lengths,
/// and BERT's tokenizer maps words of more than 100 characters to the unknown token anyway.
inline constexpr std::size_t max_similarity_characters = 128;

/// The similarity of two words, comparing their first max_similarity_characters.
double similarity(Similarity measure, std::u32string_view a, std::u32string_view b);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE double jaccard(std::u32string_view a, std::u32string_view b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty() ? 1.0 : 0.0;
  // ASCII words, i.e. most words, need two 64-bit masks.
  std::uint64_t sets[2][2] = {};
  const auto fill = [](std::u32string_view word, std::uint64_t(&set)[2]) {
    for (char32_t c : word) {
      if (c >= 128) return false;
      set[c / 64] |= std::uint64_t{1} << (c % 64);
    }
    return true;
  };
  if (fill(a, sets[0]) && fill(b, sets[1])) {
    const auto ones = [](std::uint64_t low, std::uint64_t high) {
      return static_cast<double>(__builtin_popcountll(low) + __builtin_popcountll(high));
    };
    return ones(sets[0][0] & sets[1][0], sets[0][1] & sets[1][1]) / ones(sets[0][0] | sets[1][0], sets[0][1] | sets[1][1]);
  }
  const auto characters = [](std::u32string_view word) {
    std::u32string set(word);
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    return set;
  };
  const std::u32string x = characters(a), y = characters(b);
  std::size_t common = 0;
  for (char32_t c : x)
    if (std::binary_search(y.begin(), y.end(), c)) ++common;
  return static_cast<double>(common) / static_cast<double>(x.size() + y.size() - common);
}

LEXFORMER_INLINE double jaccard_ngrams(std::u32string_view a, std::u32string_view b, std::size_t n) {
  if (a.empty() || b.empty()) return a.empty() && b.empty() ? 1.0 : 0.0;
  const auto ngrams = [n](std::u32string_view word) {
    const std::u32string marked = char32_t{0x110000} + std::u32string(word) + char32_t{0x110001};  // beyond Unicode
    std::vector<std::u32string> set;
    for (std::size_t i = 0; n <= marked.size() && i <= marked.size() - n; ++i) set.push_back(marked.substr(i, n));
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    return set;
  };
  const auto x = ngrams(a), y = ngrams(b);
  std::vector<std::u32string> common;
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(common));
  return static_cast<double>(common.size()) / static_cast<double>(x.size() + y.size() - common.size());
}

LEXFORMER_INLINE std::size_t edit_distance(std::u32string_view a, std::u32string_view b, std::size_t most) {
  std::vector<std::size_t> row(b.size() + 1);  // row[j] = distance between the first i characters of a and the first j of b
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i), least = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, diagonal + 1, row[j - 1] + 1});
      least = std::min(least, row[j]);
    }
    if (least >= most) return most;  // no later row has a smaller number
  }
  return std::min(row[b.size()], most);
}

LEXFORMER_INLINE double levenshtein(std::u32string_view a, std::u32string_view b) {
  if (a.empty() && b.empty()) return 1.0;
  return 1.0 - static_cast<double>(edit_distance(a, b)) / static_cast<double>(std::max(a.size(), b.size()));
}

LEXFORMER_INLINE double lcs(std::u32string_view a, std::u32string_view b) {
  if (a.empty() && b.empty()) return 1.0;
  std::vector<std::size_t> row(b.size() + 1, 0);
  for (char32_t c : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = c == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return static_cast<double>(row[b.size()]) / static_cast<double>(std::max(a.size(), b.size()));
}

LEXFORMER_INLINE double jaro_winkler(std::u32string_view a, std::u32string_view b) {
  if (a.size() > b.size() || (a.size() == b.size() && a > b)) std::swap(a, b);  // makes the result exactly symmetric
  if (a.empty()) return b.empty() ? 1.0 : 0.0;
  const std::size_t window = std::max<std::size_t>(b.size() / 2, 1) - 1;
  std::u32string from_a;  // the matched characters in the order of a
  std::vector<bool> paired(b.size(), false);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = i - std::min(i, window); j < std::min(i + window + 1, b.size()); ++j)
      if (!paired[j] && a[i] == b[j]) {
        paired[j] = true;
        from_a += a[i];
        break;
      }
  if (from_a.empty()) return 0.0;
  std::size_t differing = 0, next = 0;
  for (std::size_t j = 0; j < b.size(); ++j)
    if (paired[j] && from_a[next++] != b[j]) ++differing;

  const auto m = static_cast<double>(from_a.size());
  const std::size_t transpositions = differing / 2;  // rounded down
  const double jaro =
      (m / static_cast<double>(a.size()) + m / static_cast<double>(b.size()) + (m - static_cast<double>(transpositions)) / m) / 3.0;
  if (jaro <= 0.7) return jaro;
  std::size_t prefix = 0;
  while (prefix < std::min<std::size_t>(a.size(), 4) && a[prefix] == b[prefix] && !(a[prefix] >= '0' && a[prefix] <= '9')) ++prefix;
  return jaro + static_cast<double>(prefix) * 0.1 * (1.0 - jaro);
}

LEXFORMER_INLINE double smith_waterman_raw(std::u32string_view a, std::u32string_view b) {
  std::vector<int> row(b.size() + 1, 0);  // row[j] = best score of an alignment ending at character i of a and character j of b
  int best = 0;
  for (char32_t c : a) {
    int diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int paired = diagonal + (c == b[j - 1] ? 2 : -1);
      diagonal = row[j];
      row[j] = std::max({0, paired, diagonal - 1, row[j - 1] - 1});
      best = std::max(best, row[j]);
    }
  }
  return best;
}

LEXFORMER_INLINE double smith_waterman(std::u32string_view a, std::u32string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  if (shorter == 0) return a.empty() && b.empty() ? 1.0 : 0.0;
  return smith_waterman_raw(a, b) / (2.0 * static_cast<double>(shorter));
}

LEXFORMER_INLINE double similarity(Similarity measure, std::u32string_view a, std::u32string_view b) {
  a = a.substr(0, max_similarity_characters);
  b = b.substr(0, max_similarity_characters);
  switch (measure) {
    case Similarity::jaccard:
      return jaccard(a, b);
    case Similarity::levenshtein:
      return levenshtein(a, b);
    case Similarity::lcs:
      return lcs(a, b);
    case Similarity::jaro_winkler:
      return jaro_winkler(a, b);
    case Similarity::smith_waterman:
      return smith_waterman(a, b);
    case Similarity::smith_waterman_raw:
      return smith_waterman_raw(a, b);
    case Similarity::jaccard_bigrams:
      return jaccard_ngrams(a, b, 2);
    case Similarity::jaccard_trigrams:
      return jaccard_ngrams(a, b, 3);
  }
  fail("similarity", "the measure is not an enumerator of Similarity");
}

}  // namespace lexformer
#endif
