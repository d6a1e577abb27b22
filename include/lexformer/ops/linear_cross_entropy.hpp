// SPDX-License-Identifier: MIT
// The loss of an output layer with many classes, e.g. the tokens of a vocabulary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/indices.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

struct LinearCrossEntropyOptions {
  std::size_t chunk = 0;  // rows whose logits are in memory at once; 0 = as many as fit into 8 MiB
};

/// Mean cross-entropy of a linear layer:  loss = -1/M sum_i log softmax(z_i)[y_i]  with  z = x W^T + b.
/// Equal to cross_entropy(linear(x, weight, bias), labels), without ever holding all (M, V) logits in memory.
///   x (M, D), weight (V, D), bias (V) or undefined, labels M class indices -> scalar
///   dz_i = (softmax(z_i) - onehot(y_i)) / M;    dx = dz W,  dW = dz^T x,  db = column sums of dz, all times dy
/// Rows are processed in chunks, in order. The forward pass also computes the gradients, because each chunk's logits are overwritten
/// by dz and then discarded; backward() multiplies them by dy. Same idea: Hsu et al., "Liger Kernel", 2024.
/// The chunk size fixes the order of the sums in dW and db, so it does not depend on the number of threads.
/// Errors: shapes do not match, a label is out of range, or there are no rows.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> linear_cross_entropy(const Var<T, Dev>& x, const Var<T, Dev>& weight, const Var<T, Dev>& bias,
                                               std::span<const std::int32_t> labels, const LinearCrossEntropyOptions& options = {}) {
  if (x.shape().rank() != 2 || weight.shape().rank() != 2 || weight.dim(1) != x.dim(1))
    fail("linear_cross_entropy", "x ", x.shape(), " and weight ", weight.shape(), "; expected (rows, in) and (classes, in)");
  const std::size_t rows = x.dim(0), width = x.dim(1), classes = weight.dim(0);
  if (bias.defined() && !(bias.shape() == Shape{classes}))
    fail("linear_cross_entropy", "bias ", bias.shape(), " does not fit weight ", weight.shape());
  if (labels.size() != rows) fail("linear_cross_entropy", "x ", x.shape(), " for ", labels.size(), " labels; expected one label per row");
  if (rows == 0) fail("linear_cross_entropy", "x has no rows, so the mean loss is undefined");
  for (std::size_t i = 0; i < rows; ++i)
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= classes)
      fail("linear_cross_entropy", "label ", labels[i], " of row ", i, " is not one of the ", classes, " classes");

  const std::vector<Var<T, Dev>> inputs{x, weight, bias};
  // The gradients of weight and bias are summed over the chunks.
  using A = accumulate_t<T>;
  std::vector<Tensor<A, Dev>> gradients(3);
  for (std::size_t i = 0; i < 3; ++i)
    if (detail::graph_state().recording && inputs[i].requires_grad()) gradients[i] = Tensor<A, Dev>(inputs[i].shape());
  const bool wants_bias = gradients[2].defined();
  if (wants_bias) gradients[2] = Tensor<A, Dev>::zeros({classes});

  const std::size_t chunk =
      std::min(rows, options.chunk > 0 ? options.chunk : std::max<std::size_t>(1, (std::size_t{1} << 23) / sizeof(T) / classes));
  Tensor<T, Dev> logits({chunk, classes});
  Tensor<A, Dev> losses({rows}), part(wants_bias ? Shape{classes} : Shape{0});
  const Indices<std::int32_t, Dev> classes_of(labels);
  const T *xs = x.value().data(), *w = weight.value().data(), *b = bias.defined() ? bias.value().data() : nullptr;
  T* const z = logits.mutable_data();
  auto* const loss_of = losses.mutable_data();
  for (std::size_t begin = 0; begin < rows; begin += chunk) {
    const std::size_t count = std::min(chunk, rows - begin);
    const T* const in = xs + begin * width;
    Kernels<Dev>::gemm(false, true, count, classes, width, T{1}, in, width, w, width, T{0}, z, classes, b);
    Kernels<Dev>::cross_entropy(count, classes, classes_of.data() + begin, A{1} / static_cast<A>(rows), z, loss_of + begin);
    if (gradients[0].defined())
      Kernels<Dev>::gemm(false, false, count, width, classes, T{1}, z, classes, w, width, T{0}, gradients[0].mutable_data() + begin * width,
                         width);
    if (gradients[1].defined())
      Kernels<Dev>::gemm(true, false, classes, width, count, T{1}, z, classes, in, width, begin == 0 ? T{0} : T{1},
                         gradients[1].mutable_data(), width);
    if (wants_bias) {
      Kernels<Dev>::column_sum(count, classes, z, classes, part.mutable_data());
      Kernels<Dev>::add_to(classes, part.data(), gradients[2].mutable_data());
    }
  }
  Tensor<A, Dev> loss{Shape{}};
  Kernels<Dev>::mean_loss(rows, losses.data(), loss.mutable_data());
  return record("linear_cross_entropy", loss, inputs, [gradients = std::move(gradients)](const Tensor<A, Dev>& dy) {
    std::vector<Tensor<T, Dev>> d(gradients.size());
    for (std::size_t i = 0; i < d.size(); ++i) {
      auto g = gradients[i];  // shares the elements: nothing else reads them, so they are scaled in place
      if (!g.defined()) continue;
      Kernels<Dev>::scale_by(g.size(), dy.data(), g.data(), g.mutable_data());
      d[i] = detail::cast<T>(g);
    }
    return d;
  });
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_LINEAR_CROSS_ENTROPY(word, T)                                                                                    \
  word template Var<accumulate_t<T>, Cpu> linear_cross_entropy<T, Cpu>(const Var<T, Cpu>&, const Var<T, Cpu>&, const Var<T, Cpu>&, \
                                                                       std::span<const std::int32_t>, const LinearCrossEntropyOptions&);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_LINEAR_CROSS_ENTROPY(extern, float)
LEXFORMER_LINEAR_CROSS_ENTROPY(extern, double)
#endif

}  // namespace lexformer
