// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "lexformer/data/batch.hpp"

namespace lexformer::test {

/// Sequences of these lengths with all ids 0.
inline Batch batch_of_lengths(const std::vector<std::size_t>& lengths) {
  Batch batch;
  batch.offsets = Offsets::from_lengths(lengths);
  for (const std::size_t n : lengths)
    for (std::size_t i = 0; i < n; ++i) batch.position_ids.push_back(static_cast<std::int32_t>(i));
  batch.ids.assign(batch.offsets.tokens(), 0);
  batch.type_ids = batch.ids;
  return batch;
}

}  // namespace lexformer::test
