// SPDX-License-Identifier: MIT
#include "lexformer/kernels/cpu.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "../support/random_tensor.hpp"

using namespace lexformer;
using test::random_tensor;

namespace {

using OnCpu = Kernels<Cpu>;
/// Checks that the numbers returned by body() have the same bits for 1, 2, 3 and 7 threads.
template <class Body>
bool same_for_any_threads(Body&& body) {
  set_threads(1);
  const auto serial = body();
  bool same = true;
  for (const int count : {2, 3, 7}) {
    set_threads(count);
    same = same && body() == serial;
  }
  set_threads(0);
  return same;
}

std::vector<std::int32_t> random_ids(std::size_t count, std::size_t rows) {
  RandomStream random(1, random_site::user);
  std::vector<std::int32_t> ids(count);
  for (auto& id : ids) id = static_cast<std::int32_t>(random.below(rows));
  return ids;
}

}  // namespace

TEST_CASE("lane_sum adds every element once, max finds the largest, at every length") {
  for (std::size_t n = 0; n <= 100; ++n) {
    CAPTURE(n);
    // Integers: the sum does not depend on the order.
    RandomStream random(n, random_site::user);
    std::vector<float> x(n);
    float sum = 0, largest = -1e9f;
    for (float& v : x) {
      v = static_cast<float>(random.below(2001)) - 1000.0f;
      sum += v;
      largest = std::max(largest, v);
    }
    CHECK(row::lane_sum<float>(n, [&](std::size_t i) { return x[i]; }) == sum);
    if (n > 0) CHECK(row::max(x.data(), n) == largest);
  }
  std::vector<double> many(100001, 0.1);
  CHECK(row::lane_sum<double>(many.size(), [&](std::size_t i) { return many[i]; }) == doctest::Approx(10000.1).epsilon(1e-12));
  double total = -1, average = -1;
  OnCpu::sum(many.size(), many.data(), &total);
  OnCpu::mean(many.size(), many.data(), &average);
  CHECK(total == doctest::Approx(10000.1).epsilon(1e-12));
  CHECK(average == total / 100001);
  const auto norm = [&](const std::vector<Elements<double>>& arrays, const double* loss, const double* before) {
    double y = -1;
    OnCpu::gradient_norm(arrays, loss, before, &y);
    return y;
  };
  const std::vector<Elements<double>> parts = {{3, many.data()}, {0, nullptr}, {many.size() - 3, many.data() + 3}};
  CHECK(norm({{many.size(), many.data()}}, nullptr, nullptr) == doctest::Approx(std::sqrt(1000.01)).epsilon(1e-12));
  CHECK(norm(parts, &average, &total) == doctest::Approx(std::sqrt(1000.01)).epsilon(1e-12));
  CHECK(norm({}, nullptr, nullptr) == 0.0);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    CHECK(std::isnan(norm(parts, &bad, nullptr)));
    CHECK(std::isnan(norm(parts, &average, &bad)));
  }
  OnCpu::sum(0, many.data(), &total);
  CHECK(total == 0.0);
}

TEST_CASE("a NaN or an infinity anywhere is found by all_finite and spreads over its row of softmax") {
  for (const std::size_t n : {1u, 5u, 15u, 16u, 17u, 40u})
    for (std::size_t at = 0; at < n; ++at)
      for (const float bad : {NAN, INFINITY}) {
        CAPTURE(n);
        CAPTURE(at);
        auto x = random_tensor<float>({n});
        CHECK(OnCpu::all_finite(n, x.data()));
        x.mutable_data()[at] = bad;
        CHECK_FALSE(OnCpu::all_finite(n, x.data()));
        Tensor<float> y({n});
        for (const bool log : {false, true}) {
          OnCpu::softmax(1, n, log, x.data(), y.mutable_data());
          CHECK(std::isnan(y.at(0)));
          CHECK(std::isnan(y.at(n - 1)));
        }
        CHECK(std::isnan(row::softmax(n, x.mutable_data())));
        CHECK(std::isnan(x.at(0)));
        CHECK(std::isnan(x.at(n - 1)));
      }
  auto x = Tensor<float>::from({1, -INFINITY, 2});
  CHECK_FALSE(OnCpu::all_finite(3, x.data()));
  CHECK(OnCpu::all_finite(0, x.data()));
}

TEST_CASE("log-softmax does not change when a number is added to all scores") {
  for (const float top : {0.0f, 20.0f, 1e4f, 1e8f}) {
    const auto x = Tensor<float>::from({top, top});
    Tensor<float> y({2});
    OnCpu::softmax(1, 2, true, x.data(), y.mutable_data());
    CHECK(y.data()[0] == -std::log(2.0f));
  }
}

