// SPDX-License-Identifier: MIT
// Which rows of a relative table the tokens of a sequence meet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "lexformer/kernels/interface.hpp"

namespace lexformer::detail {

/// Distances i - j from low to high whose rows of the table follow one another: `slope` rows further with each, -1, 0 or 1.
struct DistanceRun {
  std::ptrdiff_t low, high, slope;
};

/// Tokens begin ... end - 1 (queries, or keys on the key side) and the rows of the table that their distances i - j meet.
struct RelativeRows {
  std::size_t begin, end, others;  // others: tokens of the sequence
  std::size_t first, count;        // rows first ... first + count - 1
  const std::int32_t* middle;      // row of distance 0
  bool key_side;
  const std::vector<DistanceRun>& runs;  // from small distances to large ones
  std::size_t tokens() const { return end - begin; }

  /// Calls f(i, j, n, x, step) for every own token and run of others: the rows of the cells (i, j), (i, j + 1) ... (i, j + n - 1), i query,
  /// j key, are the places x, x + step, x + 2 step ... among the (tokens(), count) numbers of a product with the table. The order is the
  /// one in which the scores, row by row, stay near.
  template <class F>
  void for_runs(F&& f) const {
    const std::size_t i_begin = key_side ? 0 : begin, i_end = key_side ? others : end;
    const auto j_begin = static_cast<std::ptrdiff_t>(key_side ? begin : 0), j_end = static_cast<std::ptrdiff_t>(key_side ? end : others);
    for (std::size_t query = i_begin; query < i_end; ++query) {
      const auto i = static_cast<std::ptrdiff_t>(query);
      for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
        const std::ptrdiff_t high = std::min(run->high, i - j_begin), low = std::max(run->low, i - (j_end - 1));
        if (high < low) continue;
        const auto j = static_cast<std::size_t>(i - high);
        const std::size_t row = static_cast<std::size_t>(middle[high]) - first;
        f(query, j, static_cast<std::size_t>(high - low + 1), ((key_side ? j : query) - begin) * count + row,
          (key_side ? static_cast<std::ptrdiff_t>(count) : 0) - run->slope);
      }
    }
  }
};

/// Calls f(k, k step) for k = 0 ... n - 1: as vector code where steps are -1, 0 or 1.
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

/// The tables of all relative terms with rows and columns exchanged, (tables, d, R): so a product packs them row by row, and not number by
/// number for each sequence and head anew.
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

/// Calls body(RelativeRows) for the n tokens of a sequence in parts. All together they meet 2 n - 1 distances, the tokens of a
/// part hardly more than n: that is how many rows have to be multiplied with each.
template <class T, class Body>
void for_relative_rows(const AttentionArgs<T>& a, const typename AttentionArgs<T>::Relative& r, std::size_t n, Body&& body) {
  constexpr std::size_t part = 28;  // twice the rows that our product does at once (gemm_tile.hpp)
  const std::int32_t* const middle = r.bucket + a.longest - 1;
  std::vector<DistanceRun> runs;
  for (std::size_t begin = 0; begin < n; begin += part) {
    const std::size_t end = std::min(n, begin + part);
    const auto signed_n = static_cast<std::ptrdiff_t>(n), from = static_cast<std::ptrdiff_t>(begin), to = static_cast<std::ptrdiff_t>(end);
    const std::ptrdiff_t least = r.key_side ? 1 - to : from - (signed_n - 1), most = r.key_side ? signed_n - 1 - from : to - 1;
    runs.clear();
    for (std::ptrdiff_t low = least, high = low; low <= most; low = ++high) {
      const std::ptrdiff_t slope = low < most ? std::ptrdiff_t{middle[low + 1]} - middle[low] : 0;
      if (std::abs(slope) <= 1)
        while (high < most && middle[high + 1] - middle[high] == slope) ++high;
      runs.push_back({low, high, high > low ? slope : 0});
    }
    const auto [low_row, high_row] = std::minmax_element(middle + least, middle + most + 1);
    const auto first = static_cast<std::size_t>(*low_row);
    body(RelativeRows{begin, end, n, first, static_cast<std::size_t>(*high_row) - first + 1, middle, r.key_side, runs});
  }
}

}  // namespace lexformer::detail
