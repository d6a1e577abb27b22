// SPDX-License-Identifier: MIT
// Edits of one word as optical character recognition makes them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/random.hpp"

namespace lexformer {

/// Characters and pairs of characters whose printed shapes are alike, so that each is read as the other: those named most often in studies
/// of recognition errors (Kukich, "Techniques for Automatically Correcting Words in Text", ACM Computing Surveys 1992; Rice, Nagy and
/// Nartker, "Optical Character Recognition: An Illustrated Guide to the Frontier", 1999). The list is our own and holds no frequencies.
std::vector<std::pair<std::string_view, std::string_view>> ocr_confusions();

/// Replaces one place of a word, drawn evenly from all places and confusions, by what it is confused with. A word without such a place is
/// returned as it is.
std::string ocr_edit(const std::string& word, RandomStream& random);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE std::vector<std::pair<std::string_view, std::string_view>> ocr_confusions() {
  return {{"0", "o"}, {"0", "O"}, {"0", "D"}, {"0", "Q"}, {"1", "l"},  {"1", "i"},  {"1", "I"},  {"l", "i"},  {"l", "I"},  {"i", "j"},
          {"2", "z"}, {"2", "Z"}, {"5", "s"}, {"5", "S"}, {"6", "b"},  {"6", "G"},  {"8", "B"},  {"9", "g"},  {"9", "q"},  {"c", "e"},
          {"b", "h"}, {"h", "n"}, {"n", "r"}, {"u", "v"}, {"f", "t"},  {"g", "q"},  {"O", "Q"},  {"C", "G"},  {"E", "F"},  {"U", "V"},
          {"a", "o"}, {"e", "o"}, {"v", "y"}, {"l", "t"}, {"rn", "m"}, {"nn", "m"}, {"cl", "d"}, {"vv", "w"}, {"ii", "u"}, {"li", "h"}};
}

LEXFORMER_INLINE std::string ocr_edit(const std::string& word, RandomStream& random) {
  struct Place {
    std::size_t begin, length;
    std::string_view read_as;
  };
  const auto confusions = ocr_confusions();
  std::vector<Place> places;
  for (std::size_t i = 0; i < word.size(); ++i)
    for (const auto& [a, b] : confusions)
      for (const auto& [from, to] : {std::pair{a, b}, {b, a}})
        if (std::string_view(word).substr(i).starts_with(from)) places.push_back({i, from.size(), to});
  if (places.empty()) return word;
  const Place& place = places[static_cast<std::size_t>(random.below(places.size()))];
  std::string out = word;
  return out.replace(place.begin, place.length, place.read_as);
}

}  // namespace lexformer
#endif
