// SPDX-License-Identifier: MIT
// The lexical embedding l(s) of LEA (Almagro et al. 2023, eq. 7 and 8; attention/lea.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <numbers>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexformer/attention/lea_options.hpp"
#include "lexformer/core/cache_lock.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/tensor.hpp"

namespace lexformer {

/// Computes l(s) for each similarity s of `levels` -> (R levels, dimension d_L):
///   l(s) = [sin(s w_0) ... sin(s w_{d_L/2-1}) | cos(s w_0) ... cos(s w_{d_L/2-1})],   w_p = 2 pi / beta^(2p / d_L),   beta = 10^4
/// scaled: as above (Table 11, "fix-scale sin."), else without the 2 pi ("fix sin.").
template <class T>
Tensor<T> lea_sinusoid(std::span<const double> levels, std::size_t dimension, bool scaled) {
  if (dimension % 2 != 0) fail_usage("lea", "the dimension must be even, got ", dimension);
  Tensor<T> y({levels.size(), dimension});
  T* out = y.mutable_data();
  const std::size_t half = dimension / 2;
  for (std::size_t r = 0; r < levels.size(); ++r)
    for (std::size_t p = 0; p < half; ++p) {
      const double w =
          (scaled ? 2.0 * std::numbers::pi : 1.0) / std::pow(10000.0, 2.0 * static_cast<double>(p) / static_cast<double>(dimension));
      out[r * dimension + p] = static_cast<T>(std::sin(levels[r] * w));
      out[r * dimension + half + p] = static_cast<T>(std::cos(levels[r] * w));
    }
  return y;
}

/// lea_sinusoid of the levels of a batch, on the device. One object serves all layers. It keeps the rows that it has computed, because
/// batches have many levels in common, and a GPU would wait while the host computes sines.
template <class T, class Dev>
class LeaSinusoids {
 public:
  explicit LeaSinusoids(const LeaOptions& options)
      : dimension_(options.dimension), scaled_(options.representation == LeaRepresentation::scaled) {}

  Tensor<T, Dev> operator()(const std::vector<double>& levels) {
    const auto lock = detail::lock_cache(mutex_);
    if (!lock) return lea_sinusoid<T>(levels, dimension_, scaled_).template to<Dev>();
    for (const auto& last : last_)
      if (last.rows.size() != 0 && last.levels == levels) return last.rows;
    if (known_.size() * dimension_ > most_known) known_.clear();
    Tensor<T> rows({levels.size(), dimension_});
    T* out = rows.mutable_data();
    for (const double& level : levels) {
      auto& row = known_[level];
      if (!row.defined()) row = lea_sinusoid<T>({&level, 1}, dimension_, scaled_);
      out = std::copy_n(row.data(), dimension_, out);
    }
    next_ = 1 - next_;
    last_[next_] = {levels, rows.template to<Dev>()};
    return last_[next_].rows;
  }

 private:
  struct Batch {
    std::vector<double> levels;
    Tensor<T, Dev> rows;
  };
  const std::size_t dimension_;
  const bool scaled_;
  static constexpr std::size_t most_known = std::size_t{1} << 24;  // numbers
  std::mutex mutex_;
  std::unordered_map<double, Tensor<T>> known_;  // the row of each level
  std::array<Batch, 2> last_;                    // of the two features that LeaColumns::both has
  std::size_t next_ = 0;
};

}  // namespace lexformer
