// SPDX-License-Identifier: MIT
// An encoder without head: texts to vectors.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lexformer/data/batch_plan.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/models/pretrained.hpp"
#include "lexformer/nn/pooling.hpp"

namespace lexformer {

struct TextEncodeOptions {
  std::optional<Pooling> pooling{};      // default: the file's setting (sentence-transformers folders have one), else mean
  std::optional<bool> normalize{};       // scale each row to length 1; default: the file's setting, else false. Only with pooling
  std::size_t layers = ~std::size_t{0};  // 0: embeddings, 1: after the first layer, ...
  std::size_t max_length = 512;          // tokens of a text
  std::size_t batch_size = 32;
  std::function<void(std::size_t texts)> encoded{};  // called after each batch with the number of its texts; may throw to stop
};

template <class T = float, class Dev = Cpu>
class Encoder : public Pretrained<T, Dev> {
 public:
  Encoder(Encoder&&) noexcept = default;
  Encoder& operator=(Encoder&&) noexcept = default;
  ~Encoder() override;

  /// Loads the encoder of any model file or HuggingFace folder and ignores heads, also the Dense modules of a SentenceEncoder. Errors: the
  /// file has attention terms that are not known (attention/term_registry.hpp), or holds something else that is not used.
  static Encoder load(const std::string& path) { return Encoder(ModelFile::open(path), {}); }

  Encoder(const ModelFile& file, const std::optional<TrainingStart>& start);

  EncoderOutput<T, Dev> operator()(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {},
                                   const EncodeOptions& encode = {}) const {
    return this->encoder()(batch, forward, encode);
  }

  /// Encodes texts to vectors on the CPU, in input order: (texts, D), or without pooling (N, D), the token rows of all texts concatenated.
  Tensor<accumulate_t<T>> encode(std::span<const std::string> texts, const TextEncodeOptions& options = {}) const;
  Tensor<accumulate_t<T>> encode(std::initializer_list<std::string> texts, const TextEncodeOptions& options = {}) const {
    return encode(std::span<const std::string>(texts.begin(), texts.size()), options);
  }
  /// The same for tokenized texts, e.g. pairs.
  Tensor<accumulate_t<T>> encode(std::span<const Encoding> texts, const TextEncodeOptions& options = {}) const;

  /// The file's settings for pooling; mean and false by default.
  Pooling pooling() const { return pooling_; }
  bool normalize() const { return normalize_; }

 private:
  Pooling pooling_ = Pooling::mean;
  bool normalize_ = false;
};

template <class T, class Dev>
Encoder<T, Dev>::~Encoder() = default;

template <class T, class Dev>
Encoder<T, Dev>::Encoder(const ModelFile& file, const std::optional<TrainingStart>& start) : Pretrained<T, Dev>(file, start) {
  const std::string where = file.path + ": config: lexformer";
  if (const Json* ours = detail::find_value(file.config, "lexformer", false, file.path + ": config")) {
    pooling_ = get_name<Pooling>(*ours, "pooling", where, Pooling::mean);
    normalize_ = get_bool(*ours, "normalize", where, false);
  }
  if (pooling_ == Pooling::none) fail_file(where, "'pooling' is 'none', expected mean, cls or max");
  this->make_encoder(0);
  this->load_state();
}

template <class T, class Dev>
Tensor<accumulate_t<T>> Encoder<T, Dev>::encode(std::span<const std::string> texts, const TextEncodeOptions& options) const {
  const std::size_t length = std::min(options.max_length, this->config().max_tokens());
  return encode(std::span<const Encoding>(encode_all(this->tokenizer(), texts, length)), options);
}

template <class T, class Dev>
Tensor<accumulate_t<T>> Encoder<T, Dev>::encode(std::span<const Encoding> texts, const TextEncodeOptions& options) const {
  using A = accumulate_t<T>;
  const NoGrad no_grad;
  const Pooling pooling = options.pooling.value_or(pooling_);
  std::vector<std::size_t> begins(texts.size() + 1, 0);  // the first row of each text in the result
  for (std::size_t i = 0; i < texts.size(); ++i) begins[i + 1] = begins[i] + (pooling == Pooling::none ? texts[i].size() : 1);
  const std::size_t width = this->config().hidden_size;
  Tensor<A> y({begins.back(), width});
  const auto makers = this->features();
  const auto use = [&](const DeviceBatch<T, Dev>& batch, const std::vector<std::size_t>& rows) {
    const auto x = cast<A>(pool((*this)(batch, {}, {.layers = options.layers}).last, batch.offsets, pooling)).value().template to<Cpu>();
    const A* row = x.data();
    for (const std::size_t i : rows) {
      const std::size_t count = (begins[i + 1] - begins[i]) * width;
      std::copy_n(row, count, y.mutable_data() + begins[i] * width);
      row += count;
    }
  };
  for_each_batch(texts, options.batch_size, makers, use, options.encoded);
  if (options.normalize.value_or(normalize_ && pooling != Pooling::none))
    for (std::size_t i = 0; i < begins.back(); ++i) {
      A* row = y.mutable_data() + i * width;
      const A length = std::sqrt(std::inner_product(row, row + width, row, A{0}));
      for (std::size_t j = 0; j < width; ++j) row[j] /= std::max(length, static_cast<A>(1e-12));
    }
  return y;
}

#if defined(LEXFORMER_COMPILED)
extern template class Encoder<float, Cpu>;
#if defined(LEXFORMER_WITH_CUDA)  // in lexformer::cuda
extern template class Encoder<float, Cuda>;
#endif
#endif

}  // namespace lexformer
