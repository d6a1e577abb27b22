// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "lexformer/core/names.hpp"

namespace lexformer {

/// How an encoder knows where tokens stand; what each one is stands in attention/positions.hpp and the files that it includes.
enum class PositionScheme { absolute, relative_key, relative_key_query, shaw, bert_r, ddrp, tupe, deberta, t5, alibi, rope };
template <>
inline constexpr auto names_of<PositionScheme> = std::to_array<Named<PositionScheme>>({{"absolute", PositionScheme::absolute},
                                                                                       {"relative_key", PositionScheme::relative_key},
                                                                                       {"relative_key_query",
                                                                                        PositionScheme::relative_key_query},
                                                                                       {"shaw", PositionScheme::shaw},
                                                                                       {"bert_r", PositionScheme::bert_r},
                                                                                       {"ddrp", PositionScheme::ddrp},
                                                                                       {"tupe", PositionScheme::tupe},
                                                                                       {"deberta", PositionScheme::deberta},
                                                                                       {"t5", PositionScheme::t5},
                                                                                       {"alibi", PositionScheme::alibi},
                                                                                       {"rope", PositionScheme::rope}});

/// A table over the distances i - j as HuggingFace's BERT has it, under its name.
inline bool is_huggingface_table(PositionScheme scheme) {
  return scheme == PositionScheme::relative_key || scheme == PositionScheme::relative_key_query;
}

}  // namespace lexformer
