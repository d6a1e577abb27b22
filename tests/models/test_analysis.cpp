// SPDX-License-Identifier: MIT
#include "lexformer/models/analysis.hpp"

#include "../support/error_message.hpp"
#include "models/tiny.hpp"

using namespace lexformer;

TEST_CASE("up-down triangle: groups, masses and the share of planted heads") {
  // Two sequences of 3 and 2 tokens, four heads, two layers: heads 1 and 3 attend to the right, 0 to the left, 2 to the token itself.
  const auto offsets = Offsets::from_lengths(std::vector<std::size_t>{3, 2});
  const std::vector<double> right3{0, 1, 0, 0, 0, 1, 0, 0, 1}, left3{1, 0, 0, 1, 0, 0, 0, 1, 0}, straight3{1, 0, 0, 0, 1, 0, 0, 0, 1};
  const std::vector<double> right2{0, 1, 0, 1}, left2{1, 0, 1, 0}, straight2{1, 0, 0, 1};
  Tensor<double> attentions({4, 13});
  const std::vector<std::pair<std::vector<double>, std::vector<double>>> heads{
      {left3, left2}, {right3, right2}, {straight3, straight2}, {right3, right2}};
  for (std::size_t h = 0; h < 4; ++h) {
    std::copy(heads[h].first.begin(), heads[h].first.end(), attentions.mutable_data() + h * 13);
    std::copy(heads[h].second.begin(), heads[h].second.end(), attentions.mutable_data() + h * 13 + 9);
  }
  const std::vector<Var<double>> layers{Var<double>(attentions), Var<double>(attentions)};
  const auto first = up_down(layers, offsets, 0);
  CHECK(first.group == std::vector<std::size_t>{2, 1, 2, 1});
  CHECK(first.scores == std::vector<double>{-2, 2, 0, 2});
  CHECK(first.up == doctest::Approx(2.0 / 3));
  CHECK(first.down == doctest::Approx(1.0 / 3));  // half of the group attends to the token itself
  CHECK(first.shows(0.3));
  CHECK_FALSE(first.shows());
  CHECK(first.one == right3);
  CHECK(first.all[1] == doctest::Approx(0.5));
  const auto second = up_down(layers, offsets, 1);
  CHECK(second.up == doctest::Approx(0.5));
  CHECK(second.down == doctest::Approx(0.25));
  CHECK(test::error_message([&] { up_down(std::vector<Var<double>>{}, offsets, 0); }) ==
        "up_down: there are no attentions; encode with attentions = Attentions::probabilities");
}

TEST_CASE("figures of an encoder are the means over texts of what a batch of all of them gives") {
  const test::Threads one(1);
  auto model = test::tiny_model();
  std::vector<Encoding> texts;
  for (const auto& [left, right] : test::pairs) texts.push_back(model.tokenizer().encode(left + " " + right, 20));
  const auto batch = make_batch(texts);
  const auto y = model.encoder()(batch, {}, {.attentions = Attentions::scores});
  const auto p = model.encoder()(batch, {}, {.attentions = Attentions::probabilities});
  const auto figures = encoder_figures(model, texts, 0.2);
  CHECK(figures.texts == texts.size());
  CHECK(figures.tokens == batch.offsets.tokens());
  CHECK(figures.token_similarity == doctest::Approx(token_similarity(y.last, batch.offsets).item()).epsilon(1e-10));
  double mean = 0, shows = 0;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    CHECK(figures.head_similarity[layer] == doctest::Approx(head_similarity(y.attentions[layer], batch.offsets).item()).epsilon(1e-10));
    CHECK(figures.head_similarity_after[layer] ==
          doctest::Approx(head_similarity(p.attentions[layer], batch.offsets).item()).epsilon(1e-10));
    mean += figures.head_similarity[layer] / 2;
  }
  CHECK(figures.mean_head_similarity() == doctest::Approx(mean));
  for (std::size_t s = 0; s < texts.size(); ++s) shows += up_down(p.attentions, batch.offsets, s).shows(0.2) ? 1.0 / 8 : 0;
  CHECK(figures.up_down == doctest::Approx(shows));
}
