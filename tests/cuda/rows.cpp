// SPDX-License-Identifier: MIT
#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

/// Row sizes processed by a warp, and two processed by a block.
const std::vector<std::pair<std::size_t, std::size_t>> matrices = {{1, 1},   {3, 2},    {5, 31},   {2, 32},   {7, 33},   {4, 63},
                                                                   {9, 65},  {2, 127},  {3, 1000}, {2, 1024}, {2, 1025}, {3, 1500},
                                                                   {257, 5}, {300, 40}, {600, 3},  {0, 5}};

}  // namespace

TEST_CASE_TEMPLATE("cuda: rows and columns are filled, copied and added up", T, float, double, bfloat16) {
  for (const auto& size_of : matrices) {
    const std::size_t rows = size_of.first, n = size_of.second;
    CAPTURE(rows);
    CAPTURE(n);
    compare<T>(
        [=](auto device) {
          using Dev = decltype(device);
          const std::size_t stride = n + 3;
          const Array<T, Dev> x(random_values<T>(rows * stride + stride)), y(zeros<T>(rows * n)), z(std::vector<T>(rows * stride, T{9}));
          const Array<T, Dev> w(zeros<T>(rows * n)), sums(zeros<T>(n + rows));
          Kernels<Dev>::fill_rows(rows, n, x.data(), y.data());
          Kernels<Dev>::copy_columns(rows, n, x.data() + 1, stride, z.data(), stride);
          Kernels<Dev>::expand_rows(rows, n, x.data(), w.data());
          Kernels<Dev>::column_sum(rows, n, x.data(), stride, sums.data());
          Kernels<Dev>::row_sum(rows, n, x.data(), sums.data() + n);
          return joined(y.values(), z.values(), w.values(), sums.values());
        },
        10 * tolerance<T>);
  }
}

TEST_CASE_TEMPLATE("cuda: softmax and log-softmax, forward and backward", T, float, double, bfloat16) {
  for (const auto& size_of : matrices) {
    const std::size_t rows = size_of.first, n = size_of.second;
    for (const bool log : {false, true}) {
      CAPTURE(rows);
      CAPTURE(n);
      CAPTURE(log);
      compare<T>([=](auto device) {
        using Dev = decltype(device);
        const Array<T, Dev> x(random_values<T>(rows * n)), dy(random_values<T>(rows * n, 1)), y(zeros<T>(rows * n));
        Kernels<Dev>::affine(rows * n, T{3}, x.data(), T{50}, x.data());
        Kernels<Dev>::softmax(rows, n, log, x.data(), y.data());
        Kernels<Dev>::softmax_grad(rows, n, log, dy.data(), y.data(), x.data());
        const auto dx = x.values();
        Kernels<Dev>::softmax_grad(rows, n, log, dy.data(), y.data(), dy.data());  // in place
        CHECK(same_bits(dx, dy.values()));
        return joined(y.values(), dx);
      });
    }
  }
  for (const T bad : {static_cast<T>(NAN), static_cast<T>(INFINITY)})
    for (std::size_t at = 0; at < 40; ++at) {
      auto values = random_values<T>(40);
      values[at] = bad;
      const Array<T, Cuda> x(values);
      OnCuda::softmax(1, 40, at % 2 == 0, x.data(), x.data());
      for (const T y : x.values()) CHECK(std::isnan(static_cast<accumulate_t<T>>(y)));
    }
}

TEST_CASE_TEMPLATE("cuda: the transposes of a batch of matrices", T, float, double, bfloat16) {
  for (const auto& size_of : matrices)
    for (const std::size_t batch : {1u, 3u}) {
      const std::size_t rows = size_of.first, n = size_of.second;
      CAPTURE(rows);
      CAPTURE(n);
      compare<T>(
          [=](auto device) {
            using Dev = decltype(device);
            const Array<T, Dev> x(random_values<T>(batch * rows * n)), y(zeros<T>(batch * rows * n));
            Kernels<Dev>::transpose(batch, rows, n, x.data(), y.data());
            return y.values();
          },
          0);
    }
}

TEST_CASE_TEMPLATE("cuda: the largest and smallest numbers of rows, their places, and the gradient", T, float, double, bfloat16) {
  for (const auto& size_of : matrices)
    for (const bool largest : {false, true})
      for (const bool nan : {false, true}) {
        const std::size_t rows = size_of.first, n = size_of.second;
        CAPTURE(rows);
        CAPTURE(n);
        auto values = random_values<T>(rows * n);
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<T>(std::round(2 * static_cast<double>(values[i])));  // many are equal
          if (nan && i % 37 == 36) values[i] = static_cast<T>(NAN);
        }
        compare<T>(
            [&](auto device) {
              using Dev = decltype(device);
              const Array<T, Dev> x(values), dy(random_values<T>(rows, 1)), y(zeros<T>(rows)), dx(zeros<T>(rows * n));
              const Array<std::int32_t, Dev> index(zeros<std::int32_t>(rows));
              Kernels<Dev>::row_extreme(rows, n, largest, x.data(), y.data(), index.data());
              Kernels<Dev>::row_extreme_grad(rows, n, index.data(), dy.data(), dx.data());
              return joined(y.values(), index.values(), dx.values());
            },
            0);
      }
}

