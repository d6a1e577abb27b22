// SPDX-License-Identifier: MIT
// How the host side of cuda/ calls CUDA: launches, errors, temporary memory. Ordinary C++ without <<<>>>, so that it compiles with the
// CPU stand-in of the runtime (tests/support/cuda_host), too.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "lexformer/core/device_cuda.hpp"
#include "lexformer/core/error.hpp"

// Shared memory whose size is given at the launch. The stand-in has its own.
#if !defined(LEXFORMER_DYNAMIC_SHARED)
#define LEXFORMER_DYNAMIC_SHARED(type, name)                     \
  extern __shared__ __align__(16) unsigned char shared_memory[]; \
  type* const name = reinterpret_cast<type*>(shared_memory)
#endif

namespace lexformer::cuda {

/// The stream that everything is queued on. Without a device it throws.
cudaStream_t stream();

/// Throws "what at file:line: why".
[[noreturn]] void fail_at(const char* what, const char* file, int line, const char* why);

inline void check(cudaError_t error, const char* what, const char* file, int line) {
  if (error != cudaSuccess) fail_at(what, file, line, cudaGetErrorString(error));
}
#define LEXFORMER_CUDA_CHECK(call) ::lexformer::cuda::check((call), #call, __FILE__, __LINE__)

/// A kernel with what a message about it says.
template <class... Parameters>
struct NamedKernel {
  void (*function)(Parameters...);
  const char* name;
  const char* file;
  int line;
};
template <class... Parameters>
NamedKernel<Parameters...> named_kernel(void (*function)(Parameters...), const char* name, const char* file, int line) {
  return {function, name, file, line};
}
#define LEXFORMER_KERNEL(...) ::lexformer::cuda::named_kernel(__VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)

/// Whether the environment has LEXFORMER_CUDA_SYNC: then every launch is waited for, so that the message names the kernel that failed.
bool waits_for_each_kernel();

/// kernel<<<grid, block, shared_bytes, stream()>>>(arguments...), e.g.
///   launch(LEXFORMER_KERNEL(row_sum_kernel<T>), grid, block, 0, rows, n, x, y);
/// No launch where the grid is empty. An error names the kernel and the place of the call.
template <class... Parameters, class... Arguments>
void launch(const NamedKernel<Parameters...>& kernel, dim3 grid, dim3 block, std::size_t shared_bytes, const Arguments&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream();
  check(cudaLaunchKernelEx(&config, kernel.function, arguments...), kernel.name, kernel.file, kernel.line);
  if (waits_for_each_kernel()) check(cudaStreamSynchronize(config.stream), kernel.name, kernel.file, kernel.line);
}

/// Device memory until the end of the scope. It may end before the kernels that use it have run: all is in the order of one stream.
template <class T>
class Temporary {
 public:
  explicit Temporary(std::size_t count) : block_(Memory<Cuda>::allocate(count * sizeof(T))) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() { Memory<Cuda>::release(block_); }
  T* data() const { return static_cast<T*>(block_.data); }

 private:
  MemoryBlock block_;
};

inline constexpr unsigned block_threads = 256;

/// Blocks for `count` pieces of work, at most `most` of them: beyond that a block does several (each kernel loops).
inline unsigned blocks_for(std::size_t count, std::size_t per_block, std::size_t most = 4096) {
  return static_cast<unsigned>(std::min(most, (count + per_block - 1) / per_block));
}

}  // namespace lexformer::cuda
