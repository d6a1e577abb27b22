// SPDX-License-Identifier: MIT
// A cross-encoder: both texts of a pair go through the encoder together, and a head makes logits of it.
#pragma once

#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/data/pair_dataset.hpp"
#include "lexformer/models/bert.hpp"
#include "lexformer/models/classification_head.hpp"
#include "lexformer/models/cross_encoder_options.hpp"

namespace lexformer {

template <class T = float, class Dev = Cpu>
class CrossEncoder {
 public:
  struct Output {
    Var<T, Dev> logits;  // (B, labels)
    EncoderOutput<T, Dev> encoder;
  };

  /// A trained model as it was saved: a .lxf file, or a HuggingFace folder with a classification head.
  static CrossEncoder load(const std::string& path);
  /// A model to train on: the encoder comes from the file; of the head and the attention terms in `options` whatever the file
  /// has with the same name and shape (alpha also with the same rule), the rest is new and listed by new_tensors().
  static CrossEncoder load(const std::string& path, const CrossEncoderOptions& options);

  CrossEncoder(const ModelFile& file, const CrossEncoderOptions& options, bool may_be_new);

  Output operator()(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward = {}, const EncodeOptions& encode = {}) const;

  /// What the model reads of tokenized pairs, lexical codes included where it has LEA.
  Batch batch(std::span<const Encoding> pairs) const {
    const auto lexical = lexical_options();
    return lexical ? make_batch(pairs, lexical_matrices(tokenizer_, pairs, *lexical)) : make_batch(pairs);
  }

  /// Logits of text pairs, (pairs, labels), in their order, on the CPU. Inside they are batched by length.
  Tensor<accumulate_t<T>> logits(std::span<const std::pair<std::string, std::string>> pairs, std::size_t batch_size = 32) const;

  /// One score for each pair: the probability of class 1 (two classes), the number of the most probable class (more), or the
  /// value of a regression.
  std::vector<double> predict(std::span<const std::pair<std::string, std::string>> pairs, std::size_t batch_size = 32) const {
    return scores_of(logits(pairs, batch_size));
  }
  std::vector<double> predict(std::initializer_list<std::pair<std::string, std::string>> pairs) const {
    return predict(std::span<const std::pair<std::string, std::string>>(pairs.begin(), pairs.size()));
  }
  static std::vector<double> scores_of(const Tensor<accumulate_t<T>>& logits);

  /// All parameters and buffers under their names in the file.
  std::vector<NamedParameter<T, Dev>> state();
  /// What an optimizer trains: state() without buffers.
  std::vector<NamedParameter<T, Dev>> parameters() { return without_buffers(state()); }
  /// Takes every parameter whose name contains `part` out of training; returns how many.
  std::size_t freeze(const std::string& part);

  ModelFile file();
  void save(const std::string& path) { file().save(path); }

  const WordPieceTokenizer& tokenizer() const { return tokenizer_; }
  const CrossEncoderOptions& options() const { return options_; }
  BertEncoder<T, Dev>& encoder() { return *encoder_; }
  const BertEncoder<T, Dev>& encoder() const { return *encoder_; }
  /// Set when the model reads lexical codes.
  std::optional<LexicalOptions> lexical_options() const { return options_.has("lea") ? std::optional(options_.lexical) : std::nullopt; }
  const std::vector<std::string>& new_tensors() const { return loaded_.drawn; }
  const std::vector<std::string>& unused_tensors() const { return loaded_.unused; }

  std::optional<double> threshold;  // of the score for class 1, chosen on validation data

 private:
  static CrossEncoderOptions stored_options(const ModelFile& file);

