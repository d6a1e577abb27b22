// SPDX-License-Identifier: MIT
// A tagger on an encoder: the first token of each word carries its label, as in HuggingFace's BertForTokenClassification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lexformer/models/pretrained.hpp"
#include "lexformer/models/tagger.hpp"
#include "lexformer/nn/crf.hpp"
#include "lexformer/ops/dropout.hpp"
#include "lexformer/ops/loss.hpp"

namespace lexformer {

struct TransformerTaggerOptions {
  bool crf = false;              // a conditional random field over the logits
  std::size_t max_length = 512;  // tokens of a sentence, with [CLS] and [SEP]

  void visit(OptionVisitor& v) {
    v.flag("crf", crf, "a conditional random field over the logits");
    v.size("max_length", max_length, 3, 1 << 20, "maximum number of tokens of a sentence");
  }
};

/// The options of a tagger in a file; the defaults for another model.
TransformerTaggerOptions stored_tagger_options(const ModelFile& file);

namespace detail {
void write_transformer_tagger(const TransformerTaggerOptions& options, const std::string& class_name, const TagLabels& labels,
                              ModelFile& file);
/// The file without a head for other labels.
ModelFile without_other_labels(ModelFile file, const TagLabels& labels);

struct TransformerTagData : TagData {
  std::vector<Encoding> encodings;                // (S)
  std::vector<std::vector<std::int32_t>> inputs;  // (S): the token of each labelled word
};
TransformerTagData transformer_tag_data(std::span<const TaggedSentence> sentences, const TagLabels& labels, bool with_labels,
                                        const Tokenizer& tokenizer, std::size_t max_length);

struct TransformerTagBatch : TagBatch {
  Batch batch;
  std::vector<std::int32_t> tokens;  // of the labelled words, counted across all sentences

  TransformerTagBatch(const TransformerTagData& data, std::span<const std::size_t> rows, std::span<const FeatureMaker> makers);
};
}  // namespace detail

/// hidden (N, D) of the encoder, t the first token of a word:   logits = W dropout(hidden_t) + b, (words, L)
/// Words are read as text, joined by spaces. A word without a token (cut off, or of control characters only) has no label.
/// Loss: cross-entropy, mean over words; with --crf the negative log-likelihood of a conditional random field, mean over sentences.
template <class T = float, class Dev = Cpu>
class TransformerTagger : public Pretrained<T, Dev> {
 public:
  using Data = detail::TransformerTagData;
  using Batch = detail::TransformerTagBatch;

  /// Loads a trained tagger: a .lxf file, or a HuggingFace folder with a head for token classification. Errors: there is no such head.
  static TransformerTagger load(const std::string& path) { return TransformerTagger(ModelFile::open(path)); }
  explicit TransformerTagger(const ModelFile& file)
      : TransformerTagger(file, std::nullopt, TagLabels::of(file), stored_tagger_options(file)) {}
  /// Loads an encoder for training. Head and CRF come from the file if it has them for the same labels; else they are new.
  TransformerTagger(const ModelFile& file, TagLabels labels, const TransformerTaggerOptions& options, std::uint64_t seed)
      : TransformerTagger(detail::without_other_labels(file, labels), TrainingStart{{}, seed}, labels, options) {}

  const TransformerTaggerOptions& options() const { return options_; }
  const TagLabels& labels() const { return labels_; }

  /// Encodes sentences. Errors: a tag is not one of the labels.
  Data prepare(std::span<const TaggedSentence> sentences, bool with_labels) const {
    return detail::transformer_tag_data(sentences, labels_, with_labels, this->tokenizer(), options_.max_length);
  }
  Batch batch(const Data& data, std::span<const std::size_t> rows) const { return Batch(data, rows, this->features()); }

  /// (words, L)
  Var<T, Dev> logits(const Batch& batch, const ForwardOptions& forward = {}) const {
    const auto hidden = this->encoder()(DeviceBatch<T, Dev>(batch.batch), forward).last;
    const NameScope scope("head");
    return head_->out(dropout(select_rows(hidden, batch.tokens), forward.dropout(this->config().tagger_dropout, site_)));
  }
  Var<accumulate_t<T>, Dev> loss(const Batch& batch, const ForwardOptions& forward = {}) const {
    const auto y = logits(batch, forward);
    if (head_->crf) return head_->crf->loss(y, batch.words, batch.labels);
    return cross_entropy(y, batch.labels);
  }
  /// What loss() is a mean over.
  double weight(const Batch& batch) const { return static_cast<double>(head_->crf ? batch.words.sequences() : batch.words.tokens()); }
  /// The most probable labels of the words.
  std::vector<std::int32_t> decode(const Batch& batch) const {
    const auto y = logits(batch);
    if (head_->crf) return head_->crf->decode(y, batch.words);
    return row_max(y).indices.to_vector();
  }

 private:
  struct TagHead {
    Linear<T, Dev> out;
    std::optional<Crf<T, Dev>> crf;

    TagHead(std::size_t width, std::size_t labels, bool with_crf, Init& init) : out(width, labels, init) {
      if (with_crf) crf.emplace(labels, init);
    }
    void visit(ParameterVisitor<T, Dev>& v) {
      v("classifier", out);
      if (crf) v("lexformer.tagger.crf", *crf);
    }
  };

