// SPDX-License-Identifier: MIT
#include "lexformer/kernels/products/gemm.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "../support/random_tensor.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/kernels/products.hpp"

using namespace lexformer;
using test::random_tensor;

namespace {

/// A product of random matrices whose row strides are `gap` larger than necessary. The gaps of A and B hold NaN.
template <class T>
struct Product {
  using C = accumulate_t<T>;
  bool trans_a, trans_b;
  std::size_t m, n, k, lda, ldb, ldc;
  Tensor<T> a, b;
  Tensor<C> c;

  Product(bool ta, bool tb, std::size_t m_, std::size_t n_, std::size_t k_, std::size_t gap)
      : trans_a(ta),
        trans_b(tb),
        m(m_),
        n(n_),
        k(k_),
        lda((ta ? m : k) + gap),
        ldb((tb ? k : n) + gap),
        ldc(n + gap),
        a(random_tensor<T>({ta ? k : m, lda}, 1)),
        b(random_tensor<T>({tb ? n : k, ldb}, 2)),
        c(random_tensor<C>({m, ldc}, 3)) {
    const auto fill_gaps = [](Tensor<T>& x, std::size_t columns) {
      for (std::size_t i = 0; i < x.size(); ++i)
        if (i % x.dim(1) >= columns) x.mutable_data()[i] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    };
    fill_gaps(a, lda - gap);
    fill_gaps(b, ldb - gap);
  }

  Tensor<C> run(C alpha, C beta) const {
    Tensor<C> y = c.clone();
    gemm(trans_a, trans_b, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, y.mutable_data(), ldc);
    return y;
  }
  /// Maximum error in units of (k + 2) eps (|alpha| |A| |B| + |beta C|), the bound for rounding. Checks that the gaps between the rows of C
  /// are not written. Computes every step-th column, as plain loops take long.
  double error(const Tensor<C>& y, double alpha, double beta, std::size_t step = 1) const {
    const T *pa = a.data(), *pb = b.data();
    const C* pc = c.data();
    double worst = 0;
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < ldc; ++j) {
        const double before = static_cast<double>(pc[i * ldc + j]), found = static_cast<double>(y.data()[i * ldc + j]);
        double sum = beta * before, size = std::abs(sum);
        if (j < n && j % step != 0) continue;
        for (std::size_t l = 0; l < k && j < n; ++l) {
          const double x = static_cast<double>(trans_a ? pa[l * lda + i] : pa[i * lda + l]);
          const double z = static_cast<double>(trans_b ? pb[j * ldb + l] : pb[l * ldb + j]);
          sum += alpha * x * z;
          size += std::abs(alpha * x * z);
        }
        const double bound = static_cast<double>(k + 2) * static_cast<double>(std::numeric_limits<C>::epsilon()) * size;
        const double e = j >= n ? (found == before ? 0 : 1e30) : std::abs(found - sum) / std::max(bound, 1e-300);
        if (!(e <= worst)) worst = e;
      }
    return worst;
  }
};

template <class T>
void check_sizes() {
  RandomStream random(1, random_site::user);
  using C = accumulate_t<T>;
  const C factors[] = {C(0), C(1), C(-1), C(0.7)};
  std::size_t turn = 0;
  for (int i = 0; i < 60; ++i) {
    const auto size = [&] { return static_cast<std::size_t>(i % 3 == 0 ? 1 + random.below(8) : 1 + random.below(70)); };
    const std::size_t m = size(), n = size(), k = size(), gap = static_cast<std::size_t>(random.below(4));
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        const C alpha = factors[turn % 4], beta = factors[turn / 4 % 4];
        ++turn;
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        CAPTURE(gap);
        CAPTURE(ta);
        CAPTURE(tb);
        CAPTURE(alpha);
        CAPTURE(beta);
        const Product<T> p(ta, tb, m, n, k, gap);
        CHECK(p.error(p.run(alpha, beta), static_cast<double>(alpha), static_cast<double>(beta)) <= 1.0);
      }
  }
}

}  // namespace

TEST_CASE("gemm equals three plain loops: transposes, odd sizes, row strides, alpha and beta") {
  check_sizes<float>();
  check_sizes<double>();
  check_sizes<bfloat16>();
}

TEST_CASE("gemm of more rows than a block, and of sizes 0") {
  for (const bool ta : {false, true})
    for (const std::size_t m : {95u, 97u, 259u, 1030u}) {
      const Product<float> p(ta, !ta, m, 5, 7, 1);
      CHECK(p.error(p.run(1.5f, 0.5f), 1.5, 0.5) <= 1.0);
    }
  const Product<double> no_depth(false, false, 3, 4, 0, 0), no_rows(false, true, 0, 4, 2, 0), no_columns(true, false, 3, 0, 2, 0);
  CHECK(no_depth.error(no_depth.run(1.0, 2.0), 1.0, 2.0) <= 1.0);
  CHECK(no_rows.run(1.0, 1.0).size() == 0);
  CHECK(no_columns.run(1.0, 1.0).size() == 0);
}

