// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "lexformer/core/indices.hpp"

namespace lexformer {

/// Copies several lists to the device at once: a GPU takes longer to begin a copy than to copy the lists of a batch.
///   ListUpload<Dev> lists;  lists.add(ids, device_ids);  lists.add(codes, device_codes);  lists.run();
template <class Dev>
class ListUpload {
 public:
  /// run() copies `values` and sets `to`, which must still exist then.
  template <class I>
  void add(std::span<const I> values, Indices<I, Dev>& to) {
    if (values.empty()) return;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    set_.push_back([&to, place = append(values), n = values.size(), low = *low, high = *high](const Tensor<std::uint8_t, Dev>& all) {
      to = Indices<I, Dev>(all.template view<I>(place, {n}), low, high);
    });
  }
  template <class T>
  void add(std::span<const T> values, Tensor<T, Dev>& to) {
    set_.push_back(
        [&to, place = append(values), n = values.size()](const Tensor<std::uint8_t, Dev>& all) { to = all.template view<T>(place, {n}); });
  }
  void run() {
    const auto all = Tensor<std::uint8_t, Dev>::from(bytes_, {bytes_.size()});
    for (const auto& set : set_) set(all);
  }

 private:
  static constexpr std::size_t alignment = 16;

  /// Returns the index of the first byte.
  template <class T>
  std::size_t append(std::span<const T> values) {
    const std::size_t begin = (bytes_.size() + alignment - 1) / alignment * alignment;
    bytes_.resize(begin + values.size_bytes());
    if (!values.empty()) std::memcpy(bytes_.data() + begin, values.data(), values.size_bytes());
    return begin;
  }

  std::vector<std::uint8_t> bytes_;
  std::vector<std::function<void(const Tensor<std::uint8_t, Dev>&)>> set_;
};

}  // namespace lexformer
