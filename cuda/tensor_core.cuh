// SPDX-License-Identifier: MIT
// Tensor cores: the instruction that multiplies small matrices of bfloat16, distributed over the lanes of a warp; how the matrices come
// from shared memory, and what is copied there.
#pragma once

#include <cstring>

#include "device.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "lexformer's kernels are for GPUs of compute capability 8.0 and later; set CMAKE_CUDA_ARCHITECTURES to 80 or more"
#endif

namespace lexformer::cuda {

/// The elements that a lane holds (PTX ISA, "Matrix Fragments for mma.m16n8k16"). Two adjacent bfloat16 elements share a word, the first
/// one in the lower half. With g = group() and t = 2 pair():
///   left (16 x 16)   words 0 ... 3: (g, t ... t + 1), (g + 8, t ...), (g, t + 8 ...), (g + 8, t + 8 ...)
///   right (16 x 8)   words 0 and 1: (t ... t + 1, g), (t + 8 ..., g)
///   sums (16 x 8)    (g, t), (g, t + 1), (g + 8, t), (g + 8, t + 1)
struct Fragment {
  static __device__ unsigned group() { return threadIdx.x % 32 / 4; }
  static __device__ unsigned pair() { return threadIdx.x % 4; }
};

/// sums += left right, with float sums. Called by all lanes of a warp.
__device__ inline void multiply_add(const unsigned (&left)[4], const unsigned (&right)[2], float (&sums)[4]) {
#if !defined(__CUDACC__)
  cuda_host::mma_m16n8k16(left, right, sums);
#else
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
#endif
}

/// Copies memory in one instruction; both addresses are aligned to `bytes`. (nvcc compiles an aligned memcpy to copies of two bytes.)
template <std::size_t bytes>
__device__ void copy_words(const void* from, void* to) {
#if defined(__CUDACC__)
  using Word = std::conditional_t<bytes == 16, uint4, unsigned>;
  *static_cast<Word*>(to) = *static_cast<const Word*>(from);
#else
  std::memcpy(to, from, bytes);
#endif
}
/// Two elements in a word, from aligned memory.
__device__ inline unsigned load_word(const bfloat16* two) {
  unsigned bits;
  copy_words<4>(two, &bits);
  return bits;
}

/// Loads four 8 x 8 matrices from shared memory. The rows of matrix m, 16 aligned bytes each, are `row` of lanes 8 m ... 8 m + 7. Word m of
/// a lane: elements (g, t) and (g, t + 1) of matrix m; if `transposed`, (t, g) and (t + 1, g). Called by all lanes of a warp.
template <bool transposed>
__device__ void load_matrices(const bfloat16* row, unsigned (&words)[4]) {
#if !defined(__CUDACC__)
  cuda_host::load_matrices(transposed, row, words);
#else
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address));
#endif
}

/// Begins to write 16 aligned bytes to shared memory: `bytes` from global memory, then zeros. wait_for_copies() ends the thread's copies.
__device__ inline void copy_async(const void* from, void* to, std::size_t bytes) {
#if !defined(__CUDACC__)
  cuda_host::copy_async(from, to, static_cast<unsigned>(bytes));
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)),
                 "r"(static_cast<unsigned>(bytes)));
#endif
}
__device__ inline void wait_for_copies() {
#if !defined(__CUDACC__)
  cuda_host::wait_for_copies();
#else
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// 2^x, relative error about 2e-7; 0 for results below the normal numbers.
__device__ inline float power_of_two(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

/// Packs two elements into a word.
__device__ inline unsigned pack(bfloat16 low, bfloat16 high) { return low.bits | unsigned{high.bits} << 16; }
/// Rounds two floats and packs them.
__device__ inline unsigned pack(float low, float high) {
#if defined(__CUDA_ARCH__)
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return pack(bfloat16(low), bfloat16(high));
#endif
}

}  // namespace lexformer::cuda
