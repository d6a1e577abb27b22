// SPDX-License-Identifier: MIT
// lexformer::compiled: the ops that are slowest to compile.
#define LEXFORMER_COMPILED
#include "lexformer/data/batch.hpp"
#include "lexformer/ops/additive_attention.hpp"
#include "lexformer/ops/attention.hpp"
#include "lexformer/ops/dropout.hpp"
#include "lexformer/ops/feed_forward.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/linear_cross_entropy.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/lstm.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/rotary.hpp"
#include "lexformer/ops/rows.hpp"

#define LEXFORMER_OPS(T)               \
  LEXFORMER_ATTENTION(, T)             \
  LEXFORMER_ADDITIVE_ATTENTION(, T)    \
  LEXFORMER_MATMUL(, T)                \
  LEXFORMER_FEED_FORWARD(, T)          \
  LEXFORMER_ROWS(, T)                  \
  LEXFORMER_DROPOUT(, T)               \
  LEXFORMER_INDEX(, T)                 \
  LEXFORMER_ROTARY(, T)                \
  LEXFORMER_LOSS(, T)                  \
  LEXFORMER_LINEAR_CROSS_ENTROPY(, T)  \
  LEXFORMER_LSTM(, T)                  \
  template struct DeviceBatch<T, Cpu>; \
  template struct detail::GradBox<T, Cpu>;

namespace lexformer {
template class Indices<std::int32_t, Cpu>;
template class Indices<std::size_t, Cpu>;
LEXFORMER_RECORD(, float, float)
LEXFORMER_RECORD(, double, double)
LEXFORMER_RECORD(, bfloat16, bfloat16)
LEXFORMER_RECORD(, bfloat16, float)
LEXFORMER_RECORD(, float, bfloat16)
LEXFORMER_OPS(float)
LEXFORMER_OPS(double)
LEXFORMER_OPS(bfloat16)
}  // namespace lexformer