  TransformerTagger(const ModelFile& file, const std::optional<TrainingStart>& start, TagLabels labels,
                    const TransformerTaggerOptions& options)
      : Pretrained<T, Dev>(file, start), labels_(std::move(labels)), options_(options) {
    const TransformerConfig& config = this->parsed_config();
    if (!start && !file.tensors.contains("classifier.weight"))
      fail_file(file.path, "the model has no head for tokens ('classifier.weight'); train one with train_tagger");
    if (config.max_tokens() < 3)
      fail_file(file.path, "'max_position_embeddings' is ", config.max_position_embeddings, ", which leaves no room for a word");
    options_.max_length = std::min(options_.max_length, config.max_tokens());
    this->make_encoder(static_cast<double>(labels_.size()) * static_cast<double>(config.hidden_size + labels_.size()));
    for (const auto& [name, factory] : this->encoder().factories())
      if (factory->needs_pairs())
        fail_usage("TransformerTagger", "the attention term '", name, "' compares the words of two texts; a tagger cannot have it");
    head_ = std::make_unique<TagHead>(config.hidden_size, labels_.size(), options_.crf, this->init());
    this->load_state();
  }
  void visit_head(ParameterVisitor<T, Dev>& v) override { v("", *head_); }
  void write(ModelFile& file) const override {
    detail::write_transformer_tagger(options_, cat(this->config().architecture().name, "ForTokenClassification"), labels_, file);
  }

  TagLabels labels_;
  TransformerTaggerOptions options_;
  std::unique_ptr<TagHead> head_;
  std::uint32_t site_ = site::head().next();
};

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_BERT_TAGGER(word, T) word template class TransformerTagger<T, Cpu>;
#if defined(LEXFORMER_COMPILED)
LEXFORMER_BERT_TAGGER(extern, float)
#endif

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/io/options.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE TransformerTaggerOptions stored_tagger_options(const ModelFile& file) {
  TransformerTaggerOptions options;
  const std::string where = file.path + ": config";
  if (const Json* ours = detail::find_value(file.config, "lexformer", false, where))
    if (const Json* found = detail::find_value(*ours, "tagger", false, where + ": lexformer"))
      read_options(found->dump(), where + ": lexformer: tagger", [&](OptionVisitor& v) { options.visit(v); });
  return options;
}

}  // namespace lexformer

namespace lexformer::detail {

LEXFORMER_INLINE void write_transformer_tagger(const TransformerTaggerOptions& options, const std::string& class_name,
                                               const TagLabels& labels, ModelFile& file) {
  Json& ours = file.config["lexformer"];
  if (!ours.is_object()) ours = Json::object();
  ours.erase("max_length");  // of a sentence encoder that it began with
  ours["tagger"] = options_json([o = options](OptionVisitor& v) mutable { o.visit(v); });
  labels.write(file);
  write_class_name(class_name, file.config);
}

LEXFORMER_INLINE ModelFile without_other_labels(ModelFile file, const TagLabels& labels) {
  const Json* const found = find_value(file.config, "id2label", false, file.path + ": config");
  if (found != nullptr && file.tensors.contains("classifier.weight") && TagLabels::of(file).names() == labels.names()) return file;
  for (const std::string& name : file.tensors.names())
    if (name.starts_with("classifier.") || name.starts_with("lexformer.tagger.")) file.tensors.erase(name);
  return file;
}

LEXFORMER_INLINE TransformerTagData transformer_tag_data(std::span<const TaggedSentence> sentences, const TagLabels& labels,
                                                         bool with_labels, const Tokenizer& tokenizer, std::size_t max_length) {
  TransformerTagData data;
  std::vector<Encoding> encodings(sentences.size());
  parallel_for(sentences.size(), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) encodings[s] = tokenizer.encode(join(sentences[s].words, " "), max_length);
  });
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    const auto& words = sentences[s].words;
    std::vector<std::size_t> labelled;
    std::vector<std::int32_t> tokens;
    std::size_t word = 0, end = words.empty() ? 0 : to_utf32(words[0]).size();  // in characters
    for (std::size_t t = 0; t < encodings[s].size(); ++t) {
      if (encodings[s].word_ids[t] < 0) continue;
      while (encodings[s].offsets[t].first >= end && word + 1 < words.size()) end += 1 + to_utf32(words[++word]).size();
      if (!labelled.empty() && labelled.back() == word) continue;
      labelled.push_back(word);
      tokens.push_back(static_cast<std::int32_t>(t));
    }
    const std::size_t lost = words.size() - (labelled.empty() ? 0 : labelled.back() + 1);
    if (encodings[s].size() == max_length && lost > 0) {
      ++data.cut_sentences;
      data.cut_words += lost;
    }
    if (labelled.empty()) continue;
    if (with_labels) {
      auto& of_sentence = data.labels.emplace_back();
      for (const std::size_t w : labelled) of_sentence.push_back(labels.label(sentences[s].tags[w]));
    }
    data.sentence.push_back(s);
    data.words.push_back(std::move(labelled));
    data.inputs.push_back(std::move(tokens));
    data.lengths.push_back(encodings[s].size());
    data.encodings.push_back(std::move(encodings[s]));
  }
  return data;
}

LEXFORMER_INLINE TransformerTagBatch::TransformerTagBatch(const TransformerTagData& data, std::span<const std::size_t> rows,
                                                          std::span<const FeatureMaker> makers)
    : TagBatch(data, rows) {
  std::vector<Encoding> chosen;
  for (const std::size_t row : rows) chosen.push_back(data.encodings[row]);
  batch = make_batch(chosen, makers);
  for (std::size_t s = 0; s < rows.size(); ++s)
    for (const std::int32_t token : data.inputs[rows[s]]) tokens.push_back(token + static_cast<std::int32_t>(batch.offsets.begin(s)));
}

}  // namespace lexformer::detail
#endif
