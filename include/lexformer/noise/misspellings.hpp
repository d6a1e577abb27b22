// SPDX-License-Identifier: MIT
// Noise: misspellings that people made, from a list.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/noise/words.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// Words and their misspellings, in small letters. read_misspelling_table() (words/word_tasks.hpp) reads one.
struct MisspellingTable {
  std::string source{};  // for logs: a file name, perhaps with its checksum
  std::map<std::string, std::vector<std::string>, std::less<>> of_word{};

  /// Adds a misspelling of a word, once. Leaves out what this noise cannot use: words with a space, and misspellings that differ from the
  /// word in case alone.
  void add(std::string_view word, std::string_view misspelling);
};

/// Replaces a word by one of its misspellings, all equally likely, in the case of the word (in_case_of); punctuation around it stays. A
/// word that is not in the table stays.
std::string misspelling_noise(const std::string& word, const MisspellingTable& table, RandomStream& random);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>

namespace lexformer {

LEXFORMER_INLINE void MisspellingTable::add(std::string_view word, std::string_view misspelling) {
  const std::string right = lower_case(word), wrong = lower_case(misspelling);
  if (right == wrong || right.empty() || wrong.empty() || right.find(' ') != right.npos) return;
  auto& all = of_word[right];
  if (std::find(all.begin(), all.end(), wrong) == all.end()) all.push_back(wrong);
}

LEXFORMER_INLINE std::string misspelling_noise(const std::string& word, const MisspellingTable& table, RandomStream& random) {
  const auto [before, core, after] = word_parts(word);
  const auto found = table.of_word.find(lower_case(core));
  if (found == table.of_word.end()) return word;
  const auto& all = found->second;
  return cat(before, in_case_of(all[static_cast<std::size_t>(random.below(all.size()))], core), after);
}

}  // namespace lexformer
#endif
