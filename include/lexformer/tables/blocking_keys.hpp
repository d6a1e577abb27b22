// SPDX-License-Identifier: MIT
// Blocking keys: values beside the texts, such as brand or postcode, that the texts of a pair must share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lexformer {

/// The values of a key as numbers: equal values have equal numbers, 0 is a missing value. The values of left texts come first, then the
/// values of right texts; within one list there are left ones alone.
using KeyValues = std::vector<std::uint32_t>;

/// Keys that must all agree.
struct BlockingKeys {
  std::vector<KeyValues> keys{};
  bool missing_agrees = true;  // a missing value agrees with every value; false: with none

  /// Whether two texts agree, by their places in KeyValues.
  bool agree(std::size_t a, std::size_t b) const {
    return std::all_of(keys.begin(), keys.end(),
                       [&](const KeyValues& key) { return key[a] == 0 || key[b] == 0 ? missing_agrees : key[a] == key[b]; });
  }
  /// The order of the values of the first key, then of the second, and so on: below 0, 0, or above 0.
  int compare(std::size_t a, std::size_t b) const {
    for (const KeyValues& key : keys)
      if (key[a] != key[b]) return key[a] < key[b] ? -1 : 1;
    return 0;
  }
};

namespace detail {

/// Finds the texts that may agree with others, by their keys.
class AgreeingTexts {
 public:
  /// sorted: places in KeyValues in the order of BlockingKeys::compare(). Both must outlive the object.
  AgreeingTexts(const BlockingKeys& keys, std::span<const std::uint32_t> sorted) : keys_(keys), sorted_(sorted) {}

  /// The places in `sorted` of all texts that agree with one of `others`, and some that do not, ascending.
  void find(std::span<const std::uint32_t> others, std::vector<std::uint32_t>& found) {
    values_.resize(keys_.keys.size());
    for (std::size_t k = 0; k < values_.size(); ++k) {
      values_[k].clear();
      for (const std::uint32_t other : others) values_[k].push_back(keys_.keys[k][other]);
      std::sort(values_[k].begin(), values_[k].end());
      values_[k].erase(std::unique(values_[k].begin(), values_[k].end()), values_[k].end());
    }
    found.clear();
    const auto put = [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; ++at)
        if (may_agree(sorted_[at])) found.push_back(static_cast<std::uint32_t>(at));
    };
    if (values_.empty() || has_missing(0)) return put(0, sorted_.size());
    const auto put_value = [&](std::uint32_t value) {
      const KeyValues& key = keys_.keys[0];
      const auto first = std::partition_point(sorted_.begin(), sorted_.end(), [&](std::uint32_t text) { return key[text] < value; });
      const auto last = std::partition_point(first, sorted_.end(), [&](std::uint32_t text) { return key[text] <= value; });
      put(static_cast<std::size_t>(first - sorted_.begin()), static_cast<std::size_t>(last - sorted_.begin()));
    };
    if (keys_.missing_agrees) put_value(0);
    for (const std::uint32_t value : values_[0])
      if (value != 0) put_value(value);
  }

 private:
  /// Whether one of the others agrees with every text in a key, since its value is missing.
  bool has_missing(std::size_t k) const { return keys_.missing_agrees && !values_[k].empty() && values_[k][0] == 0; }
  bool may_agree(std::uint32_t text) const {
    for (std::size_t k = 0; k < values_.size(); ++k) {
      const std::uint32_t value = keys_.keys[k][text];
      const bool agrees =
          value == 0 ? keys_.missing_agrees : has_missing(k) || std::binary_search(values_[k].begin(), values_[k].end(), value);
      if (!agrees) return false;
    }
    return true;
  }

  const BlockingKeys& keys_;
  std::span<const std::uint32_t> sorted_;
  std::vector<KeyValues> values_;  // of the others, sorted, each once
};

}  // namespace detail

}  // namespace lexformer
