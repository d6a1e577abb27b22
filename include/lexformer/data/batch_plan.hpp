// SPDX-License-Identifier: MIT
// Divides the rows of a data set into batches: for an epoch, as a pure function of (lengths, plan), and for inference.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/data/features.hpp"
#include "lexformer/text/encoding.hpp"

namespace lexformer {

enum class BatchOrder { length_grouped, random };

template <>
inline constexpr Named<BatchOrder> names_of<BatchOrder>[] = {{"length_grouped", BatchOrder::length_grouped},
                                                             {"random", BatchOrder::random}};

namespace detail {
std::vector<std::vector<std::size_t>> cut(std::span<const std::size_t> rows, std::size_t size);
}  // namespace detail

struct BatchPlan {
  std::size_t size = 32;  // pairs in a batch; the last one may have fewer
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t block = 0;  // for data read block by block: each block has its own order
  BatchOrder order = BatchOrder::length_grouped;
  bool drop_last = false;             // drop the last batch if it is not full
  std::vector<std::size_t> groups{};  // of each row, or empty: rows of the same group stay together
};

/// Returns the rows of each batch of an epoch; lengths[row] = tokens. Every row occurs once, except those dropped by drop_last.
/// length_grouped: rows are shuffled, sorted by length within stretches of up to 50 batches (at most a quarter of the data; both as in
/// transformers' group_by_length) and cut, and the batches are shuffled. Batches have similar lengths and differ from epoch to epoch.
/// With groups, each batch has whole groups, each in the order of its rows, of `size` rows at most, or one group that is larger; `order`
/// has no effect. The batches are the same in every epoch, in another order. Errors: a size of 0; groups for another number of rows, or
/// with drop_last.
std::vector<std::vector<std::size_t>> plan_batches(std::span<const std::size_t> lengths, const BatchPlan& plan);

/// The number of batches of `size` that hold all rows; size may be larger than any number of rows.
constexpr std::size_t batches_of(std::size_t rows, std::size_t size) { return rows / size + (rows % size != 0 ? 1 : 0); }

/// The batches of one epoch after the other. The batches of the epoch that was asked for last are kept.
class EpochBatches {
 public:
  EpochBatches(std::span<const std::size_t> lengths, BatchPlan plan) : lengths_(lengths.begin(), lengths.end()), plan_(std::move(plan)) {}
  /// The number of batches in an epoch; the plan has neither groups nor drop_last.
  std::size_t size() const { return batches_of(lengths_.size(), plan_.size); }
  const std::vector<std::size_t>& rows(std::uint32_t epoch, std::size_t number) {
    if (rows_.empty() || plan_.epoch != epoch) {
      plan_.epoch = epoch;
      rows_ = plan_batches(lengths_, plan_);
    }
    return rows_.at(number);
  }

 private:
  std::vector<std::size_t> lengths_;
  BatchPlan plan_;
  std::vector<std::vector<std::size_t>> rows_{};
};

/// Returns all rows in descending order of length, cut into batches of `size`, for inference.
std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::size_t> lengths, std::size_t size);

/// The number of tokens of each encoding.
std::vector<std::size_t> token_counts(std::span<const Encoding> encodings);

/// Examples that are tokenized before they are divided into batches, where there may be millions: a bound on memory.
inline constexpr std::size_t examples_at_once = 8192;

/// Calls use(batch, rows) for batches of encodings of similar length, the longest first. rows: the encoding of each sequence.
/// done: called after each batch with the number of its encodings; an exception that it throws ends the loop.
template <class Use>
void for_each_batch(std::span<const Encoding> encodings, std::size_t batch_size, std::span<const FeatureMaker> makers, Use&& use,
                    const std::function<void(std::size_t)>& done = {}) {
  for (const auto& rows : batches_by_length(token_counts(encodings), batch_size)) {
    std::vector<Encoding> chosen;
    for (const std::size_t i : rows) chosen.push_back(encodings[i]);
    use(make_batch(chosen, makers), rows);
    if (done) done(rows.size());
  }
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <numeric>

namespace lexformer {

namespace detail {
LEXFORMER_INLINE std::vector<std::vector<std::size_t>> cut(std::span<const std::size_t> rows, std::size_t size) {
  std::vector<std::vector<std::size_t>> batches;
  for (std::size_t begin = 0; begin < rows.size(); begin += size) {
    const auto part = rows.subspan(begin, std::min(size, rows.size() - begin));
    batches.emplace_back(part.begin(), part.end());
  }
  return batches;
}

LEXFORMER_INLINE std::vector<std::vector<std::size_t>> plan_groups(std::size_t rows, const BatchPlan& plan) {
  if (plan.groups.size() != rows) fail("plan_batches", plan.groups.size(), " groups for ", rows, " rows");
  if (plan.drop_last) fail_usage("plan_batches", "drop_last would drop whole groups");
  std::map<std::size_t, std::vector<std::size_t>> rows_of;
  for (std::size_t i = 0; i < rows; ++i) rows_of[plan.groups[i]].push_back(i);
  std::vector<std::vector<std::size_t>> groups, batches;
  for (auto& group : rows_of) groups.push_back(std::move(group.second));
  RandomStream(plan.seed, random_site::shuffle).shuffle(groups);  // the same in every epoch, so that all have as many batches
  for (const auto& group : groups) {
    if (batches.empty() || batches.back().size() + group.size() > plan.size) batches.emplace_back();
    batches.back().insert(batches.back().end(), group.begin(), group.end());
  }
  RandomStream(plan.seed, random_site::shuffle + plan.block % 0x1000000u, plan.epoch + 1).shuffle(batches);
  return batches;
}
}  // namespace detail

LEXFORMER_INLINE std::vector<std::vector<std::size_t>> plan_batches(std::span<const std::size_t> lengths, const BatchPlan& plan) {
  if (plan.size == 0) fail_usage("plan_batches", "a batch has at least one pair");
  if (!plan.groups.empty()) return detail::plan_groups(lengths.size(), plan);
  std::vector<std::size_t> rows(lengths.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  RandomStream random(plan.seed, random_site::shuffle + plan.block % 0x1000000u, plan.epoch);
  random.shuffle(rows);
  if (plan.order == BatchOrder::length_grouped) {
    const std::size_t stretch = plan.size * std::clamp<std::size_t>(rows.size() / 4 / plan.size, 1, 50);
    const auto at = [&](std::size_t i) { return rows.begin() + static_cast<std::ptrdiff_t>(std::min(i, rows.size())); };
    for (std::size_t begin = 0; begin < rows.size(); begin += stretch)
      std::stable_sort(at(begin), at(begin + stretch), [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  }
  auto batches = detail::cut(rows, plan.size);
  if (plan.drop_last && !batches.empty() && batches.back().size() < plan.size) batches.pop_back();
  if (plan.order == BatchOrder::length_grouped) random.shuffle(batches);
  return batches;
}

LEXFORMER_INLINE std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::size_t> lengths, std::size_t size) {
  if (size == 0) fail_usage("batches_by_length", "a batch has at least one row");
  std::vector<std::size_t> rows(lengths.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  return detail::cut(rows, size);
}

LEXFORMER_INLINE std::vector<std::size_t> token_counts(std::span<const Encoding> encodings) {
  std::vector<std::size_t> counts;
  for (const Encoding& e : encodings) counts.push_back(e.size());
  return counts;
}

}  // namespace lexformer
#endif
