// SPDX-License-Identifier: MIT
// Fixed vectors for any word: given vectors for known words, imputed ones for the others (Chen et al. 2022, section 3).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/words/vectors.hpp"
#include "lexformer/words/word_imputer.hpp"

namespace lexformer {

/// Known words with their vectors, and a model of words for the others. Either may be missing.
class StaticVectors {
 public:
  struct Rows {
    Tensor<float> values;     // (words, D); zeros for a word without a vector
    std::vector<bool> known;  // the word is one of the known words
    std::vector<bool> found;  // the word has a vector
  };

  /// With `impute_known` the known words also get imputed vectors. Errors (usage): there is neither; the two have different sizes.
  StaticVectors(WordVectors known, std::optional<WordImputer> imputer, bool impute_known = false);

  /// D
  std::size_t size() const { return size_; }
  const WordVectors& known() const { return known_; }
  /// The vectors of words, which are compared with the known words as they are. A word with a space is not imputed. Errors: an imputed
  /// vector is not finite.
  Rows rows(std::span<const std::string> words) const;
  /// A description of the vectors, with a checksum: the known ones, whatever completes them; without known ones, the imputer's.
  std::string describe() const;
  /// describe(), and which model imputes the vectors of the other words.
  std::string describe_all() const;

 private:
  WordVectors known_;
  std::optional<WordImputer> imputer_;
  bool impute_known_;
  std::size_t size_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <utility>

namespace lexformer {

LEXFORMER_INLINE StaticVectors::StaticVectors(WordVectors known, std::optional<WordImputer> imputer, bool impute_known)
    : known_(std::move(known)),
      imputer_(std::move(imputer)),
      impute_known_(impute_known && imputer_.has_value()),
      size_(known_.size() > 0 ? known_.dimension()
            : imputer_        ? imputer_->size()
                              : 0) {
  if (size_ == 0) fail_usage("StaticVectors", "there are neither known words nor a model that imputes");
  if (imputer_ && imputer_->size() != size_)
    fail_usage("StaticVectors", "the known vectors have ", size_, " numbers, the imputed ones ", imputer_->size(),
               "; use a model that was trained on vectors of the same size");
}

LEXFORMER_INLINE std::string StaticVectors::describe() const {
  return known_.size() == 0 || impute_known_ ? describe_all() : known_.describe();
}

LEXFORMER_INLINE std::string StaticVectors::describe_all() const {
  if (!imputer_) return known_.describe();
  const std::string of_known = impute_known_ || known_.size() == 0 ? "" : known_.describe();
  return cat(of_known, of_known.empty() ? "" : "; others: ", "imputed vectors of ", size_, " numbers, crc32 of the model ", std::hex,
             std::setw(8), std::setfill('0'), imputer_->checksum());
}

LEXFORMER_INLINE StaticVectors::Rows StaticVectors::rows(std::span<const std::string> words) const {
  const std::size_t n = words.size();
  Rows out{Tensor<float>::zeros({n, size_}), std::vector<bool>(n), std::vector<bool>(n)};
  float* const values = out.values.mutable_data();
  std::vector<std::size_t> missing;
  std::vector<std::string> to_impute;
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = known_.size() > 0 ? known_.find(words[i]) : std::nullopt;
    out.known[i] = row.has_value();
    out.found[i] = row && !impute_known_;
    if (out.found[i]) {
      const auto vector = known_.row(*row);
      std::copy(vector.begin(), vector.end(), values + i * size_);
    } else if (imputer_ && words[i].find(' ') == std::string::npos) {
      missing.push_back(i);
      to_impute.push_back(words[i]);
    }
  }
  if (missing.empty()) return out;
  const auto imputed = imputer_->vectors(to_impute);
  for (std::size_t k = 0; k < missing.size(); ++k) {
    const auto vector = imputed.span().subspan(k * size_, size_);
    if (!std::all_of(vector.begin(), vector.end(), [](float x) { return std::isfinite(x); }))
      fail("StaticVectors", "the imputed vector of ", in_quotes(to_impute[k]), " is not finite; the model is damaged");
    std::copy(vector.begin(), vector.end(), values + missing[k] * size_);
    out.found[missing[k]] = true;
  }
  return out;
}

}  // namespace lexformer
#endif
