// SPDX-License-Identifier: MIT
// LOVE's encoder and its losses: sizes, the paper's weights of positional attention, oracles, invariances, gradients.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <variant>

#include "lexformer/ops/contrastive_loss.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/words/love.hpp"
#include "models/tiny.hpp"
#include "support/directions.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;

namespace {

using Words = std::vector<std::vector<std::int32_t>>;

const Words some_words{{2, 7, 8, 9, 5, 10, 3}, {2, 7, 5, 11, 12, 3}, {2, 9, 8, 7, 7, 5, 13, 14, 3}, {2, 15, 5, 16, 3}};

LoveOptions small_love(LoveStructure structure, std::size_t heads = 1, std::size_t layers = 1) {
  return {.size = 12, .rows = 20, .query_size = 4, .heads = heads, .layers = layers, .structure = structure};
}
/// One of the other encoders.
LoveOptions small_love(LoveEncoderKind encoder, std::size_t heads = 1, std::size_t layers = 1) {
  return {.size = 12, .rows = 20, .heads = heads, .layers = layers, .encoder = encoder};
}
/// Every encoder, with heads and layers where it has them.
std::vector<LoveOptions> all_encoders() {
  using enum LoveEncoderKind;
  return {small_love(LoveStructure::sequential, 2, 2), small_love(LoveStructure::merge, 2, 2), small_love(attention, 3, 2), small_love(cnn),
          small_love(rnn, 1, 2)};
}

struct Units {
  Indices<std::int32_t, Cpu> ids;
  Offsets offsets;

  explicit Units(const Words& words) {
    std::vector<std::int32_t> all;
    std::vector<std::size_t> lengths;
    for (const auto& w : words) {
      all.insert(all.end(), w.begin(), w.end());
      lengths.push_back(w.size());
    }
    ids = Indices<std::int32_t, Cpu>(all);
    offsets = Offsets::from_lengths(lengths);
  }
};

std::size_t count_parameters(const LoveOptions& options) {
  LoveEncoder<float> encoder(options, 1);
  std::size_t count = 0;
  for (const auto& p : named_parameters<float, Cpu>(encoder)) count += p.name == "units.weight" ? 0 : p.var.size();
  return count;
}

Var<double> rows_of(const std::vector<double>& values, std::size_t columns) {
  return Var<double>(Tensor<double>::from(values, {values.size() / columns, columns}), true);
}

}  // namespace

TEST_CASE("LOVE: the released model's and the paper's numbers of parameters") {
  const auto sized = [](std::size_t size, LoveStructure structure) { return LoveOptions{.size = size, .rows = 1, .structure = structure}; };
  CHECK(count_parameters(sized(300, LoveStructure::sequential)) == 200464);
  CHECK(count_parameters(sized(300, LoveStructure::merge)) == 290464);
  CHECK(count_parameters(sized(384, LoveStructure::sequential)) == 321088);
  CHECK(count_parameters(sized(384, LoveStructure::merge)) == 468544);
  const auto other = [](LoveEncoderKind encoder) { return count_parameters({.size = 300, .rows = 1, .encoder = encoder}); };
  CHECK(other(LoveEncoderKind::attention) == 600);
  CHECK(other(LoveEncoderKind::cnn) == (3 + 4 + 5 + 3) * 300 * 300 + 4 * 300);
  // As torch.nn.LSTM(300, 150, bidirectional=True), and two linear layers.
  CHECK(other(LoveEncoderKind::rnn) == 2 * (600 * 300 + 600 * 150 + 2 * 600) + 2 * (300 * 300 + 300));
}

