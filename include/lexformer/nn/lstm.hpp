// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "lexformer/nn/init.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/lstm.hpp"

namespace lexformer {

/// One direction of an LSTM layer (ops/lstm.hpp): x (N, in) -> h (N, out). weight_ih (4 out, in), weight_hh (4 out, out), bias_ih and
/// bias_hh (4 out), of which only the sum matters, as in torch.nn.LSTM; all start uniform in +-1 / sqrt(out).
template <class T = float, class Dev = Cpu>
struct Lstm {
  Var<T, Dev> weight_ih, weight_hh, bias_ih, bias_hh;

  Lstm(std::size_t in, std::size_t out, Init& init)
      : weight_ih(start(init, {4 * out, in}, out)),
        weight_hh(start(init, {4 * out, out}, out)),
        bias_ih(start(init, {4 * out}, out)),
        bias_hh(start(init, {4 * out}, out)) {}
  Var<T, Dev> operator()(const Var<T, Dev>& x, const Offsets& offsets, bool reverse = false) const {
    return lstm(x, offsets, weight_ih, weight_hh, add(bias_ih, bias_hh), reverse);
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("weight_ih", weight_ih);
    v("weight_hh", weight_hh);
    v("bias_ih", bias_ih);
    v("bias_hh", bias_hh);
  }

 private:
  static Var<T, Dev> start(Init& init, Shape shape, std::size_t out) {
    return init.template uniform<T, Dev>(shape, 1 / std::sqrt(static_cast<double>(out)));
  }
};

/// Both directions of an LSTM layer: x (N, in) -> (N, 2 out), the forward states beside the reverse ones.
template <class T = float, class Dev = Cpu>
struct BiLstm {
  Lstm<T, Dev> forward, reverse;

  BiLstm(std::size_t in, std::size_t out, Init& init) : forward(in, out, init), reverse(in, out, init) {}
  Var<T, Dev> operator()(const Var<T, Dev>& x, const Offsets& offsets) const {
    return concat_columns<T, Dev>({forward(x, offsets), reverse(x, offsets, true)});
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    v("forward", forward);
    v("reverse", reverse);
  }
};

/// The last state of each direction of a BiLstm: of the forward one at the last token of a sequence, of the reverse one at the first, so
/// that both have read all tokens. states (N, 2 H) -> (B, 2 H).
template <class T, class Dev>
Var<T, Dev> last_states(const Var<T, Dev>& states, const Offsets& offsets) {
  detail::check_token_rows("last_states", "states", states.shape(), offsets);
  if (states.dim(1) % 2 != 0) fail("last_states", "states must have two directions, (N, 2 H), got ", states.shape());
  std::vector<std::int32_t> first, last;
  for (std::size_t s = 0; s < offsets.sequences(); ++s) {
    first.push_back(static_cast<std::int32_t>(offsets.begin(s)));
    last.push_back(static_cast<std::int32_t>(offsets.begin(s + 1) - 1));
  }
  const std::size_t n = states.dim(1) / 2;
  return concat_columns<T, Dev>({slice_columns(select_rows(states, last), 0, n), slice_columns(select_rows(states, first), n, 2 * n)});
}

}  // namespace lexformer
