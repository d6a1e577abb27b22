// SPDX-License-Identifier: MIT
#include "lexformer/attention/lea.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <string>

#include "../support/batches.hpp"
#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/attention/reach.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/models/transformer.hpp"
#include "lexformer/ops/index.hpp"

using namespace lexformer;
using test::error_message;
using test::max_error;
using test::random_tensor;

namespace {

using V = Var<double>;
using Terms = std::vector<PlacedTerm<double>>;

constexpr std::size_t lea_heads = 2, lea_size = 3, lea_width = lea_heads * lea_size;
const std::vector<double> levels{0, 0.25, 0.5, 1};

/// Two sequences with random codes, and the inputs of a term for them.
struct Call {
  Offsets offsets = Offsets::from_lengths(std::vector<std::size_t>{3, 4});
  V qkv{random_tensor({7, 3 * lea_width}, 1)};
  std::vector<std::uint16_t> codes = std::vector<std::uint16_t>(offsets.pairs());
  bool has_codes = true, causal = false;

  std::vector<double> level = levels;

  Call() {
    RandomStream random(3, random_site::user);
    for (auto& c : codes) c = static_cast<std::uint16_t>(random.below(levels.size()));
  }
  DeviceBatch<double> batch() const {
    Batch batch = test::batch_of_lengths({3, 4});
    if (has_codes) batch.features["lexical"] = {Per::pair, Codes{codes, level}};
    return batch;
  }
  bool calibrate(Lea<double>& term) const {
    const DeviceBatch<double> b = batch();
    ScoreTerms<double> before;
    if (causal) Reach<double>(true, 0).contribute({qkv, b, lea_heads, {}}, before);
    return term.calibrate({qkv, b, lea_heads, {}}, before);
  }
  /// Calibrates the term if necessary.
  ScoreTerms<double> contribute(Lea<double>& term) const {
    calibrate(term);
    return contribute_only(term);
  }
  ScoreTerms<double> contribute_only(const Lea<double>& term) const {
    ScoreTerms<double> terms;
    term.contribute({qkv, batch(), lea_heads, {}}, terms);
    return terms;
  }
  V context(Lea<double>& term) const { return attention(qkv, offsets, lea_heads, contribute(term)).context; }
};

Lea<double> make(LeaOptions options, double deviation = 1.0) {
  Init init(5, deviation);
  return Lea<double>(options, lea_heads, init);
}
LeaOptions constant(LeaSharing sharing = LeaSharing::head) {
  return {.sharing = sharing, .dimension = 8, .alpha = LeaAlpha::constant, .alpha_value = 1.7};
}
Terms make_terms(const LeaOptions& options, std::size_t layers) {
  Init init(5, 1.0);
  auto sites = site::terms();
  LeaFactory<double> factory(options);
  const EncoderSizes sizes{.layers = layers, .heads = lea_heads, .width = lea_width, .max_length = 10};
  factory.check(sizes, "test");
  return factory.make(sizes, init, sites);
}
/// All parameters of the terms with their shapes, e.g. "1.projection (2, 8)"; buffers in brackets.
std::string names(const Terms& terms) {
  std::string all;
  for (const auto& placed : terms)
    for (const auto& p : named_parameters<double, Cpu>(*placed.term))
      all += cat(all.empty() ? "" : " ", p.buffer ? "[" : "", *placed.layer, ".", p.name, p.var.shape(), p.buffer ? "]" : "");
  return all;
}

}  // namespace

TEST_CASE("lea_sinusoid: eq. 7 and 8 written out for E = 4") {
  const std::vector<double> s{0, 0.5, 1};
  const auto l = lea_sinusoid<double>(s, 4, true);
  // w = 2 pi, 2 pi / 100: sin sin cos cos
  CHECK(max_error(l, Tensor<double>::from({0, 0, 1, 1,                                      //
                                           0, 0.03141075907812829, -1, 0.9995065603657316,  //
                                           0, 0.06279051952931337, 1, 0.9980267284282716},
                                          {3, 4})) < 1e-15);
  const auto plain = lea_sinusoid<double>(s, 2, false);
  CHECK(max_error(plain, Tensor<double>::from({0, 1, std::sin(0.5), std::cos(0.5), std::sin(1), std::cos(1)}, {3, 2})) < 1e-15);
  CHECK(error_message([&] { lea_sinusoid<double>(s, 5, true); }) == "lea: the dimension must be even, got 5");
}

