// SPDX-License-Identifier: MIT
#include "lexformer/kernels/products/linear_bfloat16.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/products.hpp"
#include "lexformer/ops/linear_packed.hpp"

using namespace lexformer;
using test::random_tensor;

namespace {

/// Calls body(products) for each level of this processor with packed weights.
template <class Body>
void for_levels(Body&& body) {
  for (const auto level : {Instructions::avx512, Instructions::avx512_bf16, Instructions::amx}) {
    if (!detail::has_instructions(level)) continue;
    INFO("level " << name_of(level));
    body(detail::products(level));
  }
}

using Values = std::vector<float>;

Values layer_by(const detail::Products& products, const Tensor<bfloat16>& x, const Bfloat16Weights& w, bool gelu = false) {
  std::vector<bfloat16> y(x.dim(0) * w.outputs(), bfloat16(-7.0f));
  products.linear_bfloat16(x.dim(0), x.data(), w, y.data(), gelu);
  return {y.begin(), y.end()};
}
Values layer(const Tensor<bfloat16>& x, const Bfloat16Weights& w, bool gelu = false) {
  std::vector<bfloat16> y(x.dim(0) * w.outputs());
  linear_bfloat16(x.dim(0), x.data(), w, y.data(), gelu);
  return {y.begin(), y.end()};
}

struct Layer {
  Tensor<bfloat16> weight, bias;
  Bfloat16Weights packed;
  Layer(std::size_t n, std::size_t k, std::uint32_t stream)
      : weight(random_tensor<bfloat16>({n, k}, stream)), bias(random_tensor<bfloat16>({n}, stream + 1)), packed({weight}, {bias}) {}

  /// Checks y against the definition in double: sums to k + 2 roundings of float, and one rounding to bfloat16.
  void check(const Tensor<bfloat16>& x, const Values& y, bool gelu) const {
    const std::size_t m = x.dim(0), n = weight.dim(0), k = weight.dim(1);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double sum = static_cast<double>(bias.data()[j]), size = std::abs(sum);
        for (std::size_t p = 0; p < k; ++p) {
          const double product = static_cast<double>(x.data()[i * k + p]) * static_cast<double>(weight.data()[j * k + p]);
          sum += product;
          size += std::abs(product);
        }
        const double expected = gelu ? 0.5 * sum * std::erfc(-sum / std::sqrt(2.0)) : sum;
        const double bound = static_cast<double>(k + 2) * 1.2e-7 * size * 1.13 + (gelu ? 2.5e-6 : 0) + std::abs(expected) / 256;
        CAPTURE(i);
        CAPTURE(j);
        REQUIRE(std::abs(static_cast<double>(y[i * n + j]) - expected) <= bound);
      }
  }
};

}  // namespace

TEST_CASE("bfloat16 layer: every level is near its definition, at sizes around tiles, panels and blocks") {
  struct Size {
    std::size_t n, k;
  };
  for (const std::size_t m : {1u, 13u, 14u, 16u, 17u, 31u, 32u, 33u, 64u, 131u})
    for (const Size size : {Size{5, 0}, {1, 1}, {31, 2}, {32, 32}, {33, 31}, {65, 33}, {70, 96}, {5, 801}}) {
      const std::size_t n = size.n, k = size.k;
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(k);
      const Layer l(n, k, 2);
      const auto x = random_tensor<bfloat16>({m, k}, 1);
      for_levels([&](const auto& products) {
        l.check(x, layer_by(products, x, l.packed), false);
        l.check(x, layer_by(products, x, l.packed, true), true);
      });
    }
}

TEST_CASE("bfloat16 layer: the bits of a row depend neither on the number of threads nor on the other rows") {
  if (!packs_bfloat16()) return;
  const Layer l(77, 100, 2);
  const auto x = random_tensor<bfloat16>({601, 100}, 1);
  set_threads(1);
  const auto y = layer(x, l.packed);
  for (const int count : {2, 3, 7}) {
    set_threads(count);
    CHECK(layer(x, l.packed) == y);
  }
  set_threads(0);
  for (const std::size_t row : {0u, 15u, 33u, 600u}) {
    Tensor<bfloat16> one({1, 100});
    std::copy_n(x.data() + row * 100, 100, one.mutable_data());
    CHECK(layer(one, l.packed) ==
          Values(y.begin() + static_cast<std::ptrdiff_t>(row * 77), y.begin() + static_cast<std::ptrdiff_t>(row * 77 + 77)));
  }
}

