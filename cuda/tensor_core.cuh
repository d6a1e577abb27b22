// SPDX-License-Identifier: MIT
// Tensor cores: the instruction that multiplies small matrices of bfloat16, distributed over the lanes of a warp.
#pragma once

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
