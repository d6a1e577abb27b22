// SPDX-License-Identifier: MIT
#include <utility>

#include "on_device.hpp"

using namespace lexformer;
using namespace lexformer::test;

namespace {

template <class T, class... F>
void compare_maps(std::size_t n) {
  const auto values = random_values<T>(n);
  const auto one = [&]<class G>(G) {
    compare<T>([&](auto device) {
      using Dev = decltype(device);
      const Array<T, Dev> x(values), y(std::vector<T>(n, T{7}));
      Kernels<Dev>::template map<G>(n, x.data(), y.data());
      return y.values();
    });
  };
  (one(F{}), ...);
}
template <class T, class... F>
void compare_maps_of_two(std::size_t n) {
  const auto left = random_values<T>(n), right = random_values<T>(n, 1);
  const auto one = [&]<class G>(G) {
    compare<T>([&](auto device) {
      using Dev = decltype(device);
      const Array<T, Dev> a(left), b(right), y(std::vector<T>(n, T{7}));
      Kernels<Dev>::template map<G>(n, a.data(), b.data(), y.data());
      return y.values();
    });
  };
  (one(F{}), ...);
}

}  // namespace

TEST_CASE_TEMPLATE("cuda: attentions", T, float, double, bfloat16) {
  for (const std::size_t n : odd_sizes) {
    CAPTURE(n);
    using namespace scalar;
    compare_maps<T, Gelu, GeluTanh, Tanh, Sigmoid, Relu, Exp, Log, Sqrt, Abs>(n);
    compare_maps_of_two<T, GeluGrad, GeluTanhGrad, TanhGrad, SigmoidGrad, ReluGrad, SqrtGrad, AbsGrad, Add, Subtract, Multiply, Divide>(n);
    compare_maps_of_two<T, Maximum, Minimum, GreaterShare, Where, WhereNot>(n);
  }
}

TEST_CASE_TEMPLATE("cuda: GELU and its gradient in one pass", T, float, double, bfloat16) {
  for (const std::size_t n : odd_sizes)
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
      CAPTURE(n);
      const auto x = random_values<T>(n + first), dy = random_values<T>(n + first, 1);
      for (const bool gradient : {false, true})
        compare<T>([&](auto device) {
          using Dev = decltype(device);
          const Array<T, Dev> y(x), dx(dy);
          Kernels<Dev>::gelu_with_grad(n, y.data() + first, dx.data() + first);
          return gradient ? dx.values() : y.values();
        });
    }
}

TEST_CASE_TEMPLATE("cuda: addresses between packs, results in place, and nothing at all", T, float, double, bfloat16) {
  const auto values = random_values<T>(100);
  for (std::size_t first = 0; first < 5; ++first) {
    compare<T>([&](auto device) {
      using Dev = decltype(device);
      const Array<T, Dev> x(values), y(std::vector<T>(100, T{1}));
      const Array<accumulate_t<T>, Dev> factor({accumulate_t<T>(1.7)});
      Kernels<Dev>::template map<scalar::Tanh>(95 - first, x.data() + first, y.data());
      Kernels<Dev>::add_to(90, x.data() + first, y.data());
      Kernels<Dev>::affine(50, T(1.5), y.data() + first, T(-2), y.data() + first);
      Kernels<Dev>::scale_by(30, factor.data(), y.data(), y.data());
      Kernels<Dev>::fill_quotient(10, factor.data(), 3, y.data() + 60);
      Kernels<Dev>::template map<scalar::Tanh>(0, x.data(), y.data());
      return y.values();
    });
  }
  const Array<T, Cuda> x(values);
  const Array<float, Cuda> single(zeros<float>(100));
  const Array<double, Cuda> wide(zeros<double>(100));
  OnCuda::cast(100, x.data(), single.data());
  for (std::size_t i = 0; i < 100; ++i) CHECK(single.values()[i] == static_cast<float>(values[i]));
  if constexpr (!is_storage<T>) {
    OnCuda::cast(100, x.data(), wide.data());
    for (std::size_t i = 0; i < 100; ++i) CHECK(wide.values()[i] == static_cast<double>(values[i]));
  }
}

