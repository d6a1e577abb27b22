// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "lexformer/core/compiled.hpp"

namespace lexformer {

/// Runs a function on another thread.
class Background {
 public:
  explicit Background(std::function<void()> work);
  ~Background();  // waits for the function; an error that wait() has not thrown is lost
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Waits for the function. Errors: as the function.
  void wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <exception>
#include <thread>
#include <utility>

namespace lexformer {

struct Background::State {
  std::exception_ptr error{};
  std::thread thread{};
};

LEXFORMER_INLINE Background::Background(std::function<void()> work) : state_(std::make_unique<State>()) {
  state_->thread = std::thread([&error = state_->error, work = std::move(work)] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  });
}

LEXFORMER_INLINE Background::~Background() {
  if (state_->thread.joinable()) state_->thread.join();
}

LEXFORMER_INLINE void Background::wait() {
  if (state_->thread.joinable()) state_->thread.join();
  if (state_->error) std::rethrow_exception(std::exchange(state_->error, nullptr));
}

}  // namespace lexformer
#endif
