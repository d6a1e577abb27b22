// SPDX-License-Identifier: MIT
// Parallel loops over fixed blocks. The partition depends only on the size of the work, not on the number of threads, so results
// have the same bits for 1, 2 or 64 threads.
//
// The calling thread and the workers of one pool take the blocks one by one. A thread without work spins for a moment and then sleeps, so
// that it does not slow down other work on the same cores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// Sets the number of threads for parallel_for; 0 = the default: the environment variable LEXFORMER_NUM_THREADS, else OMP_NUM_THREADS, else
/// the number of processors that the process may use, within its container's quota. At most max(64, number of processors) are used: more
/// are not faster.
void set_threads(int threads);
int threads();

namespace detail {
/// Calls run(body, b) for b = 0 ... blocks - 1; see parallel_for.
void run_blocks(std::size_t blocks, void (*run)(void* body, std::size_t block), void* body);
}  // namespace detail

/// Calls body(begin, end) for the blocks [0, block), [block, 2 block), ... of [0, count), in any order and on any thread.
/// Rethrows the first exception of a block after all running blocks have ended. A nested call runs serially. Several threads may call it
/// at the same time; they share the workers. It also works in a child process, unless fork() was called inside a block.
template <class Body>
void parallel_for(std::size_t count, std::size_t block, Body&& body) {
  struct Call {
    std::size_t count, block;
    std::remove_reference_t<Body>* body;
  } call{count, std::max<std::size_t>(block, 1), std::addressof(body)};
  const auto run = [](void* of, std::size_t b) {
    const Call& c = *static_cast<Call*>(of);
    (*c.body)(b * c.block, std::min(c.count, (b + 1) * c.block));
  };
  detail::run_blocks((count + call.block - 1) / call.block, run, &call);
}

namespace detail {
inline constexpr std::size_t element_block = 16384;  // elements per block of an elementwise loop

/// Rows per block, so that a block has about element_block elements.
inline std::size_t row_block(std::size_t columns) { return std::max<std::size_t>(1, element_block / std::max<std::size_t>(1, columns)); }
}  // namespace detail

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "lexformer/core/processors.hpp"

namespace lexformer {

namespace detail {

LEXFORMER_INLINE std::atomic<int>& thread_limit() {
  static std::atomic<int> limit{0};
  return limit;
}

/// Whether this thread runs a block now.
LEXFORMER_INLINE bool& in_block() {
  thread_local bool value = false;
  return value;
}

/// Waits until ready(), at most for the time in which a sleeping thread could be woken. Returns ready().
template <class Ready>
bool spin_until(Ready&& ready) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

/// A call of parallel_for.
struct Loop {
  const std::size_t blocks;
  void (*const run)(void* body, std::size_t block);
  void* const body;
  const int most_helpers;
  std::atomic<std::size_t> next{0};  // the first block that no thread has taken
  std::atomic<int> helpers{0};       // workers in take_blocks()
  std::atomic<bool> failed{false};
  std::exception_ptr error{};

  void take_blocks() noexcept {
    for (std::size_t b = next++; b < blocks; b = next++) {
      try {
        run(body, b);
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
        next = blocks;
      }
    }
  }
};

/// The workers of the process, started when a loop needs them. They end with the process.
class ThreadPool {
 public:
  void run(Loop& loop) {
    int sleeping = 0;
    {
      const std::lock_guard lock(mutex_);
      start(loop.most_helpers);
      loops_.push_back(&loop);
      ++posted_;
      sleeping = sleeping_;
    }
    for (int i = std::min(sleeping, loop.most_helpers); i > 0; --i) wake_.notify_one();
    loop.take_blocks();
    {
      const std::lock_guard lock(mutex_);
      loops_.erase(std::find(loops_.begin(), loops_.end(), &loop));  // no worker joins it from now on
    }
    const auto finished = [&] { return loop.helpers == 0; };
    if (spin_until(finished)) return;
    std::unique_lock lock(mutex_);
    finished_.wait(lock, finished);
  }

 private:
  void start(int workers) {
    try {
      for (; workers_ < workers; ++workers_) std::thread([this] { work(); }).detach();
    } catch (const std::exception&) {  // the caller and the workers that are there do the work
    }
  }

  [[noreturn]] void work() {
    in_block() = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto found =
          std::find_if(loops_.begin(), loops_.end(), [](const Loop* l) { return l->next < l->blocks && l->helpers < l->most_helpers; });
      if (found != loops_.end()) {
        Loop& loop = **found;
        ++loop.helpers;
        lock.unlock();
        loop.take_blocks();
        lock.lock();
        if (--loop.helpers == 0) finished_.notify_all();
        continue;
      }
      const auto is_new = [this, seen = posted_.load()] { return posted_ != seen; };
      lock.unlock();
      spin_until(is_new);
      lock.lock();
      ++sleeping_;
      wake_.wait(lock, is_new);
      --sleeping_;
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::vector<Loop*> loops_;
  std::atomic<std::uint64_t> posted_{0};  // the number of loops so far
  int workers_ = 0, sleeping_ = 0;
};

/// The pool of this process. It is never destroyed, since its workers sleep in it.
LEXFORMER_INLINE ThreadPool& thread_pool() {
  static std::atomic<ThreadPool*> pool{nullptr};
#if defined(__unix__) || defined(__APPLE__)
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] { pool = nullptr; });  // a child process has no workers
  static_cast<void>(at_fork);
#endif
  ThreadPool* found = pool;
  if (found == nullptr) {
    auto made = std::make_unique<ThreadPool>();
    if (pool.compare_exchange_strong(found, made.get())) found = made.release();
  }
  return *found;
}

LEXFORMER_INLINE void run_blocks(std::size_t blocks, void (*run)(void* body, std::size_t block), void* body) {
  const auto helpers = static_cast<int>(std::min<std::size_t>(blocks, static_cast<std::size_t>(threads()))) - 1;
  if (helpers < 1 || in_block()) {
    for (std::size_t b = 0; b < blocks; ++b) run(body, b);
    return;
  }
  Loop loop{blocks, run, body, helpers};
  const struct InBlock {
    InBlock() { in_block() = true; }
    ~InBlock() { in_block() = false; }  // also if there is no memory for the list of loops
  } here;
  thread_pool().run(loop);
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace detail

LEXFORMER_INLINE void set_threads(int threads) { detail::thread_limit() = threads; }
LEXFORMER_INLINE int threads() {
  static const int processors = detail::processors(), most = std::max(64, processors);
  static const int usual = detail::default_threads(std::getenv("LEXFORMER_NUM_THREADS"), std::getenv("OMP_NUM_THREADS"), processors);
  const int limit = detail::thread_limit();
  return std::min(most, limit > 0 ? limit : usual);
}

}  // namespace lexformer
#endif
