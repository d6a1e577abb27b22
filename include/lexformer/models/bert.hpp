// SPDX-License-Identifier: MIT
// The BERT encoder (Devlin et al. 2019) and Electra's (Clark et al. 2020), equal to HuggingFace's in every number and name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lexformer/attention/multi_head.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/models/bert_config.hpp"
#include "lexformer/nn/embedding.hpp"
#include "lexformer/ops/dropout.hpp"

namespace lexformer {

/// Dropout sites of an encoder, by place: the embeddings have 0, layer i the block from site::layer(i), heads follow from
/// site::head. Part of the contract that a seed means the same numbers everywhere.
namespace site {
inline constexpr std::uint32_t embeddings = 0, head = 0x10000;
inline constexpr std::uint32_t layer(std::size_t i) { return 0x100 + 8 * static_cast<std::uint32_t>(i); }
}  // namespace site

/// x = dropout(LayerNorm(word[id] + type[type_id] + position[position_id])), and for Electra x W^T + b where sizes differ.
/// The positions are left out where another scheme takes their place (attention/positions.hpp).
template <class T = float, class Dev = Cpu>
struct BertEmbeddings {
  Embedding<T, Dev> word;
  std::unique_ptr<Embedding<T, Dev>> position;
  Embedding<T, Dev> type;
  LayerNorm<T, Dev> norm;
  std::unique_ptr<Linear<T, Dev>> projection;  // Electra's embeddings_project
  std::size_t max_length;
  double dropout_p;

  BertEmbeddings(const BertConfig& c, Init& init)
      : word(c.vocab_size, c.embedding_size, init),
        position(c.positions.absolute ? std::make_unique<Embedding<T, Dev>>(c.max_position_embeddings, c.embedding_size, init) : nullptr),
        type(c.type_vocab_size, c.embedding_size, init),
        norm(c.embedding_size, c.layer_norm_eps, init),
        max_length(c.max_position_embeddings),
        dropout_p(c.hidden_dropout_prob) {
    if (c.embedding_size != c.hidden_size) projection = std::make_unique<Linear<T, Dev>>(c.embedding_size, c.hidden_size, init);
  }
  Var<T, Dev> operator()(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward) const {
    const NameScope scope("embeddings");
    if (batch.offsets.longest() > max_length)
      fail("BertEmbeddings", "a sequence has ", batch.offsets.longest(), " tokens, the model has positions for ", max_length,
           "; shorten it (max_length)");
    auto sum = add(word(batch.ids), type(batch.type_ids));
    if (position) sum = add(sum, (*position)(batch.position_ids));
    const auto x = dropout(norm(sum), forward.dropout(dropout_p, site::embeddings));
    return projection ? (*projection)(x) : x;  // (N, D)
  }
};

/// One layer:  y = attention(x);  LayerNorm(y + dropout(gelu(y W_1^T + b_1) W_2^T + b_2)),   (N, D) -> (N, D)
template <class T = float, class Dev = Cpu>
struct BertLayer {
  MultiHeadAttention<T, Dev> attention;
  Linear<T, Dev> intermediate, output;
  LayerNorm<T, Dev> norm;
  Activation activation;
  double dropout_p;
  std::uint32_t first_site;

  BertLayer(const BertConfig& c, std::size_t number, Init& init)
      : attention({.width = c.hidden_size,
                   .heads = c.num_attention_heads,
                   .attention_dropout = c.attention_probs_dropout_prob,
                   .hidden_dropout = c.hidden_dropout_prob,
                   .layer_norm_eps = c.layer_norm_eps,
                   .site = site::layer(number),
                   .rope_base = c.positions.scheme == PositionScheme::rope ? c.positions.rope_base : 0},
                  init),
        intermediate(c.hidden_size, c.intermediate_size, init),
        output(c.intermediate_size, c.hidden_size, init),
        norm(c.hidden_size, c.layer_norm_eps, init),
        activation(c.hidden_act),
        dropout_p(c.hidden_dropout_prob),
        first_site(site::layer(number)) {}