TEST_CASE("lea_sinusoid: lengths, distances and angles for d_L = 128") {
  const std::vector<double> s{0, .02, .1, .25, .5, .75, .9, 1};
  const double distance[] = {0, 0.2512, 1.2446, 2.9624, 4.9907, 5.7627, 5.8215, 5.8203};  // |l(s) - l(0)|, by numpy
  const auto l = lea_sinusoid<double>(s, 128, true), plain = lea_sinusoid<double>(s, 128, false);
  const auto dot = [](const Tensor<double>& x, std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t e = 0; e < 128; ++e) sum += x.at(a, e) * x.at(b, e);
    return sum;
  };
  const auto away = [&](const Tensor<double>& x, std::size_t r) { return std::sqrt(dot(x, r, r) - 2 * dot(x, r, 0) + dot(x, 0, 0)); };
  for (std::size_t r = 0; r < s.size(); ++r) {
    CHECK(std::sqrt(dot(l, r, r)) == doctest::Approx(8).epsilon(1e-12));
    CHECK(std::abs(away(l, r) - distance[r]) < 5e-5);
  }
  CHECK(std::abs(dot(l, 7, 6) / 64 - 0.98790) < 5e-6);
  CHECK(std::abs(dot(l, 7, 0) / 64 - 0.73534) < 5e-6);
  CHECK(std::abs(away(plain, 7) - 1.95260) < 5e-6);
}

TEST_CASE("the table is alpha W l, one row for each head, and attention is given the batch's codes") {
  const Call call;
  for (const auto sharing : {LeaSharing::head, LeaSharing::layer, LeaSharing::model})
    for (const auto representation : {LeaRepresentation::scaled, LeaRepresentation::plain, LeaRepresentation::learned}) {
      auto options = constant(sharing);
      options.representation = representation;
      options.levels = representation == LeaRepresentation::learned ? levels.size() : 0;
      auto term = make(options);
      const auto terms = call.contribute(term);
      REQUIRE(terms.lookups.size() == 1);
      CHECK(terms.lookups[0].codes.to_vector() == call.codes);
      const auto& table = terms.lookups[0].table;
      CHECK(table.shape() == Shape{lea_heads, levels.size()});
      const auto l = representation == LeaRepresentation::learned
                         ? term.level_table.value()
                         : lea_sinusoid<double>(levels, 8, representation == LeaRepresentation::scaled);
      for (std::size_t h = 0; h < lea_heads; ++h)
        for (std::size_t r = 0; r < levels.size(); ++r) {
          double sum = 0;
          for (std::size_t e = 0; e < 8; ++e) sum += term.projection.value().at(sharing == LeaSharing::head ? h : 0, e) * l.at(r, e);
          CHECK(table.value().at(h, r) == doctest::Approx(1.7 * sum).epsilon(1e-12));
        }
    }
}

TEST_CASE("a term whose batches have other levels in turn computes as a new one") {
  Call call;
  auto term = make(constant());
  for (const auto& level : {levels, std::vector<double>{0, 0.1, 0.2, 0.9}, levels, std::vector<double>{0, 0.5, 0.6, 0.7, 1}}) {
    call.level = level;
    auto fresh = make(constant());
    const auto expected = call.contribute(fresh).lookups[0].table.value();
    for (int again = 0; again < 2; ++again) {
      const auto found = call.contribute(term).lookups[0].table.value();
      CHECK(found.shape() == expected.shape());
      CHECK(found.to_vector() == expected.to_vector());
    }
  }
}

