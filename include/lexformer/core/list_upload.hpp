// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lexformer/core/indices.hpp"

namespace lexformer {

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
