// SPDX-License-Identifier: MIT
// Every position scheme: scores against plain loops, gradients against finite differences, numbers of parameters.
#include <doctest/doctest.h>

#include "../reference/positions_reference.hpp"
#include "../support/batches.hpp"
#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/models/transformer.hpp"

using namespace lexformer;
using test::max_error;
using test::PositionOptions;
using test::PositionScheme;
using test::random_tensor;

namespace {

constexpr std::size_t heads = 3, head_size = 4, model_width = heads * head_size;
const EncoderSizes sizes{.layers = 1, .heads = heads, .width = model_width, .max_length = 200};

struct Scheme {
  std::string name;
  PositionOptions options;
};

/// All schemes, with tables shorter than, equal to and longer than 64 tokens.
std::vector<Scheme> schemes() {
  using enum PositionScheme;
  std::vector<Scheme> all{{"relative_key", {.scheme = relative_key}},
                          {"relative_key_query", {.scheme = relative_key_query}},
                          {"tupe", {.scheme = tupe, .buckets = 32, .max_distance = 128}},
                          {"tupe, positions alone", {.scheme = tupe}},
                          {"deberta", {.scheme = deberta, .size = 50}},
                          {"deberta, buckets", {.scheme = deberta, .size = 16, .buckets = 16, .max_distance = 200}},
                          {"t5", {.scheme = t5, .buckets = 32, .max_distance = 128}},
                          {"t5, scaled", {.scheme = t5, .buckets = 8, .max_distance = 20, .scaled = true}},
                          {"alibi", {.scheme = alibi}},
                          {"rope", {.scheme = rope}}};
  for (const std::size_t size : {1u, 2u, 63u, 64u, 65u, 200u}) {
    all.push_back({cat("shaw ", size), {.scheme = shaw, .size = size}});
    all.push_back({cat("bert_r ", size), {.scheme = bert_r, .size = size}});
    all.push_back({cat("ddrp ", size), {.scheme = ddrp, .size = size, .random_direction = true}});
  }
  return all;
}

std::vector<PlacedTerm<double>> make_terms(const TermConfig& config, const EncoderSizes& z) {
  Init init(1, 0.5);
  auto sites = site::terms();
  return configure_terms<double, Cpu>({config}, z, "test")[0].factory->make(z, init, sites);
}

/// A scheme's term with large random parameters, and an attention call with it.
struct Setup {
  PositionOptions options;
  Offsets offsets;
  std::shared_ptr<AttentionTerm<double>> term;
  std::vector<NamedParameter<double>> parameters;
  Var<double> qkv;
  DeviceBatch<double> batch;

  Setup(const PositionOptions& o, const std::vector<std::size_t>& lengths)
      : options(o), offsets(Offsets::from_lengths(lengths)), batch(test::batch_of_lengths(lengths)) {
    term = make_terms(o.config(), sizes)[0].term;
    parameters = named_parameters<double>(*term);
    std::uint32_t stream = 100;
    for (auto& p : parameters) p.var.mutable_value() = random_tensor(p.var.shape(), stream++, 0.5);
    qkv = Var<double>(random_tensor({offsets.tokens(), 3 * model_width}), true);
  }
  AttentionResult<double, Cpu> operator()(Attentions attentions = Attentions::none, ScoreTerms<double> terms = {}) const {
    const AttentionInputs<double> in{qkv, batch, heads, {}};
    term->contribute(in, terms);
    return attention(term->transform(in), offsets, heads, terms, {.attentions = attentions});
  }
  std::vector<Var<double>> leaves() const {
    std::vector<Var<double>> all{qkv};
    for (const auto& p : parameters) all.push_back(p.var);
    return all;
  }
};

/// |directional derivative - difference| relative to max(1, both), in random directions of all variables at once.
double directional_error(const Setup& setup) {
  auto leaves = setup.leaves();
  const auto cotangent = random_tensor({setup.offsets.tokens(), model_width}, 9);
  setup().context.backward(cotangent.clone());
  const auto value = [&] {
    const NoGrad none;
    const auto y = setup().context;
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y.value().data()[i] * cotangent.data()[i];
    return sum;
  };
  double worst = 0;
  for (std::uint32_t trial = 0; trial < 3; ++trial) {
    constexpr double h = 1e-5;
    std::vector<Tensor<double>> along;
    double analytic = 0, scale = 0;
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      along.push_back(random_tensor(leaves[k].shape(), 1000 + 10 * trial + static_cast<std::uint32_t>(k)));
      for (std::size_t e = 0; e < leaves[k].size(); ++e) {
        analytic += along[k].data()[e] * leaves[k].grad().data()[e];
        scale += std::abs(along[k].data()[e] * leaves[k].grad().data()[e]);
      }
    }
    const auto move = [&](double by) {
      for (std::size_t k = 0; k < leaves.size(); ++k)
        for (std::size_t e = 0; e < leaves[k].size(); ++e) leaves[k].mutable_value().mutable_data()[e] += by * along[k].data()[e];
    };
    move(h);
    const double up = value();
    move(-2 * h);
    const double down = value();
    move(h);
    worst = std::max(worst, std::abs((up - down) / (2 * h) - analytic) / std::max(1.0, std::sqrt(scale)));
  }
  return worst;
}

}  // namespace

