// SPDX-License-Identifier: MIT
// Weights rounded to 8 bits, for the linear layers of gemm_int8.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lexformer/core/compiled.hpp"
#include "lexformer/kernels/products/weight_panels.hpp"

namespace lexformer {

/// A matrix in 8 bits with one scale per row: w(j, p) is about scales[j] values[j columns + p].
struct Int8Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<std::int8_t> values;  // (rows, columns), -127 to 127
  std::vector<float> scales;        // (rows)

  /// w in float, without what was lost by rounding.
  std::vector<float> dequantized() const;
};

/// Rounds each row of w (rows, columns) to s q with s = max |w| / 127 in float and q = w / s, computed in double, rounded to the nearest
/// integer and half-way to the even one: -127 <= q <= 127. Rows of zeros, or whose s is 0, have q = 0. Errors: a weight is NaN or infinite.
Int8Matrix quantize_rows(std::size_t rows, std::size_t columns, const float* w);

/// Weights in 8 bits, with the scale, bias and sum of each output.
class Int8Weights : public WeightPanels<std::int8_t> {
 public:
  static constexpr std::size_t max_inputs = 65536;  // 255 * 127 * 65536 < 2^31: no sum overflows

  /// The outputs of all layers are concatenated. A bias has one number per output, or none, which counts as zeros.
  /// Errors: sizes do not fit; more than max_inputs inputs; a value is -128.
  Int8Weights(const std::vector<Int8Matrix>& layers, const std::vector<std::vector<float>>& biases);

  /// `count` outputs from `begin` on, as they were given.
  Int8Matrix unpack(std::size_t begin, std::size_t count) const;

  const float* scales() const { return scales_.data(); }     // these three are filled
  const float* biases() const { return biases_.data(); }     // up to whole panels
  const std::int32_t* sums() const { return sums_.data(); }  // of the q of an output

 private:
  std::vector<float> scales_, biases_;
  std::vector<std::int32_t> sums_;
};

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <cmath>

#include "lexformer/core/error.hpp"

namespace lexformer {

LEXFORMER_INLINE Int8Matrix quantize_rows(std::size_t rows, std::size_t columns, const float* w) {
  Int8Matrix q{rows, columns, std::vector<std::int8_t>(rows * columns), std::vector<float>(rows)};
  for (std::size_t j = 0; j < rows; ++j) {
    const float* const row = w + j * columns;
    float largest = 0;
    for (std::size_t p = 0; p < columns; ++p) {
      if (!std::isfinite(row[p])) fail_numeric("quantize_rows", "weight ", p, " of output ", j, " is ", row[p]);
      largest = std::max(largest, std::abs(row[p]));
    }
    const float scale = q.scales[j] = largest / 127.0f;
    for (std::size_t p = 0; p < columns && scale > 0; ++p)
      q.values[j * columns + p] =
          static_cast<std::int8_t>(std::clamp(std::nearbyint(static_cast<double>(row[p]) / static_cast<double>(scale)), -127.0, 127.0));
  }
  return q;
}

LEXFORMER_INLINE std::vector<float> Int8Matrix::dequantized() const {
  std::vector<float> w(values.size());
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = scales[i / columns] * static_cast<float>(values[i]);
  return w;
}

LEXFORMER_INLINE Int8Weights::Int8Weights(const std::vector<Int8Matrix>& layers, const std::vector<std::vector<float>>& biases) {
  if (layers.empty() || layers.size() != biases.size()) fail("Int8Weights", layers.size(), " layers and ", biases.size(), " biases");
  const std::size_t inputs = layers[0].columns;
  std::size_t outputs = 0;
  if (inputs > max_inputs)
    fail_usage("Int8Weights", "a layer of ", inputs, " inputs cannot be in 8 bits, at most ", max_inputs, " can; leave it in float");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& l = layers[i];
    if (l.columns != inputs || l.values.size() != l.rows * inputs || l.scales.size() != l.rows ||
        (!biases[i].empty() && biases[i].size() != l.rows))
      fail("Int8Weights", "layer ", i, " of ", l.rows, " x ", l.columns, " has ", l.values.size(), " weights, ", l.scales.size(),
           " scales and ", biases[i].size(), " biases; there are ", inputs, " inputs");
    if (std::find(l.values.begin(), l.values.end(), -128) != l.values.end())
      fail("Int8Weights", "layer ", i, " holds -128, expected -127 to 127");
    outputs += l.rows;
  }
  resize(outputs, inputs);
  const std::size_t whole = panels() * panel;
  scales_.resize(whole);
  biases_.resize(whole);
  sums_.resize(whole);
  std::int8_t* const to = packed_.mutable_data();
  std::size_t j = 0;
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (std::size_t r = 0; r < layers[i].rows; ++r, ++j) {
      scales_[j] = layers[i].scales[r];
      if (!biases[i].empty()) biases_[j] = biases[i][r];
      for (std::size_t p = 0; p < inputs; ++p) {
        const std::int8_t q = layers[i].values[r * inputs + p];
        to[place(j, p)] = q;
        sums_[j] += q;
      }
    }
}

LEXFORMER_INLINE Int8Matrix Int8Weights::unpack(std::size_t begin, std::size_t count) const {
  if (begin + count > outputs()) fail("Int8Weights::unpack", "outputs ", begin, " to ", begin + count, " of ", outputs());
  Int8Matrix out{count, inputs(), std::vector<std::int8_t>(count * inputs()), {scales() + begin, scales() + begin + count}};
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t p = 0; p < inputs(); ++p) out.values[r * inputs() + p] = packed_.data()[place(begin + r, p)];
  return out;
}

}  // namespace lexformer
#endif
