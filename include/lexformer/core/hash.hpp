// SPDX-License-Identifier: MIT
// Hashes of keys from files that somebody else may have written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// The hash of std::unordered_map and std::unordered_set whose keys come from a file. Its key is drawn anew in each process, so that no
/// file can contain keys chosen to collide. Texts: SipHash-1-3 (Aumasson and Bernstein 2012, with fewer rounds). Integers: a bijection of
/// keyed multiplications and shifts. The order of a container is another one in each run; no result may depend on it.
struct SeededHash {
  /// Not noexcept: libstdc++ then keeps the hash beside the text instead of computing it again.
  std::size_t operator()(std::string_view text) const;
  std::size_t operator()(std::uint64_t number) const noexcept {
    number = (number ^ keys[0]) * (keys[1] | 1);
    number = (number ^ number >> 32) * (keys[2] | 1);
    return static_cast<std::size_t>(number ^ number >> 32);
  }

 private:
  struct Keys {
    std::uint64_t words[3] = {};
    Keys();
    std::uint64_t operator[](std::size_t i) const { return words[i]; }
  };
  static const Keys keys;
};

namespace detail {

/// SipHash with 1 round for each 8 bytes and 3 at the end.
std::uint64_t siphash13(std::string_view text, std::uint64_t key0, std::uint64_t key1);

}  // namespace detail

inline const SeededHash::Keys SeededHash::keys;

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <bit>
#include <random>

namespace lexformer {

LEXFORMER_INLINE SeededHash::Keys::Keys() {
  std::random_device random;
  for (std::uint64_t& word : words) word = std::uint64_t{random()} << 32 | random();
}

LEXFORMER_INLINE std::uint64_t detail::siphash13(std::string_view text, std::uint64_t key0, std::uint64_t key1) {
  std::uint64_t a = key0 ^ 0x736f6d6570736575u, b = key1 ^ 0x646f72616e646f6du;
  std::uint64_t c = key0 ^ 0x6c7967656e657261u, d = key1 ^ 0x7465646279746573u;
  const auto round = [&] {
    a += b;
    c += d;
    b = std::rotl(b, 13) ^ a;
    d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32) + d;
    c += b;
    d = std::rotl(d, 21) ^ a;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  };
  const auto add = [&](std::uint64_t word) {
    d ^= word;
    round();
    a ^= word;
  };
  const auto word_at = [&](std::size_t begin, std::size_t bytes) {  // the lowest byte first
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes; ++i) word |= std::uint64_t{static_cast<unsigned char>(text[begin + i])} << 8 * i;
    return word;
  };
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) add(word_at(at, 8));
  add(word_at(at, text.size() - at) | std::uint64_t{text.size()} << 56);
  c ^= 0xff;
  for (int i = 0; i < 3; ++i) round();
  return a ^ b ^ c ^ d;
}

LEXFORMER_INLINE std::size_t SeededHash::operator()(std::string_view text) const {
  return static_cast<std::size_t>(detail::siphash13(text, keys[0], keys[1]));
}

}  // namespace lexformer
#endif
