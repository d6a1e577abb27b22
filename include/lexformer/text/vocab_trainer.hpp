// SPDX-License-Identifier: MIT
// Trains a WordPiece vocabulary on plain text, for models without a pretrained vocabulary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/text/wordpiece.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer {

/// The score by which the next pair of adjacent pieces a, b to merge is chosen.
enum class MergeScore {
  frequency,  // count(ab), as in byte-pair encoding
  likelihood  // count(ab) / (count(a) count(b)): increases the likelihood of the text most (the original WordPiece)
};

struct VocabularyTraining {
  std::size_t size = 8000;  // maximum number of tokens, including special tokens and alphabet
  MergeScore score = MergeScore::frequency;
  std::size_t min_count = 2;        // rarer pairs are not merged
  std::size_t max_alphabet = 1000;  // number of most frequent characters to keep; words with other characters are ignored
};

using WordCounts = std::map<std::string, std::size_t>;

/// Counts the words of a text as the tokenizer splits them; adds to `counts`. Ignores words of more than max_word_chars.
void count_words(std::string_view text, const TokenizerOptions& options, WordCounts& counts);

/// Trains a vocabulary: starts with single characters and repeatedly merges the best pair of adjacent pieces. Order of the tokens: [PAD]
/// [UNK] [CLS] [SEP] [MASK] (names from the options); each character at the start of a word; each character with `##` (both by code
/// point); merged pieces in the order of merging. Ties are broken by text, so the result depends only on the counts.
/// Errors: size is too small for the special tokens and the alphabet.
Vocabulary train_vocabulary(const WordCounts& words, const TokenizerOptions& tokenizer, const VocabularyTraining& training);

/// Trains a vocabulary on texts.
Vocabulary train_vocabulary(std::span<const std::string> texts, const TokenizerOptions& tokenizer, const VocabularyTraining& training);

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

namespace detail {

/// Words as sequences of pieces, with counts of pieces and adjacent pairs that are updated by each merge.
class PieceCounts {
 public:
  struct Pair {
    std::uint32_t a, b;
    std::size_t count;
  };

  std::uint32_t piece(const std::string& text) {
    const auto [it, is_new] = ids_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) {
      texts_.push_back(text);
      counts_.push_back(0);
    }
    return it->second;
  }
  const std::string& text(std::uint32_t piece) const { return texts_[piece]; }
  std::size_t count(std::uint32_t piece) const { return counts_[piece]; }
  const std::vector<Pair>& pairs() const { return pairs_; }

  void add_word(std::vector<std::uint32_t> pieces, std::size_t count) {
    words_.push_back({std::move(pieces), count});
    count_word(words_.size() - 1, no_piece);
  }

  /// Replaces every pair a, b by the piece `joined`, from left to right (aaa becomes aa a).
  void merge(std::uint32_t a, std::uint32_t b, std::uint32_t joined) {
    std::vector<std::size_t> words = std::move(where_[places_.at(key(a, b))]);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    for (std::size_t w : words) {
      auto& pieces = words_[w].pieces;
      uncount_word(w);
      std::size_t end = 0;
      for (std::size_t i = 0; i < pieces.size(); ++end) {
        const bool here = i + 1 < pieces.size() && pieces[i] == a && pieces[i + 1] == b;
        pieces[end] = here ? joined : pieces[i];
        i += here ? 2 : 1;
      }
      pieces.resize(end);
      count_word(w, joined);
    }
  }

 private:
  struct Word {
    std::vector<std::uint32_t> pieces;
    std::size_t count;
  };
  static constexpr std::uint32_t no_piece = 0xFFFFFFFFu;
  static std::uint64_t key(std::uint32_t a, std::uint32_t b) { return (std::uint64_t{a} << 32) | b; }

  /// Adds the counts of a word. Only pairs that contain new_piece (no_piece = all) are new to the word and registered in where_.
  void count_word(std::size_t w, std::uint32_t new_piece) {
    const Word& word = words_[w];
    for (std::size_t i = 0; i < word.pieces.size(); ++i) {
      const std::uint32_t a = word.pieces[i];
      counts_[a] += word.count;
      if (i + 1 == word.pieces.size()) break;
      const std::uint32_t b = word.pieces[i + 1];
      const auto [it, is_new] = places_.try_emplace(key(a, b), pairs_.size());
      if (is_new) {
        pairs_.push_back({a, b, 0});
        where_.emplace_back();
      }
      pairs_[it->second].count += word.count;
      if (new_piece == no_piece || a == new_piece || b == new_piece) where_[it->second].push_back(w);
    }
  }
  void uncount_word(std::size_t w) {
    const Word& word = words_[w];
    for (std::size_t i = 0; i < word.pieces.size(); ++i) {
      counts_[word.pieces[i]] -= word.count;
      if (i + 1 < word.pieces.size()) pairs_[places_.at(key(word.pieces[i], word.pieces[i + 1]))].count -= word.count;
    }
  }

  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t, SeededHash> ids_;
  std::vector<std::size_t> counts_;
  std::vector<Word> words_;
  std::vector<Pair> pairs_;                      // contiguous, since the search for the best pair scans all
  std::vector<std::vector<std::size_t>> where_;  // words that contain, or once contained, the pair
  std::unordered_map<std::uint64_t, std::size_t, SeededHash> places_;
};

}  // namespace detail

