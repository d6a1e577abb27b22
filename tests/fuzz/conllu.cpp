// SPDX-License-Identifier: MIT
// CoNLL-U: any bytes are either refused or give trees, each with one root per sentence, that can be written and read again.
#include <sstream>

#include "fuzz/fuzz.hpp"
#include "lexformer/knowledge/conllu.hpp"

using namespace lexformer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  DependencyTable table;
  fuzz::accepts([&] { parse_conllu(in, "input", table); });
  for (const std::string& text : table.texts()) {
    const DependencyTrees& trees = *table.find(text);
    std::size_t roots = 0;
    for (std::size_t i = 0; i < trees.words.size(); ++i) {
      const DependencyWord& w = trees.words[i];
      std::size_t steps = 0;
      for (std::int32_t up = w.head; up >= 0; up = trees.words.at(static_cast<std::size_t>(up)).head)
        fuzz::require(++steps <= trees.words.size(), "the heads form a cycle");
      fuzz::require(i == 0 || trees.words[i - 1].characters.second <= w.characters.first || trees.words[i - 1].characters == w.characters,
                    "two words overlap, and are not of one multiword token");
      fuzz::require(w.characters.first <= w.characters.second && w.characters.second <= text.size(), "a word is outside of its text");
      if (w.head < 0) ++roots;
    }
    fuzz::require(roots == trees.sentences.size() && roots > 0, "a sentence has no root, or two");
    std::ostringstream out;
    if (!fuzz::accepts([&] { write_conllu(out, trees); })) continue;  // a line break in the text
    std::istringstream again(out.str());
    DependencyTable second;
    fuzz::require(fuzz::accepts([&] { parse_conllu(again, "again", second); }), "what was written is refused");
    fuzz::require(second.size() == 1 && second.find(text) != nullptr && *second.find(text) == trees,
                  "trees are not the same after writing");
    if (trees.words.size() <= 40) {
      const auto m = dependency_matrix(trees, trees, {}, {});
      for (std::size_t i = 0; i < trees.words.size(); ++i)
        fuzz::require(m[i * trees.words.size() + i] > 0, "a word is not similar to itself");
    }
  }
  return 0;
}
