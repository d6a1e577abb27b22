// SPDX-License-Identifier: MIT
// Models of bfloat16: their error against double is at most twice PyTorch's own (tools/make_golden_bfloat16.py), and training keeps its
// weights in float.
#include <cmath>
#include <limits>
#include <numeric>

#include "io/expect_error.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "lexformer/train/state.hpp"
#include "models/golden.hpp"
#include "support/random_tensor.hpp"

using namespace lexformer;

namespace {

/// |a - b| / |b| over everything that was added.
struct Difference {
  double squares = 0, size = 0;
  void add(const Tensor<bfloat16>& found, const Tensor<double>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      squares += std::pow(static_cast<double>(float{found.data()[i]}) - expected.data()[i], 2);
      size += std::pow(expected.data()[i], 2);
    }
  }
  double relative() const { return std::sqrt(squares / size); }
};

void check(const std::string& name, const std::string& what, const Difference& found) {
  const std::string path = LEXFORMER_SOURCE_DIR "/tests/golden/bfloat16.json";
  const double theirs = parse_json(read_file(path), path).at(name).at(what).get<double>();
  CHECK_MESSAGE(found.relative() <= 2 * theirs,
                name << ": " << what << " is wrong by " << found.relative() << ", in PyTorch by " << theirs);
  CHECK_MESSAGE(found.relative() >= theirs / 100, name << ": " << what << " looks like float, not like bfloat16");
}

template <class Model>
void check_gradients(const std::string& name, const test::Golden& golden, Model& model) {
  Difference gradients;
  for (const auto& p : model.parameters()) gradients.add(p.var.grad(), golden.file.get<double>("gradient/" + p.name));
  check(name, "gradients", gradients);
}

}  // namespace

TEST_CASE("bfloat16: logits and gradients are as near to double as PyTorch's") {
  const test::Threads one(1);
  for (const std::string name : {"bert_2_labels", "bert_3_labels", "electra"}) {
    const test::Golden golden(name);
    CrossEncoder<bfloat16> model(golden.model(), {.head = Head::huggingface, .labels = name == "bert_3_labels" ? 3u : 2u}, false);
    const auto batch = golden.batch();
    const auto y = model(batch).logits;
    Difference logits;
    logits.add(y.value(), golden.file.get<double>("logits"));
    check(name, "logits", logits);
    cross_entropy(y, batch.labels).backward();
    check_gradients(name, golden, model);
  }
  const test::Golden golden("masked_lm");
  MaskedLm<bfloat16> model(golden.model(), 0, false);
  const auto positions = golden.integers("positions"), labels = golden.integers("labels");
  Difference logits;
  logits.add(model.logits(golden.batch(), positions).value(), golden.file.get<double>("logits"));
  check("masked_lm", "logits", logits);
  model.loss(golden.batch(), positions, labels).backward();
  check_gradients("masked_lm", golden, model);
}

TEST_CASE("bfloat16: attention with a lookup is as near to double as PyTorch's with a gathered bias") {
  const test::Golden golden("attention");
  const Var<bfloat16> qkv(golden.file.get<bfloat16>("qkv"), true);
  ScoreTerms<bfloat16> terms;
  const Var<bfloat16> table(golden.file.get<bfloat16>("table"), true);
  std::vector<std::uint16_t> codes;
  for (const std::int32_t c : golden.integers("codes")) codes.push_back(static_cast<std::uint16_t>(c));
  terms.lookups.push_back({table, codes});
  const auto lengths = golden.integers("lengths");
  const auto y = attention(qkv, Offsets::from_lengths(std::vector<std::size_t>(lengths.begin(), lengths.end())), table.dim(0), terms);
  y.context.backward(golden.file.get<bfloat16>("dcontext"));
  const std::pair<std::string, Tensor<bfloat16>> all[] = {{"context", y.context.value()}, {"dqkv", qkv.grad()}, {"dtable", table.grad()}};
  for (const auto& [what, found] : all) {
    Difference difference;
    difference.add(found, golden.file.get<double>(what));
    check("attention", what, difference);
  }
}

TEST_CASE("bfloat16: training adds up in float what one weight could not hold, and goes on from a checkpoint to the same bytes") {
  const test::Threads one(1);
  CrossEncoderOptions options;
  options.attention = {"lea"};
  auto model = test::tiny_model<bfloat16>(options);
  AdamW<bfloat16> optimizer(model.parameters(), {.lr = 1e-4});
  const auto batch = test::tiny_batch(model);
  const auto step = [&](auto& m, auto& o, std::uint32_t k) {
    const auto loss = cross_entropy(m(batch, {.training = true, .seed = 1, .step = k}).logits, batch.labels);
    static_assert(std::is_same_v<decltype(loss.item()), float>);
    loss.backward();
    clip_grad_norm(m.parameters(), 1.0);
    o.step();
    return loss.item();
  };
  const auto evaluate = [&] { return cross_entropy(model(batch).logits, batch.labels).item(); };
  step(model, optimizer, 0);
  const float first = evaluate();
  // 1e-4 is less than half the distance of bfloat16 numbers around 0.1: without the float weights most would never move.
  std::size_t between = 0, all = 0;
  for (std::size_t i = 0; i < optimizer.state().size(); ++i) {
    const auto& slot = optimizer.state()[i];
    const auto& weights = optimizer.parameters()[i].var.value();
    if (slot.step == 0) continue;
    for (std::size_t e = 0; e < weights.size(); ++e) {
      const float master = slot.master.data()[e];
      REQUIRE(bfloat16(master).bits == weights.data()[e].bits);
      between += float{weights.data()[e]} != master;
      ++all;
    }
  }
  CHECK(between > all / 2);

  const TemporaryFolder folder;
  const std::string moments = folder / "optimizer.safetensors";
  optimizer_tensors(optimizer).write(moments);
  model.save(folder / "model.lxf");
  for (std::uint32_t k = 1; k < 60; ++k) step(model, optimizer, k);
  CHECK(evaluate() < 0.9f * first);

  auto resumed = CrossEncoder<bfloat16>::load(folder / "model.lxf");
  AdamW<bfloat16> again(resumed.parameters(), {.lr = 1e-4});
  again.load_state(read_optimizer_tensors(TensorFile::read(moments), again, moments));
  for (std::uint32_t k = 1; k < 60; ++k) step(resumed, again, k);
  const auto expected = model.state(), found = resumed.state();
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(test::same_bits(found[i].var.value(), expected[i].var.value()));
}
