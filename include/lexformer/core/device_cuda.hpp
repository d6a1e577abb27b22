// SPDX-License-Identifier: MIT
// The memory of a GPU. Only declarations, without any header of CUDA's: code that uses them is compiled by any C++ compiler and links
// lexformer::cuda, which is built from the folder cuda/ with nvcc, or without CUDA from cuda/stub.cpp, whose functions throw.
#pragma once

#include <cstddef>

#include "lexformer/core/device.hpp"

namespace lexformer {

/// Everything is queued on one stream: a kernel sees what was queued before it, and a block that is released may be given out
/// again at once. The first use takes the current device (CUDA_VISIBLE_DEVICES); without one it throws an Error that says so.
template <>
struct Memory<Cuda> {
  /// From the driver's stream-ordered pool, which keeps what is released until trim().
  static MemoryBlock allocate(std::size_t bytes);
  static void release(MemoryBlock block) noexcept;
  static void trim() noexcept;

  static void upload(void* to, const void* host, std::size_t bytes);
  /// Waits until all that was queued before is done and the bytes are there.
  static void download(void* host, const void* from, std::size_t bytes);
  static void copy(void* to, const void* from, std::size_t bytes);
  static void zero(void* to, std::size_t bytes);

  /// Bytes of all live blocks: now, and at the most since the start or reset_peak().
  static std::size_t in_use();
  static std::size_t peak();
  static void reset_peak();
};

namespace cuda {

/// Whether this build has CUDA and the machine a device that it can use.
bool available() noexcept;
/// Waits until all that was queued is done.
void synchronize();
/// Lets products of float round their factors to TF32 (10 bits of mantissa, sums in float): faster and less exact. Off at the start.
void set_tf32(bool on);
bool tf32();

/// How attention is computed. Both ways give the same, but for rounding.
enum class AttentionPath {
  fused,   // by our own kernels, tile by tile: nothing of size n x n is stored for a sequence of n tokens
  cublas,  // products by cuBLAS (set_tf32 is for these, too), of many sequences and heads at once, and kernels for rows of scores between
};
/// The way of all attention from now on; `fused` at the start. The products need memory for n x n scores of each head: so many sequences go
/// together that it stays below `scratch_bytes`, but at least one does.
void set_attention_path(AttentionPath path, std::size_t scratch_bytes = std::size_t{64} << 20);
AttentionPath attention_path();

}  // namespace cuda
}  // namespace lexformer
