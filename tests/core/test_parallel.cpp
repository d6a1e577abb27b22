// SPDX-License-Identifier: MIT
#include "lexformer/core/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "../support/fork.hpp"
#include "lexformer/core/device.hpp"

using namespace lexformer;

namespace {

using Blocks = std::set<std::pair<std::size_t, std::size_t>>;

Blocks blocks_of(std::size_t count, std::size_t block) {
  Blocks blocks;
  std::mutex mutex;
  parallel_for(count, block, [&](std::size_t begin, std::size_t end) {
    const std::lock_guard lock(mutex);
    blocks.emplace(begin, end);
  });
  return blocks;
}

}  // namespace

TEST_CASE("parallel_for: the blocks depend on the size alone, never on the number of threads") {
  for (int threads = 1; threads <= 4; ++threads) {
    set_threads(threads);
    CHECK(blocks_of(0, 4).empty());
    CHECK(blocks_of(3, 4) == Blocks{{0, 3}});
    CHECK(blocks_of(8, 4) == Blocks{{0, 4}, {4, 8}});
    CHECK(blocks_of(10, 4) == Blocks{{0, 4}, {4, 8}, {8, 10}});
    CHECK(blocks_of(3, 0) == Blocks{{0, 1}, {1, 2}, {2, 3}});
    CHECK(blocks_of(1000, 7).size() == 143);
  }
  set_threads(0);
}

TEST_CASE("parallel_for: every element once, by as many threads as were set") {
  for (int count = 1; count <= 4; ++count) {
    set_threads(count);
    std::vector<int> visits(5000);
    std::set<std::thread::id> ids;
    std::mutex mutex;
    parallel_for(visits.size(), 10, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++visits[i];
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    CHECK(visits == std::vector<int>(5000, 1));
    CHECK(ids.size() <= static_cast<std::size_t>(count));
    CHECK(threads() == count);
  }
  set_threads(0);
  CHECK(threads() >= 1);
}

TEST_CASE("threads: never more than could help, whatever is asked for") {
  set_threads(100000);
  CHECK(threads() >= 64);
  CHECK(threads() <= std::max(64, static_cast<int>(std::thread::hardware_concurrency())));
  std::atomic<int> sum{0};
  parallel_for(1000, 1, [&](std::size_t begin, std::size_t) { sum += static_cast<int>(begin); });
  CHECK(sum == 499500);
  set_threads(0);
}

TEST_CASE("parallel_for: two threads work at the same time") {
  set_threads(2);
  std::atomic<int> begun{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  parallel_for(2, 1, [&](std::size_t, std::size_t) {
    for (++begun; begun < 2 && std::chrono::steady_clock::now() < deadline;) std::this_thread::yield();
    CHECK(begun == 2);
  });
  set_threads(0);
}

TEST_CASE("parallel_for: several threads may call it at the same time") {
  set_threads(3);
  std::vector<std::atomic<int>> visits(4);
  std::vector<std::thread> callers;
  std::atomic<int> thrown{0};
  for (std::size_t c = 0; c < visits.size(); ++c)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 200; ++round) {
        parallel_for(50, 3, [&](std::size_t begin, std::size_t end) { visits[c] += static_cast<int>(end - begin); });
        try {
          parallel_for(8, 1, [](std::size_t begin, std::size_t) {
            if (begin == 5) throw std::runtime_error("block 5");
          });
        } catch (const std::runtime_error&) {
          ++thrown;
        }
      }
    });
  for (auto& caller : callers) caller.join();
  for (const auto& v : visits) CHECK(v == 200 * 50);
  CHECK(thrown == 4 * 200);
  set_threads(0);
}

TEST_CASE("parallel_for: workers that sleep are woken") {
  set_threads(3);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> begun{0};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    parallel_for(3, 1, [&](std::size_t, std::size_t) {
      for (++begun; begun < 3 && std::chrono::steady_clock::now() < deadline;) std::this_thread::yield();
    });
    CHECK(begun == 3);
  }
  set_threads(0);
}

#if defined(LEXFORMER_TEST_FORK)
TEST_CASE("parallel_for: a child process has workers of its own") {
  set_threads(3);
  CHECK(blocks_of(100, 1).size() == 100);  // the parent has workers
  CHECK(test::in_child([] { return blocks_of(100, 1).size() == 100; }));
  CHECK(blocks_of(100, 1).size() == 100);
  set_threads(0);
}

TEST_CASE("memory: a child process can allocate, whatever another thread did at the moment of fork()") {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) Memory<Cpu>::release(Memory<Cpu>::allocate(1000));
  });
  bool right = true;
  for (int i = 0; i < 100 && right; ++i)
    right = test::in_child([] {
      Memory<Cpu>::release(Memory<Cpu>::allocate(1000));
      return true;
    });
  done = true;
  other.join();
  CHECK(right);
}
#endif

TEST_CASE("parallel_for: an exception of a block reaches the caller, on any number of threads") {
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    const auto run = [](std::size_t bad) {
      parallel_for(100, 1, [=](std::size_t begin, std::size_t) {
        if (begin == bad) throw std::runtime_error("block " + std::to_string(begin));
      });
    };
    CHECK_THROWS_WITH_AS(run(0), "block 0", std::runtime_error);
    CHECK_THROWS_WITH_AS(run(99), "block 99", std::runtime_error);
    CHECK_THROWS_AS(parallel_for(100, 1, [](std::size_t, std::size_t) { throw std::runtime_error("each"); }), std::runtime_error);
    CHECK_NOTHROW(run(100));  // still works afterwards
  }
  set_threads(0);
}

TEST_CASE("parallel_for: inside a block it runs serially, on the thread of that block, in order") {
  set_threads(3);
  std::vector<int> right(20);
  parallel_for(right.size(), 1, [&](std::size_t outer, std::size_t) {
    const auto id = std::this_thread::get_id();
    std::size_t next = 0;
    bool same = true;
    parallel_for(10, 3, [&](std::size_t begin, std::size_t end) {
      same = same && std::this_thread::get_id() == id && begin == next;
      next = end;
    });
    right[outer] = same && next == 10;
  });
  CHECK(right == std::vector<int>(20, 1));
  set_threads(0);
}
