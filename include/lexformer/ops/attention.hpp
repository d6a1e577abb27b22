// SPDX-License-Identifier: MIT
// Attention with structured terms. For every sequence and head, with n its length and d = D / H:
//
//   S_ij = (scale q_i . k_j + relative_ij) gate_ij + bias_ij      P = softmax_j(S)      O = dropout(P) V
//
// The terms are data: a variant (LEA, DDRP, T5, ...) makes the tensors below with ordinary ops, and this op returns the
// gradient of each. attention_reference.hpp holds the same in plain loops.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "lexformer/autograd/var.hpp"
#include "lexformer/kernels/attention_cpu.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

/// One code per pair of tokens, n x n for each sequence, blocks one after the other; shared by heads and layers.
using PairCodes = std::shared_ptr<const std::vector<std::uint16_t>>;

/// What attention adds to or multiplies with q . k. Produced by AttentionTerm (attention/term.hpp).
template <class T = float, class Dev = Cpu>
struct ScoreTerms {
  /// bias_ij += table[h, code_ij].    table (H, R), codes P
  struct Lookup {
    Var<T, Dev> table;
    PairCodes codes;
  };
  /// relative_ij += scale x . table[h, bucket(i - j)] with x = q_i, or k_j on the key side (Shaw et al. 2018, DDRP, DeBERTa).
  /// table (1 or H, R, d); bucket[i - j + longest - 1] = row of the table, 2 longest - 1 numbers
  struct Relative {
    Var<T, Dev> table;
    std::vector<std::int32_t> bucket;
    bool key_side = false;
    T scale{1};
  };
  std::vector<Lookup> lookups;
  std::vector<Relative> relatives;
  Var<T, Dev> position_bias;  // bias_ij += position_bias[h, i, j]; (H, n_max, n_max), n_max >= the longest sequence
  Var<T, Dev> gate;           // gate_ij; one value per token pair (P), shared by the heads
  std::optional<T> scale;     // of q . k; 1 / sqrt(d) unless a position scheme owns it
  std::string positions;      // name of the position scheme, of which there is one at the most

  /// For terms that say where tokens stand: two of them would count positions twice, and both would set `scale`.
  void claim_positions(const std::string& name) {
    if (!positions.empty())
      fail("attention", "two position schemes at once, '", positions, "' and '", name, "'; take one (others may be combined with it)");
    positions = name;
  }
  /// Several terms may have a map for positions; they add up.
  void add_position_bias(const Var<T, Dev>& bias) { position_bias = position_bias.defined() ? add(position_bias, bias) : bias; }
};

enum class AttentionMaps { none, scores, probabilities };

struct AttentionOptions {
  DropoutMask dropout{};                     // on the probabilities
  AttentionMaps maps = AttentionMaps::none;  // hand out S, or P before dropout (differentiable)
  std::vector<std::size_t> map_heads{};      // of these heads; empty = all
};

template <class T, class Dev>
struct AttentionResult {
  Var<T, Dev> context;  // (N, D)
  Var<T, Dev> maps;     // (heads asked for, P): row = head, then the n x n blocks; undefined if not asked for
};

