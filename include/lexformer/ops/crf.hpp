// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/core/indices.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

namespace detail {

/// The shapes of all inputs; returns the number of labels.
template <class T, class Dev>
std::size_t check_crf(const char* where, const Var<T, Dev>& emissions, const Offsets& offsets, const Var<T, Dev>& transitions,
                      const Var<T, Dev>& start, const Var<T, Dev>& end) {
  const Shape& w = transitions.shape();
  if (w.rank() != 2 || w[0] != w[1] || w[0] == 0) fail(where, "transitions must be (L, L), got ", w);
  const std::size_t labels = w[0];
  for (const auto* x : {&start, &end})
    if (!(x->shape() == Shape{labels})) fail(where, "start and end must be ", Shape{labels}, ", got ", x->shape());
  if (emissions.shape().rank() != 2 || emissions.dim(1) != labels)
    fail(where, "emissions must be (tokens, ", labels, "), got ", emissions.shape());
  detail::check_token_rows(where, "emissions", emissions.shape(), offsets);
  if (offsets.sequences() == 0) fail(where, "the batch is empty");
  return labels;
}

template <class A, class Dev>
CrfArgs<A> crf_args(const Offsets& offsets, std::size_t labels, const DeviceOffsets<Dev>& begins, const Tensor<A, Dev>& emissions,
                    const Tensor<A, Dev>& transitions, const Tensor<A, Dev>& start, const Tensor<A, Dev>& end) {
  return {.sequences = offsets.sequences(),
          .tokens = offsets.tokens(),
          .labels = labels,
          .token_begin = begins.token.data(),
          .emissions = emissions.data(),
          .transitions = transitions.data(),
          .start = start.data(),
          .end = end.data()};
}

}  // namespace detail

/// The negative log-likelihood of a linear-chain conditional random field (Lafferty et al. 2001), mean over B sequences, each with labels
/// y_1 .. y_n of its tokens:
///   score(y) = start[y_1] + sum_t emissions[t, y_t] + sum_(t>1) transitions[y_(t-1), y_t] + end[y_n]
///   loss = mean_b( log sum_y' exp score(y') - score(y) ),  y' all sequences of labels
///   emissions (N, L), transitions (L, L): from row to column, start and end (L), labels (N) -> scalar
///   demissions[t, j] = dy / B (p(y_t = j) - [y_t = j]),  dtransitions[i, j] = dy / B sum_(t>1) (p(y_(t-1) = i, y_t = j) - [...])
/// The probabilities come from the sums over all paths before and after a token (forward-backward), in logarithms. A score of -infinity
/// forbids a label or a transition.
/// Errors: shapes do not match; a label is not one of 0 .. L - 1; the batch is empty.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> crf_loss(const Var<T, Dev>& emissions, const Offsets& offsets, std::span<const std::int32_t> labels,
                                   const Var<T, Dev>& transitions, const Var<T, Dev>& start, const Var<T, Dev>& end) {
  using A = accumulate_t<T>;
  const std::size_t n = detail::check_crf("crf_loss", emissions, offsets, transitions, start, end), tokens = offsets.tokens();
  if (labels.size() != tokens) fail("crf_loss", labels.size(), " labels for ", tokens, " tokens");
  for (std::size_t t = 0; t < tokens; ++t)
    if (labels[t] < 0 || static_cast<std::size_t>(labels[t]) >= n)
      fail("crf_loss", "label ", labels[t], " of token ", t, " is not one of the ", n, " labels");
  const auto x = cast<A>(emissions), a = cast<A>(transitions), b = cast<A>(start), e = cast<A>(end);
  Tensor<A, Dev> loss{Shape{}};
  const Indices<std::int32_t, Dev> y(labels);
  const auto begins = offsets.template on<Dev>();
  Tensor<A, Dev> alpha({tokens, n}), log_z({offsets.sequences()});
  Kernels<Dev>::crf_forward(detail::crf_args(offsets, n, begins, x.value(), a.value(), b.value(), e.value()), y.data(),
                            alpha.mutable_data(), log_z.mutable_data(), loss.mutable_data());
  return record("crf_loss", loss, std::vector{x, a, b, e},
                [=, alpha = Saved(alpha), log_z = Saved(log_z), xv = Saved(x.value()), av = Saved(a.value()), bv = Saved(b.value()),
                 ev = Saved(e.value())](const Tensor<A, Dev>& dy) -> std::vector<Tensor<A, Dev>> {
                  Tensor<A, Dev> beta({tokens, n}), dx({tokens, n}), da({n, n}), db({n}), de({n});
                  Kernels<Dev>::crf_grad(detail::crf_args(offsets, n, begins, *xv, *av, *bv, *ev), y.data(), alpha->data(), log_z->data(),
                                         dy.data(), beta.mutable_data(),
                                         CrfGrads<A>{dx.mutable_data(), da.mutable_data(), db.mutable_data(), de.mutable_data()});
                  return {dx, da, db, de};
                });
}

/// The most probable labels of each sequence in a conditional random field (crf_loss), by Viterbi's algorithm: (N), on the host. Of paths
/// with equal scores, the smaller label at the last token at which they differ.
/// Errors: shapes do not match; the batch is empty.
template <class T, class Dev>
std::vector<std::int32_t> crf_decode(const Var<T, Dev>& emissions, const Offsets& offsets, const Var<T, Dev>& transitions,
                                     const Var<T, Dev>& start, const Var<T, Dev>& end) {
  using A = accumulate_t<T>;
  const NoGrad no_grad;
  const std::size_t n = detail::check_crf("crf_decode", emissions, offsets, transitions, start, end);
  const auto x = cast<A>(emissions), a = cast<A>(transitions), b = cast<A>(start), e = cast<A>(end);
  Tensor<std::int32_t, Dev> best({offsets.tokens()});
  const auto begins = offsets.template on<Dev>();
  Kernels<Dev>::crf_decode(detail::crf_args(offsets, n, begins, x.value(), a.value(), b.value(), e.value()), best.mutable_data());
  return best.to_vector();
}

}  // namespace lexformer
