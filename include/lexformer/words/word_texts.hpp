// SPDX-License-Identifier: MIT
// Texts as rows of a table of words: the input of models over fixed word vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/data/examples.hpp"

namespace lexformer {

/// Words of some texts, one text after another.
struct WordBatch {
  std::vector<std::int32_t> ids;     // (N), rows of a table of words
  Offsets offsets;                   // (B + 1)
  std::vector<std::int32_t> labels;  // (B)

  std::size_t size() const { return offsets.sequences(); }
};

/// The words of texts and a list of the distinct ones. Words are separated by whitespace and converted to lower case; a text counts up to
/// its first max_length words. A text without words has one, no_word, for which no one has a vector.
class WordTexts {
 public:
  static constexpr const char* no_word = " ";

  /// Reads the left text of each example. Errors: max_length is 0; there are more than 2^31 - 1 distinct words.
  WordTexts(std::span<const PairExample> examples, std::size_t max_length, bool lower_case = true);

  /// Number of texts.
  std::size_t size() const { return lengths_.size(); }
  /// The distinct words in the order in which they occur; row i of a table of vectors belongs to word i.
  const std::vector<std::string>& words() const { return words_; }
  /// The number of words of each text, at least 1.
  std::span<const std::size_t> lengths() const { return lengths_; }
  /// Makes the batch of these texts, with their labels. Errors: there is no such text.
  WordBatch batch(std::span<const std::size_t> texts) const;

 private:
  std::vector<std::string> words_;
  std::vector<std::int32_t> ids_, labels_;
  std::vector<std::size_t> lengths_, begins_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <limits>
#include <unordered_map>
#include <utility>

#include "lexformer/core/hash.hpp"
#include "lexformer/text/unicode.hpp"

namespace lexformer {

LEXFORMER_INLINE WordTexts::WordTexts(std::span<const PairExample> examples, std::size_t max_length, bool lower) {
  if (max_length == 0) fail_usage("WordTexts", "max_length is 0, expected at least 1 word");
  std::unordered_map<std::string, std::int32_t, SeededHash> index;
  const auto add = [&](std::string word) {
    const auto [found, added] = index.emplace(std::move(word), static_cast<std::int32_t>(index.size()));
    if (added) words_.push_back(found->first);
    if (index.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) fail("WordTexts", "more than 2^31 - 1 words");
    ids_.push_back(found->second);
  };
  for (const PairExample& example : examples) {
    const std::string text = lower ? lexformer::lower_case(example.left) : example.left;
    const std::size_t first = ids_.size();
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size() && ids_.size() - first < max_length;) {
      const Decoded next = i < text.size() ? decode_utf8(text, i) : Decoded{U' ', 1};
      if (is_whitespace(next.character)) {
        if (i > begin) add(text.substr(begin, i - begin));
        begin = i + next.bytes;
      }
      i += next.bytes;
    }
    if (ids_.size() == first) add(no_word);
    begins_.push_back(first);
    lengths_.push_back(ids_.size() - first);
    labels_.push_back(example.label);
  }
}

LEXFORMER_INLINE WordBatch WordTexts::batch(std::span<const std::size_t> texts) const {
  WordBatch out;
  std::vector<std::size_t> lengths;
  for (const std::size_t t : texts) {
    if (t >= size()) fail("WordTexts", "text ", t, " of ", size());
    const auto words = std::span(ids_).subspan(begins_[t], lengths_[t]);
    out.ids.insert(out.ids.end(), words.begin(), words.end());
    out.labels.push_back(labels_[t]);
    lengths.push_back(lengths_[t]);
  }
  out.offsets = Offsets::from_lengths(lengths);
  return out;
}

}  // namespace lexformer
#endif
