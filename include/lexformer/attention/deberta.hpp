// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "lexformer/attention/multi_head.hpp"
#include "lexformer/attention/relative.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/nn/weight_cache.hpp"
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

struct DebertaOptions {
  std::size_t size = 0, buckets = 0, max_distance = 0;  // buckets 0: one row for each distance, clipped
  bool shared = false, norm = false, c2p = true, p2c = true;

  void visit(OptionVisitor& v) {
    v.size("size", size, 0, 65536, "half the rows of the table; 0 = the number of buckets, or 64 without them");
    v.size("buckets", buckets, 0, 65536, "logarithmic buckets; 0 = a row for each distance");
    v.size("max_distance", max_distance, 0, 1u << 20, "distance of the last bucket; 0 = max_position_embeddings");
    v.flag("shared", shared, "take the layer's own projections for key and query, and dropout of the table, as DeBERTa-v2 and v3");
    v.flag("norm", norm, "apply LayerNorm to the table");
    v.flag("c2p", c2p, "content to position: the term q_i . kr");
    v.flag("p2c", p2c, "position to content: the term k_j . qr");
  }
};

/// Disentangled attention (He et al. 2021, eq. 4), content-to-position and position-to-content:
///   S_ij = (q_i . k_j + q_i . kr_x + k_j . qr_x) / sqrt(s d),   x = clamp(bucket(i - j) + size, 0, 2 size - 1)
///   kr = P W_kr^T + b_kr,  qr = P W_qr^T + b_qr, split into H heads of size d; P (2 size, D)
/// s is 3, or 2 if one of the two terms is left out. Both terms read row x of i - j, as in the released code; the paper prints delta(j, i)
/// in the last term. Each layer has its own W_kr and W_qr; all layers share P.
/// DeBERTa-v2 and v3: `shared`, W_kr = W_k and W_qr = W_q with their biases; P is dropout(LayerNorm(table)), drawn for each layer.
/// In inference kr and qr of a layer are computed once. Errors: `shared`, and the inputs are of no layer.
template <class T = float, class Dev = Cpu>
struct Deberta final : AttentionTerm<T, Dev> {
  DebertaOptions options;
  Var<T, Dev> table;                           // (2 size, D)
  std::shared_ptr<LayerNorm<T, Dev>> norm;     // null: none
  std::unique_ptr<Linear<T, Dev>> key, query;  // null: the layer has them, or the term is left out
  bool owns_table;                             // true for the term of the first layer, which names table and norm
  double dropout_p;
  std::uint32_t dropout_site = 0;