TEST_CASE("LOVE: weights of positional attention, middle row of 16 units") {
  const auto weights = [](std::size_t d, const std::string& scale) {
    const auto scores = position_scores(16, d);
    std::vector<double> row;
    for (int j = 0; j < 16; ++j)
      row.push_back(std::exp((scores[static_cast<std::size_t>(std::abs(j - 8))] - scores[0]) / love_divisor(scale, d)));
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    std::vector<int> thousandths;
    for (std::size_t j = 8; j < 12; ++j) thousandths.push_back(static_cast<int>(std::lround(1000 * row[j] / sum)));
    return thousandths;
  };
  using Row = std::vector<int>;
  CHECK(weights(300, "quarter") == Row{554, 205, 17, 1});
  CHECK(weights(300, "sqrt") == Row{207, 163, 89, 45});
  CHECK(weights(384, "quarter") == Row{608, 186, 10, 0});
  CHECK(weights(50, "quarter") == Row{247, 176, 78, 35});
  CHECK(love_divisor("2.5", 300) == 2.5);
  expect_error(
      ErrorKind::usage, [] { love_divisor("half", 300); }, "scale is 'half'; expected quarter, sqrt or a number from 0.001 to 1000000");
  expect_error(
      ErrorKind::usage, [] { love_divisor("-1", 300); }, "scale is '-1'");
}

TEST_CASE("LOVE: attention_weights of both attentions") {
  LoveOptions options{.size = 50, .rows = 30, .query_size = 8};
  options.layers = 2;
  const LoveEncoder<double> encoder(options, 3);
  const std::vector<std::int32_t> ids{2, 7, 9, 3, 2, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 3};
  const auto words = Offsets::from_lengths(std::vector<std::size_t>{4, 16});
  const auto weights = std::get<LovePam<double>>(encoder.mixer).attention_weights(encoder.table(Indices<std::int32_t>(ids)), words);
  REQUIRE(weights.position.size() == 2);
  REQUIRE(weights.content.size() == 2);
  for (const auto& list : {weights.position, weights.content})
    for (const auto& matrix : list) {
      REQUIRE(matrix.shape() == Shape{1, 16 + 256});
      const auto row_sum = [&](std::size_t first, std::size_t n) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += matrix.value().at(0, first + j);
        return sum;
      };
      for (std::size_t i = 0; i < 4; ++i) CHECK(row_sum(4 * i, 4) == doctest::Approx(1));
      for (std::size_t i = 0; i < 16; ++i) CHECK(row_sum(16 + 16 * i, 16) == doctest::Approx(1));
    }
  for (std::size_t j = 0; j < 4; ++j)  // as above
    CHECK(weights.position[1].value().at(0, 16 + 8 * 16 + 8 + j) ==
          doctest::Approx(std::vector<double>{.247, .176, .078, .035}[j]).epsilon(0.01));
}

TEST_CASE("LOVE: unit vectors that depend on the word alone, not on its batch") {
  for (const LoveOptions& options : all_encoders()) {
    CAPTURE(name_of(options.encoder));
    const LoveEncoder<double> encoder(options, 3);
    const Units all(some_words);
    const auto y = encoder(all.ids, all.offsets).value();
    CHECK(y.shape() == Shape{4, 12});
    auto turned = some_words;
    std::reverse(turned.begin(), turned.end());
    const Units other(turned);
    const auto z = encoder(other.ids, other.offsets).value();
    for (std::size_t w = 0; w < 4; ++w) {
      double square = 0;
      for (std::size_t j = 0; j < 12; ++j) {
        square += y.at(w, j) * y.at(w, j);
        CHECK(y.at(w, j) == z.at(3 - w, j));
      }
      CHECK(square == doctest::Approx(1).epsilon(1e-14));
      const Units alone(Words{some_words[w]});
      const auto x = encoder(alone.ids, alone.offsets).value();
      for (std::size_t j = 0; j < 12; ++j) CHECK(x.at(0, j) == doctest::Approx(y.at(w, j)).epsilon(1e-12));
    }
    // The order of a word's units matters, but to attention without positions; a short word has a vector, too.
    const Units swapped(Words{{2, 7, 8, 9, 5, 10, 3}, {2, 8, 7, 9, 5, 10, 3}, {7}, {7, 8}});
    const auto pair = encoder(swapped.ids, swapped.offsets).value();
    double difference = 0;
    for (std::size_t j = 0; j < 12; ++j) {
      difference = std::max(difference, std::abs(pair.at(0, j) - pair.at(1, j)));
      CHECK(scalar::finite(pair.at(2, j)));
      CHECK(scalar::finite(pair.at(3, j)));
    }
    CHECK((difference > 1e-3) == (options.encoder != LoveEncoderKind::attention));
    // Dropout acts in training alone, and depends on the step.
    const auto trained = [&](std::uint32_t step) {
      return encoder(all.ids, all.offsets, {.training = true, .seed = 1, .step = step}).value().at(0, 0);
    };
    CHECK(trained(1) == trained(1));
    CHECK(trained(1) != trained(2));
    CHECK(trained(1) != y.at(0, 0));
  }
}

