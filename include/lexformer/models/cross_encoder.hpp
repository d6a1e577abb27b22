// SPDX-License-Identifier: MIT
// A cross-encoder: the encoder reads both texts of a pair together, or a single text, and a head computes logits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/data/batch_plan.hpp"
#include "lexformer/data/examples.hpp"
#include "lexformer/metrics/metrics.hpp"
#include "lexformer/models/classification_head.hpp"
#include "lexformer/models/pretrained.hpp"
#include "lexformer/models/score_metadata.hpp"

namespace lexformer {

template <class T = float, class Dev = Cpu>
class CrossEncoder : public Pretrained<T, Dev> {
 public:
  CrossEncoder(CrossEncoder&&) noexcept = default;
  CrossEncoder& operator=(CrossEncoder&&) noexcept = default;
  ~CrossEncoder() override;

  struct Output {
    Var<T, Dev> logits;  // (B, labels)
    EncoderOutput<T, Dev> encoder;
  };
  using TextPair = std::pair<std::string, std::string>;

  /// Loads a trained model for inference: a .lxf file, or a HuggingFace folder with a classification head. Errors: it names an unknown
  /// attention term (attention/term_registry.hpp: register_term), or holds something that the model does not use.
  static CrossEncoder load(const std::string& path);
  /// Loads a model for training. The encoder and its position scheme come from the file. Tensors of the head and the attention terms in
  /// `options` come from the file if name and shape match (for LEA's alpha, also the rule); the others are new and listed by new_tensors().
  static CrossEncoder load(const std::string& path, const CrossEncoderOptions& options);

  CrossEncoder(const ModelFile& file, const CrossEncoderOptions& options);
  explicit CrossEncoder(const ModelFile& file);

  Output operator()(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {}, const EncodeOptions& encode = {}) const;

  /// Encodes an example as the model reads it: the pair, or, with task().texts = 1, `left` alone.
  Encoding encode(std::string_view left, std::string_view right) const {
    return encode_texts(this->tokenizer(), left, right, options_.task.texts, options_.max_length);
  }

  /// The logits of the examples of a batch, (B, labels); with PairOrders::both of the pairs 2 i and 2 i + 1, which are two orders of one
  /// example, the mean.
  Var<T, Dev> example_logits(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {}) const;

  /// Computes logits, (examples, labels), in input order, on the CPU. Examples are batched by length internally.
  /// Errors: pairs for a model of single texts, or the reverse. Of a PairExample only the texts that the model reads are used.
  /// scored: called after each batch, with the number of its examples.
  Tensor<accumulate_t<T>> logits(std::span<const TextPair> pairs, std::size_t batch_size = 32) const;
  Tensor<accumulate_t<T>> logits(std::span<const std::string> texts, std::size_t batch_size = 32) const;
  Tensor<accumulate_t<T>> logits(std::span<const PairExample> examples, std::size_t batch_size = 32,
                                 const std::function<void(std::size_t)>& scored = {}) const;

  /// Computes class probabilities, (examples, labels): softmax of the logits. Errors: the model is a regression; as logits().
  Tensor<accumulate_t<T>> probabilities(std::span<const TextPair> pairs, std::size_t batch_size = 32) const {
    return probabilities_of(logits(pairs, batch_size));
  }
  Tensor<accumulate_t<T>> probabilities(std::span<const std::string> texts, std::size_t batch_size = 32) const {
    return probabilities_of(logits(texts, batch_size));
  }
  Tensor<accumulate_t<T>> probabilities(std::initializer_list<TextPair> pairs) const {
    return probabilities(std::span<const TextPair>(pairs.begin(), pairs.size()));
  }

  /// Predicts a class (0, 1, ...) per example, or the value of a regression. The class is the most probable one; with two classes and a
  /// `threshold`, it is 1 if the probability of class 1 reaches the threshold (is_match). Errors: as logits().
  std::vector<double> predict(std::span<const TextPair> pairs, std::size_t batch_size = 32) const {
    return predictions_of(logits(pairs, batch_size));
  }
  std::vector<double> predict(std::span<const std::string> texts, std::size_t batch_size = 32) const {
    return predictions_of(logits(texts, batch_size));
  }
  std::vector<double> predict(std::initializer_list<TextPair> pairs) const {
    return predict(std::span<const TextPair>(pairs.begin(), pairs.size()));
  }

  std::vector<double> scores_of(const Tensor<accumulate_t<T>>& logits) const { return options_.task.scores_of(logits); }

  const CrossEncoderOptions& options() const { return options_; }
  const Task& task() const { return options_.task; }
  void fit(std::span<const std::string> texts) override {
    Pretrained<T, Dev>::fit(texts);
    options_.attention = this->config().attention;
  }

  // Saved with the model. The first two are chosen on validation data.
  std::optional<double> threshold;
  std::optional<Calibration> calibration;       // of its scores
  std::map<std::string, std::string> metadata;  // what the model itself does not read: how its texts are made (tables/record_texts.hpp)

