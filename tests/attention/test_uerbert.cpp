// SPDX-License-Identifier: MIT
#include "lexformer/attention/uerbert.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "models/tiny.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;
using test::max_error;
using test::same_bits;

namespace {

const CrossEncoderOptions with_uerbert{.attention = {"uerbert"}};

std::vector<double>& gate_of(Batch& batch) { return std::get<std::vector<double>>(batch.features.at("uerbert").values); }

}  // namespace

TEST_CASE("uerbert: a gate of 1 is the model without it to the bit, also in training") {
  auto model = test::tiny_model(with_uerbert);
  auto plain = test::tiny_model();
  plain.restore(model.file());
  Batch batch = test::tiny_batch(model);
  for (const ForwardOptions forward : {ForwardOptions{}, ForwardOptions{.training = true, .seed = 3, .step = 2}}) {
    CHECK(max_error(model(batch, forward).logits.value(), plain(batch, forward).logits.value()) > 1e-3);
    Batch ones = batch;
    std::fill(gate_of(ones).begin(), gate_of(ones).end(), 1.0);
    CHECK(same_bits(model(ones, forward).logits.value(), plain(batch, forward).logits.value()));
  }
}

TEST_CASE("uerbert: the gate multiplies the scores of the first layer before the biases, with another gate as a product") {
  const auto model = test::tiny_model(with_uerbert);
  const Batch batch = test::tiny_batch(model);
  const DeviceBatch<double> on_device(batch);
  const auto& layers = model.encoder().layers;
  REQUIRE(layers[0].attention.terms.size() == 1);
  CHECK(layers[1].attention.terms.empty());
  const Var<double> qkv;
  const AttentionInputs<double> in{qkv, on_device, 3, {}};
  ScoreTerms<double> terms;
  layers[0].attention.terms[0]->contribute(in, terms);
  const auto& gate = std::get<std::vector<double>>(batch.features.at("uerbert").values);
  CHECK(terms.gate.value().to_vector() == gate);
  layers[0].attention.terms[0]->contribute(in, terms);
  for (std::size_t e = 0; e < gate.size(); ++e) CHECK(terms.gate.value().data()[e] == gate[e] * gate[e]);
}

TEST_CASE("uerbert: the gate of two tokens is the similarity of their words, 1 within a text and for [CLS] and [SEP]") {
  const auto model = test::tiny_model(with_uerbert);
  const auto wordnet = test::tiny_words();
  // [CLS] a black screen [SEP] bl ##k sony lens for screen ##s black [SEP]; blks and screens: words of two pieces
  const auto e = model.tokenizer().encode_pair("a BLACK screen", "blk Sony lens for screens black", 20);
  const std::vector<std::string> word = {"",     "a",    "black", "screen",  "",        "blk",   "blk",
                                         "sony", "lens", "for",   "screens", "screens", "black", ""};
  REQUIRE(e.size() == word.size());
  Batch batch = model.batch(std::vector{e, model.tokenizer().encode("black screen", 20)});
  const auto& gate = gate_of(batch);
  for (std::size_t p = 0; p < word.size(); ++p)
    for (std::size_t q = 0; q < word.size(); ++q) {
      const bool cross = !word[p].empty() && !word[q].empty() && (p < 5) != (q < 5);
      CHECK(gate[p * word.size() + q] == (cross ? uerbert_similarity(*wordnet, word[p], word[q]) : 1));
    }
  const auto at = [&](std::size_t p, std::size_t q) { return gate[p * word.size() + q]; };
  CHECK(at(1, 9) == 0);   // stop words
  CHECK(at(2, 12) == 1);  // black, black
  CHECK(at(12, 2) == 1);
  CHECK(at(2, 7) == 0);                         // sony is not in this WordNet
  CHECK(at(3, 8) == doctest::Approx(4.0 / 6));  // screen, lens below device: D = 2, L = 1 + 1
  CHECK(at(10, 3) == 1);                        // screens is a form of screen, which is a lemma of its synset
  CHECK(at(11, 3) == 1);
  for (std::size_t c = word.size() * word.size(); c < gate.size(); ++c) CHECK(gate[c] == 1);  // one text alone
}

TEST_CASE("word_gate: what a function that takes words gets and gives") {
  const auto model = test::tiny_model();
  const auto e = model.tokenizer().encode_pair("sony, blk", "a", 20);
  const auto gates = [&](const WordSimilarities& similarities) {
    return make_batch(std::vector{e}, std::vector{word_gate(similarities, "gate")});
  };
  const auto batch = gates([](std::span<const std::string> left, std::span<const std::string> right) {
    CHECK(std::vector(left.begin(), left.end()) == std::vector<std::string>{"sony", ",", "blk"});
    CHECK(std::vector(right.begin(), right.end()) == std::vector<std::string>{"a"});
    return std::vector<double>{2, 3, 4};
  });
  const auto& gate = std::get<std::vector<double>>(batch.features.at("gate").values);
  const std::size_t n = 8;
  REQUIRE(e.size() == n);  // [CLS] sony , bl ##k [SEP] a [SEP]
  const std::vector<double> row = {1, 2, 3, 4, 4, 1, 1, 1};
  for (std::size_t q = 0; q < n; ++q) {
    CHECK(gate[6 * n + q] == row[q]);
    CHECK(gate[q * n + 6] == row[q]);
    CHECK(gate[q] == 1);
  }
  expect_error(
      ErrorKind::failure, [&] { gates([](auto, auto) { return std::vector<double>(4); }); }, "gate: got 4 similarities of 3 and 1 words");
}

TEST_CASE("uerbert: gradients of a model") {
  const test::Threads one(1);
  auto model = test::tiny_model(with_uerbert);
  const Batch batch = test::tiny_batch(model, 0, 4);
  std::vector<Var<double>> leaves;
  for (const auto& p : model.parameters()) leaves.push_back(p.var);
  const auto result = gradcheck([&] { return model(batch, {.training = true, .seed = 2}).logits; }, leaves, {.max_elements = 3});
  CHECK_MESSAGE(result.ok, result.message);
}

TEST_CASE("uerbert: WordNet is given again to a saved model; without it texts are refused") {
  const TemporaryFolder folder;
  const std::string path = folder / "m.lxf";
  auto model = test::tiny_model<float>(with_uerbert);
  model.save(path);
  auto same = CrossEncoder<float>::load(path);
  const std::string message = "uerbert: the model reads WordNet 3.0: give its folder with `wordnet` DIR";
  expect_error(
      ErrorKind::usage, [&] { same.predict({test::pairs[0]}); }, message);
  expect_error(
      ErrorKind::usage, [&] { same.check_texts(std::vector<std::string>{"a"}, "t.tsv"); }, message);
  same.provide({.wordnet = test::tiny_words()});
  CHECK(same_bits(same.logits(test::pairs), model.logits(test::pairs)));
}
