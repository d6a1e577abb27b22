// SPDX-License-Identifier: MIT
#include "lexformer/autograd/checkpoint.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/rows.hpp"

using namespace lexformer;
using test::error_message;
using test::random_tensor;

namespace {

using Vars = std::vector<Var<double>>;

Var<double> parameter(const Shape& shape, std::uint32_t seed) { return Var<double>(random_tensor(shape, seed), true); }

}  // namespace

TEST_CASE("checkpoint: f runs once forward and once backward, with the gradients of inputs and parameters") {
  const auto w = parameter({3, 4}, 1), b = parameter({3}, 2);
  auto x = parameter({5, 4}, 3);
  int calls = 0;
  const auto f = [&](const Vars& v) {
    ++calls;
    return gelu(linear(gelu(v[0]), w, b));
  };
  sum(f({x})).backward();
  const auto dx = x.grad(), dw = w.grad(), db = b.grad();
  for (auto v : {x, w, b}) v.clear_grad();
  calls = 0;
  const auto y = sum(checkpoint(Vars{x}, f));
  CHECK(calls == 1);
  const auto leaves = graph_leaves(y);
  REQUIRE(leaves.size() == 3);
  for (const auto& leaf : leaves) CHECK(leaf.op == (leaf.id == x.id() ? "checkpoint" : "linear"));
  y.backward();
  CHECK(calls == 2);
  CHECK(test::same_bits(x.grad(), dx));
  CHECK(test::same_bits(w.grad(), dw));
  CHECK(test::same_bits(b.grad(), db));
  CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("were freed by an earlier backward()"), Error);
}

TEST_CASE("checkpoint: gradients against differences; a history shared by several calls is an input") {
  const auto result = gradcheck(
      [](const auto& v) {
        const auto shared = multiply(v[1], v[1]);
        auto x = v[0];
        for (int i = 0; i < 3; ++i)
          x = checkpoint(std::vector{x, shared}, [](const auto& u) { return tanh(add(multiply(u[0], u[1]), u[1])); });
        return x;
      },
      {random_tensor({2, 3}), random_tensor({3}, 1)});
  CHECK(result.ok);
}

TEST_CASE("checkpoint: only the inputs are stored") {
  const auto x = parameter({100, 100}, 1);
  const auto f = [](const Vars& v) {
    auto y = v[0];
    for (int i = 0; i < 10; ++i) y = tanh(scale(y, 1.1));
    return y;
  };
  const std::size_t before = Memory<Cpu>::in_use();
  const auto plain = f({x});
  const std::size_t stored = Memory<Cpu>::in_use() - before;
  const auto y = checkpoint(Vars{x}, f);
  const std::size_t kept = Memory<Cpu>::in_use() - before - stored;
  CHECK(stored >= 10 * 80000);
  CHECK(kept < 90000);  // y, in whole pages
}

TEST_CASE("checkpoint: inputs without gradient or value, and nothing to learn") {
  const auto w = parameter({3}, 1);
  const Var<double> constant(random_tensor({3}, 2)), none;
  const auto f = [&](const Vars& v) { return v[1].defined() ? v[0] : multiply(v[0], w); };
  sum(checkpoint(Vars{constant, none}, f)).backward();
  CHECK(test::same_bits(w.grad(), constant.value()));
  CHECK_FALSE(checkpoint(Vars{constant, constant}, f).requires_grad());
  const NoGrad no_grad;
  CHECK_FALSE(checkpoint(Vars{w, none}, f).requires_grad());
}

TEST_CASE("checkpoint: what f reads is an input or a leaf, and may be frozen") {
  const auto x = parameter({3}, 1);
  auto w = parameter({3}, 2);
  const auto computed = multiply(x, x);
  CHECK(error_message([&] { checkpoint(Vars{x}, [&](const Vars& v) { return add(v[0], computed); }); }) ==
        "checkpoint: reads a result of 'multiply' that is not one of its inputs");
  const auto y = sum(checkpoint(Vars{computed, computed}, [&](const Vars& v) { return multiply(multiply(v[0], v[1]), w); }));
  w.set_requires_grad(false);
  y.backward();
  CHECK(test::max_error(x.grad(), scale(multiply(multiply(x, computed), w), 4.0).value()) < 1e-12);  // x^4 w
}

TEST_CASE("checkpoint: calls within calls") {
  const auto x = parameter({3}, 1), w = parameter({3}, 2);
  const auto inner = [&](const Vars& v) { return tanh(multiply(v[0], w)); };
  const auto outer = [&](const Vars& v) { return multiply(checkpoint(v, inner), v[0]); };
  sum(checkpoint(Vars{x}, outer)).backward();
  const auto dx = x.grad(), dw = w.grad();
  for (auto v : {x, w}) v.clear_grad();
  sum(multiply(inner({x}), x)).backward();
  CHECK(test::same_bits(x.grad(), dx));
  CHECK(test::same_bits(w.grad(), dw));
}

TEST_CASE("checkpoint: an error in backward names the module and leaves the thread's state as it was") {
  auto x = parameter({2}, 1);
  const auto f = [](const Vars& v) { return scale(v[0], 2.0); };
  const auto changed = sum(checkpoint(Vars{x}, f));
  x.mutable_value().mutable_data()[0] = 5;
  CHECK_THROWS_WITH_AS(changed.backward(), doctest::Contains("was changed in place after the forward pass"), Error);
  auto w = parameter({2}, 2);
  const auto updated = sum(checkpoint(Vars{x}, [&](const Vars& v) { return multiply(v[0], w); }));
  w.mutable_value().mutable_data()[0] = 5;
  CHECK(error_message([&] { updated.backward(); }) ==
        "backward: a parameter of shape (2,) that multiply reads was changed in place after the forward pass; run the forward pass again");

  const CheckFinite check;
  Var<double> y;
  {
    const NameScope scope("layer");
    y = checkpoint(Vars{x}, [](const Vars& v) {
      return record("steep", v[0].value(), v, [](const Tensor<double>& dy) {
        return std::vector{Tensor<double>::full(dy.shape(), std::numeric_limits<double>::infinity())};
      });
    });
  }
  const NoGrad no_grad;
  CHECK(error_message([&] {
          sum(y);
          y.backward(Tensor<double>::ones({2}));
        }) == "layer: steep: the gradient of input 0 is not finite, shape (2,)");
  CHECK_FALSE(detail::graph_state().recording);
  CHECK(detail::graph_state().scope.empty());
}