TEST_CASE_TEMPLATE("cuda: standardized rows, forward and backward, also of a constant row", T, float, double, bfloat16) {
  using A = accumulate_t<T>;
  for (const auto& size_of : matrices) {
    const std::size_t rows = size_of.first, n = size_of.second;
    if (n < 2) continue;
    CAPTURE(rows);
    CAPTURE(n);
    compare<T>(
        [=](auto device) {
          using Dev = decltype(device);
          auto values = random_values<T>(rows * n);
          for (std::size_t j = 0; j < n && rows > 0; ++j) values[j] = T{1};
          const Array<T, Dev> x(values), dy(random_values<T>(rows * n, 1)), y(zeros<T>(rows * n)), dx(zeros<T>(rows * n));
          const Array<A, Dev> deviation(zeros<A>(rows));
          Kernels<Dev>::standardize(rows, n, A(1e-3), x.data(), y.data(), deviation.data());
          Kernels<Dev>::standardize_grad(rows, n, A(1e-3), dy.data(), y.data(), deviation.data(), dx.data());
          return joined(y.values(), deviation.values(), dx.values());
        },
        10 * tolerance<T>);
  }
}

TEST_CASE_TEMPLATE("cuda: log-sum-exp and L2 norms of rows, forward and backward", T, float, double, bfloat16) {
  using A = accumulate_t<T>;
  for (const auto& size_of : matrices) {
    const std::size_t rows = size_of.first, n = size_of.second;
    CAPTURE(rows);
    CAPTURE(n);
    compare<T>(
        [=](auto device) {
          using Dev = decltype(device);
          const Array<T, Dev> x(random_values<T>(rows * n)), dy(random_values<T>(rows * n, 1)), y(zeros<T>(rows * n));
          const Array<T, Dev> dx(zeros<T>(rows * n)), small(zeros<T>(rows * n)), by_norm(zeros<T>(rows * n));
          const Array<A, Dev> sums(zeros<A>(rows)), norm(zeros<A>(rows));
          Kernels<Dev>::log_sum_exp(rows, n, x.data(), sums.data());
          Kernels<Dev>::log_sum_exp_grad(rows, n, dy.data(), x.data(), sums.data(), dx.data());
          Kernels<Dev>::l2_normalize(rows, n, A(0.5), x.data(), y.data(), norm.data());
          Kernels<Dev>::l2_normalize_grad(rows, n, A(0.5), dy.data(), y.data(), norm.data(), by_norm.data());
          Kernels<Dev>::l2_normalize_grad(rows, n, A(1e6), dy.data(), y.data(), norm.data(), small.data());
          return joined(sums.values(), dx.values(), y.values(), norm.values(), by_norm.values(), small.values());
        },
        10 * tolerance<T>);
  }
  const T minus_infinity = static_cast<T>(-INFINITY),
          values[] = {minus_infinity, minus_infinity, T{1}, static_cast<T>(INFINITY), T{2}, static_cast<T>(NAN)};
  compare<T>([&](auto device) {
    using Dev = decltype(device);
    const Array<T, Dev> x(std::vector<T>(values, values + 6)), dy(std::vector<T>(3, T{1})), dx(zeros<T>(6));
    const Array<A, Dev> sums(zeros<A>(3));
    Kernels<Dev>::log_sum_exp(3, 2, x.data(), sums.data());
    Kernels<Dev>::log_sum_exp_grad(3, 2, dy.data(), x.data(), sums.data(), dx.data());
    auto all = joined(sums.values(), dx.values());
    CHECK(all[0] == -INFINITY);
    CHECK(all[1] == INFINITY);
    CHECK(std::isnan(all[2]));
    CHECK(all[3] == 0.0);
    all[0] = all[1] = 0;  // inf - inf is NaN
    return all;
  });
}

