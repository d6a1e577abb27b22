// SPDX-License-Identifier: MIT
// The devices of cuda_runtime.h with their streams, events and memory.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <new>
#include <string>

#include "cuda_runtime.h"
#include "fiber.hpp"
#include "lexformer/core/error.hpp"

struct CUstream_st {
  int device;
};
struct CUevent_st {
  std::size_t uploads = 0;  // how many were queued when it was recorded
};

namespace cuda_host {
namespace {

using lexformer::cat;

/// Makes device memory inaccessible to the host: the sanitizer reports an access outside a kernel.
void close_block([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(CUDA_HOST_ASAN)
  ASAN_POISON_MEMORY_REGION(data, bytes);
#endif
}
void open_block([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(CUDA_HOST_ASAN)
  ASAN_UNPOISON_MEMORY_REGION(data, bytes);
#endif
}

/// Start -> bytes.
struct Blocks {
  std::map<const char*, std::size_t> blocks;

  DeviceBlock block(const void* p) const {
    const char* const first = static_cast<const char*>(p);
    auto it = blocks.upper_bound(first);
    if (it == blocks.begin()) return {nullptr, 0};
    --it;
    return first <= it->first + it->second ? DeviceBlock{it->first, it->second} : DeviceBlock{nullptr, 0};
  }
  /// Whether `bytes` bytes at p lie in one block.
  bool holds(const void* p, std::size_t bytes) const {
    const DeviceBlock found = block(p);
    return found.data != nullptr && static_cast<const char*>(p) + bytes <= found.data + found.bytes;
  }
};

struct Upload {
  void* to;
  const void* from;
  std::size_t bytes;
};

struct Devices {
  Blocks memory, pinned;
  std::string message;
  std::atomic<int> count = 1;
  std::size_t allocations = 0, fills = 0, uploads = 0, waits = 0;
  bool delayed = false;
  bool skips = std::getenv("LEXFORMER_STAND_IN_SKIP") != nullptr;
  std::deque<Upload> queue;  // uploads that have not happened yet
  std::size_t done = 0;      // uploads that have

  void open() const {
    for (const auto& [data, bytes] : memory.blocks) open_block(data, bytes);
  }
  void close() const {
    for (const auto& [data, bytes] : memory.blocks) close_block(data, bytes);
  }
  /// Does queued uploads until so many are done.
  void upload_until(std::size_t number) {
    if (queue.empty()) return;
    open();
    for (; !queue.empty() && done < number; ++done, queue.pop_front())
      std::memcpy(queue.front().to, queue.front().from, queue.front().bytes);
    close();
  }
};
Devices& devices() {
  static auto* instance = [] {
    auto* const made = new Devices;  // tensors with static lifetime may be destroyed late
    if (made->skips)
      std::atexit([] {
        std::cerr << "stand-in: " << launches() << " kernels not run, " << allocations() << " allocations, " << uploads() << " uploads\n";
      });
    return made;
  }();
  return *instance;
}
thread_local int current_device = 0;

}  // namespace

bool is_device(const void* p, std::size_t bytes) { return devices().memory.holds(p, bytes); }
DeviceBlock device_block(const void* p) { return devices().memory.block(p); }
OpenMemory::OpenMemory() {
  devices().upload_until(static_cast<std::size_t>(-1));
  devices().open();
}
OpenMemory::~OpenMemory() { devices().close(); }
cudaError_t failed(cudaError_t error, std::string text) {
  devices().message = std::move(text);
  return error;
}
cudaError_t not_device(std::size_t argument) {
  return failed(cudaErrorInvalidValue, cat("argument ", argument, " does not point to device memory"));
}
cudaError_t begin_work(cudaStream_t stream) {
  const int device = stream == nullptr ? 0 : stream->device;
  if (device != current_device)
    return failed(cudaErrorInvalidResourceHandle, cat("the stream is device ", device, "'s, the thread uses device ", current_device));
  devices().upload_until(static_cast<std::size_t>(-1));
  return cudaSuccess;
}
std::size_t allocations() { return devices().allocations; }
std::size_t fills() { return devices().fills; }
std::size_t uploads() { return devices().uploads; }
std::size_t waits() { return devices().waits; }
void delay_uploads(bool on) {
  devices().upload_until(static_cast<std::size_t>(-1));
  devices().delayed = on;
}
void skip_work(bool on) { devices().skips = on; }
bool skips_work() { return devices().skips; }
void set_devices(int count) { devices().count = count; }

}  // namespace cuda_host

using cuda_host::devices;

const char* cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : devices().message.c_str(); }

cudaError_t cudaGetDeviceCount(int* count) { return *count = devices().count, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = cuda_host::current_device, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= devices().count) return cuda_host::failed(cudaErrorInvalidDevice, "there is no such device");
  return cuda_host::current_device = device, cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return *stream = new CUstream_st{cuda_host::current_device}, cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  ++devices().waits;
  devices().upload_until(static_cast<std::size_t>(-1));
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return *event = new CUevent_st, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  return event->uploads = devices().done + devices().queue.size(), cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return devices().upload_until(event->uploads), cudaSuccess; }

cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  *data = ::operator new(bytes);
  devices().pinned.blocks.emplace(static_cast<char*>(*data), bytes);
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t error = cuda_host::begin_work(stream); error != cudaSuccess) return error;
  char* const block = new (std::nothrow) char[bytes];
  if (block == nullptr) return cuda_host::failed(cudaErrorMemoryAllocation, "out of memory");
  ++devices().allocations;
  if (!devices().skips) std::memset(block, 0xFF, bytes);  // NaN, so that uninitialized memory shows
  devices().memory.blocks.emplace(block, bytes);
  cuda_host::close_block(block, bytes);
  *data = block;
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  if (const cudaError_t error = cuda_host::begin_work(stream); error != cudaSuccess) return error;
  const auto block = devices().memory.blocks.find(static_cast<char*>(data));
  if (block == devices().memory.blocks.end()) return cuda_host::not_device(1);
  cuda_host::open_block(block->first, block->second);
  devices().memory.blocks.erase(block);
  delete[] static_cast<char*>(data);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  auto& d = devices();
  const bool to_device = kind != cudaMemcpyDeviceToHost, from_device = kind != cudaMemcpyHostToDevice;
  if (d.memory.holds(to, bytes) != to_device) return cuda_host::not_device(1);
  if (d.memory.holds(from, bytes) != from_device) return cuda_host::not_device(2);
  if (kind == cudaMemcpyHostToDevice) {
    ++d.uploads;
    if (d.delayed && d.pinned.holds(from, bytes)) return d.queue.push_back({to, from, bytes}), cudaSuccess;
  }
  if (const cudaError_t error = cuda_host::begin_work(stream); error != cudaSuccess) return error;
  const cuda_host::OpenMemory open;
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t error = cuda_host::begin_work(stream); error != cudaSuccess) return error;
  if (!devices().memory.holds(to, bytes)) return cuda_host::not_device(1);
  ++devices().fills;
  if (devices().skips) return cudaSuccess;
  cuda_host::open_block(to, bytes);
  std::memset(to, value, bytes);
  cuda_host::close_block(to, bytes);
  return cudaSuccess;
}
