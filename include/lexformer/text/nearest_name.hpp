// SPDX-License-Identifier: MIT
// "Did you mean ...?" suggestions for unknown names of options, columns, tensors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {
/// levenshtein() with transpositions of adjacent characters as one edit: modle, model: 1 - 1/5 = 0.8.
double similarity_with_swaps(std::u32string_view a, std::u32string_view b);

/// A name as nearest_name() compares it.
std::u32string folded_name(std::string_view name);
}  // namespace detail

/// The candidate most similar to `name` by edit distance; the first if several are. Returns "" if no similarity is at least `least`.
/// Only the first max_similarity_characters of each name are compared, in lower case and without spaces around them.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates, double least = 0.6);

/// The end of a message about an unknown name: "; did you mean 'attention'?", or "" if no candidate is similar.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

namespace detail {
LEXFORMER_INLINE double similarity_with_swaps(std::u32string_view a, std::u32string_view b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty() ? 1.0 : 0.0;
  std::vector<std::size_t> row(b.size() + 1), above(row), next(row);  // distances for the first i, i - 1, i + 1 characters of a
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    next[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = std::min({row[j] + (a[i] == b[j] ? 0 : 1), row[j + 1] + 1, next[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) next[j + 1] = std::min(next[j + 1], above[j - 1] + 1);
    }
    std::swap(above, row);
    std::swap(row, next);
  }
  return 1.0 - static_cast<double>(row.back()) / static_cast<double>(std::max(a.size(), b.size()));
}

LEXFORMER_INLINE std::u32string folded_name(std::string_view name) {
  const std::size_t begin = std::min(name.find_first_not_of(" \t"), name.size()), end = name.find_last_not_of(" \t") + 1;
  return to_utf32(lower_case(name.substr(begin, end > begin ? std::min(end - begin, max_similarity_characters) : 0)));
}
}  // namespace detail

LEXFORMER_INLINE std::string nearest_name(std::string_view name, std::span<const std::string> candidates, double least) {
  std::string best;
  const auto text = detail::folded_name(name);
  for (const std::string& other : candidates)
    if (const double s = detail::similarity_with_swaps(text, detail::folded_name(other)); s >= least && (best.empty() || s > least)) {
      least = s;
      best = other;
    }
  return best;
}

LEXFORMER_INLINE std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string best = nearest_name(name, candidates);
  return best.empty() ? "" : "; did you mean " + in_quotes(best) + "?";
}

}  // namespace lexformer
#endif