TEST_CASE_TEMPLATE("cuda: residual + dropout + LayerNorm + dropout, forward and backward", T, float, double, bfloat16) {
  struct Case {
    std::size_t rows, n, offset = 0;  // of all arrays from an aligned address, in elements
  };
  std::vector<Case> cases;
  for (const auto& [rows, n] : matrices) cases.push_back({rows, n});
  cases.insert(cases.end(), {{20, 1025}, {300, 1025}, {2100, 3}});  // several blocks, and groups of blocks
  // Rows in registers: few and many packs of a lane, the last rows of a block missing, warps with two rows, several groups; not aligned.
  cases.insert(cases.end(), {{1, 8}, {9, 16}, {3, 256}, {2, 264}, {21, 384}, {2, 512}, {2, 520}, {2, 768}, {2, 776}, {3, 1016}, {0, 8}});
  cases.insert(cases.end(), {{300, 40}, {4200, 8}, {5, 384, 1}, {2, 1024, 2}});
  for (const auto& [rows_, n_, offset_] : cases) {
    const std::size_t rows = rows_, n = n_, offset = offset_;
    for (const bool residual : {false, true})
      for (const float p : {0.0f, 0.3f})
        for (const float p_output : {0.0f, 0.2f}) {
          if (rows > 1000 && residual != (p > 0)) continue;
          CAPTURE(rows);
          CAPTURE(n);
          CAPTURE(offset);
          CAPTURE(p);
          CAPTURE(p_output);
          const std::size_t size = rows * n + offset;
          compare<T>(
              [=](auto device) {
                using Dev = decltype(device);
                const DropoutMask mask{p, {5, 6, 7}}, output{p_output, {1, 2, 3}};
                const Array<T, Dev> x(random_values<T>(size)), z(random_values<T>(size, 1)), gamma(random_values<T>(n + offset, 2)),
                    dy(random_values<T>(size, 4));
                const Array<T, Dev> beta(random_values<T>(n + offset, 3)), xhat(zeros<T>(size)), y(zeros<T>(size));
                const Array<accumulate_t<T>, Dev> rstd(zeros<accumulate_t<T>>(rows));
                const Array<T, Dev> dz(zeros<T>(size)), dx(zeros<T>(size)), dgamma(zeros<T>(n)), dbeta(zeros<T>(n));
                const auto at = [offset](const Array<T, Dev>& array) { return array.data() + offset; };
                Kernels<Dev>::layer_norm(rows, n, accumulate_t<T>(1e-3), mask, output, at(x), residual ? at(z) : nullptr, at(gamma),
                                         at(beta), at(xhat), rstd.data(), at(y));
                Kernels<Dev>::layer_norm_grad(rows, n, mask, output, at(dy), at(gamma), at(xhat), rstd.data(), at(dz),
                                              p > 0 ? at(dx) : at(dz), dgamma.data(), dbeta.data());
                const Array<T, Dev> only_y(zeros<T>(size));  // xhat is not wanted
                Kernels<Dev>::layer_norm(rows, n, accumulate_t<T>(1e-3), mask, output, at(x), residual ? at(z) : nullptr, at(gamma),
                                         at(beta), at(only_y), rstd.data(), at(only_y));
                return joined(xhat.values(), rstd.values(), y.values(), only_y.values(), dz.values(), dx.values(), dgamma.values(),
                              dbeta.values());
              },
              20 * tolerance<T>);
        }
  }
}

TEST_CASE_TEMPLATE("cuda: the matrix product, strided, transposed, with bias", T, float, double, bfloat16) {
  const std::size_t sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {17, 9, 33}, {2, 3, 0}, {0, 3, 4}};
  for (const auto& [m, n, k] : sizes)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const int kind : {0, 1, 2, 3}) {  // beta 0, beta 0.5, bias, a bias not aligned to 16 bytes
          const std::size_t lda = (ta ? m : k) + 2, ldb = (tb ? k : n) + 1, ldc = n + 4;
          compare<T>([&, m = m, n = n, k = k](auto device) {
            using Dev = decltype(device);
            const Array<T, Dev> a(random_values<T>((m + k + 1) * lda)), b(random_values<T>((n + k + 1) * ldb, 1));
            const Array<T, Dev> c(random_values<T>((m + 1) * ldc, 2)), bias(random_values<T>(n + 1, 3));
            Kernels<Dev>::gemm(ta, tb, m, n, k, T(0.7), a.data(), lda, b.data(), ldb, kind == 1 ? T(0.5) : T{0}, c.data(), ldc,
                               kind >= 2 ? bias.data() + (kind - 2) : nullptr);
            return c.values();
          });
        }
  for (const std::size_t batch : {0u, 1u, 3u})
    for (const auto& [m, n, k] : sizes)
      for (const bool ta : {false, true})
        for (const bool tb : {false, true})
          for (const bool one_a : {false, true})
            compare<T>([&, m = m, n = n, k = k](auto device) {
              using Dev = decltype(device);
              const Array<T, Dev> a(random_values<T>(3 * m * k)), b(random_values<T>(3 * k * n, 1)), c(std::vector<T>(3 * m * n, T{7}));
              Kernels<Dev>::gemm_batched(batch, ta, tb, m, n, k, accumulate_t<T>(0.7), a.data(), one_a ? 0 : m * k, b.data(), k * n,
                                         c.data());
              return c.values();
            });
  CHECK_FALSE(cuda::tf32());
  cuda::set_tf32(true);
  CHECK(cuda::tf32());
  cuda::set_tf32(false);
}
