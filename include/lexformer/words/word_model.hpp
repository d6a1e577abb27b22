// SPDX-License-Identifier: MIT
// Shared by the models that make a vector for any word: batches, options and vocabularies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/io/tokenizer_file.hpp"
#include "lexformer/nn/saved_model.hpp"

namespace lexformer {

namespace detail {
/// Writes the name of a model (model_type) and its options, as an object of this name under "lexformer".
void write_word_model(ModelFile& file, const char* type, const VisitOptions& visit);
/// Reads them. Errors (file): the file holds another kind of model; an option is unknown or out of range.
void read_word_model(const ModelFile& file, const char* type, const VisitOptions& visit);
/// Options as an object of another name under "lexformer".
void write_word_options(ModelFile& file, const char* key, const VisitOptions& visit);
void read_word_options(const ModelFile& file, const char* key, const VisitOptions& visit);
/// Errors (usage): a file cannot hold a vocabulary of these texts; `where` and `advice` are for the message.
void check_known_words(std::span<const std::string> texts, const char* where, const char* advice);
/// Reads a vocabulary from the metadata. Errors (file): the file has none; as read_vocabulary().
Vocabulary require_vocabulary(const ModelFile& file, const char* key);

/// The results of `of` for the words of a batch, one word after another, and where each word's begin. Errors: there are no words.
template <class Of>
auto units_of(std::span<const std::string> words, Of&& of) {
  if (words.empty()) fail("WordModel", "the batch has no words");
  std::decay_t<decltype(of(words[0]))> all;
  std::vector<std::size_t> lengths;
  for (const std::string& word : words) {
    const auto of_word = of(word);
    all.insert(all.end(), of_word.begin(), of_word.end());
    lengths.push_back(of_word.size());
  }
  return std::pair(std::move(all), Offsets::from_lengths(lengths));
}
}  // namespace detail

/// The base of a model of words. Model has, besides what SavedModel asks for,
///   options()                     with the member `size`, D
///   operator()(words, forward)    the vectors of a batch of words: (B, D)
///   loss(targets, vectors)        the loss that it learns by (not of Love)
template <class Model, class T, class Dev>
class WordModel : public SavedModel<Model, T, Dev> {
 public:
  /// Computes the vectors of any number of words in batches: (words, D), on the CPU. computed: called after each batch with the number of
  /// its words; what it throws ends the call.
  Tensor<T> vectors(std::span<const std::string> words, std::size_t batch = 64,
                    const std::function<void(std::size_t)>& computed = {}) const {
    if (batch == 0) fail("WordModel", "batch is 0; expected at least 1");
    const NoGrad no_grad;
    const auto& model = static_cast<const Model&>(*this);
    const std::size_t size = model.options().size;
    std::vector<T> all;
    all.reserve(words.size() * size);
    for (std::size_t first = 0; first < words.size(); first += batch) {
      const auto of_batch = words.subspan(first, std::min(batch, words.size() - first));
      const auto part = model(of_batch).value().template to<Cpu>();
      all.insert(all.end(), part.span().begin(), part.span().end());
      if (computed) computed(of_batch.size());
    }
    return Tensor<T>::from(all, {words.size(), size});
  }

 private:
  friend Model;
  WordModel() = default;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/io/config.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/io/options.hpp"

namespace lexformer::detail {

LEXFORMER_INLINE void write_word_options(ModelFile& file, const char* key, const VisitOptions& visit) {
  file.config["lexformer"][key] = options_json(visit);
}

LEXFORMER_INLINE void read_word_options(const ModelFile& file, const char* key, const VisitOptions& visit) {
  const std::string where = file.path + ": config", ours = where + ": lexformer";
  read_options(find_value(*find_value(file.config, "lexformer", true, where), key, true, ours)->dump(), ours + ": " + key, visit);
}

LEXFORMER_INLINE void write_word_model(ModelFile& file, const char* type, const VisitOptions& visit) {
  file.config["model_type"] = type;
  write_word_options(file, type, visit);
}

LEXFORMER_INLINE void read_word_model(const ModelFile& file, const char* type, const VisitOptions& visit) {
  if (const std::string found = file.model_type(); found != type)
    fail_file(file.path, "is no ", type, " model: its model_type is ", in_quotes(found));
  read_word_options(file, type, visit);
}

LEXFORMER_INLINE void check_known_words(std::span<const std::string> texts, const char* where, const char* advice) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + 2;
  if (texts.size() > Vocabulary::max_size || bytes > 15u << 20)  // a part of the header
    fail_usage(where, texts.size(), " substrings of ", bytes, " bytes are more than a model file can hold; ", advice);
}

LEXFORMER_INLINE Vocabulary require_vocabulary(const ModelFile& file, const char* key) {
  auto found = read_vocabulary(file.metadata, key, file.path);
  if (!found) fail_file(file.path, key, " is missing");
  return *std::move(found);
}

}  // namespace lexformer::detail
#endif
