// SPDX-License-Identifier: MIT
// A causal language model predicts each token from those before it. Decoders are pre-trained this way (Radford et al. 2019):
//   L = mean over the tokens t of -log softmax(h_t E^T)[next token],   E (V, D) the word embeddings
// data/masked_batch.hpp (NextTokens) says which tokens are predicted.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "lexformer/data/masked_batch.hpp"
#include "lexformer/models/pretrained.hpp"
#include "lexformer/ops/linear_cross_entropy.hpp"

namespace lexformer {

/// HuggingFace's GPT2LMHeadModel and GPTNeoForCausalLM; the word embeddings are the output layer.
template <class T = float, class Dev = Cpu>
class CausalLm : public Pretrained<T, Dev> {
 public:
  using Predicted = NextTokens;

  struct Output {
    Var<accumulate_t<T>, Dev> loss;
    EncoderOutput<T, Dev> encoder;  // for losses that read hidden states or attention
  };

  /// Loads a trained model: a .lxf file or a HuggingFace folder.
  static CausalLm load(const std::string& path) { return CausalLm(ModelFile::open(path), std::nullopt); }
  /// Loads a model for training, from a file of any model on a decoder.
  static CausalLm load(const std::string& path, const TrainingStart& start) { return CausalLm(ModelFile::open(path), start); }

  /// Errors (file): the model is not a decoder, or has an output layer of its own; neither the tokenizer nor the config ends a text.
  CausalLm(const ModelFile& file, const std::optional<TrainingStart>& start);
  /// Creates a new model with all weights drawn from `seed`. `config` has HuggingFace's keys. vocab_size defaults to the size of the
  /// vocabulary; bos_, eos_ and pad_token_id to the tokenizer's [CLS], [SEP] and [PAD].
  CausalLm(const Json& config, const Vocabulary& vocabulary, const TokenizerOptions& tokenizer, std::uint64_t seed);

  /// Which tokens it predicts. The last one of a text predicts eos_token_id, unless the tokenizer ends texts with a token.
  const NextTokens& next_tokens() const { return next_; }

  /// Computes the loss of predicting labels[i] at token row positions[i] of the batch; rows are numbered across all sequences.
  Output operator()(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions, std::span<const std::int32_t> labels,
                    const ForwardOptions& forward = {}, const EncodeOptions& encode = {}) const {
    auto y = this->encoder()(batch, forward, encode);
    const NameScope scope("head");
    auto loss =
        linear_cross_entropy(detail::token_rows("CausalLm", y, positions), this->encoder().embeddings.word.weight, Var<T, Dev>(), labels);
    return {std::move(loss), std::move(y)};
  }
  Var<accumulate_t<T>, Dev> loss(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions,
                                 std::span<const std::int32_t> labels, const ForwardOptions& forward = {}) const {
    return (*this)(batch, positions, labels, forward).loss;
  }
  /// Computes the logits of all tokens of the vocabulary at these token rows: (positions, V).
  Var<T, Dev> logits(const DeviceBatch<T, Dev>& batch, std::span<const std::int32_t> positions) const {
    return logits(this->encoder()(batch), positions);
  }
  Var<T, Dev> logits(const EncoderOutput<T, Dev>& y, std::span<const std::int32_t> positions) const {
    return matmul(detail::token_rows("CausalLm", y, positions), this->encoder().embeddings.word.weight, {.transpose_b = true});
  }

 private:
  void make(const Json& config, const std::string& where);
  void write(ModelFile& file) const override { write_class_name(std::string(this->config().architecture().causal_lm), file.config); }

  NextTokens next_;
};

namespace detail {
/// The config of a new causal language model, with the ids of its tokenizer's special tokens.
JsonValue causal_config(const Json& config, const Vocabulary& vocabulary, const TokenizerOptions& tokenizer);
}  // namespace detail

template <class T, class Dev>
CausalLm<T, Dev>::CausalLm(const ModelFile& file, const std::optional<TrainingStart>& start) : Pretrained<T, Dev>(file, start) {
  if (const char* const name = "lm_head.weight"; file.tensors.contains(name)) {
    const std::string words = cat(this->parsed_config().architecture().prefix, "embeddings.word_embeddings.weight");
    if (!file.tensors.contains(words) || file.tensors.get<float>(name).to_vector() != file.tensors.get<float>(words).to_vector())
      fail_file(file.path, "the output layer has a weight of its own ('lm_head.weight'); only the word embeddings are supported");
  }
  make(file.config, file.path);
}

template <class T, class Dev>
CausalLm<T, Dev>::CausalLm(const Json& config, const Vocabulary& vocabulary, const TokenizerOptions& tokenizer, std::uint64_t seed)
    : Pretrained<T, Dev>(detail::causal_config(config, vocabulary, tokenizer), vocabulary, tokenizer, seed, "CausalLm: config") {
  make(detail::causal_config(config, vocabulary, tokenizer), "CausalLm: config");
}

template <class T, class Dev>
void CausalLm<T, Dev>::make(const Json& config, const std::string& where) {
  const TransformerConfig& parsed = this->parsed_config();
  if (parsed.architecture().causal_lm.empty() || !parsed.causal())
    fail_file(where, "'model_type' is ", in_quotes(parsed.model_type),
              parsed.architecture().causal_lm.empty() ? "" : ", made bidirectional", "; a causal language model needs a decoder, as gpt2");
  if (this->tokenizer().end_id(1) < 0) {
    next_.end = end_token_id(config, where);
    if (!next_.end || static_cast<std::size_t>(*next_.end) >= parsed.vocab_size)
      fail_file(where, "'eos_token_id' is missing or not in the vocabulary; the last token of a text predicts it");
  }
  this->make_encoder(0);
  this->load_state();
}

#if defined(LEXFORMER_COMPILED)
extern template class CausalLm<float, Cpu>;
#if defined(LEXFORMER_WITH_CUDA)  // in lexformer::cuda
extern template class CausalLm<float, Cuda>;
#endif
#endif

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE JsonValue detail::causal_config(const Json& config, const Vocabulary& vocabulary, const TokenizerOptions& tokenizer) {
  Json all = config;
  for (const auto& [key, token] :
       {std::pair{"bos_token_id", &tokenizer.cls}, {"eos_token_id", &tokenizer.sep}, {"pad_token_id", &tokenizer.pad}})
    if (const auto id = vocabulary.id(*token); id && all.is_object() && !all.contains(key)) all[key] = static_cast<std::uint32_t>(*id);
  return JsonValue(std::move(all));
}

}  // namespace lexformer
#endif
