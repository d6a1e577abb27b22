// SPDX-License-Identifier: MIT
// A masked language model: predicts tokens from what stands around them. This is how encoders are pre-trained.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/models/bert.hpp"
#include "lexformer/models/cross_encoder_options.hpp"
#include "lexformer/ops/linear_cross_entropy.hpp"

namespace lexformer {

/// What HuggingFace's BertForMaskedLM has above the encoder:  t = LayerNorm(act(h W^T + b)),  logits = t E^T + bias,
/// with E (V, D) the word embeddings of the encoder. h, t (M, D) -> logits (M, V)
template <class T = float, class Dev = Cpu>
struct MaskedLmHead {
  Linear<T, Dev> dense;
  LayerNorm<T, Dev> norm;
  Var<T, Dev> bias;  // (V)
  Activation activation;

  MaskedLmHead(const BertConfig& c, Init& init)
      : dense(c.hidden_size, c.hidden_size, init),
        norm(c.hidden_size, c.layer_norm_eps, init),
        bias(init.constant<T, Dev>({c.vocab_size}, T{0})),
        activation(c.hidden_act) {}
  Var<T, Dev> transform(const Var<T, Dev>& x) const { return norm(activate(activation, dense(x))); }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("bias", bias);
    v("transform.dense", dense);
    v("transform.LayerNorm", norm);
  }
};

template <class T = float, class Dev = Cpu>
class MaskedLm {
 public:
  struct Output {
    Var<accumulate_t<T>, Dev> loss;  // mean over the positions
    EncoderOutput<T, Dev> encoder;   // for losses that read hidden states or attention
  };

  /// A model as it was saved: a .lxf file or a HuggingFace folder that has the head.
  static MaskedLm load(const std::string& path) { return MaskedLm(ModelFile::open(path), 0, false); }
  /// A model to train on: the encoder comes from the file, which may be a cross-encoder or a plain encoder; of the head and a
  /// position scheme what the file has, the rest is drawn from `seed` and listed by new_tensors().
  static MaskedLm load(const std::string& path, std::uint64_t seed) { return MaskedLm(ModelFile::open(path), seed, true); }

  MaskedLm(const ModelFile& file, std::uint64_t seed, bool may_be_new);
  /// A new model: all weights are drawn from `seed`. `config` has HuggingFace's keys; vocab_size is that of the vocabulary unless it
  /// says more.
  MaskedLm(Json config, Vocabulary vocabulary, const TokenizerOptions& tokenizer, std::uint64_t seed);

  /// The loss of predicting labels[i] at the token row positions[i] of the batch (rows count through all of its sequences).
  Output operator()(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions, std::span<const std::int32_t> labels,
                    const ForwardOptions& forward = {}, const EncodeOptions& encode = {}) const;
  Var<accumulate_t<T>, Dev> loss(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions,
                                 std::span<const std::int32_t> labels, const ForwardOptions& forward = {}) const {
    return (*this)(batch, positions, labels, forward).loss;
  }
  /// Scores of all tokens of the vocabulary at these token rows: (positions, V).
  Var<T, Dev> logits(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions) const;

  /// All parameters under their names in the file.
  std::vector<NamedParameter<T, Dev>> state();
  /// What an optimizer trains: state() without buffers.
  std::vector<NamedParameter<T, Dev>> parameters() { return without_buffers(state()); }

  ModelFile file();
  void save(const std::string& path) { file().save(path); }

  const WordPieceTokenizer& tokenizer() const { return tokenizer_; }
  const BertConfig& config() const { return encoder_->config; }
  BertEncoder<T, Dev>& encoder() { return *encoder_; }
  const BertEncoder<T, Dev>& encoder() const { return *encoder_; }
  const std::vector<std::string>& new_tensors() const { return loaded_.drawn; }
  const std::vector<std::string>& unused_tensors() const { return loaded_.unused; }

 private:
  void make(const BertConfig& config, const std::string& where, Init& encoder, Init& others);
  Var<T, Dev> transformed(const EncoderOutput<T, Dev>& y, std::span<const std::int32_t> positions) const;

  Json json_;
  std::map<std::string, std::string> metadata_;
  WordPieceTokenizer tokenizer_;
  std::unique_ptr<BertEncoder<T, Dev>> encoder_;
  std::unique_ptr<MaskedLmHead<T, Dev>> head_;
  LoadedState loaded_;
};

// Bodies stand outside the class so that lexformer::compiled can hold them once for float.