TEST_CASE("softmax and log-softmax equal their definition, also for large scores") {
  for (const std::size_t n : {1u, 2u, 15u, 33u, 100u})
    for (const double offset : {0.0, 1000.0, -1000.0}) {
      CAPTURE(n);
      CAPTURE(offset);
      auto x = random_tensor<float>({3, n}, 0, 3.0);
      for (float& v : x.mutable_span()) v += static_cast<float>(offset);
      Tensor<float> y({3, n}), log_y({3, n});
      OnCpu::softmax(3, n, false, x.data(), y.mutable_data());
      OnCpu::softmax(3, n, true, x.data(), log_y.mutable_data());
      for (std::size_t r = 0; r < 3; ++r) {
        double total = 0;
        for (std::size_t j = 0; j < n; ++j) total += std::exp(static_cast<double>(x.at(r, j)) - offset);
        auto row = x.slice(r, r + 1).clone();
        const float logsumexp = row::softmax(n, row.mutable_data());
        CHECK(static_cast<double>(logsumexp) == doctest::Approx(offset + std::log(total)).epsilon(1e-6));
        std::vector<float> again(x.data() + r * n, x.data() + (r + 1) * n);
        again.resize(row::whole_lanes(n));
        row::padded_probabilities(n, logsumexp, again.data());
        for (std::size_t j = 0; j < n; ++j) {
          const double log_p = static_cast<double>(x.at(r, j)) - offset - std::log(total), p = std::exp(log_p);
          CHECK(std::abs(static_cast<double>(y.at(r, j)) - p) <= 1e-6 * p);
          CHECK(std::abs(static_cast<double>(row.at(0, j)) - p) <= 1e-6 * p);
          // The log-sum-exp is about 1000, where float rounds by 6e-5.
          CHECK(std::abs(static_cast<double>(again[j]) - p) <= (offset == 0.0 ? 2e-6 : 1.3e-4) * p);
          CHECK(std::abs(static_cast<double>(log_y.at(r, j)) - log_p) <= (offset == 0.0 ? 2e-6 : 1.3e-4) * std::max(1.0, -log_p));
        }
      }
    }
}

TEST_CASE_TEMPLATE("rows of attention: softmax of a padded row has the bits of softmax, and zeros after the row", T, float, double) {
  for (std::uint32_t n = 1; n <= 70; ++n) {
    CAPTURE(n);
    const auto x = random_tensor<T>({n}, n);
    std::vector<T> plain(x.data(), x.data() + n), padded = plain;
    const T log_sum = row::softmax(n, plain.data());
    padded.resize(row::whole_lanes(n), std::numeric_limits<T>::quiet_NaN());
    auto again = padded;
    CHECK(row::padded_softmax(n, padded.data()) == log_sum);
    row::padded_probabilities(n, log_sum, again.data());
    for (std::size_t j = 0; j < padded.size(); ++j) {
      CHECK(padded[j] == (j < n ? plain[j] : T{0}));
      if (j < n)
        CHECK(again[j] == doctest::Approx(static_cast<double>(padded[j])).epsilon(2e-6));
      else
        CHECK(again[j] == T{0});
    }
  }
  std::vector<T> masked(16, -std::numeric_limits<T>::infinity());
  row::padded_softmax(3, masked.data());
  CHECK(std::isnan(masked[0]));  // as softmax
}

TEST_CASE_TEMPLATE("layer_norm: without gradients, xhat may be y", T, float, double, bfloat16) {
  const DropoutMask mask{0.3f, {5, 2, 1}};
  const std::size_t rows = 3, n = 37;
  const auto x = random_tensor<T>({rows, n}, 0), residual = random_tensor<T>({rows, n}, 1), gamma = random_tensor<T>({n}, 2),
             beta = random_tensor<T>({n}, 3);
  for (const auto& m : {DropoutMask{}, mask})
    for (const T* added : {static_cast<const T*>(nullptr), residual.data()}) {
      Tensor<T> xhat({rows, n}), y({rows, n}), only_y({rows, n});
      Tensor<accumulate_t<T>> rstd({rows});
      const auto norm = [&](T* hat, T* to) {
        OnCpu::layer_norm(rows, n, accumulate_t<T>(1e-5), m, m, x.data(), added, gamma.data(), beta.data(), hat, rstd.mutable_data(), to);
      };
      norm(xhat.mutable_data(), y.mutable_data());
      norm(only_y.mutable_data(), only_y.mutable_data());
      CHECK(std::memcmp(y.data(), only_y.data(), rows * n * sizeof(T)) == 0);
    }
}

