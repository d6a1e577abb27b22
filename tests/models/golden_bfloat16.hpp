// SPDX-License-Identifier: MIT
// Models in bfloat16 against double: on every device, their error is at most twice PyTorch's own (tests/oracles/make_golden_bfloat16.py).
#pragma once

#include "lexformer/bfloat16.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "models/golden.hpp"

namespace lexformer::test {

/// |a - b| / |b| over all values that were added.
struct Difference {
  double squares = 0, size = 0;
  template <class Dev>
  void add(const Tensor<bfloat16, Dev>& found, const Tensor<double>& expected) {
    REQUIRE(found.size() == expected.size());
    const auto values = found.to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      squares += std::pow(static_cast<double>(float{values[i]}) - expected.data()[i], 2);
      size += std::pow(expected.data()[i], 2);
    }
  }
  double relative() const { return std::sqrt(squares / size); }
  void check(const std::string& name, const std::string& what) const {
    const std::string path = golden_path("bfloat16.json");
    const double theirs = parse_json(read_file(path), path).at(name).at(what).get<double>();
    CHECK_MESSAGE(relative() <= 2 * theirs, name << ": " << what << " is wrong by " << relative() << ", in PyTorch by " << theirs);
    CHECK_MESSAGE(relative() >= theirs / 100, name << ": " << what << " looks like float, not like bfloat16");
  }
};

/// Logits and gradients of three classifiers and of a masked language model.
template <class Dev>
void check_bfloat16_models() {
  const auto check_gradients = [](const std::string& name, const Golden& golden, auto& model) {
    Difference gradients;
    for (const auto& p : model.parameters()) gradients.add(p.var.grad(), golden.file.get<double>("gradient/" + p.name));
    gradients.check(name, "gradients");
  };
  for (const std::string name : {"bert_2_labels", "bert_3_labels", "electra"}) {
    const Golden golden(name);
    CrossEncoder<bfloat16, Dev> model(golden.model());
    const auto batch = golden.batch();
    const auto y = model(batch).logits;
    Difference logits;
    logits.add(y.value(), golden.file.get<double>("logits"));
    logits.check(name, "logits");
    cross_entropy(y, batch.labels).backward();
    check_gradients(name, golden, model);
  }
  const Golden golden("masked_lm");
  MaskedLm<bfloat16, Dev> model(golden.model(), std::nullopt);
  const auto positions = golden.integers("positions"), words = golden.integers("labels");
  Difference logits;
  logits.add(model.logits(golden.batch(), positions).value(), golden.file.get<double>("logits"));
  logits.check("masked_lm", "logits");
  model.loss(golden.batch(), positions, words).backward();
  check_gradients("masked_lm", golden, model);
}

/// Attention with a lookup; PyTorch's has a gathered bias.
template <class Dev>
void check_bfloat16_attention() {
  const Golden golden("attention");
  const auto given = [&](const std::string& name) { return golden.file.get<bfloat16>(name).template to<Dev>(); };
  const Var<bfloat16, Dev> qkv(given("qkv"), true), table(given("table"), true);
  std::vector<std::uint16_t> codes;
  for (const std::int32_t c : golden.integers("codes")) codes.push_back(static_cast<std::uint16_t>(c));
  ScoreTerms<bfloat16, Dev> terms;
  terms.lookups.push_back({table, codes});
  const auto lengths = golden.integers("lengths");
  const auto y = attention(qkv, Offsets::from_lengths(std::vector<std::size_t>(lengths.begin(), lengths.end())), table.dim(0), terms);
  y.context.backward(given("dcontext"));
  const auto check = [&](const std::string& what, const Tensor<bfloat16, Dev>& found) {
    Difference difference;
    difference.add(found, golden.file.get<double>(what));
    difference.check("attention", what);
  };
  check("context", y.context.value());
  check("dqkv", qkv.grad());
  check("dtable", table.grad());
}

}  // namespace lexformer::test