namespace detail {

/// Checks every shape and makes the pointers that the kernel reads.
template <class T, class Dev>
AttentionArgs<T> attention_args(const Var<T, Dev>& qkv, const Offsets& offsets, std::size_t heads, const ScoreTerms<T, Dev>& terms,
                                const AttentionOptions& options) {
  if (qkv.shape().rank() != 2 || heads == 0 || qkv.dim(1) % (3 * heads) != 0)
    fail("attention", "qkv must be (N, 3 D) with D divisible by ", heads, " heads, got ", qkv.shape());
  if (qkv.dim(0) != offsets.tokens())
    fail("attention", "qkv has ", qkv.dim(0), " rows but the offsets count ", offsets.tokens(), " tokens");
  if (offsets.sequences() == 0) fail("attention", "the batch is empty");
  AttentionArgs<T> args;
  args.offsets = &offsets;
  args.heads = heads;
  args.width = qkv.dim(1) / 3;
  const std::size_t d = args.width / heads, longest = offsets.longest();
  args.scale = terms.scale ? *terms.scale : T{1} / std::sqrt(static_cast<T>(d));
  args.qkv = qkv.value().data();
  args.dropout = options.dropout;
  args.absolute = options.maps == AttentionMaps::scores;
  for (const auto& l : terms.lookups) {
    if (l.table.shape().rank() != 2 || l.table.dim(0) != heads)
      fail("attention", "a lookup table must be (", heads, ", R), got ", l.table.shape());
    if (!l.codes || l.codes->size() != offsets.pairs())
      fail("attention", "a lookup has ", l.codes ? l.codes->size() : 0, " codes for ", offsets.pairs(), " pairs of tokens");
    for (const std::uint16_t c : *l.codes)
      if (c >= l.table.dim(1)) fail("attention", "code ", c, " has no row in a lookup table ", l.table.shape());
    args.lookups.push_back({l.table.value().data(), l.table.dim(1), l.codes->data()});
  }
  for (const auto& r : terms.relatives) {
    const Shape& t = r.table.shape();
    if (t.rank() != 3 || (t[0] != 1 && t[0] != heads) || t[2] != d)
      fail("attention", "a relative table must be (1 or ", heads, ", R, ", d, "), got ", t);
    if (r.bucket.size() + 1 != 2 * longest)
      fail("attention", "a relative term has ", r.bucket.size(), " buckets; the longest sequence needs ", 2 * longest - 1);
    for (const std::int32_t b : r.bucket)
      if (b < 0 || static_cast<std::size_t>(b) >= t[1]) fail("attention", "bucket ", b, " has no row in a relative table ", t);
    args.relatives.push_back({r.key_side, r.table.value().data(), t[0], t[1], r.bucket.data(), r.scale});
  }
  if (terms.position_bias.defined()) {
    const Shape& b = terms.position_bias.shape();
    if (b.rank() != 3 || b[0] != heads || b[1] != b[2] || b[1] < longest)
      fail("attention", "the position bias must be (", heads, ", n, n) with n at least ", longest, ", got ", b);
    args.position_bias = terms.position_bias.value().data();
    args.bias_length = b[1];
  }
  if (terms.gate.defined()) {
    if (!(terms.gate.shape() == Shape{offsets.pairs()}))
      fail("attention", "the gate must be (", offsets.pairs(), ",), got ", terms.gate.shape());
    args.gate = terms.gate.value().data();
  }
  for (const std::size_t h : options.map_heads) {
    if (h >= heads) fail("attention", "maps of head ", h, " were asked for, but there are ", heads);
    if (std::count(options.map_heads.begin(), options.map_heads.end(), h) != 1)
      fail("attention", "maps of head ", h, " were asked for more than once");
  }
  return args;
}

}  // namespace detail

