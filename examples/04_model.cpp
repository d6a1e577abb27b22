// SPDX-License-Identifier: MIT
// Loads a trained model and scores a pair.   Try: build/release/bin/04_model model.lxf "first text" "second text"
#include <iostream>
#include <lexformer/lexformer.hpp>

namespace lx = lexformer;

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: 04_model MODEL.lxf LEFT RIGHT   (MODEL.lxf from train_matcher, or a HuggingFace folder with a classifier)\n";
    return 2;
  }
  const auto model = lx::CrossEncoder<>::load(argv[1]);
  const double score = model.predict({{argv[2], argv[3]}})[0];
  std::cout << "score " << score;
  if (model.threshold) std::cout << (score > *model.threshold ? "  (match" : "  (no match") << ", threshold " << *model.threshold << ")";
  std::cout << "\n";
} catch (const lx::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
