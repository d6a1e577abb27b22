// SPDX-License-Identifier: MIT
// The tensor core product in plain loops, and the instructions that bring its numbers. cuda/tensor_core.cuh defines the layout of the
// numbers.
#include "cuda_runtime.h"
#include "lexformer/core/bfloat16.hpp"

namespace cuda_host {
namespace {

/// The inputs of a warp's lanes; shared, because a warp runs alone until all its lanes wait for the block.
struct Words {
  unsigned left[4], right[2];
} given[32];

/// The rows of the lanes of a warp.
const unsigned char* rows[32];

struct Copy {
  std::size_t launch;
  unsigned thread;
  const void* from;
  void* to;
  unsigned bytes;
};
std::vector<Copy>& copies() {
  static auto* begun = new std::vector<Copy>;
  return *begun;
}

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

void load_matrices(bool transposed, const void* row, unsigned (&words)[4], const char* file, int line) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) fail_kernel("load_matrices: a row that is not aligned to 16 bytes");
  rows[lane()] = static_cast<const unsigned char*>(row);
  __syncwarp(0xFFFFFFFFu, file, line);
  const auto element = [](unsigned matrix, unsigned at_row, unsigned column) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, rows[8 * matrix + at_row] + 2 * column, 2);
    return unsigned{bits};
  };
  const unsigned g = lane() / 4, t = 2 * (lane() % 4);
  for (unsigned m = 0; m < 4; ++m)
    words[m] = transposed ? element(m, t, g) | element(m, t + 1, g) << 16 : element(m, g, t) | element(m, g, t + 1) << 16;
  __syncwarp(0xFFFFFFFFu, file, line);
}

void copy_async(const void* from, void* to, unsigned bytes) {
  if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0 || reinterpret_cast<std::uintptr_t>(to) % 16 != 0)
    fail_kernel("copy_async: an address that is not aligned to 16 bytes");
  copies().push_back({launches(), threadIdx.x, from, to, bytes});
}
void wait_for_copies() {
  std::erase_if(copies(), [](const Copy& copy) {
    if (copy.launch != launches()) return true;  // of a kernel that has failed
    if (copy.thread != threadIdx.x) return false;
    std::memset(copy.to, 0, 16);
    std::memcpy(copy.to, copy.from, copy.bytes);
    return true;
  });
}

}  // namespace cuda_host
