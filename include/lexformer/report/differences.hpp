// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lexformer/report/svg.hpp"
#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// A text as HTML in which the words that the other text lacks are marked: <u class="near"> where it has one like it (Levenshtein
/// similarity of 0.6 or more, named in the tooltip), <b class="only"> where it has none. Words stand between spaces.
inline std::string mark_differences(std::string_view text, std::string_view other) {
  const auto words_of = [](std::string_view s) {
    std::vector<std::string_view> words;
    for (std::size_t begin = 0; begin < s.size();) {
      const std::size_t end = std::min(s.find(' ', begin), s.size());
      if (end > begin) words.push_back(s.substr(begin, end - begin));
      begin = end + 1;
    }
    return words;
  };
  const auto others = words_of(other);
  std::string html;
  for (const std::string_view word : words_of(text)) {
    double best = 0;
    std::string_view nearest;
    for (const std::string_view o : others)
      if (const double s = levenshtein(to_utf32(word), to_utf32(o)); s > best) {
        best = s;
        nearest = o;
      }
    if (!html.empty()) html += ' ';
    if (best == 1)
      html += escape_xml(word);
    else if (best >= 0.6)
      html += cat("<u class=\"near\" title=\"", escape_xml(nearest), "\">", escape_xml(word), "</u>");
    else
      html += cat("<b class=\"only\">", escape_xml(word), "</b>");
  }
  return html;
}

}  // namespace lexformer
