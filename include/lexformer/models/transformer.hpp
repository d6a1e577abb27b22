// SPDX-License-Identifier: MIT
// The encoders of BERT (Devlin et al. 2019) and its family (io/architecture.hpp), numerically equal to HuggingFace's. Parameters have the
// names of HuggingFace's BERT in all families.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lexformer/attention/multi_head.hpp"
#include "lexformer/autograd/checkpoint.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/models/transformer_config.hpp"
#include "lexformer/nn/embedding.hpp"
#include "lexformer/ops/dropout.hpp"
#include "lexformer/ops/feed_forward.hpp"
#include "lexformer/words/embedding_plug.hpp"

namespace lexformer {

/// Blocks of dropout sites. Fixed, so that a seed gives the same numbers everywhere.
namespace site {
inline constexpr std::uint32_t embeddings = 0;
inline DropoutSites layer(std::size_t i) { return {0x100 + 8 * static_cast<std::uint32_t>(i), 8}; }
inline DropoutSites head() { return {0x10000, 0x10000}; }
inline DropoutSites terms() { return {0x20000, 0x10000}; }  // of attention terms and cores, in the order of the config's list
}  // namespace site

/// The embeddings: x = dropout(LayerNorm(word[id] + type[type_id] + position[row])); in Electra x W^T + b if the sizes differ, in DeBERTa
/// LayerNorm(sum W^T).
/// The position embeddings are left out if a position scheme replaces them (TermFactory::positions), the types if the family has none.
/// LayerNorm is left out in families without one. row: the token's place in its sequence, or the feature `position_rows` where the family
/// counts otherwise (PositionRule).
template <class T = float, class Dev = Cpu>
struct TransformerEmbeddings {
  Embedding<T, Dev> word;
  std::unique_ptr<Embedding<T, Dev>> position;
  std::unique_ptr<Embedding<T, Dev>> type;
  std::unique_ptr<LayerNorm<T, Dev>> norm;
  std::unique_ptr<Linear<T, Dev>> projection;   // Electra's embeddings_project, DeBERTa's embed_proj
  bool early_projection;                        // before the norm
  std::shared_ptr<EmbeddingPlug<T, Dev>> plug;  // changes word[id] of some tokens; usually null
  std::size_t max_length, position_offset;
  double dropout_p;

  TransformerEmbeddings(const TransformerConfig& c, Init& init)
      : word(c.vocab_size, c.embedding_size, init),
        position(c.position_embeddings.value_or(true)
                     ? std::make_unique<Embedding<T, Dev>>(c.max_position_embeddings, c.embedding_size, init)
                     : nullptr),
        type(c.type_vocab_size != 0 ? std::make_unique<Embedding<T, Dev>>(c.type_vocab_size, c.embedding_size, init) : nullptr),
        early_projection(c.architecture().early_projection),
        max_length(c.max_tokens()),
        position_offset(c.position_offset),
        dropout_p(c.hidden_dropout_prob) {
    const std::size_t width = early_projection ? c.hidden_size : c.embedding_size;
    if (c.architecture().embedding_norm) norm = std::make_unique<LayerNorm<T, Dev>>(width, c.layer_norm_eps, init, c.norm_bias);
    if (c.embedding_size != c.hidden_size)
      projection = std::make_unique<Linear<T, Dev>>(c.embedding_size, c.hidden_size, init, !early_projection);
  }
  Var<T, Dev> operator()(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward) const {
    const NameScope scope("embeddings");
    if (batch.offsets.longest() > max_length)
      fail("TransformerEmbeddings", "a sequence has ", batch.offsets.longest(), " tokens, the model has positions for ", max_length,
           "; shorten it (max_length)");
    Var<T, Dev> words;
    std::vector<TableRows<T, Dev>> lookups;
    if (plug)
      words = (*plug)(word(batch.ids), batch, forward);
    else
      lookups.push_back({word.weight, batch.ids});
    if (type) lookups.push_back({type->weight, batch.type_ids});
    if (position && position_offset == 0) lookups.push_back({position->weight, batch.position_ids});
    if (position && position_offset != 0)
      lookups.push_back({position->weight, batch.feature(position_rows, "TransformerEmbeddings").indices});
    auto sum = embedding_sum(words, lookups);
    if (projection && early_projection) sum = (*projection)(sum);
    const auto mask = forward.dropout(dropout_p, site::embeddings);
    const auto x = norm ? (*norm)(sum, mask) : dropout(sum, mask);
    return projection && !early_projection ? (*projection)(x) : x;  // (N, D)
  }
};

/// One encoder layer:  y = attention(x);  LayerNorm(y + dropout(f(y))),   (N, D) -> (N, D), with f(y) = gelu(y W_1^T + b_1) W_2^T + b_2, or
/// gated (gelu(y W_1^T + b_1) * (y W_g^T + b_g)) W_2^T + b_2. With pre-normalization y + dropout(f(LayerNorm(y))).
template <class T = float, class Dev = Cpu>
struct TransformerLayer {
  MultiHeadAttention<T, Dev> attention;
  Linear<T, Dev> intermediate;
  std::optional<Linear<T, Dev>> gate;
  Linear<T, Dev> output;
  LayerNorm<T, Dev> norm;
  Activation activation;
  bool pre_norm;
  double dropout_p;
  std::uint32_t output_site;  // of dropout

