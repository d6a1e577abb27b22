// SPDX-License-Identifier: MIT
// The parts of attention that all paths share and that work on whole heads: products of relative terms, and gradients of tables.
#pragma once

#include <deque>

#include "attention_score.cuh"
#include "lexformer/kernels/cuda.hpp"

namespace lexformer::cuda {

/// The view of `args`, with the products of relative terms: products[i, h, r] = scale <q_ih, table_hr>, or k on the key side.
template <class T>
class Prepared {
 public:
  explicit Prepared(const AttentionArgs<T>& args) : view(args) {
    if (args.sequences > 65535 || args.heads > 65535)
      fail("attention", args.sequences, " sequences and ", args.heads, " heads; a GPU supports at most 65535 of each; use a smaller batch");
    const std::size_t d = view.head_size;
    for (unsigned t = 0; t < view.relatives; ++t) {
      const auto& r = args.relatives[t];
      const std::size_t row = args.heads * r.rows;
      accumulate_t<T>* const to = products_.emplace_back(args.tokens * row).data();
      const T* const from = args.qkv + (r.key_side ? args.width : 0);
      for (std::size_t h = 0; h < args.heads; ++h)
        Kernels<Cuda>::gemm(false, true, args.tokens, r.rows, d, r.scale, from + h * d, 3 * args.width, table(r, d, h), d, 0,
                            to + h * r.rows, row);
      view.relative[t].products = to;
    }
  }
  static const T* table(const typename AttentionArgs<T>::Relative& r, std::size_t d, std::size_t h) {
    return r.table + (r.tables == 1 ? 0 : h * r.rows * d);
  }
  AttentionView<T> view;

 private:
  std::deque<Temporary<accumulate_t<T>>> products_;
};

/// n elements as T: x itself, or a rounded copy.
template <class T>
class Stored {
 public:
  Stored(std::size_t n, const accumulate_t<T>* x) : copy_(is_storage<T> ? n : 0) {
    if constexpr (is_storage<T>) {
      Kernels<Cuda>::cast(n, x, copy_.data());
      data_ = copy_.data();
    } else {
      data_ = x;
    }
  }
  const T* data() const { return data_; }

 private:
  Temporary<T> copy_;
  const T* data_;
};

/// Computes the gradients of a relative term from the sums of its rows (N, H, R): adds the gradient of q (or k), writes the table's if
/// wanted.
template <class T>
void relative_grad(const AttentionArgs<T>& args, const typename AttentionArgs<T>::Relative& r, const accumulate_t<T>* sums, T* dqkv,
                   T* dtable) {
  const std::size_t d = args.width / args.heads, row = args.heads * r.rows, side = r.key_side ? args.width : 0;
  const Stored<T> stored(args.tokens * row, sums);
  const std::size_t size = dtable == nullptr ? 0 : r.tables * r.rows * d;
  const Temporary<accumulate_t<T>> of_table(size);  // a table shared by the heads gets their sum
  for (std::size_t h = 0; h < args.heads; ++h) {
    const T* const g = stored.data() + h * r.rows;
    Kernels<Cuda>::gemm(false, false, args.tokens, d, r.rows, r.scale, g, row, Prepared<T>::table(r, d, h), d, 1, dqkv + side + h * d,
                        3 * args.width);
    if (dtable == nullptr) continue;
    Kernels<Cuda>::gemm(true, false, r.rows, d, args.tokens, r.scale, g, row, args.qkv + side + h * d, 3 * args.width,
                        r.tables == 1 && h > 0 ? 1 : 0, of_table.data() + (r.tables == 1 ? 0 : h * r.rows * d), d);
  }
  Kernels<Cuda>::cast(size, of_table.data(), dtable);
}

/// The gradients of tables: kernels fill `sums`, and write() computes the gradients from them.
template <class T>
class TableGrads {
 public:
  AttentionTableSums<T> sums;

  /// parts: number of partial sums of lookups; `writes_all`: the kernels write every one of them.
  TableGrads(const AttentionArgs<T>& args, const AttentionGrads<T>& grads, std::size_t parts, bool writes_all) : parts_(parts) {
    for (std::size_t t = 0; t < args.lookups.size(); ++t)
      if (grads.lookups[t] != nullptr) sums.lookup[t] = array(parts * args.heads * args.lookups[t].levels, !writes_all);
    for (std::size_t t = 0; t < args.relatives.size(); ++t)
      sums.relative[t] = array(args.tokens * args.heads * args.relatives[t].rows, true);
  }
  /// Writes the gradients of the tables, and adds to the gradients of q and k, which must be written before.
  void write(const AttentionArgs<T>& args, const AttentionGrads<T>& grads) const {
    for (std::size_t t = 0; t < args.relatives.size(); ++t)
      relative_grad(args, args.relatives[t], sums.relative[t], grads.qkv, grads.relatives[t]);
    for (std::size_t t = 0; t < args.lookups.size(); ++t) {
      if (sums.lookup[t] == nullptr) continue;
      const std::size_t columns = args.heads * args.lookups[t].levels;
      RowKernels<Cuda>::column_sum(parts_, columns, sums.lookup[t], columns, grads.lookups[t]);
    }
  }

 private:
  accumulate_t<T>* array(std::size_t count, bool zeros) {
    accumulate_t<T>* const data = memory_.emplace_back(count).data();
    if (zeros) Memory<Cuda>::zero(data, count * sizeof(accumulate_t<T>));
    return data;
  }
  std::size_t parts_;
  std::deque<Temporary<accumulate_t<T>>> memory_;
};

}  // namespace lexformer::cuda
