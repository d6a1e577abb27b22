// SPDX-License-Identifier: MIT
// Mean cosine of all pairs among vectors: of the tokens of a sequence, of the score maps of its heads.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/kernels/row.hpp"

namespace lexformer {

namespace detail {

/// Vector i of a group is x + i * stride, `length` numbers; it counts with x_i / max(|x_i|, 1e-8).
struct VectorGroup {
  std::size_t first, count, stride, length;
};

/// The mean over groups of two vectors or more of 2 / (n (n - 1)) sum_{i<j} cos(x_i, x_j), from the sum s of the unit vectors u_i
/// without a look at any pair:   f = (|s|^2 - sum |u_i|^2) / (n (n - 1)),   df/dx_i = 2 (s - (s . u_i) u_i) / (n (n - 1) |x_i|)
/// |u_i| is 1 but where the guard acts: with a vector of zeros all cosines are 0.
template <class T, class Dev>
Var<T, Dev> mean_pairwise_cosine(const char* name, const Var<T, Dev>& x, std::vector<VectorGroup> groups) {
  using A = accumulate_t<T>;
  std::erase_if(groups, [](const VectorGroup& g) { return g.count < 2; });
  const auto unit_sum = [](const T* x0, const VectorGroup& g, std::vector<A>& sum, std::vector<A>& norm) {
    A own{0};  // sum |u_i|^2
    sum.assign(g.length, A{0});
    norm.resize(g.count);
    for (std::size_t i = 0; i < g.count; ++i) {
      const T* v = x0 + g.first + i * g.stride;
      const A squares = row::lane_sum<A>(g.length, [v](std::size_t e) { return static_cast<A>(v[e]) * static_cast<A>(v[e]); });
      norm[i] = std::max<A>(std::sqrt(squares), A(1e-8));
      const A inverse = A{1} / norm[i];
      for (std::size_t e = 0; e < g.length; ++e) sum[e] += static_cast<A>(v[e]) * inverse;
      own += squares * inverse * inverse;
    }
    return own;
  };
  const auto pairs = [](const VectorGroup& g) { return static_cast<A>(g.count) * static_cast<A>(g.count - 1); };
  std::vector<A> values(groups.size());
  parallel_for(groups.size(), 1, [&](std::size_t k, std::size_t) {
    std::vector<A> s, norm;
    const A own = unit_sum(x.value().data(), groups[k], s, norm);
    const A squares = row::lane_sum<A>(s.size(), [&s](std::size_t e) { return s[e] * s[e]; });
    values[k] = (squares - own) / pairs(groups[k]);
  });
  A total{0};
  for (const A value : values) total += value;
  if (!groups.empty()) total /= static_cast<A>(groups.size());
  return record(name, Tensor<T, Dev>::scalar(static_cast<T>(total)), std::vector{x},
                [=, groups = std::move(groups), xv = Saved(x.value())](const Tensor<T, Dev>& dy) -> std::vector<Tensor<T, Dev>> {
                  auto dx = Tensor<T, Dev>::zeros(xv->shape());
                  T* to = dx.mutable_data();
                  parallel_for(groups.size(), 1, [&](std::size_t k, std::size_t) {
                    const VectorGroup& g = groups[k];
                    std::vector<A> s, norm;
                    unit_sum(xv->data(), g, s, norm);
                    const A factor = static_cast<A>(dy.item()) * A{2} / (pairs(g) * static_cast<A>(groups.size()));
                    for (std::size_t i = 0; i < g.count; ++i) {
                      const T* v = xv->data() + g.first + i * g.stride;
                      T* d = to + g.first + i * g.stride;
                      const A inverse = A{1} / norm[i];
                      // Where the guard acts the divisor is a constant, and of s only the other vectors count.
                      const A along =
                          norm[i] > A(1e-8)
                              ? row::lane_sum<A>(g.length, [&](std::size_t e) { return s[e] * static_cast<A>(v[e]); }) * inverse * inverse
                              : inverse;
                      for (std::size_t e = 0; e < g.length; ++e)
                        d[e] += static_cast<T>(factor * inverse * (s[e] - along * static_cast<A>(v[e])));
                    }
                  });
                  return {dx};
                });
}

}  // namespace detail

/// Token similarity, f(S) of "Improving BERT with token and head similarity" (arXiv 2210.04246, eq. 15): the mean cosine of all pairs of
/// token vectors of a sequence, averaged over the sequences of two tokens or more.   x (N, D) -> scalar in [-1, 1]
/// Its regularizer TCD (eq. 17) is this of a sample of the tokens. 0 where no sequence has two.
template <class T, class Dev>
Var<T, Dev> token_similarity(const Var<T, Dev>& x, const Offsets& offsets) {
  if (x.shape().rank() != 2 || x.dim(0) != offsets.tokens())
    fail("token_similarity", "x ", x.shape(), " but the offsets count ", offsets.tokens(), " tokens");
  std::vector<detail::VectorGroup> groups;
  for (std::size_t s = 0; s < offsets.sequences(); ++s)
    groups.push_back({offsets.begin(s) * x.dim(1), offsets.length(s), x.dim(1), x.dim(1)});
  return detail::mean_pairwise_cosine("token_similarity", x, std::move(groups));
}

/// Head similarity, f(H) of the same paper (eq. 16) for one layer: the mean cosine of all pairs of its heads' n x n maps, flattened,
/// averaged over the sequences.   maps (H, P) of attention: scores or probabilities -> scalar. 0 for a single head.
/// Its regularizer HCD (eq. 18) is this of a sample of the heads, averaged over the layers.
template <class T, class Dev>
Var<T, Dev> head_similarity(const Var<T, Dev>& maps, const Offsets& offsets) {
  if (maps.shape().rank() != 2 || maps.dim(1) != offsets.pairs())
    fail("head_similarity", "maps ", maps.shape(), " but the offsets count ", offsets.pairs(), " pairs of tokens");
  std::vector<detail::VectorGroup> groups;
  for (std::size_t s = 0; s < offsets.sequences(); ++s)
    groups.push_back({offsets.pair_begin(s), maps.dim(0), offsets.pairs(), offsets.length(s) * offsets.length(s)});
  return detail::mean_pairwise_cosine("head_similarity", maps, std::move(groups));
}

}  // namespace lexformer
