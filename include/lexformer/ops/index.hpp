// SPDX-License-Identifier: MIT
// Indexing, slicing and concatenation of rows and columns; mean and max over sequences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/core/indices.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

namespace detail {
/// The gradient of a table (V, D) whose rows `ids` were looked up, from the gradient dy of these rows.
template <class T>
RowGradient<T, Cpu> row_gradient(const Shape& table, const Indices<std::int32_t, Cpu>& ids, const Tensor<T, Cpu>& dy) {
  auto places = ids.to_vector();
  RowGradient<T, Cpu> g{table, places, {}};
  std::sort(g.ids.begin(), g.ids.end());
  g.ids.erase(std::unique(g.ids.begin(), g.ids.end()), g.ids.end());
  for (auto& place : places) place = static_cast<std::int32_t>(std::lower_bound(g.ids.begin(), g.ids.end(), place) - g.ids.begin());
  g.rows = Tensor<T, Cpu>({g.ids.size(), table[1]});
  Kernels<Cpu>::gather_sum_grad(places.size(), table[1], dy.data(),
                                std::vector<RowLookupGrad<T>>{{g.ids.size(), places.data(), g.rows.mutable_data()}});
  return g;
}
}  // namespace detail

/// A table (V, D), and the rows of it that embedding_sum() looks up: N integers in 0 .. V-1.
template <class T, class Dev>
struct TableRows {
  Var<T, Dev> table;
  Indices<std::int32_t, Dev> ids;
};

/// The sum of looked-up rows: y[i] = base[i] + table_1[ids_1[i]] + ..., added in this order.
///   base (N, D) or undefined, tables (V_k, D), ids_k N integers in 0 .. V_k-1, one to four lookups -> y (N, D)
///   dbase = dy;    dtable_k[ids_k[i]] += dy[i], in the order of i
/// On the CPU the gradient of a parameter of more than N rows is kept as the rows that were looked up, so it costs no pass over the table.
/// name: of the op, in errors. Errors: an id is out of range, or shapes do not match.
template <class T, class Dev>
Var<T, Dev> embedding_sum(const Var<T, Dev>& base, const std::vector<TableRows<T, Dev>>& lookups, const char* name = "embedding") {
  if (lookups.empty() || lookups.size() > most_row_lookups)
    fail(name, "there are ", lookups.size(), " tables, expected 1 to ", most_row_lookups);
  const std::size_t n = lookups[0].ids.size();
  std::vector<RowLookup<T>> sources;
  for (const auto& [table, ids] : lookups) {
    if (table.shape().rank() != 2) fail(name, "the table must be (V, D), got ", table.shape());
    const std::size_t vocabulary = table.dim(0);
    if (!ids.within(vocabulary)) {
      const auto all = ids.to_vector();
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] < 0 || static_cast<std::size_t>(all[i]) >= vocabulary)
          fail(name, "id ", all[i], " at position ", i, " is outside the table of ", vocabulary, " rows");
    }
    if (table.dim(1) != lookups[0].table.dim(1) || ids.size() != n)
      fail(name, ids.size(), " rows of the table ", table.shape(), " cannot be added to ", n, " rows of the table ",
           lookups[0].table.shape());
    sources.push_back({ids.data(), table.value().data()});
  }
  const std::size_t d = lookups[0].table.dim(1);
  if (base.defined() && !(base.shape() == Shape{n, d})) fail(name, "the sum is ", Shape{n, d}, ", but base is ", base.shape());
  Tensor<T, Dev> y({n, d});
  Kernels<Dev>::gather_sum(n, d, base.defined() ? base.value().data() : nullptr, sources, y.mutable_data());

  struct Source {
    Shape shape;
    Indices<std::int32_t, Dev> ids;
    bool needed;                                       // whether the table has a gradient
    std::shared_ptr<detail::GradBox<T, Dev>> by_rows;  // of a gradient that is kept as rows
  };
  std::vector<Var<T, Dev>> inputs;
  std::vector<Source> tables;
  for (const auto& [table, ids] : lookups) {
    inputs.push_back(table);
    const bool few = std::is_same_v<Dev, Cpu> && n < table.dim(0) && table.requires_grad() && table.is_leaf();
    tables.push_back({table.shape(), ids, table.requires_grad(), few && !detail::graph_state().check_finite ? table.grad_box() : nullptr});
  }
  inputs.push_back(base);
  return record(name, y, inputs, [n, d, tables = std::move(tables)](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    std::vector<Tensor<T, Dev>> gradients;
    std::vector<RowLookupGrad<T>> dense;
    for (const Source& source : tables) {
      auto& gradient = gradients.emplace_back();
      if constexpr (std::is_same_v<Dev, Cpu>)
        if (source.by_rows) {
          source.by_rows->add(detail::row_gradient(source.shape, source.ids, dy));
          continue;
        }
      if (!source.needed) continue;
      gradient = Tensor<T, Dev>(source.shape);
      dense.push_back({source.shape[0], source.ids.data(), gradient.mutable_data()});
    }
    gradients.push_back(dy);
    if (!dense.empty()) Kernels<Dev>::gather_sum_grad(n, d, dy.data(), dense);
    return gradients;
  });
}

