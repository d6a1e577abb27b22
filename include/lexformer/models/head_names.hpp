// SPDX-License-Identifier: MIT
// What a file holds of heads, by name. A model loads a file with another head, and ignores these.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "lexformer/io/architecture.hpp"

namespace lexformer {

namespace detail {
/// Beginnings of the names of tensors of lexformer's heads.
inline constexpr std::array<std::string_view, 3> own_heads{"lexformer.head.", "lexformer.tagger.", "lexformer.dense."};
inline constexpr std::string_view threshold_key = "lexformer.threshold", calibration_key = "lexformer.calibration",
                                  records_key = "lexformer.records", trained_key = "lexformer.trained_on";
}  // namespace detail

/// Whether a tensor belongs to a head of this architecture.
inline bool is_head_tensor(const Architecture& a, std::string_view name) {
  const auto begins = [name](std::string_view head) { return name.starts_with(head); };
  bool theirs = false;
  detail::each_word(a.heads, [&](std::string_view head) { theirs = theirs || begins(head); });
  return theirs || std::any_of(detail::own_heads.begin(), detail::own_heads.end(), begins);
}

/// Whether the text under this key of the metadata tells how the scores of a cross-encoder are read and its texts are made.
inline bool is_head_metadata(std::string_view key) {
  return key == detail::threshold_key || key == detail::calibration_key || key == detail::records_key || key == detail::trained_key;
}

}  // namespace lexformer
