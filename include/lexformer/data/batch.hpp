// SPDX-License-Identifier: MIT
// What one step reads: plain data without padding. data/pair_dataset.hpp makes it; models read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lexformer/core/indices.hpp"
#include "lexformer/core/ragged.hpp"

namespace lexformer {

/// B sequences of N tokens together, one after the other.
struct Batch {
  std::vector<std::int32_t> ids, type_ids;  // (N)
  std::vector<std::int32_t> position_ids;   // (N), from 0 in each sequence
  Offsets offsets;                          // (B + 1)

  // Lexical attention; empty without it. Code c of a pair of tokens stands for the similarity levels[c].
  std::vector<std::uint16_t> codes;  // (P)
  std::vector<double> levels;        // (R), ascending, levels[0] = 0

  std::vector<std::int32_t> labels;  // (B) classes; empty for regression, and where nothing is known
  std::vector<float> targets;        // (B) of a regression; else empty
  std::vector<std::size_t> index;    // (B) row of each sequence in the data set

  std::size_t size() const { return offsets.sequences(); }
};

/// What a model reads of a Batch, in the memory of its device.
template <class Dev = Cpu>
struct DeviceBatch {
  Indices<std::int32_t, Dev> ids, type_ids, position_ids;
  Offsets offsets;
  Indices<std::uint16_t, Dev> codes;
  std::vector<double> levels;  // on the host

  DeviceBatch(const Batch& b)
      : ids(b.ids), type_ids(b.type_ids), position_ids(b.position_ids), offsets(b.offsets), codes(b.codes), levels(b.levels) {}
};

}  // namespace lexformer