/// Looks up rows of a table: y[i] = table[ids[i]], as embedding_sum() with one table.    dtable[ids[i]] += dy[i], in the order of i
///   table (V, D), ids N integers in 0 .. V-1 -> y (N, D).    Errors: an id is out of range
template <class T, class Dev>
Var<T, Dev> embedding(const Var<T, Dev>& table, const std::type_identity_t<Indices<std::int32_t, Dev>>& ids) {
  return embedding_sum<T, Dev>({}, {{table, ids}});
}

/// Selects rows: y[i] = x[rows[i]]; an index may repeat.    dx[rows[i]] += dy[i]
///   x (N, D), rows M integers in 0 .. N-1 -> y (M, D).    Errors: a row is out of range
template <class T, class Dev>
Var<T, Dev> select_rows(const Var<T, Dev>& x, const std::type_identity_t<Indices<std::int32_t, Dev>>& rows) {
  return embedding_sum<T, Dev>({}, {{x, rows}}, "select_rows");
}

/// Selects columns: y[h, c] = x[h, columns[c]]; an index may repeat.    dx[h, columns[c]] += dy[h, c], in the order of c
///   x (H, R), columns C integers in 0 .. R-1 -> y (H, C).    Errors: an index is out of range
template <class T, class Dev>
Var<T, Dev> select_columns(const Var<T, Dev>& x, const std::type_identity_t<Indices<std::int32_t, Dev>>& columns) {
  if (x.shape().rank() != 2) fail("select_columns", "x must be a matrix, got ", x.shape());
  const std::size_t rows = x.dim(0), n = x.dim(1), m = columns.size();
  if (!columns.within(n))
    for (const std::int32_t c : columns.to_vector())
      if (c < 0 || static_cast<std::size_t>(c) >= n) fail("select_columns", "column ", c, " is out of range for x ", x.shape());
  Tensor<T, Dev> y({rows, m});
  Kernels<Dev>::gather_columns(rows, n, m, x.value().data(), columns.data(), y.mutable_data());
  return record("select_columns", y, std::vector{x}, [=](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    auto dx = Tensor<accumulate_t<T>, Dev>::zeros({rows, n});
    Kernels<Dev>::scatter_add_columns(rows, n, m, dy.data(), columns.data(), dx.mutable_data());
    return {detail::cast<T>(dx)};
  });
}

