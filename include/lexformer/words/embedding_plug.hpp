// SPDX-License-Identifier: MIT
#pragma once

#include "lexformer/data/features.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/nn/module.hpp"
#include "lexformer/text/words.hpp"

namespace lexformer {

/// Changes the rows of the word table that a batch reads, e.g. gives words of several pieces vectors of their own (words/love_plug.hpp).
template <class T = float, class Dev = Cpu>
struct EmbeddingPlug {
  EmbeddingPlug() = default;
  EmbeddingPlug(const EmbeddingPlug&) = delete;
  EmbeddingPlug& operator=(const EmbeddingPlug&) = delete;
  virtual ~EmbeddingPlug() = default;

  /// rows (N, E) -> (N, E), before the sum with the other embeddings.
  virtual Var<T, Dev> operator()(const Var<T, Dev>& rows, const DeviceBatch<T, Dev>& batch, const ForwardOptions& forward) const = 0;
  virtual void visit(ParameterVisitor<T, Dev>& v) = 0;
  /// The input of a batch that it reads.
  virtual FeatureMaker feature() const = 0;
  /// Sets which words of several pieces are one token.
  virtual void adapt(TokenizerOptions& options) const = 0;
  /// Adds its description to a model's file.
  virtual void write(ModelFile& file) = 0;
  /// Called after its parameters were changed from outside.
  virtual void reset() {}
};

}  // namespace lexformer
