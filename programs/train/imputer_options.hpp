// SPDX-License-Identifier: MIT
// The options that train_love and train_imputer have in common.
#pragma once

#include <lexformer/train/imputer.hpp>

#include "train/option_parts.hpp"

namespace program {

/// The methods of train_imputer.
enum class ImputerMethod { mimick, bos, kvq_fh, edit_distance };

}  // namespace program

template <>
inline constexpr lexformer::Named<program::ImputerMethod> lexformer::names_of<program::ImputerMethod>[] = {
    {"mimick", program::ImputerMethod::mimick},
    {"bos", program::ImputerMethod::bos},
    {"kvq_fh", program::ImputerMethod::kvq_fh},
    {"edit_distance", program::ImputerMethod::edit_distance}};

namespace program {

struct ImputerTrainOptions : RunOptions {
  std::string targets, words;
  bool all_words = false;
  std::size_t max_words = 0;
  lx::ImputerSettings settings;

  /// The options of the targets and of the output.
  void visit_data(OptionVisitor& v) {
    v.input("targets", targets,
            "vectors to learn: a text file, a .npy file with --words, a .bin file of fastText, or a model, whose whole-word rows are used")
        .required()
        .shown_as("V");
    v.input("words", words, "for a .npy file of targets: its words, one per line");
    visit_out(v);
    v.flag("all_words", all_words, "also learn words with digits or punctuation, and of one letter").identity(false);
    v.size("max_words", max_words, 0, "learn only the first words of the targets, after this selection; 0 = all").identity(false);
  }
};

}  // namespace program
