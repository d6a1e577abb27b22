// SPDX-License-Identifier: MIT
// A masked language model predicts tokens from their context. Encoders are pre-trained this way (Devlin et al. 2019, section 3.1):
//   L_MLM = mean over the predicted positions m of -log softmax(logits_m)[label_m]
// text/masking.hpp chooses the positions, data/masked_batch.hpp makes the batches. models/mth.hpp adds two losses.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/models/pretrained.hpp"
#include "lexformer/ops/linear_cross_entropy.hpp"
#include "lexformer/text/masking.hpp"

namespace lexformer {

/// The head of HuggingFace's BertForMaskedLM:  t = LayerNorm(act(h W^T + b)),  logits = t E^T + bias,
/// where E (V, D) are the encoder's word embeddings. h, t (M, D) -> logits (M, V). The config says which biases ModernBERT's has.
template <class T = float, class Dev = Cpu>
struct MaskedLmHead {
  const Architecture& architecture;
  Linear<T, Dev> dense;
  LayerNorm<T, Dev> norm;
  Var<T, Dev> bias;  // (V)
  bool has_bias;     // else it is zero and not a parameter
  Activation activation;

  MaskedLmHead(const TransformerConfig& c, Init& init)
      : architecture(c.architecture()),
        dense(c.hidden_size, c.hidden_size, init, !shared() || c.head_bias),
        norm(c.hidden_size, c.layer_norm_eps, init, c.norm_bias),
        bias(init.constant<T, Dev>({c.vocab_size}, T{0})),
        has_bias(c.decoder_bias),
        activation(shared()                   ? c.head_act
                   : architecture.masked_gelu ? Activation::gelu
                                              : c.hidden_act) {
    if (!has_bias) bias.set_requires_grad(false);
  }
  Var<T, Dev> transform(const Var<T, Dev>& x) const { return norm(activate(activation, dense(x))); }
  void visit(ParameterVisitor<T, Dev>& v) {
    if (has_bias) v("cls.predictions.bias", bias);
    v(std::string(architecture.masked_dense), dense);
    v(std::string(architecture.masked_norm), norm);
  }

 private:
  /// Whether dense and norm are also layers of the classification head.
  bool shared() const { return architecture.masked_dense == architecture.head_dense; }
};

template <class T = float, class Dev = Cpu>
class MaskedLm : public Pretrained<T, Dev> {
 public:
  MaskedLm(MaskedLm&&) noexcept = default;
  MaskedLm& operator=(MaskedLm&&) noexcept = default;
  ~MaskedLm() override;

  using Predicted = Masker;

  struct Output {
    Var<accumulate_t<T>, Dev> loss;  // L_MLM
    EncoderOutput<T, Dev> encoder;   // for losses that read hidden states or attention
  };

  /// Loads a trained model: a .lxf file or a HuggingFace folder that has the head.
  static MaskedLm load(const std::string& path) { return MaskedLm(ModelFile::open(path), std::nullopt); }
  /// Loads a model for training. The encoder comes from the file, which may be a cross-encoder or a plain encoder. Tensors of the head and
  /// the attention terms come from the file if it has them; the others are new and listed by new_tensors().
  static MaskedLm load(const std::string& path, const TrainingStart& start) { return MaskedLm(ModelFile::open(path), start); }

  MaskedLm(const ModelFile& file, const std::optional<TrainingStart>& start);
  /// Creates a new model with all weights drawn from `seed`. `config` has HuggingFace's keys; vocab_size defaults to the size of the
  /// vocabulary and may be larger.
  MaskedLm(const Json& config, Vocabulary vocabulary, const TokenizerOptions& tokenizer, std::uint64_t seed);