TEST_CASE("LOVE: starts as in PyTorch, with a row of zeros for [PAD]") {
  const LoveEncoder<float> encoder({.size = 64, .rows = 500}, 1);
  const auto table = encoder.table.weight.value();
  double squares = 0;
  for (std::size_t j = 0; j < 64; ++j) CHECK(table.at(0, j) == 0);
  for (std::size_t e = 64; e < table.size(); ++e) squares += static_cast<double>(table.data()[e]) * static_cast<double>(table.data()[e]);
  CHECK(squares / static_cast<double>(table.size() - 64) == doctest::Approx(1).epsilon(0.03));
  const auto fills = [](const Var<float>& weight, float bound) {  // uniform in -bound .. bound
    const auto [low, high] = std::minmax_element(weight.value().span().begin(), weight.value().span().end());
    CHECK(*low >= -bound);
    CHECK(*low < -0.96f * bound);
    CHECK(*high < bound);
    CHECK(*high > 0.96f * bound);
  };
  fills(std::get<LovePam<float>>(encoder.mixer).layers[0].query.weight, 0.125f);
  const LoveEncoder<float> cnn({.size = 64, .rows = 5, .encoder = LoveEncoderKind::cnn}, 1);
  fills(std::get<LoveCnn<float>>(cnn.mixer).convolutions[1].weight, 0.0625f);
  const LoveEncoder<float> rnn({.size = 32, .rows = 5, .encoder = LoveEncoderKind::rnn}, 1);
  fills(std::get<LoveRnn<float>>(rnn.mixer).layers[0].reverse.weight_ih, 0.25f);
}

TEST_CASE("LOVE: gradients of the encoder with each loss, by finite differences") {
  const Units units(some_words);
  std::vector<double> values(4 * 12);
  for (std::size_t e = 0; e < values.size(); ++e) values[e] = std::sin(1.7 * static_cast<double>(e) + 0.3);
  const Var<double> targets(Tensor<double>::from(values, {4, 12}));
  const std::vector<std::int32_t> words{0, 1, 2, 1};
  for (const auto structure : {LoveStructure::sequential, LoveStructure::merge})
    for (const std::size_t heads : {std::size_t{1}, std::size_t{2}}) {
      LoveEncoder<double> encoder(small_love(structure, heads, 2), 5);
      auto parameters = named_parameters<double, Cpu>(encoder);
      std::vector<Var<double>> inputs;
      for (auto& p : parameters) inputs.push_back(p.var);
      const auto check = [&](const char* name, auto&& loss) {
        CAPTURE(name);
        const auto result = test::check_directions([&] { return loss(encoder(units.ids, units.offsets)); }, inputs);
        CHECK_MESSAGE(result.ok, result.message);
      };
      check("nt_xent", [&](const Var<double>& x) { return nt_xent(targets, x, words, 0.07); });
      if (heads == 2) continue;
      check("align_uniform", [&](const Var<double>& x) { return align_uniform(targets, x, 1.0); });
      check("euclidean", [&](const Var<double>& x) { return euclidean_loss(targets, x); });
    }
}

TEST_CASE("LOVE: gradients of the other encoders, by finite differences") {
  const Units units(some_words);
  for (const LoveOptions& options : all_encoders()) {
    if (options.encoder == LoveEncoderKind::pam) continue;
    CAPTURE(name_of(options.encoder));
    LoveEncoder<double> encoder(options, 5);
    std::vector<Var<double>> inputs;
    for (auto& p : named_parameters<double, Cpu>(encoder)) inputs.push_back(p.var);
    const auto result = test::check_directions([&] { return encoder(units.ids, units.offsets); }, inputs);
    CHECK_MESSAGE(result.ok, result.message);
  }
}

