// SPDX-License-Identifier: MIT
// The tensor core product in plain loops. cuda/tensor_core.cuh defines the layout of the numbers.
#include "cuda_runtime.h"
#include "lexformer/core/bfloat16.hpp"

namespace cuda_host {
namespace {

/// The inputs of a warp's lanes; shared, because a warp runs alone until all its lanes wait for the block.
struct Words {
  unsigned left[4], right[2];
} given[32];

float number(unsigned word, unsigned half) { return lexformer::bfloat16::from_bits(static_cast<std::uint16_t>(word >> 16 * half)); }
float left_number(unsigned row, unsigned k) { return number(given[row % 8 * 4 + k % 8 / 2].left[row / 8 + k / 8 * 2], k % 2); }
float right_number(unsigned k, unsigned column) { return number(given[column * 4 + k % 8 / 2].right[k / 8], k % 2); }

}  // namespace

void mma_m16n8k16(const unsigned (&left)[4], const unsigned (&right)[2], float (&sums)[4], const char* file, int line) {
  Words& mine = given[lane()];
  std::copy_n(left, 4, mine.left);
  std::copy_n(right, 2, mine.right);
  __syncwarp(0xFFFFFFFFu, file, line);
  const unsigned row = lane() / 4, column = lane() % 4 * 2;
  for (unsigned e = 0; e < 4; ++e)
    for (unsigned k = 0; k < 16; ++k) sums[e] += left_number(row + e / 2 * 8, k) * right_number(k, column + e % 2);
  __syncwarp(0xFFFFFFFFu, file, line);
}

}  // namespace cuda_host