TEST_CASE("bfloat16 layer: nothing after a row or the last row is read or written; NaN and infinity stay in their rows") {
  if (!packs_bfloat16()) return;
  const Layer l(33, 20, 2);
  auto x = random_tensor<bfloat16>({18, 20}, 1);
  const auto before = layer(x, l.packed);
  x.mutable_data()[17 * 20 + 3] = static_cast<bfloat16>(std::numeric_limits<float>::quiet_NaN());
  x.mutable_data()[4 * 20] = static_cast<bfloat16>(std::numeric_limits<float>::infinity());
  const auto y = layer(x, l.packed);
  for (std::size_t i = 0; i < 18; ++i)
    for (std::size_t j = 0; j < 33; ++j) {
      const float v = y[i * 33 + j];
      if (i == 17)
        CHECK(std::isnan(v));
      else if (i == 4)
        CHECK(!std::isfinite(v));
      else
        CHECK(v == before[i * 33 + j]);
    }
  for_levels([&](const auto& products) {
    std::vector<bfloat16> guarded(18 * 33 + 32, bfloat16(-7.0f));
    products.linear_bfloat16(18, x.data(), l.packed, guarded.data(), false);
    for (std::size_t i = 18 * 33; i < guarded.size(); ++i) CHECK(static_cast<float>(guarded[i]) == -7.0f);
  });
}

TEST_CASE("bfloat16 feed-forward block: the bits of its two layers, at every level, for few rows and many") {
  const Layer first(130, 40, 2), second(40, 130, 4);
  for (const std::size_t m : {1u, 97u, 1000u}) {
    CAPTURE(m);
    const auto x = random_tensor<bfloat16>({m, 40}, 1);
    for_levels([&](const auto& products) {
      std::vector<bfloat16> inner(m * 130), y(m * 40), found(m * 40);
      products.linear_bfloat16(m, x.data(), first.packed, inner.data(), true);
      products.linear_bfloat16(m, inner.data(), second.packed, y.data(), false);
      products.feed_forward_bfloat16(m, x.data(), first.packed, second.packed, found.data());
      CHECK(Values(found.begin(), found.end()) == Values(y.begin(), y.end()));
    });
  }
}

TEST_CASE("bfloat16 weights: several layers in one, without bias, errors") {
  const Layer a(40, 33, 2), b(7, 33, 4);
  const Bfloat16Weights both({a.weight, b.weight}, {a.bias, {}});
  CHECK(both.outputs() == 47);
  CHECK(both.panels() == 2);
  CHECK(both.inputs_packed() == 64);
  for (std::size_t j = 0; j < 47; ++j) {
    CHECK(both.biases()[j] == (j < 40 ? static_cast<float>(a.bias.data()[j]) : 0.0f));
    for (std::size_t p = 0; p < 64; ++p) {
      const float found = both.packed(j / 32)[(p / 2 * 32 + j % 32) * 2 + p % 2];
      CHECK(found == (p >= 33 ? 0.0f : static_cast<float>(j < 40 ? a.weight.data()[j * 33 + p] : b.weight.data()[(j - 40) * 33 + p])));
    }
  }
  const Var x(random_tensor<bfloat16>({2, 33}, 1), true), narrow(random_tensor<bfloat16>({2, 32}, 1));
  CHECK(test::error_message([&] { linear_bfloat16(narrow, both); }) == "linear_bfloat16: x must be (rows, 33), got (2, 32)");
  CHECK(test::error_message([&] { linear_bfloat16(x, both); }) == "linear_bfloat16: packed weights have no gradient; use linear()");
  CHECK(test::error_message([&] { feed_forward_bfloat16(x, both, both); }) ==
        "feed_forward_bfloat16: 47 outputs of the first layer, 33 inputs");
  if (!packs_bfloat16()) {
    const NoGrad no_grad;
    CHECK(test::error_message([&] { linear_bfloat16(x, both); }) ==
          "linear_bfloat16: packed weights need bfloat16 and a CPU with AVX-512; use linear()");
  }
  CHECK(test::error_message([&] { Bfloat16Weights({a.weight}, {}); }) == "Bfloat16Weights: 1 layers and 0 biases");
  CHECK(test::error_message([&] { Bfloat16Weights({a.weight}, {b.bias}); }) ==
        "Bfloat16Weights: layer 0 (40, 33) with bias (7,); there are 33 inputs");
}
