// SPDX-License-Identifier: MIT
// DDRP, decoupled directional relative position encoding (Zhang et al., "Better Pre-Training by Reducing Representation Confusion",
// arXiv 2210.04246, section 3.1). The vector of a relative position is the product of a direction vector and a distance vector:
//   A_ij = Q_i (K_j + K^d_ij)^T / sqrt(d)                                               (eq. 9)
//   K^d_ij = D_rho(i,j) * K^rd_delta(i,j), elementwise                                  (eq. 10)
//   rho(i,j) = 0 if i = j, 1 if i < j (the key is to the right), 2 if i > j             (eq. 11)
//   delta(i,j) = |clip(i - j)|                                                          (eq. 12)
//
//   paper      here
//   A          the scores before softmax, ops/attention.hpp
//   D          Ddrp::direction (3, d)
//   K^rd       Ddrp::distance (r_s, d)
//   r_s        DdrpOptions::size, 64
//   d          the size of a head (64 in BERT-base)
//
// Open points and misprints of the paper:
//   * Eq. 9 and 10 print K^d with the index delta alone; it depends on rho as well.
//   * clip() has no bounds in the paper; here they are -(r_s - 1) and r_s - 1, so that K^rd has r_s rows, as printed. It applies to
//     delta; rho reads i - j.
//   * Sharing: section 5.4 counts 0.0043M parameters. These are 4288 = (3 + 64) * 64, one pair of tables for all heads and layers.
//   * Initial values: K^rd is N(0, initializer_range^2), 0.02 by default. D is 1, so that the direction has no effect at first, or as K^rd
//     (random_direction).
//   * There are no absolute position embeddings beside DDRP, unless the config has position_embeddings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "lexformer/attention/relative.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/index.hpp"

namespace lexformer {

struct DdrpOptions {
  std::size_t size = 64;          // r_s
  bool per_layer = false;         // tables for each layer, not one pair for all
  bool random_direction = false;  // D starts from N(0, 0.02^2), not with 1

  void visit(OptionVisitor& v) {
    v.size("size", size, 1, 65536, "rows of the distance table, r_s");
    v.flag("per_layer", per_layer, "tables for each layer");
    v.flag("random_direction", random_direction, "initialise the directions from N(0, 0.02^2), not with 1");
  }
};

/// A_ij += q_i . K^d_ij / sqrt(d).   The rows K^d of all i - j are computed once for each forward pass; attention reads them like
/// the table of any relative position scheme (ScoreTerms::relatives).
template <class T = float, class Dev = Cpu>
struct Ddrp final : AttentionTerm<T, Dev> {
  Var<T, Dev> direction, distance;  // D (3, d), K^rd (r_s, d)

  Ddrp(const DdrpOptions& o, std::size_t head_size, Init& init)
      : direction(o.random_direction ? init.normal<T, Dev>({3, head_size}) : init.constant<T, Dev>({3, head_size}, T{1})),
        distance(init.normal<T, Dev>({o.size, head_size})) {}

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    out.claim_positions("ddrp");
    const auto size = static_cast<std::int32_t>(distance.dim(0)), longest = static_cast<std::int32_t>(in.batch.offsets.longest());
    // i - j is clipped to +-reach: r_s - 1, at least 1 for the directions, and not more than the batch needs.
    const std::int32_t reach = std::min(std::max(size, 2), longest) - 1;
    std::vector<std::int32_t> rho, delta;
    for (std::int32_t x = -reach; x <= reach; ++x) {  // x = i - j
      rho.push_back(x == 0 ? 0 : x < 0 ? 1 : 2);
      delta.push_back(std::min(std::abs(x), size - 1));
    }
    const auto k_d = multiply(embedding(direction, rho), embedding(distance, delta));  // (2 reach + 1, d)
    const auto row_of = [reach](std::int32_t x) { return std::clamp(x, -reach, reach) + reach; };
    out.relatives.push_back({.table = reshape(k_d, {1, k_d.dim(0), k_d.dim(1)}),
                             .bucket = distance_buckets(in.batch.offsets.longest(), row_of),
                             .scale = 1 / std::sqrt(static_cast<accumulate_t<T>>(k_d.dim(1)))});
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
  void visit(OptionVisitor& v) override { options_.visit(v); }
  double weights(const EncoderSizes& sizes) const override {
    return static_cast<double>((options_.per_layer ? sizes.layers : 1) * (options_.size + 3)) * static_cast<double>(sizes.head_size());
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init& init, DropoutSites&) override {
    return this->place(options_.per_layer, sizes,
                       [&](std::size_t) { return std::make_shared<Ddrp<T, Dev>>(options_, sizes.head_size(), init); });
  }

 private:
  DdrpOptions options_;
};

}  // namespace lexformer
