// SPDX-License-Identifier: MIT
// Masked language models: equal to transformers' BertForMaskedLM (tests/oracles/make_golden.py), and their own laws.
#include "lexformer/io/json.hpp"
#include "lexformer/models/masked_lm.hpp"

#include <cmath>
#include <cstring>

#include "lexformer/text/masking.hpp"
#include "models/golden.hpp"
#include "support/directions.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;
using test::same_bits;

namespace {

/// Sequences with some masked tokens.
struct Masked {
  Batch batch;
  std::vector<std::int32_t> positions, labels;
};

/// The pairs of tiny.hpp, `copies` times with different masks.
Masked masked_pairs(const Tokenizer& tokenizer, std::uint32_t copies = 1) {
  const Masker masker(tokenizer, {.probability = 0.2});
  Masked out;
  std::vector<Encoding> encodings;
  std::int32_t begin = 0;
  for (std::uint32_t i = 0; i < copies * test::pairs.size(); ++i) {
    const auto& [left, right] = test::pairs[i % test::pairs.size()];
    auto& e = encodings.emplace_back(tokenizer.encode_pair(left, right, 20));
    auto masked = masker(e, masking_stream(1, 0, i));
    for (const auto p : masked.positions) out.positions.push_back(begin + p);
    out.labels.insert(out.labels.end(), masked.labels.begin(), masked.labels.end());
    e.ids = std::move(masked.ids);
    begin += static_cast<std::int32_t>(e.size());
  }
  out.batch = make_batch(encodings);
  return out;
}

/// A model on tiny_file() whose head has larger values than an initialisation would draw.
template <class T = double>
MaskedLm<T> tiny_masked_lm(const Json& edit = Json::object()) {
  MaskedLm<T> model(test::tiny_file(edit), TrainingStart{.seed = 3});
  RandomStream random(2, random_site::user);
  for (auto& p : model.parameters())
    if (p.name.starts_with("cls."))
      for (T& x : p.var.mutable_value().mutable_span()) x = static_cast<T>(x + static_cast<T>(0.2 * random.normal()));
  return model;
}

const std::vector<std::string> head_names = {"cls.predictions.bias", "cls.predictions.transform.dense.weight",
                                             "cls.predictions.transform.dense.bias", "cls.predictions.transform.LayerNorm.weight",
                                             "cls.predictions.transform.LayerNorm.bias"};

const Json no_dropout = {{"hidden_dropout_prob", 0.0}, {"attention_probs_dropout_prob", 0.0}};

}  // namespace

TEST_CASE("masked_lm: logits, loss, gradients and ten steps of transformers' BertForMaskedLM") {
  const test::Threads one(1);
  test::Golden golden("masked_lm");
  MaskedLm<double> model(golden.model(), std::nullopt);
  CHECK(model.unused_tensors().empty());
  CHECK(test::count_names(golden.file, "gradient/") == model.parameters().size());
  CHECK(test::count_names(golden.file, "end/") == model.parameters().size());
  const auto positions = golden.integers("positions"), labels = golden.integers("labels");
  auto batch = golden.batch();
  batch.labels.clear();  // labels of the tokens, not of the sequences
  golden.check("logits", model.logits(batch, positions).value());
  golden.check_steps(model, ScheduleKind::linear, [&](std::uint32_t) { return model.loss(batch, positions, labels); });
}

TEST_CASE("masked_lm: gradients of every parameter against differences, with dropout") {
  const test::Threads one(1);
  auto model = tiny_masked_lm();
  const auto m = masked_pairs(model.tokenizer());
  std::vector<Var<double>> leaves;
  for (const auto& p : model.parameters()) leaves.push_back(p.var);
  const auto result =
      test::check_directions([&] { return model.loss(m.batch, m.positions, m.labels, {.training = true, .seed = 4, .step = 3}); }, leaves);
  CHECK_MESSAGE(result.ok, result.message);
}

TEST_CASE("masked_lm: eight sentences are learned by heart") {
  const test::Threads one(1);
  auto model = tiny_masked_lm<float>(no_dropout);
  const auto m = masked_pairs(model.tokenizer());
  AdamW<float> optimizer(model.parameters());
  const Schedule schedule{.kind = ScheduleKind::linear, .base = 1e-2, .total = 150};
  for (std::uint32_t step = 0; step < 150; ++step) {
    model.loss(m.batch, m.positions, m.labels, {.training = true, .seed = 1, .step = step}).backward();
    clip_grad_norm(model.parameters(), 1.0);
    optimizer.set_lr(schedule(step));
    optimizer.step();
  }
  CHECK(model.loss(m.batch, m.positions, m.labels).item() < 0.05f);
}

