// SPDX-License-Identifier: MIT
#include "lexformer/io/json.hpp"
#include "lexformer/train/state.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <numeric>
#include <set>
#include <thread>

#include "lexformer/data/pair_dataset.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/train/run_log.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;
namespace fs = std::filesystem;

namespace {

struct Model {
  std::vector<NamedParameter<float>> parameters = {{"w", Var<float>(Tensor<float>::full({8}, 0.5f), true)},
                                                   {"late", Var<float>(Tensor<float>::ones({2, 2}), true)}};
  void save(const std::string& path) const {
    TensorFile file;
    for (const auto& p : parameters) file.set(p.name, p.var.value());
    file.write(path);
  }
  void load(const std::string& path) {
    const auto file = TensorFile::read(path);
    for (auto& p : parameters) {
      const auto value = file.get<float>(p.name);
      std::copy_n(value.data(), value.size(), p.var.mutable_value().mutable_data());
    }
  }
};

constexpr std::size_t last_step = 60;
const Json settings = {{"learning_rate", 0.05}, {"data", "3 pairs"}};

/// A run of 60 steps that resumes from the newest checkpoint: 12 batches per epoch, a checkpoint every 7 steps, a log entry every 4 with
/// the mean loss since the last one (so the loop carries a sum across checkpoints).
void run(const fs::path& folder) {
  Model model;
  AdamW<float> optimizer(model.parameters, {.weight_decay = 0.1});
  TrainerState state;
  state.settings = settings;
  state.loop = Json{{"loss_sum", 0.0}};
  const auto latest = find_latest_checkpoint(folder);
  if (!latest.ignored.empty()) throw Error(ErrorKind::failure, latest.ignored[0]);
  if (latest.path) state = load_checkpoint(*latest.path, settings, optimizer, [&](const std::string& path) { model.load(path); });
  remove_stale(folder);
  keep_last(folder, 2);
  RunLog log((folder / "log.jsonl").string(), state.log_history);

  for (; state.global_step < last_step;) {
    RandomStream random(3, random_site::user, static_cast<std::uint32_t>(state.epoch_index * 100 + state.batch_index));
    double loss = 0;
    for (auto& p : model.parameters) {
      if (p.name == "late" && state.global_step < 10) continue;
      Tensor<float> gradient(p.var.shape());
      for (float& g : gradient.mutable_span()) {
        g = static_cast<float>(random.normal());
        loss += static_cast<double>(g);
      }
      p.var.set_grad(gradient);
    }
    clip_grad_norm(model.parameters, 1.0);
    optimizer.set_lr(0.05);
    optimizer.step();
    ++state.global_step;
    if (++state.batch_index == 12) {
      state.batch_index = 0;
      ++state.epoch_index;
    }
    state.epoch = static_cast<double>(state.global_step) / 12;
    state.loop["loss_sum"] = state.loop["loss_sum"].get<double>() + loss;
    if (state.global_step % 4 == 0) {
      log.add({{"step", state.global_step}, {"epoch", state.epoch}, {"loss", log_number(state.loop["loss_sum"].get<double>() / 4)}});
      state.loop["loss_sum"] = 0.0;
    }
    if (state.global_step % 7 == 0 || state.global_step == last_step) {
      state.log_history = log.history();
      save_checkpoint(
          folder.string(), state, optimizer, [&](const std::string& path) { model.save(path); }, 2);
    }
  }
}

std::string contents(const fs::path& folder) {
  std::string all;
  for (const char* file :
       {"log.jsonl", "checkpoint-60/model.lxf", "checkpoint-60/optimizer.safetensors", "checkpoint-60/trainer_state.json"})
    all += read_file((folder / file).string());
  return all;
}

}  // namespace

TEST_CASE("runs killed at random moments end with the bytes of an unbroken one") {
  TemporaryFolder folder;
  const fs::path whole = folder.path / "whole", broken = folder.path / "broken";
  fs::create_directories(whole);
  set_threads(1);  // a child process cannot use its parent's threads
  const auto start = std::chrono::steady_clock::now();
  run(whole);
  const auto third = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count() / 3;
  RandomStream random(8, random_site::user);
  int kills = 0, resumed = 0;
  while (resumed < 15) {
    fs::remove_all(broken);
    fs::create_directories(broken);
    for (int status = -1; !WIFEXITED(status);) {
      resumed += find_latest_checkpoint(broken).path.has_value();
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        try {
          run(broken);
          ::_exit(0);
        } catch (...) {
          ::_exit(1);
        }
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(static_cast<std::uint64_t>(third + 1))));
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      if (WIFEXITED(status)) REQUIRE(WEXITSTATUS(status) == 0);
      kills += WIFSIGNALED(status);
    }
    run(broken);  // nothing left to do except cleaning up
    CHECK(contents(broken) == contents(whole));
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(broken)) names.insert(entry.path().filename().string() + " ");
    CHECK(std::accumulate(names.begin(), names.end(), std::string()) == "checkpoint-56 checkpoint-60 log.jsonl ");
  }
  set_threads(0);
  MESSAGE(kills << " kills, " << resumed << " starts from a checkpoint");
}

