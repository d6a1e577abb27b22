// SPDX-License-Identifier: MIT
// The mode of typos on the command line, and the list of misspellings that one of the modes needs.
#pragma once

#include <lexformer/words/word_tasks.hpp>
#include <memory>
#include <string>

#include "cli/command_line.hpp"
#include "cli/program.hpp"

namespace program {

/// A short description of a mode.
inline std::string about_mode(lx::TypoMode mode) {
  switch (mode) {
    case lx::TypoMode::released:
      return "as in the data of LEA's authors, one kind of typo per text";
    case lx::TypoMode::printed:
      return "as in LEA's paper, drawn for each word";
    case lx::TypoMode::love:
      return "as in the SST2 files of LOVE's authors, one edit in each chosen word of 4 or more characters";
    case lx::TypoMode::ocr:
      return "in each chosen word one confusion of characters that look alike, such as 0 and o, or rn and m";
    case lx::TypoMode::keyboard:
      return "one neighbouring key";
    case lx::TypoMode::homophones:
      return "a word that sounds alike";
    case lx::TypoMode::misspellings:
      return "one of the word's misspellings in a list";
    case lx::TypoMode::spaces:
      return "one space dropped or added";
    case lx::TypoMode::abbreviations:
      return "a common abbreviation, or the word without vowels";
    case lx::TypoMode::units:
      return "another format of a number and its unit; the share is of the numbers";
    case lx::TypoMode::casing:
      return "capitals, small letters, a first capital or random case";
    case lx::TypoMode::lookalikes:
      return "one letter of another alphabet with the same shape";
  }
  return {};
}

/// --misspellings F.
class MisspellingsFlag {
 public:
  void visit(OptionVisitor& v, const std::string& use) {
    v.input("misspellings", path_,
            use + ": lines of a misspelling, a tab and the word; or `$word`, then its misspellings on lines of their own");
  }
  bool given() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  /// Reads the list. Errors: the file cannot be read or is not such a list.
  std::shared_ptr<const lx::MisspellingTable> load() const {
    return std::make_shared<const lx::MisspellingTable>(lx::read_misspelling_table(path_));
  }

 private:
  std::string path_;
};

/// --typo-mode, or another name for it, and --misspellings.
class TypoFlags {
 public:
  /// mode: the name of the option.
  void visit(OptionVisitor& v, lx::TypoOptions& typos, const std::string& mode = "typo_mode",
             const std::string& help = "see lexformer help add_typos") {
    v.choice(mode, typos.mode, help).identity(false);
    visit_list(v, mode);
  }
  /// --misspellings alone.
  void visit_list(OptionVisitor& v, const std::string& mode = "typo_mode") {
    mode_ = flag_of(*v.find(mode));
    misspellings_.visit(v, lx::cat("list for ", mode_, " misspellings"));
  }
  /// Reads the list of misspellings. Errors: the mode needs a list and none is given, or the reverse.
  void load(lx::TypoOptions& typos) const {
    const bool needed = typos.mode == lx::TypoMode::misspellings;
    if (needed && !misspellings_.given()) lx::fail_usage(mode_, "misspellings needs a list of them: --misspellings F");
    if (!needed && misspellings_.given()) lx::fail_usage("--misspellings", "needs ", mode_, " misspellings");
    if (needed) typos.misspellings = misspellings_.load();
  }

 private:
  std::string mode_;
  MisspellingsFlag misspellings_;
};

}  // namespace program
