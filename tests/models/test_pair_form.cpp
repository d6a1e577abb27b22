// SPDX-License-Identifier: MIT
// Cross-encoders on decoders: the forms of a pair, both orders, and a decoder made bidirectional.
#include <doctest/doctest.h>

#include <cmath>

#include "lexformer/train/matcher.hpp"
#include "models/tiny.hpp"

using namespace lexformer;
using test::same_bits;

namespace {

CrossEncoderOptions decoder_options(PairForm form, Head head = Head::huggingface) {
  return {.attention = {{"lea", LeaOptions{.dimension = 6, .last_layer = 2}}}, .head = head, .max_length = 40, .pair_form = form};
}

CrossEncoder<double> decoder(const CrossEncoderOptions& options, const ModelFile& file = test::tiny_decoder()) {
  CrossEncoder<double> model(file, options);
  model.calibrate(test::tiny_batch(model));
  return model;
}

std::vector<PairExample> examples() {
  std::vector<PairExample> all;
  for (std::size_t i = 0; i < test::pairs.size(); ++i) all.push_back({test::pairs[i].first, test::pairs[i].second, test::labels[i]});
  return all;
}

CrossEncoder<double> saved(CrossEncoder<double>& model) {
  return CrossEncoder<double>(ModelFile::parse(model.file().bytes(), "again.lxf"));
}

/// Whether the hidden state of the first token depends on the last one.
bool sees_later(const CrossEncoder<double>& model) {
  auto batch = test::tiny_batch(model, 0, 1);
  const auto first = [&] { return model(batch).encoder.last.value().slice(0, 1).to_vector(); };
  const auto before = first();
  batch.ids.back() = 7;
  return first() != before;
}

}  // namespace

TEST_CASE("pair form: it is stored with the model, and scores are the same after loading") {
  const test::Threads one(1);
  for (const PairForm form : {PairForm::plain, PairForm::separated, PairForm::repeated})
    for (const Head head : {Head::huggingface, Head::paper}) {
      CAPTURE(name_of(form));
      auto model = decoder(decoder_options(form, head));
      auto again = saved(model);
      CHECK(again.tokenizer().options().pair_form == form);
      CHECK(again.tokenizer().options().pair_separator == (form == PairForm::plain ? "" : "[SEP]"));
      CHECK(same_bits(model.logits(examples()), again.logits(examples())));
      CHECK(again.encode("sony camera", "case").size() == (form == PairForm::plain ? 3 : form == PairForm::separated ? 5 : 8));
      // A training that starts from it keeps the form unless it is named.
      auto options = again.options();
      CHECK(CrossEncoder<double>(model.file(), options).tokenizer().options().pair_form == form);
      options.pair_form = PairForm::plain;
      CHECK(CrossEncoder<double>(model.file(), options).encode("sony camera", "case").size() == 3);
    }
}

TEST_CASE("pair form: a decoder reads its last token, and the repeated left text sees the right one") {
  const test::Threads one(1);
  for (const Head head : {Head::huggingface, Head::paper}) {
    auto model = decoder(decoder_options(PairForm::repeated, head));
    CHECK_FALSE(sees_later(model));
    // The state of the last word of the second copy, with another right text.
    const auto state = [&](const std::string& right, std::size_t from_end) {
      const std::vector<Encoding> pair{model.encode("sony camera", right)};
      const auto y = model(model.batch(pair)).encoder.last.value();
      return y.slice(y.dim(0) - from_end, y.dim(0) - from_end + 1).to_vector();
    };
    CHECK(state("case", 2) != state("lens", 2));
    const auto first = [&](const std::string& right) {
      const std::vector<Encoding> pair{model.encode("sony camera", right)};
      return model(model.batch(pair)).encoder.last.value().slice(0, 2).to_vector();
    };
    CHECK(first("case") == first("lens"));
  }
  // Logits are those of the last token alone: the head of the hidden states, by hand.
  auto model = decoder(decoder_options(PairForm::separated));
  const auto batch = test::tiny_batch(model);
  const auto y = model(batch);
  for (const auto& p : model.state()) {
    if (p.name != "score.weight") continue;
    for (std::size_t s = 0; s < batch.size(); ++s)
      for (std::size_t c = 0; c < 2; ++c) {
        double sum = 0;
        for (std::size_t k = 0; k < 12; ++k) sum += p.var.value().at(c, k) * y.encoder.last.value().at(batch.offsets.begin(s + 1) - 1, k);
        CHECK(y.logits.value().at(s, c) == doctest::Approx(sum).epsilon(1e-12));
      }
  }
}

