// SPDX-License-Identifier: MIT
// LOVE learns to compute the vectors of known words from their letters and pieces (Chen et al. 2022), so it has a vector for any word.
// Prints the known words that are nearest to a misspelled one.   Try: build/release/bin/10_love weights/english-small love.lxf langauge
#include <iostream>
#include <lexformer/lexformer.hpp>
#include <lexformer/words.hpp>

namespace lx = lexformer;

/// Word vectors from a text file, or the rows of whole words in the word table of a BERT model.
lx::WordVectors known_words(const std::string& path) {
  if (path.ends_with(".txt")) return lx::read_vectors(path);
  const auto file = lx::ModelFile::open(path);
  return lx::whole_word_vectors(file.vocabulary, file.tensors.get<float>("bert.embeddings.word_embeddings.weight"), path);
}

/// The units that LOVE reads: letters, [SUB], pieces.
lx::WordUnits letters_and_pieces(const std::vector<std::string>& words) {
  auto tokens = lx::train_vocabulary(words, {}, {.size = 4000}).tokens();
  tokens.emplace_back("[SUB]");
  return lx::WordUnits(lx::Vocabulary(tokens));
}

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: 10_love VECTORS MODEL.lxf WORD   (VECTORS: a .txt file of word vectors, or a BERT model; writes MODEL.lxf)\n";
    return 2;
  }
  const auto known = known_words(argv[1]);
  const std::size_t size = known.dimension();
  lx::Love<> model(letters_and_pieces(known.words()), {.size = size, .query_size = std::min<std::size_t>(32, size)}, 1);

  // Training words get typos, or are replaced by synonyms: words of similar vectors. A word's hard negatives are spelled like it and have
  // other vectors.
  const auto synonyms = lx::nearest_rows(known.values(), 5, 0.6);
  const auto negatives = lx::hard_negatives(lx::near_words(known.words(), 0.7, 100), synonyms, known.values(), 0.4);
  const lx::LoveBatches batches(known.words(), synonyms, negatives, {.batch = 16, .negatives = 3}, 1);

  const lx::Var<> targets(known.values());
  lx::AdamW<> optimizer(model.parameters(), {.lr = 2e-3});
  std::uint32_t step = 0;
  for (std::uint32_t epoch = 0; epoch < 10; ++epoch) {
    const auto order = batches.order(epoch);
    double sum = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const auto batch = batches.batch(order, epoch, i);
      const auto vectors = model(batch.spellings, {.training = true, .seed = 1, .step = step++});
      const auto loss = lx::love_loss(lx::select_rows(targets, batch.words), vectors, batch.words, {});  // vector i is nearest to target i
      loss.backward();
      optimizer.step();
      sum += static_cast<double>(loss.item());
    }
    std::cerr << "epoch " << epoch + 1 << ", loss " << sum / static_cast<double>(batches.size()) << "\n";
  }
  model.save(argv[2]);  // for `lexformer impute --model MODEL.lxf`

  const std::vector<std::string> asked{argv[3]};
  for (const auto& [row, cosine] : known.nearest(model.vectors(asked).span(), 5)) std::cout << known.words()[row] << "\t" << cosine << "\n";
} catch (const lx::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
