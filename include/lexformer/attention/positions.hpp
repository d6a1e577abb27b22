// SPDX-License-Identifier: MIT
// The position scheme of an encoder, by name: what "position_embedding_type" of a config may be.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lexformer/attention/ddrp.hpp"
#include "lexformer/attention/deberta.hpp"
#include "lexformer/attention/position_bias.hpp"
#include "lexformer/attention/position_scheme.hpp"
#include "lexformer/attention/relative.hpp"
#include "lexformer/attention/tupe.hpp"

namespace lexformer {

struct PositionOptions {
  PositionScheme scheme = PositionScheme::absolute;
  bool absolute = true;           // the table that is added to the embeddings; off for all other schemes unless asked for
  std::size_t size = 64;          // shaw: k; bert_r, ddrp: r_s; deberta: k, half the rows of its table
  bool per_layer = false;         // bert_r, ddrp: tables of each layer's own; shaw's always are, as in Shaw's code
  bool random_direction = false;  // ddrp
  std::size_t buckets = 0;        // t5, tupe: 32; deberta: logarithmic buckets, 0 = none. tupe: 0 = no relative part
  std::size_t max_distance = 0;   // of the buckets: t5, tupe: 128; deberta: max_position_embeddings
  bool scaled = false;            // t5: divide q . k by sqrt(d)
  double rope_base = 10000;
};

/// Sizes of the encoder that a scheme needs.
struct PositionSizes {
  std::size_t layers = 0, heads = 0, width = 0, max_length = 0;
  double layer_norm_eps = 1e-12;
};

/// How many numbers a scheme's parameters have; in double, so that it cannot overflow.
inline double position_parameters(const PositionOptions& o, const PositionSizes& z) {
  const auto real = [](std::size_t n) { return static_cast<double>(n); };
  const double d = real(z.width) / real(z.heads), layers = real(z.layers), width = real(z.width);
  switch (o.scheme) {
    case PositionScheme::relative_key:
    case PositionScheme::relative_key_query:
      return layers * 2 * real(z.max_length) * d;
    case PositionScheme::shaw:
      return layers * (2 * real(o.size) + 1) * d;
    case PositionScheme::bert_r:
      return (o.per_layer ? layers : 1) * 2 * real(o.size) * d;
    case PositionScheme::ddrp:
      return (o.per_layer ? layers : 1) * (real(o.size) + 3) * d;
    case PositionScheme::tupe:
      return real(z.max_length + 1) * width + 2 * width * width + real(z.heads * (o.buckets + 1));
    case PositionScheme::deberta:
      return 2 * real(o.size) * width + layers * 2 * width * width;
    case PositionScheme::t5:
      return real(z.heads * o.buckets);
    default:
      return 0;
  }
}

template <class T, class Dev>
struct PositionTerm {
  std::optional<std::size_t> layer;  // none: one term for all layers
  std::shared_ptr<AttentionTerm<T, Dev>> term;
};

/// The terms of a scheme; none for absolute positions and for rope, which turns q and k (ops/rotary.hpp).
template <class T, class Dev>
std::vector<PositionTerm<T, Dev>> position_terms(const PositionOptions& o, const PositionSizes& z, Init& init) {
  const std::size_t d = z.width / z.heads;
  std::vector<PositionTerm<T, Dev>> terms;
  const auto add = [&](bool per_layer, auto&& make) {
    if (!per_layer) terms.push_back({{}, make(std::size_t{0})});
    for (std::size_t i = 0; per_layer && i < z.layers; ++i) terms.push_back({i, make(i)});
  };
  switch (o.scheme) {
    case PositionScheme::absolute:
    case PositionScheme::rope:
      break;
    case PositionScheme::relative_key:
    case PositionScheme::relative_key_query:
      add(true, [&](std::size_t) { return std::make_shared<RelativeKey<T, Dev>>(o.scheme, z.max_length, d, init); });
      break;
    case PositionScheme::shaw:
    case PositionScheme::bert_r:
      add(o.per_layer || o.scheme == PositionScheme::shaw,
          [&](std::size_t) { return std::make_shared<RelativeKey<T, Dev>>(o.scheme, o.size, d, init); });
      break;
    case PositionScheme::ddrp:
      add(o.per_layer, [&](std::size_t) { return std::make_shared<Ddrp<T, Dev>>(o.size, d, o.random_direction, init); });
      break;
    case PositionScheme::tupe:
      add(false, [&](std::size_t) {
        return std::make_shared<Tupe<T, Dev>>(TupeOptions{.width = z.width,
                                                          .heads = z.heads,
                                                          .max_length = z.max_length,
                                                          .buckets = o.buckets,
                                                          .max_distance = o.max_distance,
                                                          .layer_norm_eps = z.layer_norm_eps},
                                              init);
      });
      break;
    case PositionScheme::deberta:
      add(true, [&, table = init.normal<T, Dev>({2 * o.size, z.width})](std::size_t layer) {
        return std::make_shared<Deberta<T, Dev>>(table, layer == 0, o.buckets, o.max_distance, init);
      });
      break;
    case PositionScheme::t5:
      add(false, [&](std::size_t) { return std::make_shared<T5Bias<T, Dev>>(z.heads, o.buckets, o.max_distance, o.scaled, init); });
      break;
    case PositionScheme::alibi:
      add(false, [](std::size_t) { return std::make_shared<Alibi<T, Dev>>(); });
      break;
  }
  return terms;
}

}  // namespace lexformer
