// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/kernels/products/linear_bfloat16.hpp"

namespace lexformer {

/// The weights of linear layers on one input as the products of bfloat16 read them, for inference (kernels/products/linear_bfloat16.hpp).
/// They are packed at the first use, and again after a weight has changed; of a change through a kept pointer Tensor::touch() tells. They
/// stay in memory beside the weights. Several threads may use an object; a copy of it starts empty.
template <class T, class Dev>
class PackedWeights {
 public:
  /// Null if they do not help: a gradient may be needed, T is not bfloat16, or the processor does not multiply it.
  std::shared_ptr<const Bfloat16Weights> of(const std::vector<Var<T, Dev>>&, const std::vector<Var<T, Dev>>&) const { return nullptr; }
};

template <>
class PackedWeights<bfloat16, Cpu> {
 public:
  PackedWeights();
  PackedWeights(const PackedWeights&) : PackedWeights() {}
  PackedWeights& operator=(const PackedWeights&);
  ~PackedWeights() = default;
  std::shared_ptr<const Bfloat16Weights> of(const std::vector<Var<bfloat16>>& weights, const std::vector<Var<bfloat16>>& biases) const;

 private:
  struct State;  // not here, since <mutex> takes long to compile
  std::shared_ptr<State> state_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/nn/weight_cache.hpp"

namespace lexformer {

struct PackedWeights<bfloat16, Cpu>::State {
  WeightCache<Bfloat16Weights, bfloat16> cache{};
};

LEXFORMER_INLINE PackedWeights<bfloat16, Cpu>::PackedWeights() : state_(std::make_shared<State>()) {}
LEXFORMER_INLINE PackedWeights<bfloat16, Cpu>& PackedWeights<bfloat16, Cpu>::operator=(const PackedWeights& other) {
  if (this != &other) state_ = std::make_shared<State>();
  return *this;
}

LEXFORMER_INLINE std::shared_ptr<const Bfloat16Weights> PackedWeights<bfloat16, Cpu>::of(const std::vector<Var<bfloat16>>& weights,
                                                                                         const std::vector<Var<bfloat16>>& biases) const {
  if (detail::graph_state().recording || !packs_bfloat16()) return nullptr;
  auto all = weights;
  all.insert(all.end(), biases.begin(), biases.end());
  return state_->cache.of(all, [&] {
    std::vector<Tensor<bfloat16>> of_weights, of_biases;
    for (const auto& w : weights) of_weights.push_back(w.value());
    for (const auto& b : biases) of_biases.push_back(b.defined() ? b.value() : Tensor<bfloat16>());
    return std::make_shared<const Bfloat16Weights>(of_weights, of_biases);
  });
}

}  // namespace lexformer
#endif