TEST_CASE("LOVE: the convolutions are those of plain loops, with zeros beyond the word") {
  const LoveEncoder<double> encoder(small_love(LoveEncoderKind::cnn), 2);
  const auto& cnn = std::get<LoveCnn<double>>(encoder.mixer);
  const Units units(Words{{2, 7, 3}, {2, 9, 8, 5, 7, 3}});
  const auto found = encoder(units.ids, units.offsets).value();
  const auto ids = units.ids.to_vector();
  for (std::size_t s = 0; s < 2; ++s) {
    std::vector<double> pooled;
    for (const std::size_t w : {3u, 4u, 5u})
      for (std::size_t filter = 0; filter < 12; ++filter) {
        double best = 0;  // relu
        for (std::size_t t = 0; t < units.offsets.length(s); ++t) {
          const auto& convolution = cnn.convolutions[w - 3];
          double z = convolution.bias.value().data()[filter];
          for (std::size_t k = 0; k < w && t + k < units.offsets.length(s); ++k)
            for (std::size_t j = 0; j < 12; ++j)
              z += convolution.weight.value().at(filter, 12 * k + j) *
                   encoder.table.weight.value().at(static_cast<std::size_t>(ids[units.offsets.begin(s) + t + k]), j);
          best = std::max(best, z);
        }
        pooled.push_back(best);
      }
    std::vector<double> y;
    for (std::size_t i = 0; i < 12; ++i) {
      y.push_back(cnn.output.bias.value().data()[i]);
      for (std::size_t j = 0; j < 36; ++j) y[i] += cnn.output.weight.value().at(i, j) * pooled[j];
    }
    const double norm = std::sqrt(std::inner_product(y.begin(), y.end(), y.begin(), 0.0));
    for (std::size_t i = 0; i < 12; ++i) CHECK(found.at(s, i) == doctest::Approx(y[i] / norm).epsilon(1e-12));
  }
}

TEST_CASE("NT-Xent: one pair is 0, orthonormal targets that are met, rows of the same word are no negatives") {
  const std::vector<std::int32_t> one{0}, three{0, 1, 2}, same{0, 0, 1};
  // One pair: exactly 0, not a rounding error below it, also in float, which programs print; and without a gradient.
  RandomStream random(1, random_site::user);
  for (int k = 0; k < 50; ++k) {
    const auto row = [&] {
      Tensor<float> x({1, 19});
      for (std::size_t j = 0; j < x.size(); ++j) x.mutable_data()[j] = static_cast<float>(random.uniform() - 0.5);
      return Var<float>(x, true);
    };
    const auto target = row(), output = row();
    const auto loss = nt_xent(target, output, one, 0.07);
    CHECK(loss.item() == 0.0f);
    CHECK_FALSE(std::signbit(loss.item()));
    loss.backward();
    for (const float g : output.grad().span()) CHECK(g == 0.0f);
  }
  const std::vector<double> unit{1, 0, 0, 0, 2, 0, 0, 0, 3};
  CHECK(nt_xent(rows_of(unit, 3), rows_of(unit, 3), three, 0.07).item() ==
        doctest::Approx(std::log1p(4 * std::exp(-1 / 0.07))).epsilon(1e-10));
  // Rows 0 and 1 are the same word: each anchor of them sees its counterpart and the two rows of word 1.
  const double seen = std::log1p(2 * std::exp(-1 / 0.07)), other = std::log1p(4 * std::exp(-1 / 0.07));
  CHECK(nt_xent(rows_of(unit, 3), rows_of(unit, 3), same, 0.07).item() == doctest::Approx((2 * seen + other) / 3).epsilon(1e-10));
  expect_error(
      ErrorKind::failure, [&] { nt_xent(rows_of(unit, 3), rows_of(unit, 3), one, 0.07); }, "1 words for 3 rows");
  expect_error(
      ErrorKind::failure, [&] { nt_xent(rows_of(unit, 3), rows_of(unit, 3), three, 0); }, "the temperature must be positive");
}

