// SPDX-License-Identifier: MIT
// Dependency trees of texts, looked up by text, and the similarity of two texts' trees (DAFA: Song et al., "Improving Semantic Matching
// through Dependency-Enhanced Pre-trained Model with Adaptive Fusion", EMNLP Findings 2022, section 2.1). Trees come from a file
// (knowledge/conllu.hpp); the library has no parser.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/hash.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

/// A word of a dependency tree: the trigram (head word, relation, word) of the paper.
struct DependencyWord {
  std::string form, lemma, relation;
  std::int32_t head = -1;                                    // index of the head among the words of the text; -1: a root
  std::pair<std::uint32_t, std::uint32_t> characters{0, 0};  // begin and end in characters (code points) of the text

  bool operator==(const DependencyWord&) const = default;
};

/// The dependency trees of a text, one for each sentence.
struct DependencyTrees {
  std::string text{};
  std::vector<DependencyWord> words{};   // of all sentences, in order
  std::vector<std::size_t> sentences{};  // the first word of each sentence, ascending from 0

  bool operator==(const DependencyTrees&) const = default;

  /// Adds a sentence. `heads`: 1 .. n, 0 for the root. Errors: no root or two, a head outside of the sentence, a cycle.
  void add_sentence(std::vector<DependencyWord> sentence, const std::vector<std::size_t>& heads, const std::string& where);
  /// The index of the word that contains a character of the text, the first one of a multiword token; -1: none.
  std::int32_t word_at(std::uint32_t character) const;
};

/// Dependency trees of many texts.
class DependencyTable {
 public:
  /// Equal trees are kept once. Errors: the text already has different trees; the characters of the words do not ascend.
  void add(DependencyTrees trees, const std::string& where);
  /// The trees of a text; null: there are none. A text of whitespace alone has no words and needs no tree.
  const DependencyTrees* find(const std::string& text) const;
  std::size_t size() const { return trees_.size(); }
  /// All texts, in ascending order.
  std::vector<std::string> texts() const;

 private:
  std::unordered_map<std::string, DependencyTrees, SeededHash> trees_;
};

enum class DependencyMatch { form, lemma };         // words are equal if their forms, or lemmas, are (lower case)
enum class DependencySubgraph { pairs, children };  // readings of eq. 4
enum class DependencyTfidf { max, mean, off };      // a text's tf-idf weights are divided by their maximum, their mean, or by 1

template <>
inline constexpr Named<DependencyMatch> names_of<DependencyMatch>[] = {{"form", DependencyMatch::form}, {"lemma", DependencyMatch::lemma}};
template <>
inline constexpr Named<DependencySubgraph> names_of<DependencySubgraph>[] = {{"pairs", DependencySubgraph::pairs},
                                                                             {"children", DependencySubgraph::children}};
template <>
inline constexpr Named<DependencyTfidf> names_of<DependencyTfidf>[] = {
    {"max", DependencyTfidf::max}, {"mean", DependencyTfidf::mean}, {"off", DependencyTfidf::off}};

struct DependencyOptions {
  double theta = 2;            // factor of an equal relation (eq. 3)
  double alpha = 1, nu = 0.5;  // of eq. 4; the paper does not state their values
  DependencyMatch match = DependencyMatch::form;
  DependencySubgraph subgraphs = DependencySubgraph::pairs;
  DependencyTfidf tfidf = DependencyTfidf::max;
  bool without_tree = false, without_subgraph = false, without_tfidf = false;  // the parts that are left out
};

/// The key by which words are equal: the form or the lemma, in lower case.
std::string dependency_key(const DependencyWord& word, DependencyMatch match);

/// In how many texts of a corpus each word occurs.
struct DocumentCounts {
  std::size_t documents = 0;
  std::map<std::string, std::size_t> words{};  // by form, in lower case

  void add(const DependencyTrees& document);
  /// idf(w) = ln((1 + documents) / (1 + words[w])) + 1
  double idf(const std::string& word) const;
};

/// Tree similarity (eq. 1-3) of each pair of words of two texts:
///   M_ij = ([h_i = h_j] + [t_i = t_j]) r,   r = theta if the relations are equal, else 1
/// h: the head word, where a root's head equals only a root's; t: the word. -> (n, m), row-major
std::vector<double> tree_similarity(const DependencyTrees& a, const DependencyTrees& b, const DependencyOptions& options = {});

/// Subgraph similarity (eq. 4). If the words i and j and their relations are equal:
///   pairs:    S_ij = alpha + nu sum_xy S_xy           over the children x of i and y of j
///   children: S_ij = sum_xy (alpha [x = y] + nu S_xy)
/// else S_ij = 0. -> (n, m), row-major. Time O(n m): each pair of words is read once, by its parents.
std::vector<double> subgraph_similarity(const DependencyTrees& a, const DependencyTrees& b, const DependencyOptions& options = {});

/// The tf-idf weights of a text's words (forms): the count of the word in the text times idf, divided as options.tfidf says; all 1 without
/// tf-idf.
std::vector<double> tfidf_weights(const DependencyTrees& text, const DocumentCounts& counts, const DependencyOptions& options = {});

