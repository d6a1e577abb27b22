// SPDX-License-Identifier: MIT
// From pairs of texts to what a model reads: encoding with typos for an epoch, cutting into batches, the batches themselves.
// All of it is a pure function of (data, options, seed, epoch), so a run can go on at any batch of any epoch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lexformer/core/names.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/data/batch.hpp"
#include "lexformer/data/table.hpp"
#include "lexformer/text/lexical.hpp"
#include "lexformer/text/typos.hpp"
#include "lexformer/text/wordpiece.hpp"

namespace lexformer {

struct PairExample {
  std::string left, right;
  std::int32_t label = 0;  // class
  float target = 0.0f;     // of a regression
};

/// The rows of a table with their labels as classes: the place of the label among `names`. Errors: an unknown label.
inline std::vector<PairExample> class_examples(const PairTable& table, const std::vector<std::string>& names = {"0", "1"}) {
  const auto labels = class_labels(table, names);
  std::vector<PairExample> examples;
  for (std::size_t i = 0; i < labels.size(); ++i)
    examples.push_back({table.rows[i].left, table.rows[i].right, static_cast<std::int32_t>(labels[i])});
  return examples;
}
/// The same with labels that are numbers.
inline std::vector<PairExample> number_examples(const PairTable& table) {
  const auto targets = number_labels(table);
  std::vector<PairExample> examples;
  for (std::size_t i = 0; i < targets.size(); ++i)
    examples.push_back({table.rows[i].left, table.rows[i].right, 0, static_cast<float>(targets[i])});
  return examples;
}

/// Number and checksum of the pairs and their labels: a run that is resumed must read what it read before.
inline std::string describe(std::span<const PairExample> examples) {
  std::uint32_t sum = 0;
  for (const PairExample& e : examples)
    for (const std::string& part : {e.left, e.right, cat(e.label), cat(std::setprecision(9), e.target)}) {
      sum = crc32(part, sum);
      sum = crc32(std::string_view("\n", 1), sum);
    }
  return cat(examples.size(), " pairs, crc32 ", std::hex, std::setw(8), std::setfill('0'), sum);
}

/// Puts pairs into one batch, without labels. index: 0, 1, 2, ... Of `lexical` there is one for each pair, or none at all.
inline Batch make_batch(std::span<const Encoding> pairs, std::span<const LexicalMatrix> lexical = {}) {
  if (pairs.empty()) fail("make_batch", "there are no pairs");
  if (!lexical.empty() && lexical.size() != pairs.size())
    fail("make_batch", lexical.size(), " lexical matrices for ", pairs.size(), " pairs");
  Batch batch;
  std::vector<std::size_t> lengths;
  for (const Encoding& e : pairs) {
    if (!lexical.empty() && lexical[lengths.size()].size != e.size())
      fail("make_batch", "pair ", lengths.size(), " has ", e.size(), " tokens, its lexical matrix ", lexical[lengths.size()].size);
    batch.index.push_back(lengths.size());
    lengths.push_back(e.size());
    batch.ids.insert(batch.ids.end(), e.ids.begin(), e.ids.end());
    batch.type_ids.insert(batch.type_ids.end(), e.type_ids.begin(), e.type_ids.end());
    batch.word_ids.insert(batch.word_ids.end(), e.word_ids.begin(), e.word_ids.end());
    for (std::size_t i = 0; i < e.size(); ++i) batch.position_ids.push_back(static_cast<std::int32_t>(i));
  }
  batch.offsets = Offsets::from_lengths(lengths);
  if (!lexical.empty()) {
    LexicalBatch merged = merge(lexical);
    batch.features["lexical"] = {Per::pair, Codes{std::move(merged.code), std::move(merged.level)}};
  }
  return batch;
}

/// The lexical matrices of some pairs. Each is computed alone, so threads change nothing.
inline std::vector<LexicalMatrix> lexical_matrices(const WordPieceTokenizer& tokenizer, std::span<const Encoding> pairs,
                                                   const LexicalOptions& options) {
  std::vector<LexicalMatrix> matrices(pairs.size());
  parallel_for(pairs.size(), 1, [&](std::size_t i, std::size_t) { matrices[i] = lexical_matrix(tokenizer, pairs[i], options); });
  return matrices;
}

enum class BatchOrder { length_grouped, random, sequential };

template <>
inline constexpr auto names_of<BatchOrder> = std::to_array<Named<BatchOrder>>({{"length_grouped", BatchOrder::length_grouped},
                                                                               {"random", BatchOrder::random},
                                                                               {"sequential", BatchOrder::sequential}});

struct BatchPlan {
  std::size_t size = 32;  // pairs in a batch; the last one may have fewer
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t block = 0;  // of data that is read block by block: each has an order of its own
  BatchOrder order = BatchOrder::length_grouped;
  bool drop_last = false;  // leave out a batch that is not full
};

/// The rows of each batch of an epoch; lengths[row] = tokens. Every row comes once (but see drop_last).
/// length_grouped: shuffled rows are sorted by length within stretches of up to 50 batches (a quarter of the data at the most,
/// both as transformers' group_by_length), cut, and the batches shuffled: neighbours in length, yet another mixture every epoch.
inline std::vector<std::vector<std::size_t>> plan_batches(std::span<const std::size_t> lengths, const BatchPlan& plan) {
  if (plan.size == 0) fail_usage("plan_batches", "a batch has at least one pair");
  std::vector<std::size_t> rows(lengths.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  RandomStream random(plan.seed, random_site::shuffle + plan.block % 0x1000000u, plan.epoch);
  if (plan.order != BatchOrder::sequential) random.shuffle(rows);
  if (plan.order == BatchOrder::length_grouped) {
    const std::size_t stretch = plan.size * std::clamp<std::size_t>(rows.size() / 4 / plan.size, 1, 50);
    const auto at = [&](std::size_t i) { return rows.begin() + static_cast<std::ptrdiff_t>(std::min(i, rows.size())); };
    for (std::size_t begin = 0; begin < rows.size(); begin += stretch)
      std::stable_sort(at(begin), at(begin + stretch), [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  }
  std::vector<std::vector<std::size_t>> batches;
  for (const std::size_t row : rows) {
    if (batches.empty() || batches.back().size() == plan.size) batches.emplace_back();
    batches.back().push_back(row);
  }
  if (plan.drop_last && !batches.empty() && batches.back().size() < plan.size) batches.pop_back();
  if (plan.order == BatchOrder::length_grouped) random.shuffle(batches);
  return batches;
}

enum class Labels { none, classes, numbers };

struct PairDatasetOptions {
  std::size_t max_length = 128;             // tokens of a pair; longer ones are cut, the longer text first
  std::optional<LexicalOptions> lexical{};  // for lexical attention
  double augment = 0.0;                     // probability that a pair gets typos, both texts of it, drawn anew every epoch
  TypoOptions typos{};
  Labels labels = Labels::classes;  // what the batches carry
};

/// Labelled pairs and how they are read.
class PairDataset {
 public:
  PairDataset(std::vector<PairExample> examples, WordPieceTokenizer tokenizer, PairDatasetOptions options = {})
      : examples_(std::move(examples)), tokenizer_(std::move(tokenizer)), options_(std::move(options)) {
    if (examples_.empty()) fail("PairDataset", "there are no pairs");
    if (examples_.size() > std::numeric_limits<std::uint32_t>::max()) fail("PairDataset", "more than 2^32 pairs");
    if (!(options_.augment >= 0.0 && options_.augment <= 1.0))
      fail_usage("PairDataset", "the probability of typos is ", options_.augment, ", expected 0 to 1");
  }

  std::size_t size() const { return examples_.size(); }
  const std::vector<PairExample>& examples() const { return examples_; }
  const PairDatasetOptions& options() const { return options_; }

  /// All pairs as tokens, with the typos of this epoch: drawn by (seed, epoch, row). Without augmentation every epoch is alike.
  std::vector<Encoding> encode(std::uint64_t seed, std::uint32_t epoch) const {
    std::vector<Encoding> encodings(size());
    parallel_for(size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const PairExample& pair = examples_[i];
        RandomStream random = typo_stream(seed, epoch, static_cast<std::uint32_t>(i));
        if (options_.augment > 0.0 && random.uniform() < options_.augment) {
          const auto [left, right] = add_typos_to_pair(pair.left, pair.right, options_.typos, random);
          encodings[i] = tokenizer_.encode_pair(left, right, options_.max_length);
        } else {
          encodings[i] = tokenizer_.encode_pair(pair.left, pair.right, options_.max_length);
        }
      }
    });
    return encodings;
  }

  /// The batch of these rows out of what encode() gave. Lexical codes are made here: for all rows at once they could fill the memory.
  Batch batch(std::span<const Encoding> encodings, std::span<const std::size_t> rows) const {
    if (encodings.size() != size()) fail("PairDataset::batch", encodings.size(), " encodings for ", size(), " pairs");
    std::vector<Encoding> pairs;
    for (const std::size_t row : rows) {
      if (row >= size()) fail("PairDataset::batch", "row ", row, " of ", size(), " pairs");
      pairs.push_back(encodings[row]);
    }
    Batch out = make_batch(pairs, options_.lexical ? lexical_matrices(tokenizer_, pairs, *options_.lexical) : std::vector<LexicalMatrix>{});
    out.index.assign(rows.begin(), rows.end());
    for (const std::size_t row : rows) {
      if (options_.labels == Labels::classes) out.labels.push_back(examples_[row].label);
      if (options_.labels == Labels::numbers) out.targets.push_back(examples_[row].target);
    }
    return out;
  }

 private:
  std::vector<PairExample> examples_;
  WordPieceTokenizer tokenizer_;
  PairDatasetOptions options_;
};

inline std::vector<std::size_t> token_counts(std::span<const Encoding> encodings) {
  std::vector<std::size_t> counts;
  for (const Encoding& e : encodings) counts.push_back(e.size());
  return counts;
}

}  // namespace lexformer
