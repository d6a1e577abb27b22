// SPDX-License-Identifier: MIT
// The attention op with every kind of term: values against plain loops, gradients against finite differences.
#include <doctest/doctest.h>

#include <limits>
#include <memory>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/attention.hpp"
#include "lexformer/ops/attention_reference.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/rows.hpp"

using namespace lexformer;
using test::error_message;
using test::max_error;
using test::random_tensor;

namespace {

constexpr std::size_t H = 2, d = 3, D = H * d, R = 4;
const Offsets offsets = Offsets::from_lengths(std::vector<std::size_t>{3, 1, 5, 2, 4, 1});

std::vector<std::uint16_t> codes() {
  RandomStream random(3, random_site::user);
  std::vector<std::uint16_t> c(offsets.pairs());
  for (auto& x : c) x = static_cast<std::uint16_t>(random.below(R));
  return c;
}
/// clip(i - j, -2, 2) as rows 0 .. 4
std::vector<std::int32_t> buckets() {
  std::vector<std::int32_t> b;
  const auto n = static_cast<std::int32_t>(offsets.longest());
  for (std::int32_t k = -(n - 1); k < n; ++k) b.push_back(std::clamp(k, -2, 2) + 2);
  return b;
}

enum Form {
  lookup = 1,
  position_bias = 2,
  relative_query = 4,
  relative_key_shared = 8,
  gate = 16,
  own_scale = 32,
  pair_bias = 64,
  pair_bias_of_heads = 128
};
constexpr int all_forms = 255;

std::vector<Tensor<double>> inputs() {
  return {random_tensor({offsets.tokens(), 3 * D}, 1),
          random_tensor({H, R}, 2),
          random_tensor({H, 6, 6}, 3),
          random_tensor({H, 5, d}, 4),
          random_tensor({1, 5, d}, 5),
          random_tensor({offsets.pairs()}, 6),
          random_tensor({offsets.pairs()}, 7),
          random_tensor({H, offsets.pairs()}, 8)};
}

template <class T>
ScoreTerms<T> terms(const std::vector<Var<T>>& v, int forms) {
  ScoreTerms<T> t;
  if (forms & lookup) {
    t.lookups.push_back({v[1], codes()});
    t.lookups.push_back({v[1], codes()});
  }
  if (forms & position_bias) t.position_bias = v[2];
  if (forms & relative_query) t.relatives.push_back({v[3], buckets(), false, T(0.5)});
  if (forms & relative_key_shared) t.relatives.push_back({v[4], buckets(), true, T(0.7)});
  if (forms & gate) t.gate = v[5];
  if (forms & own_scale) t.scale = T(0.3);
  if (forms & pair_bias) t.add_pair_bias(v[6]);
  if (forms & pair_bias_of_heads) t.add_pair_bias(v[7]);
  return t;
}

template <class T>
std::vector<Var<T>> vars(const std::vector<Tensor<double>>& x, bool requires_grad = false) {
  std::vector<Var<T>> v;
  for (const auto& t : x) v.emplace_back(cast<T>(Var<double>(t)).value(), requires_grad);
  return v;
}

}  // namespace

TEST_CASE("attention with every combination of forms equals its definition") {
  const auto v = vars<double>(inputs());
  for (int forms = 0; forms <= all_forms; ++forms) {
    CAPTURE(forms);
    for (const float p : {0.0f, 0.4f}) {
      AttentionOptions options{.dropout = {p, {1, 2, 3}}};
      const auto expected = attention_reference(v[0], offsets, H, terms(v, forms), options);
      CHECK(max_error(attention(v[0], offsets, H, terms(v, forms), options).context.value(), expected.context) < 1e-13);
      options.attentions = Attentions::scores;
      const auto with_scores = attention(v[0], offsets, H, terms(v, forms), options);
      CHECK(max_error(with_scores.context.value(), expected.context) < 1e-13);
      CHECK(max_error(with_scores.attentions.value(), expected.scores) < 1e-13);
      options.attentions = Attentions::probabilities;
      CHECK(max_error(attention(v[0], offsets, H, terms(v, forms), options).attentions.value(), expected.probabilities) < 1e-13);
      const auto f = vars<float>(inputs());
      CHECK(max_error(attention(f[0], offsets, H, terms(f, forms), options).context.value(), expected.context) < 1e-5);
    }
  }
}

