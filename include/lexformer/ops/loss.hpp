// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/rows.hpp"

namespace lexformer {

struct CrossEntropyOptions {
  std::int32_t ignore_index = -100;     // rows with this label do not count
  std::vector<double> class_weights{};  // one for each class, or none
};

/// Mean cross-entropy:  loss = -sum_i w[y_i] log softmax(x_i)[y_i] / sum_i w[y_i], as torch.nn.CrossEntropyLoss.
///   logits (N, C), labels N class numbers -> scalar;    dlogits_i = w[y_i] / sum w (softmax(x_i) - onehot(y_i))
/// With no row that counts the loss is 0 and so is the gradient.
template <class T, class Dev>
Var<T, Dev> cross_entropy(const Var<T, Dev>& logits, std::span<const std::int32_t> labels, const CrossEntropyOptions& options = {}) {
  using A = accumulate_t<T>;
  if (logits.shape().rank() != 2 || logits.dim(0) != labels.size())
    fail("cross_entropy", "logits ", logits.shape(), " for ", labels.size(), " labels; want (labels, classes)");
  const std::size_t n = labels.size(), classes = logits.dim(1);
  if (!options.class_weights.empty() && options.class_weights.size() != classes)
    fail("cross_entropy", options.class_weights.size(), " class weights for ", classes, " classes");
  Tensor<T, Dev> log_p({n, classes});
  Kernels<Dev>::softmax(n, classes, true, logits.value().data(), log_p.mutable_data());
  std::vector<A> weight(n, A{0});
  A total{0}, loss{0};
  for (std::size_t i = 0; i < n; ++i) {
    if (labels[i] == options.ignore_index) continue;
    const auto y = static_cast<std::size_t>(labels[i]);
    if (labels[i] < 0 || y >= classes)
      fail("cross_entropy", "label ", labels[i], " of row ", i, " is not one of the ", classes, " classes");
    weight[i] = options.class_weights.empty() ? A{1} : static_cast<A>(options.class_weights[y]);
    total += weight[i];
    loss -= weight[i] * log_p.data()[i * classes + y];
  }
  if (total != A{0}) loss /= total;
  return record("cross_entropy", Tensor<T, Dev>::scalar(static_cast<T>(loss)), std::vector{logits},
                [=, weight = std::move(weight), log_p = Saved(log_p),
                 y = std::vector<std::int32_t>(labels.begin(), labels.end())](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  auto dx = Tensor<T, Dev>::zeros({n, classes});
                  T* d = dx.mutable_data();
                  for (std::size_t i = 0; i < n; ++i) {
                    if (weight[i] == A{0}) continue;
                    const A factor = weight[i] / total * dy.item();
                    for (std::size_t c = 0; c < classes; ++c) d[i * classes + c] = factor * scalar::exp(log_p->data()[i * classes + c]);
                    d[i * classes + static_cast<std::size_t>(y[i])] -= factor;
                  }
                  return {dx};
                });
}

/// Mean of (x - target)^2 over all elements, a scalar.    dx = 2 (x - target) / size
template <class T, class Dev>
Var<T, Dev> mse_loss(const Var<T, Dev>& x, const Var<T, Dev>& target) {
  if (!(x.shape() == target.shape())) fail("mse_loss", "x ", x.shape(), " and target ", target.shape(), " differ");
  const NameScope scope("mse_loss");
  const auto difference = subtract(x, target);
  return mean(multiply(difference, difference));
}

/// Cosine of the angle between the rows of a and b: (N, D), (N, D) -> (N), as torch's: <a, b> / max(|a| |b|, eps).
///   da = dy (b / (|a| |b|) - cos a / |a|^2), and likewise db
template <class T, class Dev>
Var<T, Dev> cosine_similarity(const Var<T, Dev>& a, const Var<T, Dev>& b, T eps = T(1e-8)) {
  using A = accumulate_t<T>;
  if (!(a.shape() == b.shape()) || a.shape().rank() != 2)
    fail("cosine_similarity", "needs two matrices of one shape, got ", a.shape(), " and ", b.shape());
  const std::size_t n = a.dim(1), rows = a.dim(0);
  Tensor<T, Dev> y({rows});
  T* out = y.mutable_data();
  const auto dot = [n](const T* p, const T* q) { return row::lane_sum<A>(n, [=](std::size_t j) { return static_cast<A>(p[j]) * q[j]; }); };
  for (std::size_t i = 0; i < rows; ++i) {
    const T *p = a.value().data() + i * n, *q = b.value().data() + i * n;
    out[i] = dot(p, q) / std::max<A>(std::sqrt(dot(p, p) * dot(q, q)), eps);
  }
  return record("cosine_similarity", y, std::vector{a, b},
                [=, av = Saved(a.value()), bv = Saved(b.value())](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  Tensor<T, Dev> da({rows, n}), db({rows, n});
                  T *to_a = da.mutable_data(), *to_b = db.mutable_data();
                  for (std::size_t i = 0; i < rows; ++i) {
                    const T *p = av->data() + i * n, *q = bv->data() + i * n;
                    const A pp = dot(p, p), qq = dot(q, q), norm = std::sqrt(pp * qq), g = dy.data()[i];
                    const bool clamped = norm < eps;  // then the denominator is the constant eps
                    const A inverse = A{1} / std::max<A>(norm, eps), cosine = clamped ? A{0} : dot(p, q) * inverse;
                    for (std::size_t j = 0; j < n; ++j) {
                      to_a[i * n + j] = g * (q[j] * inverse - (clamped ? A{0} : cosine * p[j] / pp));
                      to_b[i * n + j] = g * (p[j] * inverse - (clamped ? A{0} : cosine * q[j] / qq));
                    }
                  }
                  return {da, db};
                });
}

}  // namespace lexformer
