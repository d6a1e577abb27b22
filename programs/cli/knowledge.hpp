// SPDX-License-Identifier: MIT
// --parses and --wordnet: knowledge about texts and words for some attention terms.
#pragma once

#include <lexformer/knowledge/conllu.hpp>
#include <lexformer/knowledge/knowledge.hpp>
#include <lexformer/knowledge/wordnet.hpp>

#include <string>
#include <vector>

#include "cli/program.hpp"

namespace program {

struct KnowledgeOptions {
  std::vector<std::string> parses;
  std::string wordnet;

  void visit(OptionVisitor& v) {
    v.inputs("parses", parses, "dependency trees of all texts, for attention terms that read them; CoNLL-U (tools/parse_pairs.py)")
        .shown_as("F.conllu");
    v.input("wordnet", wordnet, "folder of WordNet 3.0, for attention terms that read it; Debian's wordnet-base has /usr/share/wordnet")
        .shown_as("DIR");
  }
  /// The name of an option that was given, or null.
  const char* used() const { return !parses.empty() ? "--parses" : !wordnet.empty() ? "--wordnet" : nullptr; }
  /// Errors: with trees, the program would change the texts (`change` names its option, or is null): the trees would not be theirs.
  lx::TextKnowledge load(const char* change = nullptr) const {
    if (!parses.empty() && change != nullptr)
      lx::fail_usage(change,
                     "cannot be used with --parses: the trees would not fit the changed texts; write a table of such texts "
                     "(typos: add_typos) and parse that");
    lx::TextKnowledge knowledge;
    if (!parses.empty()) knowledge.trees = lx::read_conllu(parses);
    if (!wordnet.empty()) knowledge.wordnet = lx::WordNet::load(wordnet);
    return knowledge;
  }
};

}  // namespace program
