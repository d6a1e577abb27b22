// SPDX-License-Identifier: MIT
// DAFA, dependency-enhanced adaptive fusion attention (Song et al., "Improving Semantic Matching through Dependency-Enhanced Pre-trained
// Model with Adaptive Fusion", EMNLP Findings 2022). A second attention, whose scores between the two texts are multiplied by the
// similarity of their dependency trees, is fused with the usual one:
//   M_F(i, j) = (M(i, j) + S(A^i, B^j)) tf_i tf_j                  word i of text A, word j of text B                       (eq. 1 to 5)
//   Sem = softmax(Q K^T / sqrt(d_k)) V                                                                                      (eq. 6)
//   Dep = softmax(Q K^T * M_F / sqrt(d_k)) V                       * elementwise
//   l_i = fusion of s_i and d_i, the rows of Sem and Dep           dafa_fusion.hpp                                          (eq. 7 to 9)
//
//   paper             here
//   M, S, tf, M_F     knowledge/dependency.hpp: tree_similarity, subgraph_similarity, tfidf_weights, dependency_matrix
//   theta, alpha, nu  DependencyOptions; 2 in Appendix B, and 1 and 0.5, which the paper does not state
//   M_F of tokens     the feature "dafa" of a batch, made by knowledge/dependency_features.hpp: dependency_gate
//   Sem, Dep          Dafa::both
//   the layers        DafaOptions::first_layer, last_layer; the first alone, as in section 3
//   Table 8           DafaOptions::without. w/o gate mechanism: gate,filter; w/o adaptive fusion: cross,gate,filter; Figure 4: one of them
//
// Open points of the paper:
//   * M_F gets the size of the sequence "by adding 1": the factor is 1 within a text and at [CLS] and [SEP], M_F between words of both
//     texts. A pair with M_F = 0 has the score 0, not minus infinity. DafaExpand::plus_one reads it as 1 + M_F between the texts.
//   * The factor M_F multiplies q . k and a relative position term, not biases such as LEA's and T5's.
//   * Sem and Dep read the same q, k and v. Each has a dropout mask of its own; the mask of Sem is the one of a layer without DAFA.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/attention/dafa_fusion.hpp"
#include "lexformer/attention/tree_term.hpp"
#include "lexformer/core/options.hpp"

namespace lexformer {

enum class DafaExpand { ones, plus_one };  // the factor between words of both texts: M_F, or 1 + M_F

template <>
inline constexpr Named<DafaExpand> names_of<DafaExpand>[] = {{"ones", DafaExpand::ones}, {"plus_one", DafaExpand::plus_one}};

struct DafaOptions {
  DependencyOptions dependency{};
  DafaExpand expand = DafaExpand::ones;
  DafaFusionOptions fusion{};
  std::string without{};  // parts that are left out: some of tree, subgraph, tfidf, cross (eq. 7), gate (eq. 8), filter (eq. 9)
  std::size_t first_layer = 0, last_layer = 0;  // layers first_layer ... last_layer - 1; both 0 = the first layer, as in the paper
  DocumentCounts counts{};                      // of the training texts

  void visit(OptionVisitor& v) {
    v.number("theta", dependency.theta, 0, 1e6, "factor of an equal relation (eq. 3)");
    v.number("alpha", dependency.alpha, 0, 1e6, "score of equal subgraphs (eq. 4)");
    v.number("nu", dependency.nu, 0, 1e6, "factor of the children's score (eq. 4)");
    v.choice("match", dependency.match, "words are equal if their forms, or lemmas, are");
    v.choice("subgraph", dependency.subgraphs, "how eq. 4 is read: alpha for the pair, or for its pairs of children");
    v.choice("tfidf", dependency.tfidf, "divisor of a text's tf-idf weights");
    v.choice("expand", expand, "gate of two words: M_F (ones around it), or 1 + M_F");
    v.choice("score", fusion.score, "of eq. 7: additive, or concat as printed (the query then has no effect)");
    v.choice("sharing", fusion.sharing, "one set of fusion weights for all heads, or one for each");
    v.choice("scope", fusion.scope, "fusion of each head, or of the concatenated heads");
    v.choice("output", fusion.output, "the fused vector l, or s + l");
    v.size("attention_size", fusion.attention_size, 0, 65536, "d_a of eq. 7; 0 = d_v (head size; model width if merged)");
    v.size("hidden_size", fusion.hidden_size, 0, 65536, "d_hid of eq. 8; 0 = d_v (head size; model width if merged)");
    v.text("without", without, "parts that are left out: some of tree,subgraph,tfidf,cross,gate,filter");
    v.layers(first_layer, last_layer, "layers with DAFA; the first by default");
    v.counts("document_counts", counts.documents, counts.words);
  }
};

/// The two attentions of one layer (eq. 6) and their fusion, (N, 3 D) -> (N, D), N tokens, width D:
///   Sem = softmax(e) V,  Dep = softmax(e') V;   e = (scale q.k + relative) g + bias,  e' = (scale q.k + relative) g M_F + bias
/// g is 1 unless another term sets a gate (ops/attention.hpp).
template <class T = float, class Dev = Cpu>
class Dafa final : public AttentionCore<T, Dev> {
 public:
  DafaFusion<T, Dev> fusion;

  Dafa(const DafaFusionOptions& options, const EncoderSizes& sizes, Init& init, DropoutSites& sites)
      : fusion(options, sizes.heads, sizes.width, init), site_(sites.next()) {}

