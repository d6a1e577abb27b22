// SPDX-License-Identifier: MIT
// The best partners of each of many texts, for searches that compare all pairs in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace lexformer::detail {

/// For each text the `top` partners of the highest scores above 0, the best first; of equal scores the partner of the lower number is
/// better.
class BestPartners {
 public:
  BestPartners(std::size_t texts, std::size_t top)
      : top_(top), entries_(texts * top), counts_(texts, 0), least_(texts, std::numeric_limits<float>::min()) {}

  struct Entry {
    float score;
    std::uint32_t partner;
    bool operator<(const Entry& other) const { return score != other.score ? score > other.score : partner < other.partner; }  // is better
  };
  /// A lower score is not kept; an equal one may be.
  float least(std::size_t text) const { return least_[text]; }
  const float* least() const { return least_.data(); }
  std::span<const Entry> of(std::size_t text) const { return std::span(entries_).subspan(text * top_, counts_[text]); }

  void add(std::size_t text, Entry entry) {
    Entry* const first = entries_.data() + text * top_;
    std::uint32_t& count = counts_[text];
    if (count == top_ && !(entry < first[top_ - 1])) return;
    std::size_t at = count < top_ ? count++ : top_ - 1;
    for (; at > 0 && entry < first[at - 1]; --at) first[at] = first[at - 1];
    first[at] = entry;
    if (count == top_) least_[text] = first[top_ - 1].score;
  }

 private:
  std::size_t top_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> counts_;
  std::vector<float> least_;
};

}  // namespace lexformer::detail
