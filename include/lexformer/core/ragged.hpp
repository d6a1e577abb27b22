// SPDX-License-Identifier: MIT
// A batch is ragged: B sequences stored one after the other, without padding. Token rows are (N, D) with N the sum of the
// lengths; what belongs to a pair of tokens is stored as one n x n block for each sequence, blocks one after the other.
#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "lexformer/core/error.hpp"
#include "lexformer/core/indices.hpp"

namespace lexformer {

/// The begins of an Offsets in the memory of a device: first token row and first pair of sequence s; B + 1 numbers each.
template <class Dev>
struct DeviceOffsets {
  Indices<std::size_t, Dev> token, pair;
};

/// Where the sequences of a batch lie. Copies share the lists.
class Offsets {
 public:
  Offsets() = default;
  /// lengths[s] = number of tokens of sequence s; each at least 1. Errors: a length of 0; the pairs of tokens are too many to count.
  static Offsets from_lengths(std::span<const std::size_t> lengths) {
    Offsets o;
    for (std::size_t n : lengths) {
      if (n == 0) fail("Offsets", "sequence ", o.sequences(), " is empty; a sequence has at least one token");
      std::size_t pairs = 0;
      if (__builtin_mul_overflow(n, n, &pairs) || __builtin_add_overflow(pairs, o.pairs(), &pairs))
        fail("Offsets", "sequence ", o.sequences(), " has ", n, " tokens: the number of token pairs overflows");
      o.lists_->token.push_back(o.tokens() + n);
      o.lists_->pair.push_back(pairs);
      o.longest_ = std::max(o.longest_, n);
    }
    return o;
  }

  std::size_t sequences() const { return lists_->token.size() - 1; }
  std::size_t tokens() const { return lists_->token.back(); }
  std::size_t pairs() const { return lists_->pair.back(); }
  std::size_t longest() const { return longest_; }
  std::size_t length(std::size_t s) const { return lists_->token[s + 1] - lists_->token[s]; }
  /// First token row of sequence s; begin(sequences()) = N.
  std::size_t begin(std::size_t s) const { return lists_->token[s]; }
  /// begin(0) ... begin(sequences()), as long as a copy of these Offsets lives.
  const std::size_t* token_begin() const { return lists_->token.data(); }
  /// First element of the n x n block of sequence s.
  std::size_t pair_begin(std::size_t s) const { return lists_->pair[s]; }

  /// The lists on a device; they go there once, for all copies.
  template <class Dev>
  DeviceOffsets<Dev> on() const {
    const std::lock_guard lock(lists_->mutex);
    if (const auto* there = std::any_cast<DeviceOffsets<Dev>>(&lists_->device)) return *there;
    return lists_->device.emplace<DeviceOffsets<Dev>>(DeviceOffsets<Dev>{lists_->token, lists_->pair});
  }

 private:
  struct Lists {
    std::vector<std::size_t> token{0}, pair{0};
    std::mutex mutex;
    std::any device;  // a DeviceOffsets
  };
  std::shared_ptr<Lists> lists_ = std::make_shared<Lists>();
  std::size_t longest_ = 0;
};

}  // namespace lexformer