TEST_CASE("layer_norm equals its definition, with residual and dropout") {
  const DropoutMask mask{0.3f, {5, 2, 1}};
  for (const std::size_t n : {1u, 2u, 15u, 33u, 100u}) {
    CAPTURE(n);
    const std::size_t rows = 3;
    const auto x = random_tensor({rows, n}, 0), residual = random_tensor({rows, n}, 1), gamma = random_tensor({n}, 2),
               beta = random_tensor({n}, 3);
    Tensor<double> factors({rows, n}), xhat({rows, n}), rstd({rows}), y({rows, n});
    mask.fill(0, factors.size(), factors.mutable_data());
    OnCpu::layer_norm(rows, n, 1e-12, mask, {}, x.data(), residual.data(), gamma.data(), beta.data(), xhat.mutable_data(),
                      rstd.mutable_data(), y.mutable_data());
    for (std::size_t r = 0; r < rows; ++r) {
      std::vector<double> z(n);
      double mean = 0, variance = 0;
      for (std::size_t j = 0; j < n; ++j) mean += (z[j] = x.at(r, j) * factors.at(r, j) + residual.at(r, j)) / static_cast<double>(n);
      for (std::size_t j = 0; j < n; ++j) variance += (z[j] - mean) * (z[j] - mean) / static_cast<double>(n);
      for (std::size_t j = 0; j < n; ++j)
        CHECK(y.at(r, j) == doctest::Approx((z[j] - mean) / std::sqrt(variance + 1e-12) * gamma.at(j) + beta.at(j)).epsilon(1e-12));
    }
  }
}

TEST_CASE("a dropout mask is the counter generator, element by element") {
  for (const float p : {0.0f, 0.1f, 0.5f, 0.9f}) {
    const DropoutMask mask{p, {0x123456789abcdef0, 17, 4}};
    const std::uint32_t limit = mask.threshold();
    CHECK(limit == static_cast<std::uint32_t>(std::lround(p * 65536.0f)));
    for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{63}, std::uint64_t{64},
                                      std::uint64_t{1001}, (std::uint64_t{1} << 35) - 3})
      for (const std::size_t count : {0u, 1u, 2u, 9u, 63u, 64u, 65u, 200u}) {
        CAPTURE(begin);
        CAPTURE(count);
        std::vector<double> y(count + 1, -1.0);
        mask.fill(begin, count, y.data());
        bool right = y[count] == -1.0;  // nothing is written after the end
        for (std::size_t i = 0; i < count; ++i)
          right = right && y[i] == (mask.key.bits16(begin + i) >= limit ? 1.0 / (1.0 - limit / 65536.0) : 0.0);
        CHECK(right);
      }
  }
}

TEST_CASE("dropout keeps a share of 1 - p, and the mean") {
  constexpr std::size_t n = 200000;
  std::vector<float> y(n);
  for (const float p : {0.1f, 0.5f, 0.75f}) {
    DropoutMask{p, {3, 1, 0}}.fill(0, n, y.data());
    double kept = 0, sum = 0;
    for (const float v : y) {
      kept += v != 0.0f;
      sum += static_cast<double>(v);
    }
    const auto q = static_cast<double>(p), error = 4 * std::sqrt(q * (1 - q) / n);
    CHECK(std::abs(kept / n - (1 - q)) < error);
    CHECK(std::abs(sum / n - 1) < error / (1 - q));
  }
  CHECK_FALSE(DropoutMask{}.active());
  std::vector<float> all(100);
  DropoutMask{0.999999f, {3, 1, 0}}.fill(0, all.size(), all.data());
  for (const float v : all) CHECK(std::isfinite(v));
}

