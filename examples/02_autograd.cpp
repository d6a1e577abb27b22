// SPDX-License-Identifier: MIT
// Gradients: a Var is a tensor that records how it was computed.   Try: build/release/bin/02_autograd
#include <iostream>
#include <lexformer/lexformer.hpp>

namespace lx = lexformer;

int main() {
  // f(w) = mean((x w^T - y)^2): one linear layer fitted to y = 2 x_0 - x_1.
  const lx::Var<> x(lx::Tensor<>::from({1, 0, 0, 1, 1, 1, 2, 1}, {4, 2}));
  const lx::Var<> y(lx::Tensor<>::from({2, -1, 1, 3}, {4, 1}));
  lx::Var<> w(lx::Tensor<>::zeros({1, 2}), true);  // requires a gradient

  for (int step = 0; step < 200; ++step) {
    const auto loss = lx::mse_loss(lx::linear(x, w), y);
    loss.backward();  // adds d loss / d w to w.grad()
    if (step % 50 == 0) std::cout << "step " << step << "  loss " << loss.item() << "  gradient " << w.grad() << "\n";
    for (std::size_t i = 0; i < w.size(); ++i) w.mutable_value().mutable_data()[i] -= 0.1f * w.grad().data()[i];
    w.clear_grad();
  }
  std::cout << "w = " << w.value() << "\n";

  // gradcheck compares gradients with finite differences. The library's tests use it for every op.
  const auto result = lx::gradcheck([](const std::vector<lx::Var<double>>& v) { return lx::softmax(lx::gelu(v[0])); },
                                    {lx::Tensor<double>::from({0.1, -2.0, 0.7}, {1, 3})});
  std::cout << "gradcheck of softmax(gelu(x)): " << (result.ok ? "ok" : result.message) << ", worst error " << result.worst << "\n";
}
