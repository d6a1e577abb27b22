// SPDX-License-Identifier: MIT
#include "lexformer/autograd/var.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <thread>

#include "../support/error_message.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/rows.hpp"

using namespace lexformer;
using test::error_message;

namespace {

using Values = std::vector<double>;

Var<double> leaf(std::initializer_list<double> values) { return Var<double>(Tensor<double>::from(values), true); }

/// y = x, with a gradient given by the caller.
template <class F>
Var<double> op_with_gradient(const Var<double>& x, F backward) {
  return record("custom", x.value().clone(), std::vector{x},
                [backward](const Tensor<double>& dy) -> std::vector<Tensor<double>> { return {backward(dy)}; });
}

}  // namespace

TEST_CASE("a value used many times gathers all its gradients") {
  auto x = leaf({2, 3});
  sum(multiply(multiply(x, x), x)).backward();
  CHECK(x.grad().to_vector() == Values{12, 27});
  x.clear_grad();
  CHECK_FALSE(x.grad().defined());
  auto y = add(x, x);
  for (int i = 0; i < 3; ++i) y = add(y, x);
  sum(y).backward();
  CHECK(x.grad().to_vector() == Values{5, 5});
}

TEST_CASE("a diamond: each op runs once, when all its gradients are there") {
  auto x = leaf({3});
  int calls = 0;
  const auto middle = op_with_gradient(multiply(x, x), [&calls](const Tensor<double>& dy) {
    ++calls;
    return dy;
  });
  const auto left = scale(middle, 2.0), right = multiply(middle, middle);
  multiply(left, right).backward();  // 2 x^6
  CHECK(calls == 1);
  CHECK(x.grad().item() == 12 * 243);
}

TEST_CASE("gradients of several backwards add up until they are cleared") {
  auto x = leaf({1, 2});
  for (int i = 0; i < 3; ++i) sum(multiply(x, x)).backward();
  CHECK(x.grad().to_vector() == Values{6, 12});
  x.set_grad(Tensor<double>::from({10, 10}));
  sum(x).backward();
  CHECK(x.grad().to_vector() == Values{11, 11});
}

TEST_CASE("a gradient tensor that two values share is not changed by adding to one of them") {
  auto a = leaf({1, 2}), b = leaf({3, 4});
  const auto both = add(a, b);  // passes the same tensor to a and b
  const auto more = scale(a, 10.0);
  sum(concat_rows(std::vector{both, more})).backward();
  CHECK(a.grad().to_vector() == Values{11, 11});
  CHECK(b.grad().to_vector() == Values{1, 1});
  const auto kept = b.grad();  // the caller's copy, too
  sum(b).backward();
  CHECK(b.grad().to_vector() == Values{2, 2});
  CHECK(kept.to_vector() == Values{1, 1});
  auto twice = leaf({1});
  const auto cotangent = Tensor<double>::from({5});
  add(twice, twice).backward(cotangent);
  CHECK(twice.grad().item() == 10);
  CHECK(cotangent.item() == 5);
}

TEST_CASE("residual paths: y = x + f(x), three layers deep") {
  auto x = leaf({1, 2}), w = leaf({3});
  auto y = x;
  for (int i = 0; i < 3; ++i) y = add(y, multiply(y, w));  // y (1 + w)
  sum(y).backward();
  CHECK(x.grad().to_vector() == Values{64, 64});
  CHECK(w.grad().item() == 144);  // 3 (1 + w)^2 (x_0 + x_1)
}

TEST_CASE("an op with several outputs gets an undefined gradient for those that nothing depends on") {
  const auto split = [](const Var<double>& x, bool* second) {
    std::vector<Tensor<double>> outputs{x.value().clone(), x.value().clone()};
    return record_all("split", std::move(outputs), std::vector{x}, [second](const std::vector<Tensor<double>>& dy) {
      *second = dy[1].defined();
      auto dx = dy[dy[0].defined() ? 0 : 1].clone();
      if (dy[0].defined() && dy[1].defined()) Kernels<Cpu>::add_to(dx.size(), dy[1].data(), dx.mutable_data());
      return std::vector<Tensor<double>>{dx};
    });
  };
  auto x = leaf({2});
  bool second = true;
  split(x, &second)[0].backward();
  CHECK_FALSE(second);
  CHECK(x.grad().item() == 1);
  const auto parts = split(x, &second);
  add(parts[0], scale(parts[1], 3.0)).backward();
  CHECK(second);
  CHECK(x.grad().item() == 5);
}

