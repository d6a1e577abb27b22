// SPDX-License-Identifier: MIT
// Sentence encoders against sentence-transformers in double (tests/oracles/make_golden_sentence.py); texts, files, training starts, bad
// input.
#include "lexformer/models/sentence_encoder.hpp"

#include "lexformer/models/encoder.hpp"
#include "lexformer/ops/ranking_loss.hpp"
#include "models/golden.hpp"

using namespace lexformer;
using test::Golden;

namespace {

ModelFile golden_sentence_file(const Golden& golden) {
  auto file = golden.model();
  file.config["lexformer"] = golden.about("lexformer");
  return file;
}
const std::vector<std::string> few_texts{"sony black camera", "a lens", "", "silent book for a screen"};

double worst_difference(const Tensor<float>& a, const Tensor<float>& b) { return test::max_error(a, b); }

}  // namespace

TEST_CASE("SentenceEncoder: pooling, Dense modules, gradients and ten steps, as in sentence-transformers") {
  const test::Threads one(1);
  Golden golden("sentence");
  const auto file = golden_sentence_file(golden);
  const Batch batch = golden.batch();
  for (const auto pooling : {Pooling::mean, Pooling::cls, Pooling::max})
    golden.check("pooled/" + name_of(pooling), SentenceEncoder<double>(file, {.pooling = pooling}, 1)(batch).value());
  SentenceEncoder<double> model(file);
  CHECK(model.size() == 4);
  CHECK(model.unused_tensors().empty());
  CHECK(test::count_names(golden.file, "gradient/") == model.parameters().size());
  golden.check("vectors", model(batch).value());
  golden.check_steps(model, ScheduleKind::linear, [&](std::uint32_t) {
    const auto y = model(batch);
    return multiple_negatives_ranking(slice_rows(y, 0, 3), slice_rows(y, 3, 6));
  });
  golden.check("end_vectors", model(batch).value());
}

TEST_CASE("SentenceEncoder: texts in any batches, files") {
  const test::Threads one(1);
  const auto start = test::tiny_file();
  SentenceEncoder<> model(start,
                          {.pooling = Pooling::cls,
                           .dense = {{.size = 5, .activation = Activation::relu}, {.size = 3, .activation = Activation::gelu}},
                           .normalize = true,
                           .max_length = 6},
                          3);
  CHECK(model.new_tensors().size() == 4);
  const auto vectors = model.encode(few_texts);
  CHECK(vectors.shape() == Shape{4, 3});
  for (std::size_t i = 0; i < 4; ++i) {
    double length = 0;
    for (std::size_t j = 0; j < 3; ++j) length += static_cast<double>(vectors.at(i, j) * vectors.at(i, j));
    CHECK(length == doctest::Approx(1).epsilon(1e-5));
  }
  CHECK(worst_difference(model.encode(few_texts, 1), vectors) < 1e-5);
  CHECK(model.encode({}).shape() == Shape{0, 3});
  CHECK(model.tokenize(few_texts)[3].size() == 6);  // cut

  const TemporaryFolder folder;
  const std::string path = folder / "m.lxf";
  model.save(path);
  const auto again = SentenceEncoder<>::load(path);
  CHECK(again.options().pooling == Pooling::cls);
  CHECK(again.options().normalize);
  CHECK(again.options().max_length == 6);
  REQUIRE(again.options().dense.size() == 2);
  CHECK(again.options().dense[1].activation == Activation::gelu);
  CHECK(test::same_bits(again.encode(few_texts), vectors));
  // Other models read its encoder. For another head the Dense modules are of no use.
  auto encoder = Encoder<>::load(path);
  CHECK(encoder.pooling() == Pooling::cls);
  CHECK_FALSE(is_sentence_encoder(encoder.file()));  // without the Dense modules it is another one
  CrossEncoder<> of_pairs(ModelFile::open(path), CrossEncoderOptions{.seed = 1});
  auto saved = of_pairs.file();
  CHECK_FALSE(saved.config["lexformer"].contains("dense"));
  CHECK(SentenceEncoder<>(saved, stored_sentence_options(saved), 1).options().max_length == model.config().max_position_embeddings);
  // Dense modules of other sizes are new; those of the same are the file's.
  const auto file = ModelFile::open(path);
  auto options = stored_sentence_options(file);
  CHECK(SentenceEncoder<>(file, options, 1).new_tensors().empty());
  options.dense[1].size = 2;
  CHECK(SentenceEncoder<>(file, options, 1).new_tensors().size() == 2);
}

