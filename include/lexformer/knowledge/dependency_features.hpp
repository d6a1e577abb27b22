// SPDX-License-Identifier: MIT
// Features of pairs of tokens from the dependency trees of their texts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/knowledge/dependency.hpp"
#include "lexformer/knowledge/word_gate.hpp"

namespace lexformer {

/// The trees of an encoding's texts, and the word of a tree that each token belongs to: the word that contains the token's first
/// character; -1: none, as for [CLS] and [SEP].
struct TokenWords {
  std::vector<const DependencyTrees*> texts;  // 1 or 2
  std::vector<std::int32_t> words;            // (n), of texts[type_id]
};
/// Errors (usage): a text has no trees; `who` begins the message.
TokenWords token_words(const Encoding& encoding, const DependencyTable& trees, const std::string& who);

/// Checks that all texts have trees. Errors (usage): names the first text that has none, and their number; `where` begins the message.
void require_trees(std::span<const std::string> texts, const DependencyTable& trees, const std::string& where);

/// Number and checksum of the trees of these texts. A resumed run compares it: its trees must be the same.
std::string describe(const DependencyTable& trees, std::span<const std::string> texts);

/// Makes DAFA's gate (pair_gate) with the values offset + M_F of the words of the trees.
/// offset: 0 (the paper's "adding 1" pads with ones), or 1.
FeatureMaker dependency_gate(std::shared_ptr<const DependencyTable> trees, std::shared_ptr<const DocumentCounts> counts,
                             const DependencyOptions& options, double offset, std::string name = "dafa");

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <iomanip>

#include "lexformer/core/parallel.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/text/encoding.hpp"

namespace lexformer {

namespace detail {
inline const char* parse_advice() {
  return "; make trees of all texts with tools/parse_pairs.py and give them with `parses` FILE.conllu (in C++: provide())";
}
}  // namespace detail

LEXFORMER_INLINE TokenWords token_words(const Encoding& encoding, const DependencyTable& trees, const std::string& who) {
  TokenWords found;
  for (const std::string& text : encoding.texts) {
    found.texts.push_back(trees.find(text));
    if (found.texts.back() == nullptr) fail_usage(who, "the text ", in_quotes(text), " has no dependency tree", detail::parse_advice());
  }
  for (std::size_t t = 0; t < encoding.size(); ++t)
    found.words.push_back(encoding.word_ids[t] < 0 ? -1 : found.texts.at(encoding.text_ids[t])->word_at(encoding.offsets[t].first));
  return found;
}

LEXFORMER_INLINE void require_trees(std::span<const std::string> texts, const DependencyTable& trees, const std::string& where) {
  const std::string* first = nullptr;
  std::size_t missing = 0;
  for (const std::string& text : texts)
    if (trees.find(text) == nullptr && ++missing == 1) first = &text;
  if (missing != 0)
    fail_usage(where, missing, " of ", texts.size(), " texts have no dependency tree, the first: ", in_quotes(*first),
               detail::parse_advice());
}

LEXFORMER_INLINE std::string describe(const DependencyTable& trees, std::span<const std::string> texts) {
  std::uint32_t sum = 0;
  std::size_t words = 0;
  for (const std::string& text : texts)
    if (const DependencyTrees* found = trees.find(text)) {
      words += found->words.size();
      for (const DependencyWord& w : found->words) sum = crc32(cat(w.form, '\t', w.lemma, '\t', w.relation, '\t', w.head, '\n'), sum);
    }
  return cat(words, " words, crc32 ", std::hex, std::setw(8), std::setfill('0'), sum);
}

LEXFORMER_INLINE FeatureMaker dependency_gate(std::shared_ptr<const DependencyTable> trees, std::shared_ptr<const DocumentCounts> counts,
                                              const DependencyOptions& options, double offset, std::string name) {
  const auto pairs = [trees = std::move(trees), counts = std::move(counts), options, offset, name](const Encoding& e) -> WordPairs {
    TokenWords tokens = token_words(e, *trees, name);
    if (tokens.texts.size() != 2) return {};
    WordPairs found{std::move(tokens.words), dependency_matrix(*tokens.texts[0], *tokens.texts[1], *counts, options),
                    tokens.texts[1]->words.size()};
    for (double& x : found.values) x += offset;
    return found;
  };
  return pair_gate(pairs, std::move(name));
}

}  // namespace lexformer
#endif
