// SPDX-License-Identifier: MIT
#include "lexformer/attention/dafa.hpp"

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "../support/random_tensor.hpp"
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/models/analysis.hpp"
#include "models/tiny.hpp"
#include "support/expect_error.hpp"

using namespace lexformer;
using test::max_error;
using test::random_tensor;
using test::same_bits;

namespace {

const Offsets offsets = Offsets::from_lengths(std::vector<std::size_t>{5, 1, 4});
constexpr std::size_t head_count = 3, width = 12, tokens = 10;

DafaFusion<double> fusion_of(const DafaFusionOptions& options) {
  Init init(3);
  DafaFusion<double> fusion(options, head_count, width, init);
  RandomStream random(5, random_site::user);
  for (auto& p : named_parameters<double, Cpu>(fusion))
    for (double& x : p.var.mutable_value().mutable_span()) x += 0.4 * random.normal();
  return fusion;
}

/// Eq. 7-9 for one head of one token, in plain loops: P is a function that gives a weight.
std::vector<double> row(const Var<double>& x, std::size_t token, std::size_t head, std::size_t d) {
  const double* first = x.value().data() + token * x.dim(1) + head * d;
  return {first, first + d};
}
/// W x + b of set `set` of weights (G, out, in).
std::vector<double> apply(const Var<double>& w, const Var<double>& b, std::size_t set, const std::vector<double>& x) {
  std::vector<double> y(w.dim(1));
  for (std::size_t o = 0; o < y.size(); ++o) {
    y[o] = b.defined() ? b.value().at(set, o) : 0;
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += w.value().at(set, o, i) * x[i];
  }
  return y;
}
double dot(const Var<double>& w, std::size_t set, const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += w.value().at(set, i) * x[i];
  for (std::size_t i = 0; i < y.size(); ++i) sum += w.value().at(set, x.size() + i) * y[i];
  return sum;
}
std::vector<double> tanh_of(std::vector<double> x) {
  for (double& e : x) e = std::tanh(e);
  return x;
}
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// The fusion by its formulas, head by head and token by token.
Tensor<double> by_definition(const DafaFusion<double>& f, const Var<double>& s, const Var<double>& d) {
  const std::size_t n = s.dim(0), v = s.dim(1) / f.groups;
  Tensor<double> out(s.shape());
  const auto& o = f.options;
  const auto attend = [&](const auto& c, const std::vector<std::vector<double>>& over, const std::vector<double>& from, std::size_t set,
                          std::size_t begin, std::size_t end) {
    std::vector<double> weight, sum(v, 0);
    const auto u = apply(c.query, c.bias, set, from);
    double total = 0;
    for (std::size_t j = begin; j < end; ++j) {
      auto p = apply(c.key, {}, set, over[j]);
      if (o.score == DafaScore::additive) {
        for (std::size_t k = 0; k < p.size(); ++k) p[k] += u[k];
        weight.push_back(std::exp(dot(c.score, set, tanh_of(p), {})));
      } else {
        weight.push_back(std::exp(dot(c.score, set, tanh_of(p), tanh_of(u))));
      }
      total += weight.back();
    }
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t k = 0; k < v; ++k) sum[k] += weight[j - begin] / total * over[j][k];
    return sum;
  };
  for (std::size_t h = 0; h < f.groups; ++h) {
    const std::size_t set = o.sharing == DafaSharing::head ? h : 0;
    std::vector<std::vector<double>> sem, dep;
    for (std::size_t i = 0; i < n; ++i) {
      sem.push_back(row(s, i, h, v));
      dep.push_back(row(d, i, h, v));
    }
    for (std::size_t q = 0; q < offsets.sequences(); ++q)
      for (std::size_t i = offsets.begin(q); i < offsets.begin(q) + offsets.length(q); ++i) {
        const std::size_t begin = offsets.begin(q), end = begin + offsets.length(q);
        auto d_star = dep[i], s_star = sem[i];
        if (!o.without_cross) {
          d_star = attend(f.dependency, dep, sem[i], set, begin, end);
          s_star = attend(f.semantic, sem, d_star, set, begin, end);
        }
        std::vector<double> fused(v);
        if (o.without_gate) {
          for (std::size_t k = 0; k < v; ++k) fused[k] = (s_star[k] + d_star[k]) / 2;
        } else {
          const auto dh = tanh_of(apply(f.gate_dependency, f.gate_dependency_bias, set, d_star));
          const auto sh = tanh_of(apply(f.gate_semantic, f.gate_semantic_bias, set, s_star));
          const double g = logistic(dot(f.gate_score, set, dh, sh));
          fused.resize(dh.size());
          for (std::size_t k = 0; k < dh.size(); ++k) fused[k] = g * sh[k] + (1 - g) * dh[k];
        }
        std::vector<double> l = fused;
        if (!o.without_filter) {
          const double filter = logistic(dot(f.filter_score, set, sem[i], apply(f.filter_value, f.filter_value_bias, set, fused)));
          l = tanh_of(apply(f.output_weight, f.output_bias, set, fused));
          for (double& x : l) x *= filter;
        }
        const bool average = o.without_cross && o.without_gate && o.without_filter;
        for (std::size_t k = 0; k < v; ++k)
          out.mutable_data()[i * s.dim(1) + h * v + k] = l[k] + (o.output == DafaOutput::residual && !average ? sem[i][k] : 0);
      }
  }
  return out;
}