TEST_CASE("retain_grad: the gradient of an inner value is kept; other gradients and results are as without it") {
  for (const bool retains : {false, true}) {
    auto x = leaf({2, 3});
    auto y = multiply(x, x);
    const auto z = add(y, y);  // its backward passes one tensor on, twice
    if (retains) y.retain_grad();
    sum(multiply(z, y)).backward();  // 2 y^2
    CHECK(x.grad().to_vector() == Values{64, 216});
    CHECK_FALSE(z.has_grad());
    CHECK(y.has_grad() == retains);
    if (!retains) continue;
    CHECK(y.grad().to_vector() == Values{16, 36});
    y.clear_grad();
    CHECK_FALSE(y.has_grad());
  }
  // That of a leaf in the place of the value, also if it is the gradient of rows of a table.
  const auto start = Tensor<double>::from({1, 2, 3, 4, 5, 6}, {3, 2});
  const auto loss = [](const Var<double>& table) {
    const auto rows = select_rows(table, {2, 0, 2});
    return sum(multiply(softmax(rows), exp(scale(rows, 0.1))));
  };
  const Var<double> x(start, true), there(scale(x, 0.5).value(), true);
  auto inner = scale(x, 0.5);
  inner.retain_grad();
  loss(inner).backward();
  loss(there).backward();
  CHECK(inner.grad().to_vector() == there.grad().to_vector());
  CHECK(x.grad().to_vector() == scale(Var<double>(there.grad()), 0.5).value().to_vector());
  CHECK(gradcheck([&] { return loss(there); }, {there}).ok);
  // The result itself, an op with several outputs, a leaf.
  auto all = sum(x);
  all.retain_grad();
  all.backward();
  CHECK(all.grad().item() == 1);
  auto parameter = leaf({1});
  parameter.retain_grad();
  sum(add(parameter, parameter)).backward();
  CHECK(parameter.grad().item() == 2);
  CHECK(error_message([] { Var<double>(Tensor<double>::from({1})).retain_grad(); }) ==
        "Var::retain_grad: this variable does not require a gradient");
}

TEST_CASE("an op may leave out the gradient of an input; inputs may be undefined or constant") {
  auto x = leaf({1}), y = leaf({2});
  const Var<double> constant(Tensor<double>::from({3})), none;
  record("first only", Tensor<double>::from({0}), std::vector{x, y, constant, none}, [](const Tensor<double>& dy) {
    return std::vector<Tensor<double>>{dy, {}, dy, {}};
  }).backward();
  CHECK(x.grad().item() == 1);
  CHECK_FALSE(y.grad().defined());
  CHECK_FALSE(constant.requires_grad());
  CHECK_FALSE(none.requires_grad());
}

TEST_CASE("an op that no gradient reaches is not run backward, but the graph is used up behind it too") {
  auto x = leaf({2});
  bool called = false;
  const auto h = op_with_gradient(x, [&called](const Tensor<double>& dy) {
    called = true;
    return dy;
  });
  op_with_gradient(h, [](const Tensor<double>&) { return Tensor<double>(); }).backward();
  CHECK_FALSE(called);
  CHECK_FALSE(x.grad().defined());
  CHECK_THROWS_AS(h.backward(), Error);
}

TEST_CASE("NoGrad and detach cut the graph; set_requires_grad freezes a leaf") {
  auto x = leaf({2}), w = leaf({3});
  {
    const NoGrad no_grad;
    CHECK_FALSE(multiply(x, w).requires_grad());
    { const NoGrad nested; }
    CHECK_FALSE(multiply(x, w).requires_grad());
  }
  CHECK(multiply(x, w).requires_grad());
  const auto h = multiply(x, w);
  CHECK(h.detach().value().shares_storage(h.value()));
  multiply(h, h.detach()).backward();
  CHECK(x.grad().item() == 18);  // d(h c)/dx with c = 6
  x.clear_grad();
  w.set_requires_grad(false);
  CHECK_FALSE(w.requires_grad());
  multiply(x, w).backward();
  CHECK(x.grad().item() == 3);
  w.set_requires_grad(true);
  CHECK_FALSE(w.grad().defined());
  CHECK_FALSE(add(h.detach(), h.detach()).requires_grad());
}

