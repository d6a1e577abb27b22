// SPDX-License-Identifier: MIT
// Models, ops and the optimizer in bfloat16 from lexformer::compiled. A program that uses bfloat16 includes this header besides
// lexformer.hpp, so that it does not compile them itself.
#pragma once

#include "lexformer/attention/terms.hpp"
#include "lexformer/data/batch.hpp"
#include "lexformer/models/causal_lm.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/encoder.hpp"
#include "lexformer/models/lstm_tagger.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "lexformer/models/sentence_encoder.hpp"
#include "lexformer/models/text_cnn.hpp"
#include "lexformer/models/transformer_tagger.hpp"
#include "lexformer/ops/additive_attention.hpp"
#include "lexformer/ops/attention.hpp"
#include "lexformer/ops/dropout.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/linear_cross_entropy.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/rotary.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/words/love_plug.hpp"

#if defined(LEXFORMER_COMPILED)
namespace lexformer {

extern template struct detail::GradBox<bfloat16, Cpu>;
LEXFORMER_RECORD(extern, bfloat16, bfloat16)
LEXFORMER_RECORD(extern, bfloat16, float)
LEXFORMER_RECORD(extern, float, bfloat16)
LEXFORMER_ATTENTION(extern, bfloat16)
LEXFORMER_ADDITIVE_ATTENTION(extern, bfloat16)
LEXFORMER_MATMUL(extern, bfloat16)
LEXFORMER_FEED_FORWARD(extern, bfloat16)
LEXFORMER_ROWS(extern, bfloat16)
LEXFORMER_DROPOUT(extern, bfloat16)
LEXFORMER_INDEX(extern, bfloat16)
LEXFORMER_ROTARY(extern, bfloat16)
LEXFORMER_LOSS(extern, bfloat16)
LEXFORMER_LINEAR_CROSS_ENTROPY(extern, bfloat16)
extern template TermFactories<bfloat16, Cpu>& attention_terms<bfloat16, Cpu>();
extern template struct DeviceBatch<bfloat16, Cpu>;
extern template struct Transformer<bfloat16, Cpu>;
extern template class Pretrained<bfloat16, Cpu>;
extern template class Encoder<bfloat16, Cpu>;
extern template class CrossEncoder<bfloat16, Cpu>;
extern template class MaskedLm<bfloat16, Cpu>;
extern template class CausalLm<bfloat16, Cpu>;
LEXFORMER_LOVE(extern, bfloat16)
LEXFORMER_TEXT_CNN(extern, bfloat16)
LEXFORMER_SENTENCE_ENCODER(extern, bfloat16)
LEXFORMER_LSTM_TAGGER(extern, bfloat16)
LEXFORMER_BERT_TAGGER(extern, bfloat16)
extern template class AdamWRows<bfloat16>;
extern template class AdamW<bfloat16, Cpu>;
#if defined(LEXFORMER_WITH_CUDA)  // in lexformer::cuda
extern template TermFactories<bfloat16, Cuda>& attention_terms<bfloat16, Cuda>();
extern template class Pretrained<bfloat16, Cuda>;
extern template class Encoder<bfloat16, Cuda>;
extern template class CrossEncoder<bfloat16, Cuda>;
extern template class MaskedLm<bfloat16, Cuda>;
extern template class CausalLm<bfloat16, Cuda>;
#endif

}  // namespace lexformer
#else
namespace lexformer {
inline const bool love_plug_of_bfloat16 = register_love_plug<bfloat16, Cpu>();
}
#endif
