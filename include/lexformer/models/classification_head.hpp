// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "lexformer/models/cross_encoder_options.hpp"
#include "lexformer/models/transformer.hpp"
#include "lexformer/nn/pooling.hpp"
#include "lexformer/ops/dropout.hpp"

namespace lexformer {

/// The layers of a head, which Head (cross_encoder_options.hpp) selects; a layer without a name is not there.
///   logits = out(dropout(norm(act(dense(dropout(x))))))     x: the token vector that `pooling` gives, none: of the last token
struct HeadLayers {
  std::string dense, norm, out;  // the names of their parameters
  std::size_t width;             // of what `out` reads
  bool dense_bias, norm_bias, out_bias;
  double eps;  // of the norm
  Activation act;
  Pooling pooling;
  double dropout;
  bool dropout_before;  // whether x, too, has dropout
};

HeadLayers head_layers(const CrossEncoderOptions& options, const TransformerConfig& config);

/// The head that computes logits from token vectors.
template <class T = float, class Dev = Cpu>
struct ClassificationHead {
  bool activation_last;  // the paper's order: out(act(dropout(norm(dense(x)))))
  HeadLayers layers;
  std::unique_ptr<Linear<T, Dev>> dense;  // null: none
  Linear<T, Dev> out;
  std::unique_ptr<LayerNorm<T, Dev>> norm;  // null: none
  std::uint32_t first_site, second_site;    // of dropout

  ClassificationHead(const CrossEncoderOptions& o, const TransformerConfig& c, Init& init, DropoutSites sites = site::head())
      : activation_last(o.head == Head::paper),
        layers(head_layers(o, c)),
        dense(layers.dense.empty() ? nullptr : std::make_unique<Linear<T, Dev>>(c.hidden_size, layers.width, init, layers.dense_bias)),
        out(layers.width, o.task.labels, init, layers.out_bias),
        norm(layers.norm.empty() ? nullptr : std::make_unique<LayerNorm<T, Dev>>(layers.width, layers.eps, init, layers.norm_bias)),
        first_site(sites.next()),
        second_site(sites.next()) {}

  /// hidden (N, D) -> logits (B, labels)
  Var<T, Dev> operator()(const Var<T, Dev>& hidden, const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward) const {
    const NameScope scope("head");
    const auto first = forward.dropout(layers.dropout, first_site), second = forward.dropout(layers.dropout, second_site);
    const auto x = layers.pooling == Pooling::none ? select_rows(hidden, batch.feature(last_token, "ClassificationHead").indices)
                                                   : pool(hidden, batch.offsets, layers.pooling);  // (B, D)
    if (activation_last) return out(activate(layers.act, (*norm)((*dense)(x), first)));
    if (!dense) return out(x);
    const auto y = activate(layers.act, (*dense)(layers.dropout_before ? dropout(x, first) : x));
    return out(dropout(norm ? (*norm)(y) : y, layers.dropout_before ? second : first));
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    if (dense) v(layers.dense, *dense);
    if (norm) v(layers.norm, *norm);
    v(layers.out, out);
  }
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE HeadLayers head_layers(const CrossEncoderOptions& options, const TransformerConfig& config) {
  const std::string dense = "lexformer.head.dense", norm = "lexformer.head.norm", out = "lexformer.head.out";
  constexpr double torch_eps = 1e-5;
  if (options.head == Head::paper) return {dense, norm, out, 256, true, true, true, torch_eps, Activation::gelu, Pooling::mean, 0.1, false};
  const HeadModules& m = options.modules;
  if (options.head == Head::modules)
    return {m.dense ? dense : "",
            m.norm ? norm : "",
            out,
            config.hidden_size,
            true,
            true,
            true,
            torch_eps,
            m.dense.value_or(Activation::identity),
            m.pooling,
            0,
            false};
  const Architecture& a = config.architecture();
  return {std::string(a.head_dense),
          std::string(a.head_norm),
          std::string(a.head_out),
          config.hidden_size,
          config.head_bias,
          config.norm_bias,
          a.head_bias,
          config.layer_norm_eps,
          config.head_act,
          config.head_pooling,
          config.classifier_dropout,
          a.head_dropout};
}

}  // namespace lexformer
#endif