  Deberta(const DebertaOptions& o, const Var<T, Dev>& p, std::shared_ptr<LayerNorm<T, Dev>> norm_of_p, bool owns, double dropout,
          Init& init, DropoutSites& sites)
      : options(o), table(p), norm(std::move(norm_of_p)), owns_table(owns), dropout_p(o.shared ? dropout : 0) {
    if (o.shared) dropout_site = sites.next();
    if (!o.shared && o.c2p) key = std::make_unique<Linear<T, Dev>>(p.dim(1), p.dim(1), init);
    if (!o.shared && o.p2c) query = std::make_unique<Linear<T, Dev>>(p.dim(1), p.dim(1), init);
  }

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    const NameScope scope("deberta");
    out.claim_positions("deberta");
    if (options.shared && in.layer == nullptr) fail("deberta", "reads the weights of a layer, but there is none");
    const auto size = static_cast<std::int32_t>(table.dim(0) / 2);
    auto rows_met = distance_buckets(in.batch.offsets.longest(), [&](std::int32_t distance) {
      if (options.buckets != 0) distance = deberta_bucket(distance, options.buckets, options.max_distance);
      return std::clamp(distance + size, 0, 2 * size - 1);
    });
    // Training projects only the rows that occur in this batch; the bucket grows with the distance.
    const bool keep = !in.forward.training && !detail::graph_state().recording;
    const std::size_t first = keep ? 0 : static_cast<std::size_t>(rows_met.front());
    const std::size_t last = keep ? table.dim(0) : static_cast<std::size_t>(rows_met.back()) + 1;
    for (auto& b : rows_met) b -= static_cast<std::int32_t>(first);
    const auto make = [&] { return std::make_shared<const Vectors>(vectors(in, first, last)); };
    const auto found = keep ? kept_.of(weights(in), make) : make();
    const std::size_t d = table.dim(1) / in.heads;
    const auto scale = 1 / std::sqrt(static_cast<accumulate_t<T>>((1u + options.c2p + options.p2c) * d));
    out.scale = scale;
    const Indices<std::int32_t, Dev> bucket(rows_met);
    if (options.c2p) out.relatives.push_back({found->key, bucket, false, scale});
    if (options.p2c) out.relatives.push_back({found->query, bucket, true, scale});
  }
  void visit(ParameterVisitor<T, Dev>& v) override {
    if (owns_table) v("table", table);
    if (owns_table && norm) v("norm", *norm);
    if (key) v("key", *key);
    if (query) v("query", *query);
  }

 private:
  struct Vectors {
    Var<T, Dev> key, query;  // kr and qr (H, R, d); undefined: the term is left out
  };
  /// Of rows `first` to `last` - 1 of the table.
  Vectors vectors(const AttentionInputs<T, Dev>& in, std::size_t first, std::size_t last) const {
    const auto mask = in.forward.dropout(dropout_p, dropout_site);
    const auto taken = slice_rows(table, first, last);  // (R, D)
    const auto rows = norm ? (*norm)(taken, mask) : dropout(taken, mask);
    const auto by_head = [&](const Var<T, Dev>& x) {  // (R, D) -> (H, R, d)
      const std::size_t d = x.dim(1) / in.heads;
      std::vector<Var<T, Dev>> parts;
      for (std::size_t h = 0; h < in.heads; ++h) parts.push_back(slice_columns(x, h * d, (h + 1) * d));
      return reshape(concat_rows(parts), {in.heads, x.dim(0), d});
    };
    Vectors v;
    if (options.c2p) v.key = by_head(key ? (*key)(rows) : in.layer->key_of(rows));
    if (options.p2c) v.query = by_head(query ? (*query)(rows) : in.layer->query_of(rows));
    return v;
  }
  /// All that they are made of.
  std::vector<Var<T, Dev>> weights(const AttentionInputs<T, Dev>& in) const {
    std::vector<Var<T, Dev>> all{table};
    if (norm) all.insert(all.end(), {norm->weight, norm->bias});
    for (const auto* of : {options.shared ? &in.layer->key : key.get(), options.shared ? &in.layer->query : query.get()})
      if (of != nullptr) all.insert(all.end(), {of->weight, of->bias});
    return all;
  }

  WeightCache<Vectors, T, Dev> kept_;
};

/// The factory of "deberta" in a config.
template <class T = float, class Dev = Cpu>
class DebertaFactory final : public PositionFactory<T, Dev> {
 public:
  void visit(OptionVisitor& v) override { options_.visit(v); }
  void check(const EncoderSizes& sizes, const std::string& where) override {
    auto& [size, buckets, max_distance, shared, norm, c2p, p2c] = options_;
    if (!c2p && !p2c) fail_file(where, "'c2p' and 'p2c' are both false, so that positions have no effect; set one of them");
    if (max_distance != 0 && buckets == 0)
      fail_file(where, "'max_distance' is the distance of the last bucket, but there are no buckets; also name 'buckets'");
    if (size == 0) size = buckets != 0 ? buckets : 64;
    if (buckets == 0) return;
    if (max_distance == 0) max_distance = std::max<std::size_t>(sizes.max_length, 2);
    if (buckets < 4 || max_distance < buckets / 2 + 2)
      fail_file(where, "'buckets' ", buckets, " and 'max_distance' ", max_distance,
                "; there must be at least 4 buckets, and 'max_distance' above half of it + 1");
  }
  double weights(const EncoderSizes& z) const override {
    const auto width = static_cast<double>(z.width);
    const double of_layer = options_.shared ? 0 : (options_.c2p + options_.p2c) * width * width;
    return 2 * static_cast<double>(options_.size) * width + static_cast<double>(z.layers) * of_layer;
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& z, Init& init, DropoutSites& sites) override {
    const auto table = init.normal<T, Dev>({2 * options_.size, z.width});
    const auto norm = options_.norm ? std::make_shared<LayerNorm<T, Dev>>(z.width, z.layer_norm_eps, init) : nullptr;
    return this->place(true, z, [&](std::size_t layer) {
      return std::make_shared<Deberta<T, Dev>>(options_, table, norm, layer == 0, z.hidden_dropout, init, sites);
    });
  }

 private:
  DebertaOptions options_;
};

}  // namespace lexformer
