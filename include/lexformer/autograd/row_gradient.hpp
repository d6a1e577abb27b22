// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/cpu.hpp"

namespace lexformer {

/// The gradient of a table (V, D) of which a few rows were used. The others are zero and not stored.
template <class T, class Dev>
struct RowGradient {
  Shape table{};
  std::vector<std::int32_t> ids{};  // of the rows, ascending
  Tensor<T, Dev> rows{};            // (ids.size(), D); undefined: there is no gradient

  bool defined() const { return rows.defined(); }
  Elements<T> elements() const { return {table.size(), rows.data(), ids.data(), ids.size(), table[1]}; }

  /// The whole table.
  Tensor<T, Dev> dense() const {
    auto all = Tensor<T, Dev>::zeros(table);
    T* const to = all.mutable_data();
    for (std::size_t k = 0; k < ids.size(); ++k)
      Memory<Dev>::copy(to + static_cast<std::size_t>(ids[k]) * table[1], rows.data() + k * table[1], table[1] * sizeof(T));
    return all;
  }

  /// Adds another gradient of the table; the elements are the sums that the whole tables would give.
  void add(const RowGradient& other) {
    RowGradient sum{table, {}, {}};
    std::set_union(ids.begin(), ids.end(), other.ids.begin(), other.ids.end(), std::back_inserter(sum.ids));
    sum.rows = Tensor<T, Dev>::zeros({sum.ids.size(), table[1]});
    T* const to = sum.rows.mutable_data();
    for (const RowGradient* part : {static_cast<const RowGradient*>(this), &other}) {
      std::size_t k = 0;
      for (std::size_t i = 0; i < part->ids.size(); ++i) {
        while (sum.ids[k] != part->ids[i]) ++k;
        Kernels<Dev>::add_to(table[1], part->rows.data() + i * table[1], to + k * table[1]);
      }
    }
    *this = std::move(sum);
  }
};

}  // namespace lexformer
