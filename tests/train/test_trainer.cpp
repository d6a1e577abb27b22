// SPDX-License-Identifier: MIT
#include "lexformer/io/json.hpp"
#include "lexformer/train/trainer.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <thread>

#include "../support/far_device.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/train/log_reader.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;
namespace fs = std::filesystem;

namespace {

using Numbers = std::vector<float>;

/// Moves w towards the numbers of its batches: the loss is the mean of |w - x|^2 over a batch.
template <class Dev = Cpu>
struct Toy {
  Var<float, Dev> w{Tensor<float, Dev>::from({0.5f, -2.0f}, {2}), true};
  std::vector<std::size_t> sizes = {3, 5, 2, 4, 1};  // of the batches of an epoch
  std::vector<double> values{};                      // results of the evaluations; if empty, minus the distance to 3
  std::size_t evaluations = 0, calibrations = 0, calibrate_at = 0;
  std::vector<ForwardOptions> calibrated_with{};

  std::size_t batches() const { return sizes.size(); }
  Numbers batch(std::uint32_t epoch, std::size_t number) const {
    RandomStream random(7, random_site::user + epoch, static_cast<std::uint32_t>(number));
    Numbers x;
    for (std::size_t i = 0; i < sizes[number]; ++i) x.push_back(static_cast<float>(3 + random.normal()));
    return x;
  }
  BatchSize size(const Numbers& x) const { return {x.size(), 10 * x.size()}; }
  double weights(const Numbers& x) const { return static_cast<double>(x.size()); }
  virtual Var<float, Dev> loss(const Numbers& x, const ForwardOptions&) {
    Var<float, Dev> sum;
    for (const float number : x) {
      const auto d = subtract(w, Var<float, Dev>(Tensor<float, Dev>::full({2}, number)));
      const auto square = mean(multiply(d, d));
      sum = sum.defined() ? add(sum, square) : square;
    }
    return scale(sum, 1.0f / static_cast<float>(x.size()));
  }
  Measurement evaluate() {
    const auto now = w.value().template to<Cpu>().to_vector();
    const double value = evaluations < values.size() ? values[evaluations] : -std::abs(static_cast<double>(now[0]) - 3);
    ++evaluations;
    return {JsonValue(Json{{"eval_value", value}}), value, "value", JsonValue(Json{{"w", now[0]}})};
  }
  bool calibrate(const Numbers&, const ForwardOptions& forward) {
    calibrated_with.push_back(forward);
    return calibrations++ == calibrate_at;
  }
  virtual std::vector<NamedParameter<float, Dev>> parameters() { return {{"w", w}}; }
  void save(const std::string& path) {
    TensorFile file;
    file.set("w", w.value().template to<Cpu>());
    file.write(path);
  }
  void load(const std::string& path) { w.mutable_value() = TensorFile::read(path).get<float>("w").template to<Dev>(); }
  Toy() = default;
  Toy(const Toy&) = delete;
  Toy& operator=(const Toy&) = delete;
  virtual ~Toy() = default;
};

TrainerOptions toy_options(const std::string& out) {
  TrainerOptions o;
  o.out = out;
  o.schedule = {.kind = ScheduleKind::linear, .base = 0.05, .total = 11};
  o.logging_steps = 3;
  o.accumulate = 2;
  o.settings = Json{{"lr", 0.05}};
  o.save_total_limit = 0;
  return o;
}

template <class Dev>
TrainResult train(Toy<Dev>& toy, const TrainerOptions& options) {
  AdamW<float, Dev> optimizer(toy.parameters());
  return Trainer(toy, optimizer, options).run();
}

/// All files below a folder by path. MANIFEST.json only repeats the contents of the others.
std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_file(entry.path().string());
  return files;
}

float number(std::size_t shard) { return 1.0f / static_cast<float>(6 + shard * shard); }

