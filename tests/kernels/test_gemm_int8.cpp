// SPDX-License-Identifier: MIT
#include "lexformer/kernels/products/gemm_int8.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/products.hpp"
#include "lexformer/kernels/products/gemm_int8_tile.hpp"
#include "lexformer/kernels/scalar.hpp"

using namespace lexformer;
using test::random_tensor;

namespace {

/// Calls body(products) for each level of instructions of this processor.
template <class Body>
void for_levels(Body&& body) {
  for (const auto& entry : names_of<Instructions>) {
    if (!detail::has_instructions(entry.value)) continue;
    INFO("level " << entry.name);
    body(detail::products(entry.value));
  }
}

/// Random integers from `low` to `high`; every fourth is one of the two.
template <class I>
std::vector<I> integers(std::size_t count, int low, int high, std::uint32_t stream) {
  RandomStream random(1, random_site::user, stream);
  std::vector<I> x(count);
  for (I& v : x) {
    const auto r = random.below(8);
    v = static_cast<I>(r == 0 ? low : r == 1 ? high : low + static_cast<int>(random.below(static_cast<std::uint32_t>(high - low + 1))));
  }
  return x;
}

Int8Matrix matrix(std::size_t rows, std::size_t columns, std::vector<std::int8_t> values) {
  return {rows, columns, std::move(values), std::vector<float>(rows, 1.0f)};
}

std::vector<float> layer(const Tensor<float>& x, const Int8Weights& w, bool gelu = false) {
  std::vector<float> y(x.dim(0) * w.outputs());
  linear_int8(x.dim(0), x.data(), x.dim(1), w, y.data(), w.outputs(), gelu);
  return y;
}

std::vector<float> layer_by(const detail::Products& products, const Tensor<float>& x, const Int8Weights& w) {
  std::vector<float> y(x.dim(0) * w.outputs());
  products.linear_int8(x.dim(0), x.data(), x.dim(1), w, y.data(), w.outputs(), false);
  return y;
}

Int8Weights random_weights(std::size_t n, std::size_t k, std::uint32_t stream = 2) {
  const auto w = random_tensor<float>({n, k}, stream), b = random_tensor<float>({n}, stream + 1);
  return Int8Weights({quantize_rows(n, k, w.data())}, {b.to_vector()});
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("int8 product: every level gives the integers of three plain loops, at sizes around tiles, panels and blocks") {
  struct Size {
    std::size_t m, n, k;
  };
  const Size sizes[] = {{1, 1, 1},     {2, 31, 3},   {3, 32, 4},   {5, 33, 5},     {6, 16, 63},    {7, 48, 64},    {13, 65, 65},
                        {14, 40, 130}, {15, 17, 31}, {97, 70, 36}, {113, 64, 384}, {260, 300, 20}, {29, 200, 385}, {4, 3, 16384}};
  for (const Size& size : sizes) {
    const std::size_t m = size.m, n = size.n, k = size.k;
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    // Rows from 0 to 255 are rounded in steps of 1, and scales of 1 leave the sums as they are.
    auto u = integers<std::uint8_t>(m * k, 0, 255, 1);
    for (std::size_t i = 0; i < m; ++i) u[i * k] = 255;
    const auto q = integers<std::int8_t>(n * k, -127, 127, 2);
    const Int8Weights w({matrix(n, k, q)}, {{}});
    std::vector<float> expected(m * n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        std::int32_t sum = 0;
        for (std::size_t p = 0; p < k; ++p) sum += u[i * k + p] * q[j * k + p];
        expected[i * n + j] = static_cast<float>(sum);
      }
    const auto x = Tensor<float>::from(std::vector<float>(u.begin(), u.end()), {m, k});
    for_levels([&](const auto& products) { CHECK(layer_by(products, x, w) == expected); });
  }
}

TEST_CASE("int8 layer without inputs is its bias") {
  const Int8Weights w({{5, 0, {}, std::vector<float>(5, 1.0f)}}, {{1, 2, 3, 4, 5}});
  for_levels([&](const auto& products) {
    CHECK(layer_by(products, Tensor<float>({2, 0}), w) == std::vector<float>{1, 2, 3, 4, 5, 1, 2, 3, 4, 5});
  });
}

TEST_CASE("int8 product: no level saturates at the extremes") {
  for (const std::size_t k : {4u, 1536u, 16384u, 65536u})
    for (const int q : {-127, 127}) {
      CAPTURE(k);
      CAPTURE(q);
      const Int8Weights w({matrix(33, k, std::vector<std::int8_t>(33 * k, static_cast<std::int8_t>(q)))}, {{}});
      for (const int of_x : {-255, 255}) {
        CAPTURE(of_x);
        const auto x = Tensor<float>::full({2, k}, static_cast<float>(of_x));
        const std::vector<float> expected(66, static_cast<float>(of_x * q * static_cast<std::int32_t>(k)));
        for_levels([&](const auto& products) { CHECK(layer_by(products, x, w) == expected); });
      }
      CHECK(w.sums()[32] == q * static_cast<std::int32_t>(k));
    }
}

TEST_CASE("int8 layer: every level gives the same bits, for any number of threads and whatever the other rows are") {
  for (const std::size_t k : {3u, 33u, 384u, 1537u}) {
    CAPTURE(k);
    auto x = random_tensor<float>({131, k}, 1);
    for (std::size_t p = 0; p < k; ++p) x.mutable_data()[5 * k + p] *= 1e-20f, x.mutable_data()[6 * k + p] *= 1e20f;
    const auto w = random_weights(77, k);
    set_threads(1);
    const auto y = layer(x, w);
    for_levels([&](const auto& products) { CHECK(same_bits(layer_by(products, x, w), y)); });
    for (const int count : {2, 3, 7}) {
      set_threads(count);
      CHECK(same_bits(layer(x, w), y));
    }
    set_threads(0);
    for (const std::size_t row : {0u, 13u, 130u}) {
      Tensor<float> one({1, k});
      std::copy_n(x.data() + row * k, k, one.mutable_data());
      CHECK(same_bits(layer(one, w),
                      {y.begin() + static_cast<std::ptrdiff_t>(row * 77), y.begin() + static_cast<std::ptrdiff_t>(row * 77 + 77)}));
    }
  }
}

TEST_CASE("int8 layer equals its definition, and is near the layer in float") {
  const std::size_t m = 20, n = 37, k = 200;
  const auto x = random_tensor<float>({m, k}, 1), weights = random_tensor<float>({n, k}, 2), bias = random_tensor<float>({n}, 3);
  const auto q = quantize_rows(n, k, weights.data());
  const auto y = layer(x, Int8Weights({q}, {bias.to_vector()}));
  for (std::size_t i = 0; i < m; ++i) {
    float low = 0, high = 0;
    for (std::size_t p = 0; p < k; ++p) {
      low = std::min(low, x.at(i, p));
      high = std::max(high, x.at(i, p));
    }
    const float step = (high - low) / 255.0f, inverse = 255.0f / (high - low);
    const auto zero = std::lrint(-low * inverse);
    for (std::size_t j = 0; j < n; ++j) {
      std::int64_t sum = 0;
      double exact = static_cast<double>(bias.data()[j]), error = 0;
      for (std::size_t p = 0; p < k; ++p) {
        sum += (std::clamp(std::lrint(x.at(i, p) * inverse) + zero, 0L, 255L) - zero) * q.values[j * k + p];
        const double a = static_cast<double>(x.at(i, p)), b = static_cast<double>(weights.at(j, p));
        exact += a * b;
        // Half a step of each factor; 1 where z is rounded away from the end of the range.
        error += std::abs(b) * static_cast<double>(step) + 0.51 * std::abs(a) * static_cast<double>(q.scales[j]);
      }
      REQUIRE(y[i * n + j] == std::fma(static_cast<float>(sum) * step, q.scales[j], bias.data()[j]));
      REQUIRE(std::abs(static_cast<double>(y[i * n + j]) - exact) <= error);
    }
  }
}

TEST_CASE("int8 layer: rows of zeros, constants and values that are not finite") {
  const std::size_t k = 70;
  const auto w = random_weights(40, k);
  Tensor<float> x = Tensor<float>::zeros({7, k});
  float* const to = x.mutable_data();
  std::fill_n(to + k, k, 1e-35f);
  std::fill_n(to + 2 * k, k, 3.0f);
  std::fill_n(to + 3 * k, k, -3.0f);
  to[4 * k + 69] = std::numeric_limits<float>::quiet_NaN();
  to[5 * k + 3] = -std::numeric_limits<float>::infinity();
  to[6 * k] = std::numeric_limits<float>::max();
  to[6 * k + 1] = std::numeric_limits<float>::lowest();
  for_levels([&](const auto& products) {
    const auto y = layer_by(products, x, w);
    for (std::size_t j = 0; j < 40; ++j) {
      REQUIRE(y[j] == w.biases()[j]);
      REQUIRE(y[40 + j] == w.biases()[j]);
      const double sum = 3.0 * static_cast<double>(w.scales()[j]) * w.sums()[j];  // a constant is exact but for rounding
      REQUIRE(static_cast<double>(y[80 + j] - w.biases()[j]) == doctest::Approx(sum).epsilon(1e-4));
      REQUIRE(static_cast<double>(y[120 + j] - w.biases()[j]) == doctest::Approx(-sum).epsilon(1e-4));
      for (std::size_t row = 4; row < 7; ++row) REQUIRE(std::isnan(y[row * 40 + j]));
    }
  });
}

TEST_CASE("int8 layer with GELU, several layers in one, gaps between rows") {
  const std::size_t k = 50;
  const auto x = random_tensor<float>({9, k}, 1), a = random_tensor<float>({20, k}, 2), b = random_tensor<float>({45, k}, 3);
  const auto qa = quantize_rows(20, k, a.data()), qb = quantize_rows(45, k, b.data());
  const std::vector<float> bias(45, 0.25f);
  const auto ya = layer(x, Int8Weights({qa}, {{}})), yb = layer(x, Int8Weights({qb}, {bias}), true),
             plain = layer(x, Int8Weights({qb}, {bias}));
  const Int8Weights both({qa, qb}, {{}, bias});
  std::vector<float> y(9 * 70, -1.0f);
  linear_int8(9, x.data(), k, both, y.data(), 70);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 20; ++j) REQUIRE(y[i * 70 + j] == ya[i * 20 + j]);
    for (std::size_t j = 0; j < 45; ++j) REQUIRE(y[i * 70 + 20 + j] == plain[i * 45 + j]);
    for (std::size_t j = 65; j < 70; ++j) REQUIRE(y[i * 70 + j] == -1.0f);
  }
  for (std::size_t i = 0; i < yb.size(); ++i) REQUIRE(yb[i] == detail::short_gelu(plain[i]));
  const auto back = both.unpack(20, 45);
  CHECK(back.values == qb.values);
  CHECK(back.scales == qb.scales);
}