TEST_CASE("attention: masks of -1e9 and -inf for whole rows and for code 0") {
  const Offsets one = Offsets::from_lengths(std::vector<std::size_t>{3});
  const auto qkv = random_tensor({3, 3 * D}, 1);
  SUBCASE("a row whose keys are all masked is uniform, and its probabilities sum to 1 in the gradient, too") {
    const auto x = cast<float>(Var<double>(qkv)).value();
    Var<float> leaf(x, true);
    ScoreTerms<float> masked;
    masked.pair_bias = Var<float>(Tensor<float>::full({9}, -1e9f));
    const auto y = attention(leaf, one, H, masked).context;
    for (std::size_t j = 0; j < D; ++j)
      CHECK(y.value().data()[j] ==
            doctest::Approx(static_cast<double>(x.data()[2 * D + j] + x.data()[5 * D + j] + x.data()[8 * D + j]) / 3).epsilon(1e-5));
    sum(y).backward();
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < D; ++j) CHECK(leaf.grad().data()[i * 3 * D + 2 * D + j] == doctest::Approx(1).epsilon(1e-5));
  }
  SUBCASE("a table whose code 0 masks") {
    for (const double mask : {-1e9, -std::numeric_limits<double>::infinity()}) {
      CAPTURE(mask);
      auto table = random_tensor({H, R}, 2);
      for (std::size_t h = 0; h < H; ++h) table.mutable_data()[h * R] = mask;
      const Var<double> leaf(qkv, true);
      ScoreTerms<double> t;
      t.lookups.push_back({Var<double>(table), std::vector<std::uint16_t>{1, 0, 2, 0, 3, 1, 2, 0, 0}});
      const auto expected = attention_reference(leaf, one, H, t, {});
      for (const auto maps : {Attentions::none, Attentions::scores})
        CHECK(max_error(attention(leaf, one, H, t, {.attentions = maps}).context.value(), expected.context) < 1e-13);
      const auto result = gradcheck([&](const std::vector<Var<double>>& v) { return attention(v[0], one, H, t).context; }, {qkv});
      CHECK_MESSAGE(result.ok, result.message);
    }
  }
}

TEST_CASE("a gate that is undefined is an error, not no gate") {
  ScoreTerms<double> t;
  CHECK_THROWS_WITH_AS(t.multiply_gate(Var<double>()), doctest::Contains("the gate is undefined"), Error);
}

TEST_CASE("attention returns the gradient of qkv and of every term") {
  for (const int forms : {0, 1, 2, 4, 8, 16, 32, 64, 128, 1 + 16, 16 + 64, 16 + 128, 4 + 8 + 16, all_forms}) {
    for (const auto attentions : {Attentions::none, Attentions::scores, Attentions::probabilities}) {
      CAPTURE(forms);
      CAPTURE(static_cast<int>(attentions));
      const AttentionOptions options{.dropout = {0.4f, {1, 2, 3}}, .attentions = attentions, .attention_heads = {1}};
      const auto result = gradcheck(
          [&](const std::vector<Var<double>>& v) {
            const auto y = attention(v[0], offsets, H, terms(v, forms), options);
            return attentions == Attentions::none
                       ? y.context
                       : concat_rows(std::vector{reshape(y.context, {y.context.size()}), reshape(y.attentions, {y.attentions.size()})});
          },
          inputs());
      CHECK_MESSAGE(result.ok, result.message);
      const auto only_maps = gradcheck(
          [&](const std::vector<Var<double>>& v) {
            const auto y = attention(v[0], offsets, H, terms(v, forms), options);
            return attentions == Attentions::none ? y.context : y.attentions;
          },
          inputs(), {.max_elements = 30});
      CHECK_MESSAGE(only_maps.ok, only_maps.message);
    }
  }
}

