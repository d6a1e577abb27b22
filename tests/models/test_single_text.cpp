// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "lexformer/train/evaluation.hpp"
#include "models/tiny.hpp"

using namespace lexformer;
using test::same_bits;
using test::tiny_file;
using test::tiny_model;

namespace {

const std::vector<std::string> single_texts = {"sony black camera", "a screen", "", "lens case for a book and many words that do not fit",
                                               "silent"};

std::vector<PairExample> examples_of(const std::vector<std::int32_t>& labels) {
  std::vector<PairExample> examples;
  for (std::size_t i = 0; i < single_texts.size(); ++i) examples.push_back({single_texts[i], "", labels[i], static_cast<float>(i)});
  return examples;
}

}  // namespace

TEST_CASE("models of single texts: a text is [CLS] text [SEP]; the number of texts is saved") {
  const test::Threads one(1);
  const TemporaryFolder folder;
  auto model = tiny_model<float>({.task = {.labels = 3, .texts = 1}, .max_length = 8});
  const auto logits = model.logits(single_texts);
  REQUIRE(logits.shape() == Shape{5, 3});
  for (std::size_t i = 0; i < single_texts.size(); ++i) {
    const auto encoding = model.tokenizer().encode(single_texts[i], 8);
    CHECK(model.encode(single_texts[i], "not read").ids == encoding.ids);
    const auto alone = model(model.batch(std::span(&encoding, 1))).logits.value();
    for (std::size_t c = 0; c < 3; ++c) CHECK(alone.at(0, c) == doctest::Approx(static_cast<double>(logits.at(i, c))).epsilon(1e-5));
  }
  CHECK(same_bits(model.logits(examples_of({0, 1, 2, 0, 1})), logits));
  const auto p = model.probabilities(single_texts);
  const auto classes = model.predict(single_texts, 2);
  for (std::size_t i = 0; i < single_texts.size(); ++i) {
    CHECK(p.at(i, 0) + p.at(i, 1) + p.at(i, 2) == doctest::Approx(1));
    for (std::size_t c = 0; c < 3; ++c) CHECK(p.at(i, static_cast<std::size_t>(classes[i])) >= p.at(i, c));
  }
  model.save(folder / "m.lxf");
  const auto back = CrossEncoder<float>::load(folder / "m.lxf");
  CHECK(back.task().texts == 1);
  CHECK(same_bits(back.logits(single_texts), logits));
  // A model of pairs does not mention it, and can start from one of single texts.
  auto of_pairs = CrossEncoder<float>(ModelFile::open(folder / "m.lxf"), CrossEncoderOptions{});
  CHECK_FALSE(of_pairs.file().config->at("lexformer").contains("texts"));
  CHECK(of_pairs.logits(test::pairs).dim(0) == test::pairs.size());
}

TEST_CASE("predict: a probability that equals the threshold is a match, as in the metrics") {
  const test::Threads one(1);
  auto model = tiny_model<float>({});
  const auto scores = model.scores_of(model.logits(test::pairs));
  model.threshold = scores[0];
  const auto classes = model.predict(test::pairs);
  CHECK(classes[0] == 1);
  std::vector<std::int32_t> found(classes.begin(), classes.end());
  CHECK(count_binary(scores, found, scores[0]).accuracy() == 1);
}

TEST_CASE("models of single texts: two classes are measured by accuracy at argmax, without a threshold of their own") {
  const test::Threads one(1);
  auto model = tiny_model<float>({.task = {.texts = 1}});
  CHECK_FALSE(model.task().has_threshold());
  CHECK(Task{}.has_threshold());
  const auto classes = model.predict(single_texts);
  std::vector<std::int32_t> labels;
  for (const double c : classes) labels.push_back(static_cast<std::int32_t>(c));
  labels[0] = 1 - labels[0];
  const auto e = evaluate(model, "t.tsv", examples_of(labels), std::nullopt, 2);
  CHECK(e.primary == "accuracy");
  CHECK(e.value("accuracy") == doctest::Approx(0.8));
  CHECK(e.value("threshold") == 0.5);
  CHECK(main_metrics(e) == std::vector<std::string>{"accuracy", "f1", "precision", "recall", "average_precision"});
  CHECK(evaluate(model, "t.tsv", examples_of(labels), 0.99, 2).metrics == e.metrics);
  const auto regression = tiny_model<float>({.task = {.kind = TaskKind::regression, .labels = 1, .texts = 1}});
  CHECK(evaluate(regression, "t.tsv", examples_of(labels), std::nullopt, 2).primary == "spearman");
  CHECK(primary_metric({.labels = 3}) == "accuracy");
  CHECK(primary_metric({}) == "f1");
}

TEST_CASE("models of single texts: attention terms that need no pair work, the others are refused") {
  const test::Threads one(1);
  for (const std::string term : {"lea", "dafa", "uerbert"})
    expect_error(
        ErrorKind::usage, [&] { CrossEncoder<double>(tiny_file(), {.attention = {term}, .task = {.texts = 1}}); },
        "CrossEncoder: the attention term '" + term + "' compares the words of two texts; a model of single texts cannot have it");
  for (const TermConfig& term :
       {TermConfig("lea", LeaOptions{.lexical = {.self_attention = true}}), TermConfig("syntax"), TermConfig("ddrp")}) {
    CAPTURE(term.name);
    CrossEncoder<double> model(tiny_file(), {.attention = {term}, .task = {.texts = 1}});
    model.provide(test::tiny_knowledge());
    const std::vector<std::string> two{"a black screen", "lens case"};
    std::vector<Encoding> encodings;
    for (const auto& text : two) encodings.push_back(model.encode(text, {}));
    model.calibrate(model.batch(encodings));
    const auto y = model.logits(two);
    CHECK(std::all_of(y.span().begin(), y.span().end(), [](double x) { return std::isfinite(x); }));
  }
}

TEST_CASE("models of single texts: what does not fit is refused") {
  const test::Threads one(1);
  const auto usage = [](const auto& body, const std::string& message) { expect_error(ErrorKind::usage, body, message); };
  const auto single = tiny_model<float>({.task = {.texts = 1}}), of_pairs = tiny_model<float>();
  usage([&] { single.predict(test::pairs); }, "CrossEncoder: the model reads single texts, not pairs");
  usage([&] { of_pairs.predict(single_texts); }, "CrossEncoder: the model reads pairs of texts, not single ones");
  usage([] { tiny_model({.task = {.texts = 3}}); }, "CrossEncoder: an example has 1 or 2 texts, not 3");
  usage([] { tiny_model({.task = {.texts = 1}, .max_length = 2}); },
        "CrossEncoder: max_length 2 leaves no room for a text; the least is 3");
  CHECK(tiny_model({.task = {.texts = 1}, .max_length = 3}).options().max_length == 3);
  const TemporaryFolder folder;
  auto file = tiny_model<float>({.task = {.texts = 1}}).file();
  for (const Json& bad : {Json(0), Json(3), Json("1")}) {
    file.config["lexformer"]["texts"] = bad;
    file.save(folder / "m.lxf");
    expect_file_error([&] { CrossEncoder<float>::load(folder / "m.lxf"); }, "config: 'texts' is ");
  }
}