  TransformerLayer(const TransformerConfig& c, Init& init, DropoutSites sites, std::size_t number = 0)
      : attention(attention_options(c, number), init, sites),
        intermediate(c.hidden_size, c.intermediate_size, init, c.mlp_bias),
        gate(c.architecture().gated ? std::make_optional<Linear<T, Dev>>(c.hidden_size, c.intermediate_size, init, c.mlp_bias)
                                    : std::nullopt),
        output(c.intermediate_size, c.hidden_size, init, c.mlp_bias),
        norm(c.hidden_size, c.layer_norm_eps, init, c.norm_bias),
        activation(c.hidden_act),
        pre_norm(c.architecture().pre_norm),
        dropout_p(c.layer_dropout),
        output_site(sites.next()) {}

  static MultiHeadOptions attention_options(const TransformerConfig& c, std::size_t number) {
    const Architecture& a = c.architecture();
    const std::size_t d = c.hidden_size / c.num_attention_heads;
    double scale = a.scaled ? 0 : 1;
    if (c.scale_by_layer) scale = 1 / (std::sqrt(static_cast<double>(d)) * static_cast<double>(number + 1));
    return {.width = c.hidden_size,
            .heads = c.num_attention_heads,
            .attention_dropout = c.attention_probs_dropout_prob,
            .hidden_dropout = a.attention_dropout ? c.layer_dropout : 0,
            .layer_norm_eps = c.layer_norm_eps,
            .qkv_bias = c.qkv_bias,
            .dense_bias = c.attention_bias,
            .norm_bias = c.norm_bias,
            .pre_norm = a.pre_norm,
            .norms = number > 0 || a.first_norm,
            .scale = scale};
  }

