// SPDX-License-Identifier: MIT
// A fiber: a function with its own stack that can be suspended (yield) and continued later (resume). Each thread of a CUDA block is a
// fiber (cuda_host.cpp). Every switch is announced to the sanitizers, which would otherwise report the new stack as corrupt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#if !defined(__x86_64__) || !defined(__ELF__)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CUDA_HOST_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDA_HOST_ASAN
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CUDA_HOST_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUDA_HOST_TSAN
#endif
#endif
#if defined(CUDA_HOST_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(CUDA_HOST_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace cuda_host {

#if defined(__x86_64__) && defined(__ELF__)
/// Saves the callee-saved registers, and the stack pointer in *save; continues where the stack `load` was suspended.
/// swapcontext does the same with two system calls, which is 50 times slower.
extern "C" void cuda_host_switch(void** save, void* load);
#endif

/// Runs entry() repeatedly: entry ends with yield(), and an endless loop around it restarts it.
class Fiber {
 public:
  static constexpr std::size_t stack_size = std::size_t{1} << 16;

  explicit Fiber(void (*entry)()) : stack_(new char[stack_size]), entry_(entry) {
#if defined(CUDA_HOST_TSAN)
    tsan_ = __tsan_create_fiber(0);
#endif
#if defined(__x86_64__) && defined(__ELF__)
    // What cuda_host_switch pops from a stack: six registers and the return address.
    auto* const top = reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(stack_.get()) + stack_size) & ~std::uintptr_t{15});
    top[-1] = nullptr;
    top[-2] = reinterpret_cast<void*>(&Fiber::run);
    for (int i = 3; i <= 8; ++i) top[-i] = nullptr;
    context_ = top - 8;
#else
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = stack_size;
    context_.uc_link = nullptr;
    makecontext(&context_, &Fiber::run, 0);
#endif
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() {
#if defined(CUDA_HOST_TSAN)
    __tsan_destroy_fiber(tsan_);
#endif
  }

  /// Runs the fiber until it yields.
  void resume() {
    current() = this;
#if defined(CUDA_HOST_TSAN)
    home_tsan_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_, 0);
#endif
#if defined(CUDA_HOST_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, stack_.get(), stack_size);
#endif
    change(home_, context_);
#if defined(CUDA_HOST_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  }

  /// Returns to the caller of resume() of the current fiber.
  static void yield() {
    Fiber& self = *current();
#if defined(CUDA_HOST_TSAN)
    __tsan_switch_to_fiber(self.home_tsan_, 0);
#endif
#if defined(CUDA_HOST_ASAN)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, self.home_stack_, self.home_size_);
#endif
    change(self.context_, self.home_);
#if defined(CUDA_HOST_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack, &current()->home_stack_, &current()->home_size_);
#endif
  }

 private:
#if defined(__x86_64__) && defined(__ELF__)
  using Context = void*;
  static void change(Context& from, Context& to) { cuda_host_switch(&from, to); }
#else
  using Context = ucontext_t;
  static void change(Context& from, Context& to) { swapcontext(&from, &to); }
#endif

  static void run() {
#if defined(CUDA_HOST_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &current()->home_stack_, &current()->home_size_);
#endif
    for (;;) current()->entry_();
  }
  static Fiber*& current() {
    static Fiber* fiber = nullptr;
    return fiber;
  }

  std::unique_ptr<char[]> stack_;
  void (*entry_)();
  Context context_{}, home_{};
#if defined(CUDA_HOST_ASAN)
  const void* home_stack_ = nullptr;
  std::size_t home_size_ = 0;
#endif
#if defined(CUDA_HOST_TSAN)
  void *tsan_ = nullptr, *home_tsan_ = nullptr;
#endif
};

}  // namespace cuda_host