  typename MultiHeadAttention<T, Dev>::Output operator()(const Var<T, Dev>& x, const DeviceBatch<T, Dev>& batch,
                                                         const ForwardOptions& forward, Attentions attentions,
                                                         const std::vector<std::size_t>& attention_heads,
                                                         const ScoreTerms<T, Dev>& shared) const {
    const auto y = attention(x, batch, forward, attentions, attention_heads, shared);
    const NameScope scope("feed_forward");
    const auto inner = activate(activation, intermediate(y.hidden));  // (N, 4D)
    return {norm(output(inner), y.hidden, forward.dropout(dropout_p, first_site + 2)), y.attentions};
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("attention", attention);
    v("intermediate.dense", intermediate);
    v("output.dense", output);
    v("output.LayerNorm", norm);
  }
};

struct EncodeOptions {
  bool all_hidden = false;                                        // hand out the embeddings and every layer's output
  Attentions attentions = Attentions::none;                       // of every layer
  std::vector<std::size_t> attention_heads{};                     // of these heads; empty = all
  std::vector<std::vector<std::size_t>> layer_attention_heads{};  // of these heads of each layer, instead of map_heads
  std::size_t layers = ~std::size_t{0};                           // run only the first so many
};

template <class T = float, class Dev = Cpu>
struct EncoderOutput {
  Var<T, Dev> last;                     // (N, D)
  std::vector<Var<T, Dev>> hidden;      // embeddings, layer 1, ..., each (N, D); only with all_hidden
  std::vector<Var<T, Dev>> attentions;  // one for each layer, (heads, P); only with maps
};

template <class T = float, class Dev = Cpu>
struct BertEncoder {
  BertConfig config;
  BertEmbeddings<T, Dev> embeddings;
  std::vector<BertLayer<T, Dev>> layers;

  BertEncoder(const BertConfig& c, Init& init) : BertEncoder(c, init, init) {}
  /// The parameters of the position scheme are drawn from `init_positions`: a checkpoint may have all but them.
  BertEncoder(const BertConfig& c, Init& init, Init& init_positions) : config(c), embeddings(c, init) {
    layers.reserve(c.num_hidden_layers);
    for (std::size_t i = 0; i < c.num_hidden_layers; ++i) layers.emplace_back(c, i, init);
    for (auto& [layer, term] : position_terms<T, Dev>(c.positions, c.position_sizes(), init_positions)) {
      (layer ? layers[*layer].attention.terms : shared_).push_back(term);
      terms_.push_back({!layer                                     ? "positions"
                        : is_huggingface_table(c.positions.scheme) ? cat("encoder.layer.", *layer, ".attention.self")
                                                                   : cat("layer.", *layer, ".positions"),
                        std::move(term)});
    }
  }

  EncoderOutput<T, Dev> operator()(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {},
                                   const EncodeOptions& options = {}) const {
    EncoderOutput<T, Dev> out;
    out.last = embeddings(batch, forward);
    if (options.all_hidden) out.hidden.push_back(out.last);
    const auto shared = shared_scores(batch, forward);
    for (std::size_t i = 0; i < std::min(options.layers, layers.size()); ++i) {
      const NameScope scope("encoder.layer." + std::to_string(i));
      const auto& heads = options.layer_attention_heads.empty() ? options.attention_heads : options.layer_attention_heads.at(i);
      auto y = layers[i](out.last, batch, forward, options.attentions, heads, shared);
      out.last = std::move(y.hidden);
      if (options.all_hidden) out.hidden.push_back(out.last);
      if (y.attentions.defined()) out.attentions.push_back(std::move(y.attentions));
    }
    return out;
  }

  /// What the terms that all layers share add to the scores of a batch.
  ScoreTerms<T, Dev> shared_scores(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {}) const {
    ScoreTerms<T, Dev> scores;
    for (const auto& term : shared_) term->contribute({Var<T, Dev>(), batch, config.num_attention_heads, forward}, scores);
    return scores;
  }

  /// HuggingFace's names without the prefix: embeddings.word_embeddings.weight, encoder.layer.0.attention.self.query.weight, ...
  void visit(ParameterVisitor<T, Dev>& v) {
    v("embeddings.word_embeddings", embeddings.word);
    if (embeddings.position) v("embeddings.position_embeddings", *embeddings.position);
    v("embeddings.token_type_embeddings", embeddings.type);
    v("embeddings.LayerNorm", embeddings.norm);
    if (embeddings.projection) v("embeddings_project", *embeddings.projection);
    for (std::size_t i = 0; i < layers.size(); ++i) v("encoder.layer." + std::to_string(i), layers[i]);
    for (const auto& t : terms_)
      if (t.path.starts_with("encoder.")) v(t.path, *t.term);
  }
  /// Attention terms that have names of ours: positions.distance, layer.3.lea.projection, ...
  void visit_terms(ParameterVisitor<T, Dev>& v) {
    for (const auto& t : terms_)
      if (!t.path.starts_with("encoder.")) v(t.path, *t.term);
  }
  /// Adds a term to one layer's attention.
  void add_term(std::size_t layer, const std::string& name, std::shared_ptr<AttentionTerm<T, Dev>> term) {
    if (layer >= layers.size()) fail("BertEncoder", "there is no layer ", layer, "; the model has ", layers.size());
    layers[layer].attention.terms.push_back(term);
    terms_.push_back({cat("layer.", layer, ".", name), std::move(term)});
  }

