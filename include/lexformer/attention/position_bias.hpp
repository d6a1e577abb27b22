// SPDX-License-Identifier: MIT
// Position schemes that add one number per head and distance: T5's buckets and ALiBi. H heads of size d.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "lexformer/attention/relative.hpp"
#include "lexformer/core/options.hpp"

namespace lexformer {

/// T5's bidirectional bucket of a distance (Raffel et al. 2020, with the rule of the released models). Keys to the right use the upper
/// half of the `buckets`. In each half of b = buckets / 2, the first b / 2 buckets hold one distance each; the others grow with the
/// logarithm, and distances from max_distance on get bucket b - 1.
/// The logarithm is computed in float, as in HuggingFace, so that ties round alike.
inline std::int32_t t5_bucket(std::int32_t key_minus_query, std::size_t buckets, std::size_t max_distance) {
  const auto half = static_cast<std::int32_t>(buckets / 2), exact = half / 2;
  const std::int32_t side = key_minus_query > 0 ? half : 0, n = std::abs(key_minus_query);
  if (n < exact) return side + n;
  const float share = std::log(static_cast<float>(n) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  return side + std::min(half - 1, exact + static_cast<std::int32_t>(share * static_cast<float>(half - exact)));
}

/// Whether T5's rule is defined for these values.
inline bool valid_t5_buckets(std::size_t buckets, std::size_t max_distance) {
  return buckets >= 4 && buckets % 2 == 0 && max_distance > buckets / 4;
}
/// Errors: T5's rule is not defined for these values. `where` names the config.
inline void check_t5_buckets(std::size_t buckets, std::size_t max_distance, const std::string& where) {
  if (!valid_t5_buckets(buckets, max_distance))
    fail_file(where, "'buckets' ", buckets, " and 'max_distance' ", max_distance,
              "; there must be an even number of at least 4 buckets, and 'max_distance' above a quarter of it");
}

/// Columns of a (H, buckets) table for select_columns: bucket(j - i) of the cells of an n x n map, row-major.
/// Errors: T5's rule is not defined for these values.
inline std::vector<std::int32_t> t5_buckets(std::size_t n, std::size_t buckets, std::size_t max_distance) {
  if (!valid_t5_buckets(buckets, max_distance))
    fail_usage("t5", "needs an even number of at least 4 buckets and a larger max_distance than a quarter of it, got ", buckets, " and ",
               max_distance);
  const auto of_distance = distance_buckets(n, [=](std::int32_t distance) { return t5_bucket(-distance, buckets, max_distance); });
  std::vector<std::int32_t> cells;
  cells.reserve(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) cells.push_back(of_distance[i + (n - 1) - j]);
  return cells;
}

/// T5's relative position bias:   S_ij = scale q_i . k_j + bias[h, bucket(j - i)],   bias (H, buckets), shared by all layers.
/// scale = 1: T5 does not divide q . k by sqrt(d), because its initialisation accounts for it. `scaled` divides by sqrt(d), for
/// encoders trained that way. The map is computed once per forward pass.
template <class T = float, class Dev = Cpu>
struct T5Bias final : AttentionTerm<T, Dev> {
  Var<T, Dev> bias;  // (H, buckets)
  std::size_t max_distance;
  bool scaled;

  T5Bias(std::size_t heads, std::size_t buckets, std::size_t farthest, bool divide, Init& init)
      : bias(init.normal<T, Dev>({heads, buckets})), max_distance(farthest), scaled(divide) {}

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    out.claim_positions("t5");
    if (!scaled) out.scale = T{1};
    const std::size_t n = in.batch.offsets.longest();
    out.add_position_bias(reshape(select_columns(bias, t5_buckets(n, bias.dim(1), max_distance)), {in.heads, n, n}));
  }
  void visit(ParameterVisitor<T, Dev>& v) override { v("bias", bias); }
};

/// The factory of "t5" in a config.
template <class T = float, class Dev = Cpu>
class T5Factory final : public PositionFactory<T, Dev> {
 public:
  void visit(OptionVisitor& v) override {
    v.size("buckets", buckets_, 0, 65536, "buckets of distances, both directions together");
    v.size("max_distance", max_distance_, 2, 1u << 20, "distance of the last bucket");
    v.flag("scaled", scaled_, "divide q . k by sqrt(d)");
  }
  void check(const EncoderSizes&, const std::string& where) override { check_t5_buckets(buckets_, max_distance_, where); }
  double weights(const EncoderSizes& sizes) const override { return static_cast<double>(sizes.heads * buckets_); }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init& init, DropoutSites&) override {
    return this->place(false, sizes,
                       [&](std::size_t) { return std::make_shared<T5Bias<T, Dev>>(sizes.heads, buckets_, max_distance_, scaled_, init); });
  }

 private:
  std::size_t buckets_ = 32, max_distance_ = 128;
  bool scaled_ = false;
};

/// ALiBi's slopes (Press et al. 2022, section 3): m_h = 2^(-8 h / H), h = 1 ... H, if H is a power of two; otherwise the slopes of the
/// next lower power p, followed by every other slope of 2 p.
inline std::vector<double> alibi_slopes(std::size_t heads) {
  std::size_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (std::size_t h = 1; h <= power; ++h) slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(power)));
  for (std::size_t h = 1; slopes.size() < heads; h += 2)
    slopes.push_back(std::exp2(-4.0 * static_cast<double>(h) / static_cast<double>(power)));
  return slopes;
}

/// Bidirectional ALiBi:   S_ij = q_i . k_j / sqrt(d) - m_h |i - j|.   No parameters.
template <class T = float, class Dev = Cpu>
struct Alibi final : AttentionTerm<T, Dev> {
  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    out.claim_positions("alibi");
    const std::size_t n = in.batch.offsets.longest();
    Tensor<T, Dev> bias({in.heads, n, n});
    const auto slopes = Tensor<double, Dev>::from(alibi_slopes(in.heads), {in.heads});
    Kernels<Dev>::distance_bias(in.heads, n, slopes.data(), bias.mutable_data());
    out.add_position_bias(Var<T, Dev>(bias));
  }
};

/// The factory of "alibi" in a config.
template <class T = float, class Dev = Cpu>
class AlibiFactory final : public PositionFactory<T, Dev> {
 public:
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init&, DropoutSites&) override {
    return this->place(false, sizes, [](std::size_t) { return std::make_shared<Alibi<T, Dev>>(); });
  }
};

}  // namespace lexformer
