// SPDX-License-Identifier: MIT
// Position schemes that transformers also has (tests/oracles/make_golden_positions.py), in double: forward and every gradient.
#include "lexformer/models/encoder.hpp"
#include "models/golden.hpp"
#include "support/batches.hpp"

using namespace lexformer;
using test::Golden;

TEST_CASE("position schemes: hidden states and gradients of transformers' BERT, RoFormer and DeBERTa-v2") {
  const test::Threads one(1);
  for (const std::string name : {"relative_key", "relative_key_query", "rope", "deberta", "deberta_buckets"}) {
    CAPTURE(name);
    Golden golden("positions_" + name);
    const auto file = golden.model();
    Encoder<double> encoder(file, {});
    const auto y = encoder(golden.batch()).last;
    golden.check("hidden", y.value());
    y.backward(golden.file.get<double>("cotangent"));
    const auto parameters = encoder.state();
    CHECK(test::count_names(golden.file, "start/") == parameters.size());
    for (const auto& p : parameters) golden.check("gradient/" + p.name, p.var.grad());
  }
}

TEST_CASE("T5's attention and its buckets") {
  Golden golden("positions_t5");
  const auto get = [&](const std::string& name) { return Var<double>(golden.file.get<double>(name), true); };
  const auto x = get("x"), q = get("q"), k = get("k"), v = get("v"), bias = get("bias");
  Init init(1);
  T5Bias<double> term(3, 8, 15, false, init);
  term.bias = bias;
  const auto offsets = Offsets::from_lengths(std::vector<std::size_t>{22});
  ScoreTerms<double> scores;
  term.contribute({Var<double>(), test::batch_of_lengths({22}), 3, {}}, scores);
  const Var<double> none;
  const auto y = attention(linear(x, std::vector{q, k, v}, std::vector{none, none, none}), offsets, 3, scores).context;
  golden.check("context", y.value());
  y.backward(golden.file.get<double>("cotangent"));
  for (const auto& [name, var] : {std::pair{"x", x}, {"q", q}, {"k", k}, {"v", v}, {"bias", bias}})
    golden.check(std::string("gradient/") + name, var.grad());
  std::vector<std::int32_t> buckets;
  for (std::int32_t distance = -300; distance <= 300; ++distance) buckets.push_back(t5_bucket(distance, 32, 128));
  CHECK(buckets == golden.integers("buckets"));
}
