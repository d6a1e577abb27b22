// SPDX-License-Identifier: MIT
// A trained tagger, whatever it is made of: an encoder or an LSTM over word vectors, in any precision, on any device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/models/compute.hpp"
#include "lexformer/models/lstm_tagger.hpp"
#include "lexformer/models/transformer_tagger.hpp"

namespace lexformer {

/// The tags of all words of sentences, `O` for words that were not read.
struct SentenceTags {
  std::vector<std::vector<std::string>> tags;
  std::size_t cut_sentences = 0, cut_words = 0;  // sentences over the limit of tokens, and the words that they lost
};

class WordTagger {
 public:
  virtual ~WordTagger() = default;

  /// The most tokens of a sentence; 0: any.
  virtual std::size_t max_length() const = 0;
  virtual SentenceTags tag(std::span<const TaggedSentence> sentences, std::size_t batch_size = 64) const = 0;
};

namespace detail {

template <class Model>
class WordTaggerOf final : public WordTagger {
 public:
  WordTaggerOf(Model model, std::size_t max_length) : model_(std::move(model)), max_length_(max_length) {}
  std::size_t max_length() const override { return max_length_; }
  SentenceTags tag(std::span<const TaggedSentence> sentences, std::size_t batch_size) const override {
    const auto data = model_.prepare(sentences, false);
    return {predict_tags(model_, data, sentences, batch_size), data.cut_sentences, data.cut_words};
  }

 private:
  Model model_;
  std::size_t max_length_;
};

template <class T, class Dev>
std::unique_ptr<WordTagger> make_tagger(ModelFile file, const Compute& compute, const ModelExtras& extras) {
  const std::string path = file.path;
  if (file.model_type() == "lstm_tagger") {
    auto model = LstmTagger<T, Dev>::stored(file);
    model.provide(vectors_for(path, "an LSTM", compute, extras));
    return std::make_unique<WordTaggerOf<LstmTagger<T, Dev>>>(std::move(model), 0);
  }
  TransformerTagger<T, Dev> model(std::exchange(file, {}));
  complete(model, path, compute, extras);
  const std::size_t most = model.options().max_length;
  return std::make_unique<WordTaggerOf<TransformerTagger<T, Dev>>>(std::move(model), most);
}

// The instances in lexformer::compiled and lexformer::cuda.
#define LEXFORMER_TAGGER(word, T, Dev) \
  word template std::unique_ptr<WordTagger> make_tagger<T, Dev>(ModelFile, const Compute&, const ModelExtras&);
LEXFORMER_EXTERN_INSTANCES(LEXFORMER_TAGGER)

}  // namespace detail

/// Opens a trained tagger: a .lxf file, or a HuggingFace folder with a head for token classification.
///   const auto tags = lexformer::open_tagger("model.lxf")->tag(sentences).tags;
/// Errors: as TransformerTagger, LstmTagger and with_compute. Errors (usage): `extras` has something that the model cannot use, or lacks
/// something that it needs.
inline std::unique_ptr<WordTagger> open_tagger(const std::string& path, const Compute& compute = {}, const ModelExtras& extras = {}) {
  return with_compute(compute, [&](auto number, auto device) {
    return detail::make_tagger<decltype(number), decltype(device)>(ModelFile::open(path), compute, extras);
  });
}

}  // namespace lexformer
