// SPDX-License-Identifier: MIT
// Relative positions as vectors that are added to the keys: a table row for each distance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/position_scheme.hpp"
#include "lexformer/attention/term.hpp"
#include "lexformer/nn/init.hpp"
#include "lexformer/ops/index.hpp"

namespace lexformer {

/// What ScoreTerms::Relative::bucket wants: row_of(i - j) for the distances -(longest - 1) ... longest - 1.
template <class F>
std::vector<std::int32_t> distance_buckets(std::size_t longest, F&& row_of) {
  const auto n = static_cast<std::int32_t>(longest);
  std::vector<std::int32_t> rows;
  rows.reserve(2 * longest - 1);
  for (std::int32_t distance = 1 - n; distance < n; ++distance) rows.push_back(row_of(distance));
  return rows;
}

/// Query . table[distance], and key . table[distance] for relative_key_query. The table (R, d) is shared by the heads:
///   S_ij = (q_i . k_j + q_i . table_ij [+ k_j . table_ij]) / sqrt(d)
///   shaw                (Shaw et al. 2018, eq. 3 and 4, key side): table_ij = table[clip(j - i, -size, size) + size], R = 2 size + 1.
///                       Shaw's second table, which is added to the values, is left out: attention here adds nothing to values
///                       (of no gain in Shaw's own Table 3), so that all variants differ in their scores alone
///   bert_r              (DDRP paper, eq. 4 and 5): table[clip(i - j, -(size - 1), size - 1) + size], R = 2 size, row 0 idle
///   relative_key(_query)  HuggingFace's BERT: table[i - j + size - 1], R = 2 size - 1 with size = max_position_embeddings, no clipping
template <class T = float, class Dev = Cpu>
struct RelativeKey final : AttentionTerm<T, Dev> {
  PositionScheme scheme;
  std::size_t size;
  Var<T, Dev> table;  // (R, d)

  RelativeKey(PositionScheme s, std::size_t n, std::size_t head_size, Init& init)
      : scheme(s),
        size(n),
        table(init.normal<T, Dev>({s == PositionScheme::shaw     ? 2 * n + 1
                                   : s == PositionScheme::bert_r ? 2 * n
                                                                 : 2 * n - 1,
                                   head_size})) {}

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) override {
    out.claim_positions(name_of(scheme));
    const auto n = static_cast<std::int32_t>(size);
    if (scheme != PositionScheme::shaw && scheme != PositionScheme::bert_r && in.batch.offsets.longest() > size)
      fail(name_of(scheme), "a sequence has ", in.batch.offsets.longest(), " tokens, the table is for ", size, "; shorten it (max_length)");
    const Indices<std::int32_t, Dev> buckets(distance_buckets(in.batch.offsets.longest(), [&](std::int32_t distance) {
      if (scheme == PositionScheme::shaw) return std::clamp(-distance, -n, n) + n;
      if (scheme == PositionScheme::bert_r) return std::clamp(distance, 1 - n, n - 1) + n;
      return distance + n - 1;
    }));
    const auto shared = reshape(table, {1, table.dim(0), table.dim(1)});
    const auto scale = 1 / std::sqrt(static_cast<accumulate_t<T>>(table.dim(1)));
    if (scheme == PositionScheme::relative_key_query) out.relatives.push_back({shared, buckets, true, scale});
    out.relatives.push_back({shared, buckets, false, scale});
  }
  void visit(ParameterVisitor<T, Dev>& v) override { v(is_huggingface_table(scheme) ? "distance_embedding.weight" : "table", table); }
};

}  // namespace lexformer
