// SPDX-License-Identifier: MIT
// --parses: the dependency trees that some attention terms read.
#pragma once

#include <lexformer/data/examples.hpp>
#include <lexformer/data/knowledge.hpp>
#include <lexformer/io/conllu.hpp>

#include <string>
#include <vector>

#include "program.hpp"

namespace program {

struct KnowledgeOptions {
  std::vector<std::string> parses;

  void add_to(CLI::App& app) {
    app.add_option("--parses", parses, "dependency trees of all texts, for attention terms that read them; CoNLL-U (tools/parse_pairs.py)")
        ->type_name("F.conllu");
  }
  /// Errors: with trees, the program would add typos (`typos` names its option, or is null): the trees would not be the texts'.
  lx::TextKnowledge load(const char* typos = nullptr) const {
    if (parses.empty()) return {};
    if (typos != nullptr)
      lx::fail_usage(typos,
                     "cannot be used with --parses: the trees would not be those of the texts with typos; write such a table with "
                     "add_typos, and parse that");
    return {.trees = lx::read_conllu(parses)};
  }
};

/// Both texts of all pairs.
inline std::vector<std::string> texts_of(const std::vector<lx::PairExample>& examples) {
  std::vector<std::string> texts;
  for (const auto& e : examples) texts.insert(texts.end(), {e.left, e.right});
  return texts;
}

}  // namespace program
