// SPDX-License-Identifier: MIT
// lexformer::compiled: models behind Scorer, TextEncoder and WordTagger.
#define LEXFORMER_COMPILED
#include "lexformer/models/open_scorer.hpp"
#include "lexformer/models/text_encoder.hpp"
#include "lexformer/models/word_tagger.hpp"

namespace lexformer::detail {
LEXFORMER_SCORER(, float, Cpu)
LEXFORMER_SCORER(, bfloat16, Cpu)
LEXFORMER_TEXT_ENCODER(, float, Cpu)
LEXFORMER_TEXT_ENCODER(, bfloat16, Cpu)
LEXFORMER_TAGGER(, float, Cpu)
LEXFORMER_TAGGER(, bfloat16, Cpu)
}  // namespace lexformer::detail