TEST_CASE("pair form: alpha is measured over pairs that a decoder sees") {
  const test::Threads one(1);
  for (const LeaAlpha rule : {LeaAlpha::query, LeaAlpha::magnitude}) {
    auto options = decoder_options(PairForm::repeated);
    options.attention = {{"lea", LeaOptions{.dimension = 6, .alpha = rule, .last_layer = 2}}};
    // change: of the codes of pairs of tokens (i, j)
    const auto alphas = [&](const std::function<bool(std::size_t, std::size_t)>& change) {
      CrossEncoder<double> model(test::tiny_decoder(), options);
      Batch batch = test::tiny_batch(model);
      auto& codes = std::get<Codes>(batch.features.at("lexical").values);
      for (std::size_t s = 0; s < batch.size(); ++s)
        for (std::size_t i = 0, n = batch.offsets.length(s); i < n; ++i)
          for (std::size_t j = 0; j < n; ++j)
            if (change(i, j))
              codes.codes[batch.offsets.pair_begin(s) + i * n + j] = static_cast<std::uint16_t>((i + j) % codes.levels.size());
      CHECK(model.calibrate(batch));
      std::vector<double> found;
      for (const auto& p : model.state())
        if (p.name.ends_with(".alpha")) found.push_back(p.var.item());
      CHECK(found.size() == 2);
      return found;
    };
    const auto measured = alphas([](std::size_t, std::size_t) { return false; });
    CHECK(alphas([](std::size_t i, std::size_t j) { return j > i; }) == measured);
    if (rule == LeaAlpha::magnitude) CHECK(alphas([](std::size_t i, std::size_t j) { return j < i; }) != measured);
  }
}

TEST_CASE("pair form: with both orders, logits are the mean of two pairs, in training and scoring") {
  const test::Threads one(1);
  auto options = decoder_options(PairForm::separated);
  auto single = decoder(options);
  options.orders = PairOrders::both;
  CrossEncoder<double> model(single.file(), options);
  auto turned = examples();
  for (auto& e : turned) std::swap(e.left, e.right);
  const auto a = single.logits(examples()), b = single.logits(turned), both = model.logits(examples());
  for (std::size_t i = 0; i < both.size(); ++i) CHECK(both.data()[i] == doctest::Approx((a.data()[i] + b.data()[i]) / 2).epsilon(1e-12));
  CHECK(same_bits(both, model.logits(turned)));
  CHECK(same_bits(both, saved(model).logits(examples())));
  std::size_t scored = 0;
  model.logits(examples(), 3, [&](std::size_t n) { scored += n; });
  CHECK(scored == examples().size());

  const PairDataset data(examples(), model);
  const std::vector<std::size_t> rows{4, 1, 6};
  const Batch batch = data.batch(0, rows);
  CHECK(batch.size() == 6);
  CHECK(batch.labels == std::vector<std::int32_t>{1, 0, 0});
  CHECK(batch.index == rows);
  const auto trained = model.example_logits(batch).value();
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t c = 0; c < 2; ++c) CHECK(trained.at(i, c) == doctest::Approx(both.at(rows[i], c)).epsilon(1e-12));

  MatcherSettings settings;
  settings.epochs = 1;
  settings.batch = 3;
  CrossEncoder<float> small(test::tiny_decoder(), options);
  const ExampleSet set{"pairs", examples()};
  CHECK(train_matcher(small, set, set, settings).run.samples == examples().size());
}