 private:
  CrossEncoder(const ModelFile& file, const CrossEncoderOptions& options, const std::optional<TrainingStart>& start);
  void visit_head(ParameterVisitor<T, Dev>& v) override { v("", *head_); }
  void write(ModelFile& file) const override;
  Tensor<accumulate_t<T>> probabilities_of(const Tensor<accumulate_t<T>>& logits) const;
  std::vector<double> predictions_of(const Tensor<accumulate_t<T>>& logits) const;
  using Texts = std::pair<std::string_view, std::string_view>;
  /// The logits of texts(0) ... texts(n - 1).
  Tensor<accumulate_t<T>> logits_of(std::size_t n, const std::function<Texts(std::size_t)>& texts, std::size_t batch_size,
                                    const std::function<void(std::size_t)>& scored = {}) const;

  CrossEncoderOptions options_;
  std::unique_ptr<ClassificationHead<T, Dev>> head_;
};

template <class T, class Dev>
CrossEncoder<T, Dev>::~CrossEncoder() = default;

template <class T, class Dev>
CrossEncoder<T, Dev> CrossEncoder<T, Dev>::load(const std::string& path) {
  return CrossEncoder(ModelFile::open(path));
}

template <class T, class Dev>
CrossEncoder<T, Dev> CrossEncoder<T, Dev>::load(const std::string& path, const CrossEncoderOptions& options) {
  return CrossEncoder(ModelFile::open(path), options);
}

template <class T, class Dev>
CrossEncoder<T, Dev>::CrossEncoder(const ModelFile& file, const CrossEncoderOptions& options)
    : CrossEncoder(file, options,
                   TrainingStart{options.attention, options.seed, options.pair_form, options.pair_separator, options.bidirectional}) {}

template <class T, class Dev>
CrossEncoder<T, Dev>::CrossEncoder(const ModelFile& file) : CrossEncoder(file, stored_options(file), std::nullopt) {}

template <class T, class Dev>
CrossEncoder<T, Dev>::CrossEncoder(const ModelFile& file, const CrossEncoderOptions& options, const std::optional<TrainingStart>& start)
    : Pretrained<T, Dev>(file, start), threshold(stored_threshold(file)), calibration(stored_calibration(file)), options_(options) {
  for (const auto name : {detail::records_key, detail::trained_key})
    if (const std::string key(name); file.metadata.contains(key)) metadata[key] = file.text(key);
  const TransformerConfig& config = this->parsed_config();
  if (options_.task.kind == TaskKind::regression && options_.task.labels != 1)
    fail_usage("CrossEncoder", "a regression has 1 label, not ", options_.task.labels);
  if (options_.task.kind == TaskKind::classification && options_.task.labels < 2)
    fail_usage("CrossEncoder", "a classification needs 2 labels or more, not ", options_.task.labels);
  if (!options_.task.label_names.empty() && options_.task.label_names.size() != options_.task.labels)
    fail_usage("CrossEncoder", options_.task.label_names.size(), " label names for ", options_.task.labels, " labels");
  if (options_.task.texts < 1 || options_.task.texts > 2)
    fail_usage("CrossEncoder", "an example has 1 or 2 texts, not ", options_.task.texts);
  const char* const texts = options_.task.texts == 1 ? "a text" : "two texts";
  if (options_.task.texts == 1 && options_.both_orders()) fail_usage("orders", "a single text has no orders");
  const std::size_t copies = options_.task.texts == 2 ? this->tokenizer().left_copies() : 1;
  const std::size_t least = this->tokenizer().added(options_.task.texts) + options_.task.texts + copies - 1;
  if (options_.max_length < least)
    fail_usage("CrossEncoder", "max_length ", options_.max_length, " leaves no room for ", texts, "; the least is ", least);
  if (config.max_tokens() < least)
    fail_file(file.path, "'max_position_embeddings' is ", config.max_position_embeddings, ", which leaves no room for ", texts);
  const std::size_t types = this->tokenizer().types(options_.task.texts);
  if (config.type_vocab_size != 0 && config.type_vocab_size < types)
    fail_file(file.path, "'type_vocab_size' is ", config.type_vocab_size, ", but the tokenizer gives ", texts, " ", types,
              " token types: this model reads single texts, not pairs");
  options_.max_length = std::min(options_.max_length, config.max_tokens());
  if (options.pair_form && config.pad_token_id && *config.pad_token_id == this->tokenizer().end_id(options_.task.texts))
    fail_usage("pair_separator", "is 'pad_token_id' of ", file.path,
               ", which the head skips; name another token, or change 'pad_token_id'");
  this->make_encoder(static_cast<double>(options_.task.labels) * static_cast<double>(std::max<std::size_t>(config.hidden_size, 256)));
  for (const auto& [name, factory] : this->encoder().factories())
    if (options_.task.texts == 1 && factory->needs_pairs())
      fail_usage("CrossEncoder", "the attention term '", name, "' compares the words of two texts; a model of single texts cannot have it");
  head_ = std::make_unique<ClassificationHead<T, Dev>>(options_, config, this->init());
  this->load_state();
  options_.attention = this->config().attention;
}

template <class T, class Dev>
typename CrossEncoder<T, Dev>::Output CrossEncoder<T, Dev>::operator()(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward,
                                                                       const EncodeOptions& encode) const {
  auto y = this->encoder()(batch, forward, encode);
  auto logits = (*head_)(y.last, batch, forward);
  return {std::move(logits), std::move(y)};
}

template <class T, class Dev>
Var<T, Dev> CrossEncoder<T, Dev>::example_logits(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward) const {
  auto y = (*this)(batch, forward).logits;
  if (!options_.both_orders()) return y;
  return sequence_mean(y, Offsets::from_lengths(std::vector<std::size_t>(y.dim(0) / 2, 2)));
}

template <class T, class Dev>
Tensor<accumulate_t<T>> CrossEncoder<T, Dev>::logits(std::span<const PairExample> examples, std::size_t batch_size,
                                                     const std::function<void(std::size_t)>& scored) const {
  return logits_of(
      examples.size(),
      [&](std::size_t i) {
        return Texts{examples[i].left, examples[i].right};
      },
      batch_size, scored);
}

template <class T, class Dev>
Tensor<accumulate_t<T>> CrossEncoder<T, Dev>::logits(std::span<const TextPair> pairs, std::size_t batch_size) const {
  if (options_.task.texts != 2) fail_usage("CrossEncoder", "the model reads single texts, not pairs");
  return logits_of(
      pairs.size(),
      [&](std::size_t i) {
        return Texts{pairs[i].first, pairs[i].second};
      },
      batch_size);
}

template <class T, class Dev>
Tensor<accumulate_t<T>> CrossEncoder<T, Dev>::logits(std::span<const std::string> texts, std::size_t batch_size) const {
  if (options_.task.texts != 1) fail_usage("CrossEncoder", "the model reads pairs of texts, not single ones");
  return logits_of(
      texts.size(),
      [&](std::size_t i) {
        return Texts{texts[i], {}};
      },
      batch_size);
}

template <class T, class Dev>
Tensor<accumulate_t<T>> CrossEncoder<T, Dev>::logits_of(std::size_t n, const std::function<Texts(std::size_t)>& texts,
                                                        std::size_t batch_size, const std::function<void(std::size_t)>& scored) const {
  using A = accumulate_t<T>;
  const NoGrad no_grad;
  const std::size_t labels = options_.task.labels, orders = options_.both_orders() ? 2 : 1;
  auto y = Tensor<A>::zeros({n, labels});
  const auto makers = this->features();
  std::size_t first = 0, seen = 0;  // of the examples: those before the tokenized ones; encodings of tokenized ones that are scored
  const auto use = [&](const Batch& batch, const std::vector<std::size_t>& rows) {
    const auto out = (*this)(batch).logits.value().template to<Cpu>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      A* const to = y.mutable_data() + (first + rows[i] / orders) * labels;
      for (std::size_t c = 0; c < labels; ++c) to[c] += static_cast<A>(out.data()[i * labels + c]) / static_cast<A>(orders);
    }
  };
  const auto done = [&](std::size_t count) {
    const std::size_t before = seen / orders;
    seen += count;
    if (scored) scored(seen / orders - before);
  };
  for (; first < n; first += examples_at_once) {
    std::vector<Encoding> encodings(orders * std::min(examples_at_once, n - first));
    parallel_for(encodings.size(), 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto [left, right] = texts(first + i / orders);
        encodings[i] = i % orders == 0 ? encode(left, right) : encode(right, left);
      }
    });
    for_each_batch(encodings, batch_size, makers, use, done);
  }
  return y;
}

