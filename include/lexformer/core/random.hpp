// SPDX-License-Identifier: MIT
// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
// A number is a pure function of (seed, step, site, element): resuming a run needs no saved generator state, and every thread
// and every GPU draws the same numbers. The counter layout below is part of the library's contract.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "lexformer/core/device.hpp"

namespace lexformer {

struct Philox {
  using Counter = std::array<std::uint32_t, 4>;
  using Key = std::array<std::uint32_t, 2>;

  /// Ten rounds on `width` counters: 128 counter bits and 64 key bits -> 128 random bits. c[w][l] is word w of counter l; Word may be
  /// wider than 32 bits, so that the compiler can vectorize the loops.
  template <class Word, std::size_t width>
  LEXFORMER_HD static constexpr void rounds(Word (&c)[4][width], Key k) {
    for (int round = 0; round < 10; ++round) {
      for (std::size_t l = 0; l < width; ++l) {
        const std::uint64_t a = std::uint64_t{0xD2511F53u} * c[0][l], b = std::uint64_t{0xCD9E8D57u} * c[2][l];
        c[0][l] = static_cast<Word>(b >> 32) ^ c[1][l] ^ k[0];
        c[2][l] = static_cast<Word>(a >> 32) ^ c[3][l] ^ k[1];
        c[1][l] = static_cast<Word>(b & 0xFFFFFFFFu);
        c[3][l] = static_cast<Word>(a & 0xFFFFFFFFu);
      }
      k[0] += 0x9E3779B9u;
      k[1] += 0xBB67AE85u;
    }
  }
  LEXFORMER_HD static constexpr Counter generate(Counter c, Key k) {
    std::uint32_t words[4][1] = {{c[0]}, {c[1]}, {c[2]}, {c[3]}};
    rounds(words, k);
    return {words[0][0], words[1][0], words[2][0], words[3][0]};
  }
};

/// The random numbers of one site in one step: counter = (element / 8 (64 bits), step, site), key = seed.
/// `site` is fixed by the position in the model (dropout) or by the purpose (random_site below).
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  std::uint32_t site = 0;

  /// 128 bits = 8 numbers of 16 bits, for elements 8 block .. 8 block + 7.
  LEXFORMER_HD Philox::Counter bits(std::uint64_t block) const {
    return Philox::generate({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), step, site},
                            {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  }
  /// The 16-bit number of one element: half-word element % 8 of its block, low half of each word first.
  LEXFORMER_HD std::uint32_t bits16(std::uint64_t element) const {
    const auto word = bits(element / 8)[(element % 8) / 2];
    return element % 2 == 0 ? (word & 0xFFFFu) : (word >> 16);
  }
};

/// Sites other than dropout; dropout sites are numbered from 0 by their position in the model.
namespace random_site {
inline constexpr std::uint32_t init = 0xF0000000u;     // + index of the parameter
inline constexpr std::uint32_t shuffle = 0xF1000000u;  // order of batches, + block
inline constexpr std::uint32_t typos = 0xF2000000u;
inline constexpr std::uint32_t bootstrap = 0xF3000000u;
inline constexpr std::uint32_t masking = 0xF4000000u;      // + epoch
inline constexpr std::uint32_t regularizer = 0xF5000000u;  // + 0 for tokens, + 1 + layer for heads
inline constexpr std::uint32_t share = 0xF6000000u;        // of the training data
inline constexpr std::uint32_t clusters = 0xF7000000u;
inline constexpr std::uint32_t negatives = 0xF8000000u;
inline constexpr std::uint32_t user = 0xFF000000u;  // and above: of programs
}  // namespace random_site

/// A sequential generator on one RandomKey, for code that is sequential anyway (shuffling, typos, initial weights).
class RandomStream {
 public:
  explicit RandomStream(RandomKey key) : key_(key) {}
  RandomStream(std::uint64_t seed, std::uint32_t site, std::uint32_t step = 0) : key_{seed, step, site} {}

  std::uint32_t next() {
    if (position_ % 4 == 0) words_ = key_.bits(position_ / 4);
    return words_[position_++ % 4];
  }
  /// Uniform in [0, 1), 53 bits.
  double uniform() {
    const std::uint64_t high = next() >> 5, low = next() >> 6;
    return static_cast<double>((high << 26) | low) * 0x1.0p-53;
  }
  /// Uniform in 0 .. n-1 without bias (n > 0).
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % n + 1) % n;  // largest multiple of n, minus 1
    for (;;) {
      const std::uint64_t high = next(), x = (high << 32) | next();
      if (x <= limit) return x % n;
    }
  }
  /// Normal with mean 0 and standard deviation 1 (Box-Muller, using one of the two values).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  /// Shuffles in place (Fisher-Yates).
  template <class V>
  void shuffle(std::vector<V>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[static_cast<std::size_t>(below(i))]);
  }

 private:
  RandomKey key_;
  std::uint64_t position_ = 0;
  Philox::Counter words_{};
};

}  // namespace lexformer