  typename MultiHeadAttention<T, Dev>::Output operator()(const Var<T, Dev>& x, const LayerInputs<T, Dev>& in) const {
    const auto y = attention(x, in);
    const NameScope scope("feed_forward");
    const auto mask = in.forward.dropout(dropout_p, output_site);
    if (pre_norm) return {add(y.hidden, dropout(feed_forward(norm(y.hidden)), mask)), y.attentions};
    return {norm(feed_forward(y.hidden), y.hidden, mask), y.attentions};
  }
  /// f(y); inside (N, 4D)
  Var<T, Dev> feed_forward(const Var<T, Dev>& y) const {
    if (gate) return output(multiply(activate(activation, intermediate(y)), (*gate)(y)));
    if (activation == Activation::gelu) {
      if (intermediate.int8 && output.int8) return feed_forward_int8(y, *intermediate.int8, *output.int8);
      const auto w1 = intermediate.packed_weights(), w2 = output.packed_weights();
      if (w1 && w2) return feed_forward_bfloat16(y, *w1, *w2);
      if (!intermediate.int8 && !output.int8)  // one of them alone is in 8 bits with QuantizeOptions::skip
        return lexformer::feed_forward(y, intermediate.weight, intermediate.bias, output.weight, output.bias);
    }
    return output(activate(activation, intermediate(y)));
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("attention", attention);
    v("intermediate.dense", intermediate);
    if (gate) v("intermediate.gate", *gate);
    v("output.dense", output);
    v("output.LayerNorm", norm);
  }
};

struct EncodeOptions {
  bool all_hidden = false;                                        // return the embeddings and the output of every layer
  Attentions attentions = Attentions::none;                       // of every layer
  std::vector<std::size_t> attention_heads{};                     // heads whose attentions are returned; empty = all
  std::vector<std::vector<std::size_t>> layer_attention_heads{};  // the same for each layer; replaces attention_heads
  std::size_t layers = ~std::size_t{0};                           // run only the first `layers` layers
};

template <class T = float, class Dev = Cpu>
struct EncoderOutput {
  Var<T, Dev> last;                     // (N, D)
  std::vector<Var<T, Dev>> hidden;      // embeddings, layer 1, ..., each (N, D); only with all_hidden
  std::vector<Var<T, Dev>> attentions;  // per layer, (heads, P); only if requested
};

/// The encoder: embeddings and a stack of layers, with the attention terms of its config.
template <class T = float, class Dev = Cpu>
struct Transformer {
  TransformerConfig config;
  TransformerEmbeddings<T, Dev> embeddings;
  std::vector<TransformerLayer<T, Dev>> layers;
  std::unique_ptr<LayerNorm<T, Dev>> norm;  // after all layers, with pre-normalization
  /// Whether training stores only the inputs of layers, and backward computes each layer again (autograd/checkpoint.hpp): less memory, the
  /// same results. It has no effect on layers whose attentions are returned.
  bool gradient_checkpointing = false;

  Transformer(const TransformerConfig& c, Init& init) : Transformer(c, init, init) { add_other_terms(init); }
  /// Makes only the position scheme of the config's terms, with weights from `init_terms`. add_other_terms() makes the other terms, after
  /// the head of the model: a checkpoint may lack those.
  Transformer(const TransformerConfig& c, Init& init, Init& init_terms, const std::string& where = "Transformer")
      : Transformer(c, configure_terms<T, Dev>(c.attention, c.sizes(), where), init, init_terms) {}
  /// The same with terms that are configured already.
  Transformer(const TransformerConfig& c, std::vector<NamedFactory<T, Dev>> terms, Init& init, Init& init_terms)
      : config(resolved(c, terms)), embeddings(config, init), factories_(std::move(terms)) {
    layers.reserve(c.num_hidden_layers);
    for (std::size_t i = 0; i < c.num_hidden_layers; ++i) layers.emplace_back(c, init, site::layer(i), i);
    if (c.architecture().pre_norm) norm = std::make_unique<LayerNorm<T, Dev>>(c.hidden_size, c.layer_norm_eps, init, c.norm_bias);
    make_terms(true, init_terms);
  }
  void add_other_terms(Init& init) { make_terms(false, init); }

  EncoderOutput<T, Dev> operator()(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {},
                                   const EncodeOptions& options = {}) const {
    return run(batch, forward, options, nullptr);
  }

  /// Lets every attention term measure the values it needs from data (LEA: alpha), layer by layer in one forward pass, unless they are
  /// known. Returns whether all are known afterwards; if not, call it with another batch.
  bool calibrate(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {}) {
    const NoGrad no_grad;
    bool done = true;
    run(batch, forward, {}, &done);
    return done;
  }

  /// Whether all are known.
  bool calibrated() const {
    return std::all_of(terms_.begin(), terms_.end(), [](const Named& t) { return !t.placed.term || t.placed.term->calibrated(); });
  }

  /// The score terms of a batch from the terms that all layers share.
  ScoreTerms<T, Dev> shared_scores(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {}) const {
    ScoreTerms<T, Dev> scores;
    for (const auto& term : shared_) term->contribute({Var<T, Dev>(), batch, config.num_attention_heads, forward}, scores);
    return scores;
  }

  /// The name of the position scheme; "absolute" if there are only position embeddings.
  std::string positions() const {
    for (const auto& f : factories_)
      if (f.factory->positions()) return f.name;
    return "absolute";
  }
  /// The makers of the features that the terms read.
  std::vector<FeatureMaker> features() const {
    std::vector<FeatureMaker> all;
    for (const auto& f : factories_)
      for (auto& maker : f.factory->features()) all.push_back(std::move(maker));
    if (embeddings.plug) all.push_back(embeddings.plug->feature());
    if (config.architecture().head_pooling == HeadPooling::last) all.push_back(last_token_feature(config.pad_token_id));
    if (embeddings.position && config.position_offset != 0) all.push_back(position_rows_feature(config.position_offset, config.padding_id));
    return all;
  }
  /// The terms of the config, with the options in use.
  const std::vector<NamedFactory<T, Dev>>& factories() const { return factories_; }