template <class T, class Dev>
MaskedLm<T, Dev>::MaskedLm(const ModelFile& file, std::uint64_t seed, bool may_be_new)
    : json_(file.config), metadata_(file.metadata), tokenizer_(make_tokenizer(file)) {
  const auto config = parse_bert_config(file.config, file.path + ": config");
  if (file.tensors.contains("cls.predictions.decoder.weight"))
    fail_file(file.path,
              "the output layer has a weight of its own ('cls.predictions.decoder.weight'); only the word embeddings are supported");
  const double width = static_cast<double>(config.hidden_size);
  require_size(config, file, width * width + static_cast<double>(config.vocab_size));
  auto blank = Init::none();
  Init init(seed, config.initializer_range);
  make(config, file.path, blank, init);

  loaded_ = load_state(state(), file, [&](const std::string& name, bool fits) {
    return may_be_new && !fits && (name.starts_with("cls.") || is_of_positions_or_ours(name));
  });
}

template <class T, class Dev>
MaskedLm<T, Dev>::MaskedLm(Json config, Vocabulary vocabulary, const TokenizerOptions& tokenizer, std::uint64_t seed)
    : json_(std::move(config)), tokenizer_(std::move(vocabulary), tokenizer) {
  const std::string where = "MaskedLm: config";
  if (!json_.is_object()) fail_file(where, "expected a JSON object, found ", json_.type_name());
  if (!json_.contains("model_type")) json_["model_type"] = "bert";
  if (!json_.contains("vocab_size")) json_["vocab_size"] = tokenizer_.vocabulary().size();
  const auto parsed = parse_bert_config(json_, where);
  Init init(seed, parsed.initializer_range);
  make(parsed, where, init, init);
  for (const auto& p : state()) loaded_.drawn.push_back(p.name);
}

/// The encoder's weights come from `encoder`, those of its position scheme and of the head from `others`.
template <class T, class Dev>
void MaskedLm<T, Dev>::make(const BertConfig& config, const std::string& where, Init& encoder, Init& others) {
  if (config.model_type != "bert")
    fail_file(where, "'model_type' is ", in_quotes(config.model_type), "; masked language models are supported for bert only");
  if (tokenizer_.vocabulary().size() > config.vocab_size)
    fail_file(where, "the vocabulary has ", tokenizer_.vocabulary().size(), " tokens, the embedding ", config.vocab_size, " rows");
  encoder_ = std::make_unique<BertEncoder<T, Dev>>(config, encoder, others);
  head_ = std::make_unique<MaskedLmHead<T, Dev>>(config, others);
}

template <class T, class Dev>
Var<T, Dev> MaskedLm<T, Dev>::transformed(const EncoderOutput<T, Dev>& y, std::span<const std::int32_t> positions) const {
  for (const std::int32_t p : positions)
    if (p < 0 || static_cast<std::size_t>(p) >= y.last.dim(0))
      fail("MaskedLm", "position ", p, " of a batch of ", y.last.dim(0), " tokens");
  return head_->transform(select_rows(y.last, Indices<std::int32_t, Dev>(positions)));
}

template <class T, class Dev>
typename MaskedLm<T, Dev>::Output MaskedLm<T, Dev>::operator()(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions,
                                                               std::span<const std::int32_t> labels, const ForwardOptions& forward,
                                                               const EncodeOptions& encode) const {
  auto y = (*encoder_)(batch, forward, encode);
  const NameScope scope("head");
  auto loss = linear_cross_entropy(transformed(y, positions), encoder_->embeddings.word.weight, head_->bias, labels);
  return {std::move(loss), std::move(y)};
}

template <class T, class Dev>
Var<T, Dev> MaskedLm<T, Dev>::logits(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions) const {
  return linear(transformed((*encoder_)(batch), positions), encoder_->embeddings.word.weight, head_->bias);
}

template <class T, class Dev>
std::vector<NamedParameter<T, Dev>> MaskedLm<T, Dev>::state() {
  return encoder_state(*encoder_, [&](auto& v) { v("cls.predictions", *head_); });
}

template <class T, class Dev>
ModelFile MaskedLm<T, Dev>::file() {
  ModelFile f;
  f.config = json_;
  f.config["architectures"] = Json::array({"BertForMaskedLM"});
  // What the file was before, a cross-encoder for example, this model is not.
  if (f.config.contains("lexformer") && f.config["lexformer"].is_object()) {
    Json& ours = f.config["lexformer"];
    const Json theirs = to_json(CrossEncoderOptions{.attention = {"lea"}});
    for (const auto& item : theirs.items()) ours.erase(item.key());
    if (ours.empty()) f.config.erase("lexformer");
  }
  f.vocabulary = tokenizer_.vocabulary();
  f.tokenizer = tokenizer_.options();
  f.metadata = metadata_;
  for (const auto& p : state()) f.tensors.set(p.name, p.var.value().template to<Cpu>());
  return f;
}

#if defined(LEXFORMER_COMPILED)
extern template class MaskedLm<float, Cpu>;
extern template class MaskedLm<bfloat16, Cpu>;
extern template class MaskedLm<float, Cuda>;  // these in lexformer::cuda
extern template class MaskedLm<bfloat16, Cuda>;
#endif

}  // namespace lexformer
