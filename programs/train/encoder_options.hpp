// SPDX-License-Identifier: MIT
// The options of train_encoder: names, help texts, and keys in all_results.json.
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
  std::size_t patience = 0, max_length = 256;
  std::uint64_t seed = 1;

  EncoderOptions() {
    lr = 2e-5;
    warmup = 0.1;
  }

  void add_to(CLI::App& app) {
    app.add_option("--model", model, "the encoder to start from: a .lxf file, a HuggingFace folder or one of sentence-transformers")
        ->required()
        ->type_name("M.lxf");
    app.add_option("--train", train_file,
                   "training pairs: .tsv, .csv or .jsonl; left, right and, depending on --loss, label. multiple-negatives: no labels, or 0 "
                   "and 1, of which only the pairs labelled 1 are trained on; cosine: numbers from -1 to 1; contrastive: 0 and 1")
        ->required()
        ->type_name("F");
    app.add_option("--valid", valid, "validation pairs, which select the best model")->required()->type_name("F");
    app.add_option("--test", tests, "test pairs; one or more files")->type_name("F");
    add_out(app);
    app.add_option("--columns", table.columns, "columns of left text, right text and, if there is one, label: names, or numbers from 1")
        ->delimiter(',');
    app.add_option("--negative", negative,
                   "column of --train with a hard negative for the left text, which may be empty; for --loss multiple-negatives")
        ->type_name("COLUMN");
    add_choice(app, "--header", table.header, "whether tables have a header row");

    auto* group = app.add_option_group("Model");
    group->add_option("--pool", pool, "how token vectors become one: mean, cls, max; auto: as in --model, else mean")
        ->check(one_of({"auto", "mean", "cls", "max"}))
        ->capture_default_str();
    group->add_option("--dense", dense, "sizes of Dense modules after pooling (default: those of --model, else none)")
        ->delimiter(',')
        ->check(positive());
    add_choice(*group, "--dense-activation", activation, "with --dense: their activation");
    group->add_flag("--normalize", normalize, "the model scales its vectors to length 1 (default: as in --model)");
    number(*group, "--max-length", max_length, "maximum number of tokens of a text");

    group = app.add_option_group("Training");
    add_choice(
        *group, "--loss", loss,
        "loss; multiple-negatives: the right texts of the other pairs of a batch are negatives; cosine: squared error of the cosine and "
        "the label; contrastive: pulls pairs labelled 1 together and pushes the others to a distance of --margin");
    number(*group, "--scale", factor, "of multiple-negatives: factor of the cosines")->check(positive());
    number(*group, "--margin", margin, "of contrastive: cosine distance from which a pair labelled 0 has no loss")->check(positive());
    add_batch(*group, "pairs");
    add_training(*group);
    add_gradient_checkpointing(*group);
    add_warmup(*group);
    number(*group, "--weight-decay", weight_decay, "AdamW's decoupled weight decay");
    add_choice(*group, "--order", order, "order of the pairs");
    number(*group, "--seed", seed, "seed of new weights, order and dropout");
    number(*group, "--patience", patience, "stop after this many evaluations without improvement; 0 = never");
    add_run(app);
  }
  void finish() {
    finish_training();
    if (!negative.empty() && loss != EncoderLoss::multiple_negatives)
      lx::fail_usage("--negative", "is for --loss multiple-negatives; with ", lx::name_of(loss),
                     " a negative is a pair with its own label");
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
    lx::Json all = training_json(seed);
    all["model"] = model;
    all["train"] = of_train;
    all["valid"] = of_valid;
    all["loss"] = lx::name_of(loss);
    if (loss == EncoderLoss::multiple_negatives) all["scale"] = factor;
    if (loss == EncoderLoss::contrastive) all["margin"] = margin;
    all["pool"] = pool;
    all["dense"] = dense;
    if (!dense.empty()) all["dense_activation"] = lx::name_of(activation);
    all["normalize"] = normalize;
    all["max_length"] = max_length;
    all["per_device_train_batch_size"] = batch;
    all["warmup_ratio"] = warmup;
    all["weight_decay"] = weight_decay;
    all["order"] = lx::name_of(order);
    all["eval_batch"] = eval_batch;
    all["patience"] = patience;
    return all;
  }
};

}  // namespace program
