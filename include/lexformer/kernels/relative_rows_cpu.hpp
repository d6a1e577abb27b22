// SPDX-License-Identifier: MIT
// The rows of a relative table that the tokens of a sequence use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "lexformer/kernels/interface.hpp"

namespace lexformer::detail {

/// A run of distances low <= i - j <= high whose table rows change by `slope` (-1, 0 or 1) per distance.
struct DistanceRun {
  std::ptrdiff_t low, high, slope;
};

struct TokenRange {
  std::size_t begin, end;
};

/// Tokens begin .. end - 1 (queries, or keys on the key side) and the table rows of their distances i - j.
struct RelativeRows {
  std::size_t begin, end;
  TokenRange others;           // the keys, or queries on the key side
  std::size_t first, count;    // rows first .. first + count - 1
  const std::int32_t* middle;  // middle[i - j] = row of the table
  bool key_side;
  const std::vector<DistanceRun>& runs;  // by ascending distance
  std::size_t tokens() const { return end - begin; }

  /// Calls f(i, j, n, x, step) for each run of cells (i, j), (i, j + 1), ..., (i, j + n - 1) with query i and key j. The product with the
  /// table, (tokens(), count), has their values at the indices x, x + step, x + 2 step, ... Ordered by rows of scores, for cache locality.
  template <class F>
  void for_runs(F&& f) const {
    const TokenRange own{begin, end}, queries = key_side ? others : own, keys = key_side ? own : others;
    const auto j_begin = static_cast<std::ptrdiff_t>(keys.begin), j_end = static_cast<std::ptrdiff_t>(keys.end);
    for (std::size_t query = queries.begin; query < queries.end; ++query) {
      const auto i = static_cast<std::ptrdiff_t>(query);
      for (std::size_t k = runs.size(); k-- > 0;) {
        const DistanceRun& run = runs[k];
        const std::ptrdiff_t high = std::min(run.high, i - j_begin), low = std::max(run.low, i - (j_end - 1));
        if (high < low) continue;
        const auto j = static_cast<std::size_t>(i - high);
        const std::size_t row = static_cast<std::size_t>(middle[high]) - first;
        f(query, j, static_cast<std::size_t>(high - low + 1), ((key_side ? j : query) - begin) * count + row,
          (key_side ? static_cast<std::ptrdiff_t>(count) : 0) - run.slope);
      }
    }
  }
};

/// Calls f(k, k step) for k = 0 .. n - 1. Steps of -1, 0 and 1 are constants, so that the loop is vectorized.
template <class F>
void for_steps(std::size_t n, std::ptrdiff_t step, F&& f) {
  const auto count = static_cast<std::ptrdiff_t>(n);
  const auto loop = [&](auto by) {
    for (std::ptrdiff_t k = 0; k < count; ++k) f(k, k * by);
  };
  switch (step) {
    case -1:
      return loop(std::integral_constant<std::ptrdiff_t, -1>());
    case 0:
      return loop(std::integral_constant<std::ptrdiff_t, 0>());
    case 1:
      return loop(std::integral_constant<std::ptrdiff_t, 1>());
    default:
      return loop(step);
  }
}

/// The transposed tables of all relative terms, (tables, d, R), so that each product packs them by rows instead of by elements.
template <class T>
std::vector<Tensor<T>> transposed_tables(const AttentionArgs<T>& a) {
  const std::size_t d = a.width / a.heads;
  std::vector<Tensor<T>> turned;
  for (const auto& r : a.relatives) {
    T* const to = turned.emplace_back(Shape{r.tables, d, r.rows}).mutable_data();
    for (std::size_t t = 0; t < r.tables; ++t)
      for (std::size_t row = 0; row < r.rows; ++row)
        for (std::size_t e = 0; e < d; ++e) to[(t * d + e) * r.rows + row] = r.table[(t * r.rows + row) * d + e];
  }
  return turned;
}

/// Calls body(RelativeRows) for queries and keys of a sequence, in parts. All n tokens together have 2 n - 1 distances, a part only
/// slightly more than n: fewer table rows to multiply with each token.
/// longest: tokens of the longest sequence; r: AttentionArgs::Relative.
template <class Relative, class Body>
void for_relative_rows(std::size_t longest, const Relative& r, const TokenRange& queries, const TokenRange& keys, Body&& body) {
  constexpr std::size_t part = 28;  // twice the rows of an AVX-512 tile (gemm_tile.hpp)
  const std::int32_t* const middle = r.bucket + longest - 1;
  const TokenRange &all = r.key_side ? keys : queries, &others = r.key_side ? queries : keys;
  std::vector<DistanceRun> runs;
  for (std::size_t begin = all.begin; begin < all.end; begin += part) {
    const std::size_t end = std::min(all.end, begin + part);
    const auto from = static_cast<std::ptrdiff_t>(begin), last = static_cast<std::ptrdiff_t>(end) - 1;
    const auto other = static_cast<std::ptrdiff_t>(others.begin), last_other = static_cast<std::ptrdiff_t>(others.end) - 1;
    const std::ptrdiff_t least = r.key_side ? other - last : from - last_other, most = r.key_side ? last_other - from : last - other;
    runs.clear();
    for (std::ptrdiff_t low = least, high = low; low <= most; low = ++high) {
      const std::ptrdiff_t slope = low < most ? std::ptrdiff_t{middle[low + 1]} - middle[low] : 0;
      if (std::abs(slope) <= 1)
        while (high < most && middle[high + 1] - middle[high] == slope) ++high;
      runs.push_back({low, high, high > low ? slope : 0});
    }
    const auto [low_row, high_row] = std::minmax_element(middle + least, middle + most + 1);
    const auto first = static_cast<std::size_t>(*low_row);
    body(RelativeRows{begin, end, others, first, static_cast<std::size_t>(*high_row) - first + 1, middle, r.key_side, runs});
  }
}

}  // namespace lexformer::detail
