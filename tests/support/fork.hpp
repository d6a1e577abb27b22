// SPDX-License-Identifier: MIT
// Tests of what a child process does after fork().
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <thread>

#include "lexformer/core/device.hpp"

// ThreadSanitizer ends a child process that starts threads.
#if defined(__SANITIZE_THREAD__)
#define LEXFORMER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define LEXFORMER_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define LEXFORMER_THREAD_SANITIZER 0
#endif

#if defined(__unix__) && !LEXFORMER_THREAD_SANITIZER
#define LEXFORMER_TEST_FORK
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace lexformer {
namespace test {

#if defined(LEXFORMER_TEST_FORK)
/// Whether f returns true in a child process, within 20 seconds.
template <class F>
bool in_child(F&& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // instead of waiting forever
    bool right = false;
    try {
      right = f();
    } catch (...) {
    }
    _exit(right ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}
#endif

/// Where a thread waits while it is closed.
class Gate {
 public:
  void close() { closed_ = true; }
  void open() { closed_ = false; }
  void pass() {
    while (closed_) {
      waits_ = true;
      std::this_thread::yield();
    }
  }
  /// Returns when a thread waits.
  void wait() const {
    while (!waits_) std::this_thread::yield();
  }

 private:
  std::atomic<bool> closed_{false}, waits_{false};
};
inline Gate gate;

}  // namespace test

/// The host's memory behind test::gate.
struct Gated {};
template <>
struct Memory<Gated> {
  static MemoryBlock allocate(std::size_t bytes) { return Memory<Cpu>::allocate(bytes); }
  static void release(MemoryBlock block) noexcept { Memory<Cpu>::release(block); }
  static void upload(void* to, const void* host, std::size_t bytes) {
    test::gate.pass();
    Memory<Cpu>::copy(to, host, bytes);
  }
  static void download(void* host, const void* from, std::size_t bytes) {
    test::gate.pass();
    Memory<Cpu>::copy(host, from, bytes);
  }
};

}  // namespace lexformer