/// The dependency matrix (eq. 5):   M_F = (M + S)_ij w_i w_j   -> (n, m), row-major
/// Without both tree and subgraph similarity, M + S is 1: only the weights.
std::vector<double> dependency_matrix(const DependencyTrees& a, const DependencyTrees& b, const DocumentCounts& counts,
                                      const DependencyOptions& options = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

namespace detail {
/// Two texts' words and relations as numbers, which are equal where the strings are.
struct DependencyNumbers {
  struct Text {
    std::vector<std::int32_t> word, head, relation;  // head: the number of the head word; -1: root
    std::vector<std::vector<std::size_t>> children;
    std::vector<std::size_t> bottom_up;  // children before their parents
  };
  Text a, b;

  DependencyNumbers(const DependencyTrees& first, const DependencyTrees& second, DependencyMatch match) {
    std::unordered_map<std::string, std::int32_t, SeededHash> words, relations;
    const auto number = [](auto& numbers, const std::string& key) {
      return numbers.emplace(key, static_cast<std::int32_t>(numbers.size())).first->second;
    };
    const auto fill = [&](const DependencyTrees& trees, Text& t) {
      const std::size_t n = trees.words.size();
      for (const DependencyWord& w : trees.words) {
        t.word.push_back(number(words, dependency_key(w, match)));
        t.relation.push_back(number(relations, w.relation));
      }
      t.children.resize(n);
      std::vector<std::size_t> roots;
      for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t head = trees.words[i].head;
        t.head.push_back(head < 0 ? -1 : t.word[static_cast<std::size_t>(head)]);
        (head < 0 ? roots : t.children[static_cast<std::size_t>(head)]).push_back(i);
      }
      t.bottom_up = std::move(roots);
      for (std::size_t k = 0; k < t.bottom_up.size(); ++k)
        t.bottom_up.insert(t.bottom_up.end(), t.children[t.bottom_up[k]].begin(), t.children[t.bottom_up[k]].end());
      std::reverse(t.bottom_up.begin(), t.bottom_up.end());
    };
    fill(first, a);
    fill(second, b);
  }
};

inline std::vector<double> tree_similarity(const DependencyNumbers& numbers, const DependencyOptions& options) {
  const auto &x = numbers.a, &y = numbers.b;
  const std::size_t n = x.word.size(), m = y.word.size();
  std::vector<double> similarity(n * m);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j)
      similarity[i * m + j] =
          ((x.head[i] == y.head[j] ? 1 : 0) + (x.word[i] == y.word[j] ? 1 : 0)) * (x.relation[i] == y.relation[j] ? options.theta : 1);
  return similarity;
}

inline std::vector<double> subgraph_similarity(const DependencyNumbers& numbers, const DependencyOptions& options) {
  const auto &x = numbers.a, &y = numbers.b;
  const std::size_t m = y.word.size();
  std::vector<double> similarity(x.word.size() * m, 0);
  for (const std::size_t i : x.bottom_up)
    for (const std::size_t j : y.bottom_up) {
      if (x.word[i] != y.word[j] || x.relation[i] != y.relation[j]) continue;
      double below = 0, equal = 0;
      for (const std::size_t child : x.children[i])
        for (const std::size_t other : y.children[j]) {
          below += similarity[child * m + other];
          equal += x.word[child] == y.word[other] ? 1 : 0;
        }
      similarity[i * m + j] = options.alpha * (options.subgraphs == DependencySubgraph::pairs ? 1 : equal) + options.nu * below;
    }
  return similarity;
}
}  // namespace detail

LEXFORMER_INLINE void DependencyTrees::add_sentence(std::vector<DependencyWord> sentence, const std::vector<std::size_t>& heads,
                                                    const std::string& where) {
  const std::size_t n = sentence.size(), first = words.size();
  if (heads.size() != n) fail(where, "the sentence has ", n, " words and ", heads.size(), " heads");
  if (n == 0) fail_file(where, "the sentence has no words");
  std::size_t roots = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (heads[i] > n) fail_file(where, "the head of word ", i + 1, " is ", heads[i], ", but the sentence has ", n, " words");
    if (heads[i] == 0) ++roots;
    sentence[i].head = heads[i] == 0 ? -1 : static_cast<std::int32_t>(first + heads[i] - 1);
  }
  if (roots != 1) fail_file(where, "the sentence has ", roots, " roots (words with head 0), expected 1");
  // Each word is walked up from once: 0 = not seen, otherwise the word at which the walk that saw it began.
  std::vector<std::size_t> seen(n + 1, 0);
  for (std::size_t start = 1; start <= n; ++start)
    for (std::size_t i = start; i != 0; i = heads[i - 1]) {
      if (seen[i] == start) fail_file(where, "the heads form a cycle: word ", i, " is above itself");
      if (seen[i] != 0) break;
      seen[i] = start;
    }
  sentences.push_back(first);
  std::move(sentence.begin(), sentence.end(), std::back_inserter(words));
}

