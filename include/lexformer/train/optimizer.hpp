// SPDX-License-Identifier: MIT
// AdamW and gradient clipping over lists of named parameters.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lexformer/kernels/scalar.hpp"
#include "lexformer/nn/module.hpp"
#include "lexformer/ops/elementwise.hpp"

namespace lexformer {

namespace detail {
inline void check_max_norm(const char* who, double max_norm) {
  if (!(max_norm > 0.0)) fail_usage(who, "max_norm is ", max_norm, ", expected more than 0");
}
}  // namespace detail

struct AdamWOptions {
  double lr = 5e-5;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decay_bias_and_norm = true;  // false: no decay on parameters of rank 0 and 1 (biases, LayerNorm)
};

/// AdamW (Loshchilov and Hutter 2019), with PyTorch's order of operations:
///   p -= lr weight_decay p;   m += (1 - beta1)(g - m);   v = beta2 v + (1 - beta2) g^2
///   p -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
/// t counts the steps in which this parameter had a gradient. A parameter without gradient or frozen does not change, not even by weight
/// decay; buffers never change. Moments and master weights are accumulate_t<T>. The rows of a table that were not looked up cost nothing,
/// or little, with the same bits (kernels/adamw_cpu.hpp), if they have no weight decay; after such a table was changed between two steps,
/// call load_state(state()).
template <class T = float, class Dev = Cpu>
class AdamW {
 public:
  using A = accumulate_t<T>;

  /// The state of one parameter, complete for resuming a run. The tensors are undefined before the first step.
  struct Slot {
    std::string name;
    std::int64_t step = 0;                   // t
    Tensor<A, Dev> exp_avg{}, exp_avg_sq{};  // m, v
    Tensor<A, Dev> master{};                 // master weights in A; undefined if T is A
  };

  explicit AdamW(std::vector<NamedParameter<T, Dev>> parameters, AdamWOptions options = {});

  /// The learning rate of the next steps; initially AdamWOptions::lr. A schedule sets it before each step.
  double lr() const { return options_.lr; }
  void set_lr(double lr) {
    if (!std::isfinite(lr) || lr < 0.0) fail("AdamW::set_lr", "the learning rate is ", lr, ", expected a finite number, 0 or more");
    options_.lr = lr;
  }

  /// Multiplies the learning rate of one parameter by `factor` in all steps, e.g. to train new weights faster than pre-trained ones. It is
  /// not part of the state. Errors: there is no such parameter; the factor is negative or not finite.
  void set_lr_factor(const std::string& name, double factor) {
    const auto found = std::find_if(parameters_.begin(), parameters_.end(), [&](const auto& p) { return p.name == name; });
    if (found == parameters_.end()) fail("AdamW::set_lr_factor", "there is no parameter '", name, "'");
    if (!std::isfinite(factor) || factor < 0.0)
      fail("AdamW::set_lr_factor", "the factor of '", name, "' is ", factor, ", expected a finite number, 0 or more");
    factors_[static_cast<std::size_t>(found - parameters_.begin())] = factor;
  }

  /// Takes one step. Consumes and clears the gradients. Changes nothing if memory for the moments cannot be allocated.
  void step() { update({}); }

  /// Clips and takes one step in a single pass over the gradients, without synchronizing with the device. Gradients are multiplied by
  /// min(1, max_norm / (norm + 1e-6)); returns `norm`, the L2 norm of all gradients together before clipping. If the norm, or `loss` (one
  /// number, if given), is not finite, this and all later calls update nothing and return NaN. A program may thus check norms later and
  /// still finds the weights and moments from before the first bad step. Only the counts t advance; load_state() with an earlier state
  /// resets this.
  [[nodiscard]] Tensor<double, Dev> clip_and_step(double max_norm, const Tensor<A, Dev>& loss = {}) {
    detail::check_max_norm("AdamW::clip_and_step", max_norm);
    if (loss.defined() && loss.size() != 1) fail("AdamW::clip_and_step", "the loss is ", loss.shape(), ", expected one number");
    std::vector<Elements<T>> gradients;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto& var = parameters_[i].var;
      if (second_name_[i] || !var.has_grad()) continue;
      const detail::GradBox<T, Dev>& g = *var.grad_box();
      gradients.push_back(g.rows.defined() ? g.rows.elements() : Elements<T>{g.grad.size(), g.grad.data()});
    }
    Tensor<double, Dev> norm(Shape{});
    Kernels<Dev>::gradient_norm(gradients, loss.data(), norm_.data(), norm.mutable_data());
    update({norm.data(), max_norm});
    return norm_ = std::move(norm);
  }