  /// If attentions are requested, returns the attentions of Sem.
  AttentionResult<T, Dev> operator()(const AttentionInputs<T, Dev>& in, const ScoreTerms<T, Dev>& terms,
                                     const AttentionOptions& options) const override {
    auto [semantic, dependency] = both(in, terms, options, Attentions::none);
    return {fusion(semantic.context, dependency.context, in.batch.offsets).context, semantic.attentions};
  }

  struct Both {
    AttentionResult<T, Dev> semantic, dependency;
  };
  /// Sem with `options`, and Dep, which returns `of_dep`.
  Both both(const AttentionInputs<T, Dev>& in, const ScoreTerms<T, Dev>& terms, const AttentionOptions& options, Attentions of_dep) const {
    auto dep_options = options;
    dep_options.attentions = of_dep;
    dep_options.dropout = in.forward.dropout(static_cast<double>(options.dropout.p), site_);
    auto dep_terms = terms;
    dep_terms.multiply_gate(Var<T, Dev>(in.batch.feature("dafa", "dafa").values));  // M_F
    return {attention(in.qkv, in.batch.offsets, in.heads, terms, options),
            attention(in.qkv, in.batch.offsets, in.heads, dep_terms, dep_options)};
  }
  void visit(ParameterVisitor<T, Dev>& v) override { fusion.visit(v); }

 private:
  std::uint32_t site_;  // of Dep's dropout
};

/// The factory of "dafa" in a config.
template <class T = float, class Dev = Cpu>
class DafaFactory final : public TreeTermFactory<T, Dev> {
 public:
  DafaFactory() : TreeTermFactory<T, Dev>("dafa") {}

  const DafaOptions& options() const { return options_; }
  void visit(OptionVisitor& v) override { options_.visit(v); }
  bool needs_pairs() const override { return true; }

  void check(const EncoderSizes& sizes, const std::string& where) override {
    if (options_.first_layer == 0 && options_.last_layer == 0) options_.last_layer = 1;
    resolve_layers("dafa", options_.first_layer, options_.last_layer, 0, sizes.layers);
    parse_without(where);
    counts_ = std::make_shared<const DocumentCounts>(options_.counts);
    const auto& o = options_.fusion;
    const DafaSizes of(o, sizes.heads, sizes.width);
    if ((o.without_gate || o.without_filter) && of.hidden != of.vector)
      fail_usage(where, "without gate or filter, hidden_size must be the size of the vectors, ", of.vector, ", or 0; got ", of.hidden);
  }
  double weights(const EncoderSizes& sizes) const override {
    const DafaSizes of(options_.fusion, sizes.heads, sizes.width);
    const auto size = [](std::size_t n) { return static_cast<double>(n); };
    const double v = size(of.vector), a = size(of.attention), h = size(of.hidden);
    return size(of.sets * (options_.last_layer - options_.first_layer)) * (2 * a * (2 * v + 3) + 4 * h * (v + 1) + 4 * v);
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init& init, DropoutSites& sites) override {
    std::vector<PlacedTerm<T, Dev>> cores;
    for (std::size_t i = options_.first_layer; i < options_.last_layer; ++i)
      cores.push_back({.layer = i, .core = std::make_shared<Dafa<T, Dev>>(options_.fusion, sizes, init, sites)});
    return cores;
  }

  void fit(std::span<const std::string> texts) override {
    const auto trees = this->trees();
    options_.counts = {};
    for (const std::string& text : texts)
      if (const auto* found = trees->find(text)) options_.counts.add(*found);
    counts_ = std::make_shared<const DocumentCounts>(options_.counts);
  }
  std::vector<FeatureMaker> features() const override {
    const auto trees = this->trees();
    if (!options_.dependency.without_tfidf && options_.counts.documents == 0)
      fail("dafa", "the words of the training texts are not counted: fit() counts them before training, and they are saved with the model");
    return {dependency_gate(trees, counts_, options_.dependency, options_.expand == DafaExpand::ones ? 0 : 1)};
  }

 private:
  /// Sets the switches that `without` names.
  void parse_without(const std::string& where) {
    auto& d = options_.dependency;
    auto& f = options_.fusion;
    const std::vector<std::pair<std::string, bool*>> parts{{"tree", &d.without_tree},   {"subgraph", &d.without_subgraph},
                                                           {"tfidf", &d.without_tfidf}, {"cross", &f.without_cross},
                                                           {"gate", &f.without_gate},   {"filter", &f.without_filter}};
    std::vector<std::string> names;
    for (const auto& [name, off] : parts) {
      names.push_back(name);
      *off = false;
    }
    std::size_t left = parts.size();
    for (std::size_t begin = 0; begin < options_.without.size();) {
      const std::size_t end = std::min(options_.without.find(',', begin), options_.without.size());
      const std::string name = options_.without.substr(begin, end - begin);
      const auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first == name; });
      if (part == parts.end()) fail_usage(where, "without: ", in_quotes(name), " is not a part; use some of: ", join(names, ","));
      if (!*part->second) --left;
      *part->second = true;
      begin = end + 1;
    }
    if (left == 0) fail_usage(where, "without: nothing of DAFA is left; train a model without it instead");
  }

  DafaOptions options_;
  std::shared_ptr<const DocumentCounts> counts_ = std::make_shared<const DocumentCounts>();  // of the options, for all features()
};

}  // namespace lexformer
