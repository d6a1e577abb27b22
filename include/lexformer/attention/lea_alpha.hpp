// SPDX-License-Identifier: MIT
// The factor alpha of LEA (Almagro et al. 2023, eq. 5; attention/lea.hpp): measured once at the beginning of the training, then fixed.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "lexformer/attention/lea_options.hpp"
#include "lexformer/attention/term.hpp"
#include "lexformer/core/cache_lock.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/cpu.hpp"
#include "lexformer/kernels/row.hpp"

namespace lexformer {

namespace detail {
/// Mean and standard deviation by Welford's algorithm: equal numbers have a deviation of exactly 0.
struct RunningMoments {
  double n = 0, mean = 0, squares = 0;
  void add(double x) {
    const double difference = x - mean;
    mean += difference / ++n;
    squares += difference * (x - mean);
  }
  double deviation() const { return std::sqrt(squares / n); }
};
}  // namespace detail

/// Computes alpha by one of two rules:
///   query      alpha = mean over sequences, heads and i of max_j q_i . q_j, unscaled, as in the authors' code
///   magnitude  alpha = std(e) / std(l W^L) over the pairs with s > 0 of all heads; e = q . k / sqrt(d_h), or with the scale of the model's
///              position scheme. The paper: "based on the magnitudes of both terms"
/// Both over the pairs that the terms before LEA let the model see: their reach and a pair bias of -inf hide pairs.
/// table: W^L l(levels)^T (H heads, R levels), of the feature LeaOptions::all_words. Returns 0 if the batch has no pairs to measure it on.
/// Errors: the batch is empty; a code has no level; alpha is not finite (numeric).
template <class T, class Dev>
double measure_lea_alpha(LeaAlpha rule, const AttentionInputs<T, Dev>& in, const ScoreTerms<T, Dev>& terms,
                         const Tensor<T, Dev>& table_on_device) {
  const auto qkv = in.qkv.value().template to<Cpu>(), table = table_on_device.template to<Cpu>();
  const auto codes = in.batch.feature(LeaOptions::all_words, "lea").codes.to_vector();
  const Offsets& offsets = in.batch.offsets;
  const std::size_t heads = in.heads, stride = qkv.dim(1), width = stride / 3, d = width / heads, levels = table.dim(1);
  const bool query = rule == LeaAlpha::query;
  const double scale = terms.scale ? static_cast<double>(*terms.scale) : 1 / std::sqrt(static_cast<double>(d));
  const bool hides = terms.pair_bias.defined() && terms.pair_bias.shape() == Shape{offsets.pairs()};
  const auto biases = hides ? terms.pair_bias.value().template to<Cpu>().to_vector() : std::vector<T>();
  if (offsets.sequences() == 0) fail("lea", "the batch is empty");
  if (codes.size() != offsets.pairs())
    fail("lea", codes.size(), " codes for ", offsets.pairs(), " token pairs; the feature must hold a code for each pair");
  for (const std::uint16_t code : codes)
    if (code >= levels) fail("lea", "code ", code, " has no level; the batch has ", levels);
  double total = 0;
  detail::RunningMoments semantic, lexical;
  for (std::size_t s = 0; s < offsets.sequences(); ++s)
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t n = offsets.length(s);
      const T* q = qkv.data() + offsets.begin(s) * stride + h * d;
      std::vector<accumulate_t<T>> products(n * n);  // not an op: in bfloat16, an op would round them
      Kernels<Cpu>::gemm(false, true, n, n, d, 1, q, stride, query ? q : q + width, stride, 0, products.data(), n);
      const auto is_hidden = [&](std::size_t e) {
        return !terms.reach.sees(e / n, e % n, n) || (hides && std::isinf(static_cast<double>(biases[offsets.pair_begin(s) + e])));
      };
      for (std::size_t e = 0; e < n * n && query && (hides || !terms.reach.sees_all(n)); ++e)
        if (is_hidden(e)) products[e] = -std::numeric_limits<accumulate_t<T>>::infinity();
      for (std::size_t i = 0; i < n && query; ++i) total += static_cast<double>(row::max(products.data() + i * n, n));
      const std::uint16_t* code = codes.data() + offsets.pair_begin(s);
      for (std::size_t e = 0; e < n * n && !query; ++e) {
        if (code[e] == 0 || is_hidden(e)) continue;
        semantic.add(static_cast<double>(products[e]) * scale);
        lexical.add(static_cast<double>(table.data()[h * levels + code[e]]));
      }
    }
  double alpha = 0;
  if (query)
    alpha = total / static_cast<double>(offsets.tokens() * heads);
  else if (semantic.n > 0 && lexical.deviation() > 0)
    alpha = semantic.deviation() / lexical.deviation();
  if (!std::isfinite(alpha)) fail_numeric("lea", "alpha would be ", alpha, "; the queries, keys or the table are not finite");
  return alpha;
}

/// The value of a tensor of one number, on the host. It is read only after a change: reading it in each forward pass would wait for the
/// device.
template <class T, class Dev>
class HostNumber {
 public:
  accumulate_t<T> operator()(const Tensor<T, Dev>& number) const {
    const auto lock = detail::lock_cache(mutex_);
    if (!lock) return number.item();
    if (!last_.shares_storage(number) || version_ != number.version()) {
      last_ = number;
      version_ = number.version();
      value_ = number.item();
    }
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  mutable Tensor<T, Dev> last_;
  mutable std::uint64_t version_ = 0;
  mutable accumulate_t<T> value_{0};
};

}  // namespace lexformer