TEST_CASE_TEMPLATE("cuda: attentions and sums of broadcast shapes", T, float, double, bfloat16) {
  const std::pair<Shape, Shape> shapes[] = {{{3, 5}, {5}},
                                            {{5}, {3, 5}},
                                            {{3, 1}, {1, 7}},
                                            {{2, 3, 5}, {3, 1}},
                                            {{}, {4}},
                                            {{4, 300}, {}},
                                            {{2, 1, 5}, {1, 3, 1}},
                                            {{33, 70}, {33, 1}},
                                            {{1, 1}, {1, 1}},
                                            {{300, 40}, {40}},
                                            {{3, 2, 2, 5}, {3, 1, 2, 1}},
                                            {{2, 0, 3}, {3}},
                                            {{7, 1}, {7, 1}},
                                            {{2, 5, 1}, {5, 1}},
                                            {{2, 40, 3, 40}, {40, 1, 40}}};
  for (const auto& pair : shapes) {
    const Shape &sa = pair.first, &sb = pair.second;
    CAPTURE(sa);
    CAPTURE(sb);
    const Broadcast plan("test", sa, sb);
    const Shape shape = plan.shape();
    compare<T>([&](auto device) {
      using Dev = decltype(device);
      const Array<T, Dev> a(random_values<T>(sa.size())), b(random_values<T>(sb.size(), 1)), y(zeros<T>(shape.size()));
      Kernels<Dev>::template map_broadcast<scalar::Subtract>(plan, a.data(), b.data(), y.data());
      return y.values();
    });
    for (const Shape& to : {sa, sb}) {
      const Broadcast back("test", shape, to);
      compare<T>(
          [&](auto device) {
            using Dev = decltype(device);
            const Array<T, Dev> x(random_values<T>(shape.size(), 2)), y(std::vector<T>(to.size(), T{5}));
            Kernels<Dev>::sum_to(back, to.size(), x.data(), y.data());
            return y.values();
          },
          30 * tolerance<T>);
    }
  }
}

TEST_CASE_TEMPLATE("cuda: dropout keeps exactly what the CPU keeps", T, float, double, bfloat16) {
  for (const std::size_t n : odd_sizes)
    for (const float p : {0.0f, 0.1f, 0.5f}) {
      const DropoutMask mask{p, {n * 0x123456789ull, 7, 3}};
      const auto values = random_values<T>(n);
      const auto run = [&](auto device) {
        using Dev = decltype(device);
        const Array<T, Dev> x(values), y(zeros<T>(n)), z(zeros<T>(n));
        Kernels<Dev>::dropout(n, mask, x.data(), y.data());
        Kernels<Dev>::dropout(n - 1, mask, x.data() + 1, z.data() + 1);  // not aligned to packs
        return joined(y.values(), z.values());
      };
      CHECK(same_bits(run(Cpu{}), run(Cuda{})));
    }
}

TEST_CASE_TEMPLATE("cuda: sums of all elements", T, float, double, bfloat16) {
  auto sizes = odd_sizes;
  sizes.insert(sizes.end(), {0, 4096, 4097, 20011});
  for (const std::size_t n : sizes) {
    CAPTURE(n);
    const auto values = random_values<T>(n);
    compare<T>(
        [&](auto device) {
          using Dev = decltype(device);
          const Array<T, Dev> x(values);
          const Array<accumulate_t<T>, Dev> y(zeros<accumulate_t<T>>(2));
          Kernels<Dev>::sum(n, x.data(), y.data());
          if (n > 0) Kernels<Dev>::mean(n, x.data(), y.data() + 1);
          return y.values();
        },
        30 * tolerance<accumulate_t<T>>);
  }
}

