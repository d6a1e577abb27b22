// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lexformer/attention/relative.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/nn/linear.hpp"
#include "lexformer/ops/index.hpp"

namespace lexformer {

/// DeBERTa-v2's logarithmic bucket of a distance. A distance up to buckets / 2 has its own bucket; beyond, the bucket grows with the
/// logarithm, and max_distance - 1 gets bucket buckets - 1. The sign is kept.
inline std::int32_t deberta_bucket(std::int32_t distance, std::size_t buckets, std::size_t max_distance) {
  const auto middle = static_cast<std::int32_t>(buckets / 2);
  const std::int32_t n = std::abs(distance);
  if (n <= middle) return distance;
  const double share = std::log(static_cast<double>(n) / middle) / std::log(static_cast<double>(max_distance - 1) / middle);
  const auto step = static_cast<std::int32_t>(std::ceil(share * (middle - 1))) + middle;
  return distance > 0 ? step : -step;
}

/// Disentangled attention (He et al. 2021, eq. 4), content-to-position and position-to-content:
///   S_ij = (q_i . k_j + q_i . kr_x + k_j . qr_x) / sqrt(3 d),   x = clamp(bucket(i - j) + size, 0, 2 size - 1)
///   kr = P W_kr^T + b_kr,  qr = P W_qr^T + b_qr, split into H heads of size d; P (2 size, D)
/// Both terms read row x of i - j, as in the released code; the paper prints delta(j, i) in the last term.
/// Each layer has its own W_kr and W_qr; all layers share P.
template <class T = float, class Dev = Cpu>
struct Deberta final : AttentionTerm<T, Dev> {
  Var<T, Dev> table;  // P (2 size, D)
  Linear<T, Dev> key, query;
  std::size_t buckets, max_distance;  // buckets 0: one row for each distance, clipped
  bool owns_table;                    // true for the term of the first layer, which names the table

  Deberta(const Var<T, Dev>& p, bool owns, std::size_t log_buckets, std::size_t farthest, Init& init)
      : table(p),
        key(p.dim(1), p.dim(1), init),
        query(p.dim(1), p.dim(1), init),
        buckets(log_buckets),
        max_distance(farthest),
        owns_table(owns) {}

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    const NameScope scope("deberta");
    out.claim_positions("deberta");
    const std::size_t width = table.dim(1), d = width / in.heads, longest = in.batch.offsets.longest();
    const auto size = static_cast<std::int32_t>(table.dim(0) / 2);
    auto rows_met = distance_buckets(longest, [&](std::int32_t distance) {
      if (buckets != 0) distance = deberta_bucket(distance, buckets, max_distance);
      return std::clamp(distance + size, 0, 2 * size - 1);
    });
    // Projects only the rows that occur in this batch; the bucket grows with the distance.
    const auto first = static_cast<std::size_t>(rows_met.front()), last = static_cast<std::size_t>(rows_met.back()) + 1;
    for (auto& b : rows_met) b -= static_cast<std::int32_t>(first);
    const auto rows = slice_rows(table, first, last);  // (R, D)
    const auto by_head = [&](const Var<T, Dev>& x) {   // (R, D) -> (H, R, d)
      std::vector<Var<T, Dev>> parts;
      for (std::size_t h = 0; h < in.heads; ++h) parts.push_back(slice_columns(x, h * d, (h + 1) * d));
      return reshape(concat_rows(parts), {in.heads, x.dim(0), d});
    };
    const auto scale = 1 / std::sqrt(static_cast<accumulate_t<T>>(3 * d));
    out.scale = scale;
    const Indices<std::int32_t, Dev> bucket(rows_met);
    out.relatives.push_back({by_head(key(rows)), bucket, false, scale});
    out.relatives.push_back({by_head(query(rows)), bucket, true, scale});
  }
  void visit(ParameterVisitor<T, Dev>& v) override {
    if (owns_table) v("table", table);
    v("key", key);
    v("query", query);
  }
};

/// The factory of "deberta" in a config.
template <class T = float, class Dev = Cpu>
class DebertaFactory final : public PositionFactory<T, Dev> {
 public:
  void visit(OptionVisitor& v) override {
    v.size("size", size_, 0, 65536, "half the rows of the table; 0 = the number of buckets, or 64 without them");
    v.size("buckets", buckets_, 0, 65536, "logarithmic buckets; 0 = a row for each distance");
    v.size("max_distance", max_distance_, 0, 1u << 20, "distance of the last bucket; 0 = max_position_embeddings");
  }
  void check(const EncoderSizes& sizes, const std::string& where) override {
    if (max_distance_ != 0 && buckets_ == 0)
      fail_file(where, "'max_distance' is the distance of the last bucket, but there are no buckets; also name 'buckets'");
    if (size_ == 0) size_ = buckets_ != 0 ? buckets_ : 64;
    if (buckets_ == 0) return;
    if (max_distance_ == 0) max_distance_ = std::max<std::size_t>(sizes.max_length, 2);
    if (buckets_ < 4 || max_distance_ < buckets_ / 2 + 2)
      fail_file(where, "'buckets' ", buckets_, " and 'max_distance' ", max_distance_,
                "; there must be at least 4 buckets, and 'max_distance' above half of it + 1");
  }
  double weights(const EncoderSizes& z) const override {
    const auto width = static_cast<double>(z.width);
    return 2 * static_cast<double>(size_) * width + static_cast<double>(z.layers) * 2 * width * width;
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& z, Init& init, DropoutSites&) override {
    const auto table = init.normal<T, Dev>({2 * size_, z.width});
    return this->place(
        true, z, [&](std::size_t layer) { return std::make_shared<Deberta<T, Dev>>(table, layer == 0, buckets_, max_distance_, init); });
  }

 private:
  std::size_t size_ = 0, buckets_ = 0, max_distance_ = 0;
};

}  // namespace lexformer
