// SPDX-License-Identifier: MIT
// An attention term builds the tensors that attention adds to its scores (ops/attention.hpp) from ordinary differentiable ops. A term of
// your own is a struct with `contribute` and `visit`. It needs no kernel, and its parameters get gradients like any other
// (examples/05_attention_term.cpp).
//
// Sizes in the headers of this folder: N tokens in the batch, model width D, H heads of size d = D / H. A sequence of n tokens has n x n
// token pairs; the batch has P. Of a lookup or relative table, R is the number of rows.
#pragma once

#include "lexformer/data/batch.hpp"
#include "lexformer/nn/module.hpp"
#include "lexformer/ops/attention.hpp"

namespace lexformer {

template <class T, class Dev>
struct MultiHeadAttention;  // attention/multi_head.hpp

/// The inputs of a term for one attention call.
template <class T = float, class Dev = Cpu>
struct AttentionInputs {
  const Var<T, Dev>& qkv;            // (N, 3 D); undefined for a term shared by all layers, which is called once per forward pass
  const DeviceBatch<T, Dev>& batch;  // ids, type ids, word ids, positions, offsets, features
  std::size_t heads;                 // H
  ForwardOptions forward;
  const MultiHeadAttention<T, Dev>* layer = nullptr;  // for a term that reads its weights; null for a term shared by all layers
};

template <class T = float, class Dev = Cpu>
struct AttentionTerm {
  AttentionTerm() = default;
  AttentionTerm(const AttentionTerm&) = delete;
  AttentionTerm& operator=(const AttentionTerm&) = delete;
  virtual ~AttentionTerm() = default;

  /// Adds the term's tensors to `out`. A forward pass does not change the term.
  virtual void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const = 0;
  /// Returns the q, k and v that this layer's attention reads, e.g. rotated. Not called for a term shared by all layers.
  virtual Var<T, Dev> transform(const AttentionInputs<T, Dev>& in) const { return in.qkv; }
  /// Measures the values that the term needs from data before it can be used, unless they are known. `terms`: the tensors of the terms
  /// before it. Returns whether they are known afterwards.
  virtual bool calibrate(const AttentionInputs<T, Dev>&, const ScoreTerms<T, Dev>& /*terms*/) { return true; }
  /// Whether those values are known.
  virtual bool calibrated() const { return true; }
  virtual void visit(ParameterVisitor<T, Dev>&) {}
};

/// Computes the context from q, k, v and the terms, for variants that call attention more than once and combine the results. A layer
/// without a core calls attention() once.
template <class T = float, class Dev = Cpu>
struct AttentionCore {
  AttentionCore() = default;
  AttentionCore(const AttentionCore&) = delete;
  AttentionCore& operator=(const AttentionCore&) = delete;
  virtual ~AttentionCore() = default;

  /// qkv of `in` (N, 3 D) -> context (N, D). options.dropout is the mask for one call. A core that makes several calls takes one site
  /// for each from DropoutSites and creates the masks with in.forward.
  virtual AttentionResult<T, Dev> operator()(const AttentionInputs<T, Dev>& in, const ScoreTerms<T, Dev>& terms,
                                             const AttentionOptions& options) const = 0;
  virtual void visit(ParameterVisitor<T, Dev>&) {}
};

}  // namespace lexformer
