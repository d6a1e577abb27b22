// SPDX-License-Identifier: MIT
// The device, its stream and its memory.
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch.cuh"

namespace lexformer {
namespace cuda {
namespace {

/// The device, initialized on first use.
struct Device {
  int number = 0;
  cudaStream_t stream = nullptr;
  cudaMemPool_t pool = nullptr;

  Device() {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
      cudaGetLastError();  // clear the error, or the next call reports it again
      fail("cuda", "no device found (", error != cudaSuccess ? cudaGetErrorString(error) : "there is none",
           "); does nvidia-smi show one? Without a GPU use the CPU");
    }
    LEXFORMER_CUDA_CHECK(cudaGetDevice(&number));
    LEXFORMER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    LEXFORMER_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, number));
    std::uint64_t keep_all = std::numeric_limits<std::uint64_t>::max();
    LEXFORMER_CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
  }
};
std::atomic<bool> device_is_made{false};
/// CUDA's current device belongs to the thread, and work on a stream of another one is an error: each thread selects the device once.
Device& device() {
  static auto* instance = new Device;  // never destroyed, since tensors with static lifetime may outlive it
  thread_local bool selected = false;
  if (!selected) {
    LEXFORMER_CUDA_CHECK(cudaSetDevice(instance->number));
    selected = true;
  }
  device_is_made = true;
  return *instance;
}

/// For functions that must not throw: the stream, or the default one if the device cannot be selected, which the next call reports.
cudaStream_t stream_to_free() noexcept {
  try {
    return device().stream;
  } catch (...) {
    return nullptr;
  }
}

struct Counters {
  std::mutex mutex;
  std::size_t in_use = 0, peak = 0;
};
Counters& counters() {
  static auto* instance = new Counters;
  return *instance;
}

/// `bytes` as a multiple of `unit`, at least one.
std::size_t rounded(std::size_t bytes, std::size_t unit) { return std::max(unit, (bytes + unit - 1) / unit * unit); }
/// The bytes that a block counts as in use: the same with and without the cache.
std::size_t counted(std::size_t bytes) { return rounded(bytes, 256); }

/// Released blocks by capacity. All work is on one stream, so a block can be used again at once.
struct BlockCache {
  const bool on = [] {
    const char* const value = std::getenv("LEXFORMER_CUDA_CACHE");
    return value == nullptr || std::string_view(value) != "off";
  }();
  std::mutex mutex;
  std::map<std::size_t, std::vector<void*>> blocks;

  /// The size class: multiples of an eighth of the largest power of two below, at least of 256 bytes.
  static std::size_t capacity(std::size_t bytes) { return rounded(bytes, std::max<std::size_t>(256, std::bit_floor(bytes) / 8)); }
  /// Returns the smallest block with `size` to 2 x `size` bytes and sets `size` to its capacity, or null. Larger blocks are taken because
  /// each batch has another number of tokens: with a list for each size class alone, a step of BERT would go to the driver 70 times.
  void* take(std::size_t& size) {
    const std::lock_guard lock(mutex);
    for (auto at = blocks.lower_bound(size); at != blocks.end() && at->first <= 2 * size; ++at) {
      if (at->second.empty()) continue;
      void* const data = at->second.back();
      at->second.pop_back();
      size = at->first;
      return data;
    }
    return nullptr;
  }
  /// False: the driver should get the block. There is no limit: when memory is out, allocate() gives all blocks back to the driver.
  bool keep(void* data, std::size_t size) noexcept {
    if (!on) return false;
    const std::lock_guard lock(mutex);
    try {
      blocks[size].push_back(data);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }
  void clear() noexcept {
    const std::lock_guard lock(mutex);
    for (const auto& [size, list] : blocks)
      for (void* const data : list) cudaFreeAsync(data, stream_to_free());
    blocks.clear();
  }
};
BlockCache& block_cache() {
  static auto* instance = new BlockCache;
  return *instance;
}

/// Pinned host memory. Uploads are copied here first, so that the host does not wait until the device has read them. Its pieces are used in
/// turn; the host waits only when it comes to a piece that the device has not read yet.
struct Staging {
  static constexpr std::size_t piece_size = std::size_t{4} << 20, pieces = 16;
  struct Piece {
    char* data = nullptr;
    cudaEvent_t read = nullptr;  // recorded when the piece is full
    bool recorded = false;
  };
  std::mutex mutex;
  Piece ring[pieces];
  std::size_t current = 0, used = 0;  // bytes of the current piece

  /// A place for up to `bytes` bytes, at least 1, in the current or the next piece; the bytes that fit there are returned in `bytes`.
  char* place(std::size_t& bytes) {
    if (used == piece_size || (used > 0 && bytes <= piece_size && used + bytes > piece_size)) next();
    Piece& piece = ring[current];
    if (piece.read == nullptr) LEXFORMER_CUDA_CHECK(cudaEventCreateWithFlags(&piece.read, cudaEventDisableTiming));
    if (piece.data == nullptr) LEXFORMER_CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&piece.data), piece_size));
    bytes = std::min(bytes, piece_size - used);
    char* const begin = piece.data + used;
    used = std::min(piece_size, used + (bytes + 63) / 64 * 64);
    return begin;
  }

 private:
  void next() {
    LEXFORMER_CUDA_CHECK(cudaEventRecord(ring[current].read, device().stream));
    ring[current].recorded = true;
    current = (current + 1) % pieces;
    used = 0;
    if (!std::exchange(ring[current].recorded, false)) return;
    LEXFORMER_CUDA_CHECK(cudaEventSynchronize(ring[current].read));
  }
};
Staging& staging() {
  static auto* instance = new Staging;
  return *instance;
}

}  // namespace

cudaStream_t stream() { return device().stream; }

