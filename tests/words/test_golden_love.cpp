// SPDX-License-Identifier: MIT
// LOVE against an independent PyTorch program (tests/oracles/make_golden_love.py), in double.
#include <doctest/doctest.h>

#include "lexformer/words/love_encoder.hpp"
#include "lexformer/words/love_loss.hpp"
#include "models/golden.hpp"
#include "support/random_tensor.hpp"

using namespace lexformer;
using test::Golden;

namespace {

LoveLossOptions loss_named(const std::string& name) {
  LoveLossOptions o;
  o.loss = *find_name<LoveLoss>(name);
  return o;
}

struct LoveRows {
  Indices<std::int32_t, Cpu> ids;
  Offsets offsets;
  std::vector<std::int32_t> words;
  Var<double> targets;

  LoveRows(const Golden& golden, const std::string& prefix)
      : ids(golden.integers(prefix + "ids")),
        words(golden.integers(prefix + "words")),
        targets(golden.file.get<double>(prefix + "targets")) {
    const auto lengths = golden.integers(prefix + "lengths");
    offsets = Offsets::from_lengths(std::vector<std::size_t>(lengths.begin(), lengths.end()));
  }
};

void check_file(const std::string& name) {
  Golden golden(name);
  const Json config = golden.about("config");
  LoveOptions o{.size = config["size"],
                .rows = config["units"],
                .query_size = config["query_size"],
                .heads = config["heads"],
                .layers = config["layers"]};
  o.encoder = *find_name<LoveEncoderKind>(config["encoder"].get<std::string>());
  o.structure = *find_name<LoveStructure>(config["structure"].get<std::string>());
  o.scale = config["scale"].is_string() ? config["scale"].get<std::string>() : config["scale"].dump();
  LoveEncoder<double> encoder(o, 1);
  auto parameters = named_parameters<double, Cpu>(encoder);
  CHECK(test::count_names(golden.file, "start/") == parameters.size());
  for (auto& p : parameters) p.var.mutable_value().assign(golden.file.get<double>("start/" + p.name).span());

  const LoveRows first(golden, ""), second(golden, "second/");
  golden.check("vectors", encoder(first.ids, first.offsets).value());
  const auto loss_options = loss_named(golden.about("loss"));
  AdamW<double> optimizer(parameters, {.lr = 2e-3, .eps = 1e-8, .weight_decay = 0});
  std::vector<double> losses;
  for (int k = 0; k < 10; ++k) {
    const LoveRows& rows = k % 2 == 0 ? first : second;
    const auto loss = love_loss(rows.targets, encoder(rows.ids, rows.offsets), rows.words, loss_options);
    losses.push_back(loss.item());
    loss.backward();
    if (k == 0)
      for (const auto& p : parameters) golden.check("gradient/" + p.name, p.var.grad());
    optimizer.set_lr(2e-3 * std::pow(0.97, k / 2));
    optimizer.step();
  }
  golden.check("losses", Tensor<double>::from(losses, {10}));
  for (const auto& p : parameters) golden.check("end/" + p.name, p.var.value());
  golden.check("end_vectors", encoder(second.ids, second.offsets).value());
}

}  // namespace

TEST_CASE("LOVE: vectors, losses, gradients and ten steps in all settings, as written out in PyTorch") {
  const double before = std::exchange(Golden::worst, 0.0);
  for (const char* name : {"love", "love_sqrt", "love_number", "love_layers", "love_merge", "love_merge_sqrt", "love_merge_number",
                           "love_merge_layers", "love_attention", "love_attention_layers", "love_cnn", "love_rnn", "love_rnn_layers"}) {
    CAPTURE(name);
    check_file(name);
  }
  MESSAGE("largest difference of all files: " << Golden::worst);
  Golden::worst = std::max(before, Golden::worst);
}

TEST_CASE("LSTM: torch.nn.LSTM over packed sequences, in both directions, with gradients") {
  Golden golden("lstm");
  Init init(1);
  BiLstm<double> layer(5, 3, init);
  auto parameters = named_parameters<double, Cpu>(layer);
  for (auto& p : parameters) p.var.mutable_value().assign(golden.file.get<double>(p.name).span());
  const auto lengths = golden.integers("lengths");
  const auto offsets = Offsets::from_lengths(std::vector<std::size_t>(lengths.begin(), lengths.end()));
  const Var<double> x(golden.file.get<double>("x"), true);
  const auto y = layer(x, offsets), last = last_states(y, offsets);
  const Var<double> dy(golden.file.get<double>("dy")), dlast(golden.file.get<double>("dlast"));
  add(sum(multiply(y, dy)), sum(multiply(last, dlast))).backward();
  const auto check = [&](const std::string& name, const Tensor<double>& found) {
    CAPTURE(name);
    CHECK(test::max_error(found, golden.file.get<double>(name)) < 1e-12);
  };
  check("y", y.value());
  check("last", last.value());
  check("gradient/x", x.grad());
  for (const auto& p : parameters) check("gradient/" + p.name, p.var.grad());
}

TEST_CASE("LOVE: each loss and standardize by themselves, as in PyTorch") {
  Golden golden("love");
  const auto words = golden.integers("words");
  const Var<double> targets(golden.file.get<double>("targets"));
  const auto check = [&](const std::string& name, const LoveLossOptions& options) {
    CAPTURE(name);
    const Var<double> raw(golden.file.get<double>("raw"), true);
    const auto loss = love_loss(targets, raw, words, options);
    golden.check("raw/" + name, loss.value());
    loss.backward();
    golden.check("raw/" + name + "/gradient", raw.grad());
  };
  for (const std::string& name : std::vector<std::string>{"nt_xent", "align_uniform", "mse", "euclidean", "cosine"})
    check(name, loss_named(name));
  check("nt_xent/0.5", {.temperature = 0.5});
  check("align_uniform/0.3", {.loss = LoveLoss::align_uniform, .lambda = 0.3});

  const Var<double> x(golden.file.get<double>("standardize/x"), true);
  const auto y = standardize(x, 1e-6);
  golden.check("standardize/y", y.value());
  y.backward(golden.file.get<double>("standardize/dy"));
  golden.check("standardize/dx", x.grad());
}
