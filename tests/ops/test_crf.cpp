// SPDX-License-Identifier: MIT
// The conditional random field against all paths, one by one; its gradients; other sequences, threads, extreme scores, bad input.
#include "lexformer/ops/crf.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "../support/error_message.hpp"
#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/core/bfloat16.hpp"
#include "lexformer/ops/index.hpp"

using namespace lexformer;
using test::error_message;
using test::max_error;
using test::random_tensor;

namespace {

using LabelPath = std::vector<std::int32_t>;

const Offsets crf_offsets = Offsets::from_lengths(std::vector<std::size_t>{3, 1, 5, 2});

/// Emissions, transitions, start, end.
std::vector<Tensor<double>> crf_inputs(std::size_t labels, const Offsets& offsets = crf_offsets, double deviation = 1) {
  return {random_tensor({offsets.tokens(), labels}, 0, deviation), random_tensor({labels, labels}, 1, deviation),
          random_tensor({labels}, 2, deviation), random_tensor({labels}, 3, deviation)};
}
LabelPath crf_labels(std::size_t tokens, std::size_t labels) {
  LabelPath y;
  for (std::size_t t = 0; t < tokens; ++t) y.push_back(static_cast<std::int32_t>((t * t + t / 3) % labels));
  return y;
}
template <class T>
std::vector<Var<T>> crf_leaves(const std::vector<Tensor<double>>& x) {
  std::vector<Var<T>> v;
  for (const auto& t : x) v.emplace_back(cast<T>(Var<double>(t)).value().clone(), true);
  return v;
}
template <class T>
Var<accumulate_t<T>> loss_of(const std::vector<Var<T>>& v, const LabelPath& y, const Offsets& offsets = crf_offsets) {
  return crf_loss(v[0], offsets, y, v[1], v[2], v[3]);
}
template <class T>
LabelPath best_of(const std::vector<Var<T>>& v, const Offsets& offsets = crf_offsets) {
  return crf_decode(v[0], offsets, v[1], v[2], v[3]);
}
/// The loss and its gradients.
template <class T>
std::vector<Tensor<double>> crf_outcome(const std::vector<Tensor<double>>& x, const LabelPath& y, const Offsets& offsets = crf_offsets) {
  const auto v = crf_leaves<T>(x);
  const auto loss = loss_of(v, y, offsets);
  loss.backward();
  std::vector<Tensor<double>> all{cast<double>(loss).value()};
  for (const auto& leaf : v) all.push_back(cast<double>(Var<T>(leaf.grad())).value());
  return all;
}

/// The score of one path of sequence s.
double score_of(const std::vector<Tensor<double>>& x, std::size_t s, const LabelPath& path, const Offsets& offsets = crf_offsets) {
  const auto label = [&](std::size_t t) { return static_cast<std::size_t>(path[t]); };
  double score = x[2].data()[label(0)] + x[3].data()[label(path.size() - 1)];
  for (std::size_t t = 0; t < path.size(); ++t) {
    score += x[0].at(offsets.begin(s) + t, label(t));
    if (t > 0) score += x[1].at(label(t - 1), label(t));
  }
  return score;
}
/// use(path) for each path of n tokens.
template <class Use>
void for_each_path(std::size_t n, std::size_t labels, Use&& use) {
  LabelPath path(n, 0);
  for (;;) {
    use(path);
    std::size_t t = 0;
    while (t < n && ++path[t] == static_cast<std::int32_t>(labels)) path[t++] = 0;
    if (t == n) return;
  }
}

/// Loss and gradients by their definitions: the sums over all paths of each sequence.
std::vector<Tensor<double>> by_enumeration(const std::vector<Tensor<double>>& x, const LabelPath& y) {
  const std::size_t labels = x[1].dim(0);
  std::vector<Tensor<double>> out{Tensor<double>::zeros(Shape{})};
  for (const auto& t : x) out.push_back(Tensor<double>::zeros(t.shape()));
  const double weight = 1.0 / static_cast<double>(crf_offsets.sequences());
  for (std::size_t s = 0; s < crf_offsets.sequences(); ++s) {
    const std::size_t n = crf_offsets.length(s), first = crf_offsets.begin(s);
    double total = 0;
    for_each_path(n, labels, [&](const LabelPath& path) { total += std::exp(score_of(x, s, path)); });
    const auto add = [&](const LabelPath& path, double share) {
      const auto label = [&](std::size_t t) { return static_cast<std::size_t>(path[t]); };
      out[3].mutable_data()[label(0)] += share;
      out[4].mutable_data()[label(n - 1)] += share;
      for (std::size_t t = 0; t < n; ++t) {
        out[1].mutable_data()[(first + t) * labels + label(t)] += share;
        if (t > 0) out[2].mutable_data()[label(t - 1) * labels + label(t)] += share;
      }
    };
    for_each_path(n, labels, [&](const LabelPath& path) { add(path, weight * std::exp(score_of(x, s, path)) / total); });
    const LabelPath observed(y.begin() + static_cast<std::ptrdiff_t>(first), y.begin() + static_cast<std::ptrdiff_t>(first + n));
    add(observed, -weight);
    out[0].mutable_data()[0] += weight * (std::log(total) - score_of(x, s, observed));
  }
  return out;
}

}  // namespace

