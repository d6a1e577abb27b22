// SPDX-License-Identifier: MIT
// Additive attention in plain loops, from the formula.
#pragma once

#include <cmath>
#include <vector>

#include "lexformer/core/ragged.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer::test {

/// y_i = sum_j softmax_j(w_h . tanh(P_j + U_i)) X_j for each sequence and head.
inline Tensor<double> additive_reference(const Tensor<double>& keys, const Tensor<double>& queries, const Tensor<double>& weights,
                                         const Tensor<double>& values, const Offsets& offsets, std::size_t heads) {
  const std::size_t a = keys.dim(1) / heads, d = values.dim(1) / heads;
  Tensor<double> y(values.shape());
  for (std::size_t s = 0; s < offsets.sequences(); ++s)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = offsets.begin(s); i < offsets.begin(s + 1); ++i) {
        std::vector<double> share;
        double total = 0;
        for (std::size_t j = offsets.begin(s); j < offsets.begin(s + 1); ++j) {
          double score = 0;
          for (std::size_t e = 0; e < a; ++e)
            score += weights.at(weights.dim(0) == 1 ? 0 : h, e) * std::tanh(keys.at(j, h * a + e) + queries.at(i, h * a + e));
          share.push_back(std::exp(score));
          total += share.back();
        }
        for (std::size_t e = h * d; e < (h + 1) * d; ++e) {
          double sum = 0;
          for (std::size_t j = 0; j < share.size(); ++j) sum += share[j] / total * values.at(offsets.begin(s) + j, e);
          y.mutable_data()[i * heads * d + e] = sum;
        }
      }
  return y;
}

}  // namespace lexformer::test
