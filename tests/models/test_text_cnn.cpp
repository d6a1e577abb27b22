// SPDX-License-Identifier: MIT
// Kim's CNN over fixed word vectors: golden values from PyTorch (tests/oracles/make_golden_text_cnn.py), gradients, texts, files, vectors.
#include "lexformer/models/text_cnn.hpp"

#include <doctest/doctest.h>

#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/train/evaluation.hpp"
#include "models/golden.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;
using test::Golden;

namespace {

const TextCnnOptions small_cnn{.size = 3, .filters = 2, .first_width = 2, .last_width = 3, .dropout = 0.5};

Offsets offsets_of(const std::vector<std::size_t>& lengths) { return Offsets::from_lengths(lengths); }

std::vector<PairExample> film_texts() { return {{"Good  film", "", 1}, {"bad", "", 0}, {"a film\tgood good plot", "", 1}, {"  ", "", 0}}; }

std::shared_ptr<const StaticVectors> film_vectors(float first = 1) {
  return std::make_shared<const StaticVectors>(
      WordVectors({"good", "bad", "film"}, Tensor<float>::from({first, 0, 2, -1, 1, 0, 0, 3, -2}, {3, 3})), std::nullopt);
}

}  // namespace

TEST_CASE("TextCnn: logits, losses, gradients and ten steps, as in PyTorch") {
  const double before = std::exchange(Golden::worst, 0.0);
  Golden golden("text_cnn");
  TextCnnOptions o;
  read_options(golden.about("options").dump(), "options", [&](OptionVisitor& v) { o.visit(v); });
  TextCnn<double> model(o, golden.about("classes").get<std::size_t>(), {}, 1);
  auto parameters = model.parameters();
  CHECK(test::count_names(golden.file, "start/") == parameters.size());
  for (auto& p : parameters) p.var.mutable_value().assign(golden.file.get<double>("start/" + p.name).span());
  const auto lengths = golden.about("lengths").get<std::vector<std::vector<std::size_t>>>();
  const auto labels = golden.about("labels").get<std::vector<std::vector<std::int32_t>>>();
  const std::array words{Var<double>(golden.file.get<double>("words")), Var<double>(golden.file.get<double>("second/words"))};
  golden.check("logits", model(words[0], offsets_of(lengths[0])).value());

  AdamW<double> optimizer(parameters, {.lr = 2e-3, .eps = 1e-8, .weight_decay = 0});
  std::vector<double> losses;
  for (std::size_t k = 0; k < 10; ++k) {
    const auto loss = cross_entropy(model(words[k % 2], offsets_of(lengths[k % 2])), labels[k % 2]);
    losses.push_back(loss.item());
    loss.backward();
    if (k == 0)
      for (const auto& p : parameters) golden.check("gradient/" + p.name, p.var.grad());
    optimizer.step();
  }
  golden.check("losses", Tensor<double>::from(losses, {10}));
  for (const auto& p : parameters) golden.check("end/" + p.name, p.var.value());
  golden.check("end_logits", model(words[1], offsets_of(lengths[1])).value());
  MESSAGE("largest difference: " << Golden::worst);
  Golden::worst = std::max(before, Golden::worst);
}

TEST_CASE("TextCnn: gradients with dropout, number of parameters") {
  TextCnn<double> model(small_cnn, 2, {}, 3);
  const Offsets texts = offsets_of({4, 1, 2});
  Tensor<double> x({7, 3});
  RandomStream random(5, random_site::user);
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = random.normal();
  std::vector<Var<double>> inputs;
  for (const auto& p : model.parameters()) inputs.push_back(p.var);
  const std::vector<std::int32_t> labels{1, 0, 1};
  const ForwardOptions training{.training = true, .seed = 1, .step = 2};
  const auto result = gradcheck([&] { return cross_entropy(model(Var<double>(x), texts, training), labels); }, inputs);
  CHECK_MESSAGE(result.ok, result.message);
  TextCnn<> paper({.size = 300}, 2, {}, 1);
  CHECK(count(paper.parameters()) == 3600 * 100 + 300 + 300 * 2 + 2);
}

TEST_CASE("TextCnn: a text depends on neither its batch nor zeros behind it") {
  TextCnn<double> model(small_cnn, 2, {}, 3);
  const Var<double> x(Tensor<double>::from({1, 2, 3, -4, 5, 6, 7, -8, 9}, {3, 3}));
  const auto alone = model(slice_rows(x, 0, 1), offsets_of({1})).value();
  const auto both = model(x, offsets_of({1, 2})).value();
  for (std::size_t c = 0; c < 2; ++c) CHECK(alone.at(0, c) == doctest::Approx(both.at(0, c)).epsilon(1e-12));
  // A window over zeros alone has the value relu(b), so zeros behind a text can only raise a maximum to that.
  auto parameters = model.parameters();
  for (auto& p : parameters)
    if (p.name.ends_with("bias")) p.var.mutable_value().assign(std::vector<double>(p.var.size(), 0.0));
  const auto short_text = model(x, offsets_of({3})).value();
  const auto padded = model(concat_rows(std::vector{x, Var<double>(Tensor<double>::zeros({4, 3}))}), offsets_of({7})).value();
  for (std::size_t c = 0; c < 2; ++c) CHECK(short_text.at(0, c) == doctest::Approx(padded.at(0, c)).epsilon(1e-12));
}