TEST_CASE("gemm of sizes that are cut: deep, wide, and both") {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const Product<float> deep(ta, tb, 7, 21, 385, 1), wide(ta, tb, 3, 1100, 4200, 2);
      const Product<double> very_deep(ta, tb, 9, 5, 1000, 0);
      const Product<bfloat16> pairs(ta, tb, 17, 37, 1545, 1), tiles(ta, tb, 17, 37, 4129, 1);  // parts of odd lengths: AVX-512 BF16, AMX
      CHECK(deep.error(deep.run(0.5f, 2.0f), 0.5, 2.0) <= 1.0);
      CHECK(pairs.error(pairs.run(0.5f, 2.0f), 0.5, 2.0) <= 1.0);
      CHECK(tiles.error(tiles.run(0.5f, 2.0f), 0.5, 2.0) <= 1.0);
      CHECK(very_deep.error(very_deep.run(1.0, 0.0), 1.0, 0.0) <= 1.0);
      CHECK(wide.error(wide.run(1.0f, -1.0f), 1.0, -1.0, 7) <= 1.0);
    }
}

TEST_CASE("gemm with a bias equals gemm onto rows that hold the bias") {
  for (const std::size_t k : {0u, 5u, 1000u}) {
    Product<float> p(false, true, 13, 37, k, 1);
    const auto bias = random_tensor<float>({37}, 4);
    Tensor<float> y = p.c.clone();
    gemm(false, true, p.m, p.n, k, 0.5f, p.a.data(), p.lda, p.b.data(), p.ldb, 0.0f, y.mutable_data(), p.ldc, bias.data());
    for (std::size_t i = 0; i < p.m; ++i) std::copy_n(bias.data(), p.n, p.c.mutable_data() + i * p.ldc);
    const auto expected = p.run(0.5f, 1.0f);
    for (std::size_t i = 0; i < p.m; ++i)
      for (std::size_t j = 0; j < p.n; ++j) REQUIRE(y.at(i, j) == expected.at(i, j));
    for (std::size_t i = 0; i < p.m; ++i) CHECK(y.at(i, p.n) == p.c.at(i, p.n));
  }
}

TEST_CASE("gemm rounded in one pass equals gemm, rounded") {
  CHECK(!gemm_rounded(false, false, 2, 2, 0, 1.0f, nullptr, 1, nullptr, 2, nullptr, 2));
  struct Case {
    bool ta, tb, with_bias;
  };
  for (const auto& [ta, tb, with_bias] : {Case{false, true, true}, {true, true, true}, {false, false, false}, {true, false, false}})
    for (const std::size_t k : {1u, 33u, 700u, 5000u}) {
      CAPTURE(k);
      const Product<bfloat16> p(ta, tb, 71, 45, k, 1);
      const auto values = random_tensor<float>({45}, 4);
      const float* const bias = with_bias ? values.data() : nullptr;
      auto y = random_tensor<bfloat16>({71, p.ldc}, 5);
      const auto before = y.clone();
      const bool done = gemm_rounded(ta, tb, 71, 45, k, 0.5f, p.a.data(), p.lda, p.b.data(), p.ldb, y.mutable_data(), p.ldc, bias);
      CHECK(done == (k <= (multiplies_bfloat16() ? 700 : instructions() == Instructions::plain ? 0 : 33)));
      auto expected = p.c.clone();
      gemm(ta, tb, 71, 45, k, 0.5f, p.a.data(), p.lda, p.b.data(), p.ldb, 0.0f, expected.mutable_data(), p.ldc, bias);
      for (std::size_t i = 0; i < 71; ++i)
        for (std::size_t j = 0; j < p.ldc; ++j) {
          const auto now = static_cast<bfloat16>(expected.at(i, j));
          REQUIRE(y.at(i, j).bits == (done && j < 45 ? now.bits : before.at(i, j).bits));
        }
    }
}

