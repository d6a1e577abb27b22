// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/core/ragged.hpp"

namespace lexformer {

/// Additive attention (Bahdanau et al. 2015) of the tokens of each sequence, per head:
///   S_ij = w_h . tanh(P_j + U_i)      A = softmax_j(S)      y_i = sum_j A_ij X_j
///   keys P (N, H a), queries U (N, H a), weights w (H, a), or (1, a) for all heads, values X (N, H d) -> (N, H d)
///   dX_j = sum_i A_ij dy_i;  dS_ij = A_ij (dA_ij - sum_k A_ik dA_ik), dA_ij = dy_i . X_j;
///   dP_j = sum_i dS_ij w (1 - tanh^2),  dU_i = sum_j dS_ij w (1 - tanh^2),  dw = sum_ij dS_ij tanh(P_j + U_i)
/// A is kept for backward, which computes tanh(P_j + U_i) again: no tensor has n x n x a elements.
/// Errors: shapes do not match, or the batch is empty.
template <class T, class Dev>
Var<T, Dev> additive_attention(const Var<T, Dev>& keys, const Var<T, Dev>& queries, const Var<T, Dev>& weights, const Var<T, Dev>& values,
                               const Offsets& offsets, std::size_t heads) {
  const auto per_head = [&](const char* name, const Var<T, Dev>& x) {
    if (x.shape().rank() != 2 || heads == 0 || x.dim(1) == 0 || x.dim(1) % heads != 0)
      fail("additive_attention", name, " must be (N, H x) with H = ", heads, " heads, got ", x.shape());
    detail::check_token_rows("additive_attention", name, x.shape(), offsets);
    return x.dim(1) / heads;
  };
  const std::size_t a = per_head("keys", keys), d = per_head("values", values);
  if (!(queries.shape() == keys.shape())) fail("additive_attention", "queries ", queries.shape(), " but keys ", keys.shape());
  const Shape& w = weights.shape();
  if (w.rank() != 2 || (w[0] != 1 && w[0] != heads) || w[1] != a)
    fail("additive_attention", "weights must be (1 or ", heads, ", ", a, "), got ", w);
  if (offsets.sequences() == 0) fail("additive_attention", "the batch is empty");

  const DeviceOffsets<Dev> begins = offsets.on<Dev>();
  AdditiveArgs<T> args;
  args.sequences = offsets.sequences();
  args.tokens = offsets.tokens();
  args.pairs = offsets.pairs();
  args.longest = offsets.longest();
  args.token_begin = begins.token.data();
  args.pair_begin = begins.pair.data();
  args.heads = heads;
  args.key_size = a;
  args.value_size = d;
  args.weight_rows = w[0];
  args.keys = keys.value().data();
  args.queries = queries.value().data();
  args.weights = weights.value().data();
  args.values = values.value().data();
  Tensor<T, Dev> y({args.tokens, args.values_width()});
  Tensor<accumulate_t<T>, Dev> probabilities({heads, args.pairs});
  Kernels<Dev>::additive_attention(args, probabilities.mutable_data(), y.mutable_data());

  const std::vector inputs{keys, queries, weights, values};
  std::vector<Saved<T, Dev>> kept;
  for (const auto& v : inputs) kept.emplace_back(v.value());
  return record("additive_attention", y, inputs,
                [args, begins, kept = std::move(kept), probabilities = Saved(probabilities)](const Tensor<T, Dev>& dy) {
                  std::vector<Tensor<T, Dev>> g;
                  for (const auto& k : kept) g.emplace_back(k->shape());  // throws if a value was changed in place
                  Kernels<Dev>::additive_attention_grad(
                      args, probabilities->data(), dy.data(),
                      AdditiveGrads<T>{g[0].mutable_data(), g[1].mutable_data(), g[2].mutable_data(), g[3].mutable_data()});
                  return g;
                });
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_ADDITIVE_ATTENTION(word, T)                                                                                          \
  word template Var<T, Cpu> additive_attention<T, Cpu>(const Var<T, Cpu>&, const Var<T, Cpu>&, const Var<T, Cpu>&, const Var<T, Cpu>&, \
                                                       const Offsets&, std::size_t);
#if defined(LEXFORMER_COMPILED)
LEXFORMER_ADDITIVE_ATTENTION(extern, float)
LEXFORMER_ADDITIVE_ATTENTION(extern, double)
#endif

}  // namespace lexformer
