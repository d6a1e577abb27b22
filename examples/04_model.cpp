// SPDX-License-Identifier: MIT
// Loads a trained model and scores a pair.   Try: build/release/bin/04_model weights/matcher-small "belkin sleeve black" "belkin sleve blk"
#include <iostream>
#include <lexformer/lexformer.hpp>

namespace lx = lexformer;

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: 04_model MODEL.lxf LEFT RIGHT   (MODEL.lxf from train_matcher, or a HuggingFace folder with a classifier)\n";
    return 2;
  }
  const auto model = lx::CrossEncoder<>::load(argv[1]);
  const std::vector<std::pair<std::string, std::string>> pairs{{argv[2], argv[3]}};
  if (model.task().kind == lx::TaskKind::regression) {
    std::cout << "value " << model.predict(pairs)[0] << "\n";
  } else if (model.task().labels == 2) {
    const double p = static_cast<double>(model.probabilities(pairs).at(0, 1)), threshold = model.threshold.value_or(0.5);
    const bool match = lx::is_match(p, threshold);  // as predict() decides
    std::cout << "probability of a match " << p << (match ? ": match" : ": no match") << " (threshold " << threshold << ")\n";
  } else {
    const auto& names = model.task().label_names;
    const auto best = static_cast<std::size_t>(model.predict(pairs)[0]);
    std::cout << "class " << (names.empty() ? std::to_string(best) : names.at(best)) << ", probability "
              << model.probabilities(pairs).at(0, best) << "\n";
  }
} catch (const lx::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
