// SPDX-License-Identifier: MIT
// BoS, bag of substrings (Zhao, Mudgal and Liang, "Generalizing Word Embeddings using Bag of Subwords", EMNLP 2018).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/ops/index.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/words/substrings.hpp"
#include "lexformer/words/word_model.hpp"

namespace lexformer {

struct BosOptions {
  std::size_t size = 300;                 // D, of the vectors
  std::size_t shortest = 3, longest = 6;  // characters of the substrings
  std::size_t buckets = 0;                // 0: a row for each substring of the training words; else the substrings share this many

  void visit(OptionVisitor& v) {
    v.size("size", size, 1, 1 << 16, "size of the vectors");
    v.size("shortest", shortest, 1, Substrings::max_characters, "characters of the shortest substrings");
    v.size("longest", longest, 1, Substrings::max_characters, "characters of the longest substrings");
    v.size("buckets", buckets, 0, 1 << 24, "rows that the substrings share, by hashing; 0 = a row for each one of the training words");
  }
};

/// Converts a word to the rows of its substrings in the table of BoS.
class BosRows {
 public:
  /// The substrings of `words` have rows of their own. Errors (usage): `shortest` is more than `longest`; they
  /// are more than a file can hold.
  BosRows(std::span<const std::string> words, const BosOptions& options)
      : BosRows(options, options.buckets > 0 ? std::vector<std::string>()
                                             : frequent_substrings(words, of(options), std::numeric_limits<std::size_t>::max())) {}
  explicit BosRows(const ModelFile& file);

  /// The rows of a word, at least one. Without buckets, substrings that no training word has are left out; row 0 is for a word
  /// that has no others. With buckets b: FNV-1a mod b.
  std::vector<std::int32_t> operator()(const std::string& word) const;
  /// Number of rows.
  std::size_t size() const { return options_.buckets > 0 ? options_.buckets : 1 + known_.size(); }
  const BosOptions& options() const { return options_; }
  void write_settings(ModelFile& file) const;

 private:
  BosRows(const BosOptions& options, std::vector<std::string> known);
  static Substrings of(const BosOptions& options);

  BosOptions options_;
  Vocabulary known_;
};

/// vector of a word = mean of the rows of its substrings: all substrings of 3 to 6 characters of the word between marks, with repetitions
template <class T = float, class Dev = Cpu>
class Bos : public WordModel<Bos<T, Dev>, T, Dev> {
 public:
  Var<T, Dev> table;  // (rows, D), starts at zero

  /// Learns `words`. Errors: as BosRows.
  Bos(std::span<const std::string> words, const BosOptions& options) : Bos(BosRows(words, options)) {}
  /// Errors (file): the file holds another kind of model; an option or the table is missing or has another size.
  explicit Bos(const ModelFile& file) : Bos(BosRows(file)) { this->restore_all(file); }

  const BosOptions& options() const { return rows_.options(); }
  const BosRows& rows() const { return rows_; }

  /// Computes the vectors of a batch of words: (B, D). Errors: there are no words.
  Var<T, Dev> operator()(std::span<const std::string> words, const ForwardOptions& = {}) const {
    const auto ids = detail::units_of(words, rows_);
    return sequence_mean(embedding(table, ids.first), ids.second);
  }
  /// Half the squared distance over D, mean over the words.
  Var<accumulate_t<T>, Dev> loss(const Var<accumulate_t<T>, Dev>& targets, const Var<T, Dev>& vectors) const {
    return scale(mse_loss(vectors, targets), accumulate_t<T>(0.5));
  }
  void write_settings(ModelFile& file) const { rows_.write_settings(file); }
  void visit(ParameterVisitor<T, Dev>& v) { v("bos.substrings", table); }

 private:
  explicit Bos(BosRows rows) : table(Tensor<T, Dev>::zeros({rows.size(), rows.options().size}), true), rows_(std::move(rows)) {}

  BosRows rows_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE Substrings BosRows::of(const BosOptions& o) {
  return check_substrings({.shortest = o.shortest, .longest = o.longest, .begin = '<', .end = '>'}, "BosOptions");
}

LEXFORMER_INLINE BosRows::BosRows(const BosOptions& options, std::vector<std::string> known) : options_(options) {
  detail::check_known_words(known, "BosOptions", "let them share rows (buckets)");
  known_ = Vocabulary(std::move(known));
}

LEXFORMER_INLINE BosRows::BosRows(const ModelFile& file) {
  detail::read_word_model(file, "bos", [&](OptionVisitor& v) { options_.visit(v); });
  of(options_);  // checks them
  if (options_.buckets == 0) known_ = detail::require_vocabulary(file, "lexformer.substrings");
  const std::vector<ExpectedTensor> tables{{"bos.substrings", {size(), options_.size}}};
  require_tensors(file.tensors, tables, file.path);  // before memory is allocated
}

LEXFORMER_INLINE std::vector<std::int32_t> BosRows::operator()(const std::string& word) const {
  std::vector<std::int32_t> rows;
  for (const std::string& part : of(options_).of(word))
    if (options_.buckets > 0) {
      rows.push_back(static_cast<std::int32_t>(fnv1a(part) % options_.buckets));
    } else if (const auto number = known_.id(part)) {
      rows.push_back(1 + *number);
    }
  if (rows.empty()) rows.push_back(0);
  return rows;
}

LEXFORMER_INLINE void BosRows::write_settings(ModelFile& file) const {
  detail::write_word_model(file, "bos", [o = options_](OptionVisitor& v) mutable { o.visit(v); });
  if (options_.buckets == 0) write_vocabulary(known_, "lexformer.substrings", file.metadata);
}

}  // namespace lexformer
#endif
