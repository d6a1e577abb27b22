// SPDX-License-Identifier: MIT
// A reach of attention against its definition and against a pair bias of -inf, which hides the same keys but computes them: with every kind
// of term, and with sequences of one block of queries and of several.
#include <doctest/doctest.h>

#include <limits>

#include "../support/random_tensor.hpp"
#include "lexformer/attention/reach.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/ops/attention.hpp"
#include "lexformer/ops/attention_reference.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/rows.hpp"

using namespace lexformer;
using test::random_tensor;

namespace {

constexpr std::size_t H = 2, d = 3, D = H * d, R = 4;
constexpr double infinity = std::numeric_limits<double>::infinity();

enum Form { lookup = 1, position_bias = 2, relative_query = 4, relative_key = 8, gate = 16, pair_bias = 32, pair_bias_of_heads = 64 };
constexpr int all_forms = 127;

struct Limit {
  bool causal;
  std::size_t distance;
};

/// A batch of sequences, and the leaves of all terms.
template <class T>
struct Problem {
  Offsets offsets;
  std::vector<std::uint16_t> codes;
  std::vector<std::int32_t> buckets;
  std::vector<Var<T>> leaves;

  explicit Problem(const std::vector<std::size_t>& lengths) : offsets(Offsets::from_lengths(lengths)) {
    RandomStream random(3, random_site::user);
    for (std::size_t e = 0; e < offsets.pairs(); ++e) codes.push_back(static_cast<std::uint16_t>(random.below(R)));
    const auto longest = static_cast<std::int32_t>(offsets.longest());
    for (std::int32_t k = 1 - longest; k < longest; ++k) buckets.push_back(std::clamp(k, -2, 2) + 2);
    const std::size_t pairs = offsets.pairs();
    for (const Shape& shape : {Shape{offsets.tokens(), 3 * D}, Shape{H, R}, Shape{H, offsets.longest(), offsets.longest()}, Shape{H, 5, d},
                               Shape{1, 5, d}, Shape{pairs}, Shape{pairs}, Shape{H, pairs}})
      leaves.emplace_back(cast<T>(Var<double>(random_tensor(shape, static_cast<std::uint32_t>(leaves.size() + 1)))).value(), true);
  }
  ScoreTerms<T> terms(int forms, const std::vector<Var<T>>& v) const {
    ScoreTerms<T> t;
    if (forms & lookup) t.lookups.push_back({v[1], codes});
    if (forms & position_bias) t.position_bias = v[2];
    if (forms & relative_query) t.relatives.push_back({v[3], buckets, false, T(0.5)});
    if (forms & relative_key) t.relatives.push_back({v[4], buckets, true, T(0.7)});
    if (forms & gate) t.gate = v[5];
    if (forms & pair_bias) t.add_pair_bias(v[6]);
    if (forms & pair_bias_of_heads) t.add_pair_bias(v[7]);
    return t;
  }
  /// Of each pair, whether it is seen: the definition in words, apart from AttentionReach.
  std::vector<bool> seen(const Limit& limit) const {
    std::vector<bool> all;
    for (std::size_t s = 0; s < offsets.sequences(); ++s)
      for (std::size_t i = 0, n = offsets.length(s); i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          all.push_back(!(limit.causal && j > i) && (limit.distance == 0 || (i > j ? i - j : j - i) <= limit.distance));
    return all;
  }
  /// The terms with a reach, or with a pair bias that hides the same.
  ScoreTerms<T> limited(int forms, const Limit& limit) const {
    auto t = terms(forms, leaves);
    t.limit_reach({limit.causal, limit.distance});
    return t;
  }
  ScoreTerms<T> biased(int forms, const Limit& limit) const {
    std::vector<T> bias;
    for (const bool one : seen(limit)) bias.push_back(static_cast<T>(one ? 0 : -infinity));
    auto t = terms(forms, leaves);
    t.add_pair_bias(Var<T>(Tensor<T>::from(bias, {bias.size()})));
    return t;
  }
  /// Context, map and all gradients, from random gradients of context and map; of the map only for pairs that are seen.
  std::vector<Tensor<T>> results(const ScoreTerms<T>& terms, const AttentionOptions& options, const std::vector<bool>& seen) {
    const auto y = attention(leaves[0], offsets, H, terms, options);
    for (auto& leaf : leaves) leaf.clear_grad();
    std::vector<Tensor<T>> all{y.context.value()};
    const auto gradient = cast<T>(Var<double>(random_tensor(y.context.shape(), 42))).value();
    if (options.attentions == Attentions::none) {
      y.context.backward(gradient.clone());
    } else {
      all.push_back(y.attentions.value());
      auto of_map = cast<T>(Var<double>(random_tensor(y.attentions.shape(), 43))).value().clone();
      for (std::size_t e = 0; e < of_map.size(); ++e)
        if (!seen[e % seen.size()]) of_map.mutable_data()[e] = T{0};
      concat_rows(std::vector{reshape(y.context, {y.context.size()}), reshape(y.attentions, {y.attentions.size()})})
          .backward(concat_rows(std::vector{reshape(Var<T>(gradient), {gradient.size()}), reshape(Var<T>(of_map), {of_map.size()})})
                        .value()
                        .clone());
    }
    for (const auto& leaf : leaves)
      if (leaf.grad().defined()) all.push_back(leaf.grad());
    return all;
  }
};

/// The largest difference, where equal infinities have none.
template <class T>
double difference(const Tensor<T>& a, const Tensor<T>& b) {
  double most = a.shape() == b.shape() ? 0 : infinity;
  for (std::size_t e = 0; e < a.size() && most < infinity; ++e) {
    const auto x = static_cast<double>(a.data()[e]), y = static_cast<double>(b.data()[e]);
    if (!(x == y)) most = std::isfinite(x - y) ? std::max(most, std::abs(x - y)) : infinity;
  }
  return most;
}

/// The same results, with every map and with dropout, as the definition and as with a pair bias.
template <class T>
void check(const std::vector<std::size_t>& lengths, const Limit& limit, int forms, double tolerance) {
  CAPTURE(limit.causal);
  CAPTURE(limit.distance);
  CAPTURE(forms);
  Problem<T> problem(lengths);
  const auto seen = problem.seen(limit);
  for (const auto maps : {Attentions::none, Attentions::scores, Attentions::probabilities}) {
    const AttentionOptions options{.dropout = {0.4f, {1, 2, 3}}, .attentions = maps, .attention_heads = {1}};
    const auto got = problem.results(problem.limited(forms, limit), options, seen),
               expected = problem.results(problem.biased(forms, limit), options, seen);
    REQUIRE(got.size() == expected.size());
    for (std::size_t r = 0; r < got.size(); ++r) {
      CAPTURE(r);
      CHECK(difference(got[r], expected[r]) <= tolerance);
    }
    if (std::is_same_v<T, double> && maps == Attentions::none)
      CHECK(
          difference(got[0], attention_reference(problem.leaves[0], problem.offsets, H, problem.limited(forms, limit), options).context) <=
          tolerance);
  }
}

}  // namespace

TEST_CASE("reach: every combination of terms gives what a pair bias of -inf gives; short sequences, and one token") {
  for (const Limit& limit : {Limit{true, 0}, Limit{false, 1}, Limit{true, 3}, Limit{false, 4}})
    for (int forms = 0; forms <= all_forms; ++forms) check<double>({3, 1, 5, 2}, limit, forms, 1e-13);
}

TEST_CASE("reach: sequences of several blocks of queries, and distances around their edges") {
  for (const Limit& limit : {Limit{true, 0}, Limit{false, 1}, Limit{false, 16}, Limit{true, 63}, Limit{false, 64}, Limit{false, 79}})
    for (const int forms : {0, 4 + 8, all_forms}) {
      check<double>({80, 1, 65}, limit, forms, 1e-12);
      if (forms == all_forms) check<float>({80, 1, 65}, limit, forms, 2e-4);
    }
}

// In float, a pair bias of -inf leaves probabilities of about 1e-38, a reach 0.
TEST_CASE("reach: in one block of queries all results are those of the pair bias, in several scores and probabilities are") {
  for (const Limit& limit : {Limit{true, 0}, Limit{false, 5}, Limit{false, 50}})
    for (const int forms : {0, all_forms}) check<float>({64, 2, 33}, limit, forms, 1e-35);
  for (const Limit& limit : {Limit{true, 0}, Limit{false, 20}, Limit{true, 70}}) {
    Problem<float> problem({150, 3});
    const auto limited = problem.limited(all_forms, limit), biased = problem.biased(all_forms, limit);
    for (const auto maps : {Attentions::scores, Attentions::probabilities})
      CHECK(difference(attention(problem.leaves[0], problem.offsets, H, limited, {.attentions = maps}).attentions.value(),
                       attention(problem.leaves[0], problem.offsets, H, biased, {.attentions = maps}).attentions.value()) < 1e-37);
  }
}

TEST_CASE("reach: a key that is not seen has the probability 0 and the score -inf") {
  Problem<float> problem({150});
  for (const Limit& limit : {Limit{true, 0}, Limit{false, 20}}) {
    const auto seen = problem.seen(limit);
    const auto terms = problem.limited(lookup + gate, limit);
    const auto p = attention(problem.leaves[0], problem.offsets, H, terms, {.attentions = Attentions::probabilities}).attentions.value();
    const auto s = attention(problem.leaves[0], problem.offsets, H, terms, {.attentions = Attentions::scores}).attentions.value();
    std::size_t wrong = 0;
    for (std::size_t e = 0; e < p.size(); ++e)
      wrong += (p.data()[e] > 0) != seen[e % seen.size()] || std::isfinite(s.data()[e]) != seen[e % seen.size()];
    CHECK(wrong == 0);
  }
}

TEST_CASE("reach: in bfloat16, as exact as without a reach") {
  for (const Limit& limit : {Limit{true, 0}, Limit{false, 3}, Limit{true, 20}})
    for (const int forms : {0, 1 + 16, 4 + 8}) {
      CAPTURE(limit.distance);
      CAPTURE(forms);
      Problem<bfloat16> rounded({130, 2});
      Problem<double> exact({130, 2});
      for (std::size_t v = 0; v < exact.leaves.size(); ++v)
        exact.leaves[v] = Var<double>(cast<double>(cast<float>(rounded.leaves[v])).value(), true);
      const auto seen = exact.seen(limit);
      const AttentionOptions options{.dropout = {0.4f, {1, 2, 3}}, .attentions = Attentions::probabilities};
      const auto got = rounded.results(rounded.limited(forms, limit), options, seen);
      const auto expected = exact.results(exact.limited(forms, limit), options, seen);
      REQUIRE(got.size() == expected.size());
      for (std::size_t r = 0; r < got.size(); ++r) {
        CAPTURE(r);
        CHECK(test::max_error(got[r], expected[r]) < (r < 2 ? 0.02 : 0.1));
      }
    }
}

TEST_CASE("reach: gradients by finite differences, with every term") {
  for (const Limit& limit : {Limit{true, 0}, Limit{false, 2}, Limit{true, 1}}) {
    const Problem<double> problem({5, 1, 3});
    std::vector<Tensor<double>> inputs;
    for (const auto& leaf : problem.leaves) inputs.push_back(leaf.value());
    const auto result = gradcheck(
        [&](const std::vector<Var<double>>& v) {
          auto terms = problem.terms(all_forms, v);
          terms.limit_reach({limit.causal, limit.distance});
          const auto y =
              attention(v[0], problem.offsets, H, terms, {.dropout = {0.4f, {1, 2, 3}}, .attentions = Attentions::probabilities});
          return concat_rows(std::vector{reshape(y.context, {y.context.size()}), reshape(y.attentions, {y.attentions.size()})});
        },
        inputs, {.max_elements = 40});
    CHECK_MESSAGE(result.ok, result.message);
  }
}

TEST_CASE("reach: a gradient of the score of a key that is not seen reaches nothing") {
  Problem<double> problem({70});
  ScoreTerms<double> terms;
  terms.limit_reach({true, 3});
  const auto seen = problem.seen({true, 3});
  const auto map = attention(problem.leaves[0], problem.offsets, H, terms, {.attentions = Attentions::scores}).attentions;
  auto gradient = Tensor<double>::zeros(map.shape());
  for (std::size_t e = 0; e < gradient.size(); ++e)
    if (!seen[e % seen.size()]) gradient.mutable_data()[e] = 1;
  map.backward(std::move(gradient));
  CHECK(difference(problem.leaves[0].grad(), Tensor<double>::zeros(problem.leaves[0].shape())) == 0);
}

TEST_CASE("reach: a sequence of which a number for each pair of tokens would take 40 GB") {
  const std::size_t n = 100000;
  const auto one = Offsets::from_lengths(std::vector<std::size_t>{n});
  const Var<float> qkv(Tensor<float>::full({n, 3 * 4}, 0.5f), true);
  ScoreTerms<float> terms;
  terms.limit_reach({true, 9});
  const auto y = attention(qkv, one, 1, terms).context;
  sum(y).backward();
  double error = 0;
  for (std::size_t e = 0; e < y.size(); ++e) error = std::max(error, std::abs(static_cast<double>(y.value().data()[e]) - 0.5));
  CHECK(error < 1e-6);
  CHECK(qkv.grad().at(n / 2, 8) == doctest::Approx(1).epsilon(1e-5));    // seen by ten queries with 1/10 each
  CHECK(qkv.grad().at(n - 1, 8) == doctest::Approx(0.1).epsilon(1e-5));  // by one
}

TEST_CASE("reach: of several limits all hold, and no tensor of token pairs is made") {
  ScoreTerms<double> terms;
  const auto is = [&](bool causal, std::size_t distance) { return terms.reach.causal == causal && terms.reach.distance == distance; };
  CHECK(is(false, 0));
  terms.limit_reach({false, 9});
  CHECK(is(false, 9));
  terms.limit_reach({true, 0});
  CHECK(is(true, 9));
  terms.limit_reach({false, 4});
  CHECK(is(true, 4));
  terms.limit_reach({false, 5});
  CHECK(is(true, 4));
  CHECK(!terms.pair_bias.defined());
  for (const auto* v : terms.variables()) CHECK(!v->defined());
}
