// SPDX-License-Identifier: MIT
// KVQ-FH (Sasaki, Suzuki and Inui, "Subword-based Compact Reconstruction of Word Embeddings", NAACL 2019): self-attention over substrings
// whose keys, values and queries share the rows of one small table.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/nn/embedding.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/words/substrings.hpp"
#include "lexformer/words/word_model.hpp"

namespace lexformer {

struct KvqFhOptions {
  std::size_t size = 300;                  // D, of the vectors
  std::size_t rows = 40000;                // H, of the table
  std::size_t known = 1000000;             // F, substrings that are used
  std::size_t shortest = 3, longest = 30;  // characters of the substrings

  void visit(OptionVisitor& v) {
    v.size("size", size, 1, 1 << 16, "size of the vectors");
    v.size("rows", rows, 1, 1 << 24, "rows that all substrings share, by hashing");
    v.size("known", known, 1, Vocabulary::max_size, "number of the most frequent substrings of the training words that are used");
    v.size("shortest", shortest, 1, Substrings::max_characters, "characters of the shortest substrings");
    v.size("longest", longest, 1, Substrings::max_characters, "characters of the longest substrings");
  }
};

/// The substrings of a word that KVQ-FH uses.
class KvqFhSubstrings {
 public:
  /// Those used are the most frequent ones of `words`, without the marked words themselves. Errors (usage): `shortest` is more than
  /// `longest`; they are more than a file can hold.
  KvqFhSubstrings(std::span<const std::string> words, const KvqFhOptions& options);
  explicit KvqFhSubstrings(const ModelFile& file);

  /// The substrings of ^word@ that are used, with repetitions; all of them if none is.
  std::vector<std::string> operator()(const std::string& word) const;
  const KvqFhOptions& options() const { return options_; }
  void write_settings(ModelFile& file) const;

 private:
  static Substrings of(const KvqFhOptions& options);

  KvqFhOptions options_;
  Vocabulary known_;
};

/// Substrings g of a word; k, v, q: three hashes to the rows of E (H, D):
///   Q = sum_g E[q(g)];  z_g = softmax over g, in each column, of sqrt(D) Q E[k(g)];  vector of a word = sum_g z_g E[v(g)]
template <class T = float, class Dev = Cpu>
class KvqFh : public WordModel<KvqFh<T, Dev>, T, Dev> {
 public:
  Embedding<T, Dev> table;  // starts at N(0, 0.01^2)

  /// Learns `words`. Errors: as KvqFhSubstrings.
  KvqFh(std::span<const std::string> words, const KvqFhOptions& options, std::uint64_t seed)
      : KvqFh(KvqFhSubstrings(words, options), Init(seed, 0.01)) {}
  /// Errors (file): the file holds another kind of model; an option or the table is missing or has another size.
  explicit KvqFh(const ModelFile& file) : KvqFh(KvqFhSubstrings(file), Init::none()) { this->restore_all(file); }

  const KvqFhOptions& options() const { return substrings_.options(); }
  const KvqFhSubstrings& substrings() const { return substrings_; }

  /// Computes the vectors of a batch of words: (B, D). Errors: there are no words.
  Var<T, Dev> operator()(std::span<const std::string> words, const ForwardOptions& = {}) const {
    const auto parts = detail::units_of(words, substrings_);
    const Offsets& offsets = parts.second;
    std::vector<std::int32_t> word;  // of each substring
    std::vector<T> factors;          // sqrt(D) times the number of substrings of its word
    for (std::size_t w = 0; w < words.size(); ++w) {
      const double factor = std::sqrt(static_cast<double>(options().size)) * static_cast<double>(offsets.length(w));
      word.insert(word.end(), offsets.length(w), static_cast<std::int32_t>(w));
      factors.insert(factors.end(), offsets.length(w), static_cast<T>(factor));
    }
    const Indices<std::int32_t, Dev> owner(word);
    const Var<T, Dev> counts(Tensor<T, Dev>::from(factors, {factors.size(), 1}));
    const auto query = select_rows(sequence_mean(rows(parts.first, 0x01000195u), offsets), owner);
    const auto scores = multiply(multiply(query, rows(parts.first, 0x01000193u)), counts);
    const auto weights = exp(subtract(scores, select_rows(sequence_max(scores.detach(), offsets), owner)));
    return divide(sequence_mean(multiply(weights, rows(parts.first, 0x01000194u)), offsets), sequence_mean(weights, offsets));
  }
  /// The squared distance over D of the vectors scaled to length 1, mean over the words.
  Var<accumulate_t<T>, Dev> loss(const Var<accumulate_t<T>, Dev>& targets, const Var<T, Dev>& vectors) const {
    return mse_loss(l2_normalize(cast<accumulate_t<T>>(vectors)), l2_normalize(targets));
  }
  void write_settings(ModelFile& file) const { substrings_.write_settings(file); }
  void visit(ParameterVisitor<T, Dev>& v) { v("kvq_fh.substrings", table); }

 private:
  KvqFh(KvqFhSubstrings substrings, Init init)
      : table(substrings.options().rows, substrings.options().size, init), substrings_(std::move(substrings)) {}

  Var<T, Dev> rows(const std::vector<std::string>& parts, std::uint32_t prime) const {
    std::vector<std::int32_t> ids;
    for (const std::string& part : parts) ids.push_back(static_cast<std::int32_t>(fnv1a(part, prime) % options().rows));
    return table(ids);
  }

  KvqFhSubstrings substrings_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE Substrings KvqFhSubstrings::of(const KvqFhOptions& o) {
  return check_substrings({.shortest = o.shortest, .longest = o.longest, .begin = '^', .end = '@'}, "KvqFhOptions");
}

LEXFORMER_INLINE KvqFhSubstrings::KvqFhSubstrings(std::span<const std::string> words, const KvqFhOptions& options) : options_(options) {
  auto known = frequent_substrings(words, of(options), options.known, false);
  detail::check_known_words(known, "KvqFhOptions", "use fewer (known)");
  known_ = Vocabulary(std::move(known));
}

LEXFORMER_INLINE KvqFhSubstrings::KvqFhSubstrings(const ModelFile& file) {
  detail::read_word_model(file, "kvq_fh", [&](OptionVisitor& v) { options_.visit(v); });
  of(options_);  // checks them
  known_ = detail::require_vocabulary(file, "lexformer.substrings");
  const std::vector<ExpectedTensor> tables{{"kvq_fh.substrings.weight", {options_.rows, options_.size}}};
  require_tensors(file.tensors, tables, file.path);  // before memory is allocated
}

LEXFORMER_INLINE std::vector<std::string> KvqFhSubstrings::operator()(const std::string& word) const {
  const auto all = of(options_).of(word);
  std::vector<std::string> used;
  for (const std::string& part : all)
    if (known_.id(part)) used.push_back(part);
  return used.empty() ? all : used;
}

LEXFORMER_INLINE void KvqFhSubstrings::write_settings(ModelFile& file) const {
  detail::write_word_model(file, "kvq_fh", [o = options_](OptionVisitor& v) mutable { o.visit(v); });
  write_vocabulary(known_, "lexformer.substrings", file.metadata);
}

}  // namespace lexformer
#endif
