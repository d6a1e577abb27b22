// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/indices.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/matmul.hpp"

namespace lexformer {

namespace detail {

/// The rows of an LSTM in the order of steps: step t has token t of each sequence that is long enough, the longest sequence first, so that
/// a step continues the first rows of the step before.
template <class Dev>
struct LstmRows {
  std::vector<std::size_t> begin{0};       // first row of each step; at the end N
  Indices<std::int32_t, Dev> tokens;       // the token of each row
  Indices<std::int32_t, Dev> predecessor;  // of each row of step 1 and later: the row of the token before

  LstmRows(const Offsets& offsets, bool reverse) {
    std::vector<std::size_t> order(offsets.sequences());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return offsets.length(a) > offsets.length(b); });
    std::vector<std::int32_t> of_row, before;
    for (std::size_t t = 0; t < offsets.longest(); ++t) {
      for (std::size_t r = 0; r < order.size() && offsets.length(order[r]) > t; ++r) {
        const std::size_t s = order[r];
        of_row.push_back(static_cast<std::int32_t>(reverse ? offsets.begin(s + 1) - 1 - t : offsets.begin(s) + t));
        if (t > 0) before.push_back(static_cast<std::int32_t>(begin[t - 1] + r));
      }
      begin.push_back(of_row.size());
    }
    tokens = of_row;
    predecessor = before;
  }
  std::size_t steps() const { return begin.size() - 1; }
  std::size_t count(std::size_t t) const { return begin[t + 1] - begin[t]; }
};

inline void check_lstm(const Shape& x, const Offsets& offsets, const Shape& input_weight, const Shape& w) {
  if (w.rank() != 2 || w[0] != 4 * w[1] || w[1] == 0) fail("lstm", "the weight of hidden states must be (4 H, H), got ", w);
  if (input_weight.rank() != 2 || input_weight[0] != w[0]) fail("lstm", "the weight of inputs must be (", w[0], ", D), got ", input_weight);
  check_token_rows("lstm", "x", x, offsets);
  if (offsets.sequences() == 0) fail("lstm", "the batch is empty");
}

}  // namespace detail

/// One direction of an LSTM layer (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000) over the tokens of each
/// sequence, with torch.nn.LSTM's gates i, f, g, o:
///   (i, f, g, o)_t = W_x x_t + b + W_h h_(t-1);   c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g);   h_t = sigmoid(o) tanh(c_t)
///   x (N, D), W_x (4 H, D), W_h (4 H, H), b (4 H) or undefined -> h (N, H); h and c are 0 before the first token, with `reverse` after
///   the last one, from which the steps then go back
///   dh_(t-1) += W_h^T d(i, f, g, o)_t,  dc_(t-1) = dc_t sigmoid(f);  dW_h = sum_t d(i, f, g, o)_t h_(t-1)^T
/// W_x x is one product for all tokens; each step is one product for all sequences that have a token there.
/// Errors: shapes do not match, or the batch is empty.
template <class T, class Dev>
Var<T, Dev> lstm(const Var<T, Dev>& x, const Offsets& offsets, const Var<T, Dev>& input_weight, const Var<T, Dev>& hidden_weight,
                 const Var<T, Dev>& bias = {}, bool reverse = false) {
  using A = accumulate_t<T>;
  detail::check_lstm(x.shape(), offsets, input_weight.shape(), hidden_weight.shape());
  const std::size_t n = hidden_weight.dim(1), tokens = offsets.tokens(), sequences = offsets.sequences();
  const auto projected = linear(x, input_weight, bias);
  const detail::LstmRows<Dev> rows(offsets, reverse);

  Tensor<T, Dev> sums({tokens, 4 * n}), hidden({tokens, n}), y({tokens, n});
  Kernels<Dev>::gather(tokens, 4 * n, projected.value().data(), rows.tokens.data(), sums.mutable_data());
  auto gates = detail::cast<A>(sums);
  Tensor<A, Dev> cells({tokens, n});
  const auto start = Tensor<A, Dev>::zeros({sequences, n});
  A *const g = gates.mutable_data(), *const c = cells.mutable_data();
  T* const h = hidden.mutable_data();
  for (std::size_t t = 0; t < rows.steps(); ++t) {
    const std::size_t row = rows.begin[t], count = rows.count(t);
    if (t > 0)
      Kernels<Dev>::gemm(false, true, count, 4 * n, n, A{1}, static_cast<const T*>(h) + rows.begin[t - 1] * n, n,
                         hidden_weight.value().data(), n, A{1}, g + row * 4 * n, 4 * n);
    Kernels<Dev>::lstm_step(count, n, t == 0 ? start.data() : static_cast<const A*>(c) + rows.begin[t - 1] * n, g + row * 4 * n,
                            c + row * n, h + row * n);
  }
  Kernels<Dev>::place_rows(tokens, n, static_cast<const T*>(h), rows.tokens.data(), y.mutable_data());

  return record("lstm", y, std::vector{projected, hidden_weight},
                [=, dweight_needed = hidden_weight.requires_grad(), wv = Saved(hidden_weight.value()), gates = Saved(gates),
                 cells = Saved(cells), hidden = Saved(hidden)](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  Tensor<T, Dev> dhidden({tokens, n}), dsums({tokens, 4 * n}), dprojected({tokens, 4 * n}), dweight;
                  Kernels<Dev>::gather(tokens, n, dy.data(), rows.tokens.data(), dhidden.mutable_data());
                  // From the next step: 0 for sequences that have none.
                  auto dstate = Tensor<A, Dev>::zeros({sequences, n}), dcell = Tensor<A, Dev>::zeros({sequences, n});
                  T* const d = dsums.mutable_data();
                  for (std::size_t t = rows.steps(); t-- > 0;) {
                    const std::size_t row = rows.begin[t], count = rows.count(t);
                    Kernels<Dev>::lstm_step_grad(count, n, gates->data() + row * 4 * n,
                                                 t == 0 ? start.data() : cells->data() + rows.begin[t - 1] * n, cells->data() + row * n,
                                                 dhidden.data() + row * n, static_cast<const A*>(dstate.data()), dcell.mutable_data(),
                                                 d + row * 4 * n);
                    if (t > 0)
                      Kernels<Dev>::gemm(false, false, count, n, 4 * n, A{1}, static_cast<const T*>(d) + row * 4 * n, 4 * n, wv->data(), n,
                                         A{0}, dstate.mutable_data(), n);
                  }
                  Kernels<Dev>::place_rows(tokens, 4 * n, static_cast<const T*>(d), rows.tokens.data(), dprojected.mutable_data());
                  if (dweight_needed) {
                    const std::size_t later = tokens - sequences;  // rows of step 1 and later
                    Tensor<T, Dev> before({later, n});
                    Kernels<Dev>::gather(later, n, hidden->data(), rows.predecessor.data(), before.mutable_data());
                    dweight = Tensor<T, Dev>({4 * n, n});
                    Kernels<Dev>::gemm(true, false, 4 * n, n, later, A{1}, static_cast<const T*>(d) + sequences * 4 * n, 4 * n,
                                       before.data(), n, A{0}, dweight.mutable_data(), n);
                  }
                  return {dprojected, dweight};
                });
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_LSTM(word, T)                                                                                                          \
  word template Var<T, Cpu> lstm<T, Cpu>(const Var<T, Cpu>&, const Offsets&, const Var<T, Cpu>&, const Var<T, Cpu>&, const Var<T, Cpu>&, \
                                         bool);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_LSTM(extern, float)
LEXFORMER_LSTM(extern, double)
#endif

}  // namespace lexformer
