// SPDX-License-Identifier: MIT
// Host-side helpers for CUDA: launches, errors, temporary memory. Plain C++ without <<<>>>, so that it also compiles with the CPU
// stand-in of the CUDA runtime (tests/support/cuda_host).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "lexformer/core/device_cuda.hpp"
#include "lexformer/core/error.hpp"

// Dynamic shared memory. The stand-in has its own definition.
#if !defined(LEXFORMER_DYNAMIC_SHARED)
#define LEXFORMER_DYNAMIC_SHARED(type, name)                     \
  extern __shared__ __align__(16) unsigned char shared_memory[]; \
  type* const name = reinterpret_cast<type*>(shared_memory)
#endif

namespace lexformer::cuda {

/// The stream of all work. Errors: there is no device.
cudaStream_t stream();

/// Throws "what at file:line: why".
[[noreturn]] void fail_at(const char* what, const char* file, int line, const char* why);

inline void check(cudaError_t error, const char* what, const char* file, int line) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clear the error, or the next call reports it again
  fail_at(what, file, line, cudaGetErrorString(error));
}
#define LEXFORMER_CUDA_CHECK(call) ::lexformer::cuda::check((call), #call, __FILE__, __LINE__)

/// A kernel with its name and source location, for error messages.
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

/// Whether LEXFORMER_CUDA_SYNC is set in the environment. If so, each launch is synchronized, so that errors name the kernel that failed.
bool waits_for_each_kernel();

/// kernel<<<grid, block, shared_bytes, stream()>>>(arguments...), e.g.
///   launch(LEXFORMER_KERNEL(row_sum_kernel<T>), grid, block, 0, rows, n, x, y);
/// Does nothing if the grid is empty. Errors name the kernel and the source location of the call.
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

/// Device memory until the end of the scope. The scope may end before the kernels that use it have run, since all work is on one stream.
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

/// `count` counters on the device that are 0 whenever no kernel runs. The kernels that use them set them back, and follow each other on the
/// stream.
unsigned* finished_counters(std::size_t count);

inline constexpr unsigned block_threads = 256;

/// Number of blocks for `count` items, at most `most`: beyond that, a block processes several (every kernel loops).
inline unsigned blocks_for(std::size_t count, std::size_t per_block, std::size_t most = 4096) {
  return static_cast<unsigned>(std::min(most, (count + per_block - 1) / per_block));
}

}  // namespace lexformer::cuda