TEST_CASE("position schemes: scores are those of the formulas at every length") {
  const std::vector<std::size_t> lengths{1, 2, 63, 64, 65, 200};
  for (const Scheme& scheme : schemes()) {
    CAPTURE(scheme.name);
    const Setup setup(scheme.options, lengths);
    const auto scores = setup(Attentions::scores).attentions.value();
    test::PositionsReference reference{scheme.options, sizes, {}};
    for (const auto& p : setup.parameters) reference.w.emplace(p.name, p.var.value());
    double worst = 0;
    for (std::size_t s = 0; s < lengths.size(); ++s)
      for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t n = lengths[s], stride = n > 2 ? 11 : 1;  // every 11th cell, so all distances: 11 divides no length
        std::vector<std::vector<double>> q(n), k(n);
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t e = 0; e < head_size; ++e) {
            q[i].push_back(setup.qkv.value().at(setup.offsets.begin(s) + i, h * head_size + e));
            k[i].push_back(setup.qkv.value().at(setup.offsets.begin(s) + i, model_width + h * head_size + e));
          }
        for (std::size_t cell = 0; cell < n * n; cell += stride) {
          const double expected = reference.score(q, k, h, static_cast<long>(cell / n), static_cast<long>(cell % n));
          worst =
              std::max(worst, std::abs(scores.at(h, setup.offsets.pair_begin(s) + cell) - expected) / std::max(1.0, std::abs(expected)));
        }
      }
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("position schemes: gradients of qkv and of every parameter") {
  for (const Scheme& scheme : schemes()) {
    CAPTURE(scheme.name);
    for (const auto& lengths : {std::vector<std::size_t>{1}, {2}, {3, 1, 9, 4}, {63, 64, 65}}) {
      const Setup setup(scheme.options, lengths);
      const std::size_t elements = setup.offsets.tokens() > 20 ? 6 : 60;
      const auto result = gradcheck([&] { return setup().context; }, setup.leaves(), {.max_elements = elements});
      CHECK_MESSAGE(result.ok, result.message);
    }
    CHECK(directional_error(Setup(scheme.options, {200})) < 1e-6);
  }
}

