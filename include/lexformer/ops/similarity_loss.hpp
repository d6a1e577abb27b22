// SPDX-License-Identifier: MIT
// Mean cosine of all pairs among vectors: of the tokens of a sequence, of the score maps of its heads.
#pragma once

#include <algorithm>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/ragged.hpp"

namespace lexformer {

namespace detail {

/// The mean over groups of two vectors or more of the mean cosine of their pairs (LossKernels::pairwise_cosine).
template <class T, class Dev>
Var<accumulate_t<T>, Dev> mean_pairwise_cosine(const char* name, const Var<T, Dev>& x, std::vector<VectorGroup> groups) {
  std::erase_if(groups, [](const VectorGroup& g) { return g.count < 2; });
  const auto list = Tensor<VectorGroup, Dev>::from(groups, {groups.size()});
  VectorGroups all{.groups = groups.size(), .list = list.data()};
  for (const VectorGroup& g : groups) {
    all.most = std::max(all.most, g.count);
    all.longest = std::max(all.longest, g.length);
  }
  using A = accumulate_t<T>;
  Tensor<A, Dev> y{Shape{}};
  Kernels<Dev>::pairwise_cosine(all, x.value().data(), y.mutable_data());
  return record(name, y, std::vector{x}, [all, list, xv = Saved(x.value())](const Tensor<A, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
    auto dx = Tensor<T, Dev>::zeros(xv->shape());
    Kernels<Dev>::pairwise_cosine_grad(all, dy.data(), xv->data(), dx.mutable_data());
    return {dx};
  });
}

}  // namespace detail

/// Token similarity, f(S) of "Improving BERT with token and head similarity" (arXiv 2210.04246, eq. 15): the mean cosine of all pairs of
/// token vectors of a sequence, averaged over the sequences of two tokens or more.   x (N, D) -> scalar in [-1, 1]
/// Its regularizer TCD (eq. 17) is this of a sample of the tokens. 0 where no sequence has two.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> token_similarity(const Var<T, Dev>& x, const Offsets& offsets) {
  if (x.shape().rank() != 2 || x.dim(0) != offsets.tokens())
    fail("token_similarity", "x ", x.shape(), " but the offsets count ", offsets.tokens(), " tokens");
  std::vector<VectorGroup> groups;
  for (std::size_t s = 0; s < offsets.sequences(); ++s)
    groups.push_back({offsets.begin(s) * x.dim(1), offsets.length(s), x.dim(1), x.dim(1)});
  return detail::mean_pairwise_cosine("token_similarity", x, std::move(groups));
}

/// Head similarity, f(H) of the same paper (eq. 16) for one layer: the mean cosine of all pairs of its heads' n x n maps, flattened,
/// averaged over the sequences.   maps (H, P) of attention: scores or probabilities -> scalar. 0 for a single head.
/// Its regularizer HCD (eq. 18) is this of a sample of the heads, averaged over the layers.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> head_similarity(const Var<T, Dev>& attentions, const Offsets& offsets) {
  if (attentions.shape().rank() != 2 || attentions.dim(1) != offsets.pairs())
    fail("head_similarity", "attentions ", attentions.shape(), " but the offsets count ", offsets.pairs(), " pairs of tokens");
  std::vector<VectorGroup> groups;
  for (std::size_t s = 0; s < offsets.sequences(); ++s)
    groups.push_back({offsets.pair_begin(s), attentions.dim(0), offsets.pairs(), offsets.length(s) * offsets.length(s)});
  return detail::mean_pairwise_cosine("head_similarity", attentions, std::move(groups));
}

}  // namespace lexformer