TEST_CASE("uniformity, alignment and Euclidean distance on known vectors") {
  CHECK(uniformity(rows_of({2, 0, 0, 5}, 2)).item() == doctest::Approx(-4).epsilon(1e-12));
  CHECK(uniformity(rows_of({1, 0, 1, 0}, 2)).item() == doctest::Approx(0).epsilon(1e-12));
  // Three unit vectors: two equal, one opposite: squared distances 0, 4, 4.
  CHECK(uniformity(rows_of({1, 0, 1, 0, -1, 0}, 2)).item() == doctest::Approx(std::log((1 + 2 * std::exp(-8)) / 3)).epsilon(1e-12));
  const auto t = rows_of({1, 0, 0, 1}, 2), x = rows_of({0, 1, 1, 0}, 2);
  CHECK(align_uniform(t, x, 1.0).item() == doctest::Approx(2 - 4).epsilon(1e-12));
  CHECK(align_uniform(t, x, 0.0).item() == doctest::Approx(2).epsilon(1e-12));
  CHECK(euclidean_loss(rows_of({0, 0, 1, 1}, 2), rows_of({3, 4, 1, 2}, 2)).item() == doctest::Approx(3).epsilon(1e-12));
  // A row that equals its target has no slope.
  const auto met = rows_of({1, 2, 3, 4}, 2);
  euclidean_loss(rows_of({1, 2, 0, 0}, 2), met).backward();
  CHECK(met.grad().at(0, 0) == 0);
  CHECK(met.grad().at(1, 0) == doctest::Approx(0.5 * 0.6).epsilon(1e-12));
  expect_error(
      ErrorKind::failure,
      [] {
        uniformity(rows_of({1, 2}, 2));
      },
      "needs at least two rows");
}

TEST_CASE("LOVE: options that do not fit") {
  const auto refused = [](LoveOptions o, const char* part) {
    expect_error(
        ErrorKind::usage, [&] { LoveEncoder<float>(o, 1); }, part);
  };
  refused({.size = 12}, "must be positive");
  refused({.size = 10, .rows = 5, .query_size = 4, .heads = 2}, "size / heads must be an even number");
  refused({.size = 12, .rows = 5, .query_size = 3, .heads = 2}, "query_size must be a multiple of the 2 heads");
  refused({.size = 12, .rows = 5, .query_size = 32}, "at most the size 12; got 32");
  refused({.size = 12, .rows = 5, .query_size = 4, .scale = "wide"}, "scale is 'wide'");
  refused({.size = 13, .rows = 5, .encoder = LoveEncoderKind::rnn}, "encoder rnn needs an even size and 1 head, got 13 and 1");
  refused({.size = 12, .rows = 5, .heads = 2, .encoder = LoveEncoderKind::rnn}, "got 12 and 2");
  refused({.size = 12, .rows = 5, .layers = 2, .encoder = LoveEncoderKind::cnn}, "encoder cnn has 1 head and 1 layer, got 1 and 2");
  refused({.size = 12, .rows = 5, .heads = 5, .encoder = LoveEncoderKind::attention}, "size must be a multiple of the heads, got 12 and 5");
  const LoveEncoder<float> odd({.size = 9, .rows = 5, .heads = 3, .encoder = LoveEncoderKind::attention}, 1);  // only pam needs pairs
  const LoveEncoder<float> encoder({.size = 12, .rows = 5, .query_size = 4}, 1);
  const std::vector<std::size_t> lengths{2};
  expect_error(
      ErrorKind::failure, [&] { encoder(Indices<std::int32_t, Cpu>(std::vector<std::int32_t>{1}), Offsets::from_lengths(lengths)); },
      "1 ids but the offsets have 2 units");
}