TEST_CASE("position schemes: together with LEA's lookup and a gate they stay what they are") {
  for (const Scheme& scheme : schemes()) {
    CAPTURE(scheme.name);
    const Setup setup(scheme.options, {5, 9});
    std::vector<std::uint16_t> codes(setup.offsets.pairs());
    for (std::size_t e = 0; e < codes.size(); ++e) codes[e] = static_cast<std::uint16_t>(e * e % 4);
    ScoreTerms<double> lea;
    lea.lookups.push_back({Var<double>(random_tensor({heads, 4}, 5)), codes});
    const auto plain = setup(Attentions::scores).attentions.value(), both = setup(Attentions::scores, lea).attentions.value();
    double worst = 0;
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t e = 0; e < codes.size(); ++e)
        worst = std::max(worst, std::abs(both.at(h, e) - plain.at(h, e) - lea.lookups[0].table.value().at(h, codes[e])));
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("position schemes: equal tokens score by i - j alone, DDRP without directions is symmetric, directions make it not so") {
  for (const Scheme& scheme : schemes()) {
    if (scheme.options.scheme == PositionScheme::tupe) continue;  // its positions are absolute
    CAPTURE(scheme.name);
    Setup setup(scheme.options, {70});
    const auto one = random_tensor({1, 3 * model_width}, 3);
    for (std::size_t i = 0; i < 70; ++i)
      std::copy_n(one.data(), 3 * model_width, setup.qkv.mutable_value().mutable_data() + i * 3 * model_width);
    const auto scores = setup(Attentions::scores).attentions.value();
    double worst = 0;
    for (std::size_t i = 1; i < 70; ++i)
      for (std::size_t j = 1; j < 70; ++j) worst = std::max(worst, std::abs(scores.at(1, i * 70 + j) - scores.at(1, (i - 1) * 70 + j - 1)));
    CHECK(worst < 1e-12);
    if (scheme.options.scheme != PositionScheme::ddrp || scheme.options.size < 2) continue;
    const auto asymmetry = [&] {
      const auto s = setup(Attentions::scores).attentions.value();
      double most = 0;
      for (std::size_t i = 0; i < 70; ++i)
        for (std::size_t j = 0; j < i; ++j) most = std::max(most, std::abs(s.at(0, i * 70 + j) - s.at(0, j * 70 + i)));
      return most;
    };
    CHECK(asymmetry() > 1e-3);
    REQUIRE(setup.parameters[0].name == "direction");
    setup.parameters[0].var.mutable_value() = Tensor<double>::ones({3, head_size});
    CHECK(asymmetry() < 1e-12);
  }
}

TEST_CASE("position schemes: numbers of parameters, DDRP's 4288 for all heads and layers") {
  const auto count_of = [](const TermConfig& o, std::size_t size = 768) {
    std::size_t total = 0;
    for (const auto& t : make_terms(o, {.layers = 12, .heads = 12, .width = size, .max_length = 512}))
      total += count(named_parameters<double>(*t.term));
    return total;
  };
  CHECK(count_of("ddrp") == 4288);
  CHECK(count_of({"ddrp", DdrpOptions{.per_layer = true}}) == 12 * 4288);
  CHECK(count_of("bert_r") == 128 * 64);
  CHECK(count_of("shaw") == 12 * 129 * 64);
  CHECK(count_of("relative_key") == 12 * 1023 * 64);
  CHECK(count_of("t5") == 12 * 32);
  CHECK(count_of("tupe", 48) == 513 * 48 + 2 * 48 + 2 * (48 * 48 + 48) + 12 * 33);
  CHECK(count_of("deberta", 48) == 128 * 48 + 12 * 2 * (48 * 48 + 48));
  CHECK(count_of({"deberta", DebertaOptions{.p2c = false}}, 48) == 128 * 48 + 12 * (48 * 48 + 48));
  CHECK(count_of({"deberta", DebertaOptions{.buckets = 32, .shared = true, .norm = true}}, 48) == 64 * 48 + 2 * 48);
  CHECK(count_of("alibi") == 0);
}

TEST_CASE("position schemes: a second one is refused, and a sequence longer than the table") {
  Init init(1);
  const DeviceBatch<float> five(test::batch_of_lengths({5}));
  ScoreTerms<float> terms;
  RelativeKey<float> first(RelativeTable::shaw, 4, head_size, init);
  const Var<float> none;
  const AttentionInputs<float> in{none, five, heads, {}};
  first.contribute(in, terms);
  Ddrp<float> second({.size = 4}, head_size, init);
  CHECK(test::error_message([&] { second.contribute(in, terms); }) ==
        "attention: two position schemes at once, 'shaw' and 'ddrp'; take one (others may be combined with it)");
  ScoreTerms<float> other;
  RelativeKey<float> table(RelativeTable::relative_key, 4, head_size, init);
  CHECK(test::error_message([&] { table.contribute(in, other); }) ==
        "relative_key: a sequence has 5 tokens, the table is for 4; shorten it (max_length)");
  const auto shared = make_terms({"deberta", DebertaOptions{.shared = true}}, sizes)[0].term;
  const DeviceBatch<double> same(test::batch_of_lengths({5}));
  const Var<double> no_qkv;
  ScoreTerms<double> third;
  CHECK(test::error_message([&] {
          shared->contribute({no_qkv, same, heads, {}}, third);
        }) == "deberta: reads the weights of a layer, but there is none");
}

TEST_CASE("T5's and DeBERTa's buckets, ALiBi's slopes") {
  std::vector<std::int32_t> t5;
  for (const int x : {-1000, -128, -127, -16, -9, -8, -7, -1, 0, 1, 7, 8, 16, 32, 64, 127, 128}) t5.push_back(t5_bucket(x, 32, 128));
  CHECK(t5 == std::vector<std::int32_t>{15, 15, 15, 10, 8, 8, 7, 1, 0, 17, 23, 24, 26, 28, 30, 31, 31});
  std::vector<std::int32_t> deberta;
  for (const int x : {-511, -129, -128, -5, 0, 5, 128, 129, 200, 511}) deberta.push_back(deberta_bucket(x, 256, 512));
  CHECK(deberta == std::vector<std::int32_t>{-255, -129, -128, -5, 0, 5, 128, 129, 169, 255});
  CHECK(alibi_slopes(8) == std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
  const auto three = alibi_slopes(3);
  REQUIRE(three.size() == 3);
  CHECK(three[0] == 0.0625);
  CHECK(three[1] == 0.00390625);
  CHECK(three[2] == 0.25);
}