TEST_CASE("attention gradients in float agree with double") {
  for (const int forms : {1, 64, 128, all_forms}) {
    auto v64 = vars<double>(inputs(), true);
    auto v32 = vars<float>(inputs(), true);
    const AttentionOptions options{.dropout = {0.4f, {1, 2, 3}}};
    const auto cotangent = random_tensor<float>({offsets.tokens(), D}, 42);
    attention(v64[0], offsets, H, terms(v64, forms), options).context.backward(cast<double>(Var<float>(cotangent)).value());
    attention(v32[0], offsets, H, terms(v32, forms), options).context.backward(cotangent.clone());
    for (std::size_t i = 0; i < v64.size(); ++i)
      if (v64[i].grad().defined()) CHECK(max_error(v32[i].grad(), v64[i].grad()) < 1e-5);
  }
}

TEST_CASE("attention in bfloat16: values and gradients within the rounding of its factors and results") {
  for (const int forms : {0, 1, 4 + 8, 16, 128, all_forms}) {
    CAPTURE(forms);
    auto rounded = vars<bfloat16>(inputs(), true);
    std::vector<Tensor<double>> same;
    for (const auto& v : rounded) same.push_back(cast<double>(cast<float>(v)).value());
    auto exact = vars<double>(same, true);
    for (const auto maps : {Attentions::none, Attentions::scores, Attentions::probabilities}) {
      const AttentionOptions options{.dropout = {0.4f, {1, 2, 3}}, .attentions = maps, .attention_heads = {1}};
      const auto y = attention(rounded[0], offsets, H, terms(rounded, forms), options);
      const auto expected = attention(exact[0], offsets, H, terms(exact, forms), options);
      CHECK(max_error(y.context.value(), expected.context.value()) < 0.01);
      if (maps != Attentions::none) CHECK(max_error(y.attentions.value(), expected.attentions.value()) < 0.01);
      for (auto& leaf : rounded) leaf.clear_grad();
      for (auto& leaf : exact) leaf.clear_grad();
      const auto all = [maps](const auto& result) {
        return maps == Attentions::none ? result.context
                                        : concat_rows(std::vector{reshape(result.context, {result.context.size()}),
                                                                  reshape(result.attentions, {result.attentions.size()})});
      };
      const auto outputs = all(y);
      const auto cotangent = cast<bfloat16>(Var<float>(random_tensor<float>(outputs.shape(), 42)));
      outputs.backward(cotangent.value().clone());
      all(expected).backward(cast<double>(cast<float>(cotangent)).value());
      for (std::size_t i = 0; i < exact.size(); ++i)
        if (exact[i].grad().defined()) CHECK(max_error(rounded[i].grad(), exact[i].grad()) < 0.05);
    }
  }
  // Sizes around the tiles of products, whose factors are rounded: the error is that of a mean of rounded numbers.
  for (const std::uint32_t n : {15u, 16u, 17u, 31u, 33u, 70u}) {
    CAPTURE(n);
    const Offsets long_one = Offsets::from_lengths(std::vector<std::size_t>{n, 2});
    const Var<bfloat16> qkv(cast<bfloat16>(cast<float>(Var<double>(random_tensor({n + 2, 3 * 40}, n)))).value(), true);
    const Var<double> exact(cast<double>(cast<float>(qkv)).value(), true);
    const auto y = attention(qkv, long_one, 2).context;
    const auto expected = attention(exact, long_one, 2).context;
    CHECK(max_error(y.value(), expected.value()) < 0.01);
    sum(multiply(cast<float>(y), cast<float>(y))).backward();
    sum(multiply(expected, expected)).backward();
    CHECK(max_error(qkv.grad(), exact.grad()) < 0.05);
  }
  // So long that AVX-512 BF16 sums the products of a row in parts.
  constexpr std::size_t n = 801;
  const Offsets long_one = Offsets::from_lengths(std::vector<std::size_t>{n});
  const Var<bfloat16> qkv(cast<bfloat16>(Var<float>(random_tensor<float>({n, 3 * 6}, 1))).value());
  const Var<double> exact(cast<double>(cast<float>(qkv)).value());
  CHECK(max_error(attention(qkv, long_one, 1).context.value(), attention(exact, long_one, 1).context.value()) < 0.01);
}