TEST_CASE_TEMPLATE("gemm_feed_forward has the bits of two products, and needs many rows and weights of moderate size", T, float, double) {
  struct Case {
    std::size_t rows, in, inner, out;
  };
  for (const Case& c : {Case{900, 5, 37, 11}, {1537, 33, 70, 40}, {800, 1, 1, 1}, {1000, 7, 1600, 3}, {1600, 801, 40, 3}}) {
    const std::size_t rows = c.rows, in = c.in, inner = c.inner, out = c.out;
    CAPTURE(rows);
    const auto x = random_tensor<T>({rows, in}, 1), w1 = random_tensor<T>({inner, in}, 2), b1 = random_tensor<T>({inner}, 3),
               w2 = random_tensor<T>({out, inner}, 4), b2 = random_tensor<T>({out}, 5);
    Tensor<T> h({rows, inner}), expected({rows, out});
    const auto square = [](std::size_t count, T* values) {
      for (std::size_t i = 0; i < count; ++i) values[i] *= values[i];
    };
    gemm<T>(false, true, rows, inner, in, T{1}, x.data(), in, w1.data(), in, T{0}, h.mutable_data(), inner, b1.data());
    square(h.size(), h.mutable_data());
    gemm<T>(false, true, rows, out, inner, T{1}, h.data(), inner, w2.data(), inner, T{0}, expected.mutable_data(), out, b2.data());
    const auto run = [&](std::size_t count, Tensor<T>& y) {
      return gemm_feed_forward<T>({count, in, inner, out, x.data(), w1.data(), b1.data(), w2.data(), b2.data(), square, y.mutable_data()});
    };
    for (const int count : {1, 2, 3, 7}) {
      set_threads(count);
      auto y = random_tensor<T>({rows, out}, 6);
      const auto before = y.to_vector();
      const bool done = run(rows, y);
      CHECK(done == (instructions() >= Instructions::avx2));
      CHECK(y.to_vector() == (done ? expected.to_vector() : before));
    }
    set_threads(0);
    auto y = random_tensor<T>({rows, out}, 6);
    const auto before = y.to_vector();
    CHECK(!run(500, y));
    CHECK(y.to_vector() == before);
  }
  for (const Case& c : {Case{2000, 1025, 4096, 8}, {2000, 8, 4096, 1025}, {2000, 8, 1u << 19, 8}, {2000, 0, 4, 4}, {2000, 4, 0, 4}})
    CHECK(!gemm_feed_forward<T>({c.rows, c.in, c.inner, c.out, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr}));
}

TEST_CASE("gemm with beta = 0 ignores what C holds") {
  for (const bool tb : {false, true}) {
    Product<float> p(false, tb, 9, 17, 5, 2);
    const auto expected = p.run(1.0f, 0.0f);
    std::fill_n(p.c.mutable_data(), p.c.size(), std::numeric_limits<float>::quiet_NaN());
    const auto y = p.run(1.0f, 0.0f);
    for (std::size_t i = 0; i < 9; ++i)
      for (std::size_t j = 0; j < 17; ++j) REQUIRE(y.at(i, j) == expected.at(i, j));
  }
}

TEST_CASE("gemm has the same bits for any number of threads") {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const auto check = [](const auto& p) {
        set_threads(1);
        const auto serial = p.run(0.7f, 1.0f).to_vector();
        for (const int count : {2, 3, 7}) {
          set_threads(count);
          CHECK(p.run(0.7f, 1.0f).to_vector() == serial);
        }
      };
      check(Product<float>(ta, tb, 501, 37, 65, 0));
      check(Product<bfloat16>(ta, tb, 501, 37, 65, 0));
    }
  set_threads(0);
}

TEST_CASE("our own gemm gives a row the same bits whatever the other rows are") {
  if (instructions() == Instructions::plain) return;  // Eigen's does not
  const auto check = [](bool tb, const auto& p) {
    const auto all = p.run(0.7f, 1.0f), scaled = p.run(0.7f, 0.0f);
    for (const std::size_t row : {0u, 5u, 6u, 101u, 199u}) {
      Tensor<float> one({1, p.n}), one_scaled({1, p.n});
      std::copy_n(p.c.data() + row * p.ldc, p.n, one.mutable_data());
      const auto* a = p.a.data() + row * p.lda;
      gemm(false, tb, 1, p.n, p.k, 0.7f, a, p.lda, p.b.data(), p.ldb, 1.0f, one.mutable_data(), p.n);
      gemm(false, tb, 1, p.n, p.k, 0.7f, a, p.lda, p.b.data(), p.ldb, 0.0f, one_scaled.mutable_data(), p.n);
      for (std::size_t j = 0; j < p.n; ++j) {
        REQUIRE(one.at(0, j) == all.at(row, j));
        REQUIRE(one_scaled.at(0, j) == scaled.at(row, j));
      }
    }
  };
  for (const bool tb : {false, true}) {
    check(tb, Product<float>(false, tb, 200, 37, 400, 0));
    check(tb, Product<bfloat16>(false, tb, 200, 37, 401, 0));
  }
}

TEST_CASE("gemm in float and double has the same bits with AVX2 and AVX-512") {
  if (!detail::has_instructions(Instructions::avx512)) return;
  const auto narrow = detail::products(Instructions::avx2), wide = detail::products(Instructions::avx512);
  const auto run = [](auto* product, const auto& p) {
    auto y = p.c.clone();
    product(p.trans_a, p.trans_b, p.m, p.n, p.k, 2, p.a.data(), p.lda, p.b.data(), p.ldb, 3, y.mutable_data(), p.ldc, nullptr);
    return y.to_vector();
  };
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const Product<float> p(ta, tb, 101, 83, 801, 3);
      CHECK(run(narrow.gemm_float, p) == run(wide.gemm_float, p));
      const Product<double> q(ta, tb, 101, 83, 801, 3);
      CHECK(run(narrow.gemm_double, q) == run(wide.gemm_double, q));
    }
}