/// The sum of shards first ... last - 1 of a step of `all` shards, of which a machine owns `own`.
float sum_of(std::size_t first, std::size_t last, std::size_t own) {
  const std::vector<NamedParameter<float>> parameters = {{"w", Var<float>(Tensor<float>::ones({1}), true)}};
  GradientSum<float, Cpu> sum(parameters, own);
  for (std::size_t k = first; k < last; ++k) {
    auto w = parameters[0].var;
    w.set_grad(Tensor<float>::from({number(k)}));
    sum.add(Tensor<float>::from({number(k)}));
    CHECK_FALSE(w.grad().defined());
  }
  const auto loss = sum.finish();
  if (!loss.defined()) return 0;
  CHECK(loss.item() == parameters[0].var.grad().item());
  return loss.item();
}

}  // namespace

TEST_CASE("the shards of a step are summed in a balanced tree") {
  const auto n = number;
  CHECK(sum_of(0, 4, 4) == (n(0) + n(1)) + (n(2) + n(3)));
  CHECK(sum_of(0, 4, 4) != ((n(0) + n(1)) + n(2)) + n(3));  // otherwise the test could not fail
  CHECK(sum_of(0, 7, 8) == ((n(0) + n(1)) + (n(2) + n(3))) + ((n(4) + n(5)) + n(6)));
  CHECK(sum_of(0, 5, 8) == ((n(0) + n(1)) + (n(2) + n(3))) + n(4));
  CHECK(sum_of(0, 6, 6) == ((n(0) + n(1)) + n(2)) + ((n(3) + n(4)) + n(5)));
  CHECK(sum_of(0, 1, 1) == n(0));
  CHECK_THROWS_AS((GradientSum<float, Cpu>({}, 0)), Error);
}

TEST_CASE("law: machines that own a run of the shards each and combine by recursive doubling get the bits of one") {
  for (const std::size_t shards : {2u, 4u, 6u, 8u, 12u, 16u, 20u, 32u})
    for (std::size_t taken = 1; taken <= shards; ++taken)
      for (std::size_t machines = 2; shards % machines == 0; machines *= 2) {
        INFO(shards, " shards, ", taken, " taken, ", machines, " machines");
        const std::size_t own = shards / machines;
        std::vector<std::optional<float>> sums;
        for (std::size_t m = 0; m < machines; ++m)
          sums.push_back(m * own < taken ? std::optional(sum_of(m * own, std::min(taken, (m + 1) * own), own)) : std::nullopt);
        for (std::size_t step = 1; step < machines; step *= 2)
          for (std::size_t m = 0; m < machines; m += 2 * step)
            if (sums[m + step]) sums[m] = *sums[m] + *sums[m + step];
        CHECK(*sums[0] == sum_of(0, taken, shards));
      }
}

TEST_CASE("a shard without a loss keeps its place in the tree") {
  struct Gaps : Toy<> {
    double weights(const Numbers& x) const { return x.size() == 1 ? 0.0 : static_cast<double>(x.size()); }
  };
  Gaps toy;
  const auto loss_and_gradient = [&](const std::vector<Numbers>& shards) {
    const auto loss = step_gradient(toy, toy.parameters(), shards, 4, 1, 0);
    auto gradient = toy.w.grad().defined() ? toy.w.grad().to_vector() : Numbers{};
    toy.w.clear_grad();
    if (loss.defined()) gradient.push_back(loss.item());
    return gradient;
  };
  const Numbers a = {1, 2}, b = {4, 5, 7}, nothing = {9};
  CHECK(loss_and_gradient({a, nothing, nothing, b}) == loss_and_gradient({a, b}));
  CHECK(loss_and_gradient({nothing, a, nothing}) == loss_and_gradient({a}));
  CHECK(loss_and_gradient({nothing, nothing}).empty());
  CHECK(loss_and_gradient({nothing}).empty());
}

