// SPDX-License-Identifier: MIT
// The word similarity of UERBERT (Xia et al. 2021, "Using prior knowledge to guide BERT's attention in semantic textual matching tasks"),
// as in the authors' code: UER/get_similarity.py of github.com/xiatingyu/Bert_sim.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/knowledge/wordnet.hpp"

namespace lexformer {

namespace detail {
/// The properties of a word that the similarity uses.
struct UerbertWord {
  std::string text{};  // in lower case
  bool stop = false;
  std::vector<WordNet::Id> synsets{};
  std::vector<std::string_view> related{};  // the lemmas of the synsets and the first antonym of each; sorted
};
UerbertWord uerbert_word(const WordNet& wordnet, std::string_view word);
double uerbert_similarity(const WordNet& wordnet, const UerbertWord& a, const UerbertWord& b);
}  // namespace detail

/// The similarity of two words in [0, 1], in lower case:
/// 0 if one is a stop word (Lucene's 33 English stop words and "am"), even if the words are equal;
/// else, if one has no synset: 1 if the words are equal, else 0;
/// else 1 if one is a lemma of a synset of the other, or the first antonym of such a lemma;
/// else the mean of WordNet::wup_similarity over all pairs of synsets in both orders (0 if it is empty for all).
/// Lemmas are compared as written: an inflected word (dogs) or a name (paris for Paris) is not a lemma, so that its similarity to itself is
/// also a mean. Symmetric to the bit.
double uerbert_similarity(const WordNet& wordnet, std::string_view a, std::string_view b);

/// uerbert_similarity with a memory of words and pairs. Thread-safe.
class UerbertTable {
 public:
  /// The memory holds some `max_pairs` pairs (40 bytes each); when it is full it starts anew. Distinct words stay in it.
  explicit UerbertTable(std::shared_ptr<const WordNet> wordnet, std::size_t max_pairs = std::size_t{1} << 20);

  /// The similarities of all words of `left` with all of `right`; row-major, left.size() x right.size().
  std::vector<double> operator()(std::span<const std::string> left, std::span<const std::string> right);

 private:
  struct Word {
    std::uint32_t number = 0;
    detail::UerbertWord word{};
  };
  /// The words in the table; adds those that are new. Shorter than `words` if the table cannot be used (detail::lock_cache).
  std::vector<const Word*> look_up(std::span<const std::string> words);
  std::vector<double> without_memory(std::span<const std::string> left, std::span<const std::string> right) const;

