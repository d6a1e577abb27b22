// SPDX-License-Identifier: MIT
// Attention with structured terms, for a batch of N tokens with H heads. For each sequence (n tokens, n x n token pairs, P in the batch)
// and each head (width d = D / H):
//
//   S_ij = (scale q_i . k_j + relative_ij) gate_ij + bias_ij      P = softmax_j(S)      O = dropout(P) V
//
// where bias_ij is the sum of the lookups, the position bias and the pair bias. For a key j that query i does not see (reach), S_ij = -inf:
// P_ij is 0, no term has a gradient from it, and kernels skip what no query of a block sees.
// Terms are data: a variant (LEA, DDRP, T5, ...) builds the tensors below with ordinary ops, and this op returns a gradient
// for each of them. attention_reference.hpp implements the same formula in plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/indices.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

/// The terms that modify the attention scores q . k. Built by AttentionTerm (attention/term.hpp).
template <class T = float, class Dev = Cpu>
struct ScoreTerms {
  /// Adds a value looked up by a code: bias_ij += table[h, code_ij].
  ///   table (H, R); codes (P), n x n for each sequence, shared by heads and layers
  struct Lookup {
    Var<T, Dev> table;
    Indices<std::uint16_t, Dev> codes;
  };
  /// Adds a relative position term (Shaw et al. 2018, DDRP, DeBERTa): relative_ij += scale x . table[h, bucket(i - j)],
  /// where x = q_i, or k_j if key_side.
  ///   table (1 or H, R, d); bucket[i - j + longest - 1] is a row of the table (2 longest - 1 entries)
  struct Relative {
    Var<T, Dev> table;
    Indices<std::int32_t, Dev> bucket;
    bool key_side = false;
    accumulate_t<T> scale{1};
  };
  std::vector<Lookup> lookups;
  std::vector<Relative> relatives;
  Var<T, Dev> position_bias;             // bias_ij += position_bias[h, i, j]; (H, n_max, n_max), n_max >= the longest sequence
  Var<T, Dev> pair_bias;                 // bias_ij += pair_bias[pair(i, j)]; (P), shared by the heads, or [h, pair(i, j)]; (H, P)
  Var<T, Dev> gate;                      // gate_ij; (P), shared by the heads
  AttentionReach reach;                  // keys that a query sees; all by default
  std::optional<accumulate_t<T>> scale;  // scale of q . k; default 1 / sqrt(d), a position scheme may set it
  std::string positions;                 // name of the position scheme; at most one

  /// Registers the position scheme of a term, so that a layer has at most one. Two schemes would encode positions twice, and each may set
  /// `scale` for itself. Errors: another scheme is registered.
  void claim_positions(const std::string& name) {
    if (!positions.empty())
      fail("attention", "two position schemes at once, '", positions, "' and '", name, "'; take one (others may be combined with it)");
    positions = name;
  }
  /// Adds a position bias; the biases of several terms are summed.
  void add_position_bias(const Var<T, Dev>& bias) { position_bias = position_bias.defined() ? add(position_bias, bias) : bias; }
  /// Adds a bias for token pairs, (P) or (H, P); the biases of several terms are summed.
  void add_pair_bias(const Var<T, Dev>& bias) { pair_bias = pair_bias.defined() ? add(pair_bias, bias) : bias; }
  /// Limits the keys that a query sees; of several limits, all hold.
  void limit_reach(const AttentionReach& limit) { reach = reach & limit; }
  /// All variables, in a fixed order; some may be undefined.
  std::vector<Var<T, Dev>*> variables() {
    std::vector<Var<T, Dev>*> all{&position_bias, &pair_bias, &gate};
    for (auto& l : lookups) all.push_back(&l.table);
    for (auto& r : relatives) all.push_back(&r.table);
    return all;
  }
  /// Multiplies the gate of token pairs by another. Errors: it is undefined, e.g. the values of a feature that holds codes.
  void multiply_gate(const Var<T, Dev>& factor) {
    if (!factor.defined()) fail("attention", "the gate is undefined; expected a number for each token pair");
    gate = gate.defined() ? multiply(gate, factor) : factor;
  }
};

enum class Attentions { none, scores, probabilities };

struct AttentionOptions {
  DropoutMask dropout{};                       // applied to the probabilities
  Attentions attentions = Attentions::none;    // return S, or P before dropout (differentiable)
  std::vector<std::size_t> attention_heads{};  // heads whose maps are returned; empty = all
};

template <class T, class Dev>
struct AttentionResult {
  Var<T, Dev> context;     // (N, D)
  Var<T, Dev> attentions;  // (requested heads, P): a row is a head's n x n blocks; undefined if not requested
};

