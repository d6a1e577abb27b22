// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "lexformer/models/bert.hpp"
#include "lexformer/models/cross_encoder_options.hpp"
#include "lexformer/ops/dropout.hpp"

namespace lexformer {

/// The head that turns token vectors into logits; which one: Head (cross_encoder_options.hpp).
template <class T = float, class Dev = Cpu>
struct ClassificationHead {
  static constexpr std::size_t paper_width = 256;

  Head kind;
  bool electra;
  double dropout_p;
  Linear<T, Dev> dense, out;
  std::unique_ptr<LayerNorm<T, Dev>> norm;  // of the paper's head; epsilon 1e-5, PyTorch's default

  ClassificationHead(Head k, const BertConfig& c, std::size_t labels, Init& init)
      : kind(k),
        electra(c.model_type == "electra"),
        dropout_p(k == Head::paper ? 0.1 : c.classifier_dropout),
        dense(c.hidden_size, k == Head::paper ? paper_width : c.hidden_size, init),
        out(k == Head::paper ? paper_width : c.hidden_size, labels, init) {
    if (k == Head::paper) norm = std::make_unique<LayerNorm<T, Dev>>(paper_width, 1e-5, init);
  }

  /// hidden (N, D) -> logits (B, labels)
  Var<T, Dev> operator()(const Var<T, Dev>& hidden, const Offsets& offsets, const ForwardOptions& forward) const {
    const NameScope scope("head");
    const auto first = forward.dropout(dropout_p, site::head), second = forward.dropout(dropout_p, site::head + 1);
    if (kind == Head::paper) return out(gelu(dropout((*norm)(dense(sequence_mean(hidden, offsets))), first)));
    std::vector<std::int32_t> cls;
    for (std::size_t s = 0; s < offsets.sequences(); ++s) cls.push_back(static_cast<std::int32_t>(offsets.begin(s)));
    const auto x = select_rows(hidden, cls);  // (B, D)
    if (electra) return out(dropout(gelu(dense(dropout(x, first))), second));
    return out(dropout(tanh(dense(x)), first));
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    if (kind == Head::paper) {
      v("lexformer.head.dense", dense);
      v("lexformer.head.norm", *norm);
      v("lexformer.head.out", out);
    } else if (electra) {
      v("classifier.dense", dense);
      v("classifier.out_proj", out);
    } else {
      v("bert.pooler.dense", dense);
      v("classifier", out);
    }
  }
};

}  // namespace lexformer
