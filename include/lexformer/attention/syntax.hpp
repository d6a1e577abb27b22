// SPDX-License-Identifier: MIT
// Syntax-BERT (Bai et al. 2021, "Syntax-BERT: Improving Pre-trained Transformers with Syntax Trees"): attention under masks from dependency
// trees. docs/paper-map.md states how open points of the paper are resolved.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/tree_term.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/knowledge/syntax_features.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

struct SyntaxOptions {
  std::size_t depth = 3;                        // D: masks of ancestors and descendants at distance 1 ... D
  std::size_t first_layer = 0, last_layer = 0;  // layers first_layer ... last_layer - 1; both 0 = all

  void visit(OptionVisitor& v) {
    v.size("depth", depth, 1, max_syntax_depth, "largest distance of an ancestor or descendant with a mask");
    v.layers(first_layer, last_layer, "layers with masks; all by default");
  }
};

/// The lookup tables of the masks: mask k adds -1e4 to the scores of a code with bit k, else 0.  -> (H heads, 2^masks) for each mask
template <class T = float, class Dev = Cpu>
std::vector<Var<T, Dev>> syntax_tables(std::size_t masks, std::size_t heads) {
  std::vector<Var<T, Dev>> tables;
  const std::size_t codes = std::size_t{1} << masks;
  for (std::size_t k = 0; k < masks; ++k) {
    std::vector<T> table(heads * codes);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<T>((i >> k) % 2 == 1 ? -1e4f : 0.0f);
    tables.emplace_back(Tensor<T, Dev>::from(table, {heads, codes}));
  }
  return tables;
}

/// Attention under m masks on the same q, k and v:
///   context = sum_k dropout_k(softmax(S + M_k)) V / sqrt(m);   S with all terms,  M_k: -1e4 where mask k hides the key, else 0
/// M_k is a lookup by the codes of the feature "syntax". One of the masks hides nothing. It has the dropout mask of a layer without this
/// core, and its attentions are returned if requested; the other dropout masks have sites of their own. -> (N tokens, width D)
template <class T = float, class Dev = Cpu>
class SyntaxAttention final : public AttentionCore<T, Dev> {
 public:
  /// tables: syntax_tables(); all layers can share them.
  SyntaxAttention(std::vector<Var<T, Dev>> tables, DropoutSites& sites) : tables_(std::move(tables)) {
    for (std::size_t k = 0; k < tables_.size(); ++k) sites_.push_back(sites.next());
  }

  AttentionResult<T, Dev> operator()(const AttentionInputs<T, Dev>& in, const ScoreTerms<T, Dev>& terms,
                                     const AttentionOptions& options) const override {
    const auto& codes = in.batch.feature("syntax", "syntax").codes;
    auto result = attention(in.qkv, in.batch.offsets, in.heads, terms, options);
    for (std::size_t k = 0; k < tables_.size(); ++k) {
      auto masked = terms;
      masked.lookups.push_back({tables_[k], codes});
      const auto dropout = in.forward.dropout(static_cast<double>(options.dropout.p), sites_[k]);
      result.context = result.context + attention(in.qkv, in.batch.offsets, in.heads, masked, {.dropout = dropout}).context;
    }
    result.context = scale(result.context, 1 / std::sqrt(static_cast<accumulate_t<T>>(tables_.size() + 1)));
    return result;
  }

 private:
  std::vector<Var<T, Dev>> tables_;
  std::vector<std::uint32_t> sites_;  // of the dropout of each table's mask
};

/// The factory of "syntax" in a config.
template <class T = float, class Dev = Cpu>
class SyntaxFactory final : public TreeTermFactory<T, Dev> {
 public:
  SyntaxFactory() : TreeTermFactory<T, Dev>("syntax") {}

  const SyntaxOptions& options() const { return options_; }
  void visit(OptionVisitor& v) override { options_.visit(v); }
  void check(const EncoderSizes& sizes, const std::string& where) override {
    const std::size_t masks = syntax_masks(options_.depth);
    if (masks * sizes.heads > (std::size_t{1} << 24) >> masks)  // no tensor of the file accounts for these numbers
      fail_file(where, "syntax: the tables of depth ", options_.depth, " for ", sizes.heads, " heads have more than ", 1u << 24,
                " numbers");
    resolve_layers("syntax", options_.first_layer, options_.last_layer, 0, sizes.layers);
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init&, DropoutSites& sites) override {
    const auto tables = syntax_tables<T, Dev>(syntax_masks(options_.depth), sizes.heads);
    std::vector<PlacedTerm<T, Dev>> cores;
    for (std::size_t i = options_.first_layer; i < options_.last_layer; ++i)
      cores.push_back({.layer = i, .core = std::make_shared<SyntaxAttention<T, Dev>>(tables, sites)});
    return cores;
  }
  std::vector<FeatureMaker> features() const override { return {syntax_feature(this->trees(), options_.depth)}; }

 private:
  SyntaxOptions options_;
};

}  // namespace lexformer
