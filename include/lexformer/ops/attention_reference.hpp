// SPDX-License-Identifier: MIT
// The definition of attention in plain loops: for reading, and the reference that the kernels are tested against.
#pragma once

#include <limits>

#include "lexformer/ops/attention.hpp"

namespace lexformer {

template <class T>
struct AttentionReference {
  Tensor<T> context, scores, probabilities;  // (N, D), (H, P), (H, P)
};

/// Computes attention (ops/attention.hpp) for each sequence s and head h:
///   S_ij = (scale q_i . k_j + relative_ij) gate_ij + bias_ij,  P = softmax_j(S),  O = dropout(P) V;
/// S_ij = -inf for a key j that query i does not see.
template <class T>
AttentionReference<T> attention_reference(const Var<T>& qkv, const Offsets& offsets, std::size_t heads, const ScoreTerms<T>& terms = {},
                                          const AttentionOptions& options = {}) {
  const std::size_t D = qkv.dim(1) / 3, d = D / heads, pairs = offsets.pairs();
  const T scale = terms.scale.value_or(T{1} / std::sqrt(static_cast<T>(d)));
  AttentionReference<T> y{Tensor<T>({offsets.tokens(), D}), Tensor<T>({heads, pairs}), Tensor<T>({heads, pairs})};
  T *O = y.context.mutable_data(), *S = y.scores.mutable_data(), *P = y.probabilities.mutable_data();
  for (std::size_t s = 0; s < offsets.sequences(); ++s)
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t n = offsets.length(s);
      const auto x = [&](std::size_t part, std::size_t i, std::size_t e) {
        return qkv.value().at(offsets.begin(s) + i, part * D + h * d + e);
      };
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t row = h * pairs + offsets.pair_begin(s) + i * n, row_of_pairs = offsets.pair_begin(s) + i * n;
        T total = 0;
        for (std::size_t j = 0; j < n; ++j) {
          T score = 0;
          for (std::size_t e = 0; e < d; ++e) score += scale * x(0, i, e) * x(1, j, e);
          for (const auto& r : terms.relatives)
            for (std::size_t e = 0; e < d; ++e)
              score += r.scale * (r.key_side ? x(1, j, e) : x(0, i, e)) *
                       r.table.value().at(r.table.dim(0) == 1 ? 0 : h, r.bucket.data()[i + offsets.longest() - 1 - j], e);
          if (terms.gate.defined()) score *= terms.gate.value().at(row_of_pairs + j);
          for (const auto& l : terms.lookups) score += l.table.value().at(h, l.codes.data()[row_of_pairs + j]);
          if (terms.position_bias.defined()) score += terms.position_bias.value().at(h, i, j);
          if (terms.pair_bias.defined()) {
            const Tensor<T>& b = terms.pair_bias.value();
            score += b.rank() == 1 ? b.at(row_of_pairs + j) : b.at(h, row_of_pairs + j);
          }
          if (!terms.reach.sees(i, j, n)) score = -std::numeric_limits<T>::infinity();
          S[row + j] = score;
          total += std::exp(score);
        }
        for (std::size_t e = 0; e < d; ++e) O[(offsets.begin(s) + i) * D + h * d + e] = 0;
        for (std::size_t j = 0; j < n; ++j) {
          P[row + j] = std::exp(S[row + j]) / total;
          T kept{1};
          if (options.dropout.active()) options.dropout.fill(row + j, 1, &kept);
          for (std::size_t e = 0; e < d; ++e) O[(offsets.begin(s) + i) * D + h * d + e] += P[row + j] * kept * x(2, j, e);
        }
      }
    }
  return y;
}

}  // namespace lexformer
