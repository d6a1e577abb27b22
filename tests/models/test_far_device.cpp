// SPDX-License-Identifier: MIT
// Only kernels access tensors: whole models, their training and their files are bit-identical to the CPU's on a device whose memory the
// host cannot read.
#include "../support/far_device.hpp"
#include "lexformer/models/analysis.hpp"
#include "lexformer/models/lstm_tagger.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "lexformer/models/mth.hpp"
#include "lexformer/models/text_cnn.hpp"
#include "lexformer/ops/contrastive_loss.hpp"
#include "lexformer/train/state.hpp"
#include "lexformer/words/love_encoder.hpp"
#include "models/tiny.hpp"

using namespace lexformer;

namespace {

/// All contents of a file by name.
std::map<std::string, std::string> bytes_of(const TensorFile& file) {
  std::map<std::string, std::string> all;
  for (const auto& name : file.names()) all.emplace(name, file.bytes(name));
  return all;
}

struct Trained {
  std::vector<double> numbers;
  std::map<std::string, std::string> weights, moments;
  friend bool operator==(const Trained&, const Trained&) = default;
};

/// Three steps; the optimizer is saved and loaded before the last one.
template <class Dev, class Model, class Loss>
Trained train(Model& model, const Loss& loss_at) {
  Trained out;
  auto parameters = model.parameters();
  AdamW<float, Dev> optimizer(parameters, {.lr = 0.01, .weight_decay = 0.1});
  for (std::uint32_t step = 0; step < 3; ++step) {
    if (step == 2) optimizer.load_state(read_optimizer_tensors(optimizer_tensors(optimizer), optimizer, "moments"));
    const std::size_t downloads = Memory<Far>::downloads;
    const auto loss = loss_at(ForwardOptions{.training = true, .seed = 1, .step = step});
    loss.backward();
    const auto norm = optimizer.clip_and_step(0.5, loss.value());
    CHECK(Memory<Far>::downloads == downloads);
    out.numbers.push_back(static_cast<double>(loss.item()));
    out.numbers.push_back(norm.item());
  }
  out.weights = bytes_of(model.file().tensors);
  out.moments = bytes_of(optimizer_tensors(optimizer));
  return out;
}

template <class Dev>
Trained train_lstm_tagger() {
  LstmTagger<float, Dev> model(TagLabels(std::vector<std::string>{"O", "B-x", "I-x"}),
                               {.size = 2, .projection = 3, .states = 4, .layers = 2}, 1);
  WordVectors known({"oslo", "new"}, Tensor<float>::from({1, 2, 3, 4}, {2, 2}));
  model.provide(std::make_shared<const StaticVectors>(std::move(known), std::nullopt));
  const std::vector<TaggedSentence> sentences{{{"New", "Oslo", "is"}, {"B-x", "I-x", "O"}}, {{"Oslo"}, {"B-x"}}};
  const std::vector<std::size_t> rows{0, 1};
  const auto batch = model.batch(model.prepare(sentences, true), rows);
  auto out = train<Dev>(model, [&](const ForwardOptions& forward) { return model.loss(batch, forward); });
  for (const std::int32_t label : model.decode(batch)) out.numbers.push_back(label);
  return out;
}

template <class Dev>
Trained train_matcher(const test::Variant& variant) {
  CrossEncoder<float, Dev> model(test::tiny_file(variant.edit), variant.options);
  const auto batch = test::tiny_batch(test::tiny_model<float>(variant.options, variant.edit));
  model.calibrate(batch, {.training = true, .seed = 1});
  auto out = train<Dev>(model, [&](const ForwardOptions& forward) { return test::loss_of(model, batch, forward); });
  test::provide(model);
  for (const double score : model.predict(test::pairs, 3)) out.numbers.push_back(score);
  return out;
}

template <class Dev>
Trained pretrain() {
  MaskedLm<float, Dev> model(test::tiny_file({{"position_embedding_type", "t5"}}), TrainingStart{.seed = 1});
  std::vector<Encoding> texts;
  for (const auto& [left, right] : test::pairs) texts.push_back(model.tokenizer().encode_pair(left, right, 20));
  const auto batch = make_batch(texts);
  const std::vector<std::int32_t> positions{1, 2, 9, 12}, labels{7, 8, 3, 20};
  const Mth<float, Dev> mth({.token_weight = 1, .head_weight = 0.5, .tokens = 3}, 2, 3);
  model.calibrate(batch, {.training = true, .seed = 1});
  auto out = train<Dev>(model, [&](const ForwardOptions& forward) {
    const auto y = model(batch, positions, labels, forward, mth.encode(forward));
    return mth.add_to(y.loss, mth.losses(y.encoder, batch.offsets, forward));
  });
  for (const float x : model.logits(batch, positions).value().to_vector()) out.numbers.push_back(static_cast<double>(x));
  const auto figures = encoder_figures(model, texts);
  out.numbers.push_back(figures.token_similarity);
  out.numbers.push_back(figures.up_down);
  out.numbers.insert(out.numbers.end(), figures.head_similarity.begin(), figures.head_similarity.end());
  return out;
}

template <class Dev>
std::vector<double> train_love(const LoveOptions& options) {
  LoveEncoder<float, Dev> encoder(options, 1);
  const Indices<std::int32_t, Dev> ids(std::vector<std::int32_t>{2, 7, 8, 5, 9, 3, 2, 8, 5, 6, 3});
  const std::vector<std::size_t> lengths{6, 5};
  const std::vector<std::int32_t> words{0, 1};
  const auto offsets = Offsets::from_lengths(lengths);
  const Var<float, Dev> targets(Tensor<float, Dev>::from({1, 2, 3, 4, 5, 6, 7, 8, 8, -7, 6, -5, 4, -3, 2, -1}, {2, 8}));
  AdamW<float, Dev> optimizer(named_parameters<float, Dev>(encoder), {.lr = 0.01});
  std::vector<double> numbers;
  for (std::uint32_t step = 0; step < 3; ++step) {
    const auto y = encoder(ids, offsets, {.training = true, .seed = 1, .step = step});
    const auto loss = add(nt_xent(targets, y, words, 0.07), align_uniform(targets, y, 1.0));
    loss.backward();
    numbers.push_back(optimizer.clip_and_step(1.0, loss.value()).item());
    numbers.push_back(static_cast<double>(loss.item()));
  }
  for (const float x : encoder(ids, offsets).value().to_vector()) numbers.push_back(static_cast<double>(x));
  return numbers;
}

template <class Dev>
Trained train_text_cnn() {
  const std::vector<PairExample> texts{{"a good film", "", 1}, {"bad", "", 0}, {"bad film a", "", 0}};
  TextCnn<float, Dev> model({.size = 3, .filters = 2}, 2, {}, 1);
  model.provide(std::make_shared<const StaticVectors>(
      WordVectors({"good", "bad", "film"}, Tensor<float>::from({1, 0, 2, -1, 1, 0, 0, 3, -2}, {3, 3})), std::nullopt));
  const WordTexts words(texts, 10);
  const Var<float, Dev> table(model.table(words.words()));
  const auto batch = words.batch(std::vector<std::size_t>{2, 0, 1});
  auto out = train<Dev>(model, [&](const ForwardOptions& forward) { return cross_entropy(model(table, batch, forward), batch.labels); });
  const auto logits = model.logits(texts, 2);
  for (const float x : logits.span()) out.numbers.push_back(static_cast<double>(x));
  return out;
}

}  // namespace