TEST_CASE("alpha by the rule of the authors' code: mean over sequences, heads and i of max_j q_i . q_j") {
  Call call;
  SUBCASE("of all j") {}
  SUBCASE("of those that a causal model sees") { call.causal = true; }
  auto term = make({.dimension = 8});
  const auto terms = call.contribute(term);
  double total = 0;
  for (std::size_t s = 0; s < call.offsets.sequences(); ++s)
    for (std::size_t h = 0; h < lea_heads; ++h)
      for (std::size_t i = 0; i < call.offsets.length(s); ++i) {
        double best = -1e30;
        for (std::size_t j = 0; j < (call.causal ? i + 1 : call.offsets.length(s)); ++j) {
          double dot = 0;
          for (std::size_t e = 0; e < lea_size; ++e)
            dot += call.qkv.value().at(call.offsets.begin(s) + i, h * lea_size + e) *
                   call.qkv.value().at(call.offsets.begin(s) + j, h * lea_size + e);
          best = std::max(best, dot);
        }
        total += best;
      }
  const double expected = total / static_cast<double>(call.offsets.tokens() * lea_heads);
  CHECK(term.alpha.item() == doctest::Approx(expected).epsilon(1e-12));
  auto fixed = make({.dimension = 8, .alpha = LeaAlpha::constant, .alpha_value = expected});
  CHECK(max_error(terms.lookups[0].table.value(), call.contribute(fixed).lookups[0].table.value()) < 1e-12);
}

TEST_CASE("alpha by magnitudes: std(q . k / sqrt(d)) / std(l . W) over the cells with s > 0") {
  Call call;
  SUBCASE("of all pairs") {}
  SUBCASE("of those that a causal model sees") { call.causal = true; }
  auto term = make({.dimension = 8, .alpha = LeaAlpha::magnitude});
  auto unscaled = make({.dimension = 8, .alpha = LeaAlpha::constant, .alpha_value = 1});
  const auto table = call.contribute(unscaled).lookups[0].table.value();
  call.contribute(term);
  std::vector<double> semantic, lexical;
  for (std::size_t s = 0; s < call.offsets.sequences(); ++s)
    for (std::size_t h = 0; h < lea_heads; ++h)
      for (std::size_t i = 0; i < call.offsets.length(s); ++i)
        for (std::size_t j = 0; j < call.offsets.length(s); ++j) {
          const auto code = call.codes[call.offsets.pair_begin(s) + i * call.offsets.length(s) + j];
          if (code == 0 || (call.causal && j > i)) continue;
          double dot = 0;
          for (std::size_t e = 0; e < lea_size; ++e)
            dot += call.qkv.value().at(call.offsets.begin(s) + i, h * lea_size + e) *
                   call.qkv.value().at(call.offsets.begin(s) + j, lea_width + h * lea_size + e);
          semantic.push_back(dot / std::sqrt(static_cast<double>(lea_size)));
          lexical.push_back(table.at(h, code));
        }
  const auto deviation = [](const std::vector<double>& x) {
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / static_cast<double>(x.size());
    for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
    return std::sqrt(variance);
  };
  CHECK(term.alpha.item() == doctest::Approx(deviation(semantic) / deviation(lexical)).epsilon(1e-12));
}

TEST_CASE("alpha is set by calibrate() once, and a forward pass needs it and keeps it") {
  Call call, later;
  later.qkv = V(random_tensor({7, 3 * lea_width}, 9));
  for (const auto rule : {LeaAlpha::query, LeaAlpha::magnitude}) {
    auto term = make({.dimension = 8, .alpha = rule});
    CHECK(error_message([&] { call.contribute_only(term); }) ==
          "lea: alpha is not set: model.calibrate(batch) measures it before training, and it is saved with the model; or use a constant "
          "alpha");
    CHECK(term.alpha.item() == 0);
    CHECK(call.calibrate(term));
    const double first = term.alpha.item();
    CHECK(first > 0);
    CHECK(later.calibrate(term));
    later.contribute_only(term);
    CHECK(term.alpha.item() == first);
    CHECK_FALSE(term.alpha.requires_grad());
  }
  auto term = make(constant());
  CHECK(call.calibrate(term));
  CHECK(term.alpha.item() == 1.7);
}

