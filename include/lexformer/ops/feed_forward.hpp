// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <vector>

#include "lexformer/kernels/products/feed_forward_args.hpp"
#include "lexformer/ops/matmul.hpp"

namespace lexformer {

/// The feed-forward block of BERT (Vaswani et al. 2017, eq. 2, with GELU): y = GELU(h) w2^T + b2 with h = x w1^T + b1. Equal to
/// linear(gelu(linear(x, w1, b1)), w2, b2), but stores h only: backward computes GELU(h) again, in the pass that computes GELU'(h).
/// Without a gradient, the CPU computes many rows of float or double block by block, and h is not stored (gemm_feed_forward).
///   x (N, D), w1 (M, D), b1 (M), w2 (E, M), b2 (E) -> y (N, E)
///   dh = (dy w2) GELU'(h);  dx = dh w1,  dw1 = dh^T x,  db1 = column sums of dh;  dw2 = dy^T GELU(h),  db2 = column sums of dy
/// Errors: a shape does not match.
template <class T, class Dev>
Var<T, Dev> feed_forward(const Var<T, Dev>& x, const Var<T, Dev>& w1, const Var<T, Dev>& b1, const Var<T, Dev>& w2, const Var<T, Dev>& b2) {
  if (x.shape().rank() != 2) fail("feed_forward", "x must be a matrix (rows, in), got ", x.shape());
  const std::size_t rows = x.dim(0), in = x.dim(1);
  if (w1.shape().rank() != 2 || w1.dim(1) != in) fail("feed_forward", "w1 ", w1.shape(), " does not fit x ", x.shape());
  const std::size_t inner = w1.dim(0);
  if (w2.shape().rank() != 2 || w2.dim(1) != inner) fail("feed_forward", "w2 ", w2.shape(), " does not fit w1 ", w1.shape());
  const std::size_t out = w2.dim(0);
  if (!(b1.shape() == Shape{inner}) || !(b2.shape() == Shape{out}))
    fail("feed_forward", "biases ", b1.shape(), " and ", b2.shape(), " do not fit w1 ", w1.shape(), " and w2 ", w2.shape());

  const std::vector inputs{x, w1, b1, w2, b2};
  std::vector<bool> needed;
  for (const auto& v : inputs) needed.push_back(v.requires_grad());
  const bool keeps = is_recorded(inputs);
  Tensor<T, Dev> h, y({rows, out});
  bool done = false;
  if constexpr (std::is_same_v<Dev, Cpu> && !is_storage<T>) {
    const auto gelu_in_place = [](std::size_t n, T* values) { Kernels<Dev>::template map<scalar::Gelu>(n, values, values); };
    done = !keeps && gemm_feed_forward<T>({rows, in, inner, out, x.value().data(), w1.value().data(), b1.value().data(), w2.value().data(),
                                           b2.value().data(), gelu_in_place, y.mutable_data()});
  }
  if (!done) {
    h = Tensor<T, Dev>({rows, inner});
    Kernels<Dev>::gemm(false, true, rows, inner, in, T{1}, x.value().data(), in, w1.value().data(), in, T{0}, h.mutable_data(), inner,
                       b1.value().data());
    Tensor<T, Dev> a = keeps ? Tensor<T, Dev>(h.shape()) : h;
    Kernels<Dev>::template map<scalar::Gelu>(h.size(), h.data(), a.mutable_data());
    Kernels<Dev>::gemm(false, true, rows, out, inner, T{1}, a.data(), inner, w2.value().data(), inner, T{0}, y.mutable_data(), out,
                       b2.value().data());
  }
  constexpr bool adds = detail::linear_adds<T, Dev>;
  return record_all(
      "feed_forward", std::vector{std::move(y)}, inputs,
      [=, needed = std::move(needed), xv = Saved(x.value()), w1v = Saved(w1.value()), w2v = Saved(w2.value()),
       h = std::move(h)](const std::vector<Tensor<T, Dev>>& given) mutable {
        const Tensor<T, Dev>& dy = given[0];
        std::vector<Tensor<T, Dev>> d(needed.size());
        Tensor<T, Dev> dh({rows, inner});
        Kernels<Dev>::gemm(false, false, rows, inner, out, T{1}, dy.data(), out, w2v->data(), inner, T{0}, dh.mutable_data(), inner);
        Kernels<Dev>::gelu_with_grad(h.size(), h.mutable_data(), dh.mutable_data());  // h becomes GELU(h)
        std::tie(d[3], d[4]) = detail::linear_weight_grads<T, Dev>(needed[3], needed[4], rows, out, inner, dy.data(), out, h.data());
        h = {};
        if (needed[0]) {
          const bool sum = adds && given[1].defined();
          d[0] = sum ? given[1] : Tensor<T, Dev>({rows, in});
          Kernels<Dev>::gemm(false, false, rows, in, inner, T{1}, dh.data(), inner, w1v->data(), in, sum ? T{1} : T{0}, d[0].mutable_data(),
                             in);
        }
        std::tie(d[1], d[2]) = detail::linear_weight_grads<T, Dev>(needed[1], needed[2], rows, inner, in, dh.data(), inner, xv->data());
        return d;
      },
      adds)[0];
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_FEED_FORWARD(word, T)                                                                                          \
  word template Var<T, Cpu> feed_forward<T, Cpu>(const Var<T, Cpu>&, const Var<T, Cpu>&, const Var<T, Cpu>&, const Var<T, Cpu>&, \
                                                 const Var<T, Cpu>&);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_FEED_FORWARD(extern, float)
LEXFORMER_FEED_FORWARD(extern, double)
#endif

}  // namespace lexformer
