// SPDX-License-Identifier: MIT
// Mean cosine similarity over all pairs of vectors: the tokens of a sequence, or the attention maps of its heads.
#pragma once

#include <algorithm>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/ragged.hpp"

namespace lexformer {

namespace detail {

/// The mean cosine over the pairs of vectors in a group, averaged over the groups of at least two (LossKernels::pairwise_cosine).
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

/// Token similarity, f(S) of "Better Pre-Training by Reducing Representation Confusion" (arXiv 2210.04246, eq. 15): the mean cosine over
/// all pairs of token vectors of a sequence, averaged over the sequences of at least two tokens.   x (N, D) -> scalar in [-1, 1] 0 if no
/// sequence has two tokens. The regularizer TCD (eq. 17) applies it to sampled tokens.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> token_similarity(const Var<T, Dev>& x, const Offsets& offsets) {
  detail::check_token_rows("token_similarity", "x", x.shape(), offsets);
  std::vector<VectorGroup> groups;
  for (std::size_t s = 0; s < offsets.sequences(); ++s)
    groups.push_back({offsets.begin(s) * x.dim(1), offsets.length(s), x.dim(1), x.dim(1)});
  return detail::mean_pairwise_cosine("token_similarity", x, std::move(groups));
}

/// Head similarity, f(H) of the same paper (eq. 16) for one layer: the mean cosine over all pairs of the heads' flattened n x n maps,
/// averaged over the sequences.   attentions (H, P), scores or probabilities -> scalar
/// 0 for a single head. The regularizer HCD (eq. 18) applies it to sampled heads, averaged over the layers.
template <class T, class Dev>
Var<accumulate_t<T>, Dev> head_similarity(const Var<T, Dev>& attentions, const Offsets& offsets) {
  if (attentions.shape().rank() != 2 || attentions.dim(1) != offsets.pairs())
    fail("head_similarity", "attentions ", attentions.shape(), " but the offsets have ", offsets.pairs(), " token pairs");
  std::vector<VectorGroup> groups;
  for (std::size_t s = 0; s < offsets.sequences(); ++s)
    groups.push_back({offsets.pair_begin(s), attentions.dim(0), offsets.pairs(), offsets.length(s) * offsets.length(s)});
  return detail::mean_pairwise_cosine("head_similarity", attentions, std::move(groups));
}

}  // namespace lexformer
