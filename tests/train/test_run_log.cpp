// SPDX-License-Identifier: MIT
#include "lexformer/io/file.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/train/run_log.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "../support/far_device.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/train/optimizer.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Moves w towards 0; the batch of each step is a factor of its loss, and the log is written every fourth step.
template <class Dev>
struct ToyRun {
  TemporaryFolder folder;
  Var<float, Dev> w{Tensor<float, Dev>::from({1.0f, -2.0f}, {2}), true};
  AdamW<float, Dev> optimizer{{{"w", w}}, {.lr = 0.1}};
  RunLog log{folder / "log.jsonl"};
  StepLog<Dev, float> steps{log, [this](const auto& s) { forward_backward(s.batches); }};
  std::vector<std::vector<float>> weights;

  Tensor<float, Dev> forward_backward(const std::vector<float>& batches) {
    const auto loss = mean(scale(multiply(w, w), batches[0]));
    loss.backward();
    return loss.value();
  }
  void run(const std::vector<float>& factors) {
    for (const float factor : factors) {
      const auto loss = forward_backward({factor});
      const auto norm = optimizer.clip_and_step(1.0, loss);
      const std::size_t step = weights.size() + 1;
      steps.add({step, 0.25 * static_cast<double>(step), 0.1, loss, norm, {factor}});
      weights.push_back(w.value().to_vector());
      if (step % 4 == 0) steps.write();
    }
  }
};

}  // namespace

TEST_CASE("the log shows NaN and is valid JSON") {
  const TemporaryFolder folder;
  const std::string path = folder / "log.jsonl";
  {
    RunLog log(path);
    log.add({{"step", 1}, {"loss", log_number(0.1)}});
    log.add({{"step", 2}, {"loss", log_number(std::numeric_limits<double>::quiet_NaN())}});
    log.add({{"step", 3}, {"loss", log_number(-std::numeric_limits<double>::infinity())}});
    CHECK(log.history()->size() == 3);
  }
  CHECK(read_file(path) == "{\"loss\":0.1,\"step\":1}\n{\"loss\":\"nan\",\"step\":2}\n{\"loss\":\"-inf\",\"step\":3}\n");
  RunLog again(path, JsonValue(Json::array({{{"step", 1}}})));
  again.add({{"step", 2}});
  CHECK(read_file(path) == "{\"step\":1}\n{\"step\":2}\n");
  CHECK_THROWS_AS(RunLog(folder / "missing/log.jsonl"), Error);
}

TEST_CASE_TEMPLATE("steps are logged with the mean loss since the last line, and go on after a break", Dev, Cpu, Far) {
  ToyRun<Dev> whole;
  whole.run({1, 2, 1, 2, 3, 3, 3});
  const LossSums sums = whole.steps.sums();
  const Json line = static_cast<const Json&>(whole.log.history())[0];
  CHECK(whole.log.history()->size() == 1);
  CHECK(sums.logged_steps == 3);
  const double sum = sums.logged_loss, total = sums.loss_sum;
  CHECK(whole.steps.loss() == doctest::Approx(sum / 3).epsilon(0.2));
  CHECK(whole.steps.total_loss() == total);
  CHECK(line["step"] == 4);
  CHECK(line["epoch"] == 1.0);
  CHECK(line["loss"].template get<double>() == doctest::Approx((total - sum) / 4));
  CHECK(line["grad_norm"].template get<double>() > 1.0);

  const auto last = [](const ToyRun<Dev>& run) { return run.log.history()->back()["loss"].template get<double>(); };
  whole.run({3});
  ToyRun<Dev> half;
  half.steps.resume(sums);
  half.w.mutable_value() = Tensor<float, Dev>::from(whole.weights[6], {2});
  half.weights.resize(7);
  half.run({3});
  CHECK(last(half) == last(whole));
  CHECK(half.steps.total_loss() == whole.steps.total_loss());
}

TEST_CASE("the CPU's steps are looked at at once, those of another device where a line is written") {
  ToyRun<Cpu> here;
  CHECK_THROWS_WITH_AS(here.run({1, 1, not_a_number, 1}), doctest::Contains("step 3: "), Error);
  CHECK(here.weights.size() == 2);  // it ended in the third step

  ToyRun<Far> there;
  const std::size_t before = Memory<Far>::downloads;
  there.run({1, 1, not_a_number});
  CHECK(Memory<Far>::downloads == before + 2 + 3);  // loss and norm of the first step, and the weights, read by the toy
  CHECK_THROWS_WITH_AS(there.run({1}), "step 3: scale: the result is not finite, shape (2,); stopped before the update", Error);
  CHECK(there.weights[2] == there.weights[1]);
  CHECK(there.weights[3] == there.weights[1]);
  CHECK(there.log.history()->back() == Json{{"step", 3}, {"epoch", 0.75}, {"loss", "nan"}});
}

TEST_CASE("no more than so many steps wait to be looked at, and the bad one is computed again") {
  ToyRun<Far> toy;
  std::size_t taken = 0;
  const auto run = [&] {
    for (; taken < 60; ++taken) {
      const float factor = taken == 20 ? not_a_number : 1.0f;
      const auto loss = toy.forward_backward({factor});
      const auto norm = toy.optimizer.clip_and_step(1.0, loss);
      toy.steps.add({taken + 1, 0, 0.1, loss, norm, {factor}});
    }
  };
  CHECK_THROWS_WITH_AS(run(), "step 21: scale: the result is not finite, shape (2,); stopped before the update", Error);
  CHECK(taken == 2 * StepLog<Far, float>::most_waiting);
}

TEST_CASE("a step that is not finite in one go and finite in the next says so") {
  const TemporaryFolder folder;
  RunLog log(folder / "log.jsonl");
  StepLog<Cpu, int> steps(log, [](const auto&) {});
  steps.add({6, 0, 0.1, {}, Tensor<double>::from({0.0}), {}});  // a batch without weight
  CHECK_THROWS_WITH_AS(
      steps.add({7, 0, 0.1, Tensor<float>::from({not_a_number}), Tensor<double>::from({std::numeric_limits<double>::quiet_NaN()}), {}}),
      "step 7: the loss is nan, but every single value and gradient is finite; a smaller `lr` may help", Error);
  StepLog<Cpu, int> others(log, [](const auto&) {});
  CHECK_THROWS_WITH_AS(
      others.add({8, 0, 0.1, Tensor<float>::from({1.0f}), Tensor<double>::from({std::numeric_limits<double>::infinity()}), {}}),
      "step 8: the gradient norm is inf, but every single value and gradient is finite; a smaller `lr` may help", Error);
  CHECK(log.history()->back() == Json{{"step", 8}, {"epoch", 0.0}, {"loss", 1.0}, {"grad_norm", "inf"}});
}
