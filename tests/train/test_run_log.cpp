// SPDX-License-Identifier: MIT
#include "lexformer/train/run_log.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "../support/far_device.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/train/optimizer.hpp"

using namespace lexformer;
namespace fs = std::filesystem;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct LogFolder {
  fs::path path = fs::temp_directory_path() / cat("lexformer-run-log-", ::getpid());
  LogFolder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~LogFolder() { fs::remove_all(path); }
  std::string log() const { return (path / "log.jsonl").string(); }
};

/// w is drawn towards 0; each step's batch is one factor of the loss, and the log is written every fourth step.
template <class Dev>
struct ToyRun {
  LogFolder folder;
  Var<float, Dev> w{Tensor<float, Dev>::from({1.0f, -2.0f}, {2}), true};
  AdamW<float, Dev> optimizer{{{"w", w}}};
  RunLog log{folder.log()};
  StepLog<Dev, float> losses{log, [this](const auto& s) { forward_backward(s.batches); }};
  std::vector<std::vector<float>> weights;

  Tensor<float, Dev> forward_backward(const std::vector<float>& batches) {
    const auto loss = mean(scale(multiply(w, w), batches[0]));
    loss.backward();
    return loss.value();
  }
  void run(const std::vector<float>& factors) {
    for (const float factor : factors) {
      const auto loss = forward_backward({factor});
      const auto norm = optimizer.clip_and_step(0.1, 1.0, loss);
      const std::size_t step = weights.size() + 1;
      losses.add({step, 0.25 * static_cast<double>(step), 0.1, loss, norm, {factor}});
      weights.push_back(w.value().to_vector());
      if (step % 4 == 0) losses.write();
    }
  }
};

}  // namespace

TEST_CASE("the log shows NaN and is valid JSON") {
  const LogFolder folder;
  const std::string path = folder.log();
  {
    RunLog log(path);
    log.add({{"step", 1}, {"loss", log_number(0.1)}});
    log.add({{"step", 2}, {"loss", log_number(std::numeric_limits<double>::quiet_NaN())}});
    log.add({{"step", 3}, {"loss", log_number(-std::numeric_limits<double>::infinity())}});
    CHECK(log.history().size() == 3);
  }
  CHECK(read_file(path) == "{\"loss\":0.1,\"step\":1}\n{\"loss\":\"nan\",\"step\":2}\n{\"loss\":\"-inf\",\"step\":3}\n");
  RunLog again(path, Json::array({{{"step", 1}}}));
  again.add({{"step", 2}});
  CHECK(read_file(path) == "{\"step\":1}\n{\"step\":2}\n");
  CHECK_THROWS_AS(RunLog((folder.path / "missing" / "log.jsonl").string()), Error);
}

TEST_CASE_TEMPLATE("steps are logged with the mean loss since the last line", Dev, Cpu, Far) {
  ToyRun<Dev> toy;
  toy.run({1, 2, 1, 2, 3, 3, 3});
  toy.losses.look();
  CHECK(toy.losses.steps == 3);
  CHECK(toy.losses.total > toy.losses.sum);
  CHECK(toy.losses.loss() == doctest::Approx(toy.losses.sum / 3).epsilon(0.2));
  const Json line = toy.log.history()[0];
  CHECK(toy.log.history().size() == 1);
  CHECK(line["step"] == 4);
  CHECK(line["epoch"] == 1.0);
  CHECK(line["loss"].template get<double>() == doctest::Approx((toy.losses.total - toy.losses.sum) / 4));
  CHECK(line["grad_norm"].template get<double>() > 1.0);
}

TEST_CASE("the CPU's steps are looked at at once, those of another device where a line is written") {
  ToyRun<Cpu> here;
  CHECK_THROWS_WITH_AS(here.run({1, 1, not_a_number, 1}), doctest::Contains("step 3: "), Error);
  CHECK(here.weights.size() == 2);  // it ended within the third

  ToyRun<Far> there;
  const std::size_t before = Memory<Far>::downloads;
  there.run({1, 1, not_a_number});
  CHECK(Memory<Far>::downloads == before + 2 + 3);  // loss and norm of the first step; and weights, by the toy
  CHECK_THROWS_WITH_AS(there.run({1}), "step 3: scale: the result is not finite, shape (2,); stopped before the update", Error);
  CHECK(there.weights[2] == there.weights[1]);
  CHECK(there.weights[3] == there.weights[1]);
  const Json& last = there.log.history().back();
  CHECK(last["step"] == 3);
  CHECK(last["loss"] == "nan");

  ToyRun<Far> unlogged;
  CHECK_THROWS_WITH_AS(
      [&] {
        for (int i = 0; i < 60; ++i) {
          const auto loss = unlogged.forward_backward({i == 20 ? not_a_number : 1.0f});
          unlogged.losses.add(
              {static_cast<std::size_t>(i + 1), 0, 0.1, loss, unlogged.optimizer.clip_and_step(0.1, 1.0, loss), {not_a_number}});
          REQUIRE(i < 51);
        }
      }(),
      doctest::Contains("step 21: "), Error);
}

TEST_CASE("a step that is not finite in one go and finite in the next says so") {
  const LogFolder folder;
  RunLog log(folder.log());
  StepLog<Cpu, int> losses(log, [](const auto&) {});
  losses.add({6, 0, 0.1, {}, Tensor<double>::from({0.0}), {}});  // a batch with nothing to learn
  CHECK_THROWS_WITH_AS(
      losses.add({7, 0, 0.1, Tensor<float>::from({not_a_number}), Tensor<double>::from({2.0}), {}}),
      "step 7: the loss is nan, the gradient norm 2, but every single value and gradient is finite; a smaller --lr may help", Error);
}