namespace detail {

/// Checks and adds the lookup and relative tables of the terms.
template <class T, class Dev>
void add_tables(AttentionArgs<T>& args, const Offsets& offsets, const ScoreTerms<T, Dev>& terms) {
  const std::size_t heads = args.heads, d = args.width / heads, longest = args.longest;
  for (const auto& l : terms.lookups) {
    if (l.table.shape().rank() != 2 || l.table.dim(0) != heads)
      fail("attention", "a lookup table must be (", heads, ", R), got ", l.table.shape());
    if (l.codes.size() != offsets.pairs())
      fail("attention", "a lookup has ", l.codes.size(), " codes for ", offsets.pairs(), " token pairs");
    if (!l.codes.within(l.table.dim(1)))
      for (const std::uint16_t c : l.codes.to_vector())
        if (c >= l.table.dim(1)) fail("attention", "code ", c, " is out of range for a lookup table ", l.table.shape());
    args.lookups.push_back({l.table.value().data(), l.table.dim(1), l.codes.data()});
  }
  for (const auto& r : terms.relatives) {
    const Shape& t = r.table.shape();
    if (t.rank() != 3 || (t[0] != 1 && t[0] != heads) || t[2] != d)
      fail("attention", "a relative table must be (1 or ", heads, ", R, ", d, "), got ", t);
    if (r.bucket.size() + 1 != 2 * longest)
      fail("attention", "a relative term has ", r.bucket.size(), " buckets; the longest sequence needs ", 2 * longest - 1);
    if (!r.bucket.within(t[1]))
      for (const std::int32_t b : r.bucket.to_vector())
        if (b < 0 || static_cast<std::size_t>(b) >= t[1]) fail("attention", "bucket ", b, " is out of range for a relative table ", t);
    args.relatives.push_back({r.key_side, r.table.value().data(), t[0], t[1], r.bucket.data(), r.scale});
  }
}

/// Checks all shapes and collects the pointers that the kernel reads.
template <class T, class Dev>
AttentionArgs<T> attention_args(const Var<T, Dev>& qkv, const Offsets& offsets, std::size_t heads, const ScoreTerms<T, Dev>& terms,
                                const AttentionOptions& options) {
  if (qkv.shape().rank() != 2 || heads == 0 || qkv.dim(1) == 0 || qkv.dim(1) % (3 * heads) != 0)
    fail("attention", "qkv must be (N, 3 D) with D > 0 divisible by ", heads, " heads, got ", qkv.shape());
  detail::check_token_rows("attention", "qkv", qkv.shape(), offsets);
  if (offsets.sequences() == 0) fail("attention", "the batch is empty");
  AttentionArgs<T> args;
  args.sequences = offsets.sequences();
  args.tokens = offsets.tokens();
  args.pairs = offsets.pairs();
  args.longest = offsets.longest();
  args.host_token_begin = offsets.token_begins().data();
  args.heads = heads;
  args.width = qkv.dim(1) / 3;
  const std::size_t d = args.width / heads, longest = offsets.longest();
  using A = accumulate_t<T>;
  args.scale = terms.scale ? *terms.scale : A{1} / std::sqrt(static_cast<A>(d));
  args.qkv = qkv.value().data();
  args.dropout = options.dropout;
  args.reach = terms.reach;
  args.maps_are_scores = options.attentions == Attentions::scores;
  add_tables(args, offsets, terms);
  if (terms.position_bias.defined()) {
    const Shape& b = terms.position_bias.shape();
    if (b.rank() != 3 || b[0] != heads || b[1] != b[2] || b[1] < longest)
      fail("attention", "the position bias must be (", heads, ", n, n) with n at least ", longest, ", got ", b);
    args.position_bias = terms.position_bias.value().data();
    args.bias_length = b[1];
  }
  if (terms.pair_bias.defined()) {
    const Shape& b = terms.pair_bias.shape();
    if (!(b == Shape{offsets.pairs()}) && !(b == Shape{heads, offsets.pairs()}))
      fail("attention", "the pair bias must be (", offsets.pairs(), ",) or (", heads, ", ", offsets.pairs(), "), got ", b);
    args.pair_bias = terms.pair_bias.value().data();
    args.pair_bias_heads = b.rank() == 1 ? 1 : heads;
  }
  if (terms.gate.defined()) {
    if (!(terms.gate.shape() == Shape{offsets.pairs()}))
      fail("attention", "the gate must be (", offsets.pairs(), ",), got ", terms.gate.shape());
    args.gate = terms.gate.value().data();
  }
  for (const std::size_t h : options.attention_heads) {
    if (h >= heads) fail("attention", "attention_heads contains head ", h, ", but there are ", heads, " heads");
    if (std::count(options.attention_heads.begin(), options.attention_heads.end(), h) != 1)
      fail("attention", "attention_heads contains head ", h, " more than once");
  }
  return args;
}

/// For each head the row of its map among the requested ones, or -1; empty if no maps are requested.
template <class Dev>
Indices<std::int32_t, Dev> rows_of_maps(const AttentionOptions& options, std::size_t heads) {
  if (options.attentions == Attentions::none) return {};
  std::vector<std::int32_t> row(heads, -1);
  const bool all = options.attention_heads.empty();
  std::int32_t next = 0;
  for (std::size_t i = 0; i < (all ? heads : options.attention_heads.size()); ++i) row[all ? i : options.attention_heads[i]] = next++;
  return row;
}

}  // namespace detail