  /// Computes the loss of predicting labels[i] at token row positions[i] of the batch; rows are numbered across all sequences.
  Output operator()(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions, std::span<const std::int32_t> labels,
                    const ForwardOptions& forward = {}, const EncodeOptions& encode = {}) const;
  Var<accumulate_t<T>, Dev> loss(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions,
                                 std::span<const std::int32_t> labels, const ForwardOptions& forward = {}) const {
    return (*this)(batch, positions, labels, forward).loss;
  }
  /// Computes the logits of all tokens of the vocabulary at these token rows: (positions, V).
  Var<T, Dev> logits(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions) const {
    return logits(this->encoder()(batch), positions);
  }
  Var<T, Dev> logits(const EncoderOutput<T, Dev>& y, std::span<const std::int32_t> positions) const {
    return linear(transformed(y, positions), this->encoder().embeddings.word.weight, head_->bias);
  }

 private:
  void make(const std::string& where);
  void visit_head(ParameterVisitor<T, Dev>& v) override { v("", *head_); }
  void write(ModelFile& file) const override { write_class_name(cat(this->config().architecture().name, "ForMaskedLM"), file.config); }
  Var<T, Dev> transformed(const EncoderOutput<T, Dev>& y, std::span<const std::int32_t> positions) const;

  std::unique_ptr<MaskedLmHead<T, Dev>> head_;
};

// Bodies are outside the class so that lexformer::compiled can hold them once for float.

template <class T, class Dev>
MaskedLm<T, Dev>::~MaskedLm() = default;

template <class T, class Dev>
MaskedLm<T, Dev>::MaskedLm(const ModelFile& file, const std::optional<TrainingStart>& start) : Pretrained<T, Dev>(file, start) {
  if (file.tensors.contains("cls.predictions.decoder.weight"))
    fail_file(file.path,
              "the output layer has a weight of its own ('cls.predictions.decoder.weight'); only the word embeddings are supported");
  make(file.path);
  if (this->encoder().embeddings.plug)
    fail_usage(file.path, "has ", in_quotes(this->encoder().embeddings.plug->name()),
               " plugged in; a masked language model predicts pieces, so it needs a model without it");
}

template <class T, class Dev>
MaskedLm<T, Dev>::MaskedLm(const Json& config, Vocabulary vocabulary, const TokenizerOptions& tokenizer, std::uint64_t seed)
    : Pretrained<T, Dev>(config, std::move(vocabulary), tokenizer, seed, "MaskedLm: config") {
  make("MaskedLm: config");
}

template <class T, class Dev>
void MaskedLm<T, Dev>::make(const std::string& where) {
  const TransformerConfig& config = this->parsed_config();
  if (!config.architecture().masked_lm)
    fail_file(where, "'model_type' is ", in_quotes(config.model_type), "; its masked language model is not supported");
  const double width = static_cast<double>(config.hidden_size);
  this->make_encoder(width * width + static_cast<double>(config.vocab_size));
  head_ = std::make_unique<MaskedLmHead<T, Dev>>(config, this->init());
  this->load_state();
}

template <class T, class Dev>
Var<T, Dev> MaskedLm<T, Dev>::transformed(const EncoderOutput<T, Dev>& y, std::span<const std::int32_t> positions) const {
  return head_->transform(detail::token_rows("MaskedLm", y, positions));
}

template <class T, class Dev>
typename MaskedLm<T, Dev>::Output MaskedLm<T, Dev>::operator()(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions,
                                                               std::span<const std::int32_t> labels, const ForwardOptions& forward,
                                                               const EncodeOptions& encode) const {
  auto y = this->encoder()(batch, forward, encode);
  const NameScope scope("head");
  auto loss = linear_cross_entropy(transformed(y, positions), this->encoder().embeddings.word.weight, head_->bias, labels);
  return {std::move(loss), std::move(y)};
}

#if defined(LEXFORMER_COMPILED)
extern template class MaskedLm<float, Cpu>;
#if defined(LEXFORMER_WITH_CUDA)  // in lexformer::cuda
extern template class MaskedLm<float, Cuda>;
#endif
#endif

}  // namespace lexformer
