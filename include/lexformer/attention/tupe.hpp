// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "lexformer/attention/position_bias.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/nn/layer_norm.hpp"
#include "lexformer/nn/linear.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

struct TupeOptions {
  std::size_t width = 0, heads = 0, max_length = 512;
  std::size_t buckets = 32, max_distance = 128;  // of the relative part; buckets 0 = without it (TUPE-A, else TUPE-R)
  double layer_norm_eps = 1e-12;
};

/// Transformer with untied positional encoding (TUPE; Ke, He and Liu 2021, sections 3.1 and 3.2):
///   S_ij = q_i . k_j / sqrt(2 d) + (p_i U_q) . (p_j U_k) / sqrt(2 d) + b[h, bucket(j - i)],   p = LayerNorm(table)
/// for H heads of size d and width D = H d.
/// [CLS], the first token, has no position: its scores as a query are one learned number per head, its scores as a key another.
/// As in the released code, these are products of two further rows: (p_0 U_q) . (p_0 U_k) fills row 0, including cell (0, 0), and
/// (p_1 U_q) . (p_1 U_k) fills column 0; the token at position m has row m + 1. In b, column 0 uses the extra last bucket and row 0
/// uses bucket buckets / 2, which no distance falls into.
/// All layers share the sum. It is computed once per forward pass, as the score map of one attention call on p.
template <class T = float, class Dev = Cpu>
struct Tupe final : AttentionTerm<T, Dev> {
  TupeOptions options;
  Var<T, Dev> table;  // (max_length + 1, D)
  LayerNorm<T, Dev> norm;
  Linear<T, Dev> query, key;
  Var<T, Dev> bias;  // (H, buckets + 1)

  Tupe(const TupeOptions& o, Init& init)
      : options(o),
        table(init.normal<T, Dev>({o.max_length + 1, o.width})),
        norm(o.width, o.layer_norm_eps, init),
        query(o.width, o.width, init),
        key(o.width, o.width, init) {
    if (o.buckets != 0) bias = init.normal<T, Dev>({o.heads, o.buckets + 1});
  }

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    const NameScope scope("tupe");
    out.claim_positions("tupe");
    const std::size_t n = in.batch.offsets.longest(), head_size = options.width / options.heads;
    if (n > options.max_length)
      fail("tupe", "a sequence has ", n, " tokens, there are positions for ", options.max_length, "; shorten it (max_length)");
    out.scale = 1 / std::sqrt(static_cast<accumulate_t<T>>(2 * head_size));
    const auto p = norm(slice_rows(table, 0, n + 1));
    // The context of this call is not used, so the keys also serve as values.
    const auto qkk = linear(p, std::vector{query.weight, key.weight, key.weight}, std::vector{query.bias, key.bias, key.bias});
    ScoreTerms<T, Dev> plain;
    plain.scale = out.scale;
    const auto products =
        attention(qkk, Offsets::from_lengths(std::vector<std::size_t>{n + 1}), options.heads, plain, {.attentions = Attentions::scores})
            .attentions;  // (H, (n + 1)^2)
    std::vector<std::int32_t> cells;
    cells.reserve(n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        cells.push_back(static_cast<std::int32_t>(i == 0 ? 0 : j == 0 ? n + 2 : (i + 1) * (n + 1) + j + 1));
    auto sum = select_columns(products, cells);  // (H, n n)
    if (bias.defined()) {
      auto buckets = t5_buckets(n, options.buckets, options.max_distance);
      for (std::size_t i = 0; i < n; ++i) buckets[i * n] = static_cast<std::int32_t>(options.buckets);
      std::fill_n(buckets.begin(), n, static_cast<std::int32_t>(options.buckets / 2));
      sum = add(sum, select_columns(bias, buckets));
    }
    out.add_position_bias(reshape(sum, {options.heads, n, n}));
  }
  void visit(ParameterVisitor<T, Dev>& v) override {
    v("table", table);
    v("norm", norm);
    v("query", query);
    v("key", key);
    if (bias.defined()) v("bias", bias);
  }
};

/// The factory of "tupe" in a config.
template <class T = float, class Dev = Cpu>
class TupeFactory final : public PositionFactory<T, Dev> {
 public:
  void visit(OptionVisitor& v) override {
    v.size("buckets", buckets_, 0, 65536, "buckets of the relative part; 0 = no relative part");
    v.size("max_distance", max_distance_, 2, 1u << 20, "distance of the last bucket");
  }
  void check(const EncoderSizes&, const std::string& where) override {
    if (buckets_ != 0) check_t5_buckets(buckets_, max_distance_, where);
  }
  double weights(const EncoderSizes& z) const override {
    const auto width = static_cast<double>(z.width);
    return static_cast<double>(z.max_length + 1) * width + 2 * width * width + static_cast<double>(z.heads * (buckets_ + 1));
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& z, Init& init, DropoutSites&) override {
    return this->place(false, z, [&](std::size_t) {
      return std::make_shared<Tupe<T, Dev>>(TupeOptions{.width = z.width,
                                                        .heads = z.heads,
                                                        .max_length = z.max_length,
                                                        .buckets = buckets_,
                                                        .max_distance = max_distance_,
                                                        .layer_norm_eps = z.layer_norm_eps},
                                            init);
    });
  }

 private:
  std::size_t buckets_ = 32, max_distance_ = 128;
};

}  // namespace lexformer
