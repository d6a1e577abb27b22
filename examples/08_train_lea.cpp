// SPDX-License-Identifier: MIT
// Trains a cross-encoder with LEA on labelled pairs, with typos added, and keeps the model with the best F1 on the validation pairs.
// A row of the .tsv files is a left text, a right text and a label, 0 or 1.   Try: python3 tools/make_demo_data.py --out demo --train 2000
// build/release/bin/08_train_lea weights/english-small demo/train.tsv demo/valid.tsv runs/lea
#include <iostream>
#include <lexformer/lexformer.hpp>

namespace lx = lexformer;

int main(int argc, char** argv) try {
  if (argc != 5) {
    std::cerr << "usage: 08_train_lea MODEL.lxf TRAIN.tsv VALID.tsv DIR   (MODEL.lxf: an encoder)\n";
    return 2;
  }
  const std::string out = argv[4];
  const auto read = [](const std::string& file) { return lx::ExampleSet{file, lx::class_examples(lx::read_pairs(file))}; };
  const auto train = read(argv[2]), valid = read(argv[3]);
  auto model = lx::CrossEncoder<>::load(argv[1], {.attention = {"lea"}, .max_length = 128, .seed = 1});

  lx::MatcherSettings settings;
  settings.epochs = 3;
  settings.lr = 4e-4;       // for a small encoder; 5e-5 suits BERT base
  settings.augment = true;  // half of the pairs get typos, other ones in each epoch
  lx::train_matcher(model, train, valid, settings, {.out = out, .hooks = lx::progress_hooks(std::cerr)});

  const auto e = lx::evaluate(model, valid.name, valid.examples, model.threshold, 32);
  std::cout << out << "/model.lxf: F1 " << e.value("f1") << ", precision " << e.value("precision") << ", recall " << e.value("recall")
            << " at threshold " << *model.threshold << "\n";
} catch (const lx::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
