// SPDX-License-Identifier: MIT
// gradcheck must detect errors: each op here has a deliberate one.
#include "lexformer/autograd/gradcheck.hpp"

#include <doctest/doctest.h>

#include <set>

#include "../support/directions.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/rows.hpp"

using namespace lexformer;
using test::random_tensor;

namespace {

using V = Var<double>;
using Gradients = std::vector<Tensor<double>>;

Tensor<double> map(const Tensor<double>& a, const Tensor<double>& b, double (*f)(double, double)) {
  Tensor<double> y(a.shape());
  for (std::size_t i = 0; i < a.size(); ++i) y.mutable_data()[i] = f(a.data()[i], b.data()[i]);
  return y;
}
Tensor<double> product(const Tensor<double>& a, const Tensor<double>& b) {
  return map(a, b, [](double x, double y) { return x * y; });
}

/// x^2 with the gradient `factor` x dy; 2 is correct.
V square(const V& x, double factor) {
  return record("square", product(x.value(), x.value()), std::vector{x}, [xv = x.value(), factor](const Tensor<double>& dy) {
    return Gradients{map(product(dy, xv), Tensor<double>::full(dy.shape(), factor), [](double a, double b) { return a * b; })};
  });
}

bool found(const std::function<V(const std::vector<V>&)>& f, const std::vector<Tensor<double>>& x) { return !gradcheck(f, x).ok; }

}  // namespace

TEST_CASE("gradcheck accepts what is right, and reports how right") {
  const auto result = gradcheck([](const auto& v) { return square(v[0], 2); }, {random_tensor({3, 4})});
  CHECK(result.ok);
  CHECK(result.worst < 1e-8);
  CHECK(gradcheck([](const auto& v) { return multiply(v[0], softmax(v[1])); }, {random_tensor({3, 1}), random_tensor({3, 4}, 1)}).ok);
}

TEST_CASE("gradcheck finds a wrong factor and says where") {
  const auto result = gradcheck([](const auto& v) { return add(v[0], square(v[1], 2.00001)); },
                                {Tensor<double>::from({1, 2}), Tensor<double>::from({0, 5})});
  CHECK_FALSE(result.ok);
  CHECK(result.worst > 1e-6);
  CHECK(result.message.rfind("input 1, element 1 of (2,): analytic ", 0) == 0);
}

TEST_CASE("check_directions accepts what is right, and finds one wrong element") {
  const std::vector<V> leaves{V(random_tensor({30, 40}), true), V(random_tensor({3}, 1), true)};
  CHECK(test::check_directions([&] { return square(leaves[0], 2); }, leaves).ok);
  const auto wrong_element = [&] {
    return record("wrong", leaves[1].value().clone(), std::vector{leaves[1]}, [](const Tensor<double>& dy) {
      auto dx = dy.clone();
      dx.mutable_data()[1] *= 1.0001;
      return Gradients{dx};
    });
  };
  const auto result = test::check_directions(wrong_element, leaves);
  CHECK_FALSE(result.ok);
  CHECK(result.message.rfind("input 1 of (3,), along a random direction: analytic ", 0) == 0);
}

TEST_CASE("gradcheck finds a gradient that is overwritten instead of added to") {
  // x * x, whose two contributions go to one buffer: the second replaces the first.
  CHECK(found(
      [](const auto& v) {
        return record("overwrites", product(v[0].value(), v[0].value()), std::vector{v[0]}, [xv = v[0].value()](const Tensor<double>& dy) {
          Tensor<double> dx;
          for (int use = 0; use < 2; ++use) dx = product(dy, xv);
          return Gradients{dx};
        });
      },
      {random_tensor({4})}));
  // An op that overwrites the gradient of its input: correct only without other contributions.
  CHECK(found(
      [](const auto& v) {
        return record("sets", v[0].value().clone(), std::vector{v[0]}, [x = v[0]](const Tensor<double>& dy) {
          V(x).set_grad(dy.clone());
          return Gradients{{}};
        });
      },
      {random_tensor({4})}));
}

TEST_CASE("gradcheck finds a gradient that is missing") {
  CHECK(found([](const auto& v) { return multiply(v[0], v[0].detach()); }, {random_tensor({4})}));
  CHECK(found(
      [](const auto& v) {
        return record("half", map(v[0].value(), v[1].value(), [](double a, double b) { return a + b; }), std::vector{v[0], v[1]},
                      [](const Tensor<double>& dy) {
                        return Gradients{dy, {}};
                      });
      },
      {random_tensor({4}), random_tensor({4}, 1)}));
}

TEST_CASE("gradcheck finds wrong broadcasting") {
  // x (3, 2) + b (2): the gradient of b must sum over the rows; this one takes the last row.
  CHECK(found(
      [](const auto& v) {
        return record("add rows", add(v[0].detach(), v[1].detach()).value(), std::vector{v[0], v[1]}, [](const Tensor<double>& dy) {
          return Gradients{dy, dy.slice(2, 3).reshape({2})};
        });
      },
      {random_tensor({3, 2}), random_tensor({2}, 1)}));
}

TEST_CASE("gradcheck finds softmax without its dot term, which a cotangent of ones would not") {
  const auto wrong = [](const V& x) {
    const auto y = softmax(x.detach()).value();
    return record("softmax", y, std::vector{x}, [y](const Tensor<double>& dy) { return Gradients{product(y, dy)}; });
  };
  CHECK(found([&](const auto& v) { return wrong(v[0]); }, {random_tensor({2, 5})}));
  // With a cotangent of ones, the true gradient is 0, and so is that of this op, which ignores the cotangent.
  const auto zero = [](const V& x) {
    return record("softmax", softmax(x.detach()).value(), std::vector{x},
                  [](const Tensor<double>& dy) { return Gradients{Tensor<double>::zeros(dy.shape())}; });
  };
  CHECK_FALSE(found([&](const auto& v) { return sum(zero(v[0])); }, {random_tensor({2, 5})}));
  CHECK(found([&](const auto& v) { return zero(v[0]); }, {random_tensor({2, 5})}));
}

TEST_CASE("gradcheck finds NaN, and an op that depends on how often it is called") {
  CHECK(found([](const auto& v) { return square(v[0], std::nan("")); }, {random_tensor({4})}));
  int calls = 0;
  CHECK(found([&](const auto& v) { return scale(v[0], static_cast<double>(++calls)); }, {random_tensor({4})}));
}

TEST_CASE("gradcheck differences at most max_elements of an input, spread over it") {
  const auto x = random_tensor({401});
  std::set<std::size_t> touched;
  gradcheck(
      [&](const auto& v) {
        for (std::size_t i = 0; i < x.size(); ++i)
          if (v[0].value().at(i) != x.at(i)) touched.insert(i);
        return scale(v[0], 2.0);
      },
      {x}, {.max_elements = 200});
  CHECK(touched.size() == 200);
  CHECK(*touched.begin() == 0);
  CHECK(*touched.rbegin() >= 398);
  CHECK(gradcheck([](const auto& v) { return square(v[0], 3); }, {x}, {.max_elements = 0}).ok);  // nothing was checked
}