TEST_CASE("crf_loss: loss and gradients are the sums over all paths") {
  for (const std::size_t labels : {1u, 2u, 3u, 5u}) {
    CAPTURE(labels);
    const auto x = crf_inputs(labels);
    const auto y = crf_labels(crf_offsets.tokens(), labels);
    const auto expected = by_enumeration(x, y);
    const auto found = crf_outcome<double>(x, y), single = crf_outcome<float>(x, y), half = crf_outcome<bfloat16>(x, y);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(max_error(found[i], expected[i]) < 1e-13);
      CHECK(max_error(single[i], expected[i]) < 1e-5);
      CHECK(max_error(half[i], expected[i]) < 0.1);
    }
  }
}

TEST_CASE("crf_loss: gradients by finite differences") {
  const auto y = crf_labels(crf_offsets.tokens(), 4);
  const auto result = gradcheck([&](const std::vector<Var<double>>& v) { return loss_of(v, y); }, crf_inputs(4));
  CHECK_MESSAGE(result.ok, result.message);
  CHECK(result.worst < 1e-7);
  // The gradient is multiplied by that of the loss.
  const auto v = crf_leaves<double>(crf_inputs(4)), w = crf_leaves<double>(crf_inputs(4));
  loss_of(v, y).backward();
  scale(loss_of(w, y), -2.5).backward();
  for (std::size_t i = 0; i < v.size(); ++i) CHECK(max_error(w[i].grad(), scale(Var<double>(v[i].grad()), -2.5).value()) < 1e-15);
}

TEST_CASE("crf_decode finds the path with the highest score") {
  for (const std::size_t labels : {1u, 2u, 3u, 5u}) {
    CAPTURE(labels);
    const auto x = crf_inputs(labels);
    const auto best = best_of(crf_leaves<double>(x));
    CHECK(best == best_of(crf_leaves<float>(x)));
    for (std::size_t s = 0; s < crf_offsets.sequences(); ++s) {
      const std::size_t n = crf_offsets.length(s), first = crf_offsets.begin(s);
      double top = -1e300;
      LabelPath winner;
      for_each_path(n, labels, [&](const LabelPath& path) {
        const double score = score_of(x, s, path);
        if (score > top) winner = path;
        top = std::max(top, score);
      });
      CHECK(LabelPath(best.begin() + static_cast<std::ptrdiff_t>(first), best.begin() + static_cast<std::ptrdiff_t>(first + n)) == winner);
    }
  }
  // Equal scores: the smaller label.
  const auto equal = best_of(crf_leaves<double>(crf_inputs(4, crf_offsets, 0)));
  CHECK(equal == LabelPath(crf_offsets.tokens(), 0));
}

TEST_CASE("crf: a sequence of one token is a softmax of start + emissions + end") {
  const auto one = Offsets::from_lengths(std::vector<std::size_t>{1});
  const auto x = crf_inputs(4, one);
  const auto found = crf_outcome<double>(x, {2}, one);
  std::vector<double> z;
  double total = 0;
  for (std::size_t j = 0; j < 4; ++j) z.push_back(x[0].data()[j] + x[2].data()[j] + x[3].data()[j]);
  for (const double score : z) total += std::exp(score);
  CHECK(std::abs(found[0].item() - (std::log(total) - z[2])) < 1e-14);
  for (std::size_t j = 0; j < 4; ++j)
    for (const std::size_t input : {1u, 3u, 4u})
      CHECK(std::abs(found[input].data()[j] - (std::exp(z[j]) / total - (j == 2 ? 1 : 0))) < 1e-14);
  CHECK(max_error(found[2], Tensor<double>::zeros({4, 4})) == 0);
}