  /// Visits the parameters under the names of HuggingFace's BERT without prefix: embeddings.word_embeddings.weight,
  /// encoder.layer.0.attention.self.query.weight, ...
  void visit(ParameterVisitor<T, Dev>& v) {
    v("embeddings.word_embeddings", embeddings.word);
    if (embeddings.position) v("embeddings.position_embeddings", *embeddings.position);
    if (embeddings.type) v("embeddings.token_type_embeddings", *embeddings.type);
    if (embeddings.norm) v("embeddings.LayerNorm", *embeddings.norm);
    if (embeddings.projection) v("embeddings_project", *embeddings.projection);
    for (std::size_t i = 0; i < layers.size(); ++i) v("encoder.layer." + std::to_string(i), layers[i]);
    if (norm) v("encoder.LayerNorm", *norm);
    for (const auto& t : terms_)
      if (t.path.starts_with("encoder.")) t.visit(v);
  }
  /// Visits the parameters of attention terms under lexformer's own names: positions.distance, layer.3.lea.projection, ...
  void visit_terms(ParameterVisitor<T, Dev>& v) {
    if (embeddings.plug) v(embeddings.plug->name(), *embeddings.plug);
    for (const auto& t : terms_)
      if (!t.path.starts_with("encoder.")) t.visit(v);
  }
  /// Adds a term to the attention of one layer, for experiments. A model that is saved and loaded must name its terms in its config
  /// instead.
  void add_term(std::size_t layer, const std::string& name, std::shared_ptr<AttentionTerm<T, Dev>> term) {
    place(cat("layer.", layer, ".", name), {layer, std::move(term)});
  }

 private:
  struct Named {
    std::string path;
    PlacedTerm<T, Dev> placed;
    void visit(ParameterVisitor<T, Dev>& v) const {
      if (placed.term) v(path, *placed.term);
      if (placed.core) v(path, *placed.core);
    }
  };

  /// The config after the settings that depend on its terms are resolved.
  static TransformerConfig resolved(TransformerConfig c, const std::vector<NamedFactory<T, Dev>>& terms) {
    const bool scheme = std::any_of(terms.begin(), terms.end(), [](const auto& t) { return t.factory->positions(); });
    if (!c.position_embeddings) c.position_embeddings = !scheme;
    return c;
  }

  void make_terms(bool positions, Init& init);

  void place(const std::string& path, PlacedTerm<T, Dev> placed);

  EncoderOutput<T, Dev> run(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward, const EncodeOptions& options,
                            bool* calibrated) const;
  static Var<T, Dev> checkpointed(const TransformerLayer<T, Dev>& layer, const Var<T, Dev>& x,
                                  std::shared_ptr<const DeviceBatch<T, Dev>> batch, const ForwardOptions& forward,
                                  ScoreTerms<T, Dev> scores);

