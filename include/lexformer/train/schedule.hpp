// SPDX-License-Identifier: MIT
// The learning rate of each step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>

#include "lexformer/core/names.hpp"

namespace lexformer {

enum class ScheduleKind { constant, linear, cosine, exponential };

template <>
inline constexpr Named<ScheduleKind> names_of<ScheduleKind>[] = {{"constant", ScheduleKind::constant},
                                                                 {"linear", ScheduleKind::linear},
                                                                 {"cosine", ScheduleKind::cosine},
                                                                 {"exponential", ScheduleKind::exponential}};

/// The optimizer steps of an epoch; the last one may have fewer batches.
inline std::size_t steps_per_epoch(std::size_t batches, std::size_t accumulate) {
  if (accumulate == 0) fail_usage("steps_per_epoch", "a step has at least one batch");
  return batches / accumulate + (batches % accumulate != 0 ? 1 : 0);
}

/// Converts a number of epochs, possibly fractional, to steps, rounded up.
inline std::size_t epochs_to_steps(double epochs, std::size_t steps_per_epoch) {
  if (!(epochs >= 0.0 && epochs <= 1e6)) fail_usage("epochs_to_steps", epochs, " epochs; expected 0 to 1000000");
  // 1e-9: 0.1 epochs of 30 steps are 3 steps, although 0.1 * 30 is slightly above 3.
  return static_cast<std::size_t>(std::ceil(epochs * static_cast<double>(steps_per_epoch) * (1.0 - 1e-9)));
}

/// The learning rate lr(k) of the steps k = 0, 1, ... total - 1:
///   k < warmup   base k / warmup                                  (so step 0 has lr 0 if there is a warm-up)
///   constant     base
///   linear       minimum + (base - minimum) (1 - t)               t = (k - warmup) / (total - warmup), at most 1
///   cosine       minimum + (base - minimum) (1 + cos(pi t)) / 2
///   exponential  base gamma^floor((k - warmup) / period)          PyTorch's StepLR; with period = the steps of an epoch, ExponentialLR
/// With minimum 0 these are the values of transformers' get_constant/linear/cosine_schedule_with_warmup, where k counts the optimizer
/// steps already done. After `total` the rate stays constant (transformers' cosine rises again), except that
/// `exponential` goes on.
struct Schedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double base = 5e-5;
  std::size_t warmup = 0, total = 0;  // steps
  double minimum = 0.0;
  double gamma = 0.97;     // of exponential
  std::size_t period = 1;  // of exponential, steps

  double operator()(std::size_t step) const {
    if (step < warmup) return base * static_cast<double>(step) / static_cast<double>(warmup);
    if (kind == ScheduleKind::constant) return base;
    if (kind == ScheduleKind::exponential) {
      const std::size_t periods = (step - warmup) / std::max<std::size_t>(period, 1);
      return base * std::pow(gamma, static_cast<double>(periods));
    }
    const double t = step >= total || total <= warmup ? 1.0 : static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
    const double share = kind == ScheduleKind::linear ? 1.0 - t : 0.5 * (1.0 + std::cos(std::numbers::pi * t));
    return minimum + (base - minimum) * share;
  }
};

}  // namespace lexformer
