// SPDX-License-Identifier: MIT
// Gradients against central differences. Public: a user's own op or term is checked with it as ours are.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/random.hpp"

namespace lexformer {

struct GradcheckOptions {
  double step = 1e-5;              // h of (f(x + h) - f(x - h)) / 2h, scaled by max(1, |x|)
  double tolerance = 1e-6;         // |analytic - numeric| <= tolerance * max(1, |analytic|, |numeric|)
  std::size_t max_elements = 200;  // of each input at most this many, spread evenly, are differenced
  std::uint64_t seed = 1;
};

struct GradcheckResult {
  bool ok = true;
  double worst = 0;     // largest error relative to max(1, |a|, |n|)
  std::string message;  // of the worst element: input, index, both numbers
};

/// Checks the gradient of f at the given inputs, in double. f maps Vars to one Var of any shape; the scalar that is
/// differenced is <c, f(x)> with a random cotangent c (a plain sum hides mistakes, for example in softmax). The gradient of
/// every input starts as 1, so that an op that overwrites instead of adding is found.
inline GradcheckResult gradcheck(const std::function<Var<double>(const std::vector<Var<double>>&)>& f,
                                 const std::vector<Tensor<double>>& inputs, GradcheckOptions options = {}) {
  std::vector<Var<double>> vars;
  for (const auto& x : inputs) {
    vars.emplace_back(x.clone(), true);
    vars.back().set_grad(Tensor<double>::ones(x.shape()));
  }
  const Var<double> y = f(vars);
  RandomStream random(options.seed, random_site::user);
  Tensor<double> cotangent(y.shape());
  for (double& c : cotangent.mutable_span()) c = random.normal();
  y.backward(cotangent.clone());

  const auto objective = [&] {
    const NoGrad no_grad;
    const Var<double> value = f(vars);
    double sum = 0;
    for (std::size_t i = 0; i < value.size(); ++i) sum += value.value().data()[i] * cotangent.data()[i];
    return sum;
  };
  GradcheckResult result;
  for (std::size_t k = 0; k < vars.size(); ++k) {
    const std::size_t count = vars[k].size(), stride = std::max<std::size_t>(1, count / options.max_elements);
    for (std::size_t i = 0; i < count; i += stride) {
      double* x = vars[k].mutable_value().mutable_data() + i;
      const double x0 = *x, h = options.step * std::max(1.0, std::abs(x0));
      *x = x0 + h;
      const double up = objective();
      *x = x0 - h;
      const double down = objective();
      *x = x0;
      const double numeric = (up - down) / (2 * h), analytic = vars[k].grad().data()[i] - 1.0;
      const double error = std::abs(analytic - numeric) / std::max({1.0, std::abs(analytic), std::abs(numeric)});
      if (error > result.worst || std::isnan(error)) {
        result.worst = error;
        result.message = cat("input ", k, ", element ", i, " of ", vars[k].shape(), ": analytic ", analytic, ", numeric ", numeric);
      }
    }
  }
  result.ok = result.worst <= options.tolerance;  // false for NaN
  return result;
}

}  // namespace lexformer