  CrossEncoderOptions options_;
  Json json_;
  std::map<std::string, std::string> metadata_;
  WordPieceTokenizer tokenizer_;
  std::unique_ptr<BertEncoder<T, Dev>> encoder_;
  std::unique_ptr<ClassificationHead<T, Dev>> head_;
  LoadedState loaded_;
};

// Bodies stand outside the class so that lexformer::compiled can hold them once for float.

template <class T, class Dev>
CrossEncoder<T, Dev> CrossEncoder<T, Dev>::load(const std::string& path) {
  const auto file = ModelFile::open(path);
  return CrossEncoder(file, stored_options(file), false);
}

template <class T, class Dev>
CrossEncoder<T, Dev> CrossEncoder<T, Dev>::load(const std::string& path, const CrossEncoderOptions& options) {
  return CrossEncoder(ModelFile::open(path), options, true);
}

template <class T, class Dev>
CrossEncoder<T, Dev>::CrossEncoder(const ModelFile& file, const CrossEncoderOptions& options, bool may_be_new)
    : threshold(file.threshold), options_(options), json_(file.config), metadata_(file.metadata), tokenizer_(make_tokenizer(file)) {
  const auto config = parse_bert_config(file.config, file.path + ": config");
  if (options_.task == Task::regression && options_.labels != 1)
    fail_usage("CrossEncoder", "a regression has 1 label, not ", options_.labels);
  if (options_.task == Task::classification && options_.labels < 2)
    fail_usage("CrossEncoder", "a classification needs 2 labels or more, not ", options_.labels);
  if (options_.max_length < 5)
    fail_usage("CrossEncoder", "max_length ", options_.max_length, " leaves no room for two texts; the least is 5");
  options_.max_length = std::min(options_.max_length, config.max_position_embeddings);
  if (tokenizer_.vocabulary().size() > config.vocab_size)
    fail_file(file.path, "the vocabulary has ", tokenizer_.vocabulary().size(), " tokens, the embedding ", config.vocab_size, " rows");
  const auto& lea = options_.lea;
  const std::size_t rows = config.num_attention_heads + (lea.representation == LeaRepresentation::learned ? lea.levels : 0);
  require_size(config, file,
               static_cast<double>(options_.labels) * static_cast<double>(std::max<std::size_t>(config.hidden_size, 256)) +
                   (options_.has("lea") ? static_cast<double>(config.num_hidden_layers * rows) * static_cast<double>(lea.dimension) : 0));
  auto blank = Init::none();
  Init init(options_.seed, config.initializer_range);
  encoder_ = std::make_unique<BertEncoder<T, Dev>>(config, blank, init);
  head_ = std::make_unique<ClassificationHead<T, Dev>>(options_.head, config, options_.labels, init);
  for (const auto& name : options_.attention) {
    if (name != "lea") fail_usage("CrossEncoder", "the attention term '", name, "' is not known; this version has: lea");
    options_.lexical.levels = static_cast<unsigned>(options_.lea.levels);
    for (auto& [layer, term] : lea_terms<T, Dev>(options_.lea, config.num_hidden_layers, config.num_attention_heads, init)) {
      options_.lea.first_layer = std::min(term->options.first_layer, layer);
      options_.lea.last_layer = term->options.last_layer;
      encoder_->add_term(layer, "lea", term);
    }
  }
  // An alpha that another rule made is not taken over.
  const Json now = to_json(options_);
  const auto differs = [&](const std::string& key) {
    const Json::json_pointer ours("/lea/" + key), theirs("/lexformer/lea/" + key);
    return json_.contains(theirs) && now.contains(ours) && json_.at(theirs) != now.at(ours);
  };
  const bool new_alpha = differs("alpha") || differs("alpha_value");
  loaded_ = load_state(state(), file, [&](const std::string& name, bool fits) {
    const bool ours = is_of_positions_or_ours(name) || name.starts_with("classifier") || name.starts_with("bert.pooler");
    return may_be_new && ours && (!fits || (new_alpha && name.ends_with(".alpha")));
  });
}

template <class T, class Dev>
typename CrossEncoder<T, Dev>::Output CrossEncoder<T, Dev>::operator()(const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward,
                                                                       const EncodeOptions& encode) const {
  auto y = (*encoder_)(batch, forward, encode);
  auto logits = (*head_)(y.last, batch.offsets, forward);
  return {std::move(logits), std::move(y)};
}

template <class T, class Dev>
Tensor<accumulate_t<T>> CrossEncoder<T, Dev>::logits(std::span<const std::pair<std::string, std::string>> pairs,
                                                     std::size_t batch_size) const {
  const NoGrad no_grad;
  std::vector<Encoding> encodings(pairs.size());
  parallel_for(pairs.size(), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) encodings[i] = tokenizer_.encode_pair(pairs[i].first, pairs[i].second, options_.max_length);
  });
  std::vector<std::size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return encodings[a].size() > encodings[b].size(); });
  Tensor<accumulate_t<T>> y({pairs.size(), options_.labels});
  for (std::size_t begin = 0; begin < order.size(); begin += batch_size) {
    const std::span part(order.data() + begin, std::min(batch_size, order.size() - begin));
    std::vector<Encoding> chosen;
    for (const std::size_t i : part) chosen.push_back(encodings[i]);
    const auto out = (*this)(batch(chosen)).logits.value().template to<Cpu>();
    for (std::size_t i = 0; i < part.size(); ++i)
      std::copy_n(out.data() + i * options_.labels, options_.labels, y.mutable_data() + part[i] * options_.labels);
  }
  return y;
}

