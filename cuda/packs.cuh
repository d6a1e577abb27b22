// SPDX-License-Identifier: MIT
// Packs of adjacent elements, which a thread loads and stores up to 16 bytes at a time.
#pragma once

#include "tensor_core.cuh"
#include "unroll.cuh"

namespace lexformer::cuda {

/// By default 16 bytes of elements, the widest load and store of a thread.
template <class T, std::size_t count = 16 / sizeof(T)>
struct alignas(count * sizeof(T) < 16 ? count * sizeof(T) : 16) Pack {
  static constexpr std::size_t size = count;
  T at[size];
};

/// Whether a pointer is aligned to packs.
template <class Packs>
LEXFORMER_HD bool aligned_to(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignof(Packs) == 0;
}

/// The number of complete packs in n elements; 0 if a pointer is not aligned to packs.
template <class T, std::size_t count = Pack<T>::size, class... Pointers>
LEXFORMER_HD std::size_t packs_of(std::size_t n, const Pointers*... pointers) {
  return (... && aligned_to<Pack<T, count>>(pointers)) ? n / count : 0;
}

/// The pack that begins at an aligned element.
template <std::size_t count, class T>
__device__ Pack<T, count> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, count>*>(from);
}
template <class T, std::size_t count>
__device__ void store_pack(const Pack<T, count>& values, T* to) {
  *reinterpret_cast<Pack<T, count>*>(to) = values;
}

/// The pack of numbers that are given in the compute type. Two bfloat16 are rounded by one instruction.
template <class T, class A, std::size_t count>
__device__ Pack<T, count> rounded(const A (&values)[count]) {
  Pack<T, count> result;
  if constexpr (std::is_same_v<T, bfloat16>) {
    unsigned words[count / 2];
    LEXFORMER_UNROLL
    for (std::size_t k = 0; k < count / 2; ++k) words[k] = pack(values[2 * k], values[2 * k + 1]);
    std::memcpy(&result, words, sizeof(result));
  } else {
    LEXFORMER_UNROLL
    for (std::size_t k = 0; k < count; ++k) result.at[k] = static_cast<T>(values[k]);
  }
  return result;
}

/// Multiplies eight values by their masks; the first is element `first`, a multiple of eight.
template <class A>
__device__ void drop(const Dropout<A>& dropout, std::size_t first, A (&values)[8]) {
  const auto words = dropout.key.bits(first / 8);
  LEXFORMER_UNROLL
  for (unsigned k = 0; k < 8; ++k) values[k] *= dropout.decide(words[k / 2] >> 16 * (k % 2) & 0xFFFFu);
}
template <class A, class T>
__device__ Pack<T, 8> dropped(const Dropout<A>& dropout, std::size_t first, const Pack<T, 8>& given) {
  A values[8];
  LEXFORMER_UNROLL
  for (unsigned k = 0; k < 8; ++k) values[k] = static_cast<A>(given.at[k]);
  drop(dropout, first, values);
  return rounded<T>(values);
}

}  // namespace lexformer::cuda