TEST_CASE("SentenceEncoder: a plain BERT gives the mean of its token vectors") {
  const test::Threads one(1);
  const auto start = test::tiny_file();
  const SentenceEncoder<> model(start);
  const Encoder<> encoder(start, {});
  CHECK(model.size() == encoder.config().hidden_size);
  CHECK(worst_difference(model.encode(few_texts), encoder.encode(few_texts)) < 1e-6);
}

TEST_CASE("SentenceEncoder: without Dense modules it stays one when it is saved as an encoder") {
  const test::Threads one(1);
  SentenceEncoder<> model(test::tiny_file(), {.pooling = Pooling::max, .normalize = true, .max_length = 6}, 3);
  Encoder<> encoder(model.file(), {});
  const SentenceEncoder<> again(encoder.file());
  CHECK(again.options().max_length == 6);
  CHECK(test::same_bits(again.encode(few_texts), model.encode(few_texts)));
  // Token rows are not normalized unless that is asked for.
  const auto rows = encoder.encode(few_texts, {.pooling = Pooling::none});
  double length = 0;
  for (std::size_t j = 0; j < rows.dim(1); ++j) length += static_cast<double>(rows.at(0, j) * rows.at(0, j));
  CHECK(std::abs(length - 1) > 1e-3);
}

TEST_CASE("SentenceEncoder: errors") {
  const test::Threads one(1);
  Golden golden("sentence");
  const auto refused = [&](const std::function<void(ModelFile&)>& damage, const std::string& message) {
    auto file = golden_sentence_file(golden);
    damage(file);
    expect_error(
        ErrorKind::file, [&] { SentenceEncoder<> damaged(file); }, message);
  };
  refused([](ModelFile& f) { f.config["lexformer"]["pooling"] = "none"; }, "'pooling' is 'none', expected mean, cls or max");
  refused([](ModelFile& f) { f.config["lexformer"]["max_length"] = 2u; }, "'max_length'");
  refused([](ModelFile& f) { f.config["lexformer"]["dense"] = "tanh"; }, "'dense' is string");
  refused([](ModelFile& f) { f.config["lexformer"]["dense"][1] = "softmax"; }, "softmax");
  refused([](ModelFile& f) { f.config["lexformer"]["dense"][1] = 3; }, "'dense'");
  refused([](ModelFile& f) { f.config["lexformer"]["dense"].push_back("tanh"); },
          "'dense' names 3 Dense modules, but there is no matrix 'lexformer.dense.2.weight'");
  refused([](ModelFile& f) { f.tensors.erase("lexformer.dense.1.bias"); }, "'lexformer.dense.1.bias' is missing");
  refused(
      [](ModelFile& f) {
        f.tensors.set("lexformer.dense.1.weight", Tensor<float>::zeros({4, 5}));
      },
      "has shape (4, 5), expected (4, 6)");
  const auto usage = [&](const SentenceEncoderOptions& options, const std::string& message) {
    expect_error(
        ErrorKind::usage, [&] { SentenceEncoder<>(golden_sentence_file(golden), options, 1); }, message);
  };
  usage({.pooling = Pooling::none}, "pooling 'none' gives no vector of a text");
  usage({.max_length = 2}, "max_length 2 leaves no room for a text; the least is 3");
  usage({.dense = {{.size = 0}}}, "a Dense module gives vectors of 0 numbers");
}
