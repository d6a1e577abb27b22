// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/features.hpp"
#include "lexformer/text/encoding.hpp"
#include "lexformer/text/masking.hpp"

namespace lexformer {

/// The input of a language model: the batch, and the tokens to predict. Of a masked one some tokens of the batch are replaced, of a causal
/// one none.
struct MaskedBatch {
  Batch batch;
  std::vector<std::int32_t> positions, labels;  // token rows of the batch, and the tokens to predict there; may be empty
};

/// Which tokens a causal language model predicts: at each token the next one, and at the last token of a text `end`, if there is one.
struct NextTokens {
  std::optional<std::int32_t> end{};
  /// Whether anything is predicted.
  bool has_candidates(const Encoding& encoding) const { return encoding.size() > (end ? 0u : 1u); }
};

/// Makes the masked batch of these rows, with the features of its masked tokens. Document `row` gets the masks of (seed, epoch,
/// first + row): they change in each epoch and depend neither on the batch nor on the number of threads.
MaskedBatch make_masked_batch(std::span<const Encoding> documents, std::span<const std::size_t> rows, const Masker& masker,
                              std::uint64_t seed, std::uint32_t epoch, std::uint64_t first = 0, std::span<const FeatureMaker> makers = {});

/// The same for a causal language model: the batch of these rows, without random numbers.
MaskedBatch make_masked_batch(std::span<const Encoding> documents, std::span<const std::size_t> rows, const NextTokens& next,
                              std::uint64_t seed = 0, std::uint32_t epoch = 0, std::uint64_t first = 0,
                              std::span<const FeatureMaker> makers = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE MaskedBatch make_masked_batch(std::span<const Encoding> documents, std::span<const std::size_t> rows,
                                               const NextTokens& next, std::uint64_t, std::uint32_t, std::uint64_t,
                                               std::span<const FeatureMaker> makers) {
  MaskedBatch out;
  std::vector<Encoding> chosen;
  std::int32_t begin = 0;
  for (const std::size_t row : rows) {
    if (row >= documents.size()) fail("make_masked_batch", "row ", row, " of ", documents.size(), " documents");
    const Encoding& document = chosen.emplace_back(documents[row]);
    const auto size = static_cast<std::int32_t>(document.size());
    for (std::int32_t t = 0; t < size; ++t) {
      if (t + 1 == size && !next.end) continue;
      out.positions.push_back(begin + t);
      out.labels.push_back(t + 1 == size ? *next.end : document.ids[static_cast<std::size_t>(t) + 1]);
    }
    begin += size;
  }
  out.batch = make_batch(chosen, makers);
  out.batch.index.assign(rows.begin(), rows.end());
  return out;
}

LEXFORMER_INLINE MaskedBatch make_masked_batch(std::span<const Encoding> documents, std::span<const std::size_t> rows, const Masker& masker,
                                               std::uint64_t seed, std::uint32_t epoch, std::uint64_t first,
                                               std::span<const FeatureMaker> makers) {
  MaskedBatch out;
  std::vector<Encoding> chosen;
  std::size_t before = 0;  // tokens of the documents before this one
  for (const std::size_t row : rows) {
    if (row >= documents.size()) fail("make_masked_batch", "row ", row, " of ", documents.size(), " documents");
    auto masked = masker(documents[row], masking_stream(seed, epoch, static_cast<std::uint32_t>(first + row)));
    for (const std::int32_t position : masked.positions) out.positions.push_back(static_cast<std::int32_t>(before) + position);
    out.labels.insert(out.labels.end(), masked.labels.begin(), masked.labels.end());
    before += masked.ids.size();
    chosen.push_back(documents[row]);
    chosen.back().ids = std::move(masked.ids);
  }
  out.batch = make_batch(chosen, makers);
  out.batch.index.assign(rows.begin(), rows.end());
  return out;
}

}  // namespace lexformer
#endif