TEST_CASE("masked_lm: a new model is drawn from its seed and begins near the loss of a guess") {
  const test::Threads one(1);
  const auto file = test::tiny_file(no_dropout);
  auto config = file.config;
  config->erase("vocab_size");
  MaskedLm<float> a(config, file.vocabulary, file.tokenizer, 1), b(config, file.vocabulary, file.tokenizer, 1),
      other(config, file.vocabulary, file.tokenizer, 2);
  CHECK(a.config().vocab_size == file.vocabulary.size());
  CHECK(a.new_tensors().size() == a.parameters().size());
  const auto m = masked_pairs(a.tokenizer());
  CHECK(same_bits(a.logits(m.batch, m.positions).value(), b.logits(m.batch, m.positions).value()));
  CHECK_FALSE(same_bits(a.logits(m.batch, m.positions).value(), other.logits(m.batch, m.positions).value()));
  CHECK(a.loss(m.batch, m.positions, m.labels).item() == doctest::Approx(std::log(24.0)).epsilon(0.1));
}

TEST_CASE("masked_lm: what is saved predicts alike, is saved again byte for byte, and is an encoder for others") {
  const test::Threads one(1);
  const TemporaryFolder folder;
  auto model = tiny_masked_lm<float>();
  const auto m = masked_pairs(model.tokenizer());
  model.save(folder / "a.lxf");
  auto again = MaskedLm<>::load(folder / "a.lxf");
  CHECK(again.new_tensors().empty());
  CHECK(again.unused_tensors().empty());
  CHECK(same_bits(model.logits(m.batch, m.positions).value(), again.logits(m.batch, m.positions).value()));
  again.save(folder / "b.lxf");
  CHECK(read_file(folder / "a.lxf") == read_file(folder / "b.lxf"));
  expect_file_error([&] { CrossEncoder<>::load(folder / "a.lxf"); }, "the model has no classification head");

  const auto plain = CrossEncoder<>::load(folder / "a.lxf", CrossEncoderOptions{});
  CHECK(plain.unused_tensors().size() == head_names.size());
  CHECK(same_bits(plain.encoder()(m.batch).last.value(), model.encoder()(m.batch).last.value()));
  auto cross = CrossEncoder<>::load(folder / "a.lxf", test::with_lea());
  cross.calibrate(test::tiny_batch(cross));
  cross.save(folder / "cross.lxf");
  expect_file_error([&] { MaskedLm<>::load(folder / "cross.lxf"); }, "'cls.predictions.bias' is missing");
  auto back = MaskedLm<>::load(folder / "cross.lxf", TrainingStart{.seed = 1});
  CHECK(back.new_tensors() == head_names);
  CHECK(same_bits(back.encoder()(m.batch).last.value(), model.encoder()(m.batch).last.value()));
  for (const auto& name : back.unused_tensors()) CHECK(name.starts_with("lexformer."));
  // The saved file no longer describes a cross-encoder.
  CHECK_FALSE(back.file().config->contains("lexformer"));
  CHECK(back.file().config["architectures"] == Json::array({"BertForMaskedLM"}));
}

TEST_CASE("masked_lm: logits and loss agree, and the encoder's output comes along") {
  const test::Threads one(1);
  const auto model = tiny_masked_lm();
  const auto m = masked_pairs(model.tokenizer());
  const auto logits = model.logits(m.batch, m.positions);
  CHECK(logits.shape() == Shape{m.positions.size(), 40});
  CHECK(model.loss(m.batch, m.positions, m.labels).item() ==
        doctest::Approx(cross_entropy(logits, std::span(m.labels)).item()).epsilon(1e-13));
  const auto y =
      model(m.batch, m.positions, m.labels, {}, {.all_hidden = true, .attentions = Attentions::probabilities, .attention_heads = {0, 2}});
  CHECK(y.encoder.hidden.size() == 3);
  REQUIRE(y.encoder.attentions.size() == 2);
  CHECK(y.encoder.attentions[1].shape() == Shape{2, m.batch.offsets.pairs()});
  CHECK(y.encoder.last.requires_grad());
  // Rows of positions are numbered across all sequences: the text alone gives the same scores.
  const auto e = model.tokenizer().encode_pair(test::pairs[1].first, test::pairs[1].second, 20);
  const auto two = make_batch(std::vector{model.tokenizer().encode_pair("a book", "a lens", 20), e}), alone = make_batch(std::vector{e});
  const auto begin = static_cast<std::int32_t>(two.offsets.begin(1));
  const std::vector<std::int32_t> in_two{begin + 2, begin + 1}, in_one{2, 1};
  const auto a = model.logits(two, in_two).value(), b = model.logits(alone, in_one).value();
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == doctest::Approx(b.data()[i]).epsilon(1e-12));
}