  std::vector<NamedFactory<T, Dev>> factories_;
  DropoutSites sites_ = site::terms();
  std::vector<Named> terms_;
  std::vector<std::shared_ptr<AttentionTerm<T, Dev>>> shared_;  // shared by all layers
};

/// All parameters of an encoder, a head and the terms under their names in a file, in this order.
template <class T, class Dev>
std::vector<NamedParameter<T, Dev>> encoder_state(Transformer<T, Dev>& encoder,
                                                  const std::function<void(ParameterVisitor<T, Dev>&)>& visit_head = {}) {
  ParameterVisitor<T, Dev> v;
  std::string prefix(encoder.config.architecture().prefix);
  prefix.pop_back();  // the dot
  v(prefix, encoder);
  if (visit_head) visit_head(v);
  struct Terms {
    Transformer<T, Dev>& owner;
    void visit(ParameterVisitor<T, Dev>& visitor) { owner.visit_terms(visitor); }
  } terms{encoder};
  v("lexformer.encoder", terms);
  return v.take();
}

template <class T, class Dev>
EncoderOutput<T, Dev> Transformer<T, Dev>::run(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward,
                                               const EncodeOptions& options, bool* calibrated) const {
  EncoderOutput<T, Dev> out;
  out.last = embeddings(batch, forward);
  if (options.all_hidden) out.hidden.push_back(out.last);
  for (const auto& term : shared_)
    if (calibrated != nullptr && !term->calibrate({Var<T, Dev>(), batch, config.num_attention_heads, forward}, {})) *calibrated = false;
  auto shared =
      shared_scores(batch, forward);  // a variable of its own: g++ 12 warns of an uninitialized vector if this throws inside the braces
  LayerInputs<T, Dev> in{batch, forward, {.attentions = options.attentions}, std::move(shared), calibrated};
  std::shared_ptr<const DeviceBatch<T, Dev>> kept;  // for checkpoints, since the caller's batch may not live until backward
  if (gradient_checkpointing && options.attentions == Attentions::none && detail::graph_state().recording)
    kept = std::make_shared<const DeviceBatch<T, Dev>>(batch);
  for (std::size_t i = 0; i < std::min(options.layers, layers.size()); ++i) {
    const NameScope scope("encoder.layer." + std::to_string(i));
    in.attention.attention_heads = options.layer_attention_heads.empty() ? options.attention_heads : options.layer_attention_heads.at(i);
    typename MultiHeadAttention<T, Dev>::Output y;
    if (kept)
      y.hidden = checkpointed(layers[i], out.last, kept, forward, in.shared);
    else
      y = layers[i](out.last, in);
    out.last = std::move(y.hidden);
    if (norm && i + 1 == layers.size()) out.last = (*norm)(out.last);
    if (options.all_hidden) out.hidden.push_back(out.last);
    if (y.attentions.defined()) out.attentions.push_back(std::move(y.attentions));
  }
  return out;
}

template <class T, class Dev>
Var<T, Dev> Transformer<T, Dev>::checkpointed(const TransformerLayer<T, Dev>& layer, const Var<T, Dev>& x,
                                              std::shared_ptr<const DeviceBatch<T, Dev>> batch, const ForwardOptions& forward,
                                              ScoreTerms<T, Dev> scores) {
  std::vector<Var<T, Dev>> inputs{x};
  for (Var<T, Dev>* v : scores.variables()) inputs.push_back(std::exchange(*v, {}));
  // A copy of the layer shares its parameters; it lives as long as the graph.
  return checkpoint(inputs, [layer, batch = std::move(batch), forward, scores = std::move(scores)](const std::vector<Var<T, Dev>>& given) {
    auto terms = scores;  // a variable of its own, as in run()
    const auto variables = terms.variables();
    for (std::size_t i = 0; i < variables.size(); ++i) *variables[i] = given[i + 1];
    const LayerInputs<T, Dev> in{*batch, forward, {}, std::move(terms)};
    return layer(given[0], in).hidden;
  });
}

template <class T, class Dev>
void Transformer<T, Dev>::make_terms(bool positions, Init& init) {
  for (const auto& [name, factory] : factories_)
    if (factory->positions() == positions)
      for (const auto& placed : factory->make(config.sizes(), init, sites_)) place(factory->path(name, placed.layer), placed);
}

template <class T, class Dev>
void Transformer<T, Dev>::place(const std::string& path, PlacedTerm<T, Dev> placed) {
  if (placed.layer && *placed.layer >= layers.size())
    fail("Transformer", "there is no layer ", *placed.layer, "; the model has ", layers.size());
  if (placed.core) {
    if (!placed.layer) fail("Transformer", "'", path, "': a core belongs to one layer");
    if (std::exchange(layers[*placed.layer].attention.core, placed.core))
      fail_usage("Transformer", "'", path, "': layer ", *placed.layer, " has another term that replaces its call of attention");
  }
  if (placed.term) (placed.layer ? layers[*placed.layer].attention.terms : shared_).push_back(placed.term);
  terms_.push_back({path, std::move(placed)});
}

#if defined(LEXFORMER_COMPILED)
extern template struct Transformer<float, Cpu>;
#endif

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/attention/terms.hpp"
#endif
