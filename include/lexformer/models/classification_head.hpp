// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "lexformer/models/cross_encoder_options.hpp"
#include "lexformer/models/transformer.hpp"
#include "lexformer/nn/pooling.hpp"
#include "lexformer/ops/dropout.hpp"

namespace lexformer {

/// The head that computes logits from token vectors; Head (cross_encoder_options.hpp) selects the kind.
template <class T = float, class Dev = Cpu>
struct ClassificationHead {
  static constexpr std::size_t paper_width = 256;

  Head kind;
  Architecture architecture;
  Activation act;
  Pooling pooling;  // none: of the last token
  double dropout_p;
  std::unique_ptr<Linear<T, Dev>> dense;  // null: none
  Linear<T, Dev> out;
  std::unique_ptr<LayerNorm<T, Dev>> norm;  // of the paper's head, with epsilon 1e-5, PyTorch's default; or of the family's
  std::uint32_t first_site, second_site;    // of dropout

  ClassificationHead(Head k, const TransformerConfig& c, std::size_t labels, Init& init, DropoutSites sites = site::head())
      : kind(k),
        architecture(c.architecture()),
        act(k == Head::paper ? Activation::gelu : c.head_act),
        pooling(k == Head::paper ? Pooling::mean : c.head_pooling),
        dropout_p(k == Head::paper ? 0.1 : c.classifier_dropout),
        dense(k != Head::paper && architecture.head_dense.empty()
                  ? nullptr
                  : std::make_unique<Linear<T, Dev>>(c.hidden_size, k == Head::paper ? paper_width : c.hidden_size, init,
                                                     k == Head::paper || c.head_bias)),
        out(k == Head::paper ? paper_width : c.hidden_size, labels, init, k == Head::paper || architecture.head_bias),
        first_site(sites.next()),
        second_site(sites.next()) {
    if (k == Head::paper) norm = std::make_unique<LayerNorm<T, Dev>>(paper_width, 1e-5, init);
    if (k != Head::paper && !architecture.head_norm.empty())
      norm = std::make_unique<LayerNorm<T, Dev>>(c.hidden_size, c.layer_norm_eps, init, c.norm_bias);
  }

  /// hidden (N, D) -> logits (B, labels)
  Var<T, Dev> operator()(const Var<T, Dev>& hidden, const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward) const {
    const NameScope scope("head");
    const auto first = forward.dropout(dropout_p, first_site), second = forward.dropout(dropout_p, second_site);
    if (kind == Head::paper) return out(gelu((*norm)((*dense)(pool(hidden, batch.offsets, pooling)), first)));
    const auto x = pooling == Pooling::none ? select_rows(hidden, batch.feature(last_token, "ClassificationHead").indices)
                                            : pool(hidden, batch.offsets, pooling);  // (B, D)
    if (!dense) return out(x);
    const auto y = activate(act, (*dense)(architecture.head_dropout ? dropout(x, first) : x));
    return out(dropout(norm ? (*norm)(y) : y, architecture.head_dropout ? second : first));
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    const bool own = kind == Head::paper;
    if (dense) v(own ? "lexformer.head.dense" : std::string(architecture.head_dense), *dense);
    if (norm) v(own ? "lexformer.head.norm" : std::string(architecture.head_norm), *norm);
    v(own ? "lexformer.head.out" : std::string(architecture.head_out), out);
  }
};

}  // namespace lexformer
