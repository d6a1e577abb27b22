// SPDX-License-Identifier: MIT
#include "lexformer/train/schedule.hpp"

#include "support/golden.hpp"

using namespace lexformer;

TEST_CASE("schedules: transformers' values for every step") {
  auto in = test::open_golden("schedules.txt");
  std::string kind;
  std::size_t warmup = 0, total = 0, cases = 0;
  while (in >> kind >> warmup >> total) {
    const auto rates = test::read_numbers(in);
    const Schedule schedule{parse_name<ScheduleKind>(kind, "schedule"), 3e-4, warmup, total};
    CAPTURE(kind);
    CAPTURE(warmup);
    for (std::size_t k = 0; k < rates.size(); ++k) CHECK(schedule(k) == doctest::Approx(3e-4 * rates[k]).epsilon(1e-13));
    ++cases;
  }
  CHECK(cases == 12);
}

TEST_CASE("schedules: minimum, end, and a total within the warm-up") {
  for (const auto kind : {ScheduleKind::linear, ScheduleKind::cosine}) {
    const Schedule schedule{kind, 1.0, 2, 12, 0.1};
    CHECK(schedule(1) == 0.5);
    CHECK(schedule(2) == 1.0);
    CHECK(schedule(7) == doctest::Approx(0.55));
    CHECK(schedule(12) == doctest::Approx(0.1));
    CHECK(schedule(1000) == doctest::Approx(0.1));
    CHECK(Schedule{kind, 1.0, 5, 3, 0.0}(5) == 0.0);
  }
  CHECK_THROWS_AS(parse_name<ScheduleKind>("cosin", "schedule"), Error);
}

TEST_CASE("schedules: exponential decay by period") {
  const Schedule schedule{.kind = ScheduleKind::exponential, .base = 2e-3, .warmup = 2, .total = 100, .gamma = 0.5, .period = 3};
  CHECK(schedule(1) == 1e-3);
  double expected = 2e-3;
  for (std::size_t k = 2; k < 20; ++k) {
    CHECK(schedule(k) == doctest::Approx(expected).epsilon(1e-13));
    if (k % 3 == 1) expected /= 2;
  }
}

TEST_CASE("epochs_to_steps rounds up, but not what is whole") {
  CHECK(epochs_to_steps(1.5, 179) == 269);
  CHECK(epochs_to_steps(0.1, 30) == 3);
  CHECK(epochs_to_steps(0.7, 10) == 7);
  CHECK(epochs_to_steps(30, 180) == 5400);
  CHECK(epochs_to_steps(0, 180) == 0);
  CHECK(epochs_to_steps(0.001, 180) == 1);
  CHECK_THROWS_AS(epochs_to_steps(-1, 180), Error);
}
