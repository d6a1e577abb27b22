// SPDX-License-Identifier: MIT
// The special tokens around a text or a pair, and the types of all tokens.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lexformer/text/encoding.hpp"

namespace lexformer {

/// before, left, between, right, after; of a single text before, left, after. BERT: [CLS] left [SEP] right [SEP], of the types 0 0 0 1 1;
/// RoBERTa has two separators between the texts, and type 0 alone. repeated: before, left, between, right, between, left, after.
struct TokenTemplate {
  struct Special {
    std::int32_t id;
    std::uint8_t type;
  };
  std::vector<Special> before{}, between{}, after{};
  std::uint8_t left_type = 0, right_type = 0;
  bool repeated = false;

  /// The number of special tokens.
  std::size_t size() const { return before.size() + (repeated ? 2 : 1) * between.size() + after.size(); }
  /// How often the left text is there.
  std::size_t copies() const { return repeated ? 2 : 1; }

  std::size_t types() const {
    std::uint8_t most = std::max(left_type, right_type);
    for (const auto* tokens : {&before, &between, &after})
      for (const Special& token : *tokens) most = std::max(most, token.type);
    return most + std::size_t{1};
  }

  static void add(const std::vector<Special>& tokens, Encoding& out) {
    for (const Special& token : tokens) detail::add_token(out, token.id, -1, 0, 0);
  }
  /// Sets type_ids and text_ids of all tokens, of which the first `first` belong to the left text, and of a repeated one the last `last`.
  void set_types(Encoding& out, std::size_t first, std::size_t last = 0) const {
    const std::size_t second = out.size() - last;
    out.text_ids.assign(out.size(), 1);
    std::fill_n(out.text_ids.begin(), first, std::uint8_t{0});
    std::fill(out.text_ids.begin() + static_cast<std::ptrdiff_t>(second), out.text_ids.end(), std::uint8_t{0});
    out.type_ids.clear();
    out.type_ids.reserve(out.size());
    const auto add_types = [&](const std::vector<Special>& tokens) {
      for (const Special& token : tokens) out.type_ids.push_back(token.type);
    };
    add_types(before);
    out.type_ids.resize(first - between.size() - (first == out.size() ? after.size() : 0), left_type);
    add_types(between);
    if (last > 0) {
      out.type_ids.resize(second - between.size(), right_type);
      add_types(between);
    }
    out.type_ids.resize(out.size() - after.size(), last > 0 ? left_type : right_type);
    add_types(after);
  }
};

}  // namespace lexformer
