// SPDX-License-Identifier: MIT
// LEA, lexical attention bias (Almagro et al., "LEA: Improving Sentence Similarity Robustness to Typos Using Lexical Attention Bias",
// KDD 2023, arXiv 2307.02912). In each head, attention between two texts gets a bias where their words are spelled alike:
//   e_ij  = q_i . k_j / sqrt(d_h)                                                                        (eq. 3)
//   e~_ij = e_ij + alpha l_ij W^L                                                                        (eq. 5)
//   s_ij  = Sim(w(x_i), w(x_j)) if tokens i and j are of different texts, else 0                         (eq. 6)
//   l_ij  = l(s_ij) = [sin(2 pi s / beta^(2p / d_L)) | cos(2 pi s / beta^(2p / d_L))],  beta = 10^4      (eq. 7, 8)
//
//   paper        here
//   e, softmax   ops/attention.hpp. H heads of size d_h, N tokens of the batch, R levels
//   W^L          Lea::projection (H, d_L): the paper's column vector of each head as a row
//   l, alpha     lea_embedding.hpp; Lea::alpha, a number for each layer, which lea_alpha.hpp measures on the first batch
//   s_ij         text/lexical.hpp. A batch has a code for each pair of tokens, and a similarity ("level") for each code; code 0: s = 0
//   Sim, w       text/similarity.hpp: Similarity; text/lexical.hpp: LexicalWords
//   d_L, layers  LeaOptions::dimension, 128; first_layer, last_layer: the second half of the layers (section 4.4); every: not in the paper
//
// Open points and misprints of the paper:
//   * Eq. 7 and 8 print d_ij for s_ij, d_h for d_L and p up to d_L - 1. Here p = 0 ... d_L / 2 - 1; all sines come before all cosines.
//   * alpha has no formula in the paper. lea_alpha.hpp has the rule of the authors' code (the default) and one that follows the text.
//   * s_ij = 0 for [CLS] and [SEP]. l(0) is not 0, but softmax ignores what is added to a whole row: only l(s) - l(0) has an effect.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "lexformer/attention/lea_alpha.hpp"
#include "lexformer/attention/lea_embedding.hpp"
#include "lexformer/attention/lea_options.hpp"
#include "lexformer/attention/term_factory.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/matmul.hpp"

namespace lexformer {

/// The lexical bias of one layer, before softmax:   e_ij += alpha l(s_ij) W^L
/// s has few distinct values: l(s) W^L is computed once for each value, and attention looks it up by code. With LeaColumns::both there are
/// two such biases with a projection each: s_ij of any words, and s_ij of words of the same column, else 0.
template <class T = float, class Dev = Cpu>
struct Lea final : AttentionTerm<T, Dev> {
  LeaOptions options;
  Var<T, Dev> projection;   // W^L (H, d_L), or (1, d_L) if the heads share it
  Var<T, Dev> same_column;  // W^L of the bias between words of the same column; only with LeaColumns::both
  Var<T, Dev> level_table;  // l (levels, d_L), only for the learned representation
  Var<T, Dev> alpha;        // (1); 0 = not set yet. Set by calibrate() and saved with the model
  bool owns_projection = true;

  /// first: the first layer's term, in all other layers. With LeaSharing::model these have no parameters of their own.
  Lea(const LeaOptions& o, std::size_t heads, Init& init, const Lea* first = nullptr)
      : options(check_lea_options(o)),
        alpha(Tensor<T, Dev>::full({1}, o.alpha == LeaAlpha::constant ? static_cast<T>(o.alpha_value) : T{0})),
        sinusoids_(first != nullptr ? first->sinusoids_ : std::make_shared<LeaSinusoids<T, Dev>>(o)) {
    if (o.alpha == LeaAlpha::constant && host_alpha_(alpha.value()) == 0)
      fail_usage("lea", "a constant alpha of 0 would switch the bias off; leave LEA out instead");
    const Lea* const shared = o.sharing == LeaSharing::model ? first : nullptr;
    owns_projection = shared == nullptr;
    const Shape shape{o.sharing == LeaSharing::head ? heads : 1, o.dimension};
    projection = shared != nullptr ? shared->projection : init.normal<T, Dev>(shape);
    if (o.columns == LeaColumns::both) same_column = shared != nullptr ? shared->same_column : init.normal<T, Dev>(shape);
    if (o.representation == LeaRepresentation::learned)
      level_table = shared != nullptr ? shared->level_table : init.normal<T, Dev>({o.levels, o.dimension});
  }

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    const auto& codes = in.batch.feature(LeaOptions::all_words, "lea").codes;
    const auto factor = host_alpha_(alpha.value());
    if (factor == 0)
      fail("lea",
           "alpha is not set: model.calibrate(batch) measures it before training, and it is saved with the model; or use a constant "
           "alpha");
    out.lookups.push_back({table(in, LeaOptions::all_words, projection, factor), codes});
    if (const auto* same = LeaOptions::column_words; same_column.defined())
      out.lookups.push_back({table(in, same, same_column, factor), in.batch.feature(same, "lea").codes});
  }

