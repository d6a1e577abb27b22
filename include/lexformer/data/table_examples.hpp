// SPDX-License-Identifier: MIT
// Examples from the rows of a table.
#pragma once

#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/examples.hpp"
#include "lexformer/data/labels.hpp"
#include "lexformer/data/table.hpp"

namespace lexformer {

/// Returns the rows of a table with labels as classes: the index of the label in `names`. Errors: an unknown label.
std::vector<PairExample> class_examples(const PairTable& table, const std::vector<std::string>& names = {"0", "1"});

/// The same with numeric labels.
std::vector<PairExample> number_examples(const PairTable& table);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <cstddef>
#include <cstdint>

namespace lexformer {

LEXFORMER_INLINE std::vector<PairExample> class_examples(const PairTable& table, const std::vector<std::string>& names) {
  const auto labels = class_labels(table, names);
  std::vector<PairExample> examples;
  for (std::size_t i = 0; i < labels.size(); ++i)
    examples.push_back({table.rows[i].left, table.rows[i].right, static_cast<std::int32_t>(labels[i]), 0.0f, table.rows[i].kept});
  return examples;
}

LEXFORMER_INLINE std::vector<PairExample> number_examples(const PairTable& table) {
  const auto targets = number_labels(table);
  std::vector<PairExample> examples;
  for (std::size_t i = 0; i < targets.size(); ++i)
    examples.push_back({table.rows[i].left, table.rows[i].right, 0, static_cast<float>(targets[i]), table.rows[i].kept});
  return examples;
}

}  // namespace lexformer
#endif
