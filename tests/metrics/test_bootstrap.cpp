// SPDX-License-Identifier: MIT
#include "lexformer/metrics/bootstrap.hpp"

#include <doctest/doctest.h>

#include "support/error_message.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

double mean_of(const std::vector<double>& values, std::span<const std::size_t> rows) {
  double sum = 0;
  for (const std::size_t row : rows) sum += values.at(row);
  return sum / static_cast<double>(rows.size());
}

}  // namespace

TEST_CASE("bootstrap: the interval of a mean is that of the normal law") {
  std::vector<double> values(400);
  RandomStream random(5, random_site::user);
  for (auto& v : values) v = 3 + 2 * random.normal();
  std::vector<std::size_t> all(values.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const double mean = mean_of(values, all);
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  const double error = std::sqrt(squares) / 400;  // deviation / sqrt(n)
  const auto interval = [&](double level) {
    return bootstrap_intervals(400, {.resamples = 4000, .level = level}, [&](auto rows) { return std::vector{mean_of(values, rows)}; })[0];
  };
  const Interval wide = interval(0.95), narrow = interval(0.5);
  CHECK(wide.high - mean == doctest::Approx(1.96 * error).epsilon(0.08));
  CHECK(mean - wide.low == doctest::Approx(1.96 * error).epsilon(0.08));
  CHECK(narrow.high - narrow.low == doctest::Approx(2 * 0.6745 * error).epsilon(0.08));
}

TEST_CASE("bootstrap: a paired difference knows no noise that both share") {
  std::vector<double> a(50), b(50);
  RandomStream random(6, random_site::user);
  for (std::size_t i = 0; i < a.size(); ++i) b[i] = (a[i] = 100 * random.normal()) + 1;
  const auto intervals = bootstrap_intervals(50, {.resamples = 200}, [&](auto rows) {
    return std::vector{mean_of(b, rows) - mean_of(a, rows), mean_of(a, rows)};
  });
  REQUIRE(intervals.size() == 2);
  CHECK(intervals[0].low == doctest::Approx(1));
  CHECK(intervals[0].high == doctest::Approx(1));
  CHECK(intervals[1].high - intervals[1].low > 20);
}

TEST_CASE("bootstrap: repeatable, whatever the number of threads; the quantiles are those of the definition") {
  const auto draw = [](std::uint64_t seed) {
    return bootstrap_intervals(30, {.resamples = 101, .level = 0.9, .seed = seed},
                               [](auto rows) { return std::vector{static_cast<double>(rows[0] * 31 + rows[29])}; })[0];
  };
  const Interval first = draw(1);
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    CHECK(draw(1).low == first.low);
    CHECK(draw(1).high == first.high);
  }
  set_threads(0);
  CHECK(draw(2).low != first.low);

  std::vector<double> drawn;  // the same resamples, computed directly
  for (std::uint32_t r = 0; r < 101; ++r) {
    RandomStream random(1, random_site::bootstrap, r);
    std::vector<std::size_t> rows(30);
    for (auto& row : rows) row = random.below(30);
    drawn.push_back(static_cast<double>(rows[0] * 31 + rows[29]));
  }
  std::sort(drawn.begin(), drawn.end());
  CHECK(first.low == drawn[5]);
  CHECK(first.high == drawn[95]);
}

TEST_CASE("bootstrap: what cannot be drawn is refused") {
  const auto none = [](auto) { return std::vector<double>{}; };
  CHECK(error_message([&] { bootstrap_intervals(0, {}, none); }).find("no examples") != std::string::npos);
  CHECK(error_message([&] { bootstrap_intervals(3, {.resamples = 0}, none); }).find("0 resamples") != std::string::npos);
  CHECK(error_message([&] { bootstrap_intervals(3, {.level = 1}, none); }).find("between 0 and 1") != std::string::npos);
  CHECK(bootstrap_intervals(3, {.resamples = 2}, none).empty());
}
