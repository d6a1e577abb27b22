// SPDX-License-Identifier: MIT
// A bi-encoder as in sentence-transformers: a text becomes one vector, and texts are compared by the cosine of their vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/data/batch_plan.hpp"
#include "lexformer/models/pretrained.hpp"
#include "lexformer/models/task.hpp"
#include "lexformer/nn/activation.hpp"
#include "lexformer/nn/pooling.hpp"
#include "lexformer/ops/rows.hpp"

namespace lexformer {

struct DenseOptions {
  std::size_t size = 0;  // of the vectors that it gives
  Activation activation = Activation::tanh;
};

/// How two vectors are compared; the largest value is the best. euclidean, manhattan: minus the distance.
enum class VectorSimilarity { cosine, dot, euclidean, manhattan };
template <>
inline constexpr Named<VectorSimilarity> names_of<VectorSimilarity>[] = {{"cosine", VectorSimilarity::cosine},
                                                                         {"dot", VectorSimilarity::dot},
                                                                         {"euclidean", VectorSimilarity::euclidean},
                                                                         {"manhattan", VectorSimilarity::manhattan}};

struct SentenceEncoderOptions {
  Pooling pooling = Pooling::mean;
  std::vector<DenseOptions> dense{};  // after pooling, in this order
  bool normalize = false;             // scale each vector to length 1 at the end
  std::size_t max_length = 512;       // tokens of a text, with [CLS] and [SEP]; at most the positions of the encoder
  VectorSimilarity similarity = VectorSimilarity::cosine;
};

/// Whether the file is a sentence encoder: it has a pooling, and it is not a model for another task that was trained from one.
bool is_sentence_encoder(const ModelFile& file);
/// The options of a model file or folder (keys of "lexformer", docs/format.md). For a model that is not a sentence encoder
/// these are the defaults, as in sentence-transformers. Errors (file): a value is out of range; a Dense module lacks its tensors.
SentenceEncoderOptions stored_sentence_options(const ModelFile& file);
void write_sentence_options(const SentenceEncoderOptions& options, ModelFile& file);

/// v = pool(hidden), v = act_i(v W_i^T + b_i) for each Dense module, v = v / |v| with `normalize`.    N tokens of B texts -> (B, size())
/// Reads and writes .lxf files, and reads sentence-transformers folders of BERT type; the vectors equal those that sentence-transformers
/// computes.
template <class T = float, class Dev = Cpu>
class SentenceEncoder : public Pretrained<T, Dev> {
 public:
  using A = accumulate_t<T>;

  /// Loads a sentence encoder. A model without its settings (any BERT) gives the mean of the token vectors. Errors: as Encoder.
  static SentenceEncoder load(const std::string& path) { return SentenceEncoder(ModelFile::open(path)); }
  explicit SentenceEncoder(const ModelFile& file) : SentenceEncoder(file, stored_sentence_options(file), std::nullopt) {}
  /// Loads an encoder for training. Dense modules come from the file if they have the same sizes there; else they are new.
  SentenceEncoder(const ModelFile& file, const SentenceEncoderOptions& options, std::uint64_t seed)
      : SentenceEncoder(file, options, TrainingStart{{}, seed}) {}

  const SentenceEncoderOptions& options() const { return options_; }
  /// The size of a text's vector.
  std::size_t size() const { return options_.dense.empty() ? this->config().hidden_size : options_.dense.back().size; }

  /// (B, size())
  Var<T, Dev> operator()(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {}) const {
    auto y = pool(this->encoder()(batch, forward).last, batch.offsets, options_.pooling);
    const NameScope scope("dense");
    for (std::size_t i = 0; i < dense_->layers.size(); ++i) {
      y = activate(options_.dense[i].activation, dense_->layers[i](y));
    }
    return options_.normalize ? l2_normalize(y) : y;
  }

  /// Tokenizes texts, in parallel; to at most `most` tokens, if that is less than the options' max_length.
  std::vector<Encoding> tokenize(std::span<const std::string> texts, std::size_t most = ~std::size_t{0}) const {
    return encode_all(this->tokenizer(), texts, std::min(most, options_.max_length));
  }
  /// Encodes texts to vectors on the CPU, in input order: (texts, size()). Texts are batched by length internally.
  ///   const auto vectors = model.encode({"a cat", "two dogs"});
  /// encoded: called after each batch with the number of its texts; what it throws ends the call.
  Tensor<A> encode(std::span<const std::string> texts, std::size_t batch_size = 32,
                   const std::function<void(std::size_t)>& encoded = {}) const {
    Tensor<A> y({texts.size(), size()});
    for (std::size_t first = 0; first < texts.size(); first += examples_at_once) {
      const auto part = texts.subspan(first, std::min(examples_at_once, texts.size() - first));
      const auto rows = encode(std::span<const Encoding>(tokenize(part)), batch_size, encoded);
      std::copy_n(rows.data(), rows.size(), y.mutable_data() + first * size());
    }
    return y;
  }
  Tensor<A> encode(std::initializer_list<std::string> texts) const {
    return encode(std::span<const std::string>(texts.begin(), texts.size()));
  }
  Tensor<A> encode(std::span<const Encoding> texts, std::size_t batch_size = 32,
                   const std::function<void(std::size_t)>& encoded = {}) const;

 private:
  struct DenseLayers {
    std::vector<Linear<T, Dev>> layers;
    void visit(ParameterVisitor<T, Dev>& v) {
      for (std::size_t i = 0; i < layers.size(); ++i) v(cat("lexformer.dense.", i), layers[i]);
    }
  };

