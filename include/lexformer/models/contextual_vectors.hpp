// SPDX-License-Identifier: MIT
// One vector for each frequent word of a text, from the hidden states of an encoder (Bommasani et al. 2020; Chen et al. 2022, section 4.5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/models/encoder.hpp"
#include "lexformer/text/tokenizer.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/words/vectors.hpp"

namespace lexformer {

namespace detail {
/// use(text, word) for each word that has all of its tokens and is neither unknown nor a special token.
template <class Use>
void for_each_word(const Tokenizer& tokenizer, const Encoding& encoding, Use&& use) {
  const TokenizerOptions& options = tokenizer.options();
  std::vector<std::int32_t> special;
  for (const std::string& token : {options.unk, options.cls, options.sep, options.pad, options.mask})
    if (const auto id = tokenizer.vocabulary().id(token)) special.push_back(*id);
  for (const Word& word : encoding.words) {
    if (word.last - word.first != word.pieces && !tokenizer.is_whole(encoding.text(word))) continue;  // truncated
    if (word.pieces == 1 && std::find(special.begin(), special.end(), encoding.ids[word.first]) != special.end()) continue;
    use(to_utf8(encoding.text(word)), word);
  }
}
}  // namespace detail

/// Counts the words of texts. Words are the tokenizer's (Encoding::words), normalized. Unknown words, special tokens and words
/// that lose tokens to truncation are not counted.
class WordFrequencies {
 public:
  WordFrequencies(const Tokenizer& tokenizer, std::size_t max_length) : tokenizer_(&tokenizer), max_length_(max_length) {}

  void add(std::span<const std::string> texts);
  /// The number of distinct words.
  std::size_t size() const { return counts_.size(); }
  /// The words with `least` occurrences or more, the most frequent first, of equally frequent ones the first in the order of their bytes;
  /// at most `most` of them, 0: all.
  std::vector<std::string> frequent(std::size_t least, std::size_t most = 0) const;

 private:
  const Tokenizer* tokenizer_;
  std::size_t max_length_;
  std::unordered_map<std::string, std::size_t, SeededHash> counts_;
};

/// How the vectors of the occurrences of a word become one: their mean, or the maximum of each number.
enum class WordPooling { mean, max };
template <>
inline constexpr Named<WordPooling> names_of<WordPooling>[] = {{"mean", WordPooling::mean}, {"max", WordPooling::max}};

struct ContextualOptions {
  WordPooling pooling = WordPooling::mean;
  std::size_t layers = ~std::size_t{0};  // 0: embeddings, 1: after the first layer, ...
  std::size_t max_occurrences = 0;       // of a word that are used, the first ones; 0: all
  std::size_t max_length = 512;          // tokens of a text
  std::size_t batch_size = 32;
};

/// The contextual vectors of words over texts. The vector of an occurrence is the mean of the hidden states of its tokens; the vector of a
/// word is pooled over its occurrences. Memory: one row of double for each word, and the states of one batch.
template <class T = float, class Dev = Cpu>
class ContextualVectors {
 public:
  /// `words` are distinct, e.g. the words of WordFrequencies with the same max_length. The encoder is not copied.
  ContextualVectors(const Encoder<T, Dev>& encoder, std::vector<std::string> words, const ContextualOptions& options = {})
      : encoder_(&encoder),
        options_(options),
        words_(std::move(words)),
        counts_(words_.size()),
        rows_({words_.size(), encoder.config().hidden_size}),
        makers_(encoder.features()) {
    options_.max_length = std::min(options.max_length, encoder.config().max_tokens());
    const double start = options.pooling == WordPooling::mean ? 0 : -std::numeric_limits<double>::infinity();
    std::fill_n(rows_.mutable_data(), rows_.size(), start);
    for (std::size_t i = 0; i < words_.size(); ++i) index_.emplace(words_[i], i);
  }