std::vector<DafaFusionOptions> all_options() {
  std::vector<DafaFusionOptions> all;
  for (const auto score : {DafaScore::additive, DafaScore::concat})
    for (const auto sharing : {DafaSharing::shared, DafaSharing::head})
      for (const auto scope : {DafaScope::head, DafaScope::merged})
        for (const auto output : {DafaOutput::literal, DafaOutput::residual})
          for (unsigned without = 0; without < 8; ++without) {
            DafaFusionOptions o{.score = score, .sharing = sharing, .scope = scope, .output = output};
            o.without_cross = (without & 1) != 0;
            o.without_gate = (without & 2) != 0;
            o.without_filter = (without & 4) != 0;
            if (without == 0) o.attention_size = 5;
            if (!o.without_gate && !o.without_filter) o.hidden_size = 3;
            all.push_back(o);
          }
  return all;
}

const Tensor<double> sem = random_tensor({tokens, width}), dep = random_tensor({tokens, width}, 9);

}  // namespace

TEST_CASE("dafa: the fusion equals its formulas, with all gradients, for all options") {
  const test::Threads one(1);
  for (const auto& options : all_options()) {
    auto fusion = fusion_of(options);
    const Var<double> s(sem.clone(), true), d(dep.clone(), true);
    CHECK(max_error(fusion(s, d, offsets).context.value(), by_definition(fusion, s, d)) < 1e-12);
    std::vector<Var<double>> leaves{s, d};
    for (auto& p : named_parameters<double, Cpu>(fusion)) leaves.push_back(p.var);
    const auto result = gradcheck([&] { return fusion(s, d, offsets).context; }, leaves, {.max_elements = 5});
    CHECK_MESSAGE(result.ok, result.message);
  }
}

TEST_CASE("dafa: eq. 7 as printed gives all tokens of a sequence the same vector, and half of its weights no gradient") {
  for (const auto score : {DafaScore::additive, DafaScore::concat}) {
    // The output is (s* + d*) / 2; with concat all tokens of a sequence get the same vector.
    auto fusion = fusion_of({.score = score, .output = DafaOutput::literal, .without_gate = true, .without_filter = true});
    const Var<double> s(sem), d(dep);
    const auto y = fusion(s, d, offsets).context;
    double spread = 0;
    for (std::size_t i = 1; i < offsets.length(0); ++i)
      for (std::size_t k = 0; k < width; ++k) spread = std::max(spread, std::abs(y.value().at(i, k) - y.value().at(0, k)));
    const bool printed = score == DafaScore::concat;
    CHECK((spread < 1e-12) == printed);
    y.backward(random_tensor({tokens, width}, 4));
    for (const auto& p : named_parameters<double, Cpu>(fusion)) {
      double largest = 0;
      for (const double g : p.var.grad().span()) largest = std::max(largest, std::abs(g));
      const bool no_effect = printed && (p.name.ends_with("query") || p.name.ends_with("bias"));
      CHECK_MESSAGE((no_effect ? largest < 1e-12 : largest > 1e-3), p.name << ": " << largest);
      if (printed && p.name.ends_with("score"))  // the second half meets U_i
        for (std::size_t k = p.var.dim(1) / 2; k < p.var.dim(1); ++k) CHECK(std::abs(p.var.grad().at(0, k)) < 1e-12);
    }
  }
}

