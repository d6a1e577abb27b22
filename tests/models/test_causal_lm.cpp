// SPDX-License-Identifier: MIT
// Causal language models: their own laws. tests/models/test_families.cpp compares them with transformers'.
#include "lexformer/models/causal_lm.hpp"

#include <cmath>

#include "lexformer/train/pretraining.hpp"
#include "models/tiny.hpp"
#include "support/directions.hpp"

using namespace lexformer;
using test::same_bits;

namespace {

MaskedBatch batch_of(const CausalLm<double>& model) {
  std::vector<Encoding> documents;
  std::vector<std::size_t> rows;
  for (const auto& [left, right] : test::pairs) {
    rows.push_back(documents.size());
    documents.push_back(model.tokenizer().encode(left + " " + right, 20));
  }
  return make_masked_batch(documents, rows, model.next_tokens(), 0, 0, 0, model.features());
}

const Json no_dropout = {{"embd_pdrop", 0.0}, {"attn_pdrop", 0.0}, {"resid_pdrop", 0.0}};

}  // namespace

TEST_CASE("causal_lm: each token predicts the next one, and the last one the end unless the tokenizer has a token for it") {
  for (const bool template_tokens : {false, true}) {
    const CausalLm<double> model(test::tiny_decoder(template_tokens), std::nullopt);
    CHECK(model.next_tokens().end == (template_tokens ? std::nullopt : std::optional<std::int32_t>(3)));
    const std::vector<Encoding> documents{model.tokenizer().encode("sony", 20), model.tokenizer().encode("black camera", 20)};
    const std::vector<std::size_t> rows{1, 0};
    const auto m = make_masked_batch(documents, rows, model.next_tokens());
    CHECK(m.batch.index == rows);
    using Ids = std::vector<std::int32_t>;
    CHECK(m.batch.ids == (template_tokens ? Ids{2, 6, 9, 3, 2, 5, 3} : Ids{6, 9, 5}));
    CHECK(m.positions == (template_tokens ? Ids{0, 1, 2, 4, 5} : Ids{0, 1, 2}));
    CHECK(m.labels == (template_tokens ? Ids{6, 9, 3, 5, 3} : Ids{9, 3, 3}));
  }
  const NextTokens none;
  CHECK_FALSE(none.has_candidates(Encoding{.ids = {5}, .type_ids = {}, .word_ids = {}, .offsets = {}}));
  CHECK(NextTokens{3}.has_candidates(Encoding{.ids = {5}, .type_ids = {}, .word_ids = {}, .offsets = {}}));
}

TEST_CASE("causal_lm: gradients of every parameter against differences, with dropout") {
  const test::Threads one(1);
  CausalLm<double> model(test::tiny_decoder(), std::nullopt);
  const auto m = batch_of(model);
  std::vector<Var<double>> leaves;
  for (const auto& p : model.parameters()) leaves.push_back(p.var);
  const auto result =
      test::check_directions([&] { return model.loss(m.batch, m.positions, m.labels, {.training = true, .seed = 4, .step = 3}); }, leaves);
  CHECK_MESSAGE(result.ok, result.message);
}

TEST_CASE("causal_lm: the logits of a token do not depend on those after it, and they agree with the loss and the scores") {
  const test::Threads one(1);
  const CausalLm<double> model(test::tiny_decoder(false, no_dropout), std::nullopt);
  auto m = batch_of(model);
  const auto logits = model.logits(m.batch, m.positions).value();
  double loss = 0;
  for (std::size_t i = 0; i < m.labels.size(); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < logits.dim(1); ++c) sum += std::exp(logits.at(i, c));
    loss += (std::log(sum) - logits.at(i, static_cast<std::size_t>(m.labels[i]))) / static_cast<double>(m.labels.size());
  }
  CHECK(model.loss(m.batch, m.positions, m.labels).item() == doctest::Approx(loss).epsilon(1e-12));
  std::vector<Encoding> documents;
  for (const auto& [left, right] : test::pairs) documents.push_back(model.tokenizer().encode(left + " " + right, 20));
  CHECK(score_language_model(model, documents, model.next_tokens(), 3).loss == doctest::Approx(loss).epsilon(1e-6));
  const std::size_t length = m.batch.offsets.length(0);
  const std::vector<std::int32_t> first{0};
  const auto before = model.logits(m.batch, first).value().to_vector();
  m.batch.ids[length - 1] = (m.batch.ids[length - 1] + 1) % 20;
  CHECK(model.logits(m.batch, first).value().to_vector() == before);
}

TEST_CASE("causal_lm: a new model has the ids of its tokenizer, is saved as transformers' class, and is a decoder for others") {
  const test::Threads one(1);
  const auto file = test::tiny_decoder(true);
  const Json config{{"model_type", "gpt2"}, {"n_embd", 12u}, {"n_layer", 1u}, {"n_head", 3u}, {"n_positions", 20u}};
  CausalLm<double> model(config, file.vocabulary, file.tokenizer, 1), same(config, file.vocabulary, file.tokenizer, 1);
  const auto m = batch_of(model);
  CHECK(same_bits(model.logits(m.batch, m.positions).value(), same.logits(m.batch, m.positions).value()));
  CHECK(model.new_tensors().size() == model.parameters().size());
  const ModelFile written = model.file();
  CHECK(written.config["architectures"] == Json::array({"GPT2LMHeadModel"}));
  CHECK(written.config["bos_token_id"] == 2u);
  CHECK(written.config["eos_token_id"] == 3u);
  CHECK(written.config["pad_token_id"] == 0u);
  CausalLm<double> again(ModelFile::parse(written.bytes(), "again.lxf"), std::nullopt);
  CHECK(same_bits(model.logits(m.batch, m.positions).value(), again.logits(m.batch, m.positions).value()));
  CHECK(again.file().bytes() == written.bytes());
  CrossEncoder<double> matcher(written, {.attention = {"lea"}, .pair_form = PairForm::repeated});
  CHECK(matcher.encode("sony", "case").size() == 7);
  CHECK(same_bits(matcher.encoder().embeddings.word.weight.value(), model.encoder().embeddings.word.weight.value()));
}

TEST_CASE("causal_lm: what is no decoder, has another output layer or no end is refused") {
  const auto refused = [](const ModelFile& file, const std::string& message) {
    expect_file_error([&] { CausalLm<double>(file, std::nullopt); }, message);
  };
  refused(test::tiny_file(), "'model_type' is 'bert'; a causal language model needs a decoder, as gpt2");
  refused(test::tiny_decoder(false, {{"eos_token_id", nullptr}}), "'eos_token_id' is missing or not in the vocabulary");
  refused(test::tiny_decoder(false, {{"eos_token_id", 40u}}), "'eos_token_id' is missing or not in the vocabulary");
  ModelFile file = test::tiny_decoder();
  CrossEncoder<double> open(file, {.bidirectional = true});
  refused(open.file(), "'model_type' is 'gpt2', made bidirectional; a causal language model needs a decoder");
  file.tensors.set("lm_head.weight", file.tensors.get<double>("transformer.embeddings.word_embeddings.weight"));
  CHECK(CausalLm<double>(file, std::nullopt).new_tensors().empty());
  file.tensors.set("lm_head.weight", Tensor<double>::zeros({40, 12}));
  refused(file, "the output layer has a weight of its own ('lm_head.weight')");
  const CausalLm<double> model(test::tiny_decoder(), std::nullopt);
  const auto m = batch_of(model);
  expect_error(
      ErrorKind::failure, [&] { model.logits(m.batch, std::vector<std::int32_t>{-1}); }, "CausalLm: position -1 of a batch of ");
}