LEXFORMER_INLINE std::int32_t DependencyTrees::word_at(std::uint32_t character) const {
  const auto next = std::upper_bound(words.begin(), words.end(), character,
                                     [](std::uint32_t c, const DependencyWord& w) { return c < w.characters.first; });
  if (next == words.begin() || character >= std::prev(next)->characters.second) return -1;
  auto word = std::prev(next);
  while (word != words.begin() && std::prev(word)->characters == word->characters) --word;
  return static_cast<std::int32_t>(word - words.begin());
}

LEXFORMER_INLINE void DependencyTable::add(DependencyTrees trees, const std::string& where) {
  std::uint32_t end = 0;
  std::pair<std::uint32_t, std::uint32_t> before{1, 0};  // no characters
  for (const DependencyWord& w : trees.words) {
    if (w.characters == before) continue;  // of the same multiword token
    before = w.characters;
    if (w.characters.first < end || w.characters.second <= w.characters.first)
      fail_file(where, "the word ", in_quotes(w.form), " has the characters ", w.characters.first, " to ", w.characters.second, " after ",
                end);
    end = w.characters.second;
  }
  const auto [entry, added] = trees_.try_emplace(trees.text, trees);
  if (!added && !(entry->second == trees)) fail_file(where, "the text ", in_quotes(trees.text), " already has a different tree");
}

LEXFORMER_INLINE const DependencyTrees* DependencyTable::find(const std::string& text) const {
  static const DependencyTrees no_words{};
  const auto found = trees_.find(text);
  if (found != trees_.end()) return &found->second;
  return text.find_first_not_of(" \t\r\n") == text.npos ? &no_words : nullptr;
}

LEXFORMER_INLINE std::vector<std::string> DependencyTable::texts() const {
  std::vector<std::string> all;
  for (const auto& [text, trees] : trees_) all.push_back(text);
  std::sort(all.begin(), all.end());
  return all;
}

LEXFORMER_INLINE std::string dependency_key(const DependencyWord& word, DependencyMatch match) {
  return lower_case(match == DependencyMatch::form ? word.form : word.lemma);
}

LEXFORMER_INLINE void DocumentCounts::add(const DependencyTrees& document) {
  std::vector<std::string> keys;
  for (const DependencyWord& w : document.words) keys.push_back(dependency_key(w, DependencyMatch::form));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (std::string& key : keys) ++words[std::move(key)];
  ++documents;
}

LEXFORMER_INLINE double DocumentCounts::idf(const std::string& word) const {
  const auto found = words.find(word);
  const std::size_t df = found == words.end() ? 0 : found->second;
  return std::log(static_cast<double>(1 + documents) / static_cast<double>(1 + df)) + 1;
}

LEXFORMER_INLINE std::vector<double> tree_similarity(const DependencyTrees& a, const DependencyTrees& b, const DependencyOptions& options) {
  return detail::tree_similarity({a, b, options.match}, options);
}

LEXFORMER_INLINE std::vector<double> subgraph_similarity(const DependencyTrees& a, const DependencyTrees& b,
                                                         const DependencyOptions& options) {
  return detail::subgraph_similarity({a, b, options.match}, options);
}

LEXFORMER_INLINE std::vector<double> tfidf_weights(const DependencyTrees& text, const DocumentCounts& counts,
                                                   const DependencyOptions& options) {
  std::vector<double> weights(text.words.size(), 1);
  if (options.without_tfidf || weights.empty()) return weights;
  std::vector<std::string> keys;
  std::unordered_map<std::string_view, std::size_t, SeededHash> in_text;
  for (const DependencyWord& w : text.words) keys.push_back(dependency_key(w, DependencyMatch::form));
  for (const std::string& key : keys) ++in_text[key];
  for (std::size_t i = 0; i < keys.size(); ++i) weights[i] = static_cast<double>(in_text[keys[i]]) * counts.idf(keys[i]);
  double divisor = 1;
  if (options.tfidf == DependencyTfidf::max) divisor = *std::max_element(weights.begin(), weights.end());
  if (options.tfidf == DependencyTfidf::mean)
    divisor = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  for (double& w : weights) w /= divisor;
  return weights;
}

LEXFORMER_INLINE std::vector<double> dependency_matrix(const DependencyTrees& a, const DependencyTrees& b, const DocumentCounts& counts,
                                                       const DependencyOptions& options) {
  const std::size_t n = a.words.size(), m = b.words.size();
  const bool weights_alone = options.without_tree && options.without_subgraph;
  std::vector<double> fused(n * m, weights_alone ? 1 : 0);
  const auto add = [&](const std::vector<double>& part) {
    for (std::size_t e = 0; e < n * m; ++e) fused[e] += part[e];
  };
  if (!weights_alone) {
    const detail::DependencyNumbers numbers(a, b, options.match);
    if (!options.without_tree) add(detail::tree_similarity(numbers, options));
    if (!options.without_subgraph) add(detail::subgraph_similarity(numbers, options));
  }
  const auto of_a = tfidf_weights(a, counts, options), of_b = tfidf_weights(b, counts, options);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) fused[i * m + j] *= of_a[i] * of_b[j];
  return fused;
}

}  // namespace lexformer
#endif
