// SPDX-License-Identifier: MIT
// Trains a cross-encoder with LEA on labelled pairs, with typos added, and keeps the model with the best F1 on the validation pairs.
// A row of the .tsv files is a left text, a right text and a label, 0 or 1.   Try: python3 tools/make_demo_data.py --out demo --train 2000
// build/release/bin/08_train_lea weights/english-small demo/train.tsv demo/valid.tsv runs/lea
#include <iostream>
#include <lexformer/lexformer.hpp>
#include <optional>

namespace lx = lexformer;

struct Matching {  // the members that Trainer needs, and two more that it uses: calibrate and evaluate
  lx::CrossEncoder<>& model;
  lx::PairBatches source;
  std::string valid_file;
  std::vector<lx::PairExample> valid;

  std::size_t batches() const { return source.batches(); }
  lx::Batch batch(std::uint32_t epoch, std::size_t number) { return source.batch(epoch, number); }
  lx::Var<> loss(const lx::Batch& batch, const lx::ForwardOptions& forward) const {
    return lx::cross_entropy(model(batch, forward).logits, batch.labels);
  }
  double weights(const lx::Batch& batch) const { return static_cast<double>(batch.size()); }  // examples in the mean of the loss
  bool calibrate(const lx::Batch& batch, const lx::ForwardOptions& forward) {                 // LEA measures its factor alpha
    return model.calibrate(batch, forward);
  }
  lx::Measurement evaluate() {
    const auto e = lx::evaluate(model, valid_file, valid, std::nullopt, 32);
    model.threshold = e.value("threshold");  // the one of the best F1; saved with the model
    return {.value = e.value("f1"), .text = lx::cat("F1 ", e.value("f1"))};
  }
  void save(const std::string& path) { model.save(path); }
  void load(const std::string& path) {
    const auto file = lx::ModelFile::open(path);
    model.restore(file);
    model.threshold = file.threshold;
  }
};

int main(int argc, char** argv) try {
  if (argc != 5) {
    std::cerr << "usage: 08_train_lea MODEL.lxf TRAIN.tsv VALID.tsv DIR   (MODEL.lxf: an encoder)\n";
    return 2;
  }
  const std::string valid_file = argv[3], out = argv[4];
  const auto valid = lx::class_examples(lx::read_pairs(valid_file));
  auto model = lx::CrossEncoder<>::load(argv[1], {.attention = {"lea"}, .max_length = 128, .seed = 1});
  const lx::PairDataset train(lx::class_examples(lx::read_pairs(argv[2])), model, {.augment = 0.5});  // half of the pairs get typos
  Matching task{model, lx::PairBatches(train, 32), valid_file, valid};

  const std::size_t steps = 3 * task.batches();                                     // three epochs
  lx::AdamW<> optimizer(model.parameters(), {.weight_decay = 0.01});                // the schedule sets its learning rate
  const lx::Schedule schedule{.base = 4e-4, .warmup = steps / 10, .total = steps};  // for a small encoder; 5e-5 suits BERT base
  lx::Trainer(task, optimizer, {.out = out, .schedule = schedule, .messages = &std::cerr}).run();

  const auto best = lx::CrossEncoder<>::load(out + "/model.lxf");
  const auto e = lx::evaluate(best, valid_file, valid, best.threshold, 32);
  std::cout << out << "/model.lxf: F1 " << e.value("f1") << ", precision " << e.value("precision") << ", recall " << e.value("recall")
            << " at threshold " << *best.threshold << "\n";
} catch (const lx::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
