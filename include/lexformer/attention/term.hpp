// SPDX-License-Identifier: MIT
// An attention term is a module that makes the tensors attention adds to its scores (ops/attention.hpp), with ordinary
// differentiable ops. A term of your own is one struct with `contribute` and `visit`; it needs no kernel, and its
// parameters get their gradients like any other.
#pragma once

#include "lexformer/data/batch.hpp"
#include "lexformer/nn/module.hpp"
#include "lexformer/ops/attention.hpp"

namespace lexformer {

/// What a term may look at: plain views of one attention call.
template <class T = float, class Dev = Cpu>
struct AttentionInputs {
  const Var<T, Dev>& qkv;            // (N, 3D); undefined for a term that all layers share, which is asked once for a forward pass
  const DeviceBatch<T, Dev>& batch;  // ids, type ids, word ids, positions, offsets, features
  std::size_t heads;                 // H
  ForwardOptions forward;
};

template <class T = float, class Dev = Cpu>
struct AttentionTerm {
  virtual ~AttentionTerm() = default;
  /// Adds this term's tensors to `out`.
  virtual void contribute(const AttentionInputs<T, Dev>& in, ScoreTerms<T, Dev>& out) = 0;
  virtual void visit(ParameterVisitor<T, Dev>&) {}
};

}  // namespace lexformer
