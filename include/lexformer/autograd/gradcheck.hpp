// SPDX-License-Identifier: MIT
// Checks gradients against central differences. Public, so that users can check their own ops and terms.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "lexformer/autograd/var.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/core/random.hpp"

namespace lexformer {

struct GradcheckOptions {
  double step = 1e-5;              // h in (f(x + h) - f(x - h)) / 2h, multiplied by max(1, |x|)
  double tolerance = 1e-6;         // |analytic - numeric| <= tolerance * max(1, |analytic|, |numeric|)
  std::size_t max_elements = 200;  // checked elements per input, evenly spaced
  std::uint64_t seed = 1;
};

struct GradcheckResult {
  bool ok = true;
  double worst = 0;     // largest error relative to max(1, |analytic|, |numeric|)
  std::string message;  // describes the worst element: input, index, both values
};

/// Checks the gradient of f with respect to the given leaves, in double. f reads the leaves and returns one Var of any shape.
/// It differentiates <c, f()> with a random cotangent c, since a plain sum hides mistakes, e.g. in softmax. The gradient of every
/// leaf starts at 1, to detect ops that overwrite gradients instead of adding. With a module's parameters as leaves, it checks a
/// whole model.
GradcheckResult gradcheck(const std::function<Var<double>()>& f, std::vector<Var<double>> leaves, GradcheckOptions options = {});

/// Checks a function of Vars at the given inputs.
GradcheckResult gradcheck(const std::function<Var<double>(const std::vector<Var<double>>&)>& f, const std::vector<Tensor<double>>& inputs,
                          GradcheckOptions options = {});

}  // namespace lexformer

#if LEXFORMER_BODIES
namespace lexformer {

LEXFORMER_INLINE GradcheckResult gradcheck(const std::function<Var<double>()>& f, std::vector<Var<double>> leaves,
                                           GradcheckOptions options) {
  for (auto& x : leaves) x.set_grad(Tensor<double>::ones(x.shape()));
  const Var<double> y = f();
  RandomStream random(options.seed, random_site::user);
  Tensor<double> cotangent(y.shape());
  for (double& c : cotangent.mutable_span()) c = random.normal();
  y.backward(cotangent.clone());

  const auto objective = [&] {
    const NoGrad no_grad;
    const Var<double> value = f();
    double sum = 0;
    for (std::size_t i = 0; i < value.size(); ++i) sum += value.value().data()[i] * cotangent.data()[i];
    return sum;
  };
  GradcheckResult result;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const std::size_t count = leaves[k].size(), checked = std::min(count, options.max_elements);
    for (std::size_t e = 0; e < checked; ++e) {
      const std::size_t i = e * count / checked;
      const double x0 = leaves[k].value().data()[i], h = options.step * std::max(1.0, std::abs(x0));
      const auto at = [&](double x) {
        leaves[k].mutable_value().mutable_data()[i] = x;  // anew each time: it marks the change
        return objective();
      };
      const double up = at(x0 + h), down = at(x0 - h);
      leaves[k].mutable_value().mutable_data()[i] = x0;
      const double numeric = (up - down) / (2 * h), analytic = leaves[k].grad().data()[i] - 1.0;
      const double error = std::abs(analytic - numeric) / std::max({1.0, std::abs(analytic), std::abs(numeric)});
      if (error > result.worst || std::isnan(error)) {
        result.worst = error;
        result.message = cat("input ", k, ", element ", i, " of ", leaves[k].shape(), ": analytic ", analytic, ", numeric ", numeric);
      }
    }
  }
  result.ok = result.worst <= options.tolerance;  // false for NaN
  return result;
}

LEXFORMER_INLINE GradcheckResult gradcheck(const std::function<Var<double>(const std::vector<Var<double>>&)>& f,
                                           const std::vector<Tensor<double>>& inputs, GradcheckOptions options) {
  std::vector<Var<double>> vars;
  for (const auto& x : inputs) vars.emplace_back(x.clone(), true);
  return gradcheck([&] { return f(vars); }, vars, options);
}

}  // namespace lexformer
#endif
