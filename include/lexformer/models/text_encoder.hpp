// SPDX-License-Identifier: MIT
// A model that gives vectors of texts, in any precision, on any device: a sentence encoder as it was trained, or the hidden states of any
// encoder.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "lexformer/models/compute.hpp"
#include "lexformer/models/encoder.hpp"
#include "lexformer/models/sentence_encoder.hpp"

namespace lexformer {

class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  virtual const Tokenizer& tokenizer() const = 0;
  virtual const TransformerConfig& config() const = 0;
  /// The most tokens of a text.
  virtual std::size_t max_length() const = 0;
  /// (texts, D), in input order, on the CPU; without pooling (N, D), the rows of all tokens: Encoder::encode. A sentence encoder pools the
  /// last layer as it was trained. Errors (usage): a layer or a pooling for a sentence encoder.
  virtual Tensor<float> encode(std::span<const Encoding> texts, const TextEncodeOptions& options = {}) const = 0;
  Tensor<float> encode(std::span<const std::string> texts, const TextEncodeOptions& options = {}) const {
    const auto encodings = encode_all(tokenizer(), texts, std::min(options.max_length, max_length()));
    return encode(std::span<const Encoding>(encodings), options);
  }
};

namespace detail {

template <class T, class Dev, template <class, class> class Model>
class TextEncoderOf : public TextEncoder {
 public:
  const Tokenizer& tokenizer() const override { return model_.tokenizer(); }
  const TransformerConfig& config() const override { return model_.config(); }

 protected:
  template <class... Start>
  TextEncoderOf(ModelFile file, const Compute& compute, const ModelExtras& extras, const Start&... start) : model_(file, start...) {
    const std::string path = std::exchange(file, {}).path;
    complete(model_, path, compute, extras);
  }

  Model<T, Dev> model_;
};

template <class T, class Dev>
class SentenceVectors final : public TextEncoderOf<T, Dev, SentenceEncoder> {
 public:
  SentenceVectors(ModelFile file, const Compute& compute, const ModelExtras& extras)
      : TextEncoderOf<T, Dev, SentenceEncoder>(std::move(file), compute, extras) {}
  using TextEncoder::encode;
  std::size_t max_length() const override { return this->model_.options().max_length; }
  Tensor<float> encode(std::span<const Encoding> texts, const TextEncodeOptions& options) const override {
    if (options.pooling || options.layers != TextEncodeOptions().layers)
      fail_usage("TextEncoder",
                 "a sentence encoder pools its last layer as it was trained; open it for its hidden states to choose others");
    const NoGrad no_grad;
    auto y = this->model_.encode(texts, options.batch_size);
    return options.normalize.value_or(false) ? l2_normalize(Var<float>(y)).value() : y;
  }
};

template <class T, class Dev>
class HiddenStates final : public TextEncoderOf<T, Dev, Encoder> {
 public:
  HiddenStates(ModelFile file, const Compute& compute, const ModelExtras& extras)
      : TextEncoderOf<T, Dev, Encoder>(std::move(file), compute, extras, std::optional<TrainingStart>()) {}
  using TextEncoder::encode;
  std::size_t max_length() const override { return this->config().max_tokens(); }
  Tensor<float> encode(std::span<const Encoding> texts, const TextEncodeOptions& options) const override {
    return this->model_.encode(texts, options);
  }
};

template <class T, class Dev>
std::unique_ptr<TextEncoder> make_text_encoder(ModelFile file, const Compute& compute, const ModelExtras& extras, bool hidden_states) {
  if (hidden_states || !is_sentence_encoder(file)) return std::make_unique<HiddenStates<T, Dev>>(std::move(file), compute, extras);
  return std::make_unique<SentenceVectors<T, Dev>>(std::move(file), compute, extras);
}

// The instances in lexformer::compiled and lexformer::cuda.
#define LEXFORMER_TEXT_ENCODER(word, T, Dev) \
  word template std::unique_ptr<TextEncoder> make_text_encoder<T, Dev>(ModelFile, const Compute&, const ModelExtras&, bool);
LEXFORMER_EXTERN_INSTANCES(LEXFORMER_TEXT_ENCODER)

}  // namespace detail

/// Opens a sentence encoder, or the encoder of any other model. hidden_states: opens the encoder alone also if the model is a sentence
/// encoder; its Dense modules are not used.
///   const auto model = lexformer::open_text_encoder("model.lxf");
///   const auto vectors = model->encode(texts);
/// Errors: as SentenceEncoder, Encoder and with_compute. Errors (usage): `extras` has something that the model cannot use.
inline std::unique_ptr<TextEncoder> open_text_encoder(ModelFile file, const Compute& compute = {}, const ModelExtras& extras = {},
                                                      bool hidden_states = false) {
  return with_compute(compute, [&](auto number, auto device) {
    return detail::make_text_encoder<decltype(number), decltype(device)>(std::move(file), compute, extras, hidden_states);
  });
}
inline std::unique_ptr<TextEncoder> open_text_encoder(const std::string& path, const Compute& compute = {}, const ModelExtras& extras = {},
                                                      bool hidden_states = false) {
  return open_text_encoder(ModelFile::open(path), compute, extras, hidden_states);
}

}  // namespace lexformer
