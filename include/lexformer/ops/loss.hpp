// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "lexformer/core/indices.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/rows.hpp"

namespace lexformer {

struct CrossEntropyOptions {
  std::int32_t ignore_index = -100;     // rows with this label are ignored
  std::vector<double> class_weights{};  // one per class, each 0 or more; empty = all 1
};

/// Mean cross-entropy:  loss = -sum_i w[y_i] log softmax(x_i)[y_i] / sum_i w[y_i], as torch.nn.CrossEntropyLoss.
///   logits (N, C), labels N class indices -> scalar;    dlogits_i = w[y_i] / sum w (softmax(x_i) - onehot(y_i))
/// If all rows are ignored, the loss and the gradient are 0. Errors: shapes do not match, C = 0, a label is out of range, or a class weight
/// is negative or not finite.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> cross_entropy(const Var<T, Dev>& x, std::span<const std::int32_t> labels,
                                        const CrossEntropyOptions& options = {}) {
  using A = accumulate_t<T>;
  if (x.shape().rank() != 2 || x.dim(0) != labels.size())
    fail("cross_entropy", "logits ", x.shape(), " for ", labels.size(), " labels; expected (labels, classes)");
  const std::size_t n = labels.size(), classes = x.dim(1);
  if (classes == 0) fail("cross_entropy", "logits ", x.shape(), " have no classes; expected at least one");
  if (!options.class_weights.empty() && options.class_weights.size() != classes)
    fail("cross_entropy", options.class_weights.size(), " class weights for ", classes, " classes");
  for (std::size_t c = 0; c < options.class_weights.size(); ++c)
    if (const double w = options.class_weights[c]; !(w >= 0 && w <= static_cast<double>(std::numeric_limits<A>::max())))
      fail("cross_entropy", "the weight of class ", c, " is ", w, "; expected a finite number of 0 or more");
  std::vector<A> weights(options.class_weights.empty() ? 0 : n, A{0});  // empty = all 1
  std::vector<std::int32_t> counted(n, -1);                             // the labels; -1 for ignored rows
  A total{0};
  for (std::size_t i = 0; i < n; ++i) {
    if (labels[i] == options.ignore_index) continue;
    const auto y = static_cast<std::size_t>(labels[i]);
    if (labels[i] < 0 || y >= classes)
      fail("cross_entropy", "label ", labels[i], " of row ", i, " is not one of the ", classes, " classes");
    counted[i] = labels[i];
    if (!weights.empty()) weights[i] = static_cast<A>(options.class_weights[y]);
    total += weights.empty() ? A{1} : weights[i];
  }
  Indices<std::int32_t, Dev> y;
  Tensor<A, Dev> weight;
  ListUpload<Dev> lists;
  lists.add(std::span<const std::int32_t>(counted), y);
  if (!weights.empty()) lists.add(std::span<const A>(weights), weight);
  lists.run();
  Tensor<A, Dev> log_p({n, classes});
  Tensor<A, Dev> loss{Shape{}};
  Kernels<Dev>::softmax(n, classes, true, x.value().data(), log_p.mutable_data());
  Kernels<Dev>::negative_log_likelihood(n, classes, y.data(), weight.data(), total, log_p.data(), loss.mutable_data());
  return record("cross_entropy", loss, std::vector{x}, [=, log_p = Saved(log_p)](const Tensor<A, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    Tensor<T, Dev> dx({n, classes});
    Kernels<Dev>::negative_log_likelihood_grad(n, classes, y.data(), weight.data(), total, dy.data(), log_p->data(), dx.mutable_data());
    return {dx};
  });
}

/// Mean squared error: the mean of (x - target)^2 over all elements, a scalar.    dx = 2 (x - target) / size
template <class T, class Dev>
Var<accumulate_t<T>, Dev> mse_loss(const Var<T, Dev>& x, const std::type_identity_t<Var<accumulate_t<T>, Dev>>& target) {
  if (!(x.shape() == target.shape())) fail("mse_loss", "x ", x.shape(), " and target ", target.shape(), " differ in shape");
  const NameScope scope("mse_loss");
  const auto difference = subtract(cast<accumulate_t<T>>(x), target);
  return mean(multiply(difference, difference));
}

/// Cosine similarity of the rows of a and b: y = <a, b> / max(|a| |b|, eps), as torch.nn.functional.cosine_similarity.
///   a, b (N, D) -> y (N);    da = dy (b / (|a| |b|) - y a / |a|^2), db likewise
template <class T, class Dev>
Var<T, Dev> cosine_similarity(const Var<T, Dev>& a, const Var<T, Dev>& b, accumulate_t<T> eps = accumulate_t<T>(1e-8)) {
  if (!(a.shape() == b.shape()) || a.shape().rank() != 2)
    fail("cosine_similarity", "needs two matrices of the same shape, got ", a.shape(), " and ", b.shape());
  const std::size_t n = a.dim(1), rows = a.dim(0);
  Tensor<T, Dev> y({rows});
  Kernels<Dev>::cosine_similarity(rows, n, eps, a.value().data(), b.value().data(), y.mutable_data());
  return record("cosine_similarity", y, std::vector{a, b},
                [=, av = Saved(a.value()), bv = Saved(b.value())](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  Tensor<T, Dev> da({rows, n}), db({rows, n});
                  Kernels<Dev>::cosine_similarity_grad(rows, n, eps, dy.data(), av->data(), bv->data(), da.mutable_data(),
                                                       db.mutable_data());
                  return {da, db};
                });
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_LOSS(word, T)                                                                                    \
  word template Var<accumulate_t<T>, Cpu> cross_entropy<T, Cpu>(const Var<T, Cpu>&, std::span<const std::int32_t>, \
                                                                const CrossEntropyOptions&);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_LOSS(extern, float)
LEXFORMER_LOSS(extern, double)
#endif

}  // namespace lexformer
