// SPDX-License-Identifier: MIT
// A replacement for CUDA's header of the same name, so that the kernels of cuda/ compile as plain C++ and run on the CPU: in the regular
// tests, under the sanitizers, and step by step in a debugger (break in a kernel, print threadIdx).
//
//   * The threads of a block are fibers (fiber.hpp). A warp runs until all its threads wait at __syncthreads(), then the next warp runs:
//     each warp gets as far ahead of the others as it can. set_order(seed) shuffles the order of blocks, of warps and of the threads in
//     them: a result that depends on it lacks a barrier. Everything runs on one CPU thread, so a bug is reproducible.
//   * A launch fails if some threads of the block do not reach a barrier, or reach a different one, or if the mask of a warp exchange
//     names lanes that do not take part. The message says which threads wait where.
//   * Device memory is host memory in separate blocks, filled with NaN. The address sanitizer reports kernels that access memory outside
//     a block, and host code that accesses device memory at all. Pointers passed to kernels, copies and cuBLAS must lie in a block.
//   * __shared__ is `static`, since one block runs at a time, and also guarded by the sanitizer. It keeps the values of the last block, so
//     a test of a barrier needs different numbers each time. Shared memory whose size is given at the launch is
//     LEXFORMER_DYNAMIC_SHARED(type, name).
//   * The tensor core instruction is a loop over the values that the lanes of a warp hold (tensor_core.cpp).
//   * cuBLAS (cublas_v2.h) is implemented with lexformer's own matrix product.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define LEXFORMER_DYNAMIC_SHARED(type, name) type* const name = static_cast<type*>(cuda_host::dynamic_shared())

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

struct cudaLaunchConfig_t;

namespace cuda_host {

// Shared memory as on an H100, in bytes: the maximum of a block, if the kernel requests it; of all blocks on a multiprocessor; and what is
// reserved for each of them.
inline constexpr int most_shared = 232448, shared_of_multiprocessor = 233472, reserved_shared = 1024;

/// Sets the order in which threads and blocks run; 0 = in numerical order.
void set_order(std::uint64_t seed);
/// The number of kernels launched so far, and the configuration of the last one.
std::size_t launches();
const cudaLaunchConfig_t& last_launch();
/// How often the host has allocated device memory, has set it, has copied to it, and has waited for all work of a stream.
std::size_t allocations();
std::size_t fills();
std::size_t uploads();
std::size_t waits();
/// From now on a copy from pinned memory to the device happens as late as a GPU may do it: before the next other work on the stream, or
/// when the host waits for it. Whoever changes the pinned memory too early uploads wrong values.
void delay_uploads(bool on);
/// From now on kernels, products and fills are counted and not run, which leaves what the host does for a step; also if
/// LEXFORMER_STAND_IN_SKIP is set in the environment.
void skip_work(bool on);
bool skips_work();
/// The number of devices; 1 unless set. Work on a stream of another device than the thread's current one is an error.
void set_devices(int count);
/// Whether p points into a block of device memory or to its end, and `bytes` bytes from there lie in the block.
bool is_device(const void* p, std::size_t bytes = 0);
/// The block of device memory that holds p; {nullptr, 0} if there is none.
struct DeviceBlock {
  const char* data;
  std::size_t bytes;
};
DeviceBlock device_block(const void* p);
/// Allows the host to access device memory during its lifetime: for what a library does on the device.
struct OpenMemory {
  OpenMemory();
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

void* dynamic_shared();
/// Called by a thread of a kernel: ends the launch with this error. The thread's stack is not unwound, so it should own no memory.
[[noreturn]] void fail_kernel(const char* text);
void barrier(const char* file, int line);

/// The input of one lane to an exchange of its warp: a value, and the lane (0 ... 31) whose value it requests.
struct Exchange {
  unsigned mask;
  std::uint64_t value;
  unsigned source;
};
/// The result: the requested value, and one bit for every lane of the mask whose value was not 0.
struct Exchanged {
  std::uint64_t value;
  unsigned ballot;
};
Exchanged exchange(const Exchange& given, const char* file, int line);
unsigned lane();

template <class T>
T shuffle(unsigned mask, T value, unsigned source, const char* file, int line) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_arithmetic_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange({mask, bits, source}, file, line).value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace cuda_host

// ---- called by kernels. The location of the call is passed along for messages.

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { cuda_host::barrier(file, line); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  cuda_host::exchange({mask, 0, cuda_host::lane()}, file, line);
}
int __syncthreads_or(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE());

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int = 32, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return cuda_host::shuffle(mask, value, static_cast<unsigned>(source) % 32, file, line);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int = 32, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return cuda_host::shuffle(mask, value, cuda_host::lane() ^ static_cast<unsigned>(bits), file, line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int = 32, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const unsigned self = cuda_host::lane();
  return cuda_host::shuffle(mask, value, self + delta < 32 ? self + delta : self, file, line);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return cuda_host::exchange({mask, predicate != 0, cuda_host::lane()}, file, line).ballot;
}
unsigned __match_any_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(), int line = __builtin_LINE());
inline int __ffs(unsigned bits) { return __builtin_ffs(static_cast<int>(bits)); }
inline int __any_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return __ballot_sync(mask, predicate, file, line) != 0;
}

