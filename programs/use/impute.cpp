// SPDX-License-Identifier: MIT
// Writes imputed vectors of the words on standard input, or their nearest known words.
#include <iomanip>

#include "cli/word_sources.hpp"

#include <lexformer/words/word_imputer.hpp>

namespace lx = lexformer;

namespace {

/// The words of standard input, one per line. Errors: there are no words; a line is not a word.
std::vector<std::string> read_words() {
  std::vector<std::string> words;
  lx::StreamLines lines(std::cin);
  for (std::string line; lines.next(line);) {
    if (const std::string fault = lx::word_fault(line); !fault.empty())
      lx::fail_file(lx::cat("standard input: line ", words.size() + 1), fault, "; expected one word per line");
    words.push_back(line);
  }
  if (words.empty()) lx::fail_file("standard input", "is empty; expected words, one per line");
  return words;
}

struct Imputed {
  std::vector<std::string> words;
  lx::Tensor<float> vectors;
};

/// The rows that are not zeros. BoS and fastText have zeros for a word without known substrings: these have no neighbours, and programs
/// that read word vectors refuse them.
std::vector<std::size_t> rows_with_vector(const lx::Tensor<float>& vectors) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < vectors.dim(0); ++i) {
    const auto vector = vectors.span().subspan(i * vectors.dim(1), vectors.dim(1));
    if (std::any_of(vector.begin(), vector.end(), [](float x) { return x != 0; })) rows.push_back(i);
  }
  return rows;
}

/// Line by line: word, rank, neighbour, cosine.
std::string neighbours(const std::vector<std::string>& words, const lx::Tensor<float>& vectors, const std::vector<std::size_t>& rows,
                       const lx::WordVectors& targets, std::size_t count) {
  program::StringWriter text;
  text << std::fixed << std::setprecision(4);
  for (const std::size_t i : rows) {
    std::size_t rank = 0;
    for (const auto& n : targets.nearest(vectors.span().subspan(i * targets.dimension(), targets.dimension()), count))
      text << words[i] << '\t' << ++rank << '\t' << targets.words()[n.row] << '\t' << n.cosine << '\n';
  }
  return text.str();
}

/// The vectors of these rows as text.
std::string text_of(const std::vector<std::string>& words, const lx::Tensor<float>& vectors, const std::vector<std::size_t>& rows) {
  if (rows.size() == words.size()) return lx::vectors_text(words, vectors);
  std::vector<std::string> kept;
  std::vector<float> values;
  for (const std::size_t i : rows) {
    const auto vector = vectors.span().subspan(i * vectors.dim(1), vectors.dim(1));
    kept.push_back(words[i]);
    values.insert(values.end(), vector.begin(), vector.end());
  }
  return lx::vectors_text(kept, lx::Tensor<float>::from(values, {rows.size(), vectors.dim(1)}));
}

bool is_npy(const std::string& output) { return lx::lower_case(output).ends_with(".npy"); }

class Impute final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_, "a model of words (train_love, train_imputer, or a .bin file of fastText)").required().shown_as("M.lxf");
    v.output("output", output_, "a .npy or a text file; without it, text on standard output")
        .only_if(!nearest_ || !is_npy(output_), "neighbours are written as text; choose a name that does not end in .npy");
    v.input("targets", targets_, "with --nearest: word vectors, or a model, whose whole-word rows are used").shown_as("V").needs("nearest");
    v.input("words", words_, "for a .npy file of targets: its words, one per line").needs("targets");
    v.size("nearest", nearest_, 1, "number of neighbours of each word").needs("targets");
    visit_threads(v);
  }
  int run() override {
    const bool npy = is_npy(output_);
    const auto imputer = lx::load_imputer(model_);
    std::optional<lx::WordVectors> targets;
    if (nearest_) targets = program::read_word_vectors(targets_, words_);
    if (targets && targets->dimension() != imputer.size())
      lx::fail_usage("--targets", "the words in ", targets_, " have ", targets->dimension(), " numbers, the vectors of ", model_, " have ",
                     imputer.size());
    const auto words = read_words();
    const auto vectors = imputer.vectors(words);
    lx::require_finite(vectors, model_, "word", 1);
    const auto rows = rows_with_vector(vectors);
    if (npy) {
      lx::save_npy(output_, vectors);
    } else {
      const std::string text = targets ? neighbours(words, vectors, rows, *targets, *nearest_) : text_of(words, vectors, rows);
      if (output_.empty()) {
        std::cout << text;
      } else {
        lx::write_file_atomic(output_, text);
      }
    }
    if (const std::size_t zeros = words.size() - rows.size(); zeros > 0)
      std::cerr << "warning: " << zeros << " of " << words.size() << " words have no vector, because the model knows no part of them; "
                << (npy ? "their rows are zeros\n" : "they are left out\n");
    if (!output_.empty()) std::cerr << output_ << ": " << (npy ? words.size() : rows.size()) << " words\n";
    return 0;
  }

 private:
  std::string model_, output_, targets_, words_;
  std::optional<std::size_t> nearest_;
};

const program::Registered<Impute> command{
    "impute", program::Group::use, "vectors of any words, or their nearest known words",
    "Imputes vectors for the words on standard input, one per line, and writes them as text in the form of word2vec or as .npy; with "
    "--nearest: the known words with the most similar vectors, as lines of word, rank, neighbour, cosine. These do not correct spelling: "
    "edit distance finds the word of a misspelling more often."};

}  // namespace
