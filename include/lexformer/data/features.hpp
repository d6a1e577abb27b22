// SPDX-License-Identifier: MIT
// Named inputs of a batch that are computed from the encodings of its examples.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/data/batch.hpp"
#include "lexformer/text/lexical.hpp"
#include "lexformer/text/wordpiece.hpp"

namespace lexformer {

/// Computes features from encodings, given in batch order, and adds them to their batch.
using FeatureMaker = std::function<void(std::span<const Encoding>, Batch&)>;

/// Makes the word similarities of each pair of tokens as codes (text/lexical.hpp), under a name in Batch::features.
/// Each encoding is processed independently, so the number of threads does not affect the result.
FeatureMaker lexical_feature(const LexicalOptions& options, std::string name = "lexical");

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE FeatureMaker lexical_feature(const LexicalOptions& options, std::string name) {
  return [options, name = std::move(name)](std::span<const Encoding> encodings, Batch& batch) {
    std::vector<LexicalMatrix> matrices(encodings.size());
    parallel_for(encodings.size(), 1, [&](std::size_t i, std::size_t) { matrices[i] = lexical_matrix(encodings[i], options); });
    LexicalBatch merged = merge(matrices);
    batch.features[name] = {Per::pair, Codes{std::move(merged.code), std::move(merged.level)}};
  };
}

}  // namespace lexformer
#endif
