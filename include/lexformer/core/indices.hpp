// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Copies several lists to the device at once: a GPU takes longer to begin a copy than to copy the lists of a batch.
///   ListUpload<Dev> lists;  lists.add(ids, device_ids);  lists.add(codes, device_codes);  lists.run();
/// The copies share one block of memory, which exists as long as one of them.
template <class Dev>
class ListUpload {
 public:
  /// run() copies `values` and sets `to`; both must still exist then.
  template <class I>
  void add(std::span<const I> values, Indices<I, Dev>& to) {
    if (values.empty()) return;
    const auto [low, high] = detail::bounds(values);
    set_.push_back([&to, place = append(values), n = values.size(), low = low, high = high](const Tensor<std::uint8_t, Dev>& all) {
      to = Indices<I, Dev>(all.template view<I>(place, {n}), low, high);
    });
  }
  template <class T>
  void add(std::span<const T> values, Tensor<T, Dev>& to) {
    set_.push_back(
        [&to, place = append(values), n = values.size()](const Tensor<std::uint8_t, Dev>& all) { to = all.template view<T>(place, {n}); });
  }
  void run() {
    Tensor<std::uint8_t, Dev> all({size_});
    Memory<Dev>::upload(all.mutable_data(), parts_);
    for (const auto& set : set_) set(all);
  }

 private:
  static constexpr std::size_t alignment = 16;

  /// Returns the index of the first byte.
  template <class T>
  std::size_t append(std::span<const T> values) {
    const std::size_t place = (size_ + alignment - 1) / alignment * alignment;
    parts_.push_back({values.data(), values.size_bytes(), place});
    size_ = place + values.size_bytes();
    return place;
  }

  std::size_t size_ = 0;  // bytes
  std::vector<UploadPart> parts_;
  std::vector<std::function<void(const Tensor<std::uint8_t, Dev>&)>> set_;
};

}  // namespace lexformer
