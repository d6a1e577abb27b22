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
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

#include "lexformer/core/cache_lock.hpp"

namespace lexformer {

struct PackedWeights<bfloat16, Cpu>::State {
  struct Source {
    Tensor<bfloat16> value;  // kept, so that no other tensor gets its address
    std::uint64_t version;
  };
  static std::vector<Source> sources(const std::vector<Tensor<bfloat16>>& tensors) {
    std::vector<Source> out;
    for (const auto& t : tensors) out.push_back({t, t.version()});
    return out;
  }

  std::mutex mutex{};
  std::vector<Source> weights{}, biases{};
  std::shared_ptr<const Bfloat16Weights> packed{};

  static bool is_made_of(const std::vector<Source>& sources, const std::vector<Var<bfloat16>>& now) {
    return std::equal(sources.begin(), sources.end(), now.begin(), now.end(), [](const Source& s, const Var<bfloat16>& v) {
      if (!v.defined()) return !s.value.defined();
      return s.value.data() == v.value().data() && s.value.shape() == v.value().shape() && s.version == v.value().version();
    });
  }
};

LEXFORMER_INLINE PackedWeights<bfloat16, Cpu>::PackedWeights() : state_(std::make_shared<State>()) {}
LEXFORMER_INLINE PackedWeights<bfloat16, Cpu>& PackedWeights<bfloat16, Cpu>::operator=(const PackedWeights& other) {
  if (this != &other) state_ = std::make_shared<State>();
  return *this;
}

LEXFORMER_INLINE std::shared_ptr<const Bfloat16Weights> PackedWeights<bfloat16, Cpu>::of(const std::vector<Var<bfloat16>>& weights,
                                                                                         const std::vector<Var<bfloat16>>& biases) const {
  if (detail::graph_state().recording || !packs_bfloat16()) return nullptr;
  const auto lock = detail::lock_cache(state_->mutex);
  if (lock && state_->packed && State::is_made_of(state_->weights, weights) && State::is_made_of(state_->biases, biases))
    return state_->packed;
  std::vector<Tensor<bfloat16>> of_weights, of_biases;
  for (const auto& w : weights) of_weights.push_back(w.value());
  for (const auto& b : biases) of_biases.push_back(b.defined() ? b.value() : Tensor<bfloat16>());
  if (lock) state_->packed = nullptr;  // if this fails, what is kept counts as nothing
  auto packed = std::make_shared<const Bfloat16Weights>(of_weights, of_biases);
  if (lock) {
    state_->weights = State::sources(of_weights);
    state_->biases = State::sources(of_biases);
    state_->packed = packed;
  }
  return packed;
}

}  // namespace lexformer
#endif
