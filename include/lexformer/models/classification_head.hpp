// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
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
  bool dense_bias = true, norm_bias = true, out_bias = true;
  double eps = 1e-5;  // of the norm; PyTorch's default
  Activation act = Activation::gelu;
  Pooling pooling = Pooling::cls;
  double dropout = 0;
  std::optional<double> input_dropout{};  // of x, if it has dropout
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
    const auto later = forward.dropout(layers.dropout, layers.input_dropout ? second_site : first_site);
    const auto x = layers.pooling == Pooling::none ? select_rows(hidden, batch.feature(last_token, "ClassificationHead").indices)
                                                   : pool(hidden, batch.offsets, layers.pooling);  // (B, D)
    if (activation_last) return out(activate(layers.act, (*norm)((*dense)(x), later)));
    if (!dense) return out(x);
    const auto input = layers.input_dropout ? dropout(x, forward.dropout(*layers.input_dropout, first_site)) : x;
    const auto y = activate(layers.act, (*dense)(input));
    return out(dropout(norm ? (*norm)(y) : y, later));
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
  const Architecture& a = config.architecture();
  const auto of_family = [&](Pooling usual) {  // only the last token of a decoder has seen all others
    return a.head_pooling != HeadPooling::last ? usual : config.causal() ? Pooling::none : Pooling::mean;
  };
  HeadLayers own{.dense = "lexformer.head.dense", .norm = "lexformer.head.norm", .out = "lexformer.head.out", .width = config.hidden_size};
  if (options.head == Head::paper) {
    own.width = 256;
    own.pooling = of_family(Pooling::mean);
    own.dropout = 0.1;
    return own;
  }
  if (options.head == Head::modules) {
    const HeadModules& m = options.modules;
    if (!m.dense) own.dense = "";
    if (!m.norm) own.norm = "";
    own.act = m.dense.value_or(Activation::identity);
    own.pooling = m.pooling;
    return own;
  }
  return {.dense = std::string(a.head_dense),
          .norm = std::string(a.head_norm),
          .out = std::string(a.head_out),
          .width = config.hidden_size,
          .dense_bias = config.head_bias,
          .norm_bias = config.norm_bias,
          .out_bias = a.head_bias,
          .eps = config.layer_norm_eps,
          .act = config.head_act,
          .pooling = of_family(config.head_pooling),
          .dropout = config.classifier_dropout,
          .input_dropout = a.head_dropout ? std::optional(config.head_dropout) : std::nullopt};
}

}  // namespace lexformer
#endif
