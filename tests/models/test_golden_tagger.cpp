// SPDX-License-Identifier: MIT
// The conditional random field and the taggers against PyTorch and transformers (tests/oracles/make_golden_tagger.py), in double.
#include <doctest/doctest.h>

#include "lexformer/models/lstm_tagger.hpp"
#include "lexformer/models/transformer_tagger.hpp"
#include "models/golden.hpp"

using namespace lexformer;
using test::Golden;

namespace {

using Texts = std::vector<std::string>;

Offsets lengths_of(const Golden& golden, const std::string& name) {
  const auto lengths = golden.integers(name);
  return Offsets::from_lengths(std::vector<std::size_t>(lengths.begin(), lengths.end()));
}
std::vector<std::size_t> all_rows(const TagData& data) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < data.size(); ++i) rows.push_back(i);
  return rows;
}

/// The sentences of a file of an encoder as its tagger prepares them.
TransformerTagger<double>::Data golden_data(const Golden& golden) {
  const auto ids = golden.integers("ids"), types = golden.integers("types"), tokens = golden.integers("tokens"),
             labels = golden.integers("labels");
  const auto sequences = lengths_of(golden, "lengths"), words = lengths_of(golden, "words");
  TransformerTagger<double>::Data data;
  for (std::size_t s = 0; s < sequences.sequences(); ++s) {
    Encoding encoding;
    for (std::size_t i = sequences.begin(s); i < sequences.begin(s + 1); ++i) {
      encoding.ids.push_back(ids[i]);
      encoding.type_ids.push_back(static_cast<std::uint8_t>(types[i]));
      encoding.word_ids.push_back(0);
    }
    data.encodings.push_back(std::move(encoding));
    data.sentence.push_back(s);
    data.lengths.push_back(sequences.length(s));
    data.words.emplace_back(words.length(s));
    auto& of_sentence = data.labels.emplace_back();
    auto& inputs = data.inputs.emplace_back();
    for (std::size_t w = words.begin(s); w < words.begin(s + 1); ++w) {
      of_sentence.push_back(labels[w]);
      inputs.push_back(tokens[w] - static_cast<std::int32_t>(sequences.begin(s)));
    }
  }
  return data;
}

}  // namespace

TEST_CASE("conditional random field: loss, gradients and best paths, as enumerated in PyTorch") {
  Golden golden("crf");
  const auto leaf = [&](const char* name) { return Var<double>(golden.file.get<double>(name), true); };
  const auto emissions = leaf("emissions"), transitions = leaf("transitions"), start = leaf("start"), end = leaf("end");
  const auto offsets = lengths_of(golden, "lengths");
  const auto labels = golden.integers("labels");
  const auto loss = crf_loss(emissions, offsets, labels, transitions, start, end);
  golden.check("loss", loss.value());
  loss.backward();
  golden.check("gradient/emissions", emissions.grad());
  golden.check("gradient/transitions", transitions.grad());
  golden.check("gradient/start", start.grad());
  golden.check("gradient/end", end.grad());
  CHECK(crf_decode(emissions, offsets, transitions, start, end) == golden.integers("best"));
}

TEST_CASE("LstmTagger: emissions, losses, gradients, ten steps and tags, as written out in PyTorch") {
  for (const char* name : {"lstm_tagger", "lstm_tagger_layers"}) {
    CAPTURE(name);
    Golden golden(name);
    LstmTaggerOptions options;
    read_options(golden.about("options").dump(), "options", [&](OptionVisitor& v) { options.visit(v); });
    LstmTagger<double> model(TagLabels(golden.about("labels").get<Texts>()), options, 1);
    auto parameters = model.parameters();
    CHECK(test::count_names(golden.file, "start/") == parameters.size());
    for (auto& p : parameters) p.var.mutable_value().assign(golden.file.get<double>("start/" + p.name).span());
    WordVectors known(golden.about("known").get<Texts>(), golden.file.get<float>("vectors"));
    model.provide(std::make_shared<const StaticVectors>(std::move(known), std::nullopt));

    const auto words = golden.about("words").get<std::vector<Texts>>(), tags = golden.about("tags").get<std::vector<Texts>>();
    std::vector<TaggedSentence> sentences;
    for (std::size_t s = 0; s < words.size(); ++s) sentences.push_back({words[s], tags[s]});
    const auto data = model.prepare(sentences, true);
    const auto batch = model.batch(data, all_rows(data));
    golden.check("emissions", model.emissions(batch).value());
    AdamW<double> optimizer(parameters, {.lr = 2e-3, .eps = 1e-8, .weight_decay = 0});
    std::vector<double> losses;
    for (std::size_t k = 0; k < 10; ++k) {
      const auto loss = model.loss(batch, {.training = true, .seed = 1, .step = static_cast<std::uint32_t>(k)});
      losses.push_back(loss.item());
      loss.backward();
      if (k == 0)
        for (const auto& p : parameters) golden.check("gradient/" + p.name, p.var.grad());
      clip_grad_norm(parameters, 1.0);
      optimizer.step();
    }
    golden.check("losses", Tensor<double>::from(losses, {10}));
    for (const auto& p : parameters) golden.check("end/" + p.name, p.var.value());
    golden.check("end_emissions", model.emissions(batch).value());
    CHECK(predict_tags(model, sentences, 3) == golden.about("best").get<std::vector<Texts>>());

    // Saved and opened again.
    const TemporaryFolder folder;
    model.save(folder / "model.lxf");
    auto again = LstmTagger<double>::load(folder / "model.lxf");
    CHECK(again.labels().names() == model.labels().names());
    CHECK(again.options().projection == options.projection);
    golden.check("end_emissions", again.emissions(batch).value());
  }
}

TEST_CASE("TransformerTagger: logits, gradients and ten steps of transformers' models for token classification") {
  const test::Threads one(1);
  for (const std::string name : {"bert_tagger", "bert_tagger_crf", "electra_tagger"}) {
    CAPTURE(name);
    Golden golden(name);
    auto file = golden.model();
    if (name == "bert_tagger_crf") file.config["lexformer"]["tagger"]["crf"] = true;
    TransformerTagger<double> model(file);
    CHECK(model.labels().names() == Texts{"O", "B-LOC", "I-LOC", "B-PER", "I-PER"});
    CHECK(model.unused_tensors().empty());
    CHECK(test::count_names(golden.file, "gradient/") == model.parameters().size());
    const auto data = golden_data(golden);
    const auto batch = model.batch(data, all_rows(data));
    golden.check("logits", model.logits(batch).value());
    golden.check_steps(model, ScheduleKind::linear, [&](std::uint32_t) { return model.loss(batch); });
    golden.check("end_logits", model.logits(batch).value());

    const TemporaryFolder folder;
    model.save(folder / "model.lxf");
    const auto again = TransformerTagger<double>::load(folder / "model.lxf");
    CHECK(again.options().crf == (name == "bert_tagger_crf"));
    golden.check("end_logits", again.logits(batch).value());
  }
}
