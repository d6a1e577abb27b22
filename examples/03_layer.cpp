// SPDX-License-Identifier: MIT
// A layer: a struct with parameters, a const call operator, and a visit that names the parameters.   Try: build/release/bin/03_layer
#include <iostream>
#include <lexformer/lexformer.hpp>

namespace lx = lexformer;

// y = gelu(x W_1^T + b_1) W_2^T + b_2
struct TwoLayers {
  lx::Linear<> first, second;

  explicit TwoLayers(lx::Init& init) : first(2, 16, init), second(16, 2, init) {}
  lx::Var<> operator()(const lx::Var<>& x) const { return second(lx::gelu(first(x))); }
  void visit(lx::ParameterVisitor<>& v) {
    v("first", first);
    v("second", second);
  }
};

int main() {
  lx::Init init(1, 0.5);  // seed, standard deviation
  TwoLayers model(init);
  lx::AdamW<> optimizer(lx::named_parameters(model), {.lr = 0.05, .weight_decay = 0.01});

  const lx::Var<> x(lx::Tensor<>::from({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2}));  // XOR
  const std::vector<std::int32_t> labels{0, 1, 1, 0};
  for (int step = 0; step < 100; ++step) {
    const auto loss = lx::cross_entropy(model(x), std::span<const std::int32_t>(labels));
    loss.backward();
    optimizer.step();  // consumes the gradients
    if (step % 20 == 0) std::cout << "step " << step << "  loss " << loss.item() << "\n";
  }
  std::cout << "p = " << lx::softmax(model(x)).value() << "\n";
  for (const auto& p : lx::named_parameters(model)) std::cout << p.name << " " << p.var.shape() << "\n";
}
