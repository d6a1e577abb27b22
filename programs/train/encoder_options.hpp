// SPDX-License-Identifier: MIT
// The options of train_encoder, and the pairs that it reads.
#pragma once

#include <algorithm>
#include <lexformer/models/sentence_encoder.hpp>
#include <lexformer/train/encoder.hpp>

#include "train/training_options.hpp"

namespace program {

struct EncoderOptions : RunOptions {
  std::string model, train_file, valid;
  std::vector<std::string> tests;
  lx::EncoderSettings settings;
  lx::TableOptions table;
  std::string negative;  // column of --train
  std::string pool = "auto";
  std::vector<std::size_t> dense;
  lx::Activation activation = lx::Activation::tanh;
  bool normalize = false;
  std::optional<std::size_t> max_length;

  void visit(OptionVisitor& v) {
    const bool ranks = settings.loss == lx::EncoderLoss::multiple_negatives;
    v.input("model", model, "the encoder to start from: a .lxf file, a HuggingFace folder or one of sentence-transformers")
        .required()
        .shown_as("M.lxf")
        .identity(true);
    v.input("train", train_file,
            "training pairs: .tsv, .csv or .jsonl; left, right and, depending on --loss, label. multiple-negatives: no labels, or 0 and 1, "
            "of which only the pairs labelled 1 are trained on; cosine: numbers from -1 to 1; contrastive: 0 and 1")
        .required();
    v.input("valid", valid, "validation pairs, which select the best model").required();
    v.inputs("test", tests, "test pairs; one or more files");
    visit_out(v);
    v.list("columns", table.columns, "columns of left text, right text and, if there is one, label: names, or numbers from 1")
        .split_at(',')
        .identity(false);
    v.text("negative", negative,
           "column of --train with a hard negative for the left text, which may be empty; for --loss multiple-negatives")
        .shown_as("COLUMN")
        .identity(false)
        .only_if(ranks, lx::cat("is for --loss multiple-negatives; with ", lx::name_of(settings.loss),
                                " a negative is a pair with its own label"));
    visit_header(v, table.header);
    visit_dialect(v, table);

    v.group("Model");
    v.text("pool", pool, "how token vectors become one: mean, cls, max; auto: as in --model, else mean")
        .among({"auto", "mean", "cls", "max"});
    v.list("dense", dense, 1, ~std::size_t{0}, "sizes of Dense modules after pooling (default: as in --model, else none)").split_at(',');
    v.choice("dense_activation", activation, "with --dense: their activation").needs("dense").identity(!dense.empty());
    v.flag("normalize", normalize, "the model scales its vectors to length 1 (default: as in --model)");
    v.size("max_length", max_length, 0, "maximum number of tokens of a text").default_text("as in --model, else 256");

    settings.visit(v);
    visit_run(v, settings);
  }
  void finish(const OptionVisitor&) {
    finish_run();
    settings.check();
  }

  /// What the sentence encoder that the training starts from says of options that are not given.
  void take_over(const lx::ModelFile& file) {
    if (!lx::is_sentence_encoder(file)) return void(max_length = max_length.value_or(256));
    const lx::SentenceEncoderOptions stored = lx::stored_sentence_options(file);
    max_length = max_length.value_or(stored.max_length);
    if (stored.similarity != lx::VectorSimilarity::cosine)
      std::cerr << "warning: " << model << " compares its vectors by " << lx::name_of(stored.similarity)
                << "; the new model does it by the cosine, which the losses train\n";
  }
  /// The model's options, given the options of the file it starts from.
  lx::SentenceEncoderOptions encoder(lx::SentenceEncoderOptions from) const {
    from.similarity = lx::VectorSimilarity::cosine;  // of all losses
    if (pool != "auto") from.pooling = lx::parse_name<lx::Pooling>(pool, "--pool");
    if (!dense.empty()) from.dense.clear();
    for (const std::size_t size : dense) from.dense.push_back({size, activation});
    from.normalize = from.normalize || normalize;
    from.max_length = *max_length;
    return from;
  }
};

/// Reads pairs with numbers as labels; of --train also the column --negative. Without --columns the labels are optional for the loss that
/// needs none. Errors (file): as read_pairs; a label does not suit the loss.
inline lx::TextPairs read_text_pairs(const std::string& file, const EncoderOptions& o, bool training = false) {
  const lx::EncoderLoss loss = o.settings.loss;
  const bool needed = loss != lx::EncoderLoss::multiple_negatives;
  lx::TableOptions table = o.table;
  if (training && !o.negative.empty()) table.keep = {o.negative};
  if (std::find(table.columns.begin(), table.columns.end(), o.negative) != table.columns.end())
    lx::fail_usage("--negative", lx::in_quotes(o.negative), " is also one of --columns");
  const std::size_t named = table.columns.size();
  if (needed && named == 2) lx::fail_usage("--columns", "2 columns are named; --loss ", lx::name_of(loss), " needs left, right and label");
  const auto with = [&](bool labels) {
    table.labels = labels;
    return lx::read_pairs(file, table);
  };
  lx::TextPairs pairs{file, {}, needed || named == 3};
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
  pairs.examples = loss == lx::EncoderLoss::cosine ? lx::number_examples(*rows) : lx::class_examples(*rows);
  for (std::size_t i = 0; i < pairs.examples.size(); ++i) {
    auto& e = pairs.examples[i];
    if (loss != lx::EncoderLoss::cosine) e.target = static_cast<float>(e.label);
    if (!(std::abs(e.target) <= 1))
      lx::fail_file(lx::cat(file, ": line ", rows->rows[i].line), "the label is ", e.target, "; --loss cosine needs numbers from -1 to 1");
  }
  return pairs;
}

}  // namespace program