  /// Adds the occurrences in these texts. Batches have texts of similar length, so many texts in one call are faster. The result does not
  /// depend on the number of threads. Errors: a hidden state is not finite.
  void add(std::span<const std::string> texts) {
    auto encodings = encode_all(encoder_->tokenizer(), texts, options_.max_length);
    std::vector<Encoding> used;
    std::vector<std::vector<Occurrence>> occurrences;
    auto counts = counts_;  // with those that are about to be pooled
    for (Encoding& encoding : encodings) {
      std::vector<Occurrence> found;
      detail::for_each_word(encoder_->tokenizer(), encoding, [&](const std::string& text, const Word& word) {
        const auto at = index_.find(text);
        if (at == index_.end() || (options_.max_occurrences > 0 && counts[at->second] >= options_.max_occurrences)) return;
        ++counts[at->second];
        found.push_back({at->second, word.first, word.last});
      });
      if (found.empty()) continue;
      used.push_back(std::move(encoding));
      occurrences.push_back(std::move(found));
    }
    const NoGrad no_grad;
    const auto use = [&](const DeviceBatch<T, Dev>& batch, const std::vector<std::size_t>& part) {
      const auto output = (*encoder_)(batch, {}, {.layers = options_.layers});
      const auto states = cast<accumulate_t<T>>(output.last).value().template to<Cpu>();
      for (std::size_t s = 0; s < part.size(); ++s)
        for (const Occurrence& occurrence : occurrences[part[s]]) pool(occurrence, states, batch.offsets.begin(s));
    };
    for_each_batch(used, options_.batch_size, makers_, use);
  }

  /// The vectors of the words that occurred, in the order of `words`. Errors: no word occurred; a vector is zero or not finite.
  WordVectors vectors() const {
    const std::size_t size = rows_.dim(1);
    std::vector<std::string> words;
    std::vector<float> values;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (counts_[i] == 0) continue;
      words.push_back(words_[i]);
      const double count = options_.pooling == WordPooling::mean ? static_cast<double>(counts_[i]) : 1;
      for (const double x : rows_.span().subspan(i * size, size)) values.push_back(static_cast<float>(x / count));
    }
    if (words.empty()) fail("ContextualVectors", "none of the ", words_.size(), " words occurred in the texts");
    const std::size_t count = words.size();
    return WordVectors(std::move(words), Tensor<float>::from(values, {count, size}), false, "ContextualVectors");
  }

 private:
  struct Occurrence {
    std::size_t word;
    std::size_t first, last;  // tokens, last excluded
  };

  void pool(const Occurrence& o, const Tensor<accumulate_t<T>>& states, std::size_t begin) {
    const std::size_t size = rows_.dim(1);
    const auto* const state = states.data() + (begin + o.first) * size;
    double* const row = rows_.mutable_data() + o.word * size;
    const std::size_t tokens = o.last - o.first;
    for (std::size_t j = 0; j < size; ++j) {
      double sum = 0;
      for (std::size_t t = 0; t < tokens; ++t) sum += static_cast<double>(state[t * size + j]);
      const double mean = sum / static_cast<double>(tokens);
      if (!std::isfinite(mean)) fail("ContextualVectors", "a hidden state of ", in_quotes(words_[o.word]), " is not finite");
      row[j] = options_.pooling == WordPooling::mean ? row[j] + mean : std::max(row[j], mean);
    }
    ++counts_[o.word];
  }

  const Encoder<T, Dev>* encoder_;
  ContextualOptions options_;
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::size_t, SeededHash> index_;
  std::vector<std::size_t> counts_;
  Tensor<double> rows_;  // sums or maxima
  std::vector<FeatureMaker> makers_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE void WordFrequencies::add(std::span<const std::string> texts) {
  for (const Encoding& encoding : encode_all(*tokenizer_, texts, max_length_))
    detail::for_each_word(*tokenizer_, encoding, [&](std::string&& text, const Word&) { ++counts_[std::move(text)]; });
}

LEXFORMER_INLINE std::vector<std::string> WordFrequencies::frequent(std::size_t least, std::size_t most) const {
  std::vector<std::pair<std::size_t, std::string>> kept;
  for (const auto& [word, count] : counts_)
    if (count >= least && word_fault(word).empty()) kept.emplace_back(count, word);
  std::sort(kept.begin(), kept.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  if (most > 0 && kept.size() > most) kept.resize(most);
  std::vector<std::string> words;
  for (auto& [count, word] : kept) words.push_back(std::move(word));
  return words;
}

}  // namespace lexformer
#endif