TEST_CASE("a batch on which alpha cannot be measured leaves it to another") {
  Call call;
  for (const std::uint16_t only : std::vector<std::uint16_t>{0, 3}) {  // no similar pair; all similar pairs are equal
    // The heads share w, so that l . W has the same value in all cells.
    auto term = make({.sharing = LeaSharing::layer, .dimension = 8, .alpha = LeaAlpha::magnitude});
    call.codes.assign(call.codes.size(), only);
    CHECK_FALSE(call.calibrate(term));
    CHECK(term.alpha.item() == 0);
    CHECK(Call().calibrate(term));
    CHECK(term.alpha.item() > 0);
  }
}

TEST_CASE("sharing decides which parameters there are") {
  CHECK(names(make_terms(constant(LeaSharing::head), 4)) == "2.projection(2, 8) [2.alpha(1,)] 3.projection(2, 8) [3.alpha(1,)]");
  CHECK(names(make_terms(constant(LeaSharing::layer), 4)) == "2.projection(1, 8) [2.alpha(1,)] 3.projection(1, 8) [3.alpha(1,)]");
  CHECK(names(make_terms(constant(LeaSharing::model), 4)) == "2.projection(1, 8) [2.alpha(1,)] [3.alpha(1,)]");
  auto learned = constant(LeaSharing::model);
  learned.representation = LeaRepresentation::learned;
  learned.levels = 4;
  CHECK(names(make_terms(learned, 4)) == "2.projection(1, 8) 2.levels(4, 8) [2.alpha(1,)] [3.alpha(1,)]");
  learned.sharing = LeaSharing::head;
  CHECK(names(make_terms(learned, 2)) == "1.projection(2, 8) 1.levels(4, 8) [1.alpha(1,)]");
}

TEST_CASE("the gradient of a shared projection comes from all layers") {
  const Call call;
  for (const auto sharing : {LeaSharing::layer, LeaSharing::model}) {
    const auto terms = make_terms(constant(sharing), 4);
    auto &first = dynamic_cast<Lea<double>&>(*terms[0].term), &second = dynamic_cast<Lea<double>&>(*terms[1].term);
    const auto gradient = [&](bool use_first, bool use_second) {
      first.projection.clear_grad();
      const auto cotangent = random_tensor({7, lea_width}, 8);
      if (use_first) call.context(first).backward(cotangent.clone());
      if (use_second) scale(call.context(second), 3.0).backward(cotangent.clone());
      return first.projection.grad();
    };
    const auto one = gradient(true, false), both = gradient(true, true);
    if (sharing == LeaSharing::layer) {
      CHECK(max_error(one, both) == 0);
    } else {
      auto expected = one.clone();
      const auto other = gradient(false, true);
      Kernels<Cpu>::add_to(expected.size(), other.data(), expected.mutable_data());
      CHECK(max_error(one, both) > 1e-3);
      CHECK(max_error(both, expected) < 1e-14);
    }
  }
}

TEST_CASE("gradients flow through lookup, table and projection, and to the learned levels") {
  Call call;
  for (const auto sharing : {LeaSharing::head, LeaSharing::layer})
    for (const auto representation : {LeaRepresentation::scaled, LeaRepresentation::learned}) {
      auto options = constant(sharing);
      options.representation = representation;
      options.levels = representation == LeaRepresentation::learned ? levels.size() : 0;
      auto term = make(options);
      call.qkv.set_requires_grad(true);
      std::vector<V> leaves;
      leaves.push_back(call.qkv);
      for (const auto& p : named_parameters<double, Cpu>(term))
        if (!p.buffer) leaves.push_back(p.var);
      CHECK(leaves.size() == (representation == LeaRepresentation::learned ? 3 : 2));
      const auto result = gradcheck([&] { return call.context(term); }, leaves);
      CHECK_MESSAGE(result.ok, result.message);
    }
}

