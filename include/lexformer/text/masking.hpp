// SPDX-License-Identifier: MIT
// Masking for masked language models: whole words, as in BERT (Devlin et al. 2019, section 3.1, and the whole-word option of
// create_pretraining_data.py in google-research/bert).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/text/tokenizer.hpp"

namespace lexformer {

struct MaskingOptions {
  double probability = 0.15;        // share of tokens to predict, relative to all tokens including [CLS] and [SEP]
  std::size_t max_predictions = 0;  // per sequence; 0 = no limit
  std::size_t longest_word = 4;     // in pieces; the pieces of longer words are chosen individually (DDRP, section 4.1)
  double mask_share = 0.8;          // share of the chosen pieces that become [MASK]
  double random_share = 0.1;        // share of the chosen pieces that become a random token; the rest stay unchanged
};

/// A sequence with some of its tokens replaced.
struct MaskedTokens {
  std::vector<std::int32_t> ids;        // of the whole sequence, after masking
  std::vector<std::int32_t> positions;  // of the chosen tokens, ascending
  std::vector<std::int32_t> labels;     // the original ids at these positions
};

/// The random stream of one sequence in one epoch. The masks do not depend on order, batch or thread.
RandomStream masking_stream(std::uint64_t seed, std::uint32_t epoch, std::uint32_t sequence);

/// Chooses and replaces tokens. Calls are const and thread-safe.
class Masker {
 public:
  /// Errors: an option is out of range; the vocabulary has no mask token, or special tokens only.
  explicit Masker(const Tokenizer& tokenizer, const MaskingOptions& options = {});

  const MaskingOptions& options() const { return options_; }
  /// Whether any token can be chosen.
  bool has_candidates(const Encoding& encoding) const { return !candidates(encoding).empty(); }

  /// Masks one sequence: takes words in random order until max(1, round(probability * size)) tokens are chosen. Skips words that would
  /// exceed this number, so in a short sequence of long words possibly nothing is chosen. Never chooses special tokens, including [UNK].
  MaskedTokens operator()(const Encoding& encoding, RandomStream random) const;

 private:
  struct Candidate {
    std::size_t first, pieces;
  };

  bool is_special(const Encoding& e, std::size_t i) const;

  std::vector<Candidate> candidates(const Encoding& e) const;

  MaskingOptions options_;
  std::int32_t mask_ = 0;
  std::vector<bool> special_;           // by id
  std::vector<std::int32_t> ordinary_;  // ids of all other tokens
};

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE Masker::Masker(const Tokenizer& tokenizer, const MaskingOptions& options) : options_(options) {
  const auto share = [](double x) { return x >= 0.0 && x <= 1.0; };
  if (!(options.probability > 0.0 && options.probability <= 1.0))
    fail_usage("Masker", "the share of masked tokens is ", options.probability, ", expected more than 0 and at most 1");
  if (!share(options.mask_share) || !share(options.random_share) || !share(options.mask_share + options.random_share))
    fail_usage("Masker", "mask_share is ", options.mask_share, ", random_share ", options.random_share,
               "; expected shares in [0, 1] with a sum of at most 1");
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  const TokenizerOptions& names = tokenizer.options();
  const auto mask = vocabulary.id(names.mask);
  if (!mask) fail("Masker", "the vocabulary (", vocabulary.size(), " tokens) has no ", in_quotes(names.mask));
  mask_ = *mask;
  special_.assign(vocabulary.size(), false);
  for (const auto& name : {names.unk, names.cls, names.sep, names.pad, names.mask})
    if (const auto id = vocabulary.id(name)) special_[static_cast<std::size_t>(*id)] = true;
  for (std::size_t id = 0; id < vocabulary.size(); ++id)
    if (!special_[id] && !vocabulary.tokens()[id].empty()) ordinary_.push_back(static_cast<std::int32_t>(id));
  if (ordinary_.empty()) fail("Masker", "the vocabulary has special tokens only");
}

LEXFORMER_INLINE MaskedTokens Masker::operator()(const Encoding& encoding, RandomStream random) const {
  auto words = candidates(encoding);
  random.shuffle(words);
  const double wanted = std::nearbyint(options_.probability * static_cast<double>(encoding.size()));
  const std::size_t most = options_.max_predictions > 0 ? options_.max_predictions : std::numeric_limits<std::size_t>::max();
  const std::size_t budget = std::min(most, std::max<std::size_t>(1, static_cast<std::size_t>(wanted)));

  MaskedTokens out;
  out.ids = encoding.ids;
  for (const Candidate& word : words) {
    if (out.positions.size() == budget) break;
    if (out.positions.size() + word.pieces > budget) continue;
    for (std::size_t i = word.first; i < word.first + word.pieces; ++i) {
      out.positions.push_back(static_cast<std::int32_t>(i));
      const double share = random.uniform();
      if (share < options_.mask_share)
        out.ids[i] = mask_;
      else if (share < options_.mask_share + options_.random_share)
        out.ids[i] = ordinary_[static_cast<std::size_t>(random.below(ordinary_.size()))];
    }
  }
  std::sort(out.positions.begin(), out.positions.end());
  for (const std::int32_t i : out.positions) out.labels.push_back(encoding.ids[static_cast<std::size_t>(i)]);
  return out;
}

LEXFORMER_INLINE bool Masker::is_special(const Encoding& e, std::size_t i) const {
  const auto id = static_cast<std::size_t>(e.ids[i]);
  if (id >= special_.size()) fail("Masker", "token ", i, " has the id ", e.ids[i], ", but the vocabulary has ", special_.size(), " tokens");
  return special_[id];
}

LEXFORMER_INLINE std::vector<Masker::Candidate> Masker::candidates(const Encoding& e) const {
  std::vector<Candidate> found;
  for (const Word& word : e.words) {
    std::size_t first = word.first;
    while (first < word.last && is_special(e, first)) ++first;
    if (word.last - first <= options_.longest_word) {
      if (first < word.last) found.push_back({first, word.last - first});
    } else {
      for (std::size_t i = first; i < word.last; ++i) found.push_back({i, 1});
    }
  }
  return found;
}

LEXFORMER_INLINE RandomStream masking_stream(std::uint64_t seed, std::uint32_t epoch, std::uint32_t sequence) {
  return RandomStream(seed, random_site::masking + epoch % 0x1000000u, sequence);
}

}  // namespace lexformer
#endif