  const AdamWOptions& options() const { return options_; }
  const std::vector<NamedParameter<T, Dev>>& parameters() const { return parameters_; }

  /// One slot per parameter, in parameter order; the tensors share storage with the optimizer and are up to date until the next step.
  const std::vector<Slot>& state() const;
  /// Restores a saved state, which must have the same parameters in any order. Takes ownership of the tensors.
  void load_state(std::vector<Slot> saved);

 private:
  void update(const GradientClip& clip);

  static constexpr std::int64_t most_steps = std::int64_t{1} << 53;  // a double counts exactly up to here

  static bool fits(const Tensor<A, Dev>& t, const NamedParameter<T, Dev>& p, bool needed) {
    return t.defined() == needed && (!needed || t.shape() == p.var.shape());
  }

  std::vector<NamedParameter<T, Dev>> parameters_;
  AdamWOptions options_;
  std::vector<Slot> slots_;
  mutable std::vector<AdamWRows<T>> rows_;  // of each parameter; changed by state(), which brings the moments up to date
  std::vector<double> factors_;             // of the learning rate, for each parameter
  std::vector<bool> second_name_;           // of each parameter: an earlier one is the same variable
  Tensor<double, Dev> norm_;                // of the last clip_and_step
};

/// Scales all gradients by max_norm / (norm + 1e-6) if that is less than 1; norm is the L2 norm of all gradients together, summed in double
/// in a fixed order. Returns norm. If it is not finite, nothing is scaled: check it with std::isfinite before the step.
template <class T, class Dev>
double clip_grad_norm(const std::vector<NamedParameter<T, Dev>>& parameters, double max_norm) {
  detail::check_max_norm("clip_grad_norm", max_norm);
  std::vector<Elements<T>> gradients;
  std::vector<Var<T, Dev>> scaled;
  std::set<const void*> known;
  for (const auto& p : parameters) {
    if (!p.var.requires_grad() || !known.insert(p.var.id()).second) continue;  // one under two names counts once
    gradients.push_back({p.var.grad().size(), p.var.grad().data()});
    if (p.var.grad().defined()) scaled.push_back(p.var);
  }
  Tensor<double, Dev> on_device(Shape{});
  Kernels<Dev>::gradient_norm(gradients, nullptr, nullptr, on_device.mutable_data());
  const double norm = on_device.item(), factor = scalar::clip_factor(norm, max_norm);
  if (!std::isfinite(norm) || factor == 1.0) return norm;
  for (auto& var : scaled) {
    Tensor<T, Dev> grad = var.grad();
    var.clear_grad();
    if (!grad.unique()) grad = grad.clone();  // a + b passes the same gradient to a and b
    T* g = grad.mutable_data();
    Kernels<Dev>::affine(grad.size(), static_cast<accumulate_t<T>>(factor), g, accumulate_t<T>{0}, g);
    var.set_grad(std::move(grad));
  }
  return norm;
}

template <class T, class Dev>
AdamW<T, Dev>::AdamW(std::vector<NamedParameter<T, Dev>> parameters, AdamWOptions options)
    : parameters_(without_buffers(std::move(parameters))), options_(options) {
  const auto good = [](double x) { return std::isfinite(x) && x >= 0.0; };
  const auto share = [](double x) { return x >= 0.0 && x < 1.0; };
  if (!good(options.lr) || !good(options.weight_decay) || !good(options.eps) || !share(options.beta1) || !share(options.beta2))
    fail_usage("AdamW", "lr ", options.lr, ", beta1 ", options.beta1, ", beta2 ", options.beta2, ", eps ", options.eps, ", weight_decay ",
               options.weight_decay, "; expected none negative, all finite and the betas below 1");
  std::set<std::string> names;
  std::set<const void*> known;
  for (const auto& p : parameters_) {
    if (!names.insert(p.name).second) fail("AdamW", "two parameters are called '", p.name, "'");
    slots_.push_back({p.name});
    second_name_.push_back(!known.insert(p.var.id()).second);
  }
  factors_.assign(parameters_.size(), 1.0);
  rows_.resize(parameters_.size());
}

