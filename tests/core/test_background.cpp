// SPDX-License-Identifier: MIT
#include "lexformer/core/background.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "lexformer/core/error.hpp"

using namespace lexformer;

TEST_CASE("Background runs its function on another thread; wait() throws its error, once") {
  std::thread::id here = std::this_thread::get_id(), there = here;
  Background works([&] { there = std::this_thread::get_id(); });
  works.wait();
  CHECK(there != here);
  works.wait();  // it has ended
  Background fails([] { fail("work", "did not succeed"); });
  CHECK_THROWS_WITH_AS(fails.wait(), "work: did not succeed", Error);
  fails.wait();
}

TEST_CASE("Background: the destructor waits, and an error that nobody waited for does not end the program") {
  std::atomic<bool> done{false};
  {
    const Background slow([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      done = true;
      fail("work", "did not succeed");
    });
  }
  CHECK(done);
}
