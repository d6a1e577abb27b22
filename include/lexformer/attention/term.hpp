// SPDX-License-Identifier: MIT
// An attention term makes the tensors that attention adds to its scores (ops/attention.hpp), with ordinary differentiable ops. A term of
// your own is a struct with `contribute` and `visit`; it needs no kernel, and its parameters get their gradients like any other
// (examples/05_attention_term.cpp).
#pragma once

#include "lexformer/data/batch.hpp"
#include "lexformer/nn/module.hpp"
#include "lexformer/ops/attention.hpp"

namespace lexformer {

/// What a term reads: one attention call.
template <class T = float, class Dev = Cpu>
struct AttentionInputs {
  const Var<T, Dev>& qkv;            // (N, 3D); undefined for a term that all layers share, which is asked once in a forward pass
  const DeviceBatch<T, Dev>& batch;  // ids, type ids, word ids, positions, offsets, features
  std::size_t heads;                 // H
  ForwardOptions forward;
};

template <class T = float, class Dev = Cpu>
struct AttentionTerm {
  AttentionTerm() = default;
  AttentionTerm(const AttentionTerm&) = delete;
  AttentionTerm& operator=(const AttentionTerm&) = delete;
  virtual ~AttentionTerm() = default;

  /// Adds this term's tensors to `out`. A forward pass changes nothing in the term.
  virtual void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) const = 0;
  /// q, k and v as this layer's attention reads them: for rotary positions. Not called for a term that all layers share.
  virtual Var<T, Dev> transform(const AttentionInputs<T, Dev>& in) const { return in.qkv; }
  /// Measures what the term has to know of the data before it can be used, unless it is known; `terms`: what terms before it made.
  /// Returns whether it is known then.
  virtual bool calibrate(const AttentionInputs<T, Dev>&, const ScoreTerms<T, Dev>& /*terms*/) { return true; }
  virtual void visit(ParameterVisitor<T, Dev>&) {}
};

/// From q, k, v and terms to the context: for variants that call attention more than once and fuse the results. Without one a layer calls
/// attention() once.
template <class T = float, class Dev = Cpu>
struct AttentionCore {
  AttentionCore() = default;
  AttentionCore(const AttentionCore&) = delete;
  AttentionCore& operator=(const AttentionCore&) = delete;
  virtual ~AttentionCore() = default;

  /// qkv of `in` (N, 3D) -> context (N, D). options.dropout is the mask for one call; a core that makes more takes a site for each from
  /// DropoutSites and makes masks like it with in.forward.
  virtual AttentionResult<T, Dev> operator()(const AttentionInputs<T, Dev>& in, const ScoreTerms<T, Dev>& terms,
                                             const AttentionOptions& options) const = 0;
  virtual void visit(ParameterVisitor<T, Dev>&) {}
};

}  // namespace lexformer
