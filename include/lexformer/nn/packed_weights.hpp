// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/kernels/linear_bfloat16.hpp"

namespace lexformer {

/// The weights of linear layers on one input as the products of bfloat16 read them, for inference (kernels/linear_bfloat16.hpp). They are
/// packed at the first use, and again after a weight has changed; they stay in memory beside the weights. Several threads may use an
/// object; a copy of it starts empty.
template <class T, class Dev>
class PackedWeights {
 public:
  PackedWeights() = default;
  PackedWeights(const PackedWeights&) noexcept {}  // NOLINT(bugprone-copy-constructor-init)
  PackedWeights& operator=(const PackedWeights&) noexcept {
    entry_.reset();
    return *this;
  }
  ~PackedWeights() = default;

  /// Null if they do not help: a gradient may be needed, T is not bfloat16, or the processor does not multiply it.
  std::shared_ptr<const Bfloat16Weights> of(const std::vector<Var<T, Dev>>& weights, const std::vector<Var<T, Dev>>& biases) const {
    if constexpr (std::is_same_v<T, bfloat16> && std::is_same_v<Dev, Cpu>) {
      if (detail::graph_state().recording || !multiplies_bfloat16()) return nullptr;
      const std::lock_guard lock(mutex_);
      if (!entry_ || !is_made_of(entry_->weights, weights) || !is_made_of(entry_->biases, biases)) {
        const auto made = std::make_shared<Entry>();
        std::vector<Tensor<T, Dev>> of_weights, of_biases;
        for (const auto& w : weights) of_weights.push_back(made->weights.emplace_back(w.value()).value);
        for (const auto& b : biases) of_biases.push_back(made->biases.emplace_back(b.defined() ? b.value() : Tensor<T, Dev>()).value);
        made->packed = std::make_shared<const Bfloat16Weights>(of_weights, of_biases);
        entry_ = made;
      }
      return entry_->packed;
    } else {
      return nullptr;
    }
  }

 private:
  struct Source {
    Tensor<T, Dev> value;  // kept, so that no other tensor gets its address
    std::uint64_t version;
    explicit Source(const Tensor<T, Dev>& tensor) : value(tensor), version(tensor.version()) {}
  };
  struct Entry {
    std::vector<Source> weights, biases;
    std::shared_ptr<const Bfloat16Weights> packed;
  };
  static bool is_made_of(const std::vector<Source>& sources, const std::vector<Var<T, Dev>>& now) {
    return std::equal(sources.begin(), sources.end(), now.begin(), now.end(), [](const Source& s, const Var<T, Dev>& v) {
      if (!v.defined()) return !s.value.defined();
      return s.value.data() == v.value().data() && s.value.shape() == v.value().shape() && s.version == v.value().version();
    });
  }

  mutable std::mutex mutex_{};
  mutable std::shared_ptr<Entry> entry_{};
};

}  // namespace lexformer
