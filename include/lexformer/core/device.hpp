// SPDX-License-Identifier: MIT
// Devices and their memory. Memory<Dev> allocates and releases blocks. Released blocks are cached and reused: a training step
// with fresh memory from the system would cost about 100,000 page faults. On Linux, segments use huge pages if the system allows it.
//
// A device Dev must provide Memory<Dev> and Kernels<Dev> (kernels/interface.hpp), nothing else.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "lexformer/core/compiled.hpp"

// The cache is off under the address sanitizer, so that it detects a use after free.
#if defined(__SANITIZE_ADDRESS__)
#define LEXFORMER_NO_BLOCK_CACHE
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEXFORMER_NO_BLOCK_CACHE
#endif
#endif

// Marks functions that are compiled for the host and for CUDA devices.
#if defined(__CUDACC__)
#define LEXFORMER_HD __host__ __device__
#else
#define LEXFORMER_HD
#endif

namespace lexformer {

struct Cpu {};
struct Cuda {};

template <class Dev>
struct Memory;

/// A block of memory: `bytes` were requested, `capacity` were allocated.
struct MemoryBlock {
  void* data = nullptr;
  std::size_t bytes = 0, capacity = 0;
};

/// A part of an upload: bytes on the host, copied to `place` bytes after its begin. Parts are sorted by place and do not overlap.
struct UploadPart {
  const void* host;
  std::size_t bytes, place;
};

/// Host memory. Small blocks come from operator new. Large ones are cut from segments of at least 32 MiB that the process keeps until
/// trim(): best fit, and adjacent free blocks are merged, so that batches of different lengths share the same memory.
template <>
struct Memory<Cpu> {
  static constexpr std::size_t alignment = 64, large = 65536, page = 4096;

  static MemoryBlock allocate(std::size_t bytes);
  static void release(MemoryBlock block) noexcept;