template <class T, class Dev>
Tensor<accumulate_t<T>> CrossEncoder<T, Dev>::probabilities_of(const Tensor<accumulate_t<T>>& logits) const {
  if (options_.task.kind == TaskKind::regression)
    fail_usage("CrossEncoder::probabilities", "the model is a regression; predict() gives its values");
  const NoGrad no_grad;
  return softmax(Var<accumulate_t<T>>(logits)).value();
}

template <class T, class Dev>
std::vector<double> CrossEncoder<T, Dev>::predictions_of(const Tensor<accumulate_t<T>>& logits) const {
  auto answers = scores_of(logits);
  if (options_.task.labels == 2)
    for (double& x : answers) x = is_match(x, threshold.value_or(argmax_threshold)) ? 1 : 0;
  return answers;
}

template <class T, class Dev>
void CrossEncoder<T, Dev>::write(ModelFile& file) const {
  write_options(options_, file);
  write_score_metadata(threshold, calibration, file);
  for (const auto& [key, text] : metadata) file.metadata[key] = text;
}

#if defined(LEXFORMER_COMPILED)
extern template class CrossEncoder<float, Cpu>;
#if defined(LEXFORMER_WITH_CUDA)  // in lexformer::cuda
extern template class CrossEncoder<float, Cuda>;
#endif
#endif

}  // namespace lexformer