/// Changes the shape and shares the elements.    dx = dy in the old shape.    Errors: the number of elements differs
template <class T, class Dev>
Var<T, Dev> reshape(const Var<T, Dev>& x, Shape shape) {
  return record("reshape", x.value().reshape(shape), std::vector{x},
                [old = x.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> { return {dy.reshape(old)}; });
}

/// Swaps the last two axes: y[..., j, i] = x[..., i, j].    dx = dy, transposed back
template <class T, class Dev>
Var<T, Dev> transpose(const Var<T, Dev>& x) {
  const Shape& shape = x.shape();
  if (shape.rank() < 2) fail("transpose", "needs at least two axes, got shape ", shape);
  std::vector<std::size_t> dims(shape.begin(), shape.end());
  const std::size_t m = dims[dims.size() - 2], n = dims.back(), batch = m * n == 0 ? 0 : x.size() / (m * n);
  std::swap(dims[dims.size() - 2], dims.back());
  Tensor<T, Dev> y(Shape(dims.begin(), dims.end()));
  Kernels<Dev>::transpose(batch, m, n, x.value().data(), y.mutable_data());
  return record("transpose", y, std::vector{x}, [=, old = shape](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(old);
    Kernels<Dev>::transpose(batch, n, m, dy.data(), dx.mutable_data());
    return {dx};
  });
}

/// Returns a copy of x with some rows replaced: y[rows[i]] = values[i].
///   x (N, D), rows n distinct integers in 0 .. N-1, values (n, D) -> (N, D).    Errors: a row is out of range or repeats
///   dx = dy, 0 in the replaced rows;  dvalues[i] = dy[rows[i]]
template <class T, class Dev>
Var<T, Dev> replace_rows(const Var<T, Dev>& x, const std::vector<std::int32_t>& rows, const Var<T, Dev>& values) {
  const std::size_t count = rows.size();
  if (x.shape().rank() != 2 || !(values.shape() == Shape{count, x.dim(1)}))
    fail("replace_rows", count, " rows of x ", x.shape(), " need values of the same number of rows and columns, got ", values.shape());
  const std::size_t n = x.dim(1);
  std::vector<bool> replaced(x.dim(0));
  for (const std::int32_t r : rows) {
    if (r < 0 || static_cast<std::size_t>(r) >= replaced.size()) fail("replace_rows", "row ", r, " is out of range for x ", x.shape());
    if (replaced[static_cast<std::size_t>(r)]) fail("replace_rows", "row ", r, " is given more than once");
    replaced[static_cast<std::size_t>(r)] = true;
  }
  const Indices<std::int32_t, Dev> ids(rows);
  auto y = x.value().clone();
  Kernels<Dev>::place_rows(count, n, values.value().data(), ids.data(), y.mutable_data());
  return record("replace_rows", y, std::vector{x, values},
                [=, dx_needed = x.requires_grad(), dvalues_needed = values.requires_grad()](const Tensor<T, Dev>& dy) {
                  std::vector<Tensor<T, Dev>> d(2);
                  if (dx_needed) {
                    d[0] = dy.clone();
                    Kernels<Dev>::place_rows(count, n, static_cast<const T*>(nullptr), ids.data(), d[0].mutable_data());
                  }
                  if (dvalues_needed) {
                    d[1] = Tensor<T, Dev>({count, n});
                    Kernels<Dev>::gather(count, n, dy.data(), ids.data(), d[1].mutable_data());
                  }
                  return d;
                });
}

/// Slices the first axis: y = rows begin .. end-1 of x, sharing the elements.    dx = dy there, 0 elsewhere
template <class T, class Dev>
Var<T, Dev> slice_rows(const Var<T, Dev>& x, std::size_t begin, std::size_t end) {
  return record("slice_rows", x.value().slice(begin, end), std::vector{x},
                [=, shape = x.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  auto dx = Tensor<T, Dev>::zeros(shape);
                  auto part = dx.slice(begin, end);
                  Memory<Dev>::copy(part.mutable_data(), dy.data(), dy.size() * sizeof(T));
                  return {dx};
                });
}

/// Copies columns begin .. end-1 of a matrix: (N, D) -> (N, end - begin).    dx = dy there, 0 elsewhere
template <class T, class Dev>
Var<T, Dev> slice_columns(const Var<T, Dev>& x, std::size_t begin, std::size_t end) {
  if (x.shape().rank() != 2 || begin > end || end > x.dim(1))
    fail("slice_columns", "columns ", begin, " to ", end, " are out of range for x ", x.shape());
  const std::size_t rows = x.dim(0), n = x.dim(1), width = end - begin;
  Tensor<T, Dev> y({rows, width});
  Kernels<Dev>::copy_columns(rows, width, x.value().data() + begin, n, y.mutable_data(), width);
  return record("slice_columns", y, std::vector{x}, [=](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    auto dx = Tensor<T, Dev>::zeros({rows, n});
    Kernels<Dev>::copy_columns(rows, width, dy.data(), width, dx.mutable_data() + begin, n);
    return {dx};
  });
}

/// Concatenates along the first axis; the other axes must be equal.    dparts = the corresponding slices of dy
template <class T, class Dev>
Var<T, Dev> concat_rows(const std::vector<Var<T, Dev>>& parts) {
  if (parts.empty()) fail("concat_rows", "needs at least one part");
  std::vector<std::size_t> dims(parts[0].shape().begin(), parts[0].shape().end()), counts;
  if (dims.empty()) fail("concat_rows", "a scalar has no rows");
  dims[0] = 0;
  for (const auto& part : parts) {
    if (part.shape().rank() != dims.size() || !std::equal(dims.begin() + 1, dims.end(), part.shape().begin() + 1))
      fail("concat_rows", "shapes ", parts[0].shape(), " and ", part.shape(), " differ after the first axis");
    counts.push_back(part.dim(0));
    dims[0] += part.dim(0);
  }
  Tensor<T, Dev> y(Shape(dims.begin(), dims.end()));
  T* out = y.mutable_data();
  for (const auto& part : parts) {
    Memory<Dev>::copy(out, part.value().data(), part.size() * sizeof(T));
    out += part.size();
  }
  return record("concat_rows", y, parts, [counts = std::move(counts)](const Tensor<T, Dev>& dy) {
    std::vector<Tensor<T, Dev>> d;
    std::size_t begin = 0;
    for (std::size_t count : counts) {
      d.push_back(dy.slice(begin, begin + count));
      begin += count;
    }
    return d;
  });
}

/// Concatenates columns: (N, D_0), (N, D_1), ... -> (N, sum of D_i).    dparts = the corresponding columns of dy
template <class T, class Dev>
Var<T, Dev> concat_columns(const std::vector<Var<T, Dev>>& parts) {
  if (parts.empty()) fail("concat_columns", "needs at least one part");
  std::size_t columns = 0;
  std::vector<std::size_t> widths;
  for (const auto& part : parts) {
    if (part.shape().rank() != 2 || part.dim(0) != parts[0].dim(0))
      fail("concat_columns", "shapes ", parts[0].shape(), " and ", part.shape(), " are not matrices with the same number of rows");
    widths.push_back(part.dim(1));
    columns += part.dim(1);
  }
  const std::size_t rows = parts[0].dim(0);
  Tensor<T, Dev> y({rows, columns});
  std::size_t begin = 0;
  for (const auto& part : parts) {
    Kernels<Dev>::copy_columns(rows, part.dim(1), part.value().data(), part.dim(1), y.mutable_data() + begin, columns);
    begin += part.dim(1);
  }
  return record("concat_columns", y, parts, [=, widths = std::move(widths)](const Tensor<T, Dev>& dy) {
    std::vector<Tensor<T, Dev>> d;
    std::size_t first = 0;
    for (std::size_t width : widths) {
      d.emplace_back(Shape{rows, width});
      Kernels<Dev>::copy_columns(rows, width, dy.data() + first, columns, d.back().mutable_data(), width);
      first += width;
    }
    return d;
  });
}

/// Mean over the tokens of each sequence: x (N, D) -> y (B, D).    dx[i] = dy[s] / length(s) for the tokens i of sequence s
template <class T, class Dev>
Var<T, Dev> sequence_mean(const Var<T, Dev>& x, const Offsets& offsets) {
  detail::check_token_rows("sequence_mean", "x", x.shape(), offsets);
  const std::size_t n = x.dim(1), sequences = offsets.sequences();
  const auto begin = offsets.on<Dev>().token;
  Tensor<T, Dev> y({sequences, n});
  Kernels<Dev>::sequence_mean(sequences, n, begin.data(), x.value().data(), y.mutable_data());
  return record("sequence_mean", y, std::vector{x}, [=, shape = x.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(shape);
    Kernels<Dev>::sequence_mean_grad(sequences, n, begin.data(), dy.data(), dx.mutable_data());
    return {dx};
  });
}

/// Maximum over the tokens of each sequence: y[s, j] = max_i x[i, j], x (N, D) -> y (B, D). NaN counts as the largest.
///   dx[i, j] = dy[s, j] for the first token i that attains the maximum, else 0
template <class T, class Dev>
Var<T, Dev> sequence_max(const Var<T, Dev>& x, const Offsets& offsets) {
  detail::check_token_rows("sequence_max", "x", x.shape(), offsets);
  const std::size_t n = x.dim(1), sequences = offsets.sequences();
  const auto begin = offsets.on<Dev>().token;
  Tensor<T, Dev> y({sequences, n});
  Tensor<std::int32_t, Dev> index({sequences, n});
  Kernels<Dev>::sequence_max(sequences, n, begin.data(), x.value().data(), y.mutable_data(), index.mutable_data());
  return record("sequence_max", y, std::vector{x}, [=, shape = x.shape()](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx(shape);
    Kernels<Dev>::sequence_max_grad(sequences, n, begin.data(), index.data(), dy.data(), dx.mutable_data());
    return {dx};
  });
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_INDEX(word, T)                                                                                            \
  word template Var<T, Cpu> embedding_sum<T, Cpu>(const Var<T, Cpu>&, const std::vector<TableRows<T, Cpu>>&, const char*);  \
  word template Var<T, Cpu> embedding<T, Cpu>(const Var<T, Cpu>&, const Indices<std::int32_t, Cpu>&);                       \
  word template Var<T, Cpu> select_rows<T, Cpu>(const Var<T, Cpu>&, const Indices<std::int32_t, Cpu>&);                     \
  word template Var<T, Cpu> select_columns<T, Cpu>(const Var<T, Cpu>&, const Indices<std::int32_t, Cpu>&);                  \
  word template Var<T, Cpu> replace_rows<T, Cpu>(const Var<T, Cpu>&, const std::vector<std::int32_t>&, const Var<T, Cpu>&); \
  word template Var<T, Cpu> slice_rows<T, Cpu>(const Var<T, Cpu>&, std::size_t, std::size_t);                               \
  word template Var<T, Cpu> concat_columns<T, Cpu>(const std::vector<Var<T, Cpu>>&);                                        \
  word template Var<T, Cpu> sequence_max<T, Cpu>(const Var<T, Cpu>&, const Offsets&);                                       \
  word template Var<T, Cpu> sequence_mean<T, Cpu>(const Var<T, Cpu>&, const Offsets&);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_INDEX(extern, float)
LEXFORMER_INDEX(extern, double)
#endif

}  // namespace lexformer