TEST_CASE("int8 layer: its GELU is near the definition, and the same in vectors") {
  std::vector<float> x;
  for (int i = -40000; i <= 40000; ++i) x.push_back(static_cast<float>(i) * 2.5e-4f);
  std::vector<float> y = x;
  for (float& v : y) v = detail::short_gelu(v);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto exact = static_cast<double>(x[i]);
    REQUIRE(std::abs(static_cast<double>(y[i]) - exact * scalar::normal(exact).cdf) < 2.5e-6);
    REQUIRE(y[i] == detail::short_gelu(x[i]));
  }
  CHECK(detail::short_gelu(1e6f) == doctest::Approx(1e6));
  CHECK(detail::short_gelu(-1e6f) == 0.0f);
  CHECK(detail::short_gelu(-std::numeric_limits<float>::infinity()) == 0.0f);
  CHECK(std::isnan(detail::short_gelu(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("int8 feed-forward block: the bits of its two layers, at every level, for few rows and many") {
  const auto w1 = random_weights(130, 40), w2 = random_weights(40, 130, 4);
  for (const std::size_t m : {1u, 97u, 500u}) {
    CAPTURE(m);
    const auto x = random_tensor<float>({m, 40}, 1);
    const auto y = layer(Tensor<float>::from(layer(x, w1, true), {m, 130}), w2);
    for_levels([&](const auto& products) {
      std::vector<float> found(m * 40);
      products.feed_forward_int8(m, x.data(), w1, w2, found.data());
      CHECK(same_bits(found, y));
    });
    for (const int count : {1, 3}) {
      set_threads(count);
      std::vector<float> found(m * 40);
      feed_forward_int8(m, x.data(), w1, w2, found.data());
      CHECK(same_bits(found, y));
    }
    set_threads(0);
  }
}

TEST_CASE("int8 weights: rounding, zeros and errors") {
  const std::vector<float> w{1.0f, -0.5f, 0.25f, 0.0f, 0.0f, 0.0f, 1e-45f, 0.0f, -2e-45f, 127.0f, 0.5f, -1.5f};
  const auto q = quantize_rows(4, 3, w.data());
  CHECK(q.values == std::vector<std::int8_t>{127, -64, 32, 0, 0, 0, 0, 0, 0, 127, 0, -2});
  CHECK(q.scales == std::vector<float>{1.0f / 127.0f, 0.0f, 0.0f, 1.0f});
  const std::vector<float> bad{1.0f, std::numeric_limits<float>::infinity()};
  CHECK(test::error_message([&] { quantize_rows(2, 1, bad.data()); }).find("weight 0 of output 1 is inf") != std::string::npos);
  CHECK(test::error_message([&] { Int8Weights({matrix(1, 65537, std::vector<std::int8_t>(65537))}, {{}}); }).find("65537 inputs") !=
        std::string::npos);
  CHECK(test::error_message([&] { Int8Weights({q}, {{1.0f}}); }).find("1 biases") != std::string::npos);
  CHECK(test::error_message([&] { Int8Weights({q, matrix(1, 2, {1, 2})}, {{}, {}}); }).find("layer 1") != std::string::npos);
  CHECK(test::error_message([&] { Int8Weights({matrix(1, 3, {1, -128, 2})}, {{}}); }).find("layer 0 holds -128") != std::string::npos);
  CHECK(layer(Tensor<float>::zeros({0, 3}), Int8Weights({q}, {{}})).empty());
}
