// SPDX-License-Identifier: MIT
// Writes imputed vectors of the words on standard input, or their nearest known words.
#include <iomanip>

#include "support/word_sources.hpp"

#include <lexformer/models/word_imputer.hpp>

namespace lx = lexformer;

namespace {

/// The words of standard input, one per line. Errors: there are no words; a line is no word.
std::vector<std::string> read_words() {
  std::vector<std::string> words;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.ends_with('\r')) line.pop_back();
    if (const std::string fault = lx::word_fault(line); !fault.empty())
      lx::fail_file(lx::cat("standard input: line ", words.size() + 1), fault, "; expected one word per line");
    words.push_back(line);
  }
  if (words.empty()) lx::fail_file("standard input", "is empty; expected words, one per line");
  return words;
}

/// Line by line: word, rank, neighbour, cosine. A vector of zeros, as BoS has for a word without known substrings, has no neighbours.
std::string neighbours(const std::vector<std::string>& words, const lx::Tensor<float>& vectors, const lx::WordVectors& targets,
                       std::size_t count) {
  program::StringWriter text;
  text << std::fixed << std::setprecision(4);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::size_t rank = 0;
    const auto vector = vectors.span().subspan(i * targets.dimension(), targets.dimension());
    if (std::all_of(vector.begin(), vector.end(), [](float x) { return x == 0; })) continue;
    for (const auto& n : targets.nearest(vector, count))
      text << words[i] << '\t' << ++rank << '\t' << targets.words()[n.row] << '\t' << n.cosine << '\n';
  }
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Imputes vectors for the words on standard input, one per line, and writes them as text in the form of word2vec or as .npy; with "
      "--nearest: the known words that are most similar, as lines of word, rank, neighbour, cosine.",
      "impute");
  std::string model_path, output, targets_path, words_path;
  std::size_t nearest = 0;
  app.add_option("--model", model_path, "a model of words (train_love, train_imputer, or a .bin file of fastText)")
      ->required()
      ->type_name("M.lxf");
  app.add_option("--output", output, "a .npy or a text file; without it, text on standard output")->type_name("F");
  auto* known =
      app.add_option("--targets", targets_path, "with --nearest: word vectors, or a model, whose whole-word rows are used")->type_name("V");
  app.add_option("--words", words_path, "for a .npy file of targets: its words, one per line")->type_name("F")->needs(known);
  auto* count = app.add_option("--nearest", nearest, "number of neighbours of each word")->check(program::positive())->needs(known);
  known->needs(count);
  program::add_threads(app);
  return program::run(app, argc, argv, [&] {
    program::keep_inputs("--output", output, {model_path, targets_path, words_path});
    if (nearest > 0 && output.ends_with(".npy"))
      lx::fail_usage("--output", "neighbours are written as text; choose a name that does not end in .npy");
    const auto imputer = lx::load_imputer(model_path);
    std::optional<lx::WordVectors> targets;
    if (nearest > 0) targets = program::read_word_vectors(targets_path, words_path);
    if (targets && targets->dimension() != imputer.size())
      lx::fail_usage("--targets", "the words in ", targets_path, " have ", targets->dimension(), " numbers, the vectors of ", model_path,
                     " have ", imputer.size());
    const auto words = read_words();
    const auto vectors = imputer.vectors(words);
    lx::require_finite(vectors, model_path, "word", 1);
    if (output.ends_with(".npy")) {
      lx::save_npy(output, vectors);
    } else {
      const std::string text = targets ? neighbours(words, vectors, *targets, nearest) : lx::vectors_text(words, vectors);
      if (output.empty()) {
        std::cout << text;
      } else {
        lx::write_file_atomic(output, text);
      }
    }
    if (!output.empty()) std::cerr << output << ": " << words.size() << " words\n";
    return 0;
  });
}