TEST_CASE_TEMPLATE("a run that is interrupted at any step and resumed leaves the same bytes", Dev, Cpu, Far) {
  const TemporaryFolder whole;
  Toy<Dev> toy;
  auto options = toy_options(whole / "run");
  options.save_steps = 4;
  options.eval_steps = 5;
  const auto done = train(toy, options);
  CHECK(done.finished);
  CHECK(done.step == 11);
  CHECK(done.epochs == doctest::Approx(11.0 / 3));
  CHECK(done.samples == 3 * 15 + 3 + 5 + 2 + 4);
  CHECK(done.tokens == 10 * done.samples);
  const auto expected = files_of(whole.path / "run");
  CHECK(expected.size() == 2 + 3 * 4);  // checkpoints 4, 8 and 11
  for (std::size_t at = 1; at <= 11; ++at) {
    CAPTURE(at);
    const TemporaryFolder folder;
    options.out = folder / "run";
    options.resume = false;
    std::size_t asked = 0;
    options.hooks.control = [&] { return Control{.stop = ++asked == at}; };
    Toy<Dev> first;
    const auto broken = train(first, options);
    CHECK_FALSE(broken.finished);
    CHECK(broken.step == at);
    options.hooks.control = {};
    options.resume = true;
    Toy<Dev> second;
    const auto rest = train(second, options);
    CHECK(rest.finished);
    CHECK(rest.first_step == at);
    CHECK(rest.tokens == done.tokens);
    CHECK(rest.loss == done.loss);
    CHECK(rest.best == done.best);
    CHECK(rest.measured == done.measured);
    auto found = files_of(folder.path / "run");
    const std::string extra = cat("checkpoint-", at, "/");
    auto same = expected;  // except for what was saved on interruption
    for (auto* files : {&found, &same})
      if (at % 4 != 0 && at != 11) std::erase_if(*files, [&](const auto& f) { return f.first.starts_with(extra); });
    CHECK(found == same);
  }
}

TEST_CASE("the best model is kept, and a run without a better one ends early, also after a break") {
  const auto run = [](std::size_t interrupt_at) {
    const TemporaryFolder folder;
    Toy<> toy, second;
    toy.values = second.values = {0.1, 0.5, 0.4, 0.5, 0.3, 0.9};
    auto options = toy_options(folder / "run");
    options.schedule.total = 40;
    options.eval_steps = 2;
    options.patience = 3;
    std::vector<float> after;  // w[0] at each evaluation, from the checkpoints
    options.save_steps = 2;
    std::size_t asked = 0;
    options.hooks.control = [&] { return Control{.stop = ++asked == interrupt_at}; };
    auto done = train(toy, options);
    if (interrupt_at != 0) {
      CHECK_FALSE(done.finished);
      options.resume = true;
      second.evaluations = toy.evaluations;
      done = train(second, options);
    }
    CHECK(done.finished);
    CHECK(done.step == 10);
    CHECK((interrupt_at == 0 ? toy : second).evaluations == 5);  // an equal value (0.5) is not better
    const auto best = read_file(folder / "run/model.lxf");
    CHECK(best == read_file(folder / "run/checkpoint-4/model.lxf"));
    CHECK(best != read_file(folder / "run/checkpoint-10/model.lxf"));
    CHECK(done.best["w"] != done.measured["w"]);
  };
  for (const std::size_t at : {0u, 3u, 4u, 7u}) run(at);
}

TEST_CASE("evaluations are at the ends of the epochs, every n steps, or at the end of the run alone") {
  const auto steps = [](auto&& edit) {
    const TemporaryFolder folder;
    Toy<> toy;
    auto options = toy_options(folder / "run");
    edit(options);
    train(toy, options);
    std::vector<std::size_t> found;
    const std::string text = read_file(folder / "run/log.jsonl");
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      const auto line = parse_json(text.substr(begin, end - begin), "log");
      if (line.contains("eval_value")) found.push_back(line["step"]);
    }
    return found;
  };
  CHECK(steps([](auto&) {}) == std::vector<std::size_t>{3, 6, 9, 11});
  CHECK(steps([](auto& o) { o.eval_steps = 4; }) == std::vector<std::size_t>{4, 8, 11});
  CHECK(steps([](auto& o) { o.eval_epochs = false; }) == std::vector<std::size_t>{11});
}