template <class T, class Dev>
std::vector<double> CrossEncoder<T, Dev>::scores_of(const Tensor<accumulate_t<T>>& logits) {
  const std::size_t classes = logits.dim(1);
  std::vector<double> scores;
  for (std::size_t i = 0; i < logits.dim(0); ++i) {
    const accumulate_t<T>* row = logits.data() + i * classes;
    if (classes == 1)
      scores.push_back(static_cast<double>(row[0]));
    else if (classes == 2)
      scores.push_back(scalar::sigmoid(static_cast<double>(row[1]) - static_cast<double>(row[0])));
    else
      scores.push_back(static_cast<double>(std::max_element(row, row + classes) - row));
  }
  return scores;
}

template <class T, class Dev>
std::vector<NamedParameter<T, Dev>> CrossEncoder<T, Dev>::state() {
  return encoder_state(*encoder_, [&](auto& v) { v("", *head_); });
}

template <class T, class Dev>
std::size_t CrossEncoder<T, Dev>::freeze(const std::string& part) {
  std::size_t found = 0;
  for (auto& p : parameters())
    if (p.name.find(part) != std::string::npos) {
      p.var.set_requires_grad(false);
      ++found;
    }
  if (found == 0) fail_usage("freeze", "no parameter's name contains '", part, "'");
  return found;
}

template <class T, class Dev>
ModelFile CrossEncoder<T, Dev>::file() {
  ModelFile f;
  f.config = json_;
  f.config["lexformer"] = to_json(options_);
  f.vocabulary = tokenizer_.vocabulary();
  f.tokenizer = tokenizer_.options();
  f.threshold = threshold;
  f.metadata = metadata_;
  for (const auto& p : state()) f.tensors.set(p.name, p.var.value().template to<Cpu>());
  return f;
}

template <class T, class Dev>
CrossEncoderOptions CrossEncoder<T, Dev>::stored_options(const ModelFile& file) {
  const auto it = file.config.find("lexformer");
  if (it != file.config.end() && it->is_object() && it->contains("head")) return parse_cross_encoder_options(*it, file.path + ": config");
  CrossEncoderOptions o;  // a HuggingFace model: its head says how many labels
  const bool electra = get_string(file.config, "model_type", file.path, "bert") == "electra";
  const std::string weight = electra ? "classifier.out_proj.weight" : "classifier.weight";
  if (!file.tensors.contains(weight))
    fail_file(file.path, "the model has no classification head ('", weight, "'); train one with train_matcher");
  if (get_string(file.config, "problem_type", file.path, "") == "multi_label_classification")
    fail_file(file.path, "'problem_type' is 'multi_label_classification'; a cross-encoder has one label for each pair");
  o.head = Head::huggingface;
  o.labels = file.tensors.shape(weight).rank() == 2 ? file.tensors.shape(weight)[0] : 0;
  o.task = o.labels == 1 ? Task::regression : Task::classification;
  return o;
}

#if defined(LEXFORMER_COMPILED)
extern template class CrossEncoder<float, Cpu>;
extern template class CrossEncoder<bfloat16, Cpu>;
extern template class CrossEncoder<float, Cuda>;  // these in lexformer::cuda
extern template class CrossEncoder<bfloat16, Cuda>;
#endif

}  // namespace lexformer
