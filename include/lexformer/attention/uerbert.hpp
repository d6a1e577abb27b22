// SPDX-License-Identifier: MIT
// UERBERT (Xia et al. 2021, "Using Prior Knowledge to Guide BERT's Attention in Semantic Textual Matching Tasks"): attention scores times
// the WordNet similarity of the words. docs/paper-map.md states what is taken from the authors' code.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/term_factory.hpp"
#include "lexformer/knowledge/knowledge.hpp"
#include "lexformer/knowledge/uerbert_similarity.hpp"
#include "lexformer/knowledge/word_gate.hpp"

namespace lexformer {

/// The gate of UERBERT:   S_ij = (scale q_i . k_j + relative_ij) s_ij + bias_ij
/// s: the similarity of the words of tokens i and j if they belong to different texts, else 1; the feature "uerbert". Other gates are
/// multiplied with it. No parameters.
template <class T = float, class Dev = Cpu>
struct Uerbert final : AttentionTerm<T, Dev> {
  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    out.multiply_gate(Var<T, Dev>(in.batch.feature("uerbert", "uerbert").values));
  }
};

/// The factory of "uerbert" in a config: a gate in the first layer, as in the authors' code.
template <class T = float, class Dev = Cpu>
class UerbertFactory final : public TermFactory<T, Dev> {
 public:
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes&, Init&, DropoutSites&) override {
    return {{.layer = 0, .term = std::make_shared<Uerbert<T, Dev>>()}};
  }
  bool needs_pairs() const override { return true; }
  void provide(const TextKnowledge& knowledge) override {
    if (knowledge.wordnet != nullptr) table_ = std::make_shared<UerbertTable>(knowledge.wordnet);
  }
  void check_texts(std::span<const std::string>, const std::string&) const override { require_wordnet(); }
  std::vector<FeatureMaker> features() const override {
    require_wordnet();
    return {
        word_gate([table = table_](std::span<const std::string> left, std::span<const std::string> right) { return (*table)(left, right); },
                  "uerbert")};
  }

 private:
  void require_wordnet() const {
    if (table_ == nullptr)
      fail_usage("uerbert",
                 "the model reads WordNet 3.0: give its folder with `wordnet` DIR (in C++: provide({.wordnet = WordNet::load(DIR)}))");
  }

  std::shared_ptr<UerbertTable> table_;
};

}  // namespace lexformer