TEST_CASE_TEMPLATE("on a GPU another thread makes the batches of the next step; its error ends the run at that step", Dev, Cpu, Far) {
  struct Watched {
    Toy<Dev> toy;
    std::size_t made = 0, fails_at = 1000;
    std::vector<std::thread::id> makers{};
    std::size_t batches() { return 3; }
    Numbers batch(std::uint32_t epoch, std::size_t n) {
      makers.push_back(std::this_thread::get_id());
      if (++made == fails_at) fail("batch", "number ", made, " cannot be made");
      return toy.batch(epoch, n);
    }
    BatchSize size(const Numbers& x) { return toy.size(x); }
    double weights(const Numbers& x) { return toy.weights(x); }
    Var<float, Dev> loss(const Numbers& x, const ForwardOptions& f) { return toy.loss(x, f); }
    void save(const std::string& path) { toy.save(path); }
    void load(const std::string& path) { toy.load(path); }
  };
  const auto run = [](Watched& task, const std::string& out) {
    AdamW<float, Dev> optimizer(task.toy.parameters());
    return Trainer(task, optimizer, toy_options(out)).run();
  };
  const TemporaryFolder folder;
  Watched task;
  run(task, folder / "run");
  Toy<> here_alone;
  here_alone.sizes.resize(3);
  train(here_alone, toy_options(folder / "alone"));
  CHECK(task.toy.w.value().template to<Cpu>().to_vector() == here_alone.w.value().to_vector());
  CHECK(task.made == 17);  // 11 steps of two batches and one, and none for a twelfth
  const auto here = static_cast<std::size_t>(std::count(task.makers.begin(), task.makers.end(), std::this_thread::get_id()));
  CHECK(here == (std::is_same_v<Dev, Cpu> ? 17 : 2));  // those of the first step
  Watched broken;
  broken.fails_at = 5;
  CHECK_THROWS_WITH_AS(run(broken, folder / "broken"), "batch: number 5 cannot be made", Error);
  CHECK(broken.made == 5);
}

TEST_CASE("a task without evaluation keeps its last model") {
  struct Plain {
    Toy<> toy;
    std::size_t batches() { return 3; }
    Numbers batch(std::uint32_t epoch, std::size_t n) { return toy.batch(epoch, n); }
    BatchSize size(const Numbers& x) { return toy.size(x); }
    double weights(const Numbers& x) { return toy.weights(x); }
    Var<float> loss(const Numbers& x, const ForwardOptions& f) { return toy.loss(x, f); }
    void save(const std::string& path) { toy.save(path); }
    void load(const std::string& path) { toy.load(path); }
  } task;
  const TemporaryFolder folder;
  AdamW<float> optimizer(task.toy.parameters());
  const auto done = Trainer(task, optimizer, toy_options(folder / "run")).run();
  CHECK(done.best->is_null());
  CHECK(read_file(folder / "run/model.lxf") == read_file(folder / "run/checkpoint-11/model.lxf"));
}