TEST_CASE("masked_lm: the same bits with 1, 2 and 3 threads, loss and gradients") {
  std::vector<std::vector<float>> runs;
  for (const int n : {1, 2, 3}) {
    const test::Threads some(n);
    auto model = tiny_masked_lm<float>({{"vocab_size", 700u}, {"hidden_size", 48u}, {"intermediate_size", 80u}});
    const auto m = masked_pairs(model.tokenizer(), 7);
    const auto loss = model.loss(m.batch, m.positions, m.labels, {.training = true, .seed = 1});
    loss.backward();
    auto& bits = runs.emplace_back(std::vector<float>{loss.item()});
    for (const auto& p : model.parameters()) bits.insert(bits.end(), p.var.grad().span().begin(), p.var.grad().span().end());
  }
  for (const auto& run : runs) CHECK(std::memcmp(run.data(), runs[0].data(), run.size() * sizeof(float)) == 0);
}

TEST_CASE("masked_lm: wrong files, configs and positions") {
  const test::Threads one(1);
  const auto refused = [](const ModelFile& file, const std::string& message, bool may_be_new = true) {
    expect_file_error([&] { MaskedLm<double>(file, may_be_new ? std::optional(TrainingStart{}) : std::nullopt); }, message);
  };
  refused(test::tiny_file(), "tiny.lxf: the config does not fit the tensors: 'cls.predictions.bias' is missing", false);
  refused(test::tiny_file(test::electra), "tiny.lxf: 'model_type' is 'electra'; its masked language model is not supported");
  refused(test::tiny_file({{"vocab_size", 23u}}), "tiny.lxf: the vocabulary has 24 tokens, the embedding 23 rows");
  auto file = test::tiny_file();
  file.tensors.set("cls.predictions.decoder.weight", Tensor<double>::zeros({40, 12}));
  refused(file, "tiny.lxf: the output layer has a weight of its own ('cls.predictions.decoder.weight')");
  file = test::tiny_file();
  file.tensors.erase("bert.embeddings.LayerNorm.bias");
  refused(file, "'bert.embeddings.LayerNorm.bias' is missing");
  file = tiny_masked_lm().file();
  file.tensors.set("cls.predictions.bias", Tensor<double>::zeros({39}));
  refused(file, "'cls.predictions.bias' has shape (39,), expected (40,)", false);
  CHECK(MaskedLm<double>(file, TrainingStart{}).new_tensors() == std::vector<std::string>{"cls.predictions.bias"});
  file = test::tiny_file();
  file.config["intermediate_size"] = 1u << 18;
  file.config["num_hidden_layers"] = 256u;
  refused(file, "tiny.lxf: the config asks for ");
  file.vocabulary = Vocabulary();
  refused(file, "the model has no vocabulary");

  const auto no_model = [](const Json& config, const std::string& message) {
    const auto tiny = test::tiny_file();
    expect_file_error([&] { MaskedLm<double>(config, tiny.vocabulary, tiny.tokenizer, 1); }, message);
  };
  no_model(Json::array(), "MaskedLm: config: expected a JSON object, found array");
  no_model({{"hidden_size", "12"}}, "MaskedLm: config: 'hidden_size' is '12', expected a whole number");
  no_model({{"model_type", "electra"}}, "MaskedLm: config: 'model_type' is 'electra'");
  no_model({{"vocab_size", 5u}, {"hidden_size", 12u}}, "MaskedLm: config: the vocabulary has 24 tokens, the embedding 5 rows");

  const auto model = tiny_masked_lm();
  auto m = masked_pairs(model.tokenizer());
  const auto wrong = [&](const std::string& message) {
    expect_error(
        ErrorKind::failure, [&] { model.loss(m.batch, m.positions, m.labels); }, message);
  };
  m.positions[1] = static_cast<std::int32_t>(m.batch.offsets.tokens());
  wrong(cat("MaskedLm: position ", m.positions[1], " of a batch of ", m.positions[1], " tokens"));
  m.positions[1] = -1;
  wrong("MaskedLm: position -1 of a batch of ");
  m.positions.erase(m.positions.begin() + 1);
  wrong(" labels; expected one label per row");
}
