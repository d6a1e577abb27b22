// SPDX-License-Identifier: MIT
// Named inputs of a batch that are computed from the encodings of its examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/data/batch.hpp"

namespace lexformer {

struct Encoding;        // text/encoding.hpp
struct LexicalMatrix;   // text/lexical.hpp
struct LexicalOptions;  // text/lexical.hpp

/// Computes features from encodings, given in batch order, and adds them to their batch.
using FeatureMaker = std::function<void(std::span<const Encoding>, Batch&)>;

/// Makes the word similarities of each pair of tokens as codes (text/lexical.hpp), under a name in Batch::features.
/// Each encoding is processed independently, so the number of threads does not affect the result.
FeatureMaker lexical_feature(const LexicalOptions& options, std::string name = "lexical");

/// The rows of a table of positions that does not begin with the first token's: offset + t for token t. With a padding id, a token with
/// this id has the row offset - 1 and is not counted, as in HuggingFace's RoBERTa. Feature "position_rows".
inline constexpr const char* position_rows = "position_rows";
FeatureMaker position_rows_feature(std::size_t offset, std::optional<std::int32_t> padding_id);

/// The row of the last token of each sequence that is not `padding_id`; without one the last token, and the first one if all are padding,
/// as HuggingFace's GPT2ForSequenceClassification has it. Feature "last_token".
inline constexpr const char* last_token = "last_token";
FeatureMaker last_token_feature(std::optional<std::int32_t> padding_id);

/// Merges the examples of a batch into one table of levels: the distinct levels of all examples, ascending. The codes of
/// all matrices follow each other.
/// With LexicalOptions.levels = n it always has the n levels k / (n - 1), and code k = level k.
/// Errors: a matrix does not have size * size codes, a code is out of range, or there are more than 65,536 distinct levels.
Codes merge(std::span<const LexicalMatrix> matrices);

/// Makes a batch without labels from encodings and adds their features. index: 0, 1, 2, ... Errors: there are no encodings.
Batch make_batch(std::span<const Encoding> encodings, std::span<const FeatureMaker> makers = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
#include "lexformer/core/parallel.hpp"
#include "lexformer/text/encoding.hpp"
#include "lexformer/text/lexical.hpp"

namespace lexformer {

LEXFORMER_INLINE Codes merge(std::span<const LexicalMatrix> matrices) {
  Codes out{{}, {0.0}};
  std::size_t cells = 0;
  for (const LexicalMatrix& matrix : matrices) {
    if (matrix.code.size() != matrix.size * matrix.size)
      fail("lexical merge", "got ", matrix.code.size(), " codes for ", matrix.size, " tokens; expected ", matrix.size * matrix.size);
    out.levels.insert(out.levels.end(), matrix.level.begin(), matrix.level.end());
    cells += matrix.code.size();
  }
  detail::sort_levels(out.levels);
  out.codes.resize(cells);
  auto to = out.codes.begin();
  for (const LexicalMatrix& matrix : matrices) {
    std::vector<std::uint16_t> renamed;
    for (const double level : matrix.level) renamed.push_back(detail::lexical_code(out.levels, level));
    std::uint16_t largest = 0;  // a loop that compilers vectorize, unlike std::max_element
    for (const std::uint16_t code : matrix.code) largest = std::max(largest, code);
    if (!matrix.code.empty() && largest >= renamed.size())
      fail("lexical merge", "code ", largest, " is out of range; the example has ", renamed.size(), " levels");
    to = std::transform(matrix.code.begin(), matrix.code.end(), to, [&](std::uint16_t code) { return renamed[code]; });
  }
  return out;
}

LEXFORMER_INLINE FeatureMaker lexical_feature(const LexicalOptions& options, std::string name) {
  return [options, name = std::move(name)](std::span<const Encoding> encodings, Batch& batch) {
    std::vector<LexicalMatrix> matrices(encodings.size());
    parallel_for(encodings.size(), 1, [&](std::size_t i, std::size_t) { matrices[i] = lexical_matrix(encodings[i], options); });
    batch.features[name] = {Per::pair, merge(matrices)};
  };
}

LEXFORMER_INLINE FeatureMaker position_rows_feature(std::size_t offset, std::optional<std::int32_t> padding_id) {
  return [first = static_cast<std::int32_t>(offset), padding_id](std::span<const Encoding> encodings, Batch& batch) {
    std::vector<std::int32_t> rows;
    rows.reserve(batch.ids.size());
    for (const Encoding& e : encodings) {
      std::int32_t next = first;
      for (const std::int32_t id : e.ids) rows.push_back(padding_id && id == *padding_id ? first - 1 : next++);
    }
    batch.features[position_rows] = {Per::token, std::move(rows)};
  };
}

LEXFORMER_INLINE FeatureMaker last_token_feature(std::optional<std::int32_t> padding_id) {
  return [padding_id](std::span<const Encoding> encodings, Batch& batch) {
    std::vector<std::int32_t> rows;
    for (std::size_t s = 0; s < encodings.size(); ++s) {
      const auto& ids = encodings[s].ids;
      std::size_t last = ids.size() - 1;
      while (padding_id && last > 0 && ids[last] == *padding_id) --last;
      rows.push_back(static_cast<std::int32_t>(batch.offsets.begin(s) + last));
    }
    batch.features[last_token] = {Per::example, std::move(rows)};
  };
}

LEXFORMER_INLINE Batch make_batch(std::span<const Encoding> encodings, std::span<const FeatureMaker> makers) {
  if (encodings.empty()) fail("make_batch", "there are no encodings");
  Batch batch;
  std::vector<std::size_t> lengths;
  for (const Encoding& e : encodings) {
    batch.index.push_back(lengths.size());
    lengths.push_back(e.size());
    batch.ids.insert(batch.ids.end(), e.ids.begin(), e.ids.end());
    batch.type_ids.insert(batch.type_ids.end(), e.type_ids.begin(), e.type_ids.end());
    batch.word_ids.insert(batch.word_ids.end(), e.word_ids.begin(), e.word_ids.end());
    for (std::size_t i = 0; i < e.size(); ++i) batch.position_ids.push_back(static_cast<std::int32_t>(i));
  }
  batch.offsets = Offsets::from_lengths(lengths);
  for (const FeatureMaker& add_features : makers) add_features(encodings, batch);
  return batch;
}

}  // namespace lexformer
#endif