TEST_CASE("a run without a folder writes nothing and leaves the best weights; its hooks hear what the log has") {
  const TemporaryFolder folder;
  Toy<> written, kept;
  written.values = kept.values = {0.1, 0.5, 0.4, 0.2};
  auto options = toy_options(folder / "run");
  std::string log;
  options.hooks.on_log = [&](const JsonValue& line) { log += dump_json(line, "log") + "\n"; };
  train(written, options);
  CHECK(log == read_file(folder / "run/log.jsonl"));
  log.clear();
  options.out.clear();
  std::vector<std::size_t> begun, best;
  std::size_t steps = 0, ended = 0;
  options.hooks.on_begin = [&](std::size_t first, std::size_t total) { begun = {first, total}; };
  options.hooks.on_step = [&](const StepReport& report) { CHECK(report.step == ++steps); };
  options.hooks.on_evaluation = [&](const EvaluationReport& e) {
    if (e.best) best.push_back(e.step);
  };
  options.hooks.on_end = [&] { ++ended; };
  const auto done = train(kept, options);
  CHECK(done.finished);
  CHECK(log == read_file(folder / "run/log.jsonl"));
  CHECK(begun == std::vector<std::size_t>{0, 11});
  CHECK(best == std::vector<std::size_t>{3, 6});
  CHECK(steps == 11);
  CHECK(ended == 1);
  written.load(folder / "run/model.lxf");
  CHECK(kept.w.value().to_vector() == written.w.value().to_vector());
  options.resume = true;
  expect_error(
      ErrorKind::usage, [&] { train(kept, options); }, "a run is resumed from its folder");
}

TEST_CASE("a new run is calibrated on the first batch that allows it, with the options of step 0") {
  const TemporaryFolder folder;
  Toy<> toy, again, never;
  toy.calibrate_at = 2;
  auto options = toy_options(folder / "run");
  options.seed = 42;
  std::size_t asked = 0;
  options.hooks.control = [&] { return Control{.stop = ++asked == 5}; };
  train(toy, options);
  CHECK(toy.calibrations == 3);
  for (const auto& forward : toy.calibrated_with) {
    CHECK(forward.training);
    CHECK(forward.seed == 42);
    CHECK(forward.step == 0);
  }
  options.resume = true;
  train(again, options);
  CHECK(again.calibrations == 0);

  options = toy_options(folder / "other");
  never.calibrate_at = 100;
  CHECK_THROWS_WITH_AS(train(never, options), "Trainer: none of the 5 batches of the first epoch has what the model is calibrated on",
                       Error);
}

TEST_CASE("a parameter that cannot learn is an error when the training starts") {
  const TemporaryFolder folder;
  const auto options = toy_options(folder / "run");
  struct Own : Toy<> {
    Var<float> slope{Tensor<float>::ones({2}), true};
    bool uses = true, visits = true;
    Var<float> loss(const Numbers& x, const ForwardOptions& forward) override {
      const NameScope scope("mine");
      return uses ? add(Toy<>::loss(x, forward), mean(multiply(slope, slope))) : Toy<>::loss(x, forward);
    }
    std::vector<NamedParameter<float>> parameters() override {
      auto all = Toy<>::parameters();
      if (visits) all.push_back({"mine.slope", slope});
      return all;
    }
  };
  {
    Own toy;
    CHECK(train<Cpu>(toy, options).finished);
  }
  {
    Own toy;
    toy.uses = false;
    CHECK_THROWS_WITH_AS(train<Cpu>(toy, options), "Trainer: 'mine.slope' takes no part in the loss: it cannot learn; freeze it or use it",
                         Error);
    toy.slope.set_requires_grad(false);
    CHECK_THROWS_WITH_AS(train<Cpu>(toy, options), doctest::Contains("Trainer: 'mine.slope' does not require a gradient"), Error);
    toy.calibrations = 0;
    auto frozen = options;
    frozen.frozen = {"mine.slope"};
    CHECK(train<Cpu>(toy, frozen).finished);
  }
  {
    Own toy;
    toy.visits = false;
    CHECK_THROWS_WITH_AS(train<Cpu>(toy, options),
                         "Trainer: mine: multiply reads a variable of shape (2,) that requires a gradient and that the optimizer does not "
                         "have: its module's visit() leaves it out, or parameters() was taken before the module was added",
                         Error);
    const auto w = toy.w.value().to_vector();
    CHECK(w == std::vector<float>{0.5f, -2.0f});  // before any update
  }
}