LEXFORMER_INLINE void count_words(std::string_view text, const TokenizerOptions& options, WordCounts& counts) {
  std::string bytes;
  WordSplitter(options).split(text, 0, [&](std::span<const TextChar> word, bool) {
    if (word.size() > options.max_word_chars) return;
    bytes.clear();
    for (const TextChar& c : word) append_utf8(bytes, c.character);
    ++counts[bytes];
  });
}

LEXFORMER_INLINE Vocabulary train_vocabulary(const WordCounts& words, const TokenizerOptions& tokenizer,
                                             const VocabularyTraining& training) {
  std::map<char32_t, std::size_t> characters;
  for (const auto& [word, count] : words)
    for (char32_t c : to_utf32(word)) characters[c] += count;
  std::vector<std::pair<std::size_t, char32_t>> by_count;
  for (const auto& [c, count] : characters) by_count.emplace_back(count, c);
  std::stable_sort(by_count.begin(), by_count.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  for (std::size_t i = training.max_alphabet; i < by_count.size(); ++i) characters.erase(by_count[i].second);

  std::vector<std::string> tokens{tokenizer.pad, tokenizer.unk, tokenizer.cls, tokenizer.sep, tokenizer.mask};
  if (training.size < tokens.size() + 2 * characters.size())
    fail_usage("vocab_size", "is ", training.size, ", but the special tokens and ", characters.size(),
               " characters, each with and without ", WordPiece::continuation, ", take ", tokens.size() + 2 * characters.size(),
               "; raise it");
  const auto piece_text = [](char32_t c, bool first) { return (first ? "" : std::string(WordPiece::continuation)) + to_utf8({&c, 1}); };
  for (const bool first : {true, false})
    for (const auto& entry : characters) tokens.push_back(piece_text(entry.first, first));

  detail::PieceCounts counts;
  for (const auto& [word, count] : words) {
    const std::u32string text = to_utf32(word);
    if (!std::all_of(text.begin(), text.end(), [&](char32_t c) { return characters.count(c) == 1; })) continue;
    std::vector<std::uint32_t> pieces;
    for (std::size_t i = 0; i < text.size(); ++i) pieces.push_back(counts.piece(piece_text(text[i], i == 0)));
    counts.add_word(std::move(pieces), count);
  }

  std::unordered_set<std::string, SeededHash> known(tokens.begin(), tokens.end());
  while (tokens.size() < training.size) {
    const detail::PieceCounts::Pair* best = nullptr;
    double best_score = 0;
    for (const auto& pair : counts.pairs()) {
      if (pair.count == 0 || pair.count < training.min_count) continue;
      double score = static_cast<double>(pair.count);
      if (training.score == MergeScore::likelihood)
        score /= static_cast<double>(counts.count(pair.a)) * static_cast<double>(counts.count(pair.b));
      if (score < best_score) continue;
      if (best != nullptr && score == best_score &&
          std::pair(counts.text(best->a), counts.text(best->b)) <= std::pair(counts.text(pair.a), counts.text(pair.b)))
        continue;
      best = &pair;
      best_score = score;
    }
    if (best == nullptr) break;
    const std::uint32_t a = best->a, b = best->b;
    const std::string joined = counts.text(a) + counts.text(b).substr(WordPiece::continuation.size());
    counts.merge(a, b, counts.piece(joined));
    if (known.insert(joined).second) tokens.push_back(joined);  // abc may result from a, bc and from ab, c
  }
  return Vocabulary(std::move(tokens));
}

LEXFORMER_INLINE Vocabulary train_vocabulary(std::span<const std::string> texts, const TokenizerOptions& tokenizer,
                                             const VocabularyTraining& training) {
  WordCounts counts;
  for (const std::string& text : texts) count_words(text, tokenizer, counts);
  return train_vocabulary(counts, tokenizer, training);
}

}  // namespace lexformer
#endif
