// SPDX-License-Identifier: MIT
// The data of train_love: the words, their vectors, synonyms and hard negatives.
#pragma once

#include <lexformer/data/lines.hpp>
#include <lexformer/knowledge/wordnet.hpp>
#include <lexformer/text/unicode.hpp>
#include <lexformer/words/love_lists.hpp>

#include <cstring>
#include <iomanip>

#include "cli/word_sources.hpp"
#include "train/love_options.hpp"

namespace program {

using WordLists = lx::LoveBatches::Lists;

/// Two or more letters and nothing else.
inline bool is_letters(const std::string& word) {
  const auto characters = lx::to_utf32(word);
  return characters.size() > 1 && std::all_of(characters.begin(), characters.end(),
                                              [](char32_t c) { return lx::is_word_character(c) && c != '_' && !(c >= '0' && c <= '9'); });
}

/// The targets that are learned. Errors: no word is left.
inline lx::WordVectors select_words(const lx::WordVectors& all, const ImputerTrainOptions& o) {
  std::vector<std::string> words;
  std::vector<float> values;
  for (std::size_t i = 0; i < all.size() && (o.max_words == 0 || words.size() < o.max_words); ++i) {
    if (!o.all_words && !is_letters(all.words()[i])) continue;
    words.push_back(all.words()[i]);
    values.insert(values.end(), all.row(i).begin(), all.row(i).end());
  }
  if (words.empty())
    lx::fail_usage("--targets", "none of the ", all.size(), " words in ", o.targets,
                   " consists of two or more letters; --all-words also takes the others");
  const lx::Shape shape{words.size(), all.dimension()};
  return lx::WordVectors(std::move(words), lx::Tensor<float>::from(values, shape));
}

inline std::string describe(const lx::Vocabulary& v) {
  std::uint32_t sum = 0;
  for (const auto& token : v.tokens()) sum = lx::crc32(token + "\n", sum);
  return lx::cat(v.size(), " tokens, crc32 ", std::hex, std::setw(8), std::setfill('0'), sum);
}

/// The words that may stand in for each word: words of similar targets, of the same WordNet synset, or paired with it in a file.
inline WordLists synonym_lists(const lx::WordVectors& targets, const LoveTrainOptions& o) {
  const std::string& source = o.synonyms.source;
  if (source == "targets") return lx::nearest_rows(targets.values(), o.synonyms.most, o.synonyms.cosine);
  WordLists lists(targets.size());
  const auto add = [&](std::size_t word, std::string_view other) {
    const auto found = targets.find(lx::lower_case(other));
    if (!found || *found == word) return;
    const auto number = static_cast<std::uint32_t>(*found);
    if (std::find(lists[word].begin(), lists[word].end(), number) == lists[word].end()) lists[word].push_back(number);
  };
  if (source == "none") return lists;
  if (source == "wordnet") {
    const auto wordnet = lx::WordNet::load(o.wordnet);
    for (std::size_t w = 0; w < targets.size(); ++w)
      for (const auto synset : wordnet->synsets(targets.words()[w]))
        for (const std::string_view lemma : wordnet->lemmas(synset)) add(w, lemma);
    return lists;
  }
  std::size_t number = 0;
  std::string line;
  for (lx::LineReader reader(source); reader.next(line);) {
    ++number;
    std::istringstream fields(line);
    std::string a, b, more;
    if (!(fields >> a >> b) || fields >> more)
      lx::fail_file(lx::cat(source, ": line ", number), "expected two words, found ", lx::in_quotes(line));
    for (const auto& [from, to] : {std::pair{a, b}, {b, a}})
      if (const auto word = targets.find(lx::lower_case(from))) add(*word, to);
  }
  return lists;
}

/// The words of train_love. Errors: as select_words(); there are fewer other words than negatives, which is known before the
/// search for near words begins.
inline lx::WordVectors love_targets(const lx::WordVectors& all, const LoveTrainOptions& o) {
  auto targets = select_words(all, o);
  if (o.batches.negatives >= targets.size())
    lx::fail_usage("--negatives", "is ", o.batches.negatives, ", but each of the ", targets.size(), " words of ", o.targets, " has only ",
                   targets.size() - 1, " other words; choose at most as many");
  return targets;
}

/// The training data of a run.
struct LoveWords {
  lx::WordVectors targets;
  WordLists synonyms, negatives;

  LoveWords(lx::WordVectors learned, const LoveTrainOptions& o) : targets(std::move(learned)), synonyms(synonym_lists(targets, o)) {
    if (o.batches.negatives == 0) {
      negatives.resize(targets.size());
    } else {
      negatives = lx::hard_negatives(lx::near_words(targets.words(), o.near_ratio, o.near_most), synonyms, targets.values(), o.near_cosine);
    }
  }
  /// A checksum of synonyms and negatives.
  std::uint32_t checksum() const {
    std::uint32_t sum = 0;
    const auto add = [&sum](const std::uint32_t* numbers, std::size_t count) {
      sum = lx::crc32({reinterpret_cast<const char*>(numbers), count * sizeof(*numbers)}, sum);
    };
    for (const auto* lists : {&synonyms, &negatives})
      for (const auto& list : *lists) {
        const auto size = static_cast<std::uint32_t>(list.size());
        add(&size, 1);
        add(list.data(), list.size());
      }
    return sum;
  }
  static std::size_t filled(const WordLists& lists) {
    return static_cast<std::size_t>(std::count_if(lists.begin(), lists.end(), [](const auto& list) { return !list.empty(); }));
  }
  std::string text() const {
    return lx::cat(targets.size(), " words of ", targets.dimension(), " numbers; ", filled(synonyms), " have synonyms, ", filled(negatives),
                   " have hard negatives");
  }
};

}  // namespace program
