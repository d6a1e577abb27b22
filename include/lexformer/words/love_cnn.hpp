// SPDX-License-Identifier: MIT
// LOVE's encoder "cnn": convolutions over the units (Kim 2014).
#pragma once

#include <cstddef>
#include <vector>

#include "lexformer/core/names.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/window.hpp"
#include "lexformer/words/love_layers.hpp"
#include "lexformer/words/love_options.hpp"

namespace lexformer {

/// Units of B words, X (N, D) their rows of the table, for w = 3, 4, 5:
///   C_w = the maximum over t of relu([x_t | ... | x_(t + w - 1)] W_w^T + b_w), W_w (D, w D)
///   vector of a word = dropout([C_3 | C_4 | C_5]) W_o^T + b_o, W_o (D, 3 D)
/// A window begins at each unit; beyond the word it has zeros, so a word may be shorter than a window. (In the released code, a word has
/// as many windows beyond its end as the longest word of its batch has room for.)
template <class T = float, class Dev = Cpu>
class LoveCnn {
 public:
  static constexpr std::size_t first_width = 3, last_width = 5;
  std::vector<Linear<T, Dev>> convolutions;  // of width 3, 4, 5
  Linear<T, Dev> output;

  LoveCnn(const LoveOptions& o, Init& init)
      : convolutions(make_convolutions(o.size, init)),
        output(Linear<T, Dev>::uniform(convolutions.size() * o.size, o.size, init)),
        dropout_(o.dropout) {}
  /// Number of elements of the weights, without biases.
  static double weights(const LoveOptions& o) {
    const auto d = static_cast<double>(o.size);
    return (3 + 4 + 5 + 3) * d * d;
  }

  Var<T, Dev> operator()(const Var<T, Dev>& x, const Offsets& words, const ForwardOptions& forward) const {
    std::vector<Var<T, Dev>> pooled;
    for (std::size_t i = 0; i < convolutions.size(); ++i)
      pooled.push_back(sequence_max(convolutions[i](window(x, words, 0, first_width + i - 1)), words));
    return output(dropout(relu(concat_columns(pooled)), forward.dropout(dropout_, 0)));  // relu keeps the order, so it can come last
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    for (std::size_t i = 0; i < convolutions.size(); ++i) v(cat("convolution.", first_width + i), convolutions[i]);
    v("output", output);
  }

 private:
  static std::vector<Linear<T, Dev>> make_convolutions(std::size_t size, Init& init) {
    std::vector<Linear<T, Dev>> all;
    for (std::size_t w = first_width; w <= last_width; ++w) all.push_back(Linear<T, Dev>::uniform(w * size, size, init));
    return all;
  }
  double dropout_;
};

}  // namespace lexformer