TEST_CASE("graph_leaves finds the leaves with a gradient, each once") {
  const Var<double> a(Tensor<double>::ones({2}), true), b(Tensor<double>::ones({2}), true), constant(Tensor<double>::ones({2}));
  const auto y = multiply(add(a, multiply(a, constant)), constant);
  auto leaves = graph_leaves(y);
  REQUIRE(leaves.size() == 1);
  CHECK(leaves[0].id == a.id());
  CHECK(leaves[0].shape == Shape{2});
  CHECK(leaves[0].op == "add");
  CHECK(graph_leaves(add(y, b)).size() == 2);
  CHECK(graph_leaves(a).size() == 1);
  CHECK(graph_leaves(constant).empty());
  CHECK(graph_leaves(add(a.detach(), constant)).empty());
}

TEST_CASE("a loss that is not finite ends the run before the update, a weight before it is saved") {
  const TemporaryFolder folder;
  struct Bad : Toy<> {
    Var<float> loss(const Numbers& x, const ForwardOptions& forward) override {
      return forward.step == 4 ? scale(Toy<>::loss(x, forward), std::numeric_limits<float>::infinity()) : Toy<>::loss(x, forward);
    }
  } bad;
  expect_error(
      ErrorKind::numeric, [&] { train<Cpu>(bad, toy_options(folder / "run")); }, "step 5: scale: the result is not finite");
  CHECK(read_file(folder / "run/log.jsonl").ends_with("\"loss\":\"inf\",\"step\":5}\n"));

  Toy<> wild;
  auto options = toy_options(folder / "wild");
  options.schedule.base = 1e300;
  options.save_steps = 1;
  expect_error(
      ErrorKind::numeric, [&] { train(wild, options); }, "AdamW: 'w' is not finite after the update");
  CHECK_FALSE(fs::exists(folder / "wild/checkpoint-1"));
  CHECK_FALSE(fs::exists(folder / "wild/model.lxf"));
}

TEST_CASE("a run is resumed with its own settings, and where its best model lies") {
  const TemporaryFolder folder;
  Toy<> toy;
  auto options = toy_options(folder / "run");
  train(toy, options);
  options.resume = true;
  options.settings["lr"] = 0.1;
  Toy<> again;
  expect_error(
      ErrorKind::usage, [&] { train(again, options); }, "cannot be resumed: lr was 0.05 in that run, now it is 0.1");
  options.settings["lr"] = 0.05;
  fs::remove(folder / "run/model.lxf");
  expect_file_error([&] { train(again, options); }, "the best model of the run to resume is gone");

  expect_error(
      ErrorKind::usage, [&] { check_out(folder / "run"); }, "holds ");
  check_out(folder / "not there");
}

TEST_CASE("a log is read up to its last whole line, and the seeds of a run are those of its results") {
  const TemporaryFolder folder;
  write_file_atomic(folder / "log.jsonl", "{\"step\":1}\n{\"step\":2}\n{\"st");
  const auto log = read_log(folder / "log.jsonl");
  REQUIRE(log.size() == 2);
  CHECK(log[1].second["step"] == 2);
  CHECK(log[1].first.ends_with("log.jsonl: line 2"));
  write_file_atomic(folder / "log.jsonl", "{\"step\":1}\n{]\n");
  expect_file_error([&] { read_log(folder / "log.jsonl"); }, "line 2");

  CHECK(seed_folders(folder.path.string()).empty());
  for (const char* seed : {"seed-7", "seed-3", "seed-5"}) fs::create_directories(folder / seed);
  for (const char* seed : {"seed-7", "seed-3"}) write_file_atomic(folder / seed + "/model.lxf", "x");
  CHECK(seed_folders(folder.path.string()) == std::vector<std::string>{folder / "seed-3", folder / "seed-7"});
  write_file_atomic(folder / "all_results.json", R"({"runs": [{"seed": 7}]})");
  CHECK(seed_folders(folder.path.string()) == std::vector<std::string>{folder / "seed-7"});
}
