// SPDX-License-Identifier: MIT
// Pairs of texts for a sentence encoder: reading, batches with their loss, evaluation.
#pragma once

#include <lexformer/models/rank.hpp>
#include <lexformer/ops/ranking_loss.hpp>
#include <lexformer/train/ranking_evaluation.hpp>
#include <map>

#include "train/encoder_options.hpp"
#include "train/training.hpp"

namespace program {

struct TextPairs {
  std::string path;
  std::vector<lx::PairExample> examples;  // target: the label; kept: the hard negative, if there is a column of them
  bool labelled = false;
};

/// Reads pairs with numbers as labels; of --train also the column --negative. Without --columns the labels are optional for the loss that
/// needs none. Errors (file): those of read_pairs; a label does not suit the loss.
inline TextPairs read_text_pairs(const std::string& file, const EncoderOptions& o, bool training = false) {
  const bool needed = o.loss != EncoderLoss::multiple_negatives;
  lx::TableOptions table = o.table;
  if (training && !o.negative.empty()) table.keep = {o.negative};
  const std::size_t named = table.columns.size();
  if (needed && named == 2)
    lx::fail_usage("--columns", "2 columns are named; --loss ", lx::name_of(o.loss), " needs left, right and label");
  const auto with = [&](bool labels) {
    table.labels = labels;
    return lx::read_pairs(file, table);
  };
  TextPairs pairs{file, {}, needed || named == 3};
  std::optional<lx::PairTable> rows;
  if (!needed && named == 0) {  // a third column is the label
    try {
      rows = with(true);
      pairs.labelled = true;
    } catch (const lx::Error&) {  // there is none, or the next error says what is wrong
    }
  }
  if (!rows) rows = with(pairs.labelled);
  if (!pairs.labelled) {
    for (auto& row : rows->rows) pairs.examples.push_back({std::move(row.left), std::move(row.right), 1, 1, std::move(row.kept)});
    return pairs;
  }
  pairs.examples = o.loss == EncoderLoss::cosine ? lx::number_examples(*rows) : lx::class_examples(*rows);
  for (std::size_t i = 0; i < pairs.examples.size(); ++i) {
    auto& e = pairs.examples[i];
    if (o.loss != EncoderLoss::cosine) e.target = static_cast<float>(e.label);
    if (!(std::abs(e.target) <= 1))
      lx::fail_file(lx::cat(file, ": line ", rows->rows[i].line), "the label is ", e.target, "; --loss cosine needs numbers from -1 to 1");
  }
  return pairs;
}

/// A batch: the left texts of B pairs, their right texts, the hard negatives, and the labels of the pairs.
struct PairsBatch {
  lx::Batch texts;
  std::vector<double> labels;
};

/// The metrics of pairs. With labels: Spearman's correlation of cosine and label (--loss cosine), else the average precision. Without: how
/// well the cosine ranks a left text's right text among those of all pairs.
template <class T, class Dev>
lx::Evaluation evaluate_encoder(const lx::SentenceEncoder<T, Dev>& model, const TextPairs& pairs, const EncoderOptions& o) {
  std::vector<std::string> left, right;
  for (const auto& e : pairs.examples) {
    left.push_back(e.left);
    right.push_back(e.right);
  }
  const auto a = model.encode(left, o.eval_batch), b = model.encode(right, o.eval_batch);
  lx::require_finite(a, pairs.path, "pair", 1);
  lx::require_finite(b, pairs.path, "pair", 1);
  if (!pairs.labelled) {
    std::map<std::string, double> copies;  // equal texts are all right
    for (const auto& text : right) ++copies[text];
    std::vector<lx::RankedQuery> queries;
    const auto found = lx::nearest_documents(a, b, lx::ranking_depth);
    for (std::size_t i = 0; i < found.size(); ++i) {
      auto& query = queries.emplace_back();
      for (const auto& d : found[i]) query.ranked.push_back(right[d.index] == right[i] ? 1 : 0);
      query.relevant.assign(static_cast<std::size_t>(copies[right[i]]), 1.0);
    }
    return lx::ranking_evaluation(pairs.path, queries);
  }
  const lx::NoGrad no_grad;
  using A = lx::accumulate_t<T>;
  const auto cosines = lx::cosine_similarity(lx::Var<A>(a), lx::Var<A>(b)).value();
  const std::vector<double> scores(cosines.span().begin(), cosines.span().end());
  if (o.loss == EncoderLoss::cosine) {
    std::vector<double> labels;
    for (const auto& e : pairs.examples) labels.push_back(static_cast<double>(e.target));
    return {pairs.path, {{"spearman", lx::spearman(scores, labels)}, {"pearson", lx::pearson(scores, labels)}}, "spearman", {}};
  }
  const auto labels = lx::labels_of(pairs.examples);
  return {pairs.path,
          {{"average_precision", lx::average_precision(scores, labels)}, {"best_f1", lx::best_f1_threshold(scores, labels).f1}},
          "average_precision",
          {}};
}

/// The task for Trainer.
template <class T, class Dev>
class EncoderTask {
 public:
  EncoderTask(const EncoderOptions& o, lx::SentenceEncoder<T, Dev>& model, const TextPairs& train, const TextPairs& valid)
      : o_(o), model_(model), valid_(valid) {
    std::vector<std::string> left, right, negatives;
    for (const auto& e : train.examples) {
      if (o.loss == EncoderLoss::multiple_negatives && e.label != 1) continue;
      left.push_back(e.left);
      right.push_back(e.right);
      negative_.emplace_back();
      if (!e.kept.empty() && !e.kept[0].empty()) {
        negative_.back() = negatives.size();
        negatives.push_back(e.kept[0]);
      }
      labels_.push_back(static_cast<double>(e.target));
    }
    if (labels_.empty()) lx::fail_file(train.path, "has no pair labelled 1 to train on");
    left_ = model.tokenize(left);
    right_ = model.tokenize(right);
    negatives_ = model.tokenize(negatives);
    for (std::size_t i = 0; i < left_.size(); ++i)
      lengths_.push_back(left_[i].size() + right_[i].size() + (negative_[i] ? negatives_[*negative_[i]].size() : 0));
  }