TEST_CASE("WordTexts: words at whitespace, in lower case, cut at max_length") {
  const auto texts = film_texts();
  const WordTexts words(texts, 4);
  CHECK(words.words() == std::vector<std::string>{"good", "film", "bad", "a", WordTexts::no_word});
  CHECK(std::vector<std::size_t>(words.lengths().begin(), words.lengths().end()) == std::vector<std::size_t>{2, 1, 4, 1});
  const std::vector<std::size_t> chosen{2, 0, 3};
  const auto batch = words.batch(chosen);
  CHECK(batch.ids == std::vector<std::int32_t>{3, 1, 0, 0, 0, 1, 4});
  CHECK(batch.labels == std::vector<std::int32_t>{1, 1, 0});
  CHECK(batch.offsets.length(0) == 4);
  CHECK(WordTexts(texts, 9, false).words()[0] == "Good");
  CHECK_THROWS_WITH(words.batch(std::vector<std::size_t>{4}), doctest::Contains("text 4 of 4"));
  CHECK_THROWS_WITH(WordTexts(texts, 0), doctest::Contains("max_length is 0"));
}

TEST_CASE("TextCnn: texts, evaluation, saving and loading") {
  const auto examples = film_texts();
  TextCnn<> model(small_cnn, 2, {"no", "yes"}, 3);
  CHECK_THROWS_WITH(model.logits(examples), doctest::Contains("call provide()"));
  model.provide(film_vectors());
  const auto logits = model.logits(examples, 2);
  // By hand: rows of words, zeros for those without a vector.
  const Var<> x(Tensor<float>::from({1, 0, 2, 0, 3, -2, -1, 1, 0, 0, 0, 0, 0, 3, -2, 1, 0, 2, 1, 0, 2, 0, 0, 0, 0, 0, 0}, {9, 3}));
  const auto expected = model(x, offsets_of({2, 1, 5, 1})).value();
  for (std::size_t i = 0; i < 8; ++i) CHECK(logits.data()[i] == doctest::Approx(static_cast<double>(expected.data()[i])).epsilon(1e-6));
  const auto e = evaluate(model, "t.tsv", examples, std::nullopt, 3);
  CHECK(e.primary == "accuracy");
  std::size_t right = 0;
  for (std::size_t i = 0; i < 4; ++i) right += (logits.at(i, 1) >= logits.at(i, 0)) == (examples[i].label == 1) ? 1u : 0u;
  CHECK(e.value("accuracy") == doctest::Approx(static_cast<double>(right) / 4));

  const auto file = model.file();
  CHECK(file.tensors.names().size() == 6);  // without the vectors
  TextCnn<> again(file);
  CHECK(again.task().label_names == std::vector<std::string>{"no", "yes"});
  expect_error(
      ErrorKind::usage, [&] { again.provide(film_vectors(2)); }, "was trained on other vectors: 3 words of 3 numbers, crc32");
  again.provide(film_vectors());
  const auto same = again.logits(examples, 4);
  CHECK(
      std::equal(same.span().begin(), same.span().end(), logits.span().begin(), [](float a, float b) { return std::abs(a - b) < 1e-6f; }));
  const auto imputed = std::make_shared<const StaticVectors>(WordVectors({"a"}, Tensor<float>::from({1, 2}, {1, 2})), std::nullopt);
  expect_error(
      ErrorKind::usage, [&] { again.provide(imputed); }, "reads vectors of 3 numbers, those given have 2");
}

TEST_CASE("TextCnn: errors") {
  const auto make = [](TextCnnOptions o, std::size_t classes, std::vector<std::string> names) {
    TextCnn<>(o, classes, std::move(names), 1);
  };
  expect_error(
      ErrorKind::usage, [&] { make(small_cnn, 1, {}); }, "1 classes");
  expect_error(
      ErrorKind::usage, [&] { make(small_cnn, 2, {"a"}); }, "2 classes with 1 names");
  expect_error(
      ErrorKind::usage, [&] { make({.first_width = 4, .last_width = 3}, 2, {}); }, "first_width is 4, more than last_width, 3");
  const auto refused = [](const std::function<void(ModelFile&)>& damage, const std::string& message) {
    TextCnn<> model(small_cnn, 2, {}, 3);
    model.provide(film_vectors());
    auto file = model.file();
    damage(file);
    expect_error(
        ErrorKind::file, [&] { TextCnn<> damaged(file); }, message);
  };
  refused([](ModelFile& f) { f.config["model_type"] = "bos"; }, "is no text_cnn model");
  refused([](ModelFile& f) { f.config["lexformer"]["text_cnn"]["filters"] = 1 << 16; }, "text_cnn.convolution.2.weight");
  refused([](ModelFile& f) { f.config["lexformer"]["text_cnn"]["first_width"] = 4; }, "first_width is 4, more than last_width, 3");
  refused([](ModelFile& f) { f.config["lexformer"]["labels"] = 3u; }, "text_cnn.output.weight");
  refused([](ModelFile& f) { f.config["lexformer"]["label_names"] = Json::array({"a"}); }, "'label_names' has 1 names, 'labels' is 2");
  refused([](ModelFile& f) { f.tensors.erase("text_cnn.output.bias"); }, "text_cnn.output.bias");
  refused([](ModelFile& f) { f.tensors.set("other", Tensor<float>::from({1}, {1})); }, "holds tensors that its options do not use: other");
}