TEST_CASE("other sequences of a batch do not change a sequence's result, and a table of zeros changes nothing at all") {
  const auto v = vars<double>(inputs());
  const auto whole = attention(v[0], offsets, H).context.value();
  for (std::size_t s = 0; s < offsets.sequences(); ++s) {
    const auto alone = attention(slice_rows(v[0], offsets.begin(s), offsets.begin(s + 1)),
                                 Offsets::from_lengths(std::vector<std::size_t>{offsets.length(s)}), H);
    CHECK(max_error(alone.context.value(), whole.slice(offsets.begin(s), offsets.begin(s + 1))) == 0);
  }
  ScoreTerms<double> zero;
  zero.lookups.push_back({Var<double>(Tensor<double>::zeros({H, R})), codes()});
  CHECK(max_error(attention(v[0], offsets, H, zero).context.value(), whole) == 0);
}

TEST_CASE("attention refuses terms that do not fit, and says how") {
  const auto v = vars<double>(inputs());
  const auto message = [&](const ScoreTerms<double>& t) -> std::string {
    try {
      attention(v[0], offsets, H, t);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  for (const std::size_t columns : std::initializer_list<std::size_t>{0, 9})
    CHECK(error_message([&] {
            attention(Var<double>(Tensor<double>::zeros({offsets.tokens(), columns})), offsets, H);
          }) == cat("attention: qkv must be (N, 3 D) with D > 0 divisible by 2 heads, got (", offsets.tokens(), ", ", columns, ")"));
  CHECK(error_message([&] {
          attention(Var<double>(Tensor<double>::zeros({1, 6})), offsets, H);
        }) == cat("attention: qkv (1, 6) but the offsets have ", offsets.tokens(), " tokens"));
  ScoreTerms<double> t;
  t.lookups.push_back({v[1], std::vector<std::uint16_t>(3)});
  CHECK(message(t) == cat("attention: a lookup has 3 codes for ", offsets.pairs(), " token pairs"));
  std::vector<std::uint16_t> unknown(offsets.pairs(), std::uint16_t{3});
  unknown[7] = 9;  // the first of two codes without a row
  unknown[8] = 11;
  t.lookups[0] = {v[1], unknown};
  CHECK(message(t) == "attention: code 9 is out of range for a lookup table (2, 4)");
  ScoreTerms<double> r;
  auto rows = buckets();
  rows[2] = -1;
  rows[3] = 5;
  r.relatives.push_back({v[3], rows, false, 1.0});
  CHECK(message(r) == "attention: bucket -1 is out of range for a relative table (2, 5, 3)");
  ScoreTerms<double> b;
  b.position_bias = Var<double>(Tensor<double>::zeros({H, 2, 2}));
  CHECK(message(b) == "attention: the position bias must be (2, n, n) with n at least 5, got (2, 2, 2)");
  ScoreTerms<double> p;
  p.pair_bias = Var<double>(Tensor<double>::zeros({offsets.pairs(), 1}));
  CHECK(message(p) ==
        cat("attention: the pair bias must be (", offsets.pairs(), ",) or (2, ", offsets.pairs(), "), got (", offsets.pairs(), ", 1)"));
  ScoreTerms<double> g;
  g.gate = Var<double>(Tensor<double>::zeros({H, offsets.pairs()}));
  CHECK(message(g) == cat("attention: the gate must be (", offsets.pairs(), ",), got (2, ", offsets.pairs(), ")"));
}

TEST_CASE("pair biases of several terms add up, and one that is the same for all keys of a query changes no probability") {
  const auto v = vars<double>(inputs());
  ScoreTerms<double> two, sum;
  two.add_pair_bias(v[5]);
  two.add_pair_bias(v[6]);
  sum.pair_bias = add(v[5], v[6]);
  CHECK(max_error(attention(v[0], offsets, H, two).context.value(), attention(v[0], offsets, H, sum).context.value()) == 0);
  ScoreTerms<double> shared, of_heads;  // a bias for each head that is the same for all gives the same bits
  shared.pair_bias = v[5];
  of_heads.pair_bias = concat_rows(std::vector{reshape(v[5], {1, offsets.pairs()}), reshape(v[5], {1, offsets.pairs()})});
  CHECK(max_error(attention(v[0], offsets, H, shared).context.value(), attention(v[0], offsets, H, of_heads).context.value()) == 0);
  ScoreTerms<double> even;
  even.pair_bias = Var<double>(Tensor<double>::full({offsets.pairs()}, 3.0));
  CHECK(max_error(attention(v[0], offsets, H, even).context.value(), attention(v[0], offsets, H).context.value()) < 1e-14);
}

TEST_CASE("a pair bias of -inf hides a token pair") {
  const auto v = vars<double>(inputs());
  auto hidden = Tensor<double>::zeros({offsets.pairs()});
  hidden.mutable_data()[offsets.pair_begin(0) + 1] =
      -std::numeric_limits<double>::infinity();  // token 0 of sequence 0 does not attend to token 1
  ScoreTerms<double> terms_;
  terms_.pair_bias = Var<double>(hidden);
  const auto p = attention(v[0], offsets, H, terms_, {.attentions = Attentions::probabilities}).attentions.value();
  for (std::size_t h = 0; h < H; ++h) {
    CHECK(p.at(h, offsets.pair_begin(0) + 1) == 0);
    CHECK(p.at(h, offsets.pair_begin(0) + 0) + p.at(h, offsets.pair_begin(0) + 2) == doctest::Approx(1.0));
  }
}

TEST_CASE("attention refuses an empty batch and an impossible dropout") {
  const auto v = vars<double>(inputs());
  CHECK_THROWS_WITH_AS(attention(Var<double>(Tensor<double>({0, 3 * D})), Offsets(), H), "attention: the batch is empty", Error);
  CHECK_THROWS_WITH_AS(attention(v[0], offsets, H, {}, {.dropout = {.p = 10.0f}}), "dropout: p must be in [0, 1), got 10", Error);
}

TEST_CASE("attentions come in the order in which heads are asked for, each once") {
  const auto v = vars<double>(inputs());
  const auto all = attention(v[0], offsets, H, {}, {.attentions = Attentions::probabilities}).attentions.value();
  const auto turned =
      attention(v[0], offsets, H, {}, {.attentions = Attentions::probabilities, .attention_heads = {1, 0}}).attentions.value();
  CHECK(max_error(turned.slice(0, 1), all.slice(1, 2)) == 0);
  CHECK(max_error(turned.slice(1, 2), all.slice(0, 1)) == 0);
  CHECK_THROWS_WITH_AS(attention(v[0], offsets, H, {}, {.attentions = Attentions::scores, .attention_heads = {1, 1}}),
                       "attention: attention_heads contains head 1 more than once", Error);
  CHECK_THROWS_WITH_AS(attention(v[0], offsets, H, {}, {.attentions = Attentions::scores, .attention_heads = {2}}),
                       "attention: attention_heads contains head 2, but there are 2 heads", Error);
}