TEST_CASE("dafa: without cross attention, gate and filter the output is the mean of both attentions") {
  for (const auto output : {DafaOutput::literal, DafaOutput::residual}) {
    const auto fusion = fusion_of({.output = output, .without_cross = true, .without_gate = true, .without_filter = true});
    const auto y = fusion(Var<double>(sem), Var<double>(dep), offsets).context;
    for (std::size_t e = 0; e < y.size(); ++e) CHECK(y.value().data()[e] == (sem.data()[e] + dep.data()[e]) * 0.5);
  }
}

namespace {

/// The two attentions of the first layer of a model.
struct Probe final : AttentionCore<double> {
  std::shared_ptr<AttentionCore<double>> inner;
  mutable Tensor<double> semantic, dependency;
  AttentionResult<double, Cpu> operator()(const AttentionInputs<double>& in, const ScoreTerms<double>& terms,
                                          const AttentionOptions& options) const override {
    const auto both = dynamic_cast<const Dafa<double>&>(*inner).both(in, terms, options, Attentions::none);
    semantic = both.semantic.context.value();
    dependency = both.dependency.context.value();
    return (*inner)(in, terms, options);
  }
};
std::shared_ptr<Probe> probe(CrossEncoder<double>& model) {
  auto p = std::make_shared<Probe>();
  p->inner = model.encoder().layers[0].attention.core;
  model.encoder().layers[0].attention.core = p;
  return p;
}
Tensor<double> with_gate(const CrossEncoder<double>& model, Batch batch, double gate, const ForwardOptions& forward = {}) {
  auto& values = std::get<std::vector<double>>(batch.features.at("dafa").values);
  std::fill(values.begin(), values.end(), gate);
  return model(batch, forward).logits.value();
}

}  // namespace

TEST_CASE("dafa: a gate of 1 makes both attentions equal to the bit; any other does not") {
  auto model = test::tiny_model(test::with_dafa());
  const auto seen = probe(model);
  const auto batch = test::tiny_batch(model);
  with_gate(model, batch, 1);
  CHECK(same_bits(seen->semantic, seen->dependency));
  with_gate(model, batch, 0.5);
  CHECK(max_error(seen->semantic, seen->dependency) > 1e-3);
  model(batch);
  CHECK(max_error(seen->semantic, seen->dependency) > 1e-3);
  with_gate(model, batch, 1, {.training = true, .seed = 1});  // two dropout masks
  CHECK(max_error(seen->semantic, seen->dependency) > 1e-3);
}

TEST_CASE("dafa: a view of a layer has its attentions and filter gate") {
  const auto model = test::tiny_model(test::with_dafa());
  const auto batch = test::tiny_batch(model);
  const auto view = view_dafa(model.encoder(), DeviceBatch<double>(batch), 0);
  const auto run = model(batch, {}, {.attentions = Attentions::probabilities}).encoder;
  CHECK(same_bits(view.semantic, run.attentions[0].value()));
  CHECK(max_error(view.semantic, view.dependency) > 1e-3);
  const auto means = view.filter_means(batch.offsets);
  REQUIRE(means.size() == batch.size());
  double sum = 0;
  for (std::size_t e = 0; e < batch.offsets.length(0) * 3; ++e) sum += view.filter.data()[e];
  CHECK(means[0] == doctest::Approx(sum / static_cast<double>(3 * batch.offsets.length(0))));
  CHECK((means[1] > 0 && means[1] < 1));
  expect_error(
      ErrorKind::failure, [&] { view_dafa(model.encoder(), DeviceBatch<double>(batch), 1); }, "view_dafa: layer 1 has no DAFA");
}

