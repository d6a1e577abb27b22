// SPDX-License-Identifier: MIT
// Labelled pairs of texts, or single texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/text/tokenizer.hpp"

namespace lexformer {

struct PairExample {
  std::string left, right;          // right: empty for a single text
  std::int32_t label = 0;           // class
  float target = 0.0f;              // value of a regression
  std::vector<std::string> kept{};  // values of the columns in TableOptions::keep, of a table
};

/// "pairs" or "texts": what examples of so many texts are called in messages.
inline const char* examples_name(std::size_t texts) { return texts == 1 ? "texts" : "pairs"; }

std::vector<std::int32_t> labels_of(std::span<const PairExample> examples);

/// Number and checksum of the examples and their labels. A resumed run compares it: its data must be the same.
std::string describe(std::span<const PairExample> examples, std::size_t texts = 2);

/// Encodes the texts of an example in at most max_length tokens: [CLS] left [SEP] right [SEP], or [CLS] left [SEP] if `texts` is 1.
Encoding encode_texts(const Tokenizer& tokenizer, std::string_view left, std::string_view right, std::size_t texts, std::size_t max_length);

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <iomanip>

#include "lexformer/io/file.hpp"

namespace lexformer {

LEXFORMER_INLINE std::vector<std::int32_t> labels_of(std::span<const PairExample> examples) {
  std::vector<std::int32_t> labels;
  for (const PairExample& e : examples) labels.push_back(e.label);
  return labels;
}

LEXFORMER_INLINE std::string describe(std::span<const PairExample> examples, std::size_t texts) {
  std::uint32_t sum = 0;
  for (const PairExample& e : examples)
    for (const std::string& part : {e.left, e.right, cat(e.label), cat(std::setprecision(9), e.target)}) {
      sum = crc32(part, sum);
      sum = crc32(std::string_view("\n", 1), sum);
    }
  return cat(examples.size(), " ", examples_name(texts), ", crc32 ", std::hex, std::setw(8), std::setfill('0'), sum);
}

LEXFORMER_INLINE Encoding encode_texts(const Tokenizer& tokenizer, std::string_view left, std::string_view right, std::size_t texts,
                                       std::size_t max_length) {
  return texts == 1 ? tokenizer.encode(left, max_length) : tokenizer.encode_pair(left, right, max_length);
}

}  // namespace lexformer
#endif
