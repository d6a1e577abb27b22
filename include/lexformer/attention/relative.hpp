// SPDX-License-Identifier: MIT
// Relative positions as vectors added to the keys: one table row per distance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/term_factory.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/ops/index.hpp"

namespace lexformer {

/// Base of the factories of position schemes: parameter names, and terms for all layers or for each layer.
template <class T = float, class Dev = Cpu>
class PositionFactory : public TermFactory<T, Dev> {
 public:
  bool positions() const final { return true; }
  std::string path(const std::string&, std::optional<std::size_t> layer) const override {
    return TermFactory<T, Dev>::path("positions", layer);
  }

 protected:
  /// Calls make_term(layer) for each layer, or once for all layers.
  template <class F>
  static std::vector<PlacedTerm<T, Dev>> place(bool per_layer, const EncoderSizes& sizes, F&& make_term) {
    std::vector<PlacedTerm<T, Dev>> terms;
    if (!per_layer) terms.push_back({std::nullopt, make_term(std::size_t{0})});
    for (std::size_t i = 0; per_layer && i < sizes.layers; ++i) terms.push_back({i, make_term(i)});
    return terms;
  }
};

/// Returns the list for ScoreTerms::Relative::bucket: row_of(i - j) for the distances -(longest - 1) ... longest - 1.
/// Errors: longest is 0.
template <class F>
std::vector<std::int32_t> distance_buckets(std::size_t longest, F&& row_of) {
  if (longest == 0) fail("attention", "the batch is empty");
  const auto n = static_cast<std::int32_t>(longest);
  std::vector<std::int32_t> rows;
  rows.reserve(2 * longest - 1);
  for (std::int32_t distance = 1 - n; distance < n; ++distance) rows.push_back(row_of(distance));
  return rows;
}

enum class RelativeTable { shaw, bert_r, relative_key, relative_key_query };
template <>
inline constexpr Named<RelativeTable> names_of<RelativeTable>[] = {{"shaw", RelativeTable::shaw},
                                                                   {"bert_r", RelativeTable::bert_r},
                                                                   {"relative_key", RelativeTable::relative_key},
                                                                   {"relative_key_query", RelativeTable::relative_key_query}};

/// Whether the table is one of HuggingFace's BERT, over the distances i - j and under HuggingFace's name.
inline bool is_huggingface(RelativeTable kind) { return kind == RelativeTable::relative_key || kind == RelativeTable::relative_key_query; }

/// Relative keys: adds q . table[distance], and also k . table[distance] for relative_key_query. The heads share the table (R, d):
///   S_ij = (q_i . k_j + q_i . table_ij [+ k_j . table_ij]) / sqrt(d),   d: the size of a head
///   shaw                (Shaw et al. 2018, eq. 3 and 4, key side): table_ij = table[clip(j - i, -size, size) + size], R = 2 size + 1.
///                       Shaw's second table, added to the values, is left out, so that all variants differ only in their scores;
///                       it brings no gain in Shaw's Table 3
///   bert_r              (DDRP paper, eq. 4 and 5): table[clip(i - j, -(size - 1), size - 1) + size], R = 2 size, row 0 unused
///   relative_key(_query)  HuggingFace's BERT: table[i - j + size - 1], R = 2 size - 1, size = max_position_embeddings, no clipping
/// Errors: for relative_key(_query), a sequence is longer than `size`.
template <class T = float, class Dev = Cpu>
struct RelativeKey final : AttentionTerm<T, Dev> {
  RelativeTable kind;
  std::size_t size;
  Var<T, Dev> table;  // (R, d)

  RelativeKey(RelativeTable k, std::size_t n, std::size_t head_size, Init& init)
      : kind(k),
        size(n),
        table(init.normal<T, Dev>({k == RelativeTable::shaw     ? 2 * n + 1
                                   : k == RelativeTable::bert_r ? 2 * n
                                                                : 2 * n - 1,
                                   head_size})) {}

  void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const override {
    out.claim_positions(name_of(kind));
    const auto n = static_cast<std::int32_t>(size);
    if (is_huggingface(kind) && in.batch.offsets.longest() > size)
      fail(name_of(kind), "a sequence has ", in.batch.offsets.longest(), " tokens, the table is for ", size, "; shorten it (max_length)");
    const Indices<std::int32_t, Dev> buckets(distance_buckets(in.batch.offsets.longest(), [&](std::int32_t distance) {
      if (kind == RelativeTable::shaw) return std::clamp(-distance, -n, n) + n;
      if (kind == RelativeTable::bert_r) return std::clamp(distance, 1 - n, n - 1) + n;
      return distance + n - 1;
    }));
    const auto shared = reshape(table, {1, table.dim(0), table.dim(1)});
    const auto scale = 1 / std::sqrt(static_cast<accumulate_t<T>>(table.dim(1)));
    if (kind == RelativeTable::relative_key_query) out.relatives.push_back({shared, buckets, true, scale});
    out.relatives.push_back({shared, buckets, false, scale});
  }
  void visit(ParameterVisitor<T, Dev>& v) override { v(is_huggingface(kind) ? "distance_embedding.weight" : "table", table); }
};

/// The factory of "shaw", "bert_r", "relative_key" and "relative_key_query" in a config. HuggingFace's two have no options and one table
/// per layer.
template <class T = float, class Dev = Cpu>
class RelativeFactory final : public PositionFactory<T, Dev> {
 public:
  explicit RelativeFactory(RelativeTable kind) : kind_(kind), per_layer_(kind != RelativeTable::bert_r) {}

  void visit(OptionVisitor& v) override {
    if (!is_huggingface(kind_)) v.size("size", size_, 1, 65536, "largest distance with a row of its own");
    if (kind_ == RelativeTable::bert_r) v.flag("per_layer", per_layer_, "a table for each layer");
  }
  void check(const EncoderSizes& sizes, const std::string&) override {
    if (is_huggingface(kind_)) size_ = sizes.max_length;
  }
  double weights(const EncoderSizes& sizes) const override {
    return static_cast<double>((per_layer_ ? sizes.layers : 1) * (2 * size_ + 1)) * static_cast<double>(sizes.head_size());
  }
  std::vector<PlacedTerm<T, Dev>> make(const EncoderSizes& sizes, Init& init, DropoutSites&) override {
    return this->place(per_layer_, sizes,
                       [&](std::size_t) { return std::make_shared<RelativeKey<T, Dev>>(kind_, size_, sizes.head_size(), init); });
  }
  std::string path(const std::string& name, std::optional<std::size_t> layer) const override {
    return is_huggingface(kind_) ? cat("encoder.layer.", *layer, ".attention.self") : PositionFactory<T, Dev>::path(name, layer);
  }

 private:
  RelativeTable kind_;
  std::size_t size_ = 64;
  bool per_layer_;
};

}  // namespace lexformer