/// Computes attention with the terms, as defined at the top of this file.
///   qkv (N, 3 D): columns q | k | v, head h in columns h d .. (h + 1) d - 1 of each -> context (N, D), and maps on request
/// Scores are not stored: backward recomputes them from q, k and the logsumexp of each row.
/// Errors: a shape does not match; a code, bucket or head is out of range.
template <class T, class Dev>
AttentionResult<T, Dev> attention(const Var<T, Dev>& qkv, const Offsets& offsets, std::size_t heads, const ScoreTerms<T, Dev>& terms = {},
                                  const AttentionOptions& options = {}) {
  auto args = detail::attention_args(qkv, offsets, heads, terms, options);
  const DeviceOffsets<Dev> begins = offsets.on<Dev>();
  args.token_begin = begins.token.data();
  args.pair_begin = begins.pair.data();
  const auto map_row = detail::rows_of_maps<Dev>(options, heads);
  const std::size_t map_rows = options.attentions == Attentions::none ? 0
                               : options.attention_heads.empty()      ? heads
                                                                      : options.attention_heads.size();
  if (map_rows > 0) args.map_row = map_row.data();
  Tensor<T, Dev> context({args.tokens, args.width}), attentions({map_rows, args.pairs});
  Tensor<accumulate_t<T>, Dev> logsumexp({args.tokens, heads});
  Kernels<Dev>::attention(args, context.mutable_data(), logsumexp.mutable_data(), attentions.mutable_data());

  std::vector<Var<T, Dev>> inputs{qkv, terms.position_bias, terms.pair_bias, terms.gate};
  const std::size_t first_table = inputs.size();
  for (const auto& l : terms.lookups) inputs.push_back(l.table);
  for (const auto& r : terms.relatives) inputs.push_back(r.table);
  std::vector<Saved<T, Dev>> kept;
  std::vector<bool> needed;
  for (const auto& v : inputs) {
    kept.emplace_back(v.defined() ? v.value() : Tensor<T, Dev>());
    needed.push_back(v.requires_grad());
  }
  struct Lists {  // keeps alive what `args` points to, besides tensors
    Offsets offsets;
    DeviceOffsets<Dev> begins;
    Indices<std::int32_t, Dev> map_row;
    std::vector<Indices<std::uint16_t, Dev>> codes;
    std::vector<Indices<std::int32_t, Dev>> buckets;
  } lists{offsets, begins, map_row, {}, {}};
  for (const auto& l : terms.lookups) lists.codes.push_back(l.codes);
  for (const auto& r : terms.relatives) lists.buckets.push_back(r.bucket);

  auto backward = [args, first_table, kept = std::move(kept), lists = std::move(lists), needed = std::move(needed), output = Saved(context),
                   logsumexp = Saved(logsumexp)](const std::vector<Tensor<T, Dev>>& dy) {
    for (const auto& k : kept) *k;  // throws if a value was changed in place
    std::vector<Tensor<T, Dev>> g(needed.size());
    for (std::size_t i = 0; i < g.size(); ++i)
      if (i == 0 || needed[i]) g[i] = Tensor<T, Dev>(kept[i]->shape());
    const auto to = [&g](std::size_t i) { return g[i].defined() ? g[i].mutable_data() : nullptr; };
    AttentionGrads<T> grads;
    grads.qkv = to(0);
    grads.position_bias = to(1);
    grads.pair_bias = to(2);
    grads.gate = to(3);
    for (std::size_t i = first_table; i < g.size(); ++i)
      (i < first_table + args.lookups.size() ? grads.lookups : grads.relatives).push_back(to(i));
    Kernels<Dev>::attention_grad(args, output->data(), logsumexp->data(), dy[0].data(), dy.size() > 1 ? dy[1].data() : nullptr, grads);
    return g;
  };
  std::vector<Tensor<T, Dev>> outputs{context};
  if (map_rows > 0) outputs.push_back(attentions);
  const auto result = record_all("attention", std::move(outputs), inputs, std::move(backward));
  return {result[0], map_rows > 0 ? result[1] : Var<T, Dev>{}};
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_ATTENTION(word, T)                                                                                                  \
  word template AttentionResult<T, Cpu> attention<T, Cpu>(const Var<T, Cpu>&, const Offsets&, std::size_t, const ScoreTerms<T, Cpu>&, \
                                                          const AttentionOptions&);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_ATTENTION(extern, float)
LEXFORMER_ATTENTION(extern, double)
#endif

}  // namespace lexformer
