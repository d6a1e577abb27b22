// SPDX-License-Identifier: MIT
// Sums the gradients of a step's shards (the accumulated batches) in an order that does not depend on the number of machines.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lexformer/nn/module.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

/// Sums the losses and gradients of the shards 0, 1, 2, ... of a step. The order depends only on the shard numbers: with S = q 2^a shards,
/// q odd, each run of q shards is summed from left to right, and the 2^a sums are added in a balanced binary tree,
/// ((r0 + r1) + (r2 + r3)) + ... A machine that owns an aligned part of the shards thus computes one node of the tree. A step with fewer
/// shards (the last of an epoch) leaves out the missing leaves. At most a + 1 sums are in memory.
template <class T, class Dev>
class GradientSum {
 public:
  using A = accumulate_t<T>;

  GradientSum(std::vector<NamedParameter<T, Dev>> parameters, std::size_t shards) : parameters_(std::move(parameters)), run_(shards) {
    if (shards == 0) fail_usage("GradientSum", "a step has at least one shard");
    while (run_ % 2 == 0) run_ /= 2;
  }

  /// Takes the gradients of the next shard from the parameters, after its backward pass. Undefined `loss`: the shard has none.
  void add(Tensor<A, Dev> loss) {
    Sum shard{0, std::vector<detail::GradBox<T, Dev>>(parameters_.size()), {}};
    if (loss.defined()) shard.loss.add(std::move(loss));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Var<T, Dev>& var = parameters_[i].var;
      if (!var.has_grad()) continue;
      shard.gradients[i].add(*var.grad_box());
      var.clear_grad();  // so that a parameter listed under two names is added once
    }
    if (count_++ % run_ == 0) {
      sums_.push_back(std::move(shard));
    } else {
      add_to(sums_.back(), shard);
    }
    if (count_ % run_ != 0) return;
    sums_.back().runs = 1;
    while (sums_.size() > 1 && sums_[sums_.size() - 2].runs == sums_.back().runs) merge_last();
  }

  /// Stores the sum of the gradients in the parameters and returns the sum of the losses, undefined if no shard had one.
  Tensor<A, Dev> finish() {
    if (sums_.empty()) return {};
    while (sums_.size() > 1) merge_last();
    // For several machines: combine their sums_[0] here by recursive doubling, lower shards on the left.
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (sums_[0].gradients[i].defined()) *parameters_[i].var.grad_box() = std::move(sums_[0].gradients[i]);
    auto loss = sums_[0].loss.take();
    sums_.clear();
    count_ = 0;
    return loss;
  }

 private:
  struct Sum {
    std::size_t runs;  // number of complete runs; 0: part of a run
    std::vector<detail::GradBox<T, Dev>> gradients;
    detail::GradBox<A, Dev> loss;
  };

  static void add_to(Sum& left, Sum& right) {
    if (right.loss.grad.defined()) left.loss.add(right.loss.take());
    for (std::size_t i = 0; i < left.gradients.size(); ++i)
      if (right.gradients[i].defined()) left.gradients[i].add(std::move(right.gradients[i]));
  }
  void merge_last() {
    Sum right = std::move(sums_.back());
    sums_.pop_back();
    add_to(sums_.back(), right);
    sums_.back().runs += right.runs;
  }

  std::vector<NamedParameter<T, Dev>> parameters_;
  std::size_t run_, count_ = 0;
  std::vector<Sum> sums_;
};

namespace detail {

inline std::vector<double> as_list(double weight) { return {weight}; }
inline std::vector<double> as_list(std::vector<double> weights) { return weights; }
template <class A, class Dev>
std::vector<Var<A, Dev>> as_list(Var<A, Dev> loss) {
  return {std::move(loss)};
}
template <class A, class Dev>
std::vector<Var<A, Dev>> as_list(std::vector<Var<A, Dev>> parts) {
  return parts;
}

/// Computes the loss of one shard of a step: the sum over its parts p of part_p weights_p / total_p. Parts of weight 0 are left out; the
/// result is undefined if all weights are 0.
template <class Dev, class A, class Task, class Batch>
Var<A, Dev> shard_loss(Task& task, const Batch& shard, const std::vector<double>& weights, const std::vector<double>& total,
                       const ForwardOptions& forward) {
  Var<A, Dev> sum;
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; })) return sum;
  const std::vector<Var<A, Dev>> parts = as_list(task.loss(shard, forward));
  if (parts.size() != weights.size()) fail("Trainer", "loss() has ", parts.size(), " parts, weights() ", weights.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (weights[p] == 0) continue;
    const double factor = weights[p] / total[p];
    const auto part = factor == 1 ? parts[p] : scale(parts[p], static_cast<A>(factor));
    sum = sum.defined() ? add(sum, part) : part;
  }
  return sum;
}

}  // namespace detail

/// Runs forward and backward for the shards of a step of at most `most` shards. Leaves the gradient in the parameters and returns the
/// loss. Both equal the results of a single batch of all shards up to rounding, and exactly for one shard. The loss is undefined if all
/// weights are 0. task.weights(batch): the number of examples, tokens, ... over which each part of task.loss(batch, forward) is a mean.
/// `leaves` receives the variables that the loss depends on, if every part of it has a weight in this step.
template <class T, class Dev, class Task, class Batch>
Tensor<accumulate_t<T>, Dev> step_gradient(Task& task, const std::vector<NamedParameter<T, Dev>>& parameters,
                                           const std::vector<Batch>& shards, std::size_t most, std::uint64_t seed, std::uint32_t step,
                                           std::vector<GraphLeaf>* leaves = nullptr) {
  using A = accumulate_t<T>;
  std::vector<std::vector<double>> weights;
  std::vector<double> total;
  for (const Batch& shard : shards) {
    const auto& own = weights.emplace_back(detail::as_list(task.weights(shard)));
    total.resize(std::max(total.size(), own.size()));
    for (std::size_t p = 0; p < own.size(); ++p) {
      if (!std::isfinite(own[p]) || own[p] < 0) fail("Trainer", "weights() gave ", own[p], ", expected a finite number, 0 or more");
      total[p] += own[p];
    }
  }
  const bool whole = std::all_of(total.begin(), total.end(), [](double w) { return w > 0; });
  const auto one = [&](std::size_t k) -> Tensor<A, Dev> {
    // Each shard has its own dropout, selected by the high bits of the seed.
    const ForwardOptions forward{.training = true, .seed = seed + (static_cast<std::uint64_t>(k) << 32), .step = step};
    const auto loss = detail::shard_loss<Dev, A>(task, shards[k], weights[k], total, forward);
    if (!loss.defined()) return {};
    if (leaves != nullptr && whole)
      for (auto& leaf : graph_leaves(loss)) leaves->push_back(std::move(leaf));
    loss.backward();
    return loss.value();
  };
  if (shards.size() == 1) return one(0);
  GradientSum<T, Dev> sum(parameters, most);
  for (std::size_t k = 0; k < shards.size(); ++k) sum.add(one(k));
  return sum.finish();
}

}  // namespace lexformer
