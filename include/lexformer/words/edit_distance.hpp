// SPDX-License-Identifier: MIT
// The baseline Edit Distance of LOVE's Table 3: the vector of the known word that is spelled most alike.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/words/vectors.hpp"

namespace lexformer {

/// vector of a word = the vector of the known word with the smallest edit_distance(), the first of equally near ones. Words are compared in
/// lower case and up to their first 100 characters.
class EditDistance {
 public:
  /// The known words, of which the paper has 20,000. Errors: there are none.
  explicit EditDistance(WordVectors known);
  /// Errors (file): the file holds another kind of model; words or vectors are missing or do not fit.
  explicit EditDistance(const ModelFile& file);

  const WordVectors& known() const { return known_; }
  /// The row of the nearest known word. A word at distance 0 is found at once; else takes time proportional to the number of known words.
  std::size_t nearest(std::string_view word) const;
  /// (words, D)
  Tensor<float> vectors(std::span<const std::string> words) const;

  ModelFile file() const;
  void save(const std::string& path) const { file().save(path); }

 private:
  WordVectors known_;
  std::vector<std::u32string> spellings_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <limits>
#include <utility>

#include "lexformer/core/parallel.hpp"
#include "lexformer/text/similarity.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/words/substrings.hpp"
#include "lexformer/words/word_model.hpp"

namespace lexformer {

namespace detail {
LEXFORMER_INLINE WordVectors read_edit_distance(const ModelFile& file) {
  read_word_model(file, "edit_distance", [](OptionVisitor&) {});
  return WordVectors(require_vocabulary(file, "lexformer.words").tokens(), file.tensors.get<float>("edit_distance.vectors"), true,
                     file.path, ErrorKind::file);
}
LEXFORMER_INLINE std::u32string spelling(std::string_view word) { return to_utf32(lower_case(word)).substr(0, Substrings::max_characters); }
}  // namespace detail

LEXFORMER_INLINE EditDistance::EditDistance(WordVectors known) : known_(std::move(known)) {
  if (known_.size() == 0) fail("EditDistance", "there are no known words");
  for (const std::string& word : known_.words()) spellings_.push_back(detail::spelling(word));
}
LEXFORMER_INLINE EditDistance::EditDistance(const ModelFile& file) : EditDistance(detail::read_edit_distance(file)) {}

LEXFORMER_INLINE std::size_t EditDistance::nearest(std::string_view word) const {
  if (const auto row = known_.find(lower_case(word))) return *row;
  const std::u32string text = detail::spelling(word);
  std::size_t best = 0, least = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < spellings_.size(); ++i) {
    const std::size_t a = text.size(), b = spellings_[i].size();
    if (std::max(a, b) - std::min(a, b) >= least) continue;  // the distance is at least the difference
    const std::size_t distance = edit_distance(text, spellings_[i], least);
    if (distance >= least) continue;
    best = i;
    least = distance;
  }
  return best;
}

LEXFORMER_INLINE Tensor<float> EditDistance::vectors(std::span<const std::string> words) const {
  const std::size_t d = known_.dimension();
  Tensor<float> all({words.size(), d});
  float* const out = all.mutable_data();
  parallel_for(words.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = known_.row(nearest(words[i]));
      std::copy(row.begin(), row.end(), out + i * d);
    }
  });
  return all;
}

LEXFORMER_INLINE ModelFile EditDistance::file() const {
  ModelFile out;
  detail::write_word_model(out, "edit_distance", [](OptionVisitor&) {});
  write_vocabulary(Vocabulary(known_.words()), "lexformer.words", out.metadata);
  out.tensors.set("edit_distance.vectors", known_.values());
  return out;
}

}  // namespace lexformer
#endif
