// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "lexformer/autograd/var.hpp"

namespace lexformer {

/// Gradient checkpointing (Chen et al. 2016, "Training deep nets with sublinear memory cost"): y = f(inputs) without storing intermediate
/// values; backward computes f again to get them. y has the same bits as f(inputs). The gradients have the same bits, except that the
/// gradients of a computed input other than the first may be summed in another order if f reads it more than once.
///   f: takes a vector of Vars like `inputs`, some of them undefined if those are, and returns one Var. Backward calls it again, so it must
///   own what it reads, or that must still exist, and dropout masks must have fixed keys (DropoutMask). Besides `inputs` it may read leaves
///   (parameters), but no Var that another op computed before.
/// Errors: f reads a computed Var that is not an input. In backward: an input or a parameter was changed in place.
template <class T, class Dev, class F>
Var<T, Dev> checkpoint(const std::vector<Var<T, Dev>>& inputs, F f) {
  const detail::GraphState state = detail::graph_state();
  if (!state.recording) return f(inputs);
  std::vector<Saved<T, Dev>> values;
  std::vector<bool> needed;
  for (const auto& x : inputs) {
    values.emplace_back(x.defined() ? x.value() : Tensor<T, Dev>());
    needed.push_back(x.requires_grad());
  }
  const auto leaves_of = [](const std::vector<Saved<T, Dev>>& kept, const std::vector<bool>& with_gradient) {
    std::vector<Var<T, Dev>> all;
    for (std::size_t i = 0; i < kept.size(); ++i) all.emplace_back(*kept[i], with_gradient[i]);
    return all;
  };
  struct Restore {
    detail::GraphState before = detail::graph_state();
    ~Restore() { detail::graph_state() = before; }
  };

  std::vector<GraphLeaf> parameters;
  Tensor<T, Dev> y;
  {  // The graph of this pass tells which parameters f reads. It is released at the end of the block, and with it all other values.
    const std::uint64_t first = detail::Node::next_id();
    const auto leaves = leaves_of(values, needed);
    Var<T, Dev> computed = f(leaves);
    if (!computed.requires_grad()) return computed;
    for (auto& leaf : detail::leaves_after(first, computed, "checkpoint"))
      if (std::none_of(leaves.begin(), leaves.end(), [&](const auto& x) { return x.id() == leaf.id; }))
        parameters.push_back(std::move(leaf));
    y = computed.value();
  }
  auto backward = [f = std::move(f), values = std::move(values), needed = std::move(needed), parameters, leaves_of,
                   state](const std::vector<Tensor<T, Dev>>& dy) {
    for (const GraphLeaf& p : parameters)
      if (p.changed())
        fail("backward", "a parameter of shape ", p.shape, " that ", p.op,
             " reads was changed in place after the forward pass; run the forward pass again");
    const Restore restore;
    detail::graph_state() = state;
    const auto leaves = leaves_of(values, needed);
    const bool sum = dy.size() > 1 && dy[1].defined();  // the gradient that the first input has already
    if (sum) leaves[0].grad_box()->add(dy[1]);
    if (const Var<T, Dev> again = f(leaves); again.requires_grad()) again.backward(dy[0]);
    std::vector<Tensor<T, Dev>> d(leaves.size());
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].has_grad()) d[i] = leaves[i].grad();
    return d;
  };
  return record_all("checkpoint", std::vector{std::move(y)}, inputs, std::move(backward), !inputs.empty(), std::move(parameters))[0];
}

}  // namespace lexformer
