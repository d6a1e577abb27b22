// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "lexformer/attention/term_factory.hpp"
#include "lexformer/core/options.hpp"

namespace lexformer {

/// Limits which keys j a query i sees:   S_ij = -inf if j > i (causal), or if |i - j| > distance.   No parameters.
/// Probabilities of what is not seen are exactly 0, and it gets no gradient. Attention does not compute it (ops/attention.hpp).
template <class T = float, class Dev = Cpu>
struct Reach final : AttentionTerm<T, Dev> {
  bool causal;
  std::size_t distance;  // 0: any

  Reach(bool only_before, std::size_t farthest) : causal(only_before), distance(farthest) {}
  void contribute(const AttentionInputs<T, Dev>&, ScoreTerms<T, Dev>& out) const override { out.limit_reach({causal, distance}); }
};

/// The factory of "reach" in a config. The distance holds in the layers whose number `every` does not divide; with every = 1 in none, with
/// every = 0 in all.
template <class T = float, class Dev = Cpu>
class ReachFactory final : public TermFactory<T, Dev> {
 public:
  void visit(OptionVisitor& v) override {
    v.flag("causal", causal_, "a token sees only itself and the tokens before it");
    v.size("distance", distance_, 0, 1u << 20, "largest distance to a token that is seen; 0 = any");
    v.size("every", every_, 0, 256, "layers whose number this divides see any distance, as in ModernBERT; 0 = none");
  }
  bool stays() const override { return true; }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init&, DropoutSites&) override {
    std::vector<PlacedTerm<T, Dev>> terms;
    if (every_ == 0 || distance_ == 0) {  // one term for all layers
      terms.push_back({std::nullopt, std::make_shared<Reach<T, Dev>>(causal_, distance_)});
      return terms;
    }
    for (std::size_t i = 0; i < sizes.layers; ++i)
      terms.push_back({i, std::make_shared<Reach<T, Dev>>(causal_, i % every_ == 0 ? 0 : distance_)});
    return terms;
  }

 private:
  bool causal_ = false;
  std::size_t distance_ = 0, every_ = 0;
};

}  // namespace lexformer
