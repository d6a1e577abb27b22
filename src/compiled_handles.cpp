// SPDX-License-Identifier: MIT
// lexformer::compiled: models behind Scorer, TextEncoder and WordTagger.
#define LEXFORMER_COMPILED
#include "lexformer/models/open_scorer.hpp"
#include "lexformer/models/text_encoder.hpp"
#include "lexformer/models/word_tagger.hpp"

namespace lexformer::detail {
LEXFORMER_INSTANCES_ON(Cpu, LEXFORMER_SCORER, )
LEXFORMER_INSTANCES_ON(Cpu, LEXFORMER_TEXT_ENCODER, )
LEXFORMER_INSTANCES_ON(Cpu, LEXFORMER_TAGGER, )
}  // namespace lexformer::detail
