// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/cache_lock.hpp"

namespace lexformer {

/// Keeps a value that is made of weights, for inference: made at the first use, and again after a weight has changed; of a change through
/// a kept pointer Tensor::touch() tells. Several threads may use an object; a copy of it starts empty.
template <class Value, class T = float, class Dev = Cpu>
class WeightCache {
 public:
  WeightCache() = default;
  WeightCache(const WeightCache&) : WeightCache() {}
  WeightCache& operator=(const WeightCache&) = delete;
  ~WeightCache() = default;

  /// The value of make(), a std::shared_ptr<const Value>. Some weights may be undefined.
  template <class Make>
  std::shared_ptr<const Value> of(const std::vector<Var<T, Dev>>& weights, Make&& make) const {
    const auto lock = detail::lock_cache(mutex_);
    if (!lock) return make();
    if (value_ && is_made_of(weights)) return value_;
    value_ = nullptr;  // if make() fails, nothing is kept
    auto value = make();
    sources_.clear();
    for (const auto& w : weights) sources_.push_back({w.defined() ? w.value() : Tensor<T, Dev>(), w.defined() ? w.value().version() : 0});
    value_ = value;
    return value;
  }

 private:
  struct Source {
    Tensor<T, Dev> value;  // kept, so that no other tensor gets its address
    std::uint64_t version;
  };
  bool is_made_of(const std::vector<Var<T, Dev>>& weights) const {
    return std::equal(sources_.begin(), sources_.end(), weights.begin(), weights.end(), [](const Source& s, const Var<T, Dev>& v) {
      if (!v.defined()) return !s.value.defined();
      return s.value.data() == v.value().data() && s.value.shape() == v.value().shape() && s.version == v.value().version();
    });
  }

  mutable std::mutex mutex_{};
  mutable std::vector<Source> sources_{};
  mutable std::shared_ptr<const Value> value_{};
};

}  // namespace lexformer
