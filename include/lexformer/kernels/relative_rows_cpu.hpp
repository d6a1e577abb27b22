// SPDX-License-Identifier: MIT
// Which rows of a relative table the tokens of a sequence meet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lexformer/kernels/interface.hpp"

namespace lexformer::detail {

/// Tokens begin ... end - 1 (queries, or keys on the key side) and the rows of the table that their distances i - j meet.
template <class T>
struct RelativeRows {
  std::size_t begin, end, others;  // others: tokens of the sequence
  std::size_t first, count;
  const T* table;              // row `first`, (count, d)
  const std::int32_t* middle;  // row of distance 0
  std::ptrdiff_t slope;        // 1 or -1: rows follow one another, up or down with the distance; 0: they do not
  bool key_side;
  std::size_t tokens() const { return end - begin; }

  /// Calls f(i, j, x) for each own token and every other one: i query, j key, x = the place of their row, counted from `first`, among the
  /// (tokens(), count) numbers of a product with the table. The order is the one in which the scores, row by row, stay near.
  template <class F>
  void for_pairs(F&& f) const {
    if (key_side) {
      for (std::size_t i = 0; i < others; ++i)
        for (std::size_t j = begin; j < end; ++j) f(i, j, (j - begin) * count + row(i, j));
      return;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t x = (i - begin) * count, of_first_key = x + row(i, 0);
      if (slope == 0)
        for (std::size_t j = 0; j < others; ++j) f(i, j, x + row(i, j));
      else if (slope < 0)
        for (std::size_t j = 0; j < others; ++j) f(i, j, of_first_key + j);
      else
        for (std::size_t j = 0; j < others; ++j) f(i, j, of_first_key - j);
    }
  }

 private:
  std::size_t row(std::size_t i, std::size_t j) const {
    return static_cast<std::size_t>(middle[static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(j)]) - first;
  }
};

/// The tables of all relative terms with rows and columns exchanged, (tables, d, R): so a product packs them row by row, and not number by
/// number for each sequence and head anew.
template <class T>
std::vector<Tensor<T>> turned_tables(const AttentionArgs<T>& a) {
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

/// Calls body(RelativeRows) for the n tokens of a sequence in parts, for head h. All together they meet 2 n - 1 distances, the tokens of a
/// part hardly more than n: that is how many rows have to be multiplied with each.
template <class T, class Body>
void for_relative_rows(const AttentionArgs<T>& a, const typename AttentionArgs<T>::Relative& r, std::size_t n, std::size_t h, Body&& body) {
  constexpr std::size_t part = 28;  // twice the rows that our product does at once (gemm_tile.hpp)
  const std::size_t d = a.width / a.heads;
  const std::int32_t* const middle = r.bucket + a.longest - 1;
  for (std::size_t begin = 0; begin < n; begin += part) {
    const std::size_t end = std::min(n, begin + part);
    // Distances of queries: begin - (n - 1) ... end - 1; of keys: -(end - 1) ... n - 1 - begin.
    const std::int32_t* const from = r.key_side ? middle - (end - 1) : middle + begin - (n - 1);
    const std::int32_t* const to = from + (n - 1 + end - begin);
    const auto [low, high] = std::minmax_element(from, to);
    const auto follow = [&](std::int32_t step) {
      return std::adjacent_find(from, to, [=](std::int32_t x, std::int32_t y) { return y - x != step; }) == to;
    };
    const auto first = static_cast<std::size_t>(*low);
    const T* const table = r.table + ((r.tables == 1 ? 0 : h * r.rows) + first) * d;
    body(RelativeRows<T>{begin, end, n, first, static_cast<std::size_t>(*high) - first + 1, table, middle,
                         follow(1) ? 1 : (follow(-1) ? -1 : 0), r.key_side});
  }
}

}  // namespace lexformer::detail