  /// Copies bytes from the host, to the host (blocking), and within the device. The ranges must not overlap.
  static void upload(void* to, const void* host, std::size_t bytes) { copy(to, host, bytes); }
  static void upload(void* to, std::span<const UploadPart> parts) {
    for (const auto& part : parts) copy(static_cast<char*>(to) + part.place, part.host, part.bytes);
  }
  static void download(void* host, const void* from, std::size_t bytes) { copy(host, from, bytes); }
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);  // pointers may be null if bytes is 0
  }
  static void zero(void* to, std::size_t bytes) {
    if (bytes > 0) std::memset(to, 0, bytes);
  }

  /// Returns all unused segments to the system.
  static void trim() noexcept;

  /// Bytes in live blocks: current, and the maximum since the start or the last reset_peak().
  static std::size_t in_use();
  static std::size_t peak();
  static void reset_peak();
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lexformer {

namespace detail {
struct HostArena {
  static constexpr std::size_t huge_page = std::size_t{1} << 21, segment = 16 * huge_page;

  std::mutex mutex;
  std::map<char*, std::size_t> segments, free;  // start -> bytes; a free block never crosses a segment's end
  std::size_t in_use = 0, peak = 0;

  void* take(std::size_t bytes, bool segmented) {
    if (!segmented) return ::operator new (bytes, std::align_val_t{Memory<Cpu>::alignment});
    auto best = free.end();
    for (auto it = free.begin(); it != free.end(); ++it)
      if (it->second >= bytes && (best == free.end() || it->second < best->second)) best = it;
    if (best == free.end()) best = grow(bytes);
    char* const data = best->first;
    // The rest stays free. The map node is reused, so nothing below allocates or throws.
    auto entry = free.extract(best);
    if (entry.mapped() > bytes) {
      entry.key() += bytes;
      entry.mapped() -= bytes;
      free.insert(std::move(entry));
    }
    return data;
  }

  std::map<char*, std::size_t>::iterator grow(std::size_t bytes) {
    if (bytes > segment) trim();  // oversized blocks have segments of their own: free unused ones first
    const std::size_t size = std::max(segment, (bytes + huge_page - 1) / huge_page * huge_page);
    char* const data = static_cast<char*>(::operator new (size, std::align_val_t{huge_page}));
#if defined(__linux__)
    madvise(data, size, MADV_HUGEPAGE);  // only advice: failure does not matter
#endif
    try {
      segments.emplace(data, size);
      return free.emplace(data, size).first;
    } catch (...) {
      segments.erase(data);
      ::operator delete (data, std::align_val_t{huge_page});
      throw;
    }
  }

  void give(char* data, std::size_t bytes) noexcept {
    const auto next = free.lower_bound(data);
    const bool joins_next = next != free.end() && next->first == data + bytes && !segments.contains(next->first);
    if (next != free.begin() && !segments.contains(data)) {
      if (const auto before = std::prev(next); before->first + before->second == data) {
        before->second += bytes + (joins_next ? next->second : 0);
        if (joins_next) free.erase(next);
        return;
      }
    }
    if (joins_next) {
      auto entry = free.extract(next);
      entry.key() = data;
      entry.mapped() += bytes;
      free.insert(std::move(entry));
      return;
    }
    try {
      free.emplace(data, bytes);
    } catch (...) {  // no memory for the map entry: only this block is lost
    }
  }

  void trim() noexcept {
    for (auto it = segments.begin(); it != segments.end();) {
      const auto whole = free.find(it->first);
      if (whole == free.end() || whole->second != it->second) {
        ++it;
        continue;
      }
      ::operator delete (it->first, std::align_val_t{huge_page});
      free.erase(whole);
      it = segments.erase(it);
    }
  }
};
LEXFORMER_INLINE HostArena& host_arena() {
  static auto* instance = [] {
    auto* const made = new HostArena;  // never destroyed, since tensors with static lifetime may outlive it
#if defined(__unix__) || defined(__APPLE__)
    // Held during fork(): a child process would wait forever for a mutex that another thread held at that moment.
    pthread_atfork([] { host_arena().mutex.lock(); }, [] { host_arena().mutex.unlock(); }, [] { host_arena().mutex.unlock(); });
#endif
    return made;
  }();
  return *instance;
}
#if defined(LEXFORMER_NO_BLOCK_CACHE)
inline constexpr bool caches_blocks = false;
#else
inline constexpr bool caches_blocks = true;
#endif
/// Whether a block of this size is cut from a segment.
LEXFORMER_INLINE bool in_segment(std::size_t bytes) { return caches_blocks && bytes >= Memory<Cpu>::large; }
}  // namespace detail

LEXFORMER_INLINE MemoryBlock Memory<Cpu>::allocate(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) throw std::bad_alloc();
  const bool segmented = detail::in_segment(bytes);
  const std::size_t unit = segmented ? page : alignment;
  const std::size_t capacity = std::max(unit, (bytes + unit - 1) / unit * unit);
  auto& a = detail::host_arena();
  const std::lock_guard lock(a.mutex);
  void* data = nullptr;
  try {
    data = a.take(capacity, segmented);
  } catch (const std::bad_alloc&) {
    a.trim();
    data = a.take(capacity, segmented);
  }
  a.in_use += capacity;
  a.peak = std::max(a.peak, a.in_use);
  return {data, bytes, capacity};
}

LEXFORMER_INLINE void Memory<Cpu>::release(MemoryBlock block) noexcept {
  auto& a = detail::host_arena();
  const std::lock_guard lock(a.mutex);
  a.in_use -= block.capacity;
  if (detail::in_segment(block.bytes))
    a.give(static_cast<char*>(block.data), block.capacity);
  else
    ::operator delete (block.data, std::align_val_t{alignment});
}

LEXFORMER_INLINE void Memory<Cpu>::trim() noexcept {
  const std::lock_guard lock(detail::host_arena().mutex);
  detail::host_arena().trim();
}

LEXFORMER_INLINE std::size_t Memory<Cpu>::in_use() {
  const std::lock_guard lock(detail::host_arena().mutex);
  return detail::host_arena().in_use;
}
LEXFORMER_INLINE std::size_t Memory<Cpu>::peak() {
  const std::lock_guard lock(detail::host_arena().mutex);
  return detail::host_arena().peak;
}
LEXFORMER_INLINE void Memory<Cpu>::reset_peak() {
  const std::lock_guard lock(detail::host_arena().mutex);
  detail::host_arena().peak = detail::host_arena().in_use;
}

}  // namespace lexformer
#endif