  std::shared_ptr<const WordNet> wordnet_;
  std::size_t max_pairs_;
  std::shared_mutex mutex_;
  std::unordered_map<std::string, Word, SeededHash> words_;      // as given; never removed, so that pointers to them stay valid
  std::unordered_map<std::uint64_t, double, SeededHash> pairs_;  // of two numbers, the smaller first
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <mutex>
#include <utility>

#include "lexformer/core/cache_lock.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {
inline constexpr auto uerbert_stop_words = std::to_array<std::string_view>(  // sorted
    {"a",   "am", "an", "and", "are",  "as",   "at",  "be",    "but",  "by",    "for",   "if",   "in",   "into", "is",  "it",   "no",
     "not", "of", "on", "or",  "such", "that", "the", "their", "then", "there", "these", "they", "this", "to",   "was", "will", "with"});

LEXFORMER_INLINE UerbertWord uerbert_word(const WordNet& wordnet, std::string_view word) {
  UerbertWord out{lower_case(word)};
  out.stop = std::binary_search(uerbert_stop_words.begin(), uerbert_stop_words.end(), out.text);
  if (out.stop) return out;
  out.synsets = wordnet.synsets(out.text);
  for (const WordNet::Id synset : out.synsets) {
    const auto lemmas = wordnet.lemmas(synset);
    for (std::size_t k = 0; k < lemmas.size(); ++k) {
      out.related.push_back(lemmas[k]);
      if (const auto antonyms = wordnet.antonyms(synset, k); !antonyms.empty()) out.related.push_back(antonyms.front());
    }
  }
  std::sort(out.related.begin(), out.related.end());
  return out;
}

LEXFORMER_INLINE double uerbert_similarity(const WordNet& wordnet, const UerbertWord& a, const UerbertWord& b) {
  if (a.stop || b.stop) return 0.0;
  if (a.synsets.empty() || b.synsets.empty()) return a.text == b.text ? 1.0 : 0.0;
  const auto relates = [](const UerbertWord& x, const UerbertWord& y) {
    return std::binary_search(x.related.begin(), x.related.end(), y.text);
  };
  if (relates(a, b) || relates(b, a)) return 1.0;
  if (b.text < a.text) return uerbert_similarity(wordnet, b, a);  // one order of the sum for both
  double sums[2] = {0.0, 0.0};
  std::size_t count = 0;
  for (const WordNet::Id x : a.synsets)
    for (const WordNet::Id y : b.synsets)
      for (const bool swapped : {false, true})
        if (const auto s = swapped ? wordnet.wup_similarity(y, x) : wordnet.wup_similarity(x, y)) {
          sums[swapped ? 1 : 0] += *s;
          ++count;
        }
  return count == 0 ? 0.0 : (sums[0] + sums[1]) / static_cast<double>(count);
}
}  // namespace detail

LEXFORMER_INLINE double uerbert_similarity(const WordNet& wordnet, std::string_view a, std::string_view b) {
  return detail::uerbert_similarity(wordnet, detail::uerbert_word(wordnet, a), detail::uerbert_word(wordnet, b));
}

LEXFORMER_INLINE UerbertTable::UerbertTable(std::shared_ptr<const WordNet> wordnet, std::size_t max_pairs)
    : wordnet_(std::move(wordnet)), max_pairs_(max_pairs) {}

LEXFORMER_INLINE std::vector<const UerbertTable::Word*> UerbertTable::look_up(std::span<const std::string> words) {
  std::vector<const Word*> out(words.size(), nullptr);
  {
    const auto lock = detail::lock_cache<std::shared_lock>(mutex_);
    if (!lock) return {};
    for (std::size_t i = 0; i < words.size(); ++i)
      if (const auto found = words_.find(words[i]); found != words_.end()) out[i] = &found->second;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (out[i] != nullptr) continue;
    Word word{0, detail::uerbert_word(*wordnet_, words[i])};
    const auto lock = detail::lock_cache(mutex_);
    if (!lock) return {};
    word.number = static_cast<std::uint32_t>(words_.size());
    out[i] = &words_.emplace(words[i], std::move(word)).first->second;
  }
  return out;
}

LEXFORMER_INLINE std::vector<double> UerbertTable::operator()(std::span<const std::string> left, std::span<const std::string> right) {
  const auto rows = look_up(left), columns = look_up(right);
  if (rows.size() != left.size() || columns.size() != right.size()) return without_memory(left, right);
  const auto key = [](const Word& a, const Word& b) {
    return (std::uint64_t{std::min(a.number, b.number)} << 32) | std::max(a.number, b.number);
  };
  std::vector<double> out(left.size() * right.size(), -1.0);
  bool complete = true;
  {
    const auto lock = detail::lock_cache<std::shared_lock>(mutex_);
    if (!lock) return without_memory(left, right);
    for (std::size_t i = 0, cell = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < columns.size(); ++j, ++cell) {
        const Word &a = *rows[i], &b = *columns[j];
        if (a.word.synsets.empty() || b.word.synsets.empty()) {
          out[cell] = detail::uerbert_similarity(*wordnet_, a.word, b.word);
        } else if (const auto found = pairs_.find(key(a, b)); found != pairs_.end()) {
          out[cell] = found->second;
        } else {
          complete = false;
        }
      }
  }
  if (complete) return out;
  std::vector<std::pair<std::uint64_t, double>> added;
  for (std::size_t i = 0, cell = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < columns.size(); ++j, ++cell)
      if (out[cell] < 0.0) {
        out[cell] = detail::uerbert_similarity(*wordnet_, rows[i]->word, columns[j]->word);
        added.emplace_back(key(*rows[i], *columns[j]), out[cell]);
      }
  const auto lock = detail::lock_cache(mutex_);
  if (!lock) return out;
  if (pairs_.size() + added.size() > max_pairs_) pairs_.clear();
  pairs_.insert(added.begin(), added.end());
  return out;
}

LEXFORMER_INLINE std::vector<double> UerbertTable::without_memory(std::span<const std::string> left,
                                                                  std::span<const std::string> right) const {
  std::vector<detail::UerbertWord> columns;
  for (const auto& word : right) columns.push_back(detail::uerbert_word(*wordnet_, word));
  std::vector<double> out;
  for (const auto& word : left) {
    const auto row = detail::uerbert_word(*wordnet_, word);
    for (const auto& column : columns) out.push_back(detail::uerbert_similarity(*wordnet_, row, column));
  }
  return out;
}

}  // namespace lexformer
#endif