TEST_CASE("layers: the second half by default, or a range") {
  const auto layers = [](std::size_t first, std::size_t last, std::size_t count, std::size_t every = 1) {
    auto options = constant();
    options.first_layer = first;
    options.last_layer = last;
    options.every = every;
    std::vector<std::size_t> found;
    for (const auto& placed : make_terms(options, count)) found.push_back(*placed.layer);
    return found;
  };
  CHECK(layers(0, 0, 8) == std::vector<std::size_t>{4, 5, 6, 7});
  CHECK(layers(0, 0, 3) == std::vector<std::size_t>{1, 2});
  CHECK(layers(0, 0, 1) == std::vector<std::size_t>{0});
  CHECK(layers(0, 2, 8) == std::vector<std::size_t>{0, 1});
  CHECK(layers(7, 8, 8) == std::vector<std::size_t>{7});
  CHECK(layers(0, 0, 22, 3) == std::vector<std::size_t>{12, 15, 18, 21});
  CHECK(layers(0, 4, 8, 3) == std::vector<std::size_t>{0, 3});
  CHECK(error_message([&] { layers(4, 6, 8, 3); }) ==
        "lea: `every` 3 divides none of the layers 4 to 5; name other layers or a smaller number");
  const auto message = [&](std::size_t first, std::size_t last) { return error_message([&] { layers(first, last, 8); }); };
  CHECK(message(3, 3) == "lea: layers 3 to 3 of a model with 8 layers; the first counts from 0, the last is not included");
  CHECK(message(5, 4) == "lea: layers 5 to 4 of a model with 8 layers; the first counts from 0, the last is not included");
  CHECK(message(4, 9) == "lea: layers 4 to 9 of a model with 8 layers; the first counts from 0, the last is not included");
}

TEST_CASE("LEA refuses what cannot work, and says why") {
  const auto message = [](const LeaOptions& options) { return error_message([&] { make(options); }); };
  CHECK(message({.dimension = 7}) == "lea: the dimension must be even and not 0, got 7");
  CHECK(message({.dimension = 0}) == "lea: the dimension must be even and not 0, got 0");
  CHECK(message({.representation = LeaRepresentation::learned}) ==
        "lea: the learned representation has one row for each level, so it needs quantised levels (for example 50), not exact ones");
  CHECK(message({.alpha = LeaAlpha::constant, .alpha_value = 0}) ==
        "lea: a constant alpha of 0 would switch the bias off; leave LEA out instead");
  Call call;
  auto quantised = make({.dimension = 8, .levels = 50});
  CHECK(error_message([&] { call.contribute(quantised); }) == "lea: the model was made for 50 quantised levels, the batch has 4");
  call.has_codes = false;
  auto term = make(constant());
  CHECK(error_message([&] { call.contribute(term); }) ==
        "lea: the batch has no feature 'lexical'; make it with the batch() of the model, or of a PairDataset with the model's features");
}

TEST_CASE("calibrate() refuses codes that are not for pairs, and numbers that are not finite") {
  const Call call;
  auto term = make({.dimension = 8, .alpha = LeaAlpha::magnitude});
  Batch batch = test::batch_of_lengths({3, 4});
  batch.features["lexical"] = {Per::token, Codes{std::vector<std::uint16_t>(7, 1), levels}};
  const DeviceBatch<double> per_token = batch;
  CHECK(error_message([&] {
          term.calibrate({call.qkv, per_token, lea_heads, {}}, {});
        }) == "lea: 7 codes for 25 token pairs; the feature must hold a code for each pair");
  Call bad;
  auto qkv = random_tensor({7, 3 * lea_width}, 1);
  qkv.mutable_data()[0] = std::numeric_limits<double>::infinity();
  bad.qkv = V(qkv);
  CHECK_THROWS_WITH_AS(bad.calibrate(term), doctest::Contains("lea: alpha would be"), Error);
  CHECK(term.alpha.item() == 0);
  Init init(1);
  const LeaOptions none{.dimension = 8, .alpha = LeaAlpha::constant, .alpha_value = 1e-50};  // 0 in float
  CHECK_THROWS_AS(Lea<float>(none, lea_heads, init), Error);
}