TEST_CASE("crf: extreme and forbidding scores") {
  const auto y = crf_labels(crf_offsets.tokens(), 3);
  // Adding the same number to all emissions of a token changes nothing.
  auto x = crf_inputs(3);
  const auto before = crf_outcome<double>(x, y);
  for (const double shift : {-1e6, 1e6}) {
    auto moved = x;
    moved[0] = x[0].clone();
    for (std::size_t t = 0; t < crf_offsets.tokens(); ++t)
      for (std::size_t j = 0; j < 3; ++j) moved[0].mutable_data()[t * 3 + j] += t % 2 == 0 ? shift : 0;
    const auto found = crf_outcome<double>(moved, y);
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(max_error(found[i], before[i]) < 1e-8);
  }
  // One path that is far above the others, in float: it is certain.
  const auto sure = crf_inputs(3, crf_offsets, 3e4);
  const auto v = crf_leaves<float>(sure);
  const auto best = best_of(v);
  const auto certain = crf_outcome<float>(sure, best);
  CHECK(std::abs(certain[0].item()) < 1e-2);
  for (std::size_t i = 1; i < certain.size(); ++i) CHECK(max_error(certain[i], Tensor<double>::zeros(certain[i].shape())) < 1e-2);
  // Forbidden: label 2 at the start, and 1 after 0.
  const double never = -std::numeric_limits<double>::infinity();
  x[2].mutable_data()[2] = never;
  x[1].mutable_data()[0 * 3 + 1] = never;
  const LabelPath allowed(crf_offsets.tokens(), 0);
  const auto found = crf_outcome<double>(x, allowed), expected = by_enumeration(x, allowed);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(max_error(found[i], expected[i]) < 1e-13);
  CHECK(found[2].at(0, 1) == 0);
  CHECK(found[3].data()[2] == 0);
  const auto path = best_of(crf_leaves<double>(x));
  for (std::size_t s = 0; s < crf_offsets.sequences(); ++s) {
    CHECK(path[crf_offsets.begin(s)] != 2);
    for (std::size_t t = crf_offsets.begin(s) + 1; t < crf_offsets.begin(s + 1); ++t) CHECK_FALSE((path[t - 1] == 0 && path[t] == 1));
  }
}

TEST_CASE("crf: the number of threads changes no bit; other sequences do not change a sequence's labels") {
  std::vector<std::size_t> lengths;
  for (std::size_t s = 0; s < 60; ++s) lengths.push_back(1 + s * 7 % 31);
  const auto offsets = Offsets::from_lengths(lengths);
  const auto x = crf_inputs(13, offsets);
  const auto y = crf_labels(offsets.tokens(), 13);
  const auto first = crf_outcome<float>(x, y, offsets);
  const auto labels = best_of(crf_leaves<float>(x), offsets);
  for (const int threads : {1, 2, 3}) {
    set_threads(threads);
    const auto again = crf_outcome<float>(x, y, offsets);
    for (std::size_t i = 0; i < first.size(); ++i) CHECK(test::same_bits(again[i], first[i]));
    CHECK(best_of(crf_leaves<float>(x), offsets) == labels);
  }
  set_threads(0);
  for (const std::size_t s : {0u, 17u, 59u}) {
    const auto v = crf_leaves<float>(x);
    const std::size_t begin = offsets.begin(s), end = offsets.begin(s + 1);
    const auto alone =
        crf_decode(slice_rows(v[0], begin, end), Offsets::from_lengths(std::vector<std::size_t>{end - begin}), v[1], v[2], v[3]);
    CHECK(alone == LabelPath(labels.begin() + static_cast<std::ptrdiff_t>(begin), labels.begin() + static_cast<std::ptrdiff_t>(end)));
  }
}

TEST_CASE("crf: what does not fit") {
  const auto v = crf_leaves<double>(crf_inputs(3));
  const auto y = crf_labels(crf_offsets.tokens(), 3);
  const auto loss = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d, const LabelPath& labels) {
    return error_message([&] { crf_loss(v[a], crf_offsets, labels, v[b], v[c], v[d]); });
  };
  CHECK(loss(0, 0, 2, 3, y) == "crf_loss: transitions must be (L, L), got (11, 3)");
  CHECK(loss(0, 1, 1, 3, y) == "crf_loss: start and end must be (3,), got (3, 3)");
  CHECK(loss(2, 1, 2, 3, y) == "crf_loss: emissions must be (tokens, 3), got (3,)");
  CHECK(loss(1, 1, 2, 3, y) == "crf_loss: emissions (3, 3) but the offsets have 11 tokens");
  CHECK(loss(0, 1, 2, 3, {1, 2}) == "crf_loss: 2 labels for 11 tokens");
  auto wrong = y;
  wrong[4] = 3;
  CHECK(loss(0, 1, 2, 3, wrong) == "crf_loss: label 3 of token 4 is not one of the 3 labels");
  wrong[4] = -100;
  CHECK(loss(0, 1, 2, 3, wrong) == "crf_loss: label -100 of token 4 is not one of the 3 labels");
  CHECK(error_message([&] {
          crf_decode(Var<double>(Tensor<double>({0, 3})), Offsets(), v[1], v[2], v[3]);
        }) == "crf_decode: the batch is empty");
}