  SentenceEncoder(const ModelFile& file, const SentenceEncoderOptions& options, const std::optional<TrainingStart>& start);
  void visit_head(ParameterVisitor<T, Dev>& v) override { v("", *dense_); }
  void write(ModelFile& file) const override { write_sentence_options(options_, file); }

  SentenceEncoderOptions options_;
  std::unique_ptr<DenseLayers> dense_ = std::make_unique<DenseLayers>();
};

template <class T, class Dev>
SentenceEncoder<T, Dev>::SentenceEncoder(const ModelFile& file, const SentenceEncoderOptions& options,
                                         const std::optional<TrainingStart>& start)
    : Pretrained<T, Dev>(file, start), options_(options) {
  const TransformerConfig& config = this->parsed_config();
  if (options_.pooling == Pooling::none) fail_usage("SentenceEncoder", "pooling 'none' gives no vector of a text; use mean, cls or max");
  const std::size_t least = this->tokenizer().added(1) + 1;
  if (options_.max_length < least || config.max_tokens() < least)
    fail_usage("SentenceEncoder", "max_length ", std::min(options_.max_length, config.max_tokens()),
               " leaves no room for a text; the least is ", least);
  options_.max_length = std::min(options_.max_length, config.max_tokens());
  double weights = 0;
  std::size_t width = config.hidden_size;
  for (const auto& d : options_.dense) {
    if (d.size == 0) fail_usage("SentenceEncoder", "a Dense module gives vectors of 0 numbers");
    weights += static_cast<double>(width) * static_cast<double>(d.size);
    width = d.size;
  }
  this->make_encoder(weights);
  for (const auto& [name, factory] : this->encoder().factories())
    if (factory->needs_pairs())
      fail_file(file.path, "the attention term '", name, "' compares the words of two texts; an encoder of single texts cannot have it");
  width = config.hidden_size;
  for (const auto& d : options_.dense) {
    dense_->layers.emplace_back(width, d.size, this->init());
    width = d.size;
  }
  this->load_state();
}

template <class T, class Dev>
Tensor<accumulate_t<T>> SentenceEncoder<T, Dev>::encode(std::span<const Encoding> texts, std::size_t batch_size,
                                                        const std::function<void(std::size_t)>& encoded) const {
  const NoGrad no_grad;
  const std::size_t width = size();
  Tensor<A> y({texts.size(), width});
  const auto makers = this->features();
  const auto use = [&](const Batch& batch, const std::vector<std::size_t>& rows) {
    const auto part = cast<A>((*this)(batch)).value().template to<Cpu>();
    for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(part.data() + i * width, width, y.mutable_data() + rows[i] * width);
  };
  for_each_batch(texts, batch_size, makers, use, encoded);
  return y;
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_SENTENCE_ENCODER(word, T) word template class SentenceEncoder<T, Cpu>;
#if defined(LEXFORMER_COMPILED)
LEXFORMER_SENTENCE_ENCODER(extern, float)
#endif

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE bool is_sentence_encoder(const ModelFile& file) {
  const Json* const ours = detail::find_value(file.config, "lexformer", false, file.path + ": config");
  return ours != nullptr && ours->is_object() && ours->contains("pooling") && !ours->contains("head") && !ours->contains("tagger");
}

LEXFORMER_INLINE SentenceEncoderOptions stored_sentence_options(const ModelFile& file) {
  SentenceEncoderOptions o;
  const std::string config = file.path + ": config", where = config + ": lexformer";
  const Json* const ours = detail::find_value(file.config, "lexformer", false, config);
  if (ours == nullptr || detail::find_value(*ours, "pooling", false, where) == nullptr) return o;
  o.pooling = get_name<Pooling>(*ours, "pooling", where);
  if (o.pooling == Pooling::none) fail_file(where, "'pooling' is 'none', expected mean, cls or max");
  o.normalize = get_bool(*ours, "normalize", where, false);
  o.similarity = get_name<VectorSimilarity>(*ours, "similarity", where, VectorSimilarity::cosine);
  // If a cross-encoder was trained from a sentence encoder, its max_length is the length of a pair.
  if (is_sentence_encoder(file)) o.max_length = get_size(*ours, "max_length", min_length(1), 1u << 20, where, o.max_length);
  const Json* const dense = detail::find_value(*ours, "dense", false, where);
  if (dense == nullptr) return o;
  if (!dense->is_array()) fail_file(where, "'dense' is ", dense->type_name(), ", expected the activations of the Dense modules");
  for (const Json& activation : *dense) {
    const Json entry{{"dense", activation}};
    const std::string name = cat("lexformer.dense.", o.dense.size(), ".weight");
    if (!file.tensors.contains(name) || file.tensors.shape(name).rank() != 2 || file.tensors.shape(name)[0] == 0)
      fail_file(file.path, "'dense' names ", dense->size(), " Dense modules, but there is no matrix ", in_quotes(name));
    o.dense.push_back({file.tensors.shape(name)[0], get_name<Activation>(entry, "dense", where)});
  }
  return o;
}

LEXFORMER_INLINE void write_sentence_options(const SentenceEncoderOptions& options, ModelFile& file) {
  Json& ours = file.config["lexformer"];
  if (!ours.is_object()) ours = Json::object();
  ours["pooling"] = name_of(options.pooling);
  ours["normalize"] = options.normalize;
  ours["max_length"] = options.max_length;
  if (options.similarity != VectorSimilarity::cosine) ours["similarity"] = name_of(options.similarity);
  if (options.dense.empty()) return;
  Json dense = Json::array();
  for (const auto& d : options.dense) dense.push_back(name_of(d.activation));
  ours["dense"] = std::move(dense);
}

}  // namespace lexformer
#endif
