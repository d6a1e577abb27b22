// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "lexformer/core/names.hpp"
#include "lexformer/ops/index.hpp"

namespace lexformer {

/// How the token rows of a sequence are pooled into one vector: not at all, by the first token, by their mean, or by
/// the maximum of each column.
enum class Pooling { none, cls, mean, max };
template <>
inline constexpr Named<Pooling> names_of<Pooling>[] = {
    {"none", Pooling::none}, {"cls", Pooling::cls}, {"mean", Pooling::mean}, {"max", Pooling::max}};

/// Pools the token rows of a batch: hidden (N, D) -> (B, D), one row per sequence; Pooling::none returns hidden.
template <class T, class Dev>
Var<T, Dev> pool(const Var<T, Dev>& hidden, const Offsets& offsets, Pooling pooling) {
  if (pooling == Pooling::none) return hidden;
  if (pooling == Pooling::mean) return sequence_mean(hidden, offsets);
  if (pooling == Pooling::max) return sequence_max(hidden, offsets);
  detail::check_token_rows("pool", "hidden", hidden.shape(), offsets);
  std::vector<std::int32_t> first;
  for (std::size_t s = 0; s < offsets.sequences(); ++s) first.push_back(static_cast<std::int32_t>(offsets.begin(s)));
  return select_rows(hidden, first);
}

}  // namespace lexformer