TEST_CASE("misuse of a Var says what to do") {
  auto x = leaf({1, 2});
  const auto y = scale(x, 2.0);
  const Var<double> constant(Tensor<double>::from({1.0}));
  Var<double> none, result = y;
  CHECK(error_message([&] { y.backward(); }) == "backward: the variable has shape (2,); without a cotangent it must have one element");
  CHECK(error_message([&] { y.backward(Tensor<double>::ones({3})); }) == "backward: cotangent (3,) for a variable of shape (2,)");
  CHECK(error_message([&] { y.backward(Tensor<double>()); }) == "backward: the cotangent is undefined; expected a tensor of shape (2,)");
  auto given = Tensor<double>::ones({2});
  const auto moved = std::move(given);
  CHECK_THROWS_AS(y.backward(given), Error);  // NOLINT(bugprone-use-after-move)
  Var<double> resized(Tensor<double>::ones({3}), true);
  multiply(resized, resized).backward(Tensor<double>::ones({3}));
  resized.mutable_value() = Tensor<double>::ones({2});
  CHECK(error_message([&] { multiply(resized, resized).backward(Tensor<double>::ones({2})); }) ==
        "backward: a gradient (2,) cannot be added to one of shape (3,); call clear_grad() after a parameter got another shape");
  CHECK(error_message([&] { constant.backward(); }) ==
        "backward: the variable does not require a gradient (is a NoGrad alive, or are all parameters frozen?)");
  CHECK(error_message([&] { constant.grad(); }) == "Var::grad: this variable does not require a gradient");
  CHECK(error_message([&] { none.value(); }) == "Var: the variable is undefined");
  CHECK(error_message([&] { none.backward(); }) == "Var: the variable is undefined");
  CHECK(error_message([&] { none.set_requires_grad(true); }) == "Var: the variable is undefined");
  const Var<double> empty{Tensor<double>()};
  CHECK_FALSE(empty.defined());
  CHECK(error_message([&] { empty.value(); }) == "Var: the variable holds an undefined Tensor");
  CHECK(error_message([&] { empty.shape(); }) == "Var: the variable holds an undefined Tensor");
  CHECK(error_message([&] { result.mutable_value(); }) == "Var::mutable_value: only a leaf can be changed in place");
  CHECK(error_message([&] { result.set_requires_grad(false); }) ==
        "Var::set_requires_grad: only a leaf can be frozen or unfrozen; use detach()");
  CHECK(error_message([&] { x.set_grad(Tensor<double>::ones({3})); }) == "Var::set_grad: gradient (3,) for a variable of shape (2,)");
  CHECK(error_message([&] { Var<double>(constant).set_grad(Tensor<double>::ones({1})); }) ==
        "Var::set_grad: this variable does not require a gradient");
  CHECK(error_message([&] {
          sum(op_with_gradient(x, [](const auto&) { return Tensor<double>::ones({1, 2}); })).backward();
        }) == "custom: backward returned a gradient (1, 2) for an input (2,)");
  const auto short_list = record("short", Tensor<double>::scalar(0), std::vector{x, x},
                                 [](const Tensor<double>& dy) -> std::vector<Tensor<double>> { return {dy}; });
  CHECK(error_message([&] { short_list.backward(); }) == "short: backward returned 1 gradients for 2 inputs");
}

TEST_CASE("a graph is used up by backward") {
  auto x = leaf({2});
  const auto h = multiply(x, x), y = scale(h, 2.0), z = scale(h, 3.0);
  y.backward();
  CHECK(error_message([&] { y.backward(); }) ==
        "backward: the saved values of op 'scale' were freed by an earlier backward(); run the forward pass again");
  CHECK(error_message([&] { z.backward(); }) ==
        "backward: the saved values of op 'multiply' were freed by an earlier backward(); run the forward pass again");
}

