// SPDX-License-Identifier: MIT
// Linear layers with weights packed for inference: in 8 bits (kernels/products/gemm_int8.hpp) or bfloat16
// (kernels/products/linear_bfloat16.hpp).
#pragma once

#include <type_traits>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/kernels/products/gemm_int8.hpp"
#include "lexformer/kernels/products/linear_bfloat16.hpp"

namespace lexformer {

namespace detail {

/// Runs `kernel` on x (rows, inputs) and a new y (rows, outputs), both of type Number. Errors: x is of another width; x requires a gradient
/// (`no_gradient`); T or the device is another one (`only`).
template <class Number, class T, class Dev, class Kernel>
Var<T, Dev> apply_packed(const char* name, const char* no_gradient, const char* only, const Var<T, Dev>& x, std::size_t inputs,
                         std::size_t outputs, Kernel&& kernel) {
  if (x.shape().rank() != 2 || x.dim(1) != inputs) fail(name, "x must be (rows, ", inputs, "), got ", x.shape());
  if (x.requires_grad() && graph_state().recording) fail_usage(name, no_gradient);
  if constexpr (std::is_same_v<T, Number> && std::is_same_v<Dev, Cpu>) {
    if (std::is_same_v<T, float> || packs_bfloat16()) {
      Tensor<T, Dev> y({x.dim(0), outputs});
      kernel(x.dim(0), x.value().data(), y.mutable_data());
      return record(name, y, std::vector{x}, [](const Tensor<T, Dev>&) { return std::vector<Tensor<T, Dev>>(1); });
    }
  }
  fail_usage(name, only);
}
template <class T, class Dev, class Kernel>
Var<T, Dev> apply_int8(const char* name, const Var<T, Dev>& x, std::size_t inputs, std::size_t outputs, Kernel&& kernel) {
  return apply_packed<float>(name, "a model in 8 bits cannot be trained; train it in float, and round it afterwards (quantize)",
                             "layers in 8 bits are computed in float32 on the CPU only", x, inputs, outputs, kernel);
}
template <class T, class Dev, class Kernel>
Var<T, Dev> apply_bfloat16(const char* name, const Var<T, Dev>& x, std::size_t inputs, std::size_t outputs, Kernel&& kernel) {
  return apply_packed<bfloat16>(name, "packed weights have no gradient; use linear()",
                                "packed weights need bfloat16 and a CPU with AVX-512; use linear()", x, inputs, outputs,
                                kernel);
}

}  // namespace detail

/// Linear layers with weights in 8 bits: y = x W^T + b.    x (N, in) -> y (N, out)
/// Inference only, in float on the CPU. Errors: x requires a gradient; another type or device.
template <class T, class Dev>
Var<T, Dev> linear_int8(const Var<T, Dev>& x, const Int8Weights& w) {
  return detail::apply_int8("linear_int8", x, w.inputs(), w.outputs(), [&](std::size_t rows, const float* from, float* to) {
    linear_int8(rows, from, w.inputs(), w, to, w.outputs());
  });
}

/// A feed-forward block in 8 bits: y = GELU(x W_1^T + b_1) W_2^T + b_2.    x (N, in) -> y (N, out)
/// Errors: as linear_int8; the sizes of the layers do not fit.
template <class T, class Dev>
Var<T, Dev> feed_forward_int8(const Var<T, Dev>& x, const Int8Weights& w1, const Int8Weights& w2) {
  if (w1.outputs() != w2.inputs()) fail("feed_forward_int8", w1.outputs(), " outputs of the first layer, ", w2.inputs(), " inputs");
  return detail::apply_int8("feed_forward_int8", x, w1.inputs(), w2.outputs(),
                            [&](std::size_t rows, const float* from, float* to) { feed_forward_int8(rows, from, w1, w2, to); });
}

/// Linear layers with packed weights in bfloat16: y = x W^T + b.    x (N, in) -> y (N, out)
/// Inference only, on a CPU with AVX-512 (packs_bfloat16()). Errors: x requires a gradient; another type, device or CPU.
template <class T, class Dev>
Var<T, Dev> linear_bfloat16(const Var<T, Dev>& x, const Bfloat16Weights& w) {
  return detail::apply_bfloat16("linear_bfloat16", x, w.inputs(), w.outputs(),
                                [&](std::size_t rows, const bfloat16* from, bfloat16* to) { linear_bfloat16(rows, from, w, to); });
}

/// A feed-forward block with packed weights in bfloat16: y = GELU(x W_1^T + b_1) W_2^T + b_2.    x (N, in) -> y (N, out)
/// Errors: as linear_bfloat16; the sizes of the layers do not fit.
template <class T, class Dev>
Var<T, Dev> feed_forward_bfloat16(const Var<T, Dev>& x, const Bfloat16Weights& w1, const Bfloat16Weights& w2) {
  if (w1.outputs() != w2.inputs()) fail("feed_forward_bfloat16", w1.outputs(), " outputs of the first layer, ", w2.inputs(), " inputs");
  return detail::apply_bfloat16(
      "feed_forward_bfloat16", x, w1.inputs(), w2.outputs(),
      [&](std::size_t rows, const bfloat16* from, bfloat16* to) { feed_forward_bfloat16(rows, from, w1, w2, to); });
}

}  // namespace lexformer
