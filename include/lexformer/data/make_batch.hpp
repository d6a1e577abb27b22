// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/batch.hpp"
#include "lexformer/data/features.hpp"
#include "lexformer/text/wordpiece.hpp"

namespace lexformer {

/// Makes a batch without labels from encodings and adds their features. index: 0, 1, 2, ... Errors: there are no encodings.
Batch make_batch(std::span<const Encoding> encodings, std::span<const FeatureMaker> makers = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE Batch make_batch(std::span<const Encoding> encodings, std::span<const FeatureMaker> makers) {
  if (encodings.empty()) fail("make_batch", "there are no encodings");
  Batch batch;
  std::vector<std::size_t> lengths;
  for (const Encoding& e : encodings) {
    batch.index.push_back(lengths.size());
    lengths.push_back(e.size());
    batch.ids.insert(batch.ids.end(), e.ids.begin(), e.ids.end());
    batch.type_ids.insert(batch.type_ids.end(), e.type_ids.begin(), e.type_ids.end());
    batch.word_ids.insert(batch.word_ids.end(), e.word_ids.begin(), e.word_ids.end());
    for (std::size_t i = 0; i < e.size(); ++i) batch.position_ids.push_back(static_cast<std::int32_t>(i));
  }
  batch.offsets = Offsets::from_lengths(lengths);
  for (const FeatureMaker& add_features : makers) add_features(encodings, batch);
  return batch;
}

}  // namespace lexformer
#endif