TEST_CASE("trainer_state.json keeps every bit and has HuggingFace's keys") {
  TrainerState s;
  s.global_step = 123;
  s.epoch = 1.0 / 3.0;
  s.max_steps = 900;
  s.num_train_epochs = 2.5;
  s.train_batch_size = 32;
  s.num_input_tokens_seen = 12345;
  s.best_metric = 0.1 + 0.2;
  s.best_model_checkpoint = "out/checkpoint-100";
  s.log_history->push_back({{"loss", 0.7}});
  s.seed = ~std::uint64_t{0};
  s.epoch_index = 3;
  s.batch_index = 17;
  s.loop = Json{{"patience", 2}};
  const Json json = to_json(s);
  for (const char* key :
       {"global_step", "epoch", "best_metric", "best_model_checkpoint", "log_history", "max_steps", "num_train_epochs", "train_batch_size"})
    CHECK(json.contains(key));
  const TrainerState back = parse_trainer_state(parse_json(json.dump(), "s"), "s");
  CHECK(to_json(back) == json);
  CHECK(back.seed == s.seed);
  CHECK(*back.best_metric == 0.1 + 0.2);
  s.best_metric.reset();
  CHECK(to_json(s)["best_metric"].is_null());
  CHECK(!parse_trainer_state(to_json(s), "s").best_metric);

  for (const char* key : {"global_step", "epoch", "log_history", "lexformer"}) {
    Json broken = json;
    broken[key] = "x";
    CHECK_THROWS_AS(parse_trainer_state(broken, "s"), Error);
    broken.erase(key);
    CHECK_THROWS_AS(parse_trainer_state(broken, "s"), Error);
  }
  CHECK_THROWS_AS(parse_trainer_state(Json::array(), "s"), Error);

  Json other = json;
  CHECK(other["lexformer"]["format"] == 2);
  other["lexformer"].erase("format");
  expect_file_error([&] { parse_trainer_state(other, "s"); },
                    "s: was written by lexformer 0.1.0; finish that run with it, or start from its model.lxf");
  other["lexformer"]["format"] = 3u;
  expect_file_error([&] { parse_trainer_state(other, "s"); }, "s: has format 3, this version reads 2");
}

TEST_CASE("a run with other settings or other parameters is not resumed, and nothing is changed by the attempt") {
  TemporaryFolder folder;
  Model model;
  AdamW<float> optimizer(model.parameters);
  TrainerState state;
  state.settings = settings;
  model.parameters[0].var.set_grad(Tensor<float>::ones({8}));
  optimizer.set_lr(0.1);
  optimizer.step();
  save_checkpoint(folder.path.string(), state, optimizer, [&](const std::string& path) { model.save(path); });
  const fs::path checkpoint = folder.path / "checkpoint-0";
  const auto load = [&](const Json& now, AdamW<float>& into) {
    return load_checkpoint(checkpoint, now, into, [](const std::string&) { FAIL("the model was touched"); });
  };

  Json other = settings;
  other["learning_rate"] = 0.1;
  CHECK_THROWS_WITH(load(other, optimizer), doctest::Contains("learning_rate was 0.05 in that run, now it is 0.1"));
  other = settings;
  other["augment"] = true;
  CHECK_THROWS_WITH(load(other, optimizer), doctest::Contains("augment was not set in that run, now it is true"));
  other = settings;
  other.erase("data");
  CHECK_THROWS_WITH(load(other, optimizer), doctest::Contains("data was \"3 pairs\" in that run, now it is not set"));

  const auto ones = [](Shape shape) { return Var<float>(Tensor<float>::ones(shape), true); };
  AdamW<float> reshaped({{"w", ones({4, 2})}, {"late", ones({2, 2})}}), fewer({{"w", ones({8})}}),
      renamed({{"w", ones({8})}, {"later", ones({2, 2})}});
  CHECK_THROWS_WITH(load(settings, reshaped), doctest::Contains("'exp_avg.w' is (8,) of F32, expected (4, 2) of F32"));
  CHECK_THROWS_WITH(load(settings, fewer), doctest::Contains("holds 4 tensors, the parameters that are trained here need 3"));
  CHECK_THROWS_WITH(load(settings, renamed), doctest::Contains("there is no tensor 'step.later'"));
  AdamW<double> precise({{"w", Var<double>(Tensor<double>::ones({8}), true)}, {"late", Var<double>(Tensor<double>::ones({2, 2}), true)}});
  CHECK_THROWS_WITH(load_checkpoint(checkpoint, settings, precise, [](const std::string&) {}), doctest::Contains("expected (8,) of F64"));

  write_file_atomic((checkpoint / "model.lxf").string(), "x");
  CHECK_THROWS_WITH(load(settings, optimizer), doctest::Contains("not what MANIFEST.json says"));
}

TEST_CASE("a state with as many entries as a long run has is read again") {
  const TemporaryFolder folder;
  const std::string file = folder / "trainer_state.json";
  TrainerState state;
  for (int i = 0; i < 90000; ++i)
    state.log_history->push_back({{"step", i}, {"loss", 0.5}, {"epoch", 1.0}, {"learning_rate", 1e-5}, {"grad_norm", 1.0}});
  write_trainer_state(state, file);
  const TrainerState again = read_trainer_state(file);
  CHECK(again.log_history->dump() == state.log_history->dump());
}