template <class T, class Dev>
auto AdamW<T, Dev>::state() const -> const std::vector<Slot>& {
  if constexpr (std::is_same_v<Dev, Cpu>)
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      auto m = slots_[i].exp_avg, v = slots_[i].exp_avg_sq;
      if (m.defined()) rows_[i].finish({1, options_.beta1, options_.beta2, 0, 1, 0}, m.mutable_data(), v.mutable_data());
    }
  return slots_;
}

template <class T, class Dev>
void AdamW<T, Dev>::load_state(std::vector<Slot> saved) {
  if (saved.size() != slots_.size()) fail("AdamW::load_state", saved.size(), " parameters are saved, the model has ", slots_.size());
  std::vector<Slot> slots;
  for (const auto& p : parameters_) {
    auto it = std::find_if(saved.begin(), saved.end(), [&](const Slot& s) { return s.name == p.name; });
    if (it == saved.end()) fail("AdamW::load_state", "nothing is saved for the parameter '", p.name, "'");
    const bool masters = !std::is_same_v<T, A>;
    if (it->step < 0 || it->step > most_steps)
      fail("AdamW::load_state", "'", p.name, "' is saved with ", it->step, " steps, expected 0 to ", most_steps);
    if (!fits(it->exp_avg, p, it->step > 0) || !fits(it->exp_avg_sq, p, it->step > 0) || !fits(it->master, p, it->step > 0 && masters))
      fail("AdamW::load_state", "what is saved for '", p.name, "' does not fit: step ", it->step, ", exp_avg ", it->exp_avg.shape(),
           ", exp_avg_sq ", it->exp_avg_sq.shape(), ", expected ", p.var.shape());
    slots.push_back(std::move(*it));
    saved.erase(it);
  }
  slots_ = std::move(slots);
  rows_.assign(slots_.size(), {});
  norm_ = {};
}

template <class T, class Dev>
void AdamW<T, Dev>::update(const GradientClip& clip) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Var<T, Dev>& var = parameters_[i].var;
    Slot& s = slots_[i];
    if (!var.has_grad()) continue;
    if (var.grad_box()->rows.defined() && rows_[i].empty()) rows_[i] = {var.dim(0), var.dim(1), s.step == 0};
    if (s.step > 0) continue;
    s.exp_avg = Tensor<A, Dev>::zeros(var.shape());
    s.exp_avg_sq = Tensor<A, Dev>::zeros(var.shape());
    if constexpr (!std::is_same_v<T, A>) s.master = cast<A>(var.detach()).value();
  }
  std::vector<AdamWUpdate<T>> updated;
  std::vector<detail::GradBox<T, Dev>> gradients;
  updated.reserve(parameters_.size());
  gradients.reserve(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Var<T, Dev>& var = parameters_[i].var;
    if (!var.has_grad()) continue;
    Slot& s = slots_[i];
    ++s.step;
    const auto t = static_cast<double>(s.step);
    const double lr = options_.lr * factors_[i];
    const bool decays = options_.decay_bias_and_norm || var.shape().rank() > 1;
    const AdamWFactors factors{
        1.0 - lr * (decays ? options_.weight_decay : 0.0), options_.beta1, options_.beta2, lr / (1.0 - std::pow(options_.beta1, t)),
        std::sqrt(1.0 - std::pow(options_.beta2, t)),      options_.eps};
    T* parameter = var.mutable_value().mutable_data();
    A* master;
    if constexpr (std::is_same_v<T, A>) {
      master = parameter;
    } else {
      master = s.master.mutable_data();
    }
    const detail::GradBox<T, Dev>& g = gradients.emplace_back(std::move(*var.grad_box()));
    var.clear_grad();  // so that a parameter listed under two names is updated once
    const bool of_rows = g.rows.defined();
    const AdamWUpdate<T> update{
        var.size(), factors,  of_rows ? g.rows.rows.data() : g.grad.data(), s.exp_avg.mutable_data(), s.exp_avg_sq.mutable_data(),
        master,     parameter};
    if constexpr (std::is_same_v<Dev, Cpu>) {
      if (of_rows)
        rows_[i].step(update, g.rows.ids, clip);
      else
        rows_[i].wake(update);
    }
    if (!of_rows) updated.push_back(update);
  }
  Kernels<Dev>::adamw(updated, clip);
}

#if defined(LEXFORMER_COMPILED)
extern template class AdamWRows<float>;
extern template class AdamW<float, Cpu>;
#endif

}  // namespace lexformer
