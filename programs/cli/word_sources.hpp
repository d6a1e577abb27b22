// SPDX-License-Identifier: MIT
// Word vectors as options of a program: a file of vectors, or the word table of a model.
#pragma once

#include <lexformer/io/model_file.hpp>
#include <lexformer/words/fasttext.hpp>
#include <lexformer/words/static_vectors.hpp>
#include <lexformer/words/vectors.hpp>

#include "cli/program.hpp"

namespace program {

/// Says how many vectors of a file were left out.
inline lx::WordVectors with_warning(lx::WordVectors vectors, const std::string& path) {
  if (vectors.left_out() > 0)
    std::cerr << "warning: " << path << ": " << counted(vectors.left_out(), "vector is", "vectors are")
              << " left out: zero, or of a word with spaces\n";
  return vectors;
}

/// Reads word vectors: a text file, .npy with a word list, the known words of a .bin file of fastText, a .bin file of word2vec, or the
/// whole-word rows of the word table of a model (.lxf or a HuggingFace folder). Words are converted to lower case.
inline lx::WordVectors read_word_vectors(const std::string& path, const std::string& word_list = "") {
  if (path.ends_with(".bin")) {
    if (!word_list.empty()) lx::fail_usage(path, "has its own words; a word list belongs to a .npy file");
    if (lx::is_fasttext(path)) return with_warning(lx::FastText::load(path).known(), path);
  }
  if (!path.ends_with(".lxf") && !lx::is_folder(path)) return with_warning(lx::read_vectors(path, {.word_list = word_list}), path);
  if (!word_list.empty()) lx::fail_usage(path, "is a model, which has its own words; a word list belongs to a .npy file");
  const auto file = lx::ModelFile::open(path);
  for (const auto& name : file.tensors.names())
    if (name.ends_with(".embeddings.word_embeddings.weight"))
      return lx::whole_word_vectors(file.vocabulary, file.tensors.get<float>(name), path);
  lx::fail_file(path, "has no table of word embeddings; expected an encoder such as BERT, or a file of word vectors");
}

/// Word vectors that a model of words (train_love, train_imputer) completes. Any path may be empty.
inline lx::StaticVectors read_static_vectors(const std::string& vectors, const std::string& word_list, const std::string& imputer,
                                             bool imputer_only = false) {
  lx::WordVectors known;
  if (!vectors.empty()) known = read_word_vectors(vectors, word_list);
  std::optional<lx::WordImputer> model;
  if (!imputer.empty()) model = lx::load_imputer(imputer);
  if (model && known.size() > 0 && model->size() != known.dimension())
    lx::fail_usage("--imputer", imputer, " makes vectors of ", model->size(), " numbers, but those of ", vectors, " have ",
                   known.dimension());
  return {std::move(known), std::move(model), imputer_only};
}

}  // namespace program
