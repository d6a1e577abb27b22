// SPDX-License-Identifier: MIT
// The options of train_encoder.
#pragma once

#include <lexformer/models/sentence_encoder.hpp>

#include "train/training_options.hpp"

namespace program {

/// The losses of pairs of vectors (ops/ranking_loss.hpp).
enum class EncoderLoss { multiple_negatives, cosine, contrastive };

}  // namespace program

template <>
inline constexpr lexformer::Named<program::EncoderLoss> lexformer::names_of<program::EncoderLoss>[] = {
    {"multiple-negatives", program::EncoderLoss::multiple_negatives},
    {"cosine", program::EncoderLoss::cosine},
    {"contrastive", program::EncoderLoss::contrastive}};

namespace program {

struct EncoderOptions : TrainingOptions {
  std::string model, train_file, valid;
  std::vector<std::string> tests;
  EncoderLoss loss = EncoderLoss::multiple_negatives;
  lx::TableOptions table;
  lx::BatchOrder order = lx::BatchOrder::random;
  std::string negative;  // column of --train
  std::string pool = "auto";
  std::vector<std::size_t> dense;
  lx::DenseActivation activation = lx::DenseActivation::tanh;
  bool normalize = false;
  double factor = 20, margin = 0.5, weight_decay = 0.01;
  std::size_t max_length = 256;

  EncoderOptions() {
    lr = 2e-5;
    warmup = 0.1;
  }

  void visit(OptionVisitor& v) {
    const bool ranks = loss == EncoderLoss::multiple_negatives;
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
        .only_if(ranks, lx::cat("is for --loss multiple-negatives; with ", lx::name_of(loss), " a negative is a pair with its own label"));
    v.choice("header", table.header, "whether tables have a header row").identity(false);

    v.group("Model");
    v.text("pool", pool, "how token vectors become one: mean, cls, max; auto: as in --model, else mean")
        .among({"auto", "mean", "cls", "max"});
    v.list("dense", dense, 1, ~std::size_t{0}, "sizes of Dense modules after pooling (default: those of --model, else none)").split_at(',');
    v.choice("dense_activation", activation, "with --dense: their activation").needs("dense").identity(!dense.empty());
    v.flag("normalize", normalize, "the model scales its vectors to length 1 (default: as in --model)");
    v.size("max_length", max_length, 0, "maximum number of tokens of a text");

    v.group("Training");
    v.choice("loss", loss,
             "loss; multiple-negatives: the right texts of the other pairs of a batch are negatives; cosine: squared error of the cosine "
             "and the label; contrastive: pulls pairs labelled 1 together and pushes the others to a distance of --margin");
    v.number("scale", factor, lx::bounds::positive, "of multiple-negatives: factor of the cosines")
        .identity(ranks)
        .only_if(ranks, lx::cat("belongs to --loss multiple-negatives, not ", lx::name_of(loss)));
    v.number("margin", margin, lx::bounds::positive, "of contrastive: cosine distance from which a pair labelled 0 has no loss")
        .identity(loss == EncoderLoss::contrastive)
        .only_if(loss == EncoderLoss::contrastive, lx::cat("belongs to --loss contrastive, not ", lx::name_of(loss)));
    visit_batch(v, "pairs");
    visit_training(v);
    visit_gradient_checkpointing(v);
    visit_warmup(v);
    v.number("weight_decay", weight_decay, lx::bounds::non_negative, "AdamW's decoupled weight decay");
    v.choice("order", order, "order of the pairs");
    v.size("seed", seed, 0, "seed of new weights, order and dropout");
    v.size("patience", patience, 0, "stop after this many evaluations without improvement; 0 = never");
    visit_run(v);
  }
  void finish(const OptionVisitor&) {
    finish_run();
    if (loss == EncoderLoss::multiple_negatives && batch < 2)
      lx::fail_usage("--batch", "is ", batch,
                     "; with --loss multiple-negatives a batch needs 2 pairs or more, whose texts are negatives of each other");
  }

  /// The model's options, given those of the file it starts from.
  lx::SentenceEncoderOptions encoder(lx::SentenceEncoderOptions from) const {
    if (pool != "auto") from.pooling = lx::parse_name<lx::Pooling>(pool, "--pool");
    if (!dense.empty()) from.dense.clear();
    for (const std::size_t size : dense) from.dense.push_back({size, activation});
    from.normalize = from.normalize || normalize;
    from.max_length = max_length;
    return from;
  }

  /// The settings that identify a run; a resumed run must have the same. Data are identified by their contents.
  lx::Json json(const std::string& of_train, const std::string& of_valid) const {
    lx::Json all = identity_of(*this);
    all["train"] = of_train;
    all["valid"] = of_valid;
    return all;
  }
};

}  // namespace program
