// SPDX-License-Identifier: MIT
// Turns pairs of texts, or single texts, into batches: encodes them, with typos that are drawn per epoch.
// Everything is a pure function of (data, options, epoch), so a run can resume at any batch of any epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/data/batch.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/data/examples.hpp"
#include "lexformer/data/features.hpp"
#include "lexformer/noise/typos.hpp"
#include "lexformer/text/tokenizer.hpp"

namespace lexformer {

enum class Labels { none, classes, numbers };

struct PairDatasetOptions {
  std::size_t max_length = 128;          // tokens of a pair; longer pairs are truncated, the longer text first
  std::vector<FeatureMaker> features{};  // features of the batches besides the tokens, e.g. lexical_feature(...)
  double augment = 0.0;                  // probability that a pair gets typos, in both texts; drawn in each epoch
  TypoOptions typos{};
  std::uint64_t seed = 0;           // of the typos
  Labels labels = Labels::classes;  // which labels the batches carry
  std::size_t texts = 2;            // of an example: 2, a pair, or 1
  bool both_orders = false;         // of a pair: a batch has each pair twice, as (left, right) and (right, left)
};

/// Labelled pairs, and how they are encoded.
class PairDataset {
 public:
  /// Takes tokenizer, max_length, number of texts, features and seed from a model.
  template <class Model>
  requires requires(const Model& m) { m.features(); }
  PairDataset(std::vector<PairExample> examples, const Model& model, PairDatasetOptions options = {})
      : PairDataset(std::move(examples), model.tokenizer(), as_read_by(model, std::move(options))) {}
  PairDataset(std::vector<PairExample> examples, Tokenizer tokenizer, PairDatasetOptions options = {});

  std::size_t size() const { return examples_.size(); }
  const std::vector<PairExample>& examples() const { return examples_; }
  const PairDatasetOptions& options() const { return options_; }

  /// Encodes a pair with the typos of this epoch, which are drawn from (seed, epoch, row). Without augmentation all epochs are equal.
  /// turned: the right text first. Errors: there is no such row.
  Encoding encode(std::uint32_t epoch, std::size_t row, bool turned = false) const;

  /// The number of tokens of each pair in this epoch. Encodes all pairs, in parallel, but keeps none: they would take some kilobytes each.
  std::vector<std::size_t> token_counts(std::uint32_t epoch) const;

  /// Encodes these rows and makes their batch; with both_orders it has two sequences for each label. Errors: there is no such row.
  Batch batch(std::uint32_t epoch, std::span<const std::size_t> rows) const;

 private:
  template <class Model>
  static PairDatasetOptions as_read_by(const Model& model, PairDatasetOptions options) {
    options.max_length = model.options().max_length;
    options.texts = model.task().texts;
    options.both_orders = model.options().both_orders();
    options.features = model.features();
    options.seed = model.seed();
    return options;
  }

  std::vector<PairExample> examples_;
  Tokenizer tokenizer_;
  PairDatasetOptions options_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE PairDataset::PairDataset(std::vector<PairExample> examples, Tokenizer tokenizer, PairDatasetOptions options)
    : examples_(std::move(examples)), tokenizer_(std::move(tokenizer)), options_(std::move(options)) {
  if (examples_.empty()) fail("PairDataset", "there are no pairs");
  if (examples_.size() > std::numeric_limits<std::uint32_t>::max()) fail("PairDataset", "more than 2^32 pairs");
  if (!(options_.augment >= 0.0 && options_.augment <= 1.0))
    fail_usage("PairDataset", "the probability of typos is ", options_.augment, ", expected 0 to 1");
}

LEXFORMER_INLINE Encoding PairDataset::encode(std::uint32_t epoch, std::size_t row, bool turned) const {
  if (row >= size()) fail("PairDataset", "row ", row, " of ", size(), " pairs");
  const PairExample& pair = examples_[row];
  RandomStream random = typo_stream(options_.seed, epoch, static_cast<std::uint32_t>(row));
  if (options_.augment > 0.0 && random.uniform() < options_.augment) {
    const auto [left, right] = add_typos_to_pair(pair.left, pair.right, options_.typos, random);
    return encode_texts(tokenizer_, turned ? right : left, turned ? left : right, options_.texts, options_.max_length);
  }
  return encode_texts(tokenizer_, turned ? pair.right : pair.left, turned ? pair.left : pair.right, options_.texts, options_.max_length);
}

LEXFORMER_INLINE std::vector<std::size_t> PairDataset::token_counts(std::uint32_t epoch) const {
  std::vector<std::size_t> counts(size());
  parallel_for(size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) counts[i] = encode(epoch, i).size();
  });
  return counts;
}

LEXFORMER_INLINE Batch PairDataset::batch(std::uint32_t epoch, std::span<const std::size_t> rows) const {
  const std::size_t orders = options_.both_orders ? 2 : 1;
  std::vector<Encoding> pairs(orders * rows.size());
  parallel_for(pairs.size(), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) pairs[i] = encode(epoch, rows[i / orders], i % orders == 1);
  });
  Batch out = make_batch(pairs, options_.features);
  out.index.assign(rows.begin(), rows.end());
  for (const std::size_t row : rows) {
    if (options_.labels == Labels::classes) out.labels.push_back(examples_[row].label);
    if (options_.labels == Labels::numbers) out.targets.push_back(examples_[row].target);
  }
  return out;
}

}  // namespace lexformer
#endif
