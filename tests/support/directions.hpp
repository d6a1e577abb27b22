// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "lexformer/autograd/gradcheck.hpp"
#include "support/random_tensor.hpp"

namespace lexformer::test {

/// As gradcheck(f, leaves), but along one random direction of each leaf: two values of f check all of its elements, where gradcheck needs
/// two for each. It does not say which element is wrong.
inline GradcheckResult check_directions(const std::function<Var<double>()>& f, std::vector<Var<double>> leaves) {
  constexpr double step = 1e-6, tolerance = 1e-6;
  for (auto& x : leaves) x.set_grad(Tensor<double>::ones(x.shape()));  // an op that overwrites a gradient is found
  const Var<double> y = f();
  const auto cotangent = random_tensor(y.shape(), 1);
  y.backward(cotangent.clone());
  const auto dot = [](const Tensor<double>& a, const Tensor<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a.data()[i] * b.data()[i];
    return sum;
  };
  GradcheckResult result;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const auto direction = random_tensor(leaves[k].shape(), static_cast<std::uint32_t>(2 + k));
    const auto start = leaves[k].value().clone();
    const auto value_at = [&](double h) {
      const NoGrad no_grad;
      const auto x = leaves[k].mutable_value().mutable_span();
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = start.data()[i] + h * direction.data()[i];
      return dot(f().value(), cotangent);
    };
    const double numeric = (value_at(step) - value_at(-step)) / (2 * step);
    std::copy_n(start.data(), start.size(), leaves[k].mutable_value().mutable_data());
    double analytic = 0;
    for (std::size_t i = 0; i < start.size(); ++i) analytic += (leaves[k].grad().data()[i] - 1) * direction.data()[i];
    const double error = std::abs(analytic - numeric) / std::max({1.0, std::abs(analytic), std::abs(numeric)});
    if (error > result.worst || std::isnan(error)) {
      result.worst = error;
      result.message =
          cat("input ", k, " of ", leaves[k].shape(), ", along a random direction: analytic ", analytic, ", numeric ", numeric);
    }
  }
  result.ok = result.worst <= tolerance;  // false for NaN
  return result;
}

}  // namespace lexformer::test