namespace cuda_host {

/// The instructions of cuda/tensor_core.cuh.
void mma_m16n8k16(const unsigned (&left)[4], const unsigned (&right)[2], float (&sums)[4], const char* file = __builtin_FILE(),
                  int line = __builtin_LINE());
void load_matrices(bool transposed, const void* row, unsigned (&words)[4], const char* file = __builtin_FILE(),
                   int line = __builtin_LINE());
/// Copies to shared memory when the thread waits for its copies, as late as a GPU may do it: `bytes` of the 16, then zeros.
void copy_async(const void* from, void* to, unsigned bytes);
void wait_for_copies();

}  // namespace cuda_host

// Fibers do not interrupt each other, so plain operations are atomic.
template <class T>
T atomicAdd(T* to, T value) {
  static_assert(std::is_integral_v<T>, "sums of floating point have a fixed order: no atomics");
  const T old = *to;
  *to = old + value;
  return old;
}
inline void __threadfence() {}
template <class T>
T __ldcg(const T* from) {
  return *from;
}
template <class T>
T atomicOr(T* to, T value) {
  const T old = *to;
  *to = old | value;
  return old;
}

// ---- called by the host

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorLaunchFailure = 719
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum cudaDeviceAttr {
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrReservedSharedMemoryPerBlock = 111
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaMemPool_t = struct CUmemPool_st*;
struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

/// After a failed launch, the message of its error.
const char* cudaGetErrorString(cudaError_t error);
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return *value = cuda_host::shared_of_multiprocessor, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return *value = cuda_host::most_shared, cudaSuccess;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return *value = cuda_host::reserved_shared, cudaSuccess;
  }
  return cudaErrorInvalidValue;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) { return *pool = nullptr, cudaSuccess; }
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }
cudaError_t cudaMallocHost(void** data, std::size_t bytes);
cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);

namespace cuda_host {

/// `allowed`: the bytes of shared memory with which the kernel may be launched.
cudaError_t run(const cudaLaunchConfig_t& config, std::size_t allowed, const std::function<void()>& thread);
void count_launch();
/// The bytes that cudaFuncSetAttribute has allowed for a kernel.
template <class... Parameters>
inline std::map<void (*)(Parameters...), std::size_t> allowed_shared;
cudaError_t not_device(std::size_t argument);
/// Before work on a stream: does what is queued on it. Errors: it is another device's stream.
cudaError_t begin_work(cudaStream_t stream);
/// Returns the error and stores its message for cudaGetErrorString.
cudaError_t failed(cudaError_t error, std::string text);

/// If set, called in place of run() with the address of a kernel and its parameters, each at an offset of its alignment: tests/support/ptx
/// runs other code instead.
using Launcher = cudaError_t (*)(const cudaLaunchConfig_t& config, std::size_t allowed, const void* kernel,
                                 const std::vector<unsigned char>& parameters);
inline Launcher launcher = nullptr;
template <class T>
void append(std::vector<unsigned char>& parameters, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t offset = (parameters.size() + alignof(T) - 1) / alignof(T) * alignof(T);
  parameters.resize(offset + sizeof(T));
  std::memcpy(parameters.data() + offset, &value, sizeof(T));
}

}  // namespace cuda_host

template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute, int value) {
  cuda_host::allowed_shared<Parameters...>[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (cuda_host::skips_work()) return cuda_host::count_launch(), cudaSuccess;
  std::size_t number = 0, wrong = 0;
  const auto check = [&](const auto& argument) {
    ++number;
    if constexpr (std::is_pointer_v<std::decay_t<decltype(argument)>>)
      if (argument != nullptr && !cuda_host::is_device(argument) && wrong == 0) wrong = number;
  };
  (check(arguments), ...);
  if (wrong != 0) return cuda_host::not_device(wrong);
  const std::size_t allowed = std::max<std::size_t>(48 << 10, cuda_host::allowed_shared<Parameters...>[kernel]);
  if (cuda_host::launcher != nullptr) {
    std::vector<unsigned char> parameters;
    (cuda_host::append(parameters, static_cast<std::decay_t<Parameters>>(arguments)), ...);
    return cuda_host::launcher(*config, allowed, reinterpret_cast<const void*>(kernel), parameters);
  }
  return cuda_host::run(*config, allowed, [&] { kernel(arguments...); });
}
