// SPDX-License-Identifier: MIT
#include "lexformer/core/cache_lock.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "../support/fork.hpp"
#include "lexformer/attention/lea_alpha.hpp"
#include "lexformer/attention/lea_embedding.hpp"
#include "lexformer/core/ragged.hpp"

using namespace lexformer;

TEST_CASE("lock_cache: waits for the mutex in a process that is not forked") {
  CHECK_FALSE(detail::in_forked_child());
  std::mutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const auto lock = detail::lock_cache(mutex);
        if (lock) ++count;
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(count == 3000);
}

#if defined(LEXFORMER_TEST_FORK)
TEST_CASE("lock_cache: a forked child does not wait for a mutex that another thread of its parent holds") {
  std::mutex mutex, free;
  std::shared_mutex shared;
  test::gate.close();
  std::thread other([&] {
    const std::lock_guard lock(mutex);
    const std::shared_lock reader(shared);
    test::gate.pass();
  });
  test::gate.wait();
  CHECK(test::in_child([&] {
    const auto held = detail::lock_cache(mutex);
    const auto writer = detail::lock_cache(shared);
    const auto reader = detail::lock_cache<std::shared_lock>(shared);
    const auto own = detail::lock_cache(free);
    return detail::in_forked_child() && !held && !writer && reader && own;
  }));
  test::gate.open();
  other.join();
  CHECK(detail::lock_cache(mutex).owns_lock());
  CHECK(test::in_child([&] { return test::in_child([&] { return detail::lock_cache(mutex).owns_lock(); }); }));
}

TEST_CASE("caches in a forked child: computed anew if another thread of the parent held them") {
  const auto offsets = Offsets::from_lengths(std::vector<std::size_t>{2, 3});
  LeaOptions options;
  options.dimension = 4;
  LeaSinusoids<float, Gated> sinusoids(options);
  const HostNumber<float, Gated> value;
  const auto number = Tensor<float, Gated>::from({2.5f});
  const std::vector<double> levels{0.25, 0.5};
  const auto expected = lea_sinusoid<float>(levels, 4, true).to_vector();
  const auto right = [&] {
    test::gate.open();
    const auto begins = offsets.on<Gated>();
    return begins.token.to_vector() == std::vector<std::size_t>{0, 2, 5} && begins.pair.to_vector() == std::vector<std::size_t>{0, 4, 13} &&
           sinusoids(levels).to_vector() == expected && value(number) == 2.5f;
  };
  const auto while_another_uses = [&](const auto& use) {
    test::Gate& gate = test::gate;
    gate.close();
    std::thread other(use);
    gate.wait();
    CHECK(test::in_child(right));
    gate.open();
    other.join();
  };
  while_another_uses([&] { offsets.on<Gated>(); });
  while_another_uses([&] { sinusoids({0.75}); });
  while_another_uses([&] { value(number); });
  CHECK(right());
}
#endif
