// SPDX-License-Identifier: MIT
// Ragged batches: B sequences stored one after another, without padding. Token rows are (N, D) with N the sum of the lengths.
// Values of token pairs are stored as one n x n block per sequence, one block after another (P values in total).
#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "lexformer/core/cache_lock.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/indices.hpp"
#include "lexformer/core/shape.hpp"

namespace lexformer {

/// The lists of an Offsets in device memory: first token row and first pair of each sequence; B + 1 entries each.
template <class Dev>
struct DeviceOffsets {
  Indices<std::size_t, Dev> token, pair;
};

/// The positions of the sequences in a ragged batch. Copies share the lists.
class Offsets {
 public:
  Offsets() = default;
  /// lengths[s] = number of tokens of sequence s, at least 1. Errors: a length is 0; the number of token pairs overflows.
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
  /// First element of the n x n block of sequence s.
  std::size_t pair_begin(std::size_t s) const { return lists_->pair[s]; }
  /// The lists begin(0) .. begin(sequences()) and pair_begin(0) .. pair_begin(sequences()); valid while any copy of these Offsets exists.
  std::span<const std::size_t> token_begins() const { return lists_->token; }
  std::span<const std::size_t> pair_begins() const { return lists_->pair; }

  /// The same sequences, with their lists in device memory, which hold token_begins() and pair_begins().
  template <class Dev>
  Offsets with_device_lists(DeviceOffsets<Dev> lists) const {
    Offsets o;
    o.lists_->token = lists_->token;
    o.lists_->pair = lists_->pair;
    o.lists_->device = std::move(lists);
    o.longest_ = longest_;
    return o;
  }
  /// The lists in device memory; uploaded once and shared by all copies.
  template <class Dev>
  DeviceOffsets<Dev> on() const {
    const auto lock = detail::lock_cache(lists_->mutex);
    if (!lock) return {lists_->token, lists_->pair};
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

namespace detail {
/// Errors (where): x is not a matrix with a row for each token.
inline void check_token_rows(const char* where, const char* name, const Shape& x, const Offsets& offsets) {
  if (x.rank() != 2 || x[0] != offsets.tokens()) fail(where, name, " ", x, " but the offsets have ", offsets.tokens(), " tokens");
}
}  // namespace detail

}  // namespace lexformer
