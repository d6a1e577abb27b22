// SPDX-License-Identifier: MIT
// A batch is ragged: B sequences stored one after the other, without padding. Token rows are (N, D) with N the sum of the
// lengths; what belongs to a pair of tokens is stored as one n x n block for each sequence, blocks one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "lexformer/core/error.hpp"

namespace lexformer {

class Offsets {
 public:
  Offsets() = default;
  /// lengths[s] = number of tokens of sequence s; each at least 1.
  static Offsets from_lengths(std::span<const std::size_t> lengths) {
    Offsets o;
    for (std::size_t n : lengths) {
      if (n == 0) fail("Offsets", "sequence ", o.sequences(), " is empty; a sequence has at least one token");
      o.token_.push_back(o.token_.back() + n);
      o.pair_.push_back(o.pair_.back() + n * n);
      o.longest_ = std::max(o.longest_, n);
    }
    return o;
  }

  std::size_t sequences() const { return token_.size() - 1; }
  std::size_t tokens() const { return token_.back(); }
  std::size_t pairs() const { return pair_.back(); }
  std::size_t longest() const { return longest_; }
  std::size_t length(std::size_t s) const { return token_[s + 1] - token_[s]; }
  /// First token row of sequence s; begin(sequences()) = N.
  std::size_t begin(std::size_t s) const { return token_[s]; }
  /// First element of the n x n block of sequence s.
  std::size_t pair_begin(std::size_t s) const { return pair_[s]; }

 private:
  std::vector<std::size_t> token_{0}, pair_{0};
  std::size_t longest_ = 0;
};

}  // namespace lexformer
