// SPDX-License-Identifier: MIT
// GPU memory. Declarations only, without CUDA headers: any C++ compiler can compile code that uses them. Programs link lexformer::cuda,
// built from the folder cuda/ with nvcc, or without CUDA from cuda/stub.cpp, whose functions throw.
#pragma once

#include <cstddef>
#include <span>

#include "lexformer/core/device.hpp"

namespace lexformer {

/// GPU memory. All work is queued on one stream: a kernel sees the results of everything queued before it, and a released block can be
/// reused at once. The first use selects the current device (CUDA_VISIBLE_DEVICES). Errors: there is no usable device.
template <>
struct Memory<Cuda> {
  /// Takes a released block of the same size class (larger by an eighth or 255 bytes at most), else one from the driver's stream-ordered
  /// pool; both keep blocks until trim(). With LEXFORMER_CUDA_CACHE=off in the environment each block comes from the driver, so that tools
  /// that check accesses see its bounds.
  static MemoryBlock allocate(std::size_t bytes);
  static void release(MemoryBlock block) noexcept;
  static void trim() noexcept;

  static void upload(void* to, const void* host, std::size_t bytes);
  /// Copies the parts, by one copy if they take at most 4 MiB. The bytes between them are undefined.
  static void upload(void* to, std::span<const UploadPart> parts);
  /// Copies to the host; blocks until all queued work and the copy are done.
  static void download(void* host, const void* from, std::size_t bytes);
  static void copy(void* to, const void* from, std::size_t bytes);
  static void zero(void* to, std::size_t bytes);

  /// Bytes in live blocks: current, and the maximum since the start or the last reset_peak().
  static std::size_t in_use();
  static std::size_t peak();
  static void reset_peak();
};

namespace cuda {

/// Whether this build has CUDA and the machine has a usable device.
bool available() noexcept;
/// Blocks until all queued work is done.
void synchronize();
/// Enables TF32 for matrix products of float: inputs are rounded to 10 bits of mantissa, sums are in float. Faster, less exact.
/// Default: off.
void set_tf32(bool on);
bool tf32();

/// The implementation of attention. Both give the same result up to rounding.
enum class AttentionPath {
  fused,   // tiled kernels that never store an n x n matrix for a sequence of n tokens
  cublas,  // cuBLAS products (set_tf32 applies) over many sequences and heads at once, with kernels for the rows of scores in between
};
/// Selects the implementation of attention; default `fused`. `cublas` stores n x n scores for each head: it processes as many sequences
/// at once as fit into `scratch_bytes`, but at least one.
void set_attention_path(AttentionPath path, std::size_t scratch_bytes = std::size_t{64} << 20);
AttentionPath attention_path();

}  // namespace cuda
}  // namespace lexformer