TEST_CASE_TEMPLATE("cuda: one number that is not finite is found", T, float, double, bfloat16) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{1000}}) {
    CHECK(OnCuda::all_finite(n, Array<T, Cuda>(random_values<T>(n)).data()));
    for (const T bad : {static_cast<T>(NAN), static_cast<T>(-INFINITY)})
      for (std::size_t at = 0; at < n; at += 111) {
        auto values = random_values<T>(n);
        values[at] = bad;
        CHECK_FALSE(OnCuda::all_finite(n, Array<T, Cuda>(values).data()));
      }
  }
}

TEST_CASE_TEMPLATE("cuda: AdamW over many parameters in one launch, and the norm of their gradients", T, float, double, bfloat16) {
  const std::vector<std::size_t> sizes = {5, 0, 8192, 1, 8193, 0, 20000, 33, 40003, 0};
  const std::vector<std::size_t> offsets = {0, 0, 0, 0, 1, 0, 0, 3, 0, 0};  // not aligned to packs
  const auto run = [&](auto device) {
    using Dev = decltype(device);
    using A = accumulate_t<T>;
    std::vector<Array<A, Dev>> m, v, weight;
    std::vector<Array<T, Dev>> gradient, parameter;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto stream = static_cast<std::uint32_t>(4 * i);
      const std::size_t size = offsets[i] + sizes[i];
      gradient.emplace_back(random_values<T>(size, stream));
      m.emplace_back(random_values<A>(size, stream + 1));
      auto squares = random_values<A>(size, stream + 2);
      for (A& x : squares) x *= x;
      v.emplace_back(squares);
      weight.emplace_back(random_values<A>(size, stream + 3));
      parameter.emplace_back(zeros<T>(size));
    }
    std::vector<AdamWUpdate<T>> updates;
    std::vector<Elements<T>> gradients;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double t = static_cast<double>(i + 1);
      const AdamWFactors factors{1 - 1e-4 * t, 0.9, 0.999, 1e-3 / (1 - std::pow(0.9, t)), std::sqrt(1 - std::pow(0.999, t)), 1e-8};
      const auto at = [&](const auto& arrays) { return arrays[i].data() + offsets[i]; };
      updates.push_back({sizes[i], factors, at(gradient), at(m), at(v), at(weight), at(parameter)});
      gradients.push_back({sizes[i], at(gradient)});
    }
    const Array<double, Dev> norms({2.0, 0.0, 0.0, 0.0});
    const Array<A, Dev> losses({A{3}, static_cast<A>(-INFINITY)});
    const auto norm = norms.data();
    Kernels<Dev>::gradient_norm(gradients, losses.data(), norm, norm + 1);
    Kernels<Dev>::gradient_norm(gradients, losses.data() + 1, norm, norm + 2);
    Kernels<Dev>::gradient_norm(gradients, losses.data(), norm + 2, norm + 3);
    Kernels<Dev>::adamw(updates, {});
    Kernels<Dev>::adamw(updates, {norm + 1, 0.5});
    Kernels<Dev>::adamw(updates, {norm + 2, 0.5});  // nothing
    std::vector<double> all = norms.values();
    CHECK(all[1] > 1);
    for (const std::size_t i : {2u, 3u}) CHECK(std::isnan(std::exchange(all[i], 0.0)));
    for (std::size_t i = 0; i < sizes.size(); ++i)
      all = joined(all, m[i].values(), v[i].values(), weight[i].values(), parameter[i].values());
    return all;
  };
  compare<T>(run);
  OnCuda::adamw(std::vector<AdamWUpdate<T>>{}, {});
  const Array<double, Cuda> nothing({1.0});
  OnCuda::gradient_norm(std::vector<Elements<T>>{}, nullptr, nullptr, nothing.data());
  CHECK(nothing.values()[0] == 0.0);
}
