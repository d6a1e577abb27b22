// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "lexformer/core/tensor.hpp"

namespace lexformer {

namespace detail {

/// The smallest and the largest value; there must be one. Unlike std::minmax_element, compilers vectorize it: it runs over the codes of all
/// token pairs of a batch.
template <class I>
std::pair<I, I> bounds(std::span<const I> values) {
  I low = values[0], high = values[0];
  for (const I value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return {low, high};
}

}  // namespace detail

/// A list of integers in device memory: table rows, codes, positions. Built on the host, recording min and max, so range checks need
/// no device copy. Copies share the elements.
template <class I, class Dev = Cpu>
class Indices {
 public:
  Indices() = default;
  explicit Indices(std::span<const I> values) {
    if (values.empty()) return;
    values_ = Tensor<I, Dev>::from(values, {values.size()});
    std::tie(min_, max_) = detail::bounds(values);
  }
  /// Wraps integers that are already on the device. The caller guarantees that all are in low .. high.
  Indices(Tensor<I, Dev> values, I low, I high) : values_(std::move(values)), min_(low), max_(high) {}
  Indices(const std::vector<I>& values) : Indices(std::span<const I>(values)) {}
  Indices(std::initializer_list<I> values) : Indices(std::span<const I>(values.begin(), values.size())) {}

  const I* data() const { return values_.data(); }
  std::size_t size() const { return values_.size(); }
  bool empty() const { return size() == 0; }
  /// Lower and upper bound of the integers; 0 for an empty list.
  I min() const { return min_; }
  I max() const { return max_; }
  /// Whether all integers are in 0 .. count - 1.
  bool within(std::size_t count) const { return empty() || (std::cmp_greater_equal(min_, 0) && std::cmp_less(max_, count)); }
  /// Copies the integers to the host.
  std::vector<I> to_vector() const { return values_.to_vector(); }

 private:
  Tensor<I, Dev> values_;  // undefined if empty
  I min_{}, max_{};
};

#if defined(LEXFORMER_COMPILED)
extern template class Indices<std::int32_t, Cpu>;
extern template class Indices<std::size_t, Cpu>;
#endif

}  // namespace lexformer
