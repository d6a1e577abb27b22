// SPDX-License-Identifier: MIT
// Training batches of LOVE: words with augmented spellings and hard negatives, a pure function of (words, options, seed, epoch, batch).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/noise/word_edit.hpp"

namespace lexformer {

struct LoveBatchOptions {
  std::size_t batch = 4;                                                            // words of a batch, besides their negatives
  std::size_t negatives = 3;                                                        // hard negatives for each word
  double swap = 0.07, drop = 0.07, insert = 0.07, keyboard = 0.07, synonym = 0.36;  // probabilities; the rest stays unchanged
  bool any_characters = false;                                                      // see edit_word()

  void visit(OptionVisitor& v) {
    v.size("batch", batch, 1, 1 << 20, "words of a batch, besides their negatives");
    v.size("negatives", negatives, 0, 1 << 20, "hard negatives for each word");
    v.number("swap", swap, 0, 1, "share of the words in which two adjacent characters are swapped");
    v.number("drop", drop, 0, 1, "share of the words that lose a character");
    v.number("insert", insert, 0, 1, "share of the words that get another character");
    v.number("keyboard", keyboard, 0, 1, "share of the words in which a character becomes a neighbouring key");
    v.number("synonym", synonym, 0, 1, "share of the words that are replaced by a synonym");
    v.flag("any_characters", any_characters, "insert and substitute also capitals, digits and signs, as the released code does");
  }
};

/// Rows of a batch. The target of a row is the vector of its word, whatever its spelling.
struct LoveBatch {
  std::vector<std::int32_t> words;     // row -> index of a word
  std::vector<std::string> spellings;  // row -> the word after augmentation
};

class LoveBatches {
 public:
  using Lists = std::vector<std::vector<std::uint32_t>>;

  /// synonyms, near: lists of other words for each word, possibly empty; near are the candidates for hard negatives. Errors: a list is
  /// missing or contains an index that is not below words.size(); the probabilities are negative or add up to more than 1; there are fewer
  /// other words than negatives.
  LoveBatches(std::vector<std::string> words, Lists synonyms, Lists near, const LoveBatchOptions& options, std::uint64_t seed);

  /// Batches of an epoch. The last one may have fewer words; a single last row joins the batch before it, because losses compare rows.
  std::size_t size() const { return batches_; }

  /// The order of the words in an epoch: each once. Each epoch has its own.
  std::vector<std::uint32_t> order(std::uint32_t epoch) const;

  /// Makes a batch of an epoch from its order(). A word is followed by its negatives: drawn without replacement from `near`, filled up
  /// with random other words. Every row draws one augmentation. A synonym is a word of `synonyms`, drawn evenly; without synonyms the
  /// spelling stays. Errors: there is no such batch; the order has another number of words.
  LoveBatch batch(const std::vector<std::uint32_t>& order, std::uint32_t epoch, std::size_t index) const;
  LoveBatch batch(std::uint32_t epoch, std::size_t index) const { return batch(order(epoch), epoch, index); }

 private:
  std::string spelling(std::uint32_t word, RandomStream& random) const;