TEST_CASE("column_sum, gather_sum, its gradient and the copies equal plain loops") {
  const std::size_t rows = 37, n = 70, stride = 73;
  const auto x = random_tensor({rows, stride});
  Tensor<double> sums({n});
  OnCpu::column_sum(rows, n, x.data(), stride, sums.mutable_data());
  for (std::size_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += x.at(i, j);
    CHECK(sums.at(j) == doctest::Approx(sum).epsilon(1e-12));
  }
  const auto ids = random_ids(rows, 5);
  Tensor<double> table = random_tensor({5, stride}, 2), picked({rows, stride}), expected = Tensor<double>::zeros({5, stride});
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < stride; ++j) expected.mutable_data()[static_cast<std::size_t>(ids[i]) * stride + j] += x.at(i, j);
  OnCpu::gather_sum_grad(rows, stride, x.data(), std::vector<RowLookupGrad<double>>{{5, ids.data(), table.mutable_data()}});
  CHECK(table.to_vector() == expected.to_vector());  // rows in order give the same sums
  const std::vector<RowLookup<double>> one{{ids.data(), table.data()}};
  OnCpu::gather_sum(rows, stride, nullptr, one, picked.mutable_data());
  for (std::size_t i = 0; i < rows; ++i) CHECK(picked.at(i, 7) == table.at(static_cast<std::size_t>(ids[i]), 7));
  OnCpu::gather_sum(rows, stride, x.data(), {one[0], one[0]}, picked.mutable_data());
  for (std::size_t i = 0; i < rows; ++i)
    CHECK(picked.at(i, 7) == x.at(i, 7) + table.at(static_cast<std::size_t>(ids[i]), 7) + table.at(static_cast<std::size_t>(ids[i]), 7));

  Tensor<double> row_sums({rows}), expanded({rows, 4}), filled = Tensor<double>::zeros({3, 5});
  OnCpu::row_sum(rows, stride, x.data(), row_sums.mutable_data());
  OnCpu::expand_rows(rows, 4, row_sums.data(), expanded.mutable_data());
  double sum_of_row = 0;
  OnCpu::sum(stride, x.data() + stride, &sum_of_row);
  CHECK(row_sums.at(1) == doctest::Approx(sum_of_row).epsilon(1e-12));
  CHECK(expanded.at(36, 3) == row_sums.at(36));
  OnCpu::fill_rows(2, 5, x.data(), filled.mutable_data());
  CHECK(filled.at(1, 0) == x.at(0, 0));
  CHECK(filled.at(1, 4) == x.at(0, 4));
  CHECK(filled.at(2, 0) == 0.0);
  OnCpu::copy_columns(3, 2, x.data(), stride, filled.mutable_data() + 3, 5);
  CHECK(filled.at(2, 4) == x.at(2, 1));
}

TEST_CASE("the kernels have the same bits for any number of threads") {
  const std::size_t rows = 700, n = 130, size = rows * n;
  const auto x = random_tensor<float>({rows, n}, 1), dy = random_tensor<float>({rows, n}, 2), gamma = random_tensor<float>({n}, 3),
             beta = random_tensor<float>({n}, 4);
  const auto ids = random_ids(rows, 9);
  const DropoutMask mask{0.2f, {1, 2, 3}};
  const auto out = [](Shape shape, auto&& run) {
    return [shape, run] {
      auto y = Tensor<float>::zeros(shape);
      run(y.mutable_data());
      return y.to_vector();
    };
  };
  CHECK(same_for_any_threads(out({}, [&](float* y) { OnCpu::sum(size, x.data(), y); })));
  CHECK(same_for_any_threads([&] {
    double norm = 0;
    OnCpu::gradient_norm(std::vector<Elements<float>>{{size, x.data()}}, nullptr, nullptr, &norm);
    return norm;
  }));
  CHECK(same_for_any_threads(out({n}, [&](float* y) { OnCpu::column_sum(rows, n, x.data(), n, y); })));
  CHECK(same_for_any_threads(out({rows}, [&](float* y) { OnCpu::row_sum(rows, n, x.data(), y); })));
  CHECK(same_for_any_threads(out({9, n}, [&](float* y) {
    OnCpu::gather_sum_grad(rows, n, x.data(), std::vector<RowLookupGrad<float>>{{9, ids.data(), y}});
  })));
  CHECK(same_for_any_threads(out({rows, n}, [&](float* y) { OnCpu::dropout(size, mask, x.data(), y); })));
  CHECK(same_for_any_threads(out({rows, n}, [&](float* y) { OnCpu::map<scalar::Gelu>(size, x.data(), y); })));
  for (const bool log : {false, true}) {
    CHECK(same_for_any_threads(out({rows, n}, [&](float* y) { OnCpu::softmax(rows, n, log, x.data(), y); })));
    CHECK(same_for_any_threads(out({rows, n}, [&](float* y) { OnCpu::softmax_grad(rows, n, log, dy.data(), x.data(), y); })));
  }
  CHECK(same_for_any_threads([&] {
    Tensor<float> xhat({rows, n}), rstd({rows}), y({rows, n}), dz({rows, n}), dx({rows, n}), dgamma({n}), dbeta({n});
    OnCpu::layer_norm(rows, n, 1e-12f, mask, mask, x.data(), dy.data(), gamma.data(), beta.data(), xhat.mutable_data(), rstd.mutable_data(),
                      y.mutable_data());
    OnCpu::layer_norm_grad(rows, n, mask, mask, dy.data(), gamma.data(), xhat.data(), rstd.data(), dz.mutable_data(), dx.mutable_data(),
                           dgamma.mutable_data(), dbeta.mutable_data());
    return std::vector{xhat.to_vector(), rstd.to_vector(),   y.to_vector(),    dz.to_vector(),
                       dx.to_vector(),   dgamma.to_vector(), dbeta.to_vector()};
  }));
}
