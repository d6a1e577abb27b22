// SPDX-License-Identifier: MIT
// Where a tensor lives. Memory<Dev> gives and takes blocks; freed blocks are kept and given out again, because a training
// step that asks the system for fresh memory pays for some 100,000 page faults.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>

// Under the address sanitizer every block is new, so that it sees a use after free.
#if defined(__SANITIZE_ADDRESS__)
#define LEXFORMER_NO_BLOCK_CACHE
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEXFORMER_NO_BLOCK_CACHE
#endif
#endif

namespace lexformer {

struct Cpu {};
struct Cuda {};

template <class Dev>
struct Memory;

/// A block of memory: `bytes` were asked for, `capacity` are there.
struct MemoryBlock {
  void* data = nullptr;
  std::size_t bytes = 0, capacity = 0;
};

template <>
struct Memory<Cpu> {
  static constexpr std::size_t alignment = 64;

  static MemoryBlock allocate(std::size_t bytes) {
    const std::size_t unit = bytes < 65536 ? alignment : 4096;
    const std::size_t capacity = bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
    if (capacity < bytes) throw std::bad_alloc();
    auto& c = cache();
    MemoryBlock block{nullptr, bytes, capacity};
    {
      const std::lock_guard lock(c.mutex);
      // The best fit among the kept blocks, if it wastes no more than a quarter (batches differ in length).
      if (const auto it = c.kept.lower_bound(capacity); it != c.kept.end() && it->first <= capacity + capacity / 4) {
        block.data = it->second;
        block.capacity = it->first;
        c.kept_bytes -= it->first;
        c.kept.erase(it);
      }
    }
    if (block.data == nullptr) {
      try {
        block.data = ::operator new (capacity, std::align_val_t{alignment});
      } catch (const std::bad_alloc&) {
        trim();
        block.data = ::operator new (capacity, std::align_val_t{alignment});
      }
    }
    const std::lock_guard lock(c.mutex);
    c.in_use += block.capacity;
    c.peak = std::max(c.peak, c.in_use);
    return block;
  }

  static void release(MemoryBlock block) noexcept {
    auto& c = cache();
    const std::lock_guard lock(c.mutex);
    c.in_use -= block.capacity;
#if !defined(LEXFORMER_NO_BLOCK_CACHE)
    // Kept and live blocks together never exceed the largest amount that was ever live at once, plus an eighth.
    if (c.in_use + c.kept_bytes + block.capacity <= c.peak + c.peak / 8) {
      try {
        c.kept.emplace(block.capacity, block.data);
        c.kept_bytes += block.capacity;
        return;
      } catch (...) {  // no room for the entry: give the block back instead
      }
    }
#endif
    ::operator delete (block.data, std::align_val_t{alignment});
  }

  /// Gives all kept blocks back to the system.
  static void trim() noexcept {
    auto& c = cache();
    const std::lock_guard lock(c.mutex);
    for (const auto& [size, data] : c.kept) ::operator delete (data, std::align_val_t{alignment});
    c.kept.clear();
    c.kept_bytes = 0;
  }

  /// Bytes of all live tensors: now, and at the most since the start.
  static std::size_t in_use() {
    const std::lock_guard lock(cache().mutex);
    return cache().in_use;
  }
  static std::size_t peak() {
    const std::lock_guard lock(cache().mutex);
    return cache().peak;
  }

 private:
  struct Cache {
    std::mutex mutex;
    std::multimap<std::size_t, void*> kept;  // capacity -> block
    std::size_t kept_bytes = 0, in_use = 0, peak = 0;
  };
  static Cache& cache() {
    static auto* instance = new Cache;  // never destroyed: a tensor with static lifetime may die after it otherwise
    return *instance;
  }
};

}  // namespace lexformer
