// SPDX-License-Identifier: MIT
#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

const std::vector<std::pair<std::size_t, std::size_t>> matrices = {{1, 1},   {5, 2},    {3, 31},   {4, 33},
                                                                   {6, 127}, {2, 1000}, {3, 1300}, {40, 7}};

}  // namespace

TEST_CASE_TEMPLATE("cuda: cross-entropy of rows in place, and its mean", T, float, double, bfloat16) {
  for (const auto& size_of : matrices) {
    const std::size_t rows = size_of.first, n = size_of.second;
    CAPTURE(rows);
    CAPTURE(n);
    compare<T>([=](auto device) {
      using Dev = decltype(device);
      const Array<std::int32_t, Dev> labels(random_ids(rows, n));
      const Array<T, Dev> x(random_values<T>(rows * n));
      const Array<accumulate_t<T>, Dev> loss(zeros<accumulate_t<T>>(rows)), mean(zeros<accumulate_t<T>>(1));
      Kernels<Dev>::affine(rows * n, T{4}, x.data(), T{20}, x.data());
      Kernels<Dev>::cross_entropy(rows, n, labels.data(), accumulate_t<T>(0.3), x.data(), loss.data());
      Kernels<Dev>::mean_loss(rows, loss.data(), mean.data());
      return joined(x.values(), loss.values(), mean.values());
    });
  }
}

TEST_CASE_TEMPLATE("cuda: negative log-likelihood with weights and rows that do not count", T, float, double, bfloat16) {
  for (const auto& size_of : matrices) {
    const std::size_t rows = size_of.first, n = size_of.second;
    using A = accumulate_t<T>;
    for (const bool weighted : {true, false})
      for (const A total : {A(2.5), A{0}}) {
        auto label = random_ids(rows, n);
        auto weights = random_values<A>(rows);
        for (std::size_t i = 0; i < rows; i += 3) label[i] = -100;
        for (std::size_t i = 1; i < rows; i += 4) weights[i] = A{0};
        if (total == A{0}) std::fill(label.begin(), label.end(), -100);
        compare<T>([&](auto device) {
          using Dev = decltype(device);
          const Array<std::int32_t, Dev> labels(label);
          const Array<A, Dev> weight_array(weights), dy({A(0.7)}), out({A{9}}), log_p(random_values<A>(rows * n, 1));
          const Array<T, Dev> dx(zeros<T>(rows * n));
          const A* const weight = weighted ? weight_array.data() : nullptr;
          Kernels<Dev>::negative_log_likelihood(rows, n, labels.data(), weight, total, log_p.data(), out.data());
          Kernels<Dev>::negative_log_likelihood_grad(rows, n, labels.data(), weight, total, dy.data(), log_p.data(), dx.data());
          return joined(dx.values(), out.values());
        });
      }
  }
}

TEST_CASE_TEMPLATE("cuda: cosines of rows, forward and backward", T, float, double, bfloat16) {
  for (const auto& size_of : matrices) {
    const std::size_t rows = size_of.first, n = size_of.second;
    for (const auto eps : {accumulate_t<T>(1e-8), accumulate_t<T>(1e3)}) {
      CAPTURE(rows);
      CAPTURE(n);
      compare<T>([=](auto device) {
        using Dev = decltype(device);
        const Array<T, Dev> a(random_values<T>(rows * n)), b(random_values<T>(rows * n, 1)), dy(random_values<T>(rows, 2));
        const Array<T, Dev> y(zeros<T>(rows)), da(zeros<T>(rows * n)), db(zeros<T>(rows * n));
        Kernels<Dev>::cosine_similarity(rows, n, eps, a.data(), b.data(), y.data());
        Kernels<Dev>::cosine_similarity_grad(rows, n, eps, dy.data(), a.data(), b.data(), da.data(), db.data());
        return joined(y.values(), da.values(), db.values());
      });
    }
  }
}

TEST_CASE_TEMPLATE("cuda: mean cosine of all pairs of a group, forward and backward", T, float, double, bfloat16) {
  const std::vector<VectorGroup> groups = {{0, 2, 5, 5}, {10, 33, 7, 7}, {241, 3, 300, 280}, {1141, 2, 1, 1}};
  auto values = random_values<T>(1200);
  std::fill(values.begin() + 10, values.begin() + 17, T{0});  // a vector of length 0
  const auto run = [&](std::size_t count, auto device) {
    using Dev = decltype(device);
    const Array<VectorGroup, Dev> list(groups);
    const VectorGroups all{count, 33, 280, list.data()};
    const Array<T, Dev> x(values), dx(random_values<T>(1200, 1));
    const Array<accumulate_t<T>, Dev> out({accumulate_t<T>{9}}), dy({accumulate_t<T>(0.7)});
    Kernels<Dev>::pairwise_cosine(all, x.data(), out.data());
    Kernels<Dev>::pairwise_cosine_grad(all, dy.data(), x.data(), dx.data());
    return joined(out.values(), dx.values());
  };
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, groups.size()})
    compare<T>([&](auto device) { return run(count, device); });
}
