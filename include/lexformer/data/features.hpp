// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>

#include "lexformer/data/pair_dataset.hpp"

namespace lexformer {
using FeatureMaker = std::function<void(std::span<const Encoding>, Batch&)>;
FeatureMaker lexical_feature(const LexicalOptions& options, const std::string& name = "lexical");
Batch make_batch(std::span<const Encoding> encodings, const std::vector<FeatureMaker>& makers);
}  // namespace lexformer