 private:
  struct NamedTerm {
    std::string path;
    std::shared_ptr<AttentionTerm<T, Dev>> term;
  };
  std::vector<NamedTerm> terms_;
  std::vector<std::shared_ptr<AttentionTerm<T, Dev>>> shared_;  // by all layers
};

/// All parameters of an encoder and its terms under their names in a file, those of a head between the two.
template <class T, class Dev, class Head>
std::vector<NamedParameter<T, Dev>> encoder_state(BertEncoder<T, Dev>& encoder, Head&& visit_head) {
  ParameterVisitor<T, Dev> v;
  v(encoder.config.model_type, encoder);
  visit_head(v);
  struct Terms {
    BertEncoder<T, Dev>& owner;
    void visit(ParameterVisitor<T, Dev>& visitor) { owner.visit_terms(visitor); }
  } terms{encoder};
  v("lexformer.encoder", terms);
  return v.take();
}

/// Whether a checkpoint may lack this tensor because it was made without our heads, terms or position scheme.
inline bool is_of_positions_or_ours(const std::string& name) {
  return name.starts_with("lexformer.") || name.ends_with(".attention.self.distance_embedding.weight");
}

/// Refuses a config that asks for far more weights than the file has (`more`: those beyond the encoder's), before memory is
/// taken for them. A few that are missing are found when the tensors are compared, with a better message.
inline void require_size(const BertConfig& c, const ModelFile& file, double more = 0) {
  const auto size = [](std::size_t n) { return static_cast<double>(n); };
  const double h = size(c.hidden_size), e = size(c.embedding_size), few = 1u << 25;
  const double needed = more + size(c.vocab_size + (c.positions.absolute ? c.max_position_embeddings : 0) + c.type_vocab_size) * e +
                        (e == h ? 0 : e * h) + size(c.num_hidden_layers) * (4 * h * h + 2 * h * size(c.intermediate_size));
  double held = 0;
  for (const std::string& name : file.tensors.names()) held += size(file.tensors.shape(name).size());
  // A position scheme may be new, and as large as all that there is.
  if (needed + std::max(0.0, position_parameters(c.positions, c.position_sizes()) - held) > held + few)
    fail_file(file.path, "the config asks for ", needed, " weights, the file has ", held);
}

/// What a model did not take from its file.
struct LoadedState {
  std::vector<std::string> drawn;   // not taken from the file: freshly initialised
  std::vector<std::string> unused;  // in the file, but no part of this model
};

/// Copies tensors of a file into parameters of the same names. Errors: one is missing or has another shape.
template <class T, class Dev>
void load_parameters(std::vector<NamedParameter<T, Dev>>& parameters, const TensorFile& file, const std::string& where) {
  std::vector<ExpectedTensor> needed;
  for (const auto& p : parameters) needed.push_back({p.name, p.var.shape()});
  require_tensors(file, needed, where);
  for (auto& p : parameters) {
    p.var.mutable_value().assign(file.template get<T>(p.name).span());
  }
}

/// Takes a model's parameters from a file. Those for which may_stay(name, fits) holds stay as they were drawn; `fits`: the file has one of
/// this name and shape.
template <class T, class Dev, class MayStay>
LoadedState load_state(std::vector<NamedParameter<T, Dev>> parameters, const ModelFile& file, MayStay&& may_stay) {
  LoadedState out;
  std::vector<ExpectedTensor> all;
  for (const auto& p : parameters) {
    all.push_back({p.name, p.var.shape()});
    if (may_stay(p.name, file.tensors.contains(p.name) && file.tensors.shape(p.name) == p.var.shape())) out.drawn.push_back(p.name);
  }
  out.unused = compare_tensors(file.tensors, all).unexpected;
  std::erase_if(parameters, [&](const auto& p) { return std::find(out.drawn.begin(), out.drawn.end(), p.name) != out.drawn.end(); });
  load_parameters(parameters, file.tensors, file.path);
  return out;
}

/// The encoder's weights from a model file, its position scheme's included; a head and other attention terms are left out.
template <class T, class Dev>
void load_encoder(BertEncoder<T, Dev>& encoder, const ModelFile& file) {
  auto parameters = encoder_state(encoder, [](auto&) {});
  load_parameters(parameters, file.tensors, file.path);
}

}  // namespace lexformer
