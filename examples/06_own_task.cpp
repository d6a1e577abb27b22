// SPDX-License-Identifier: MIT
// A custom task: an encoder with a new head, trained by Trainer to predict the number of words of a text. With .resume = true an
// interrupted run continues.   Try: build/release/bin/06_own_task weights/english-small runs/words
#include <iostream>
#include <lexformer/lexformer.hpp>
#include <optional>

namespace lx = lexformer;

struct WordCounter : lx::Pretrained<> {  // the model and the members that Trainer needs: batches, batch, loss, weights, save, load
  std::optional<lx::Linear<>> head;

  explicit WordCounter(const std::string& path) : Pretrained(lx::ModelFile::open(path), lx::TrainingStart{.seed = 1}) {
    make_encoder(0);
    head.emplace(config().hidden_size, 1, init());
    load_state();
  }
  void visit_head(lx::ParameterVisitor<>& v) override { v("lexformer.words", *head); }

  std::size_t batches() const { return 50; }                        // per epoch
  lx::Batch batch(std::uint32_t epoch, std::size_t number) const {  // depends only on its arguments, so that a run can be resumed
    lx::RandomStream random(seed(), lx::random_site::user + epoch, static_cast<std::uint32_t>(number));
    std::vector<lx::Encoding> texts;
    std::vector<float> targets;
    for (int i = 0; i < 8; ++i) {
      const auto words = 1 + random.below(20);
      std::string text;
      for (std::uint64_t w = 0; w < words; ++w) text += random.below(2) == 0 ? " red" : " photographs";
      texts.push_back(tokenizer().encode(text, 64));
      targets.push_back(static_cast<float>(words) / 10);
    }
    lx::Batch batch = Pretrained::batch(texts);
    batch.targets = targets;
    return batch;
  }
  lx::Var<> loss(const lx::Batch& batch, const lx::ForwardOptions& forward) const {
    const auto hidden = encoder()(batch, forward).last;  // (tokens, hidden size)
    const auto y = (*head)(lx::pool(hidden, batch.offsets, lx::Pooling::mean));
    return lx::mse_loss(y, lx::Var<>(lx::Tensor<>::from(batch.targets, {batch.size(), 1})));
  }
  double weights(const lx::Batch& batch) const { return static_cast<double>(batch.size()); }  // examples in the mean of the loss
  void load(const std::string& path) { restore(lx::ModelFile::open(path)); }
};

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: 06_own_task MODEL.lxf DIR\n", 2;
  WordCounter task(argv[1]);
  lx::AdamW<> optimizer(task.parameters());
  lx::TrainerOptions options{.out = argv[2], .schedule = {.base = 1e-3, .warmup = 3, .total = 30}, .hooks = lx::progress_hooks(std::cerr)};
  const auto done = lx::Trainer(task, optimizer, options).run();
  std::cout << "mean squared error, mean of the run: " << done.loss << "\n";
}