TEST_CASE("a CNN over word vectors is trained, saved and used on a device whose memory the host cannot read, bit for bit as on the CPU") {
  const test::Threads one(1);
  CHECK(train_text_cnn<Far>() == train_text_cnn<Cpu>());
}

TEST_CASE("LOVE is trained on a device whose memory the host cannot read, bit for bit as on the CPU") {
  const test::Threads one(1);
  const auto check = [](const LoveOptions& options) { CHECK(train_love<Far>(options) == train_love<Cpu>(options)); };
  for (const auto structure : {LoveStructure::sequential, LoveStructure::merge})
    check(
        {.size = 8, .rows = 10, .rank = structure == LoveStructure::merge ? 3u : 0u, .query_size = 4, .heads = 2, .structure = structure});
  for (const auto encoder : {LoveEncoderKind::attention, LoveEncoderKind::cnn, LoveEncoderKind::rnn})
    check({.size = 8, .rows = 10, .encoder = encoder});
}

TEST_CASE("matchers are trained, saved and used on a device whose memory the host cannot read, bit for bit as on the CPU") {
  const test::Threads one(1);
  for (const auto& variant : test::variants()) {
    CAPTURE(variant.name);
    CHECK(train_matcher<Far>(variant) == train_matcher<Cpu>(variant));
  }
}

TEST_CASE("a masked language model is trained, with regularizers, on such a device bit for bit as on the CPU") {
  const test::Threads one(1);
  CHECK(pretrain<Far>() == pretrain<Cpu>());
}

TEST_CASE("LstmTagger has the same bits on a device whose memory the host cannot read") {
  const test::Threads one(1);
  CHECK(train_lstm_tagger<Far>() == train_lstm_tagger<Cpu>());
}