  std::vector<std::string> words_;
  Lists synonyms_, near_;
  LoveBatchOptions options_;
  std::uint64_t seed_;
  std::size_t batches_ = 0;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <numeric>
#include <utility>

namespace lexformer {

LEXFORMER_INLINE LoveBatches::LoveBatches(std::vector<std::string> words, Lists synonyms, Lists near, const LoveBatchOptions& options,
                                          std::uint64_t seed)
    : words_(std::move(words)), synonyms_(std::move(synonyms)), near_(std::move(near)), options_(options), seed_(seed) {
  const auto& o = options_;
  if (words_.empty() || o.batch == 0)
    fail_usage("LoveBatches", words_.size(), " words in batches of ", o.batch, "; expected at least 1 of both");
  if (o.negatives >= words_.size())
    fail_usage("LoveBatches", o.negatives, " negatives for each word, but there are only ", words_.size() - 1, " other words");
  const std::array shares{o.swap, o.drop, o.insert, o.keyboard, o.synonym};
  double sum = 0;
  for (const double p : shares) {
    if (!(p >= 0)) fail_usage("LoveBatches", "a probability of augmentation is ", p, "; expected at least 0");
    sum += p;
  }
  if (!(sum <= 1 + 1e-9)) fail_usage("LoveBatches", "the probabilities of augmentation add up to ", sum, "; expected at most 1");
  for (const auto* lists : {&synonyms_, &near_}) {
    if (lists->size() != words_.size()) fail("LoveBatches", lists->size(), " lists for ", words_.size(), " words");
    for (const auto& list : *lists)
      for (const std::uint32_t w : list)
        if (w >= words_.size()) fail("LoveBatches", "a list has the word number ", w, " of ", words_.size(), " words");
  }
  const std::size_t full = words_.size() / o.batch, rest = words_.size() % o.batch;
  batches_ = std::max<std::size_t>(1, full + (rest * (1 + o.negatives) > 1 ? 1 : 0));
}

LEXFORMER_INLINE std::vector<std::uint32_t> LoveBatches::order(std::uint32_t epoch) const {
  std::vector<std::uint32_t> all(words_.size());
  std::iota(all.begin(), all.end(), 0u);
  RandomStream random(seed_, random_site::shuffle, epoch);
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[static_cast<std::size_t>(random.below(i))]);
  return all;
}

LEXFORMER_INLINE std::string LoveBatches::spelling(std::uint32_t word, RandomStream& random) const {
  const std::string& text = words_[word];
  double u = random.uniform();
  const std::array<std::pair<double, WordEdit>, 4> edits{{{options_.swap, WordEdit::swap},
                                                          {options_.drop, WordEdit::drop},
                                                          {options_.insert, WordEdit::insert},
                                                          {options_.keyboard, WordEdit::keyboard}}};
  for (const auto& [share, edit] : edits) {
    if (u < share) return edit_word(text, edit, options_.any_characters, random);
    u -= share;
  }
  const auto& synonyms = synonyms_[word];
  if (u < options_.synonym && !synonyms.empty()) return words_[synonyms[static_cast<std::size_t>(random.below(synonyms.size()))]];
  return text;
}

LEXFORMER_INLINE LoveBatch LoveBatches::batch(const std::vector<std::uint32_t>& order, std::uint32_t epoch, std::size_t index) const {
  if (index >= size()) fail("LoveBatches", "there is no batch ", index, "; an epoch has ", size());
  if (order.size() != words_.size()) fail("LoveBatches", "the order has ", order.size(), " of ", words_.size(), " words");
  LoveBatch out;
  const std::size_t end = index + 1 == size() ? order.size() : (index + 1) * options_.batch;
  for (std::size_t i = index * options_.batch; i < end; ++i) {
    const std::uint32_t word = order[i];
    RandomStream random(seed_, random_site::typos + epoch % 0x1000000u, word);
    std::vector<std::uint32_t> rows{word}, candidates = near_[word];
    while (rows.size() <= options_.negatives && !candidates.empty()) {
      const auto k = static_cast<std::size_t>(random.below(candidates.size()));
      if (std::find(rows.begin(), rows.end(), candidates[k]) == rows.end()) rows.push_back(candidates[k]);
      candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(k));
    }
    while (rows.size() <= options_.negatives) {
      const auto other = static_cast<std::uint32_t>(random.below(words_.size()));
      if (std::find(rows.begin(), rows.end(), other) == rows.end()) rows.push_back(other);
    }
    for (const std::uint32_t row : rows) {
      out.words.push_back(static_cast<std::int32_t>(row));
      out.spellings.push_back(spelling(row, random));
    }
  }
  return out;
}

}  // namespace lexformer
#endif
