// SPDX-License-Identifier: MIT
// --vectors and its companions: fixed word vectors that a model of words completes.
#pragma once

#include "cli/model_card.hpp"
#include "cli/word_sources.hpp"

namespace program {

class StaticVectorFlags {
 public:
  /// of: begins the help texts; it says which models read vectors.
  void visit(OptionVisitor& v, const std::string& of = "") {
    v.input("vectors", vectors_,
            of + "word vectors: a text file, a .npy file with --words, a .bin file of fastText, or a model, whose whole-word rows are used")
        .shown_as("V");
    v.input("words", words_, "for a .npy file of vectors: its words, one per line").needs("vectors");
    v.input("imputer", imputer_,
            of + "a model of words (train_love, train_imputer, or a .bin file of fastText), which makes vectors for the words that "
                 "--vectors lacks")
        .shown_as("M.lxf");
    v.flag("imputer_only", imputer_only_, "take the vectors of all words from --imputer").needs("imputer").identity(false);
  }
  bool used() const { return !vectors_.empty() || !words_.empty() || !imputer_.empty() || imputer_only_; }
  /// Errors (usage): neither --vectors nor --imputer.
  std::shared_ptr<const lx::StaticVectors> load() const {
    if (vectors_.empty() && imputer_.empty()) lx::fail_usage("--vectors", "is missing; give word vectors, or --imputer");
    return std::make_shared<const lx::StaticVectors>(read_static_vectors(vectors_, words_, imputer_, imputer_only_));
  }
  /// Names for the model card.
  std::string text() const {
    std::string out = vectors_.empty() || imputer_only_ ? "" : lx::cat("`", vectors_, "`");
    if (!imputer_.empty()) out += lx::cat(out.empty() ? "imputed by `" : ", completed by `", imputer_, "`");
    return out;
  }
  /// The options for a command line in the card.
  std::string command() const {
    std::string out;
    for (const auto& [flag, value] : {std::pair{" --vectors ", &vectors_}, {" --words ", &words_}, {" --imputer ", &imputer_}})
      if (!value->empty()) out += flag + shell_word(*value);
    return out + (imputer_only_ ? " --imputer-only" : "");
  }

 private:
  std::string vectors_, words_, imputer_;
  bool imputer_only_ = false;
};

}  // namespace program
