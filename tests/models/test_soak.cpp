// SPDX-License-Identifier: MIT
// Memory must not grow in long runs. Not part of the regular suite; docs/testing.md describes how to run it.
#include <fstream>
#include <string>

#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/schedule.hpp"
#include "models/tiny.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

/// Anonymous memory of this process in bytes, counted page by page: a system may drop and reload idle pages of the program file, and the
/// totals in /proc/self/status are rounded.
double resident_bytes() {
  std::ifstream in("/proc/self/smaps_rollup");
  double kilobytes = 0;
  for (std::string word; in >> word;)
    if (word == "Anonymous:") in >> kilobytes;
  REQUIRE(kilobytes > 0);
  return 1024 * kilobytes;
}

/// Runs step(0 ... steps - 1); the memory at the end must be less than 1 % above that after `warm` steps.
template <class Step>
void soak(std::size_t warm, std::size_t steps, Step&& step) {
  double before = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    if (i == warm) before = resident_bytes();
    step(i);
  }
  const double after = resident_bytes();
  MESSAGE(steps << " steps: " << before / 0x1p20 << " MiB after " << warm << " of them, " << after / 0x1p20 << " MiB at the end, "
                << 100 * (after / before - 1) << " % more");
  CHECK(after < 1.01 * before);
}

}  // namespace

TEST_CASE("soak: of 20,000 training steps the second half needs no more memory" * doctest::skip()) {
  const test::Threads one(1);
  auto model = test::tiny_model<float>(test::with_lea());
  AdamW<float> optimizer(model.parameters());
  const Schedule schedule{.kind = ScheduleKind::linear, .base = 1e-3, .total = 20000};
  soak(10000, 20000, [&](std::size_t step) {
    const std::size_t first = step % test::pairs.size(), last = first + 1 + step / 8 % (test::pairs.size() - first);
    test::loss_of(model, test::tiny_batch(model, first, last), {.training = true, .seed = 1, .step = static_cast<std::uint32_t>(step)})
        .backward();
    clip_grad_norm(model.parameters(), 1.0);
    optimizer.set_lr(schedule(step));
    optimizer.step();
  });
}

TEST_CASE("soak: 1,000 loaded models need no more memory than the first 200" * doctest::skip()) {
  const TemporaryFolder folder;
  const test::Threads one(1);
  auto model = test::tiny_model<float>(test::with_lea());
  model(test::tiny_batch(model), {.training = true});
  model.save(folder / "a.lxf");
  double sum = 0;
  soak(200, 1000, [&](std::size_t) { sum += CrossEncoder<float>::load(folder / "a.lxf").predict(test::pairs).front(); });
  CHECK(sum > 0);
}
