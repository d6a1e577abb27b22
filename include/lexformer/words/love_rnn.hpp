// SPDX-License-Identifier: MIT
// LOVE's encoder "rnn": an LSTM in both directions over the units.
#pragma once

#include <cstddef>
#include <vector>

#include "lexformer/core/names.hpp"
#include "lexformer/nn/lstm.hpp"
#include "lexformer/words/love_layers.hpp"
#include "lexformer/words/love_options.hpp"

namespace lexformer {

/// Units of B words, X (N, D) their rows of the table; each direction of the LSTM has D / 2 states:
///   h = [last state of the forward direction | of the reverse direction], of the last layer
///   vector of a word = W_o dropout(tanh(W_h dropout(h) + b_h)) + b_o, W_h, W_o (D, D)
/// The last state of the reverse direction is that at the first unit, when it has read the word. (The released code takes that at the last
/// unit, when it has read [SEP] alone.)
template <class T = float, class Dev = Cpu>
class LoveRnn {
 public:
  std::vector<BiLstm<T, Dev>> layers;
  Linear<T, Dev> hidden, output;

  LoveRnn(const LoveOptions& o, Init& init)
      : layers(make_layers(o, init)),
        hidden(Linear<T, Dev>::uniform(o.size, o.size, init)),
        output(Linear<T, Dev>::uniform(o.size, o.size, init)),
        dropout_(o.dropout) {}
  /// Number of elements of the weights, without biases.
  static double weights(const LoveOptions& o) {
    const auto d = static_cast<double>(o.size);
    return static_cast<double>(o.layers) * 6 * d * d + 2 * d * d;  // a direction: 4 (D / 2) (D + D / 2)
  }

  Var<T, Dev> operator()(Var<T, Dev> x, const Offsets& words, const ForwardOptions& forward) const {
    for (const auto& layer : layers) x = layer(x, words);
    const auto h = hidden(dropout(last_states(x, words), forward.dropout(dropout_, 0)));
    return output(dropout(tanh(h), forward.dropout(dropout_, 1)));
  }
  void visit(ParameterVisitor<T, Dev>& v) {
    for (std::size_t i = 0; i < layers.size(); ++i) v(cat("layer.", i), layers[i]);
    v("hidden", hidden);
    v("output", output);
  }

 private:
  static std::vector<BiLstm<T, Dev>> make_layers(const LoveOptions& o, Init& init) {
    std::vector<BiLstm<T, Dev>> all;
    for (std::size_t i = 0; i < o.layers; ++i) all.emplace_back(o.size, o.size / 2, init);
    return all;
  }
  double dropout_;
};

}  // namespace lexformer