TEST_CASE("LOVE: a model is saved and loaded with its vocabulary and options; other files are refused") {
  const TemporaryFolder folder;
  const std::string path = folder / "love.lxf";
  const WordUnits units(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", "a", "b", "c", "ab", "##c"}));
  Love<float> made(units, {.size = 12, .query_size = 4, .heads = 2, .layers = 2, .structure = LoveStructure::merge, .scale = "3.5"}, 4);
  CHECK(made.options().rows == 10);
  made.save(path);
  const auto loaded = Love<float>::load(path);
  const std::vector<std::string> words{"ab", "abc", "bac", "x", "abcabc"};
  const auto a = made.vectors(words, 2), b = loaded.vectors(words);
  CHECK(a.shape() == Shape{5, 12});
  for (std::size_t e = 0; e < a.size(); ++e) CHECK(a.data()[e] == doctest::Approx(static_cast<double>(b.data()[e])).epsilon(1e-6));
  CHECK(loaded.options().scale == "3.5");
  CHECK(loaded.options().structure == LoveStructure::merge);
  CHECK(made.vectors({}).shape() == Shape{0, 12});

  auto file = made.file();
  file.tensors.erase("love.norm.bias");
  file.save(path);
  expect_error(
      ErrorKind::file, [&] { Love<float>::load(path); }, "love.norm.bias");
  file = made.file();
  file.tensors.erase("love.units.weight");
  file.save(path);
  expect_error(
      ErrorKind::file, [&] { Love<float>::load(path); }, "options ask for at least");
  file = made.file();
  file.vocabulary = Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"});
  file.save(path);
  expect_error(
      ErrorKind::file, [&] { Love<float>::load(path); }, "[SUB]");
  for (const auto& [key, value, part] :
       {std::tuple{"scale", Json("wide"), "scale is 'wide'"}, std::tuple{"heads", Json(5), "size / heads must be an even number"},
        std::tuple{"query_size", Json(14), "at most the size 12; got 14"},
        std::tuple{"structure", Json("other"), "'structure' is 'other'"}}) {
    file = made.file();
    Json& options = file.config["lexformer"]["love"];
    options[key] = value;
    file.save(path);
    expect_error(
        ErrorKind::file, [&] { Love<float>::load(path); }, part);
  }
  // Files from before there was a choice of encoders.
  file = made.file();
  CHECK(file.config["lexformer"]["love"].erase("encoder") == 1);
  file.save(path);
  CHECK(Love<float>::load(path).options().encoder == LoveEncoderKind::pam);
  auto other = test::tiny_file();
  other.save(path);
  expect_error(
      ErrorKind::file, [&] { Love<float>::load(path); }, "is not a LOVE model: its model_type is 'bert'");
}

TEST_CASE("LOVE: models of the other encoders are saved and loaded") {
  const TemporaryFolder folder;
  const std::string path = folder / "love.lxf";
  const WordUnits units(Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[SUB]", "a", "b", "c", "ab", "##c"}));
  const std::vector<std::string> words{"ab", "abc", "x"};
  const auto names = [](const ModelFile& file) {
    auto all = file.tensors.names();
    std::sort(all.begin(), all.end());
    return all;
  };
  using Names = std::vector<std::string>;
  for (LoveOptions options : all_encoders()) {
    CAPTURE(name_of(options.encoder));
    Love<float> made(units, options, 4);
    made.save(path);
    auto file = ModelFile::open(path);
    const Love<float> loaded(file);
    CHECK(loaded.options().encoder == options.encoder);
    const auto a = made.vectors(words), b = loaded.vectors(words);
    for (std::size_t e = 0; e < a.size(); ++e) CHECK(a.data()[e] == b.data()[e]);
    if (options.encoder == LoveEncoderKind::attention)
      CHECK(names(file) == Names{"love.norm.bias", "love.norm.weight", "love.units.weight"});
    if (options.encoder == LoveEncoderKind::cnn)
      CHECK(names(file) == Names{"love.convolution.3.bias", "love.convolution.3.weight", "love.convolution.4.bias",
                                 "love.convolution.4.weight", "love.convolution.5.bias", "love.convolution.5.weight", "love.output.bias",
                                 "love.output.weight", "love.units.weight"});
    if (options.encoder == LoveEncoderKind::rnn) {
      CHECK(names(file).size() == 1 + 2 * 8 + 4);
      CHECK(file.tensors.contains("love.layer.1.reverse.weight_hh"));
      CHECK(file.tensors.contains("love.hidden.weight"));
    }
    // The config asks for other weights than the file has: for more, except after rnn, whose two layers have as many.
    const bool to_rnn = options.encoder == LoveEncoderKind::cnn;
    Json& love = file.config["lexformer"]["love"];
    love["encoder"] = to_rnn ? "rnn" : "cnn";
    love["heads"] = 1;
    love["layers"] = to_rnn ? 3 : 1;
    file.save(path);
    expect_error(
        ErrorKind::file, [&] { Love<float>::load(path); },
        options.encoder == LoveEncoderKind::rnn ? "love.convolution.3.weight" : "options ask for at least");
  }
}
