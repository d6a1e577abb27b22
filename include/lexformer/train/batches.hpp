// SPDX-License-Identifier: MIT
// Batch `number` of epoch `epoch` of a data set, as the trainer requests it: a pure function of (data, options, seed, epoch, number).
// Data that the batches of an epoch share is cached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lexformer/data/masked_batch.hpp"
#include "lexformer/data/pair_dataset.hpp"
#include "lexformer/data/text_stream.hpp"

namespace lexformer {

/// Batches of labelled pairs, each encoded when it is requested. Caches the rows of the batches of one epoch. The data set must outlive
/// this object.
class PairBatches {
 public:
  /// The seed of the data set determines the order. groups: see BatchPlan.
  PairBatches(const PairDataset& data, std::size_t size, BatchOrder order = BatchOrder::length_grouped,
              std::vector<std::size_t> groups = {})
      : data_(data), plan_{.size = size, .seed = data.options().seed, .order = order, .groups = std::move(groups)} {
    if (size == 0) fail_usage("PairBatches", "a batch has at least one pair");
    batches_ = plan_.groups.empty() ? batches_of(data_.size(), size) : plan_batches(std::vector<std::size_t>(data_.size()), plan_).size();
  }
  /// The number of batches in an epoch.
  std::size_t batches() const { return batches_; }
  Batch batch(std::uint32_t epoch, std::size_t number) {
    if (rows_.empty() || plan_.epoch != epoch) {
      if (plan_.order != BatchOrder::length_grouped || !plan_.groups.empty())
        counts_.resize(data_.size());  // their number is all that counts
      else if (counts_.empty() || data_.options().augment > 0)
        counts_ = data_.token_counts(epoch);
      rows_.clear();
      plan_.epoch = epoch;
      rows_ = plan_batches(counts_, plan_);
    }
    return data_.batch(epoch, rows_.at(number));
  }

 private:
  const PairDataset& data_;
  BatchPlan plan_;
  std::size_t batches_;
  std::vector<std::size_t> counts_;
  std::vector<std::vector<std::size_t>> rows_;
};

/// Batches of documents from a text stream, with the tokens to predict. Predicted: Masker or NextTokens. Caches one block. Stream and
/// tokenizer must outlive this object.
template <class Predicted = Masker>
class TextBatches {
 public:
  TextBatches(const TextStream& stream, const Tokenizer& tokenizer, const Predicted& predicted, std::size_t size, std::uint64_t seed,
              std::vector<FeatureMaker> features = {})
      : stream_(stream), tokenizer_(tokenizer), predicted_(predicted), features_(std::move(features)), plan_{.size = size, .seed = seed} {
    if (size == 0) fail_usage("TextBatches", "a batch has at least one document");
  }
  std::size_t batches() const { return stream_.batches(plan_.size); }
  MaskedBatch batch(std::uint32_t epoch, std::size_t number) {
    const std::size_t of_block = (stream_.options().block - 1) / plan_.size + 1;  // except for the last block
    const std::size_t block = number / of_block;
    if (!loaded_ || block_ != block || plan_.epoch != epoch) {
      loaded_.reset();  // frees the old block first, so that memory holds one block at a time
      plan_.epoch = epoch;
      loaded_ = stream_.read(block, tokenizer_, plan_);
      block_ = block;
      // Later blocks may: a block of few documents, or of another script.
      if (block == 0 &&
          std::none_of(loaded_->documents.begin(), loaded_->documents.end(), [&](const auto& d) { return predicted_.has_candidates(d); }))
        fail("TextBatches", loaded_->documents.size(),
             " documents have no word that could be masked: are they of the vocabulary's language?");
    }
    return make_masked_batch(loaded_->documents, loaded_->batches.at(number % of_block), predicted_, plan_.seed, epoch, loaded_->first,
                             features_);
  }

 private:
  const TextStream& stream_;
  const Tokenizer& tokenizer_;
  Predicted predicted_;
  std::vector<FeatureMaker> features_;
  BatchPlan plan_;
  std::optional<TextBlock> loaded_;
  std::size_t block_ = 0;
};

}  // namespace lexformer