TEST_CASE("dafa: s + l with W_l = 0 is the model without DAFA to the bit, also in training") {
  auto model = test::tiny_model(test::with_dafa({.fusion = {.output = DafaOutput::residual}}));
  auto plain = test::tiny_model();
  plain.restore(model.file());
  for (auto& p : model.parameters())
    if (p.name.find("dafa.output") != p.name.npos)
      for (double& x : p.var.mutable_value().mutable_span()) x = 0;
  const auto batch = test::tiny_batch(model);
  for (const ForwardOptions forward : {ForwardOptions{}, ForwardOptions{.training = true, .seed = 3, .step = 2}})
    CHECK(same_bits(model(batch, forward).logits.value(), plain(batch, forward).logits.value()));
}

TEST_CASE("dafa: the gate of a pair of tokens is that of their words, 1 elsewhere") {
  const auto model = test::tiny_model(test::with_dafa());
  const auto encoding = model.tokenizer().encode_pair("sony blk camera", "sony black camera", 20);  // [CLS] sony bl ##k camera [SEP] ...
  REQUIRE(encoding.size() == 10);
  const auto trees = test::tiny_knowledge().trees;
  const auto counts = std::make_shared<DocumentCounts>();
  for (const double offset : {0.0, 1.0}) {
    // The pair is not one of the training pairs, but both texts are.
    Batch batch = make_batch(std::vector{encoding}, std::vector{dependency_gate(trees, counts, {.without_tfidf = true}, offset)});
    const auto& gate = std::get<std::vector<double>>(batch.features.at("dafa").values);
    const auto fused =
        dependency_matrix(*trees->find("sony blk camera"), *trees->find("sony black camera"), *counts, {.without_tfidf = true});
    CHECK(fused == std::vector<double>{5.5, 0, 0, 0, 2, 2, 0, 2, 5});
    const std::vector<int> word = {-1, 0, 1, 1, 2, -1, 0, 1, 2, -1};
    for (std::size_t p = 0; p < 10; ++p)
      for (std::size_t q = 0; q < 10; ++q) {
        const bool cross = word[p] >= 0 && word[q] >= 0 && (p < 5) != (q < 5);
        const auto i = static_cast<std::size_t>(word[p < 5 ? p : q]), j = static_cast<std::size_t>(word[p < 5 ? q : p]);
        CHECK(gate[p * 10 + q] == (cross ? offset + fused[i * 3 + j] : 1));
      }
  }
}

TEST_CASE("dafa: document counts are saved with the model; trees are given again") {
  test::check_trees_are_needed(test::with_dafa(), "dafa");
  // Before the counts are there, no gate is made.
  CrossEncoder<float> fresh(test::tiny_file(), test::with_dafa());
  fresh.provide(test::tiny_knowledge());
  expect_error(
      ErrorKind::failure, [&] { fresh.features(); }, "dafa: the words of the training texts are not counted");
}

TEST_CASE("dafa: options that do not fit") {
  const auto refused = [](const DafaOptions& dafa, const std::string& message) {
    expect_error(
        ErrorKind::usage, [&] { test::tiny_model(test::with_dafa(dafa)); }, message);
  };
  refused({.without = "tree,trees"}, "without: 'trees' is not a part; use some of: tree,subgraph,tfidf,cross,gate,filter");
  refused({.without = "tree,subgraph,tfidf,cross,gate,filter"}, "without: nothing of DAFA is left");
  refused({.fusion = {.hidden_size = 3}, .without = "filter"}, "hidden_size must be the size of the vectors, 4, or 0; got 3");
  refused({.first_layer = 1, .last_layer = 3}, "dafa: layers 1 to 3 of a model with 2 layers");
}
