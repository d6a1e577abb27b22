// SPDX-License-Identifier: MIT
// Princeton WordNet 3.0: base forms of words, synsets, lemmas, antonyms, hypernyms, and the similarity of Wu and Palmer. All results equal
// the results of PyPI's nltk 3.10.4 on the same files (tests/oracles/check_wordnet.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/knowledge/wordnet_files.hpp"

namespace lexformer {

/// A read-only WordNet. Its synsets have the ids 0 ... size() - 1. All functions are thread-safe.
/// Errors of all functions of a synset: the id is size() or more.
class WordNet {
 public:
  using Id = WordNetFiles::Id;

  /// A hypernym of a synset, or the synset itself, and the number of steps of the shortest path to it.
  struct Ancestor {
    Id synset;
    std::uint32_t distance;
  };

  /// Reads index.X, data.X and X.exc for X = noun, verb, adj, adv. Debian's package wordnet-base installs them in /usr/share/wordnet.
  /// Errors: as WordNetFiles; the hypernyms form a cycle, or a chain of more than 255 (kind file).
  static std::shared_ptr<const WordNet> load(const std::filesystem::path& folder);
  explicit WordNet(const std::filesystem::path& folder);

  std::size_t size() const { return nodes_.size(); }
  std::uint32_t checksum() const { return files_.checksum(); }

  /// The words of this part of speech that `word`, in lower case, can be a form of: the word itself; then its entries in the exception
  /// list, or, if it has none, the words that one of the detachment rules of morphy(7WN) makes of it. Noun axes: ax, axis.
  std::vector<std::string> base_forms(std::string_view word, PartOfSpeech part) const;

  /// The synsets of all base forms: nouns, verbs, adjectives, adverbs; of each base form the most frequent sense first. A synset with two
  /// of the base forms is listed twice.
  std::vector<Id> synsets(std::string_view word) const;

  /// First lemma in lower case, type and number of the sense of this lemma: dog.n.01. Satellite adjectives (type s) are counted on their
  /// own.
  const std::string& name(Id synset) const { return nodes_[check(synset)].name; }

  /// The lemmas as written in the data file, without a syntactic marker such as (p); blanks are underscores: Canis_familiaris.
  std::span<const std::string_view> lemmas(Id synset) const { return files_.lemmas(check(synset)); }

  /// The antonyms of lemma number `lemma` (from 0) of a synset, in the order of the data file. Errors: there is no such lemma.
  std::vector<std::string_view> antonyms(Id synset, std::size_t lemma) const;

  /// The synset, its hypernyms and instance hypernyms (distance 1), theirs (distance 2), and so on; in ascending order of ids.
  std::span<const Ancestor> ancestors(Id synset) const;

  /// The number of steps of the shortest and of the longest path to a synset without hypernyms.
  std::size_t min_depth(Id synset) const { return nodes_[check(synset)].min_depth; }
  std::size_t max_depth(Id synset) const { return nodes_[check(synset)].max_depth; }

  /// Wu-Palmer similarity (Wu and Palmer 1994), 2 D / (L_a + L_b + 2 D) in (0, 1], empty if two nouns have no common ancestor.
  /// c = the common ancestor of a and b with the largest min_depth, D = max_depth(c) + 1, and L_x = the number of steps of the shortest
  /// path from x to c over a common ancestor of x and c. If several have this min_depth, c = a if a is one of them, else the one whose name
  /// comes first in ASCII. Therefore the similarity is not symmetric, and a synset's similarity to itself may be less than 1. Unless a and
  /// b are nouns, a root of depth 0 is above all synsets, one step from the farthest ancestor of each; its name comes first.
  std::optional<double> wup_similarity(Id a, Id b) const;

 private:
  struct Node {
    std::string name{};
    WordNetFiles::Range ancestors{};
    std::uint32_t min_depth = 0, max_depth = 0;
    std::uint32_t to_root = 1;  // 1 + the largest distance of an ancestor
  };

  Id check(Id synset) const {
    if (synset >= nodes_.size()) fail("WordNet", "synset ", synset, " is out of range; there are ", nodes_.size());
    return synset;
  }
  std::string make_name(Id synset) const;
  void find_ancestors(Id synset, std::vector<std::uint8_t>& state);
  void merge_ancestors(Id synset);
  std::size_t distance(Id from, Id to) const;
  /// Calls each(ancestor of a, ancestor of b) for each common ancestor.
  template <class Each>
  void for_common(Id a, Id b, Each&& each) const;

