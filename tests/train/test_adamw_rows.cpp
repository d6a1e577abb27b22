// SPDX-License-Identifier: MIT
// AdamW over tables whose gradient has few rows: the same bits as the step over the whole table.
#include <cstring>

#include "doctest/doctest.h"
#include "lexformer/core/random.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/train/gradient_sum.hpp"
#include "lexformer/train/optimizer.hpp"

using namespace lexformer;

namespace {

template <class T>
bool same_bits(const Tensor<T>& a, const Tensor<T>& b) {
  return a.shape() == b.shape() && (!a.defined() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
bool same_bits(const AdamW<T>& a, const AdamW<T>& b) {
  const auto &x = a.state(), &y = b.state();
  bool same = true;
  for (std::size_t i = 0; i < x.size(); ++i)
    same = same && x[i].step == y[i].step && same_bits(x[i].exp_avg, y[i].exp_avg) && same_bits(x[i].exp_avg_sq, y[i].exp_avg_sq) &&
           same_bits(x[i].master, y[i].master);
  return same;
}

std::size_t below(RandomStream& random, std::size_t n) { return static_cast<std::size_t>(random.uniform() * static_cast<double>(n)); }

/// A table and a bias, and an optimizer of both.
template <class T>
struct Run {
  std::vector<NamedParameter<T>> parameters;
  AdamW<T> optimizer;

  Run(std::size_t rows, std::size_t columns, const AdamWOptions& options)
      : parameters{{"table", Var<T>(Tensor<T>({rows, columns}), true)}, {"bias", Var<T>(Tensor<T>::ones({3}), true)}},
        optimizer(parameters, options) {
    RandomStream random(7, random_site::user);
    for (T& x : table().mutable_value().mutable_span()) {
      x = static_cast<T>(static_cast<float>(random.normal()));
      if (random.uniform() < 0.02) x = static_cast<T>(0.5f);  // a power of 2: the next smaller number is nearer
      if (random.uniform() < 0.01) x = static_cast<T>(0.0f);
      if (random.uniform() < 0.01) x = static_cast<T>(1e-25f);
    }
  }
  Var<T>& table() { return parameters[0].var; }
};

/// The gradient dy of the looked-up rows ids, as rows, or as a whole table: scale() is between the table and embedding().
template <class T>
void backward(Var<T>& table, const std::vector<std::int32_t>& ids, const Tensor<T>& dy, bool whole) {
  embedding(whole ? scale(table, accumulate_t<T>{1}) : table, ids).backward(dy);
}

template <class T>
Tensor<T> random_rows(RandomStream& random, std::size_t n, std::size_t columns) {
  Tensor<T> dy({n, columns});
  const double size = std::pow(10.0, -9.0 + 10.0 * random.uniform());
  for (T& x : dy.mutable_span()) x = static_cast<T>(static_cast<float>(random.uniform() < 0.1 ? 0.0 : size * random.normal()));
  return dy;
}

/// Learning rates with all that schedules do: from 0 up, constant, down, and up again at once and gradually.
double rate(std::size_t step) {
  const auto k = static_cast<double>(step % 1000);
  return 2e-3 * (k < 100 ? k / 100 : k < 500 ? 1.0 : k < 700 ? 1e-3 : k < 800 ? 3.0 : std::exp((k - 1000) / 40));
}

template <class T>
void compare(std::size_t rows, std::size_t columns, const AdamWOptions& options, std::size_t steps) {
  CAPTURE(rows);
  CAPTURE(columns);
  Run<T> sparse(rows, columns, options), whole(rows, columns, options);
  RandomStream random(11, random_site::user);
  std::size_t different = 0;
  for (std::size_t k = 0; k < steps; ++k) {
    // Mostly no row or a few; a row near the end has a gradient rarely.
    std::vector<std::int32_t> ids;
    for (std::size_t n = below(random, 4); n > 0; --n) {
      const double u = random.uniform();
      ids.push_back(static_cast<std::int32_t>(u * u * u * u * static_cast<double>(rows)));
    }
    if (k % 101 == 0) ids.push_back(ids.empty() ? 0 : ids[0]);
    const Tensor<T> dy = ids.empty() ? Tensor<T>() : random_rows<T>(random, ids.size(), columns);
    const bool dense = k % 397 == 396, clip = k % 3 == 0;
    for (Run<T>* run : {&sparse, &whole}) {
      if (!ids.empty()) backward(run->table(), ids, dy, dense || run == &whole);
      if (k % 7 != 0) run->parameters[1].var.set_grad(Tensor<T>::ones({3}));
      run->optimizer.set_lr(rate(k));
      if (clip)
        static_cast<void>(run->optimizer.clip_and_step(1e-3));
      else
        run->optimizer.step();
    }
    different += !same_bits(sparse.table().value(), whole.table().value());
    if (k % 250 == 130) {
      CHECK(same_bits(sparse.optimizer, whole.optimizer));
      CHECK(same_bits(sparse.optimizer, whole.optimizer));  // nothing is made up for twice
    }
    if (k % 700 == 699) sparse.optimizer.load_state(sparse.optimizer.state());
  }
  CHECK(different == 0);
  CHECK(same_bits(sparse.optimizer, whole.optimizer));
}

}  // namespace

TEST_CASE("AdamW of a table's rows: the bits of the step over the whole table") {
  for (const std::size_t columns : std::initializer_list<std::size_t>{24, 19, 1}) {
    compare<float>(20, columns, {}, 1500);
    compare<double>(20, columns, {}, 1100);
    compare<bfloat16>(20, columns, {}, 800);
  }
}

TEST_CASE("AdamW of a table's rows: options under which rows come to rest sooner, later or never") {
  for (const AdamWOptions& options :
       {AdamWOptions{.weight_decay = 0.1}, AdamWOptions{.weight_decay = 1e-6}, AdamWOptions{.beta1 = 0.0},
        AdamWOptions{.beta1 = 0.95, .beta2 = 0.98}, AdamWOptions{.beta1 = 0.9, .beta2 = 0.5}, AdamWOptions{.beta2 = 0.0},
        AdamWOptions{.eps = 1e-3}, AdamWOptions{.eps = 1e-14}, AdamWOptions{.eps = 1e-25}}) {
    CAPTURE(options.beta1);
    CAPTURE(options.beta2);
    CAPTURE(options.eps);
    CAPTURE(options.weight_decay);
    compare<float>(20, 21, options, 1100);
  }
}

TEST_CASE("AdamW of a table's rows: the same bits with 1, 2 and 3 threads") {
  std::vector<Tensor<float>> results;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    Run<float> run(900, 70, {});
    RandomStream random(3, random_site::user);
    for (std::size_t k = 0; k < 60; ++k) {
      std::vector<std::int32_t> ids;
      for (std::size_t i = 0; i < 300; ++i) ids.push_back(static_cast<std::int32_t>(below(random, 900)));
      backward(run.table(), ids, random_rows<float>(random, 300, 70), false);
      run.optimizer.set_lr(rate(10 * k));
      static_cast<void>(run.optimizer.clip_and_step(1.0));
    }
    results.push_back(run.table().value().clone());
  }
  set_threads(0);
  CHECK(same_bits(results[1], results[0]));
  CHECK(same_bits(results[2], results[0]));
}

TEST_CASE("AdamWRows: rows without a gradient come to rest, and move again if the learning rate rises") {
  constexpr std::size_t rows = 50, columns = 16;
  AdamWRows<float> of_rows(rows, columns, true);
  std::vector<float> m(rows * columns), v(rows * columns), w(rows * columns, 0.7f);
  const std::vector<float> g(columns, 0.01f);
  const auto step = [&](const std::vector<std::int32_t>& ids, double lr, double decay = 1.0) {
    of_rows.step({w.size(), {decay, 0.9, 0.999, lr, 1.0, 1e-8}, g.data(), m.data(), v.data(), w.data(), w.data()}, ids, {});
    return of_rows.moving();
  };
  CHECK(step({5}, 1e-3) == 1);
  CHECK(step({7}, 1e-3) == 2);
  std::size_t last = 0;
  for (int k = 0; k < 300 && step({}, 1e-3) > 0; ++k) ++last;
  CHECK(last > 50);
  CHECK(last < 200);
  CHECK(step({}, 1.9e-3) == 0);  // within twice the learning rate
  CHECK(step({}, 2.1e-3) == 2);  // the new bound is larger
  CHECK(step({3}, 1e-7) == 1);
  CHECK(step({}, 1e-2) > 0);
  CHECK(step({}, 1e-2, 0.999) == rows);  // weight decay changes all
}

TEST_CASE_TEMPLATE("gradient_norm of stored rows: the bits of that of the whole table", T, float, double) {
  RandomStream random(5, random_site::user);
  for (const std::size_t columns : std::initializer_list<std::size_t>{1, 7, 24, 384, 20000}) {
    CAPTURE(columns);
    const std::size_t rows = 100000 / columns + 3;
    std::vector<std::int32_t> ids;
    for (std::size_t r = 0; r < rows; ++r)
      if (random.uniform() < 0.3) ids.push_back(static_cast<std::int32_t>(r));
    const RowGradient<T, Cpu> g{{rows, columns}, ids, random_rows<T>(random, ids.size(), columns)};
    const auto whole = g.dense();
    const auto norm = [](const Elements<T>& x) {
      double result = 0;
      Kernels<Cpu>::template gradient_norm<T>({x, x}, nullptr, nullptr, &result);
      return result;
    };
    CHECK(norm(g.elements()) == norm({whole.size(), whole.data()}));
    CHECK(norm(g.elements()) > 0);
  }
}

TEST_CASE("the gradients of embedding add up as rows, and with others as a table") {
  RandomStream random(9, random_site::user);
  const auto gradient = [&](bool whole, int parts, auto&& read) {
    RandomStream same = random;
    Var<float> table(Tensor<float>::ones({12, 5}), true);
    for (int part = 0; part < parts; ++part) {
      std::vector<std::int32_t> ids{static_cast<std::int32_t>(part), 9, 4, 9};
      backward(table, ids, random_rows<float>(same, 4, 5), whole);
      if (part == 3) scale(table, 2.0f).backward(random_rows<float>(same, 12, 5));  // the table as a whole
      read(table);
    }
    return table.grad().clone();
  };
  const auto nothing = [](Var<float>&) {};
  for (const int parts : {1, 2, 3, 4, 6}) {
    CAPTURE(parts);
    CHECK(same_bits(gradient(false, parts, nothing), gradient(true, parts, nothing)));
    CHECK(same_bits(gradient(false, parts, [](Var<float>& t) { static_cast<void>(t.grad()); }), gradient(true, parts, nothing)));
  }
  Var<float> table(Tensor<float>::ones({12, 5}), true);
  backward(table, {3, 1, 3}, Tensor<float>::ones({3, 5}), false);
  CHECK(table.has_grad());
  CHECK(table.grad_box()->rows.ids == std::vector<std::int32_t>{1, 3});
  CHECK(table.grad().at(3, 0) == 2.0f);
  CHECK_FALSE(table.grad_box()->rows.defined());  // grad() made it a table
  table.clear_grad();
  CHECK_FALSE(table.has_grad());
  // As many ids as rows, or NoGrad, or a constant: nothing is kept as rows.
  backward(table, std::vector<std::int32_t>(12, 2), Tensor<float>::ones({12, 5}), false);
  CHECK_FALSE(table.grad_box()->rows.defined());
}

TEST_CASE("embedding of no ids: the gradient of the table is 0, and a step takes it so") {
  const std::vector<std::int32_t> none, one{3};
  const auto no_rows = Tensor<float>(Shape{0, 5});
  Run<float> empty(12, 5, {}), whole(12, 5, {});
  for (std::size_t k = 0; k < 3; ++k) {
    for (Run<float>* run : {&empty, &whole}) {
      backward(run->table(), none, no_rows, run == &whole);
      if (k == 1) backward(run->table(), one, Tensor<float>::ones({1, 5}), false);  // rows on top of it
      CHECK(run->table().has_grad());
      if (k == 2) CHECK(clip_grad_norm(run->parameters, 1.0) == 0);
      CHECK(run->optimizer.clip_and_step(1.0).item() == doctest::Approx(k == 1 ? std::sqrt(5.0) : 0));
    }
    CHECK(same_bits(empty.table().value(), whole.table().value()));
  }
  CHECK(same_bits(empty.optimizer, whole.optimizer));
  backward(empty.table(), none, no_rows, false);
  CHECK(same_bits(empty.table().grad(), Tensor<float>::zeros({12, 5})));
}

TEST_CASE("GradientSum keeps rows, with the bits of whole tables") {
  const auto trained = [](bool whole) {
    Run<float> run(30, 6, {});
    RandomStream random(2, random_site::user);
    for (int k = 0; k < 20; ++k) {
      GradientSum<float, Cpu> sum(run.parameters, 6);
      for (int shard = 0; shard < 6; ++shard) {
        if (shard == 2) run.parameters[1].var.set_grad(Tensor<float>::ones({3}));
        if (shard != 4) backward(run.table(), {static_cast<std::int32_t>(below(random, 30)), 3}, random_rows<float>(random, 2, 6), whole);
        sum.add({});
      }
      sum.finish();
      CHECK(run.table().grad_box()->rows.defined() == !whole);
      static_cast<void>(run.optimizer.clip_and_step(1.0));
    }
    return run.table().value().clone();
  };
  CHECK(same_bits(trained(false), trained(true)));
}
