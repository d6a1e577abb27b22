// SPDX-License-Identifier: MIT
// "Did you mean ...?" for names that are not known: options, columns, tensors.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "lexformer/core/error.hpp"
#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// The candidate most like `name` by Levenshtein's similarity, if that is at least `least`; of equally like ones the first. "": none is.
inline std::string nearest_name(std::string_view name, std::span<const std::string> candidates, double least = 0.6) {
  std::string best;
  const auto text = to_utf32(name.substr(0, 4 * max_similarity_characters));
  for (const std::string& other : candidates)
    if (const double s = similarity(Similarity::levenshtein, text, to_utf32(other)); s >= least && (best.empty() || s > least)) {
      least = s;
      best = other;
    }
  return best;
}

/// The end of a message about an unknown name: "; did you mean 'attention'?", or "" where no candidate is like it.
inline std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string best = nearest_name(name, candidates);
  return best.empty() ? "" : "; did you mean " + in_quotes(best) + "?";
}

}  // namespace lexformer