/// qkv (N, 3D), its columns q | k | v with head h at h d ... (h + 1) d of each -> context (N, D), and maps on request.
/// Scores are never kept: backward makes them again from q, k and the log of each softmax's sum. A sum that sequences
/// share (tables, position bias) is one partial for each chunk of sequences, the partials added in order.
template <class T, class Dev>
AttentionResult<T, Dev> attention(const Var<T, Dev>& qkv, const Offsets& offsets, std::size_t heads, const ScoreTerms<T, Dev>& terms = {},
                                  const AttentionOptions& options = {}) {
  const auto args = detail::attention_args(qkv, offsets, heads, terms, options);
  const std::size_t width = args.width, pairs = offsets.pairs();
  // map_row[h] = row of `maps` that head h fills, or none
  std::vector<std::size_t> map_row(heads, heads);
  std::size_t map_rows = 0;
  if (options.maps != AttentionMaps::none) {
    if (options.map_heads.empty())
      for (std::size_t h = 0; h < heads; ++h) map_row[h] = map_rows++;
    for (const std::size_t h : options.map_heads) map_row[h] = map_rows++;
  }
  Tensor<T, Dev> context({offsets.tokens(), width}), log_sum({offsets.tokens(), heads}), maps({map_rows, pairs});
  T *out = context.mutable_data(), *sums = log_sum.mutable_data(), *map = maps.mutable_data();
  parallel_for(offsets.sequences() * heads, 1, [&](std::size_t unit, std::size_t) {
    const std::size_t s = unit / heads, h = unit % heads, first = offsets.begin(s), n = offsets.length(s);
    detail::AttentionBlock<T> block(args, s, h);
    T* to = map_row[h] < heads ? map + map_row[h] * pairs + offsets.pair_begin(s) : nullptr;
    const T* scores = block.scores();
    if (to != nullptr && options.maps == AttentionMaps::scores) std::copy_n(scores, n * n, to);
    const T* p = block.softmax(sums + first * heads + h);
    if (to != nullptr && options.maps == AttentionMaps::probabilities) std::copy_n(p, n * n, to);
    block.output(out + first * width + h * args.width / heads);
  });

  std::vector<Var<T, Dev>> inputs{qkv, terms.position_bias, terms.gate};
  for (const auto& l : terms.lookups) inputs.push_back(l.table);
  for (const auto& r : terms.relatives) inputs.push_back(r.table);
  std::vector<Saved<T, Dev>> kept;
  std::vector<bool> needed;
  for (const auto& v : inputs) {
    kept.emplace_back(v.defined() ? v.value() : Tensor<T, Dev>());
    needed.push_back(v.requires_grad());
  }
  struct Lists {  // what the raw pointers in `args` point into besides tensors
    std::vector<PairCodes> codes;
    std::vector<std::vector<std::int32_t>> buckets;
  } lists;
  for (const auto& l : terms.lookups) lists.codes.push_back(l.codes);
  for (const auto& r : terms.relatives) lists.buckets.push_back(r.bucket);

  auto backward = [=, kept = std::move(kept), lists = std::move(lists), needed = std::move(needed), args_ = args,
                   log_sum = Saved(log_sum)](const std::vector<Tensor<T, Dev>>& dy) {
    for (const auto& k : kept) *k;  // throws if one was changed
    auto a = args_;
    a.offsets = &offsets;
    for (std::size_t r = 0; r < a.relatives.size(); ++r) a.relatives[r].bucket = lists.buckets[r].data();
    const std::size_t lookups = a.lookups.size(), d = width / heads, sequences = offsets.sequences();
    const T* dcontext = dy[0].defined() ? dy[0].data() : nullptr;
    const T* dmaps = dy.size() > 1 && dy[1].defined() ? dy[1].data() : nullptr;

    std::vector<Tensor<T, Dev>> g(needed.size());
    g[0] = Tensor<T, Dev>(kept[0]->shape());
    if (needed[1]) g[1] = Tensor<T, Dev>::zeros(kept[1]->shape());
    Tensor<T, Dev> dgate;  // of each head, summed below
    if (needed[2]) dgate = Tensor<T, Dev>({heads, pairs});
    // With a position bias a head walks through all sequences in order; else chunks of 4 sequences have partial tables.
    const std::size_t chunk = needed[1] ? sequences : std::min<std::size_t>(4, sequences), chunks = (sequences + chunk - 1) / chunk;
    std::vector<Tensor<T, Dev>> partial(g.size());  // (chunks, H, ...) of lookups, then relatives
    for (std::size_t i = 3; i < g.size(); ++i)
      if (needed[i])
        partial[i] =
            Tensor<T, Dev>::zeros({chunks, heads, i < 3 + lookups ? a.lookups[i - 3].levels : a.relatives[i - 3 - lookups].rows * d});
    AttentionGrads<T> base;
    base.qkv = g[0].mutable_data();
    base.position_bias = needed[1] ? g[1].mutable_data() : nullptr;
    base.gate = needed[2] ? dgate.mutable_data() : nullptr;
    for (std::size_t i = 3; i < g.size(); ++i)
      (i < 3 + lookups ? base.lookups : base.relatives).push_back(needed[i] ? partial[i].mutable_data() : nullptr);

    parallel_for(chunks * heads, 1, [&](std::size_t unit, std::size_t) {
      const std::size_t c = unit / heads, h = unit % heads;
      auto to = base;
      for (std::size_t i = 3; i < g.size(); ++i)
        if (needed[i]) (i < 3 + lookups ? to.lookups[i - 3] : to.relatives[i - 3 - lookups]) += c * (partial[i].size() / chunks);
      for (std::size_t s = c * chunk; s < std::min(sequences, (c + 1) * chunk); ++s) {
        const std::size_t first = offsets.begin(s);
        detail::AttentionBlock<T> block(a, s, h);
        block.scores();
        block.probabilities(log_sum->data() + first * heads + h);
        const T* dmap = dmaps != nullptr && map_row[h] < heads ? dmaps + map_row[h] * pairs + offsets.pair_begin(s) : nullptr;
        block.backward(dcontext == nullptr ? nullptr : dcontext + first * width + h * d, a.absolute ? dmap : nullptr,
                       a.absolute ? nullptr : dmap, to);
      }
    });

    if (needed[2]) {
      g[2] = Tensor<T, Dev>({pairs});
      Kernels<Dev>::column_sum(heads, pairs, dgate.data(), pairs, g[2].mutable_data());
    }
    for (std::size_t i = 3; i < g.size(); ++i) {
      if (!needed[i]) continue;
      g[i] = Tensor<T, Dev>(kept[i]->shape());
      // A table shared by the heads sums over them too.
      const std::size_t parts = partial[i].size() / g[i].size();
      Kernels<Dev>::column_sum(parts, g[i].size(), partial[i].data(), g[i].size(), g[i].mutable_data());
    }
    return g;
  };
  std::vector<Tensor<T, Dev>> outputs{context};
  if (map_rows > 0) outputs.push_back(maps);
  const auto result = record_all("attention", std::move(outputs), inputs, std::move(backward));
  return {result[0], map_rows > 0 ? result[1] : Var<T, Dev>{}};
}

}  // namespace lexformer