TEST_CASE("pair form: a decoder made bidirectional sees all tokens, reads their mean, and stays so") {
  const test::Threads one(1);
  for (const bool windows : {false, true})
    for (const Head head : {Head::huggingface, Head::paper}) {
      const Json neo =
          windows ? Json{{"attention_types", Json::array({Json::array({Json::array({"global", "local"}), 1u})})}, {"window_size", 3u}}
                  : Json();
      ModelFile file = test::tiny_decoder();
      if (windows) {
        file = test::random_file({{"model_type", "gpt_neo"},
                                  {"vocab_size", 40u},
                                  {"hidden_size", 12u},
                                  {"num_layers", 2u},
                                  {"num_heads", 3u},
                                  {"intermediate_size", 10u},
                                  {"max_position_embeddings", 40u},
                                  {"attention_types", neo["attention_types"]},
                                  {"window_size", 3u}},
                                 1);
      }
      auto options = decoder_options(PairForm::plain, head);
      auto causal = decoder(options, file);
      options.bidirectional = true;
      auto model = decoder(options, file);
      CHECK_FALSE(sees_later(causal));
      CHECK(sees_later(model));
      CHECK_FALSE(model.config().causal());
      CHECK(same_bits(model.logits(examples()), saved(model).logits(examples())));
      options.bidirectional = false;
      CHECK(sees_later(CrossEncoder<double>(model.file(), options)));
    }
  // The mean of all tokens.
  auto options = decoder_options(PairForm::plain);
  options.bidirectional = true;
  auto model = decoder(options);
  const auto batch = test::tiny_batch(model, 0, 1);
  const auto y = model(batch);
  for (const auto& p : model.state()) {
    if (p.name != "score.weight") continue;
    double sum = 0;
    for (std::size_t t = 0; t < batch.ids.size(); ++t)
      for (std::size_t k = 0; k < 12; ++k)
        sum += p.var.value().at(1, k) * y.encoder.last.value().at(t, k) / static_cast<double>(batch.ids.size());
    CHECK(y.logits.value().at(0, 1) == doctest::Approx(sum).epsilon(1e-12));
  }
}

TEST_CASE("pair form: what does not fit a model is refused in one line") {
  const auto refused = [](const ModelFile& file, CrossEncoderOptions options, const std::string& message) {
    CAPTURE(message);
    expect_error(
        ErrorKind::usage, [&] { CrossEncoder<double>(file, options); }, message);
  };
  const ModelFile encoder = test::tiny_file(), gpt = test::tiny_decoder();
  refused(encoder, {.pair_form = PairForm::separated},
          "pair_form: separated adds tokens after both texts, but this tokenizer has them already");
  refused(encoder, {.pair_form = PairForm::repeated},
          "pair_form: repeated is for decoders, as GPT-2; in tiny.lxf each token sees both texts already");
  refused(gpt, {.pair_form = PairForm::repeated, .bidirectional = true}, "pair_form: repeated is for decoders");
  refused(encoder, {.bidirectional = true}, "bidirectional: the tokens of this model see all others already");
  refused(gpt, {.pair_form = PairForm::plain, .pair_separator = "[SEP]"}, "pair_separator: has no effect with `pair_form` plain");
  refused(gpt, {.pair_form = PairForm::separated, .pair_separator = "[PAD]"},
          "pair_separator: is 'pad_token_id' of tiny.lxf, which the head skips");
  refused(gpt, {.task = {.texts = 1}, .orders = PairOrders::both}, "orders: a single text has no orders");
  refused(gpt, {.max_length = 5, .pair_form = PairForm::repeated}, "max_length 5 leaves no room for two texts; the least is 6");
  refused(test::tiny_decoder(false, {{"eos_token_id", nullptr}}), {.pair_form = PairForm::separated},
          "pair_separator: is missing: the tokenizer has no token after a text, and the config no 'eos_token_id'");
  CHECK(CrossEncoder<double>(test::tiny_decoder(true), decoder_options(PairForm::repeated)).encode("case", "lens").size() == 7);
}
