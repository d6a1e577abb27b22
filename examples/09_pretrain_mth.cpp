// SPDX-License-Identifier: MIT
// Pre-trains a small encoder on text, one document per line, as a masked language model with MTH's two regularizers: penalties on the
// similarity of tokens and of heads (arXiv 2210.04246). Prints both similarities on held-out documents, before and after training.
// With weights of 0 it is a plain masked language model.   Try: build/release/bin/09_pretrain_mth docs/commands.md runs/mth
#include <iostream>
#include <lexformer/io/json.hpp>
#include <lexformer/lexformer.hpp>

namespace lx = lexformer;

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: 09_pretrain_mth TEXT.txt DIR   (a line of TEXT.txt is a document; documents of fewer than 8 words are skipped)\n";
    return 2;
  }
  const std::string text = argv[1], out = argv[2];
  const lx::TextStream documents({text}, {.max_length = 128, .held_out = 20});  // every 20th document is not for training

  // A vocabulary for the text, and a new model.
  lx::WordCounts words;
  std::string line;
  for (lx::LineReader reader(text); reader.next(line);) lx::count_words(line, {}, words);
  const lx::Json config{{"hidden_size", 128u},
                        {"num_hidden_layers", 4u},
                        {"num_attention_heads", 4u},
                        {"intermediate_size", 512u},
                        {"max_position_embeddings", 128u}};
  lx::MaskedLm<> model(config, lx::train_vocabulary(words, {}, {.size = 4000}), {}, 1);

  const auto held_out = documents.read_held_out(100, model.tokenizer());
  const auto report = [&](const char* when) {
    const auto figures = lx::encoder_figures(model, std::span(held_out));
    std::cout << when << ": similarity of tokens " << figures.token_similarity << ", of heads " << figures.mean_head_similarity() << "\n";
  };
  report("before training");

  lx::PretrainingSettings settings;
  settings.mth = {.token_weight = 1, .head_weight = 0.01};  // the paper's weights
  settings.epochs = 5;
  settings.batch = 16;
  settings.lr = 1e-3;
  settings.warmup = 0.05;
  const auto done = lx::pretrain(model, documents, {}, settings, {.out = out, .hooks = lx::progress_hooks(std::cerr)});
  report("after training");
  std::cout << out << "/model.lxf: loss " << done.run.loss << ", mean of the run\n";
} catch (const lx::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