TEST_CASE("a value that a gradient needs must not be changed before backward") {
  auto x = leaf({2}), w = leaf({3});
  const auto y = multiply(x, w);
  w.mutable_value().mutable_data()[0] = 4;
  CHECK(error_message([&] { y.backward(); }) ==
        "backward: a value of shape (1,) that this gradient needs was changed in place after the forward pass; run the forward pass again");
  const auto z = add(x, w);  // saves no value, so it may be changed
  w.mutable_value().mutable_data()[0] = 5;
  CHECK_NOTHROW(z.backward());
}

TEST_CASE("a backward frees the values that only the graph kept") {
  auto x = Var<double>(Tensor<double>::ones({1000}), true);
  const auto before = Memory<Cpu>::in_use();
  const auto y = sum(gelu(multiply(x, x)));
  CHECK(Memory<Cpu>::in_use() > before + 8000);
  y.backward();
  CHECK(Memory<Cpu>::in_use() < before + 2 * 8192);  // the gradient of x and the sum
}

TEST_CASE("a chain of a million ops lives and dies, with and without backward") {
#ifdef NDEBUG
  constexpr int length = 1000000;
#else
  constexpr int length = 100000;  // enough to overflow the stack if anything recursed
#endif
  for (const bool with_backward : {true, false}) {
    auto x = leaf({1});
    {
      auto y = x;
      for (int i = 0; i < length; ++i) y = add_scalar(y, 1.0);
      CHECK(y.item() == length + 1);
      if (with_backward) y.backward();
    }
    CHECK(x.grad().defined() == with_backward);
    if (with_backward) CHECK(x.grad().item() == 1);
  }
  auto y = leaf({1});
  for (int i = 0; i < length; ++i) y = multiply(y, y);  // each node reaches the previous one twice
  CHECK(y.item() == 1);
}

TEST_CASE("a graph made on one thread is used and destroyed on others") {
  auto w = Var<double>(Tensor<double>::ones({3, 3}), true);
  Var<double> y;
  std::thread([&] { y = sum(matmul(matmul(w, w), w)); }).join();
  y.backward();
  CHECK(w.grad().at(1, 1) == 27);
  std::thread([&] { y = sum(matmul(w, w)); }).join();
  std::thread([moved = std::exchange(y, {})] { moved.backward(); }).join();
  CHECK(w.grad().at(1, 1) == 33);
  const NoGrad here;  // affects this thread only
  bool elsewhere = false;
  std::thread([&] { elsewhere = sum(w).requires_grad(); }).join();
  CHECK(elsewhere);
}

TEST_CASE("CheckFinite names the op, and the module if it has a name") {
  const auto not_a_number = std::numeric_limits<double>::quiet_NaN();
  auto x = leaf({1, 0});
  const Var<double> ones(Tensor<double>::ones({2}));
  CHECK_NOTHROW(divide(ones, x));
  {
    const CheckFinite check;
    CHECK(error_message([&] { divide(ones, x); }) == "divide: the result is not finite, shape (2,)");
    const NameScope encoder("encoder");
    {
      const NameScope layer("layer.3");
      CHECK(error_message([&] { divide(ones, x); }) == "encoder.layer.3: divide: the result is not finite, shape (2,)");
      CHECK_NOTHROW(scale(x, 2.0));
    }
    CHECK(error_message([&] { add(scale(x, not_a_number), x); }) == "encoder: scale: the result is not finite, shape (2,)");
    const auto y =
        op_with_gradient(x, [](const auto& dy) { return Tensor<double>::full(dy.shape(), std::numeric_limits<double>::infinity()); });
    const auto loss = sum(y);
    const NameScope other("other");  // the scope of the forward pass is used
    try {
      loss.backward();
      FAIL_CHECK("no error");
    } catch (const Error& e) {
      CHECK(std::string(e.what()) == "encoder: custom: the gradient of input 0 is not finite, shape (2,)");
      CHECK(e.kind() == ErrorKind::numeric);
    }
  }
  const NameScope unused("unused");
  CHECK_NOTHROW(divide(ones, x));
}

TEST_CASE("Saved of an undefined tensor, and a backward through a leaf itself") {
  const Saved<double, Cpu> none{Tensor<double>()};
  CHECK_FALSE((*none).defined());
  auto x = leaf({4});
  x.backward();
  CHECK(x.grad().item() == 1);
}
