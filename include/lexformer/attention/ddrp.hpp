// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "lexformer/attention/relative.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/index.hpp"

namespace lexformer {

/// Decoupled directional relative positions ("DDRP" of "Improving BERT with token and head similarity ...", arXiv 2210.04246,
/// eq. 9 to 12). The vector of a distance is the product of a direction vector and a distance vector:
///   S_ij = q_i . (k_j + K_ij) / sqrt(d),   K_ij = direction[rho] * distance[delta]   (elementwise)
///   rho = 0 if i = j, 1 if the key is to the right (i < j), 2 if it is to the left;   delta = min(|i - j|, size - 1)
/// direction (3, d), distance (size, d). With size = d = 64 these are 4288 parameters, the 0.0043M of the paper's section 5.4;
/// this is the count of ONE pair of tables, shared by all heads and layers. The vectors of all distances (at most 2 size - 1 rows)
/// are computed once per forward pass and read by attention like any relative table.
/// Initialisation: direction = 1 (no effect of the direction; the paper states none), or N(0, 0.02^2) with `random_direction`.
template <class T = float, class Dev = Cpu>
struct Ddrp final : AttentionTerm<T, Dev> {
  Var<T, Dev> direction, distance;  // (3, d), (size, d)

  Ddrp(std::size_t size, std::size_t head_size, bool random_direction, Init& init)
      : direction(random_direction ? init.normal<T, Dev>({3, head_size}) : init.constant<T, Dev>({3, head_size}, T{1})),
        distance(init.normal<T, Dev>({size, head_size})) {}

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    out.claim_positions("ddrp");
    const auto size = static_cast<std::int32_t>(distance.dim(0)), longest = static_cast<std::int32_t>(in.batch.offsets.longest());
    const std::int32_t reach = std::min(std::max(size, 2), longest) - 1;  // larger distances repeat the last row
    std::vector<std::int32_t> rho, delta;
    for (std::int32_t x = -reach; x <= reach; ++x) {  // x = i - j
      rho.push_back(x == 0 ? 0 : x < 0 ? 1 : 2);
      delta.push_back(std::min(std::abs(x), size - 1));
    }
    const auto table = multiply(embedding(direction, rho), embedding(distance, delta));  // (2 reach + 1, d)
    out.relatives.push_back(
        {reshape(table, {1, table.dim(0), table.dim(1)}),
         distance_buckets(in.batch.offsets.longest(), [=](std::int32_t x) { return std::clamp(x, -reach, reach) + reach; }), false,
         1 / std::sqrt(static_cast<accumulate_t<T>>(table.dim(1)))});
  }
  void visit(ParameterVisitor<T, Dev>& v) override {
    v("direction", direction);
    v("distance", distance);
  }
};

/// The factory of "ddrp" in a config.
template <class T = float, class Dev = Cpu>
class DdrpFactory final : public PositionFactory<T, Dev> {
 public:
  void visit(OptionVisitor& v) override {
    v.size("size", size_, 1, 65536, "rows of the distance table, r_s");
    v.flag("per_layer", per_layer_, "tables for each layer");
    v.flag("random_direction", random_direction_, "initialise the directions from N(0, 0.02^2), not with 1");
  }
  double weights(const EncoderSizes& sizes) const override {
    return static_cast<double>((per_layer_ ? sizes.layers : 1) * (size_ + 3)) * static_cast<double>(sizes.head_size());
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init& init, DropoutSites&) override {
    return this->place(per_layer_, sizes,
                       [&](std::size_t) { return std::make_shared<Ddrp<T, Dev>>(size_, sizes.head_size(), random_direction_, init); });
  }

 private:
  std::size_t size_ = 64;
  bool per_layer_ = false, random_direction_ = false;
};

}  // namespace lexformer
