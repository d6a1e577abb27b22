// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "lexformer/core/tensor.hpp"

namespace lexformer {

/// A list of whole numbers in the memory of a device: rows of a table, codes, places. Made on the host, where the smallest and the
/// largest are looked up once, so that nothing has to come back to see whether all are in range. Copies share the numbers.
template <class I, class Dev = Cpu>
class Indices {
 public:
  Indices() = default;
  explicit Indices(std::span<const I> values) {
    if (values.empty()) return;
    values_ = Tensor<I, Dev>::from(values, {values.size()});
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    min_ = *low;
    max_ = *high;
  }
  /// Numbers that are on the device already, all of them in low .. high.
  Indices(Tensor<I, Dev> values, I low, I high) : values_(std::move(values)), min_(low), max_(high) {}
  Indices(const std::vector<I>& values) : Indices(std::span<const I>(values)) {}
  Indices(std::initializer_list<I> values) : Indices(std::span<const I>(values.begin(), values.size())) {}

  const I* data() const { return values_.data(); }
  std::size_t size() const { return values_.size(); }
  bool empty() const { return size() == 0; }
  /// No number is smaller than min() or larger than max(); 0 of an empty list.
  I min() const { return min_; }
  I max() const { return max_; }
  /// Whether all of them are numbers of `count` rows: 0 ... count - 1.
  bool within(std::size_t count) const { return empty() || (std::cmp_greater_equal(min_, 0) && std::cmp_less(max_, count)); }
  /// The numbers on the host again.
  std::vector<I> to_vector() const { return values_.to_vector(); }

 private:
  Tensor<I, Dev> values_;  // undefined if empty
  I min_{}, max_{};
};

}  // namespace lexformer