unsigned* finished_counters(std::size_t count) {
  static std::mutex mutex;
  static MemoryBlock block;
  const std::lock_guard lock(mutex);
  const std::size_t bytes = count * sizeof(unsigned);
  if (block.bytes < bytes) {  // the old counters stay: another thread may be about to launch a kernel that uses them
    const MemoryBlock larger = Memory<Cuda>::allocate(std::max(bytes, 2 * block.bytes));
    Memory<Cuda>::zero(larger.data, larger.bytes);
    block = larger;
  }
  return static_cast<unsigned*>(block.data);
}

void fail_at(const char* what, const char* file, int line, const char* why) {
  const std::string path = file;
  fail("cuda", what, " at ", path.substr(path.find_last_of('/') + 1), ":", line, ": ", why);
}

bool waits_for_each_kernel() {
  static const bool waits = std::getenv("LEXFORMER_CUDA_SYNC") != nullptr;
  return waits;
}

bool available() noexcept {
  int count = 0;
  const bool found = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  if (!found) cudaGetLastError();
  return found;
}

void synchronize() { LEXFORMER_CUDA_CHECK(cudaStreamSynchronize(stream())); }

}  // namespace cuda

MemoryBlock Memory<Cuda>::allocate(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) throw std::bad_alloc();
  auto& cache = cuda::block_cache();
  std::size_t capacity = cache.capacity(bytes);
  const cudaStream_t stream = cuda::stream();  // selects the device for this thread, also if the cache has a block
  void* data = cache.take(capacity);
  auto& c = cuda::counters();
  if (data == nullptr) {
    const auto take = [&] { return cudaMallocAsync(&data, cache.on ? capacity : std::max<std::size_t>(bytes, 1), stream); };
    cudaError_t error = take();
    if (error == cudaErrorMemoryAllocation) {  // free memory may be in blocks of other sizes
      cudaGetLastError();
      cache.clear();
      error = take();
    }
    if (error == cudaErrorMemoryAllocation) {  // or fragmented
      cudaGetLastError();
      trim();
      error = take();
    }
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      fail("cuda", "out of device memory: cannot allocate ", bytes, " bytes, ", in_use(), " are in use; use a smaller batch");
    }
    cuda::check(error, "cudaMallocAsync", __FILE__, __LINE__);
  }
  const std::lock_guard lock(c.mutex);
  c.in_use += cuda::counted(bytes);
  c.peak = std::max(c.peak, c.in_use);
  return {data, bytes, capacity};
}

void Memory<Cuda>::release(MemoryBlock block) noexcept {
  if (block.data == nullptr) return;
  {
    auto& c = cuda::counters();
    const std::lock_guard lock(c.mutex);
    c.in_use -= cuda::counted(block.bytes);
  }
  // An error here is a device failure, which the next call reports.
  if (!cuda::block_cache().keep(block.data, block.capacity)) cudaFreeAsync(block.data, cuda::stream_to_free());
}

void Memory<Cuda>::trim() noexcept {
  if (!cuda::device_is_made || cuda::stream_to_free() == nullptr) return;
  cuda::block_cache().clear();
  cudaStreamSynchronize(cuda::stream());  // complete the queued frees first
  cudaMemPoolTrimTo(cuda::device().pool, 0);
}

namespace {
void copy_to_device(void* to, const void* from, std::size_t bytes) {
  LEXFORMER_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cuda::stream()));
}
}  // namespace

void Memory<Cuda>::upload(void* to, const void* host, std::size_t bytes) {
  auto& staging = cuda::staging();
  if (bytes > staging.piece_size * staging.pieces) {  // wait: the caller may change `host` after the return
    copy_to_device(to, host, bytes);
    return cuda::synchronize();
  }
  const std::lock_guard lock(staging.mutex);
  for (std::size_t done = 0; done < bytes;) {
    std::size_t part = bytes - done;
    char* const place = staging.place(part);
    std::memcpy(place, static_cast<const char*>(host) + done, part);
    copy_to_device(static_cast<char*>(to) + done, place, part);
    done += part;
  }
}
void Memory<Cuda>::upload(void* to, std::span<const UploadPart> parts) {
  std::size_t bytes = parts.empty() ? 0 : parts.back().place + parts.back().bytes;
  if (bytes == 0) return;
  auto& staging = cuda::staging();
  if (bytes > staging.piece_size) {
    for (const auto& part : parts) upload(static_cast<char*>(to) + part.place, part.host, part.bytes);
    return;
  }
  const std::lock_guard lock(staging.mutex);
  char* const place = staging.place(bytes);
  Memory<Cpu>::upload(place, parts);
  copy_to_device(to, place, bytes);
}
void Memory<Cuda>::download(void* host, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  LEXFORMER_CUDA_CHECK(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, cuda::stream()));
  LEXFORMER_CUDA_CHECK(cudaStreamSynchronize(cuda::stream()));
}
void Memory<Cuda>::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) LEXFORMER_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cuda::stream()));
}
void Memory<Cuda>::zero(void* to, std::size_t bytes) {
  if (bytes > 0) LEXFORMER_CUDA_CHECK(cudaMemsetAsync(to, 0, bytes, cuda::stream()));
}

std::size_t Memory<Cuda>::in_use() {
  auto& c = cuda::counters();
  const std::lock_guard lock(c.mutex);
  return c.in_use;
}
std::size_t Memory<Cuda>::peak() {
  auto& c = cuda::counters();
  const std::lock_guard lock(c.mutex);
  return c.peak;
}
void Memory<Cuda>::reset_peak() {
  auto& c = cuda::counters();
  const std::lock_guard lock(c.mutex);
  c.peak = c.in_use;
}

}  // namespace lexformer
