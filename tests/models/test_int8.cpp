// SPDX-License-Identifier: MIT
// Models with linear layers in 8 bits.
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "lexformer/models/encoder.hpp"
#include "lexformer/train/optimizer.hpp"
#include "models/tiny.hpp"

using namespace lexformer;
using test::pairs;
using test::tiny_model;

namespace {

double largest_difference(const Tensor<float>& a, const Tensor<float>& b) {
  double d = 0;
  for (std::size_t i = 0; i < a.size(); ++i) d = std::max(d, std::abs(static_cast<double>(a.data()[i]) - static_cast<double>(b.data()[i])));
  return d;
}

std::size_t count_int8(const ModelFile& file) {
  std::size_t n = 0;
  for (const auto& name : file.tensors.names()) n += file.tensors.dtype(name) == Dtype::i8;
  return n;
}

}  // namespace

TEST_CASE("int8: every kind of model scores nearly as in float, and the same bits after saving and loading") {
  const TemporaryFolder folder;
  test::for_each_variant([&](const test::Variant& v) {
    auto model = tiny_model<float>(v.options, v.edit);
    const auto exact = model.logits(pairs);
    model.quantize();
    CHECK(model.quantized());
    const auto rounded = model.logits(pairs);
    CHECK_FALSE(test::same_bits(exact, rounded));
    CHECK(largest_difference(exact, rounded) < 0.1);
    const std::string path = folder / "m.lxf";
    model.save(path);
    const auto file = ModelFile::open(path);
    CHECK(count_int8(file) == 12);
    auto same = CrossEncoder<float>::load(path);
    test::provide(same);
    CHECK(same.quantized());
    CHECK(test::same_bits(same.logits(pairs), rounded));
    const std::string again = folder / "again.lxf";
    same.save(again);
    CHECK(read_file(again) == read_file(path));
  });
}

TEST_CASE("int8: the scores have the same bits for any number of threads and without NoGrad") {
  auto model = tiny_model<float>(test::with_lea());
  model.quantize();
  const auto batch = test::tiny_batch(model);
  set_threads(1);
  const auto y = model(batch).logits;
  CHECK_FALSE(y.requires_grad());
  for (const int n : {2, 3}) {
    set_threads(n);
    CHECK(test::same_bits(model(batch).logits.value(), y.value()));
  }
  set_threads(0);
}

TEST_CASE("int8: layers that are skipped stay in float") {
  const test::Threads one(1);
  const auto number = [](const std::vector<std::string>& skip) {
    auto model = tiny_model<float>();
    model.quantize({.skip = skip});
    return count_int8(model.file());
  };
  CHECK(number({"0"}) == 6);
  CHECK(number({"1"}) == 6);
  CHECK(number({"intermediate.dense", "layer.1.output.dense"}) == 9);
  CHECK(number({"key"}) == 6);
  CHECK(number({"attention"}) == 4);
  auto model = tiny_model<float>();
  expect_error(
      ErrorKind::usage, [&] { model.quantize({.skip = {"2"}}); }, "none with the number or name '2'; they are 0 to 1");
  expect_error(
      ErrorKind::usage, [&] { model.quantize({.skip = {"pooler"}}); }, "'pooler'");
  expect_error(
      ErrorKind::usage,
      [&] {
        model.quantize({.skip = {"0", "1"}});
      },
      "none is in 8 bits");
  CHECK_FALSE(model.quantized());
  const TemporaryFolder folder;
  model.quantize({.skip = {"0"}});
  model.save(folder / "m.lxf");
  CHECK(test::same_bits(CrossEncoder<float>::load(folder / "m.lxf").logits(pairs), model.logits(pairs)));
}

TEST_CASE("int8: a model in 8 bits cannot be trained") {
  const test::Threads one(1);
  const TemporaryFolder folder;
  auto model = tiny_model<float>();
  const auto saved = model.file();
  model.quantize();
  const auto refused = [](const auto& body, const std::string& message) { expect_error(ErrorKind::usage, body, message); };
  refused([&] { AdamW<float> optimizer(model.parameters()); }, "is in 8 bits, so it can score but not be trained");
  refused([&] { model.quantize(); }, "is in 8 bits already");
  refused([&] { model.restore(saved); }, "is in 8 bits, so float weights cannot be restored");
  refused(
      [&] {
        linear_int8(Var<float>(Tensor<float>::zeros({1, 12}), true), *model.encoder().layers[0].attention.int8);
      },
      "a model in 8 bits cannot be trained");
  model.save(folder / "m.lxf");
  expect_file_error([&] { CrossEncoder<float>::load(folder / "m.lxf", {.seed = 1}); },
                    "holds weights in 8 bits, which can score but not be trained");
  expect_file_error([&] { CrossEncoder<double>::load(folder / "m.lxf"); }, "which need the CPU and float32");
  auto wide = tiny_model<double>();
  refused([&] { wide.quantize(); }, "in float32 on the CPU only");
}

TEST_CASE("int8: a model that cannot be rounded stays as it is") {
  const test::Threads one(1);
  auto model = tiny_model<float>();
  const auto scores = model.logits(pairs);
  auto weight = model.encoder().layers.back().output.weight;
  float& first = weight.mutable_value().mutable_data()[0];
  const float before = std::exchange(first, std::numeric_limits<float>::quiet_NaN());
  CHECK_THROWS_AS(model.quantize(), Error);
  first = before;
  CHECK_FALSE(model.quantized());
  CHECK(test::same_bits(model.logits(pairs), scores));
  model.quantize();
  CHECK(model.quantized());
}

TEST_CASE("int8: an encoder, and files whose scales are missing or do not fit") {
  const test::Threads one(1);
  const TemporaryFolder folder;
  const std::string path = folder / "e.lxf";
  test::tiny_file().save(path);
  auto encoder = Encoder<float>::load(path);
  encoder.quantize();
  const auto y = encoder.encode({"sony black camera", "lens"});
  const auto file = encoder.file();
  file.save(path);
  CHECK(test::same_bits(Encoder<float>::load(path).encode({"sony black camera", "lens"}), y));
  const std::string query = "bert.encoder.layer.1.attention.self.query.weight", output = "bert.encoder.layer.0.output.dense.weight";
  const auto refused = [&](const auto& edit, const std::string& message) {
    ModelFile bad = file;
    edit(bad.tensors);
    bad.path = "bad.lxf";
    expect_file_error([&] { Encoder<float>(bad, {}); }, message);
  };
  refused([&](TensorFile& t) { t.erase(output + "_scale"); }, "'" + output + "_scale' is missing");
  refused([&](TensorFile& t) { t.set(output + "_scale", Tensor<float>::zeros({11})); }, "has shape (11,), expected (12,)");
  refused([&](TensorFile& t) { t.set(output, Tensor<std::int8_t>::zeros({12, 9})); }, "has shape (12, 9), expected (12, 10)");
  refused([&](TensorFile& t) { t.set(output, Tensor<std::int8_t>::full({12, 10}, -128)); }, "'" + output + "' holds -128");
  refused([&](TensorFile& t) { t.set(query, Tensor<float>::zeros({12, 12})); }, "all or none must be in 8 bits");
  refused(
      [&](TensorFile& t) {
        t.set("bert.embeddings.word_embeddings.weight", Tensor<std::int8_t>::zeros({40, 12}));
      },
      "is of I8, expected F32");
}
