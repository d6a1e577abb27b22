// SPDX-License-Identifier: MIT
// Used by tests/oracles/check_wordnet.py. Reads lines "a b" of two words and writes for each their UERBERT similarity, or lines "word" and
// writes the base forms, with a + before those of each part of speech, and "name:min_depth:max_depth" of the synsets; or lines "= i j" of
// positions in the list of all synsets sorted by name, and writes their Wu-Palmer similarity (or None).
//   wordnet_stdin FOLDER
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "lexformer/knowledge/uerbert_similarity.hpp"

namespace lx = lexformer;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto wordnet = lx::WordNet::load(argv[1]);
  std::vector<lx::WordNet::Id> sorted;
  for (lx::WordNet::Id id = 0; id < wordnet->size(); ++id) sorted.push_back(id);
  std::sort(sorted.begin(), sorted.end(), [&](auto a, auto b) { return wordnet->name(a) < wordnet->name(b); });
  std::ios::sync_with_stdio(false);
  const auto exact = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return std::string(text);
  };
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream fields(line);
    std::string a, b;
    fields >> a >> b;
    if (a == "=") {
      const std::size_t i = std::stoul(b);
      std::size_t j = 0;
      fields >> j;
      const auto value = wordnet->wup_similarity(sorted.at(i), sorted.at(j));
      std::cout << (value ? exact(*value) : "None") << '\n';
    } else if (!b.empty()) {
      std::cout << exact(lx::uerbert_similarity(*wordnet, a, b)) << '\n';
    } else {
      for (const auto part : {lx::PartOfSpeech::noun, lx::PartOfSpeech::verb, lx::PartOfSpeech::adjective, lx::PartOfSpeech::adverb}) {
        std::cout << '+';
        for (const std::string& form : wordnet->base_forms(a, part)) std::cout << ' ' << form;
        std::cout << ' ';
      }
      for (const auto id : wordnet->synsets(a))
        std::cout << ' ' << wordnet->name(id) << ':' << wordnet->min_depth(id) << ':' << wordnet->max_depth(id);
      std::cout << '\n';
    }
  }
}
