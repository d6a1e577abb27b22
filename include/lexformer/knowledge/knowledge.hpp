// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

namespace lexformer {

class DependencyTable;
class WordNet;

/// External knowledge about texts, from which attention terms compute features. Null: there is none.
struct TextKnowledge {
  std::shared_ptr<const DependencyTable> trees{};  // read_conllu (knowledge/conllu.hpp)
  std::shared_ptr<const WordNet> wordnet{};        // WordNet::load (knowledge/wordnet.hpp)
};

}  // namespace lexformer
