// SPDX-License-Identifier: MIT
// What all taggers share: labels, and the tags of sentences from the labels that a model predicts. A tagger labels each word of a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/data/tagged_text.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/models/task.hpp"

namespace lexformer {

/// The tags that a model can predict. A label is the index of a tag.
class TagLabels {
 public:
  TagLabels() = default;
  /// Errors (of this kind): there are no names; a name is empty, occurs twice, or has a space or a control character.
  explicit TagLabels(std::vector<std::string> names, const std::string& where = "TagLabels", ErrorKind kind = ErrorKind::usage);
  /// Reads HuggingFace's key "id2label". Errors (file): it is missing or not a list of names 0, 1, 2, ...
  static TagLabels of(const ModelFile& file);

  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  const std::string& name(std::int32_t label) const { return names_.at(static_cast<std::size_t>(label)); }
  /// Errors: a tag is not one of the names.
  std::int32_t label(const std::string& tag) const;
  /// Writes HuggingFace's keys "id2label" and "label2id".
  void write(ModelFile& file) const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int32_t, SeededHash> labels_;
};

/// Sentences as a tagger reads them; each tagger adds its own inputs. A sentence without words that the tagger can label is left out.
struct TagData {
  std::vector<std::size_t> sentence;              // (S): the index of each sentence that is kept
  std::vector<std::vector<std::size_t>> words;    // (S): the words that are labelled, ascending
  std::vector<std::vector<std::int32_t>> labels;  // (S): of these words; empty if the labels were not asked for
  std::vector<std::size_t> lengths;               // (S): tokens, to form batches of similar lengths
  std::size_t cut_sentences = 0, cut_words = 0;   // sentences over the limit of tokens, and the words that they lost

  std::size_t size() const { return sentence.size(); }
};

/// A batch of such sentences; each tagger adds its own inputs.
struct TagBatch {
  Offsets words;                     // of the labelled words of each sentence
  std::vector<std::int32_t> labels;  // of these words, or empty

  /// The words and labels of some sentences.
  TagBatch(const TagData& data, std::span<const std::size_t> rows);
};

/// The tags of all words of sentences from their prepared data; `O` for words that the tagger cannot label. tagged: called after
/// each batch with the number of its sentences; what it throws ends the call. Model: LstmTagger, TransformerTagger.
template <class Model>
std::vector<std::vector<std::string>> predict_tags(const Model& model, const typename Model::Data& data,
                                                   std::span<const TaggedSentence> sentences, std::size_t batch_size = 64,
                                                   const std::function<void(std::size_t)>& tagged = {}) {
  const NoGrad no_grad;
  std::vector<std::vector<std::string>> tags;
  for (const TaggedSentence& sentence : sentences) tags.emplace_back(sentence.words.size(), "O");
  for (const auto& rows : batches_by_length(data.lengths, batch_size)) {
    const auto labels = model.decode(model.batch(data, rows));
    auto label = labels.begin();
    for (const std::size_t row : rows)
      for (const std::size_t word : data.words[row]) tags[data.sentence[row]][word] = model.labels().name(*label++);
    if (tagged) tagged(rows.size());
  }
  return tags;
}
template <class Model>
std::vector<std::vector<std::string>> predict_tags(const Model& model, std::span<const TaggedSentence> sentences,
                                                   std::size_t batch_size = 64, const std::function<void(std::size_t)>& tagged = {}) {
  return predict_tags(model, model.prepare(sentences, false), sentences, batch_size, tagged);
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"

namespace lexformer {

LEXFORMER_INLINE TagLabels::TagLabels(std::vector<std::string> names, const std::string& where, ErrorKind kind) : names_(std::move(names)) {
  if (names_.empty()) throw Error(kind, where + ": there are no labels");
  detail::check_label_names(names_, where, true, kind);
  for (std::size_t i = 0; i < names_.size(); ++i) labels_.emplace(names_[i], static_cast<std::int32_t>(i));
}

LEXFORMER_INLINE TagLabels TagLabels::of(const ModelFile& file) {
  const std::string where = file.path + ": config";
  const Json* const found = detail::find_value(file.config, "id2label", false, where);
  if (found == nullptr) fail_file(file.path, "has no names of labels ('id2label'); train a tagger with train_tagger");
  if (!found->is_object() || found->empty()) fail_file(where, "'id2label' must be an object with a name for each label");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < found->size(); ++i) names.push_back(get_string(*found, std::to_string(i), where + ": id2label"));
  return TagLabels(std::move(names), where + ": id2label", ErrorKind::file);
}

LEXFORMER_INLINE std::int32_t TagLabels::label(const std::string& tag) const {
  const auto found = labels_.find(tag);
  if (found == labels_.end()) fail("TagLabels", "the tag ", in_quotes(tag), " is not one of the model's: ", join(names_));
  return found->second;
}

LEXFORMER_INLINE void TagLabels::write(ModelFile& file) const {
  Json names = Json::object(), labels = Json::object();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    names[std::to_string(i)] = names_[i];
    labels[names_[i]] = i;
  }
  file.config["id2label"] = std::move(names);
  file.config["label2id"] = std::move(labels);
}

LEXFORMER_INLINE TagBatch::TagBatch(const TagData& data, std::span<const std::size_t> rows) {
  std::vector<std::size_t> lengths;
  for (const std::size_t row : rows) {
    lengths.push_back(data.words.at(row).size());
    if (!data.labels.empty()) labels.insert(labels.end(), data.labels[row].begin(), data.labels[row].end());
  }
  words = Offsets::from_lengths(lengths);
}

}  // namespace lexformer
#endif
