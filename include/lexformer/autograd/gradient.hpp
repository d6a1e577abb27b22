// SPDX-License-Identifier: MIT
// How the gradient of a variable is stored.
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

namespace detail {

/// Accumulates the gradient of one value: the first contribution is moved in, later ones are added. It is a Tensor, or, as long as all
/// contributions are rows of a table, those rows.
template <class T, class Dev>
struct GradBox {
  Tensor<T, Dev> grad;
  RowGradient<T, Dev> rows;
  bool kept = false;  // also after the backward of the op that computed the value

  bool defined() const { return grad.defined() || rows.defined(); }
  void set(Tensor<T, Dev> g) {
    grad = std::move(g);
    rows = {};
  }
  void add(Tensor<T, Dev> g) {
    make_dense();
    if (!grad.defined()) {
      grad = std::move(g);
      return;
    }
    check_shape(g.shape(), grad.shape());
    if (!grad.unique()) grad = grad.clone();  // the first contribution may be shared with another reader
    Kernels<Dev>::add_to(grad.size(), g.data(), grad.mutable_data());
  }
  void add(RowGradient<T, Dev> g) {
    if (grad.defined()) return add(g.dense());
    if (!rows.defined()) {
      rows = std::move(g);
      return;
    }
    check_shape(g.table, rows.table);
    rows.add(g);
  }
  void add(GradBox other) {
    if (other.rows.defined())
      add(std::move(other.rows));
    else
      add(std::move(other.grad));
  }
  void make_dense() {
    if (!rows.defined()) return;
    grad = rows.dense();
    rows = {};
  }
  Tensor<T, Dev> take() {
    make_dense();
    return std::exchange(grad, {});
  }
  /// The gradient for the backward of the op that computed the value.
  Tensor<T, Dev> of_output() {
    if (!kept) return take();
    make_dense();
    return grad;
  }

 private:
  static void check_shape(const Shape& added, const Shape& stored) {
    if (!(added == stored))
      fail("backward", "a gradient ", added, " cannot be added to one of shape ", stored,
           "; call clear_grad() after a parameter got another shape");
  }
};

}  // namespace detail

}  // namespace lexformer
