// SPDX-License-Identifier: MIT
// Law: the gradient of a step does not depend on how its examples are divided into batches.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "lexformer/data/masked_batch.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "lexformer/models/mth.hpp"
#include "lexformer/train/gradient_sum.hpp"
#include "lexformer/train/graph_check.hpp"
#include "models/tiny.hpp"

using namespace lexformer;

namespace {

const Json no_dropout = {{"hidden_dropout_prob", 0.0}, {"attention_probs_dropout_prob", 0.0}};
constexpr std::size_t examples = 32;

/// 32 examples as one batch, and as 4 batches of very different sizes.
const std::vector<std::vector<std::size_t>> cuts = {{32}, {3, 12, 1, 16}};

struct Classify {
  CrossEncoder<double>& model;
  CrossEntropyOptions options{};

  Batch batch(std::size_t first, std::size_t last) const {
    std::vector<Encoding> encodings;
    std::vector<std::int32_t> labels;
    for (std::size_t i = first; i < last; ++i) {
      const auto& [left, right] = test::pairs[i * i % 7 % test::pairs.size()];
      encodings.push_back(model.tokenizer().encode_pair(left, i % 3 == 0 ? right : left, 20));
      labels.push_back(i % 5 == 0 ? 1 : 0);
    }
    Batch batch = model.batch(encodings);
    batch.labels = labels;
    return batch;
  }
  double weights(const Batch& batch) const {
    if (options.class_weights.empty()) return static_cast<double>(batch.size());
    double sum = 0;
    for (const auto label : batch.labels) sum += options.class_weights[static_cast<std::size_t>(label)];
    return sum;
  }
  Var<double> loss(const Batch& batch, const ForwardOptions& forward) const {
    return cross_entropy(model(batch, forward).logits, batch.labels, options);
  }
};

struct Predict {
  MaskedLm<double>& model;
  Mth<double> mth;
  Masker masker;
  std::vector<Encoding> documents{};

  MaskedBatch batch(std::size_t first, std::size_t last) const {
    std::vector<std::size_t> rows(last - first);
    std::iota(rows.begin(), rows.end(), first);
    return make_masked_batch(documents, rows, masker, 1, 0);
  }
  std::vector<double> weights(const MaskedBatch& m) const {
    const auto n = static_cast<double>(m.batch.size());
    return {static_cast<double>(m.positions.size()), n, n};
  }
  std::vector<Var<double>> loss(const MaskedBatch& m, const ForwardOptions& forward) const {
    const auto y = model(m.batch, m.positions, m.labels, forward, mth.encode(forward));
    const auto l = mth.losses(y.encoder, m.batch.offsets, forward);
    return {y.loss, l.token, scale(l.head, 0.3)};
  }
};

/// The largest difference, relative to max(1, |a|), between loss and gradients of the divisions.
template <class Task>
double largest_difference(Task& task, std::vector<NamedParameter<double>> parameters) {
  std::vector<std::vector<double>> found;
  for (const auto& cut : cuts) {
    std::vector<decltype(task.batch(0, 1))> batches;
    std::size_t first = 0;
    for (const std::size_t size : cut) {
      batches.push_back(task.batch(first, first + size));
      first += size;
    }
    REQUIRE(first == examples);
    auto& values = found.emplace_back();
    values.push_back(step_gradient(task, parameters, batches, cut.size(), 1, 0).item());
    for (auto& p : parameters) {
      REQUIRE(p.var.grad().defined());
      for (const double g : p.var.grad().span()) values.push_back(g);
      p.var.clear_grad();
    }
  }
  double worst = 0;
  for (std::size_t i = 0; i < found[0].size(); ++i)
    worst = std::max(worst, std::abs(found[0][i] - found[1][i]) / std::max(1.0, std::abs(found[0][i])));
  return worst;
}

}  // namespace

TEST_CASE("law: one batch of 32 and four unequal ones have the same gradient: cross-entropy, with class weights, with LEA") {
  const test::Threads one(1);
  for (auto options : {CrossEncoderOptions{}, test::with_lea({.alpha = LeaAlpha::constant, .alpha_value = 0.7})}) {
    options.head = Head::huggingface;  // the dropout of the paper's head is fixed
    for (const auto& weights : {std::vector<double>{}, {1.0, 5.0}}) {
      auto model = test::tiny_model(options, no_dropout);
      Classify task{model, {.class_weights = weights}};
      CHECK(largest_difference(task, model.parameters()) < 1e-12);
      struct Equal : Classify {
        double weights(const Batch&) const { return 1; }
      } equal{task};
      CHECK(largest_difference(equal, model.parameters()) > 1e-4);  // the result for a mean of means
    }
  }
}

TEST_CASE("law: one batch of 32 and four unequal ones have the same gradient: masked language model with MTH") {
  const test::Threads one(1);
  MaskedLm<double> model(test::tiny_file(no_dropout), TrainingStart{.seed = 3});
  // The sample has every token and head, so that it does not depend on how the documents are divided.
  Predict task{model, Mth<double>({.token_weight = 1, .head_weight = 1, .tokens = 20, .heads = 3}, 2, 3),
               Masker(model.tokenizer(), {.probability = 0.3})};
  for (std::size_t i = 0; i < examples; ++i) {
    const auto& [left, right] = test::pairs[i % test::pairs.size()];
    task.documents.push_back(model.tokenizer().encode_pair(left, right, 20));
  }
  CHECK(largest_difference(task, model.parameters()) < 1e-12);
  struct OfDocuments : Predict {
    std::vector<double> weights(const MaskedBatch& m) const { return std::vector<double>(3, static_cast<double>(m.batch.size())); }
  } of_documents{task};
  CHECK(largest_difference(of_documents, model.parameters()) > 1e-6);  // the documents have different numbers of masks
}

TEST_CASE("every parameter of every kind of model takes part in its loss") {
  test::for_each_variant([](const test::Variant& variant) {
    auto model = test::tiny_model(variant.options, variant.edit);
    const auto batch = test::tiny_batch(model);
    model.calibrate(batch);
    const auto loss = test::loss_of(model, batch, {.training = true, .seed = 1});
    check_trainable(model.parameters(), {});
    check_graph(model.parameters(), graph_leaves(loss), [] { return std::vector<GraphLeaf>{}; });
  });
}