  /// Sets alpha by the rule of the options if it is not set. Returns false if the rule `magnitude` finds no pairs to measure.
  bool calibrate(const AttentionInputs<T, Dev>& in, const ScoreTerms<T, Dev>& terms) override {
    if (host_alpha_(alpha.value()) == 0) {
      const auto unscaled = table(in, LeaOptions::all_words, projection, 1);
      const T measured = static_cast<T>(measure_lea_alpha(options.alpha, in, terms, unscaled.value()));
      alpha.mutable_value().assign({&measured, 1});
    }
    return calibrated();
  }
  bool calibrated() const override { return host_alpha_(alpha.value()) != 0; }

  void visit(ParameterVisitor<T, Dev>& v) override {
    if (owns_projection) v("projection", projection);
    if (owns_projection && same_column.defined()) v("same_column", same_column);
    if (owns_projection && level_table.defined()) v("levels", level_table);
    v.buffer("alpha", alpha);
  }

 private:
  /// alpha W^L l(s)^T of each similarity s of a feature -> (H, R)
  Var<T, Dev> table(const AttentionInputs<T, Dev>& in, const char* feature, const Var<T, Dev>& w, accumulate_t<T> factor) const {
    const auto& levels = in.batch.feature(feature, "lea").levels;
    if (options.levels != 0 && levels.size() != options.levels)
      fail("lea", "the model was made for ", options.levels, " quantised levels, the batch has ", levels.size());
    const Var<T, Dev> l = level_table.defined() ? level_table : Var<T, Dev>((*sinusoids_)(levels));  // (R, d_L)
    const auto bias = matmul(w, l, {.transpose_b = true, .scale = static_cast<double>(factor)});     // (H or 1, R)
    return bias.dim(0) == in.heads ? bias : multiply(bias, Var<T, Dev>(Tensor<T, Dev>::ones({in.heads, 1})));
  }

  std::shared_ptr<LeaSinusoids<T, Dev>> sinusoids_;
  HostNumber<T, Dev> host_alpha_;
};

/// The factory of "lea" in a config.
template <class T = float, class Dev = Cpu>
class LeaFactory final : public TermFactory<T, Dev> {
 public:
  explicit LeaFactory(const LeaOptions& options = {}) : options_(options) {}
  void visit(OptionVisitor& v) override { options_.visit(v); }
  bool needs_pairs() const override { return !options_.lexical.self_attention; }
  std::vector<FeatureMaker> features() const override { return options_.features(); }
  void check(const EncoderSizes& sizes, const std::string& where) override {
    detail::check_levels(options_.levels, where);
    if (options_.levels * options_.dimension > 1u << 24)  // l is not stored, so weights() does not bound it
      fail_file(where, "lea: ", options_.levels, " 'levels' of 'dimension' ", options_.dimension, " are more than ", 1u << 24, " numbers");
    resolve_layers("lea", options_.first_layer, options_.last_layer, sizes.layers / 2, sizes.layers);
    if ((options_.last_layer - 1) / options_.every * options_.every < options_.first_layer)
      fail_usage("lea", "`every` ", options_.every, " divides none of the layers ", options_.first_layer, " to ", options_.last_layer - 1,
                 "; name other layers or a smaller number");
  }
  double weights(const EncoderSizes& sizes) const override {
    const std::size_t rows = sizes.heads * (options_.columns == LeaColumns::both ? 2 : 1) +
                             (options_.representation == LeaRepresentation::learned ? options_.levels : 0);
    return static_cast<double>(sizes.layers * rows) * static_cast<double>(options_.dimension);
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init& init, DropoutSites&) override {
    std::vector<PlacedTerm<T, Dev>> terms;
    std::shared_ptr<Lea<T, Dev>> first;
    for (std::size_t i = options_.first_layer; i < options_.last_layer; ++i) {
      if (i % options_.every != 0) continue;
      const auto term = std::make_shared<Lea<T, Dev>>(options_, sizes.heads, init, first.get());
      if (!first) first = term;
      terms.push_back({i, term});
    }
    return terms;
  }
  /// Does not reuse an alpha that was set by another rule.
  bool reuses(const std::string& tensor, const TermFactory<T, Dev>& stored) const override {
    const auto* other = dynamic_cast<const LeaFactory*>(&stored);
    return !tensor.ends_with(".alpha") || other == nullptr ||
           (other->options_.alpha == options_.alpha && other->options_.alpha_value == options_.alpha_value);
  }

 private:
  LeaOptions options_;
};

}  // namespace lexformer
