// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/kernels/gemm_int8.hpp"

namespace lexformer {

namespace detail {

/// Runs `kernel` on x (rows, inputs) and a new y (rows, outputs). Errors: x is of another width or requires a gradient; another type or
/// device.
template <class T, class Dev, class Kernel>
Var<T, Dev> apply_int8(const char* name, const Var<T, Dev>& x, std::size_t inputs, std::size_t outputs, Kernel&& kernel) {
  if (x.shape().rank() != 2 || x.dim(1) != inputs) fail(name, "x must be (rows, ", inputs, "), got ", x.shape());
  if (x.requires_grad() && graph_state().recording)
    fail_usage(name, "a model in 8 bits cannot be trained; train it in float, and round it afterwards (quantize)");
  if constexpr (std::is_same_v<T, float> && std::is_same_v<Dev, Cpu>) {
    Tensor<T, Dev> y({x.dim(0), outputs});
    kernel(x.dim(0), x.value().data(), y.mutable_data());
    return record(name, y, std::vector{x}, [](const Tensor<T, Dev>&) { return std::vector<Tensor<T, Dev>>(1); });
  } else {
    fail_usage(name, "layers in 8 bits are computed in float32 on the CPU only");
  }
}

}  // namespace detail

/// Linear layers with weights in 8 bits: y = x W^T + b (kernels/gemm_int8.hpp).    x (N, in) -> y (N, out)
/// Inference only, in float on the CPU. Errors: x requires a gradient; another type or device.
template <class T, class Dev>
Var<T, Dev> linear_int8(const Var<T, Dev>& x, const Int8Weights& w) {
  return detail::apply_int8("linear_int8", x, w.inputs(), w.outputs(), [&](std::size_t rows, const float* from, float* to) {
    linear_int8(rows, from, w.inputs(), w, to, w.outputs());
  });
}

/// A feed-forward block in 8 bits: y = GELU(x W_1^T + b_1) W_2^T + b_2.    x (N, in) -> y (N, out)
/// Errors: those of linear_int8; the sizes of the layers do not fit.
template <class T, class Dev>
Var<T, Dev> feed_forward_int8(const Var<T, Dev>& x, const Int8Weights& w1, const Int8Weights& w2) {
  if (w1.outputs() != w2.inputs()) fail("feed_forward_int8", w1.outputs(), " outputs of the first layer, ", w2.inputs(), " inputs");
  return detail::apply_int8("feed_forward_int8", x, w1.inputs(), w2.outputs(),
                            [&](std::size_t rows, const float* from, float* to) { feed_forward_int8(rows, from, w1, w2, to); });
}

}  // namespace lexformer
