// SPDX-License-Identifier: MIT
// Taggers: which words get labels, heads for other labels, words without a vector or a token, files and messages.
#include <doctest/doctest.h>

#include "../support/error_message.hpp"
#include "lexformer/models/lstm_tagger.hpp"
#include "lexformer/models/transformer_tagger.hpp"
#include "models/tiny.hpp"

using namespace lexformer;
using test::error_message;

namespace {

using Texts = std::vector<std::string>;

const Texts tag_names{"O", "B-LOC", "I-LOC"};

Tokenizer pieces() {
  return Tokenizer(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "os", "##lo", "new", "u", ".", "s", "a"}), {});
}
detail::TransformerTagData encoded(const std::vector<TaggedSentence>& sentences, std::size_t max_length = 64) {
  return detail::transformer_tag_data(sentences, TagLabels(tag_names), true, pieces(), max_length);
}
std::shared_ptr<const StaticVectors> two_vectors() {
  WordVectors known({"oslo", "new"}, Tensor<float>::from({1, 2, 3, 4}, {2, 2}));
  return std::make_shared<const StaticVectors>(std::move(known), std::nullopt);
}
LstmTagger<double> small_tagger() { return {TagLabels(tag_names), {.size = 2, .states = 3, .dropout = 0.5}, 1}; }

}  // namespace

TEST_CASE("TransformerTagger: the first token of each word carries its label") {
  // U.S. has four tokens; U+200D has none; a word that is not in the vocabulary is [UNK].
  const auto data = encoded({{{"Oslo", "U.S.", "\xE2\x80\x8D", "zzz", "new"}, {"B-LOC", "I-LOC", "O", "O", "B-LOC"}},
                             {{"\xE2\x80\x8D"}, {"O"}},
                             {{"\xC3\x84", "new"}, {"O", "I-LOC"}}});
  CHECK(data.sentence == std::vector<std::size_t>{0, 2});
  CHECK(data.words == std::vector<std::vector<std::size_t>>{{0, 1, 3, 4}, {0, 1}});
  CHECK(data.inputs == std::vector<std::vector<std::int32_t>>{{1, 3, 7, 8}, {1, 2}});
  CHECK(data.labels == std::vector<std::vector<std::int32_t>>{{1, 2, 0, 1}, {0, 2}});
  CHECK(data.lengths == std::vector<std::size_t>{10, 4});
  CHECK(data.cut_sentences == 0);
  const std::vector<std::size_t> rows{1, 0};
  const detail::TransformerTagBatch batch(data, rows, {});
  CHECK(batch.tokens == std::vector<std::int32_t>{1, 2, 5, 7, 11, 12});
  CHECK(batch.labels == std::vector<std::int32_t>{0, 2, 1, 2, 0, 1});
  CHECK(batch.words.length(1) == 4);
}

TEST_CASE("TransformerTagger: sentences with too many tokens") {
  const auto data = encoded({{{"Oslo", "U.S.", "new", "new"}, {"O", "O", "O", "O"}}, {{"new", "new"}, {"O", "O"}}}, 6);
  CHECK(data.words == std::vector<std::vector<std::size_t>>{{0, 1}, {0, 1}});
  CHECK(data.cut_sentences == 1);
  CHECK(data.cut_words == 2);
}

TEST_CASE("LstmTagger: words are looked up in lower case; a word without a vector has a trained one") {
  auto model = small_tagger();
  CHECK(error_message([&] { model.prepare({}, false); }) == "LstmTagger: there are no word vectors; call provide()");
  model.provide(two_vectors());
  const std::vector<TaggedSentence> sentences{{{"Oslo", "xyz", "OSLO"}, {"B-LOC", "O", "B-LOC"}}, {{"new"}, {"O"}}};
  const auto data = model.prepare(sentences, true);
  const std::vector<std::size_t> rows{0, 1};
  const auto batch = model.batch(data, rows);
  CHECK(batch.vectors.to_vector() == std::vector<float>{1, 2, 0, 0, 1, 2, 3, 4});
  CHECK(batch.missing.to_vector() == std::vector<float>{0, 1, 0, 0});
  CHECK(batch.labels == std::vector<std::int32_t>{1, 0, 1, 0});
  // The vector of unknown words changes the words of its sentence alone.
  const auto before = model.emissions(batch).value();
  model.unknown.mutable_value().mutable_data()[0] += 1;
  const auto after = model.emissions(batch).value();
  CHECK(test::max_error(before.slice(0, 3), after.slice(0, 3)) > 1e-3);
  CHECK(test::same_bits(before.slice(3, 4), after.slice(3, 4)));
  // Neither the order nor the size of batches changes tags; dropout is for training alone.
  CHECK(predict_tags(model, sentences, 1) == predict_tags(model, sentences, 2));
  CHECK(model.loss(batch, {.training = true, .seed = 1, .step = 0}).item() != model.loss(batch).item());
  CHECK(detail::tagger_word("A-1999", true) == "a-0000");
  CHECK(detail::tagger_word("A-1999", false) == "a-1999");
}

TEST_CASE("taggers: what does not fit") {
  auto model = small_tagger();
  WordVectors three({"oslo"}, Tensor<float>::from({1, 2, 3}, {1, 3}));
  expect_error(
      ErrorKind::usage, [&] { model.provide(std::make_shared<const StaticVectors>(std::move(three), std::nullopt)); },
      "the word vectors have 3 numbers, those that the model was trained with 2");
  model.provide(two_vectors());
  const std::vector<TaggedSentence> other{{{"Oslo"}, {"B-PER"}}};
  CHECK(error_message([&] { model.prepare(other, true); }) == "TagLabels: the tag 'B-PER' is not one of the model's: O, B-LOC, I-LOC");
  expect_error(
      ErrorKind::usage, [] { TagLabels(Texts{}); }, "there are no labels");
  expect_error(
      ErrorKind::usage,
      [] {
        TagLabels(Texts{"O", "O"});
      },
      "'O' is given twice");
  expect_error(
      ErrorKind::usage,
      [] {
        TagLabels(Texts{"O", "B LOC"});
      },
      "TagLabels: label 1, 'B LOC', has a space");

  const auto refused = [](ModelFile file, const char* part) {
    file.path = "m.lxf";
    expect_file_error([&] { LstmTagger<double> opened(file); }, part);
  };
  const auto good = small_tagger().file();
  auto file = good;
  static_cast<Json&>(file.config).erase("id2label");
  refused(file, "m.lxf: has no names of labels ('id2label')");
  file = good;
  file.config["id2label"]["2"] = "O";
  refused(file, "'O' is given twice");
  file = good;
  file.config["id2label"].erase("2");
  refused(file, "m.lxf");
  file = good;
  file.config["model_type"] = "love";
  refused(file, "m.lxf: is no lstm_tagger model: its model_type is 'love'");
  file = good;
  file.config["lexformer"]["lstm_tagger"]["states"] = 60000;
  refused(file, "m.lxf");
  file = good;
  file.tensors.erase("tagger.crf.start");
  refused(file, "tagger.crf.start");
}