  std::size_t pairs() const { return labels_.size(); }
  std::size_t batches() const { return (pairs() + o_.batch - 1) / o_.batch; }
  PairsBatch batch(std::uint32_t epoch, std::size_t number) {
    if (plan_.empty() || epoch_ != epoch) {
      epoch_ = epoch;
      plan_ = lx::plan_batches(lengths_, {.size = o_.batch, .seed = o_.seed, .epoch = epoch, .order = o_.order});
    }
    std::vector<lx::Encoding> chosen;
    for (const auto* side : {&left_, &right_})
      for (const std::size_t row : plan_.at(number)) chosen.push_back((*side)[row]);
    for (const std::size_t row : plan_.at(number))
      if (negative_[row]) chosen.push_back(negatives_[*negative_[row]]);
    PairsBatch batch{model_.batch(chosen), {}};
    for (const std::size_t row : plan_.at(number)) batch.labels.push_back(labels_[row]);
    return batch;
  }
  lx::BatchSize size(const PairsBatch& batch) const { return {batch.labels.size(), batch.texts.offsets.tokens()}; }
  /// A single pair without a hard negative has no loss.
  double weights(const PairsBatch& batch) const {
    const bool alone = o_.loss == EncoderLoss::multiple_negatives && batch.texts.size() == 2;
    return alone ? 0 : static_cast<double>(batch.labels.size());
  }
  auto loss(const PairsBatch& batch, const lx::ForwardOptions& forward) const {
    const std::size_t n = batch.labels.size();
    const auto y = model_(lx::DeviceBatch<T, Dev>(batch.texts), forward);
    const auto a = lx::slice_rows(y, 0, n), b = lx::slice_rows(y, n, 2 * n);
    if (o_.loss == EncoderLoss::cosine) return lx::cosine_loss(a, b, batch.labels);
    if (o_.loss == EncoderLoss::contrastive) return lx::contrastive_loss(a, b, batch.labels, o_.margin);
    std::vector<decltype(lx::slice_rows(y, 0, n))> hard;
    if (batch.texts.size() > 2 * n) hard.push_back(lx::slice_rows(y, 2 * n, batch.texts.size()));
    return lx::multiple_negatives_ranking(a, b, hard, o_.factor);
  }
  lx::Measurement evaluate() const { return lx::measurement_of(evaluate_encoder(model_, valid_, o_)); }
  void save(const std::string& path) { model_.save(path); }
  void load(const std::string& path) { model_.restore(lx::ModelFile::open(path)); }

 private:
  const EncoderOptions& o_;
  lx::SentenceEncoder<T, Dev>& model_;
  const TextPairs& valid_;
  std::vector<lx::Encoding> left_, right_, negatives_;
  std::vector<std::optional<std::size_t>> negative_;  // of each pair, its place in negatives_
  std::vector<double> labels_;
  std::vector<std::size_t> lengths_;  // tokens of each pair, with its hard negative
  std::uint32_t epoch_ = 0;
  std::vector<std::vector<std::size_t>> plan_{};
};

}  // namespace program