  WordNetFiles files_;
  std::vector<Node> nodes_;  // one for each synset
  std::vector<Ancestor> ancestors_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "lexformer/text/unicode.hpp"

namespace lexformer {

namespace detail {
struct DetachmentRule {
  PartOfSpeech part;
  std::string_view ending, replacement;
};
/// The rules of WordNet 3.0, in the order in which they are tried.
inline constexpr auto detachment_rules = std::to_array<DetachmentRule>({
    {PartOfSpeech::noun, "s", ""},        {PartOfSpeech::noun, "ses", "s"},     {PartOfSpeech::noun, "ves", "f"},
    {PartOfSpeech::noun, "xes", "x"},     {PartOfSpeech::noun, "zes", "z"},     {PartOfSpeech::noun, "ches", "ch"},
    {PartOfSpeech::noun, "shes", "sh"},   {PartOfSpeech::noun, "men", "man"},   {PartOfSpeech::noun, "ies", "y"},
    {PartOfSpeech::verb, "s", ""},        {PartOfSpeech::verb, "ies", "y"},     {PartOfSpeech::verb, "es", "e"},
    {PartOfSpeech::verb, "es", ""},       {PartOfSpeech::verb, "ed", "e"},      {PartOfSpeech::verb, "ed", ""},
    {PartOfSpeech::verb, "ing", "e"},     {PartOfSpeech::verb, "ing", ""},      {PartOfSpeech::adjective, "er", ""},
    {PartOfSpeech::adjective, "est", ""}, {PartOfSpeech::adjective, "er", "e"}, {PartOfSpeech::adjective, "est", "e"},
});
}  // namespace detail

LEXFORMER_INLINE WordNet::WordNet(const std::filesystem::path& folder) : files_(folder), nodes_(files_.synsets().size()) {
  std::vector<std::uint8_t> state(size());
  for (Id id = 0; id < size(); ++id) {
    nodes_[id].name = make_name(id);
    find_ancestors(id, state);
  }
}

LEXFORMER_INLINE std::shared_ptr<const WordNet> WordNet::load(const std::filesystem::path& folder) {
  return std::make_shared<const WordNet>(folder);
}

LEXFORMER_INLINE std::string WordNet::make_name(Id synset) const {
  const auto& synsets = files_.synsets();
  const std::string lemma = lower_case(files_.lemmas(synset).front());
  std::size_t sense = 0;
  for (const Id other : files_.senses(lemma, synsets[synset].part)) {
    if (synsets[synset].type != 's' || synsets[other].type == 's') ++sense;
    if (other == synset) return lemma + '.' + synsets[synset].type + (sense < 10 ? ".0" : ".") + std::to_string(sense);
  }
  fail_file(files_.where(synset), "the index does not list this synset under its first lemma, ", in_quotes(lemma));
}

/// Depth first, without recursion. Of a synset, state is 0: not seen, 1: on the way to the current one, 2: done.
LEXFORMER_INLINE void WordNet::find_ancestors(Id synset, std::vector<std::uint8_t>& state) {
  std::vector<Id> stack{synset};
  while (!stack.empty()) {
    const Id top = stack.back();
    const std::size_t height = stack.size();
    if (state[top] != 2) {
      state[top] = 1;
      for (const Id hypernym : files_.hypernyms(top)) {
        if (state[hypernym] == 1) fail_file(files_.where(top), "the hypernyms form a cycle");
        if (state[hypernym] == 0) stack.push_back(hypernym);
      }
      if (stack.size() > height) continue;
      merge_ancestors(top);
      state[top] = 2;
    }
    stack.pop_back();
  }
}

LEXFORMER_INLINE std::span<const WordNet::Ancestor> WordNet::ancestors(Id synset) const {
  return detail::part_of(ancestors_, nodes_[check(synset)].ancestors);
}

LEXFORMER_INLINE void WordNet::merge_ancestors(Id synset) {
  Node& node = nodes_[synset];
  std::vector<Ancestor> all{{synset, 0}};
  for (const Id hypernym : files_.hypernyms(synset)) {
    node.min_depth = all.size() == 1 ? nodes_[hypernym].min_depth + 1 : std::min(node.min_depth, nodes_[hypernym].min_depth + 1);
    node.max_depth = std::max(node.max_depth, nodes_[hypernym].max_depth + 1);
    for (const Ancestor& ancestor : ancestors(hypernym)) all.push_back({ancestor.synset, ancestor.distance + 1});
  }
  if (node.max_depth > 255) fail_file(files_.where(synset), "has a chain of more than 255 hypernyms");
  std::sort(all.begin(), all.end(),
            [](const Ancestor& a, const Ancestor& b) { return std::tie(a.synset, a.distance) < std::tie(b.synset, b.distance); });
  all.erase(std::unique(all.begin(), all.end(), [](const Ancestor& a, const Ancestor& b) { return a.synset == b.synset; }), all.end());
  for (const Ancestor& ancestor : all) node.to_root = std::max(node.to_root, ancestor.distance + 1);
  node.ancestors = {static_cast<std::uint32_t>(ancestors_.size()), static_cast<std::uint32_t>(all.size())};
  ancestors_.insert(ancestors_.end(), all.begin(), all.end());
}

LEXFORMER_INLINE std::vector<std::string> WordNet::base_forms(std::string_view word, PartOfSpeech part) const {
  const std::string form = lower_case(word);
  std::vector<std::string> out;
  const auto add = [&](std::string base) {
    if (!files_.senses(base, part).empty() && std::find(out.begin(), out.end(), base) == out.end()) out.push_back(std::move(base));
  };
  add(form);
  const auto exceptions = files_.exceptions(form, part);
  for (const std::string_view base : exceptions) add(std::string(base));
  if (!exceptions.empty()) return out;
  for (const auto& rule : detail::detachment_rules)
    if (rule.part == part && form.ends_with(rule.ending)) add(form.substr(0, form.size() - rule.ending.size()).append(rule.replacement));
  return out;
}

LEXFORMER_INLINE std::vector<WordNet::Id> WordNet::synsets(std::string_view word) const {
  std::vector<Id> out;
  for (const PartOfSpeech part : {PartOfSpeech::noun, PartOfSpeech::verb, PartOfSpeech::adjective, PartOfSpeech::adverb})
    for (const std::string& form : base_forms(word, part)) {
      const auto senses = files_.senses(form, part);
      out.insert(out.end(), senses.begin(), senses.end());
    }
  return out;
}

LEXFORMER_INLINE std::vector<std::string_view> WordNet::antonyms(Id synset, std::size_t lemma) const {
  if (lemma >= lemmas(synset).size()) fail("WordNet", "lemma ", lemma, " is out of range; ", name(synset), " has ", lemmas(synset).size());
  return files_.antonyms(synset, lemma);
}

template <class Each>
void WordNet::for_common(Id a, Id b, Each&& each) const {
  const auto left = ancestors(a), right = ancestors(b);
  for (auto i = left.begin(), j = right.begin(); i != left.end() && j != right.end();) {
    if (i->synset == j->synset) {
      each(*i++, *j++);
    } else if (i->synset < j->synset) {
      ++i;
    } else {
      ++j;
    }
  }
}

LEXFORMER_INLINE std::size_t WordNet::distance(Id from, Id to) const {
  if (from == to) return 0;
  std::size_t steps = std::numeric_limits<std::size_t>::max();  // the way over the root is longer: `to` is an ancestor of `from`
  for_common(from, to, [&](const Ancestor& a, const Ancestor& b) { steps = std::min<std::size_t>(steps, a.distance + b.distance); });
  return steps;
}

LEXFORMER_INLINE std::optional<double> WordNet::wup_similarity(Id a, Id b) const {
  const auto is_noun = [&](Id id) { return files_.synsets()[check(id)].part == PartOfSpeech::noun; };
  const bool root = !is_noun(a) || !is_noun(b);
  std::optional<Id> lowest;
  for_common(a, b, [&](const Ancestor& common, const Ancestor&) {
    const Id id = common.synset;
    const auto below = [&](Id other) {
      if (nodes_[id].min_depth != nodes_[other].min_depth) return nodes_[id].min_depth > nodes_[other].min_depth;
      return id == a || (other != a && nodes_[id].name < nodes_[other].name);
    };
    if (!lowest || below(*lowest)) lowest = id;
  });
  if (!lowest && !root) return std::nullopt;
  if (!lowest || (root && nodes_[*lowest].min_depth == 0 && *lowest != a)) return 2.0 / (nodes_[a].to_root + nodes_[b].to_root + 2.0);
  const std::size_t depth = nodes_[*lowest].max_depth + 1;
  const std::size_t steps = distance(a, *lowest) + distance(b, *lowest);
  return 2.0 * static_cast<double>(depth) / static_cast<double>(steps + 2 * depth);
}

}  // namespace lexformer
#endif
