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
  double dropout_p;
  Linear<T, Dev> dense, out;
  std::unique_ptr<LayerNorm<T, Dev>> norm;  // of the paper's head; epsilon 1e-5, PyTorch's default
  std::uint32_t first_site, second_site;    // of dropout

  ClassificationHead(Head k, const TransformerConfig& c, std::size_t labels, Init& init, DropoutSites sites = site::head())
      : kind(k),
        architecture(c.architecture()),
        dropout_p(k == Head::paper ? 0.1 : c.classifier_dropout),
        dense(c.hidden_size, k == Head::paper ? paper_width : c.hidden_size, init),
        out(k == Head::paper ? paper_width : c.hidden_size, labels, init),
        first_site(sites.next()),
        second_site(sites.next()) {
    if (k == Head::paper) norm = std::make_unique<LayerNorm<T, Dev>>(paper_width, 1e-5, init);
  }

  /// hidden (N, D) -> logits (B, labels)
  Var<T, Dev> operator()(const Var<T, Dev>& hidden, const Offsets& offsets, const ForwardOptions& forward) const {
    const NameScope scope("head");
    const auto first = forward.dropout(dropout_p, first_site), second = forward.dropout(dropout_p, second_site);
    if (kind == Head::paper) return out(gelu((*norm)(dense(pool(hidden, offsets, Pooling::mean)), first)));
    const auto x = pool(hidden, offsets, Pooling::cls);  // (B, D)
    if (architecture.pooler) return out(dropout(tanh(dense(x)), first));
    return out(dropout(gelu(dense(dropout(x, first))), second));
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    if (kind == Head::paper) {
      v("lexformer.head.dense", dense);
      v("lexformer.head.norm", *norm);
      v("lexformer.head.out", out);
    } else {
      v(std::string(architecture.head_dense), dense);
      v(std::string(architecture.head_out), out);
    }
  }
};

}  // namespace lexformer
